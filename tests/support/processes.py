"""Running Python code in a process of its own, with the same modules to be found."""

import os
import subprocess
import sys

import speedcopy_c

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(speedcopy_c.__file__)))


def environment(**changes):
    """The environment of a child; None removes a variable."""
    made = {name: value for name, value in os.environ.items() if "SPEEDCOPY" not in name}
    inherited = made.get("PYTHONPATH")
    made["PYTHONPATH"] = os.pathsep.join([PACKAGES, TESTS] + [inherited] * bool(inherited))
    for name, value in changes.items():
        made.pop(name, None)
        if value is not None:
            made[name] = value
    return made


def run(*arguments, timeout=100, check=True, **changes):
    """Run this Python; its completed process, with text output."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment(**changes),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def code(text, *arguments, **options):
    """Run some lines of Python; what they print."""
    return run("-c", text, *arguments, **options).stdout
