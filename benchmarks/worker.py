"""A contestant that stays alive: copies in batches and says how long each batch took.

    python worker.py KIND [ARGUMENT...]

Lines of tab-separated fields come in on standard input, one line goes out for each:

    run|mark  OPERATION  COUNT  SOURCE  PREFIX      ->  ok NANOSECONDS  |  error TEXT

A batch copies SOURCE to PREFIX000000, PREFIX000001, ...; names are made before the clock starts.
"mark" looks for a file that does not exist before and after the batch, so that a trace of system
calls shows where the batch lies. The C floor speaks the same protocol. This file runs on every
Python that is measured, so it imports little.
"""

from __future__ import annotations

import functools
import importlib
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable

Copy = Callable[[str, str], object]

MARKER = "/speedcopy-benchmark-marker"
RANGE_SIZE = 1 << 30


def open_pair(source: str, target: str) -> tuple[int, int]:
    """Open both files as shutil's checks would allow it, without Python file objects."""
    source_status = os.stat(source)
    try:
        target_status = os.stat(target)
    except FileNotFoundError:
        target_status = None
    if stat.S_ISFIFO(source_status.st_mode):
        raise shutil.SpecialFileError(source)
    if target_status is not None and os.path.samestat(source_status, target_status):
        raise shutil.SameFileError(source)
    reader = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    return reader, writer


def copy_range(source: str, target: str) -> None:
    """Copy by a loop of os.copy_file_range."""
    reader, writer = open_pair(source, target)
    try:
        while os.copy_file_range(reader, writer, RANGE_SIZE):
            pass
    finally:
        os.close(writer)
        os.close(reader)


def copy_sendfile(source: str, target: str) -> None:
    """Copy by a loop of os.sendfile."""
    reader, writer = open_pair(source, target)
    try:
        offset = 0
        while True:
            sent = os.sendfile(writer, reader, offset, RANGE_SIZE)
            if not sent:
                return
            offset += sent
    finally:
        os.close(writer)
        os.close(reader)


def spawn(command: list[str], source: str, target: str) -> None:
    """Copy by starting a program; the start is part of the time, as for whoever does this."""
    status = os.waitpid(os.posix_spawn(command[0], [*command, source, target], os.environ), 0)[1]
    if status:
        raise OSError(f"{command[0]}: wait status {status}")


def with_metadata(copy: Copy) -> Copy:
    """The given copy followed by shutil.copystat, as copy2 does it."""

    def copy_both(source: str, target: str) -> None:
        copy(source, target)
        shutil.copystat(source, target)

    return copy_both


def from_shutil(*_: str) -> dict[str, Copy]:
    """Operations of this Python's shutil."""
    return {"copyfile": shutil.copyfile, "copy2": shutil.copy2}


def from_module(name: str, *options: str) -> dict[str, Copy]:
    """Operations of a module with shutil's names; OPTIONS are keyword=value."""
    module = importlib.import_module(name)
    keywords = dict(option.split("=", 1) for option in options)
    operations: dict[str, Callable[..., object]] = {}
    for operation in ("copyfile", "copy2"):
        function = getattr(module, operation)
        operations[operation] = functools.partial(function, **keywords) if keywords else function
    return dict(operations)


def from_python_loop(copy: Copy) -> dict[str, Copy]:
    """Operations of a loop in Python, with shutil's metadata for copy2."""
    return {"copyfile": copy, "copy2": with_metadata(copy)}


def from_cp(program: str, *_: str) -> dict[str, Copy]:
    """Operations of the cp program."""
    return {
        "copyfile": functools.partial(spawn, [program, "--"]),
        "copy2": functools.partial(spawn, [program, "-p", "--"]),
    }


def from_speedcopy(*_: str) -> dict[str, Copy]:
    """Operations of speedcopy 2.x, patched into shutil as its users do."""
    importlib.import_module("speedcopy").patch_copyfile()
    return from_shutil()


def from_pyfastcopy(*_: str) -> dict[str, Copy]:
    """Operations of pyfastcopy, which patches shutil when it is imported."""
    importlib.import_module("pyfastcopy")
    return from_shutil()


def from_reflink_copy(*_: str) -> dict[str, Copy]:
    """Operations of reflink-copy."""
    return from_python_loop(importlib.import_module("reflink_copy").reflink_or_copy)


KINDS: dict[str, Callable[..., dict[str, Copy]]] = {
    "shutil": from_shutil,
    "module": from_module,
    "copy_file_range": lambda *_: from_python_loop(copy_range),
    "sendfile": lambda *_: from_python_loop(copy_sendfile),
    "cp": from_cp,
    "speedcopy": from_speedcopy,
    "pyfastcopy": from_pyfastcopy,
    "reflink-copy": from_reflink_copy,
}


def run_batch(function: Copy, source: str, targets: list[str]) -> int:
    """Copy SOURCE to each target; the time in nanoseconds."""
    begin = time.perf_counter_ns()
    for target in targets:
        function(source, target)
    return time.perf_counter_ns() - begin


def answer(operations: dict[str, Copy], line: str) -> str:
    """What is to be said to one line."""
    verb, operation, count, source, prefix = line.rstrip("\n").split("\t")
    targets = [f"{prefix}{index:06d}" for index in range(int(count))]
    if verb == "mark":
        os.access(MARKER, os.F_OK)
    try:
        elapsed = run_batch(operations[operation], source, targets)
    except Exception as error:  # whatever a rival raises is a result
        return f"error\t{error!r}"
    finally:
        if verb == "mark":
            os.access(MARKER, os.F_OK)
    return f"ok\t{elapsed}"


def main(arguments: list[str]) -> int:
    """Serve until standard input ends."""
    try:
        operations = KINDS[arguments[0]](*arguments[1:])
    except Exception as error:
        print(f"error\t{error!r}", flush=True)
        return 1
    print("ready", ".".join(map(str, sys.version_info[:3])), sep="\t", flush=True)
    for line in sys.stdin:
        print(answer(operations, line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
