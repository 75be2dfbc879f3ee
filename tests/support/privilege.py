"""Acting as another user, and back, inside one process.

Only the effective ids change, so a root process can prepare as root, make the
call under test as a plain user, and look at the result as root again. When the
tests run as a plain user everything simply happens as that user.
"""

import contextlib
import os

USER = 1234
STRANGER = 4321


class Unavailable(Exception):
    """This machine or user cannot stage the situation; the text says why."""


def is_root():
    """True if the tests were started by root."""
    return hasattr(os, "getresuid") and 0 in os.getresuid()


@contextlib.contextmanager
def acting_as(uid):
    """Run the block with the effective ids of *uid*; None changes nothing."""
    if uid is None or not is_root() or os.geteuid() == uid:
        yield
        return
    before = os.geteuid(), os.getegid(), os.getgroups()
    os.seteuid(0)
    os.setgroups([] if uid else [0])
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setgroups(before[2])
        os.setegid(before[1])
        os.seteuid(before[0])


@contextlib.contextmanager
def as_root(purpose):
    """Run the block as root, or say that *purpose* needs root."""
    if not is_root():
        raise Unavailable("needs root to " + purpose)
    with acting_as(0):
        yield
