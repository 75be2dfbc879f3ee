"""Runs cases under an audit hook, which cannot be removed: in a process of its own.

    python -m support.audit_runner events|vetoes DIRECTORY REPORT

compares both modules and writes {case name: [lines of differences]} as JSON.
"""

import errno
import json
import os
import shutil
import sys
import traceback

import speedcopy_c

from . import cases, paths
from .outcome import (
    Arguments,
    Case,
    attempt,
    describe,
    differences,
    forgive_narrow_modes,
    ignored,
)
from .parity import warm_up
from .privilege import Unavailable
from .sources import DATA

MODULES = (shutil, speedcopy_c)


class Refused(Exception):
    """What a vetoing hook raises."""


VETOES = {
    "Refused": lambda: Refused("by the hook"),
    "EPERM": lambda: PermissionError(errno.EPERM, "by the hook", "named"),
    "ENOTSUP": lambda: OSError(errno.ENOTSUP, "by the hook"),
    "EISDIR": lambda: IsADirectoryError(errno.EISDIR, "by the hook"),
    "NotImplementedError": lambda: NotImplementedError("by the hook"),
    "KeyboardInterrupt": lambda: KeyboardInterrupt("by the hook"),
}


class Hook:
    """Notes events while entered as a context manager; may refuse the n-th."""

    def __init__(self):
        self.active = False
        self.events = []
        self.refuse = None
        self.error = None
        self.overlook = ()

    def __call__(self, event, args):
        if not self.active:
            return
        self.active = False
        self.events.append((event, [self.argument(event, arg) for arg in args]))
        self.active = True
        if self.refuse is not None and len(self.events) == self.refuse + 1:
            raise self.error()

    def argument(self, event, value):
        """The text of an argument; times that depend on when a file was read are left out."""
        if event == "os.utime" and isinstance(value, tuple) and len(value) == 2:
            value = tuple("any" if skip else ns for skip, ns in zip(self.overlook, value))
        return describe(value)

    def __enter__(self):
        self.events = []
        self.active = True

    def __exit__(self, *exc):
        self.active = False


def observe(hook, place, case, call, module):
    """The outcome of one call with the events that it raised."""
    name, kwargs = call
    any_time = "mtime" in case.ignore
    hook.overlook = any_time or name != "copystat", any_time
    report = attempt(place, getattr(module, name), case, kwargs, around=hook)
    report["events"] = {f"{n:02d}": event for n, event in enumerate(hook.events)}
    return report


def compare_events(hook, place, case):
    """Events, result and tree of both modules, for all calls of the case."""
    lines = []
    for label, name, kwargs in cases.variants(case):
        hook.refuse = None
        pair = [observe(hook, place, case, (name, kwargs), m) for m in MODULES]
        lines += [f"{label}: {line}" for line in differences(*pair, ignored(case, name))]
    return lines


def compare_vetoes(hook, place, case):
    """The same with each event refused in turn, by each kind of exception."""
    lines = []
    for label, name, kwargs in cases.variants(case):
        hook.refuse = None
        count = len(observe(hook, place, case, (name, kwargs), shutil)["events"])
        for kind, error in VETOES.items():
            hook.error = error
            for hook.refuse in range(count):
                pair = [observe(hook, place, case, (name, kwargs), m) for m in MODULES]
                forgive_narrow_modes(*pair, refused=True)
                what = f"{label}, event {hook.refuse} refused by {kind}"
                found = differences(*pair, ignored(case, name) | {"atime"})
                lines += [f"{what}: {line}" for line in found]
    return lines


def typed(name, make_src, make_dst, existing=False):
    """A case of certain types of paths."""

    def prepare(box):
        box.file("src", DATA)
        if existing:
            box.file("dst", b"old")
        return make_src("src"), make_dst("dst")

    return Case(name, prepare)


def descriptors(name, kind):
    """A case with an open descriptor as source or target."""

    def prepare(box):
        box.file("src", DATA)
        fd = paths.DESCRIPTORS[kind]("src" if kind == "reading" else "dst")
        pair = (fd, "dst") if kind == "reading" else ("src", fd)
        return Arguments(*pair, descriptors=[fd])

    return Case(name, prepare)


def event_cases():
    """Every pair, and every type of path on both sides."""
    made = cases.pairs()
    for existing in (False, True):
        for name, make in paths.VALID.items():
            ending = "-existing" if existing else "-new"
            made.append(typed(f"type-{name}{ending}", make, make, existing))
    for name, make in paths.INVALID.items():
        if name.startswith("Like-raises"):
            continue  # asked for its path before the first event: docs/differences.rst
        made.append(typed(f"wrong-source-{name}", make, str))
        made.append(typed(f"wrong-target-{name}", str, make))
    made += [descriptors(f"descriptor-{kind}", kind) for kind in paths.DESCRIPTORS]
    return made


VETO_PAIRS = (
    "regular-to-new",
    "regular-to-shorter",
    "regular-to-longer",
    "regular-to-directory",
    "regular-to-missing-parent",
    "regular-to-missing-with-slash",
    "regular-to-link",
    "regular-to-dangling-link",
    "regular-to-same-path",
    "regular-to-fifo",
    "empty-to-longer",
    "1m+3-to-new",
    "1m+3-to-longer",
    "link-to-new",
    "link-to-link",
    "dangling-link-to-new",
    "user-xattrs-to-new",
    "user-xattrs-to-shorter",
    "directory-to-new",
    "missing-to-new",
    "missing-to-longer",
    "regular-to-new-as-user",
    "regular-to-foreign-writable-as-user",
)


def veto_cases():
    """Fewer, since each is run once for each event and exception."""
    made = [case for case in cases.pairs() if case.name in VETO_PAIRS]
    for name in ("Path", "bytes", "DirEntry"):
        made.append(typed(f"type-{name}", paths.VALID[name], paths.VALID[name], True))
    made.append(descriptors("descriptor-reading", "reading"))
    return made


def main(what, place, report):
    """Run all cases of one kind."""
    warm_up(place)
    hook = Hook()
    sys.addaudithook(hook)
    work, made = {
        "events": (compare_events, event_cases()),
        "vetoes": (compare_vetoes, veto_cases()),
    }[what]
    results = {}
    for case in made:
        try:
            results[case.name] = work(hook, os.path.join(place, "box"), case)
        except Unavailable as reason:
            results[case.name] = str(reason)
        except Exception:
            results[case.name] = [traceback.format_exc()]
    with open(report, "w") as stream:
        json.dump(results, stream)


if __name__ == "__main__":
    main(*sys.argv[1:])
