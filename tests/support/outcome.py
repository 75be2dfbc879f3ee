"""One call made in a box: what it returned or raised, and the tree it left."""

import os
import re
import warnings

from .box import Box


class Case:
    """A situation: how to stage it, for which functions it stands, what to overlook."""

    def __init__(self, name, prepare, *, user=None, umask=0o022, ignore=()):
        self.name = name
        self.prepare = prepare
        self.user = user
        self.umask = umask
        self.ignore = frozenset(ignore)


class Arguments:
    """What the call is given; descriptors in it are closed afterwards if still open."""

    def __init__(self, src, dst, *, descriptors=(), kwargs=None):
        self.src = src
        self.dst = dst
        self.descriptors = tuple(descriptors)
        self.kwargs = kwargs or {}


def describe(value):
    """Type and form of a value, such that equal texts mean equal values."""
    return f"{type(value).__module__}.{type(value).__qualname__}: {plain(repr(value))}"


def plain(text):
    """The text without addresses of objects."""
    return re.sub(r" at 0x[0-9a-fA-F]+", " at 0x", text)


def describe_error(error):
    """Everything of an exception that a program can see."""
    if error is None:
        return None
    facts = {
        "type": f"{type(error).__module__}.{type(error).__qualname__}",
        "args": [describe(arg) for arg in error.args],
        "text": plain(str(error)),
    }
    if isinstance(error, OSError):
        for name in ("errno", "strerror", "filename", "filename2"):
            facts[name] = describe(getattr(error, name))
    cause = error.__cause__
    facts["cause"] = None if cause is None else (type(cause).__name__, str(cause))
    return facts


def open_descriptors():
    """The numbers of the open descriptors, or None where no list of them exists."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        return {int(name) for name in names if descriptor_is_open(int(name))}
    return None


def descriptor_is_open(fd):
    """True if fd is open."""
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def call(function, arguments, kwargs):
    """Make the call; a dict of its result, error and warnings."""
    facts = {"returned": None, "raised": None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(arguments.src, arguments.dst, **kwargs, **arguments.kwargs)
        except BaseException as error:
            facts["raised"] = describe_error(error)
            error.__traceback__ = None
        else:
            facts["returned"] = describe(result)
            facts["returned dst itself"] = result is arguments.dst
    facts["warnings"] = [(w.category.__name__, plain(str(w.message))) for w in caught]
    return facts


def attempt(place, function, case, kwargs, around=None):
    """Stage the case in directory *place*, call *function*, report all that followed.

    *around*, if given, is a context manager entered for the call alone.
    """
    with Box(place, case.user, case.umask) as box:
        with box.acting():
            arguments = case.prepare(box)
            if not isinstance(arguments, Arguments):
                arguments = Arguments(*arguments)
        box.settle()
        before = open_descriptors()
        with box.acting():
            if around is None:
                facts = call(function, arguments, kwargs)
            else:
                with around:
                    facts = call(function, arguments, kwargs)
        after = open_descriptors()
        if before is not None:
            facts["opened"] = sorted(after - before)
            facts["closed"] = sorted(before - after)
        for fd in arguments.descriptors:
            if descriptor_is_open(fd):
                os.close(fd)
        facts["tree"] = box.snapshot()
    return facts


def differences(expected, actual, ignore=()):
    """Lines that say in what two reports differ; empty if they agree."""
    lines = []

    def compare(where, left, right):
        if isinstance(left, dict) and isinstance(right, dict):
            for key in list(left) + [key for key in right if key not in left]:
                if key not in ignore:
                    compare([*where, key], left.get(key, "absent"), right.get(key, "absent"))
        elif left != right:
            place = " / ".join(os.fsdecode(part) for part in where)
            lines.append(f"{place}: shutil {left!r}, speedcopy {right!r}")

    compare([], expected, actual)
    return lines


def forgive_narrow_modes(expected, actual, refused=False):
    """Overlook that what a failed copy or copy2 leaves is readable by fewer than shutil's.

    A new target is made with permissions for its owner only and gets its mode when
    the rest is done: docs/differences.rst. It may never be readable by more.
    *refused*: a hook may have refused to set the mode although no exception came out.
    """
    if not refused and (expected["raised"] is None or actual["raised"] is None):
        return
    for name, left in expected["tree"].items():
        right = actual["tree"].get(name, {})
        if left["kind"] == right.get("kind") == "file" and not left["kept"]:
            theirs, ours = int(left["mode"], 8), int(right["mode"], 8)
            if ours & ~theirs == 0 and ours & 0o600 == theirs & 0o600:
                left["mode"] = right["mode"] = "no wider"


def ignored(case, function_name):
    """The fields not compared: reading a file may change its atime, setting metadata does not."""
    if function_name in ("copymode", "copystat"):
        return case.ignore
    return case.ignore | {"atime"}
