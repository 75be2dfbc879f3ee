"""Rows of the acceptance table that are no plain scenario: clones, holes, import, system calls."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import syscalls
from contestants import CLONING, Contestant, ContestantError
from measure import MIB, same_bytes, write_source
from mounts import Filesystem, sync_filesystem
from report import duration

CLONE_SIZE = 512 * MIB
CLONE_LIMIT = 1e6
SPARSE_SIZE = 1 << 40
SPARSE_EXTENTS = (0, SPARSE_SIZE // 3 // MIB * MIB, SPARSE_SIZE - MIB)
SPARSE_LIMIT = 50e6
IMPORT_ROUNDS = 20
IMPORT_LIMIT = 5e6
CALL_LIMITS = {"new": 12, "existing": 13}

IMPORT_PROGRAM = """
import shutil, sys, time
before = set(sys.modules)
begin = time.perf_counter_ns()
import {module}
print(time.perf_counter_ns() - begin, *sorted(set(sys.modules) - before))
"""


@dataclass
class Row:
    """One line of the acceptance table."""

    what: str
    limit: str
    measured: str
    passed: bool

    def as_json(self) -> dict[str, object]:
        """The row as it is written."""
        return asdict(self)


def timed_row(what: str, limit: float, times: list[float], problem: str = "") -> Row:
    """A row for a time in nanoseconds, with what else was wrong."""
    median = statistics.median(times) if times else float("inf")
    text = (
        f"{duration(median)} (max {duration(max(times))}, n={len(times)})" if times else "nothing"
    )
    return Row(
        what,
        f"< {duration(limit)}",
        ", ".join(filter(None, [text, problem])),
        median < limit and not problem,
    )


def data_ranges(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Begin and end of every part of a file that holds data."""
    position = 0
    while position < size:
        try:
            begin = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError:
            return
        position = os.lseek(descriptor, begin, os.SEEK_HOLE)
        yield begin, position


def compare_sparse(left: str, right: str) -> str:
    """What differs between two sparse files in size, blocks or data."""
    sync_filesystem(os.path.dirname(left))
    before, after = os.stat(left), os.stat(right)
    if before.st_size != after.st_size:
        return f"size {after.st_size}"
    if after.st_blocks > before.st_blocks:
        return f"{after.st_blocks} blocks instead of {before.st_blocks}"
    with open(left, "rb", buffering=0) as one, open(right, "rb", buffering=0) as other:
        files = (one.fileno(), other.fileno())
        for file in files:
            for begin, end in data_ranges(file, before.st_size):
                for offset in range(begin, end, MIB):
                    count = min(MIB, end - offset)
                    if os.pread(files[0], count, offset) != os.pread(files[1], count, offset):
                        return f"wrong bytes near {offset}"
    return ""


def repeat(contestant: Contestant, source: str, rounds: int) -> tuple[list[float], str]:
    """Times of copies to a new target, which the last round leaves behind; what went wrong."""
    prefix = os.path.join(os.path.dirname(source), "target")
    times = []
    for _ in range(rounds):
        if os.path.exists(prefix + "000000"):
            os.unlink(prefix + "000000")
        sync_filesystem(os.path.dirname(source))
        try:
            times.append(float(contestant.copy("copyfile", 1, source, prefix)))
        except ContestantError as error:
            return times, str(error)
    return times, ""


def clone_row(filesystem: Filesystem, contestant: Contestant, rounds: int) -> Row:
    """A large file on a file system that can share its blocks."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=filesystem.root) as folder:
        source = os.path.join(folder, "source")
        write_source(source, CLONE_SIZE)
        times, problem = repeat(contestant, source, rounds)
        if not problem and not same_bytes(source, os.path.join(folder, "target000000")):
            problem = "wrong bytes"
    return timed_row(f"512 MiB clone, {filesystem.kind}", CLONE_LIMIT, times, problem)


def sparse_row(filesystem: Filesystem, contestant: Contestant, rounds: int) -> Row:
    """A file that is nearly all hole."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=filesystem.root) as folder:
        source = os.path.join(folder, "source")
        with open(source, "wb") as file:
            for offset in SPARSE_EXTENTS:
                file.seek(offset)
                file.write(os.urandom(MIB))
        times, problem = repeat(contestant, source, rounds)
        problem = problem or compare_sparse(source, os.path.join(folder, "target000000"))
    return timed_row(f"1 TiB sparse, 3 extents, {filesystem.kind}", SPARSE_LIMIT, times, problem)


def call_rows(filesystem: Filesystem, contestant: Contestant) -> list[Row]:
    """System calls of copy2 of a small file."""
    rows = []
    for kind, calls in syscalls.copy2_calls(contestant, filesystem.root).items():
        limit = CALL_LIMITS[kind]
        measured = f"{len(calls)}: {syscalls.summary(calls)}"
        what = f"system calls of copy2, {kind} target, {filesystem.kind}"
        rows.append(Row(what, f"<= {limit}", measured, 0 < len(calls) <= limit))
    return rows


def import_row(module: str, python: str, path: str) -> Row:
    """Time and modules that an import costs a process that has imported shutil."""
    times, loaded = [], ""
    environment = {**os.environ, "PYTHONPATH": path}
    command = [python, "-c", IMPORT_PROGRAM.format(module=module)]
    for number in range(IMPORT_ROUNDS + 1):
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            return Row(f"import {module}", "", done.stderr.strip().rpartition("\n")[2], False)
        elapsed, _, loaded = done.stdout.strip().partition(" ")
        if number:  # the first one may compile
            times.append(float(elapsed))
    foreign = [
        name for name in loaded.split() if name.partition(".")[0] not in {module, "speedcopy"}
    ]
    problem = "also loads " + " ".join(foreign) if foreign else ""
    return timed_row(f"import {module} after shutil", IMPORT_LIMIT, times, problem)


def rows_on(filesystem: Filesystem, contestant: Contestant, rounds: int) -> list[Row]:
    """All special rows that belong to one file system."""
    rows = []
    if filesystem.kind == "ext4" and syscalls.have_strace():
        rows += call_rows(filesystem, contestant)
    if filesystem.kind in CLONING:
        rows.append(twice(lambda: clone_row(filesystem, contestant, rounds)))
    rows.append(twice(lambda: sparse_row(filesystem, contestant, rounds)))
    return rows


def twice(measure: Callable[[], Row]) -> Row:
    """A row; one that fails is measured once more."""
    row = measure()
    return row if row.passed else measure()
