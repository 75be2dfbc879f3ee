"""Tables for people, JSON for programs."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import sys
from typing import Any

from contestants import OURS, Contestant
from measure import Outcome, size_text, spread

FORMAT = 1


def duration(nanoseconds: float) -> str:
    """A time with three digits and a unit."""
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanoseconds >= unit:
            value = nanoseconds / unit
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {name}"
    return f"{nanoseconds:.0f} ns"


def aligned(rows: list[list[str]], left: int = 1) -> str:
    """Columns of equal width: the first ones to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row[:left], widths)]
        cells += [text.rjust(width) for text, width in zip(row[left:], widths[left:])]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def cell(outcome: Outcome, name: str) -> str:
    """Median, half the interquartile range in per cent, and how many times ours it is."""
    if name not in outcome.times:
        return "failed" if name in outcome.failed else "-"
    numbers = spread(outcome.times[name])
    half = (numbers["q3"] - numbers["q1"]) / 2 / numbers["median"] * 100
    text = f"{duration(numbers['median'])} ±{half:2.0f}%"
    if OURS in outcome.times:
        text += f" {outcome.ratio(name, OURS):5.2f}x"
    return text


def tables(outcomes: list[Outcome]) -> str:
    """One table for each file system and operation."""
    parts = []
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.scenario.filesystem, outcome.scenario.operation), []).append(
            outcome
        )
    for (filesystem, operation), group in groups.items():
        names: dict[str, None] = {}
        for outcome in group:
            names.update(
                dict.fromkeys(
                    [*sorted(outcome.times, key=lambda name: name != OURS), *outcome.failed]
                )
            )
        heads = [f"{size_text(one.scenario.size)}, {one.scenario.target}" for one in group]
        rows = [[operation, *heads]]
        rows += [[name, *(cell(one, name) for one in group)] for name in sorted(names, key=_rank)]
        parts.append(
            f"{filesystem}, {operation}: median ± half the quartile range, times ours\n"
            f"{aligned(rows)}"
        )
    return "\n\n".join(parts)


def _rank(name: str) -> tuple[int, list[str | int]]:
    heads = (OURS, "C floor", "C ", "shutil", "os.", "cp")
    head = next((index for index, text in enumerate(heads) if name.startswith(text)), len(heads))
    return head, [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def machine() -> dict[str, Any]:
    """Where this was measured."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "kernel": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / (1 << 30), 1),
        "python": platform.python_version(),
        "load": os.getloadavg(),
    }


def write_json(
    path: str, outcomes: list[Outcome], contestants: list[Contestant], extra: dict[str, Any]
) -> None:
    """Everything that was measured."""
    data = {
        "format": FORMAT,
        "machine": machine(),
        "contestants": {one.name: one.version for one in contestants if one.version},
        **extra,
        "scenarios": [outcome.as_json() for outcome in outcomes],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")


def progress(text: str) -> None:
    """One line for whoever waits."""
    print(text, file=sys.stderr, flush=True)
