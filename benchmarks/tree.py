"""A whole folder through shutil.copytree, with shutil.copy2 and with ours as copy_function.

    python benchmarks/tree.py FOLDER                      targets in the temporary folder
    python benchmarks/tree.py FOLDER --work DIR --rounds 5
    sudo python benchmarks/tree.py FOLDER --make-mounts   brings it to each file system first

The first copies are compared with the folder: `diff -r --no-dereference`, and types, modes, times,
xattrs and link targets of all entries. Where ours differs and shutil's does not it has failed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import mounts
from measure import ratios, spread
from report import aligned, machine, progress

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHOWN = 5


def arguments() -> argparse.Namespace:
    """What the user wants."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument(
        "--work",
        metavar="DIR",
        help="copy to new folders below this one (default: the temporary folder)",
    )
    parser.add_argument(
        "--make-mounts", nargs="?", const=",".join(mounts.KINDS), default="", metavar="KINDS"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ours", default="speedcopy_c", metavar="MODULE")
    parser.add_argument("--ours-path", default=REPOSITORY, metavar="DIR")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def entries(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Relative path and status of a folder and all below it, links not followed."""
    yield ".", os.lstat(folder)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(parent, name)
            yield os.path.relpath(path, folder), os.lstat(path)


def facts(folder: str) -> dict[str, tuple[Any, ...]]:
    """What a copy must keep of every entry."""
    found = {}
    for name, status in entries(folder):
        path = os.path.join(folder, name)
        link = os.readlink(path) if os.path.islink(path) else None
        size = None if os.path.isdir(path) and link is None else status.st_size
        found[name] = (oct(status.st_mode), status.st_mtime_ns, size, link, xattrs(path))
    return found


def xattrs(path: str) -> list[tuple[str, bytes]]:
    """Extended attributes of an entry itself."""
    try:
        names = os.listxattr(path, follow_symlinks=False)
        return sorted((name, os.getxattr(path, name, follow_symlinks=False)) for name in names)
    except OSError:
        return []


def differences(folder: str, copy: str) -> list[str]:
    """Where a copy is not what was copied."""
    before, after = facts(folder), facts(copy)
    found = [
        f"{name}: {before.get(name)} became {after.get(name)}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]
    done = subprocess.run(
        ["diff", "-r", "--no-dereference", "--", folder, copy], capture_output=True, check=False
    )
    if done.returncode:
        found += (done.stdout + done.stderr).decode(errors="replace").splitlines()
    return found


def copy_once(folder: str, target: str, function: Callable[..., Any]) -> float:
    """Nanoseconds that one copytree takes."""
    mounts.sync_filesystem(os.path.dirname(target))
    begin = time.perf_counter_ns()
    shutil.copytree(folder, target, symlinks=True, copy_function=function)
    return float(time.perf_counter_ns() - begin)


def race(
    folder: str, work: str, functions: dict[str, Callable[..., Any]], rounds: int
) -> dict[str, Any]:
    """Times of all rounds by name; the first, uncounted round compares the copies."""
    target = os.path.join(work, "target")
    times: dict[str, list[float]] = {name: [] for name in functions}
    problems: dict[str, list[str]] = {}
    order = list(functions)
    for number in range(rounds + 1):
        for name in order:
            elapsed = copy_once(folder, target, functions[name])
            if number:
                times[name].append(elapsed)
            else:
                problems[name] = differences(folder, target)
            shutil.rmtree(target)
        random.shuffle(order)
    return {"times": times, "problems": problems}


def show(kind: str, result: dict[str, Any], count: int, size: int) -> bool:
    """Print what one race gave; whether ours lost nothing that shutil keeps."""
    times = result["times"]
    base = times["shutil.copy2"]
    rows = [["copy_function", "median", "min", "max", "times faster"]]
    for name, values in times.items():
        seconds = [
            f"{value / 1e9:.3f} s"
            for value in (statistics.median(values), min(values), max(values))
        ]
        rows.append([name, *seconds, f"{spread(ratios(base, values), 3)['median']:.2f}"])
    print(f"\n{kind}: {count} entries, {size / 1e6:.1f} MB\n{aligned(rows)}")
    for name, problems in result["problems"].items():
        print(f"{name}: {len(problems) or 'no'} differences from the folder")
        print("".join(f"  {line}\n" for line in problems[:SHOWN]), end="")
    allowed = set(result["problems"]["shutil.copy2"])
    return all(set(problems) <= allowed for problems in result["problems"].values())


def places(options: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    """Type of file system, folder to copy and folder to work in, one after the other."""
    if not options.make_mounts:
        with mounts.given(options.work or tempfile.gettempdir()) as filesystem:
            yield filesystem.kind, options.folder, filesystem.root
    for kind in filter(None, options.make_mounts.split(",")):
        with mounts.made(kind) as filesystem:
            staged = os.path.join(filesystem.root, "source")
            shutil.copytree(options.folder, staged, symlinks=True)
            yield kind, staged, filesystem.root


def main() -> int:
    """Copy, compare, print."""
    options = arguments()
    if options.make_mounts:
        mounts.enter_namespace()
    sys.path.insert(0, options.ours_path)
    module = importlib.import_module(options.ours)
    functions = {"shutil.copy2": shutil.copy2, f"{options.ours}.copy2 (ours)": module.copy2}
    results, good = {}, True
    for kind, folder, work in places(options):
        progress(f"{kind}: {folder}")
        statuses = [status for _, status in entries(folder)]
        result = race(folder, work, functions, options.rounds)
        good = (
            show(kind, result, len(statuses), sum(status.st_size for status in statuses)) and good
        )
        results[kind] = result
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(
                {"machine": machine(), "folder": options.folder, "results": results},
                file,
                indent=1,
            )
    print("\nours keeps what shutil keeps" if good else "\nFAIL: ours loses what shutil keeps")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
