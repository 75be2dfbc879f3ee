"""Single files: ours beside shutil of each Python, loops in Python, cp, packages, and a C floor.

python benchmarks/files.py --root DIR                 a quick look on one file system
sudo python benchmarks/files.py --make-mounts --accept --rivals DIR --json FILE
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import accept
import mounts
import report
import special
import syscalls
from contestants import (
    BASELINE_PYTHON,
    CLONING,
    FLOOR_SMALL,
    OPERATIONS,
    OURS,
    Contestant,
    ContestantError,
    build_floor,
    choose,
    find_pythons,
    floors,
    ours,
    packages,
    programs,
    python_loops,
    shutils,
)
from measure import (
    GIB,
    SIZES,
    TARGETS,
    Outcome,
    Plan,
    from_json,
    parse_size,
    run_scenario,
    scenarios,
)

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JUDGED = {OURS, FLOOR_SMALL, *accept.LARGE_RIVALS}


def arguments() -> argparse.Namespace:
    """What the user wants."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words = parser.add_argument_group("where")
    words.add_argument(
        "--root",
        action="append",
        default=[],
        help="measure in a new folder below this one (repeatable)",
    )
    words.add_argument(
        "--make-mounts",
        nargs="?",
        const=",".join(mounts.KINDS),
        default="",
        metavar="KINDS",
        help="make these file systems in memory and measure there (root; default: %(const)s)",
    )
    words = parser.add_argument_group("what")
    words.add_argument("--sizes", default="", help="such as 1K,64K,1M,64M,1G (these by default)")
    words.add_argument("--operations", default=",".join(OPERATIONS))
    words.add_argument("--targets", default=",".join(TARGETS))
    words.add_argument("--rounds", type=int, default=15)
    words.add_argument(
        "--largest-rounds",
        type=int,
        help="rounds for files of 1 GiB and more (default: as --rounds)",
    )
    words.add_argument(
        "--reuse-targets",
        action="store_true",
        help="overwrite each contestant's own earlier copies",
    )
    words.add_argument("--seed", type=int, default=1, help="of the order within the rounds")
    words.add_argument("--cpu", type=int, help="run every contestant on this processor")
    _add_contestants(parser)
    words = parser.add_argument_group("output")
    words.add_argument("--json", metavar="FILE", help="write everything here")
    words.add_argument(
        "--accept",
        action="store_true",
        help="judge by the acceptance table, measure its other rows too",
    )
    words.add_argument(
        "--from-json",
        action="append",
        default=[],
        metavar="FILE",
        help="show and judge earlier results only",
    )
    words.add_argument(
        "--check-floor",
        action="store_true",
        help="only trace the C floor and compare its system calls",
    )
    return parser.parse_args()


def _add_contestants(parser: argparse.ArgumentParser) -> None:
    words = parser.add_argument_group("who")
    words.add_argument(
        "--ours",
        default="speedcopy_c",
        metavar="MODULE",
        help="any module with copyfile and copy2",
    )
    words.add_argument(
        "--ours-path",
        default=REPOSITORY,
        metavar="DIR",
        help="its PYTHONPATH (default: the repository)",
    )
    words.add_argument("--ours-python", default=sys.executable, metavar="PATH")
    words.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="KEY=VALUE,...",
        help="ours with these options too",
    )
    words.add_argument(
        "--python", action="append", default=[], metavar="PATH", help="one more Python's shutil"
    )
    words.add_argument("--rivals", metavar="DIR", help="what rivals/setup.sh made")
    words.add_argument(
        "--only", metavar="REGEX", help="only contestants whose name matches, and ours"
    )
    words.add_argument(
        "--judged",
        action="store_true",
        help="only contestants that the acceptance table needs, and ours",
    )
    words.add_argument(
        "--everyone",
        action="store_true",
        help="all contestants for 1 GiB too, not only those that are judged",
    )


def field_of(options: argparse.Namespace, scratch: str) -> list[Contestant]:
    """All contestants."""
    pythons = find_pythons(options.python)
    loops = pythons.get(BASELINE_PYTHON, sys.executable)
    module = (options.ours, options.ours_python, options.ours_path)
    field = [ours(*module), *(ours(*module, variant.split(",")) for variant in options.variant)]
    field += [*shutils(pythons), *python_loops(loops), *programs(loops), *packages(options.rivals)]
    field += floors(build_floor(scratch))
    if options.judged:
        field = [one for one in field if one.name in JUDGED or one.name.startswith(OURS)]
    return choose(field, options.only)


@contextmanager
def running(contestants: list[Contestant]) -> Iterator[list[Contestant]]:
    """The contestants that start; all of them are stopped in the end."""
    started = []
    try:
        for contestant in contestants:
            try:
                contestant.start()
            except ContestantError as error:
                report.progress(f"left out: {error}")
                if contestant.name == OURS:
                    raise
            else:
                started.append(contestant)
        yield started
    finally:
        for contestant in contestants:
            contestant.stop()


def measure_on(
    filesystem: mounts.Filesystem, contestants: list[Contestant], options: argparse.Namespace
) -> tuple[list[Outcome], list[special.Row]]:
    """All scenarios, and the special rows if they are wanted, on one file system."""
    outcomes = []
    sizes = [parse_size(text) for text in options.sizes.split(",")] if options.sizes else SIZES
    for scenario in scenarios(
        filesystem.kind, sizes, options.operations.split(","), options.targets.split(",")
    ):
        report.progress(scenario.title())
        field, rounds = contestants, options.rounds
        if scenario.size >= GIB:
            rounds = options.largest_rounds or rounds
            field = [one for one in field if options.everyone or one.name in JUDGED]
        plan = Plan(rounds, options.reuse_targets, options.seed)
        outcome = run_scenario(filesystem, scenario, field, plan)
        if options.accept and not all(row.passed for row in accept.judge([outcome])):
            report.progress("  once more")
            outcome = run_scenario(filesystem, scenario, field, replace(plan, seed=plan.seed + 1))
            outcome.runs = 2
        outcomes.append(outcome)
    rows = special.rows_on(filesystem, contestants[0], options.rounds) if options.accept else []
    return outcomes, rows


def filesystems(options: argparse.Namespace) -> Iterator[mounts.Filesystem]:
    """The file systems one after the other; a made one is gone before the next one is made."""
    for root in options.root:
        with mounts.given(root) as filesystem:
            yield filesystem
    for kind in filter(None, options.make_mounts.split(",")):
        with mounts.made(kind) as filesystem:
            yield filesystem


def show(outcomes: list[Outcome], rows: list[special.Row], judged: bool) -> int:
    """Print the tables; the exit status."""
    if outcomes:
        print(report.tables(outcomes))
    if not judged:
        return 0
    rows = [*accept.judge(outcomes), *rows]
    print(f"\n{accept.table(rows)}")
    return int(not all(row.passed for row in rows))


def show_earlier(options: argparse.Namespace) -> int:
    """Print what was measured before; of what occurs twice the later one counts."""
    outcomes, rows = {}, {}
    for path in options.from_json:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        for scenario in data["scenarios"]:
            outcome = from_json(scenario)
            outcomes[outcome.scenario] = outcome
        for row in data.get("special", []):
            rows[row["what"]] = special.Row(**row)
    return show(list(outcomes.values()), list(rows.values()), options.accept)


def check_floor(options: argparse.Namespace, program: str) -> int:
    """Trace the floor on every file system."""
    problems = []
    for filesystem in filesystems(options):
        found = syscalls.check_floor(program, filesystem.root, filesystem.kind in CLONING)
        print(f"{filesystem.kind}: {'differs' if found else 'the calls are those of the design'}")
        problems += found
    print("\n".join(problems))
    return int(bool(problems))


def measure(options: argparse.Namespace, scratch: str) -> int:
    """Measure, print, write."""
    outcomes: list[Outcome] = []
    rows: list[special.Row] = []
    with ExitStack() as stack:
        contestants = stack.enter_context(running(field_of(options, scratch)))
        if options.accept:
            imported = (options.ours, options.ours_python, options.ours_path)
            rows.append(special.twice(lambda: special.import_row(*imported)))
        for filesystem in filesystems(options):
            more = measure_on(filesystem, contestants, options)
            outcomes += more[0]
            rows += more[1]
            if options.json:  # each time, so that little is lost if the next one fails
                extra = {"ours": options.ours, "special": [row.as_json() for row in rows]}
                report.write_json(options.json, outcomes, contestants, extra)
    return show(outcomes, rows, options.accept)


def main() -> int:
    """Do what the user wants."""
    options = arguments()
    if options.from_json:
        return show_earlier(options)
    if options.make_mounts:
        mounts.enter_namespace()
    if not options.root and not options.make_mounts:
        options.root = [tempfile.gettempdir()]
    if options.cpu is not None:
        os.sched_setaffinity(0, {options.cpu})
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        if options.check_floor:
            return check_floor(options, build_floor(scratch))
        return measure(options, scratch)


if __name__ == "__main__":
    sys.exit(main())
