"""speedcopy try: a folder copied both ways, compared and timed."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator

import speedcopy_c

_COPIES: dict[str, Callable[..., object]] = {
    "shutil": shutil.copy2,
    "speedcopy": speedcopy_c.copy2,
}


def run(arguments: argparse.Namespace) -> int:
    """Print times and differences; return 1 if the two copies differ."""
    seconds: dict[str, list[float]] = {name: [] for name in _COPIES}
    differences: list[str] = []
    for number in range(max(1, arguments.rounds)):
        with tempfile.TemporaryDirectory(prefix="speedcopy-try-", dir=arguments.to) as place:
            order = list(_COPIES) if number % 2 == 0 else list(_COPIES)[::-1]
            for name in order:
                seconds[name].append(_copy(arguments.folder, os.path.join(place, name), name))
            copies = [os.path.join(place, name) for name in _COPIES]
            files, size = _measure(copies[0])
            differences = differences or list(_compare(*copies))
    print(f"{files} files, {size / 1e6:.1f} MB, {len(seconds['shutil'])} times each")
    for name, times in seconds.items():
        print(f"  {name:<10} {statistics.median(times):8.3f} s")
    ratio = statistics.median(a / b for a, b in zip(seconds["shutil"], seconds["speedcopy"]))
    print(f"  {ratio:.2f} times as fast")
    for difference in differences[:20]:
        print(f"  DIFFERENT: {difference}")
    print("  the two copies differ" if differences else "  the two copies are equal")
    return 1 if differences else 0


def _copy(source: str, target: str, name: str) -> float:
    """Copy a tree by shutil's algorithm over one of the two copy2."""
    started = time.perf_counter()
    try:
        shutil.copytree(source, target, symlinks=True, copy_function=_COPIES[name])
    except shutil.Error as error:
        # What cannot be copied (sockets, unreadable files) is not for us to
        # judge: both ways have to come to the same.
        print(f"  {name}: {len(error.args[0])} entries could not be copied")
    return time.perf_counter() - started


def _entries(root: str) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            yield os.path.relpath(os.path.join(folder, name), root)


def _measure(root: str) -> tuple[int, int]:
    stats = [os.lstat(os.path.join(root, name)) for name in _entries(root)]
    return len(stats), sum(stat.st_size for stat in stats)


def _compare(one: str, other: str) -> Iterator[str]:
    """Say what differs: names, types, modes, times, links, contents."""
    names = set(_entries(one))
    for name in sorted(names ^ set(_entries(other))):
        yield f"{name}: only in one of them"
    for name in sorted(names & set(_entries(other))):
        yield from _compare_entry(name, os.path.join(one, name), os.path.join(other, name))


def _compare_entry(name: str, one: str, other: str) -> Iterator[str]:
    a, b = os.lstat(one), os.lstat(other)
    if a.st_mode != b.st_mode:
        yield f"{name}: mode {a.st_mode:o} and {b.st_mode:o}"
    elif a.st_mtime_ns != b.st_mtime_ns:
        yield f"{name}: times"
    elif os.path.islink(one):
        if os.readlink(one) != os.readlink(other):
            yield f"{name}: link"
    elif os.path.isfile(one) and not _same_content(one, other):
        yield f"{name}: content"


def _same_content(one: str, other: str) -> bool:
    with open(one, "rb") as a, open(other, "rb") as b:
        while True:
            x, y = a.read(1 << 20), b.read(1 << 20)
            if x != y:
                return False
            if not x:
                return True
