"""Scenarios and rounds.

In each round every contestant copies one batch, in shuffled order, from the same starting state.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from contestants import OURS, Contestant, ContestantError
from mounts import Filesystem, sync_filesystem

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZES = (KIB, 64 * KIB, MIB, 64 * MIB, GIB)
TARGETS = ("new", "existing")
BLOCK = MIB
SMALL_BATCH = 200
LARGEST_BATCH = 100
BATCH_BYTES = 16 * MIB
SOURCE_TIME = 1_500_000_000_123_456_789


@dataclass(frozen=True)
class Scenario:
    """What is copied, how, and over what."""

    filesystem: str
    size: int
    operation: str
    target: str

    def batch(self) -> int:
        """How many files one batch copies: enough for the clock, without becoming long."""
        if self.size <= 4 * KIB:
            return SMALL_BATCH
        return max(1, min(LARGEST_BATCH, BATCH_BYTES // self.size))

    def generation(self) -> int:
        """
        After how many rounds the processes are started anew.

        Where a process lies in memory is a matter of luck that small copies can feel, and that
        must not stay with one contestant all the time.
        """
        return 5 if self.size <= MIB else sys.maxsize

    def title(self) -> str:
        """A short name for progress lines."""
        return f"{self.filesystem} {size_text(self.size)} {self.operation} {self.target}"


@dataclass(frozen=True)
class Plan:
    """How often, on which targets and in which order."""

    rounds: int
    reuse: bool
    seed: int


@dataclass
class Outcome:
    """Nanoseconds a call, one value a round, of every contestant of one scenario."""

    scenario: Scenario
    batch: int
    times: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    runs: int = 1

    def median(self, name: str) -> float:
        """The median time of a call in nanoseconds."""
        return statistics.median(self.times[name])

    def ratio(self, upper: str, lower: str) -> float:
        """Time of one contestant over that of another: the median of the rounds' ratios."""
        return statistics.median(ratios(self.times[upper], self.times[lower]))

    def as_json(self) -> dict[str, Any]:
        """Times and what is derived from them."""
        rows = {}
        for name, times in self.times.items():
            rows[name] = {**spread(times), "ns": [round(value, 1) for value in times]}
            if OURS in self.times:
                paired = spread(ratios(times, self.times[OURS]), 4)
                rows[name]["times_ours"] = {key: paired[key] for key in ("median", "q1", "q3")}
        return {
            **asdict(self.scenario),
            "batch": self.batch,
            "runs": self.runs,
            "contestants": rows,
            "failed": self.failed,
        }


def from_json(data: dict[str, Any]) -> Outcome:
    """The outcome that as_json wrote."""
    scenario = Scenario(data["filesystem"], data["size"], data["operation"], data["target"])
    times = {name: row["ns"] for name, row in data["contestants"].items()}
    return Outcome(scenario, data["batch"], times, data["failed"], data["runs"])


def ratios(upper: list[float], lower: list[float]) -> list[float]:
    """Ratios round by round."""
    return [one / other for one, other in zip(upper, lower)]


def spread(values: list[float], digits: int = 1) -> dict[str, float]:
    """Median, quartiles and extremes."""
    quartiles = (
        statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    )
    names = ("q1", "median", "q3", "min", "max")
    return {
        name: round(value, digits)
        for name, value in zip(names, [*quartiles, min(values), max(values)])
    }


def size_text(size: int) -> str:
    """A size as people write it."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def parse_size(text: str) -> int:
    """A size such as 1K, 64K, 1M, 1G or a number of bytes."""
    units = {"K": KIB, "M": MIB, "G": GIB}
    return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)


def scenarios(
    filesystem: str, sizes: Iterable[int], operations: Iterable[str], targets: Iterable[str]
) -> list[Scenario]:
    """All combinations, small ones first."""
    return [
        Scenario(filesystem, size, one, target)
        for size in sizes
        for one in operations
        for target in targets
    ]


def write_source(path: str, size: int) -> None:
    """A file of random blocks, each of them different from the others."""
    block = bytearray(os.urandom(min(size, BLOCK)))
    with open(path, "wb") as file:
        for number in range(0, size, BLOCK):
            block[:8] = number.to_bytes(8, "little")
            file.write(block[: size - number])
    os.chmod(path, 0o644)
    os.utime(path, ns=(SOURCE_TIME, SOURCE_TIME))


def write_old(path: str, size: int) -> None:
    """A file that is to be overwritten."""
    block = b"\xaa" * min(size, BLOCK)
    with open(path, "wb") as file:
        for number in range(0, size, BLOCK):
            file.write(block[: size - number])


def same_bytes(left: str, right: str) -> bool:
    """Whether two files have the same content."""
    with open(left, "rb") as one, open(right, "rb") as other:
        while True:
            block = one.read(BLOCK)
            if block != other.read(BLOCK):
                return False
            if not block:
                return True


class Place:
    """The folder in which one scenario runs: a source and targets."""

    def __init__(self, root: str, scenario: Scenario, reuse: bool) -> None:
        """Make the folder and the source."""
        self.scenario = scenario
        self.folder = os.path.join(root, "scenario")
        self.source = os.path.join(self.folder, "source")
        self.reuse = reuse and scenario.target == "existing"
        os.mkdir(self.folder)
        write_source(self.source, scenario.size)

    def prefix(self, contestant: Contestant) -> str:
        """Where the names of this contestant's targets begin."""
        return os.path.join(
            self.folder, contestant.name.replace(" ", "-") if self.reuse else "targets", "file"
        )

    def _targets(self, prefix: str) -> list[str]:
        return [f"{prefix}{index:06d}" for index in range(self.scenario.batch())]

    def prepare(self, prefix: str) -> None:
        """Make the state that a batch starts from, with nothing left to be written back."""
        folder = os.path.dirname(prefix)
        kept = self.reuse and os.path.exists(folder)
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
            if self.scenario.target == "existing":
                for target in self._targets(prefix):
                    write_old(target, self.scenario.size)
        sync_filesystem(self.folder)

    def check(self, prefix: str) -> str:
        """What is wrong with the copies, if anything."""
        before = os.stat(self.source)
        for target in self._targets(prefix):
            after = os.stat(target)
            if not same_bytes(self.source, target):
                return "wrong bytes"
            if self.scenario.operation == "copy2" and after.st_mtime_ns != before.st_mtime_ns:
                return f"times lost ({after.st_mtime_ns - before.st_mtime_ns} ns off)"
            if self.scenario.operation == "copy2" and after.st_mode != before.st_mode:
                return "mode lost"
        return ""

    def clear(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder)


def run_scenario(
    filesystem: Filesystem, scenario: Scenario, contestants: list[Contestant], plan: Plan
) -> Outcome:
    """Measure one scenario."""
    outcome = Outcome(scenario, scenario.batch())
    place = Place(filesystem.root, scenario, plan.reuse)
    order = [
        one
        for one in contestants
        if one.takes_part(filesystem.kind, scenario.size, scenario.operation, scenario.target)
    ]
    shuffler = random.Random(plan.seed)
    try:
        for number in range(plan.rounds):
            if number % scenario.generation() == 0:
                order = [one for one in order if _renew(place, one, outcome)]
            shuffler.shuffle(order)
            order = [one for one in order if _measure_one(place, one, outcome)]
    finally:
        place.clear()
    for name in outcome.failed:
        outcome.times.pop(name, None)
    return outcome


def _measure_one(place: Place, contestant: Contestant, outcome: Outcome) -> bool:
    try:
        elapsed = _run_one(place, contestant)
    except ContestantError as error:
        outcome.failed[contestant.name] = str(error)
        return False
    outcome.times.setdefault(contestant.name, []).append(elapsed / place.scenario.batch())
    return True


def _run_one(place: Place, contestant: Contestant) -> int:
    prefix = place.prefix(contestant)
    place.prepare(prefix)
    return contestant.copy(place.scenario.operation, place.scenario.batch(), place.source, prefix)


def _renew(place: Place, contestant: Contestant, outcome: Outcome) -> bool:
    """Start a contestant anew, let it copy one batch that does not count, check the copies."""
    contestant.stop()
    try:
        _run_one(place, contestant)
        problem = place.check(place.prefix(contestant))
    except ContestantError as error:
        problem = str(error)
    if problem:
        outcome.failed[contestant.name] = problem
        print(f"  {contestant.name} left out: {problem}", file=sys.stderr)
    return not problem
