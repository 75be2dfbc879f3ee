"""Which system calls one copy makes, seen by strace between two marker calls."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections import Counter

from contestants import Contestant, floor_with
from measure import MIB, write_source
from worker import MARKER

CALL = re.compile(r"^(?:\d+\s+)?(\w+)\(")
RENAMED = {
    "openat": "open",
    "fstatat": "stat",
    "newfstatat": "stat",
    "pread64": "pread",
    "pwrite64": "pwrite",
}

BEGIN = ["stat", "stat", "open", "fstat", "open"]
END = ["close", "close"]
METADATA = ["utimensat", "flistxattr", "fchmod"]
SMALL = ["read", "write"]
LOOPS = {
    "rw:524288": ["read", "write", "read", "write", "read", "write", "read", "write", "read"],
    "cfr": ["copy_file_range"],
    "sendfile": ["sendfile"],
    "clone": ["ioctl"],
}
SMALL_SIZE = 1024
LOOP_SIZE = 2 * MIB


def have_strace() -> bool:
    """Whether strace is installed."""
    return shutil.which("strace") is not None


def call_name(line: str) -> str | None:
    """The name of the call in one line of the trace, in one spelling on every C library."""
    found = CALL.match(line)
    if not found:
        return None
    name = found.group(1)
    if name == "newfstatat" and "AT_EMPTY_PATH" in line:
        return "fstat"
    return RENAMED.get(name, name)


def calls_between_markers(path: str) -> list[str]:
    """The calls of the last marked batch in a trace."""
    calls: list[str] = []
    inside = False
    with open(path, encoding="utf-8", errors="replace") as trace:
        for line in trace:
            if MARKER in line:
                inside = not inside
                calls = [] if inside else calls
            elif inside:
                name = call_name(line)
                calls += [name] if name else []
    return calls


def trace(contestant: Contestant, operation: str, source: str, target: str) -> list[str]:
    """
    The calls of one copy in a process that has copied before.

    The target is named without its number, which the protocol adds; whether it exists is the
    caller's affair.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        output = os.path.join(folder, "trace")
        command = ["strace", "-f", "-o", output, *contestant.command]
        traced = Contestant(contestant.name, command, contestant.environment, contestant.methods)
        try:
            for number in range(3):
                traced.copy(operation, 1, source, f"{target}-warm-{number}-")
            traced.copy(operation, 1, source, target, verb="mark")
        finally:
            traced.stop()
        return calls_between_markers(output)


def copy2_calls(
    contestant: Contestant, root: str, operation: str = "copy2"
) -> dict[str, list[str]]:
    """Calls of one small copy to a new and over an existing target on the file system of ROOT."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=root) as folder:
        source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
        write_source(source, SMALL_SIZE)
        return {kind: trace(contestant, operation, source, target) for kind in ("new", "existing")}


def summary(calls: list[str]) -> str:
    """The calls counted, in order of first appearance."""
    return ", ".join(
        name if count == 1 else f"{name} x{count}" for name, count in Counter(calls).items()
    )


def expected(method: str, existing: bool) -> list[str]:
    """The calls that the floor is to make."""
    base, _, metadata = method.partition("+")
    data = LOOPS.get(base, SMALL)
    before = [*BEGIN, *(["fstat"] if existing else [])]
    if existing and base != "small":
        data = ["ftruncate", *data]
    return [*before, *data, *(METADATA if metadata else []), *END]


def check_floor(program: str, root: str, cloning: bool) -> list[str]:
    """Compare the floor's calls with those of the design; what differs."""
    problems = []
    for base in ("small", *LOOPS):
        if base == "clone" and not cloning:
            continue
        for method in (base, base + "+meta"):
            problems += _check_method(program, root, method)
    return problems


def _check_method(program: str, root: str, method: str) -> list[str]:
    contestant = floor_with(program, "floor", method.partition("+")[0])
    operation = "copy2" if method.endswith("+meta") else "copyfile"
    problems = []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=root) as folder:
        source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
        write_source(source, SMALL_SIZE if method.startswith("small") else LOOP_SIZE)
        for existing in (False, True):
            seen = trace(contestant, operation, source, target)
            wanted = expected(method, existing)
            if seen != wanted:
                problems.append(
                    f"{method}, existing {existing}: {' '.join(seen)}, not {' '.join(wanted)}"
                )
    return problems
