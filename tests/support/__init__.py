"""What the tests of copying share: boxes, cases, outcomes, privileges, mounts."""
