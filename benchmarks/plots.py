"""One picture of what files.py measured: how many times faster than shutil each contestant is.

    python benchmarks/plots.py RESULTS.json PICTURE.png

Needs matplotlib, which nothing else here does.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from contestants import BASELINE_PYTHON, OURS
from matplotlib.ticker import FuncFormatter
from measure import MIB, Outcome, from_json, size_text

BASELINE = f"shutil {BASELINE_PYTHON}"
SHOWN = {
    OURS: ("speedcopy-c", "#1f6fb4"),
    "os.copy_file_range": ("os.copy_file_range loop", "#9fb8c8"),
    "cp": ("cp", "#c9c2b4"),
    "speedcopy": ("speedcopy 2.x", "#d79a86"),
}
BAR = 0.2


def arguments() -> argparse.Namespace:
    """What the user wants."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results")
    parser.add_argument("picture")
    parser.add_argument("--operation", default="copy2", help="copyfile or copy2 (default)")
    return parser.parse_args()


def load(path: str, operation: str) -> dict[str, list[Outcome]]:
    """The outcomes that have a baseline, by file system."""
    with open(path, encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    groups: dict[str, list[Outcome]] = {}
    for scenario in data["scenarios"]:
        outcome = from_json(scenario)
        if outcome.scenario.operation == operation and BASELINE in outcome.times:
            groups.setdefault(outcome.scenario.filesystem, []).append(outcome)
    return groups


def label(outcome: Outcome) -> str:
    """The scenario under its bars."""
    return f"{size_text(outcome.scenario.size)}\n{outcome.scenario.target}"


def number(value: float) -> str:
    """A factor with two digits or as many as it has before the point."""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def is_shown(outcome: Outcome, name: str) -> bool:
    """Whether there is a bar; for files below 64 MiB cp's time is the start of a process."""
    return name in outcome.times and (name != "cp" or outcome.scenario.size >= 64 * MIB)


def draw(axis: Any, kind: str, outcomes: list[Outcome]) -> None:
    """The bars of one file system."""
    for place, (name, (text, colour)) in enumerate(SHOWN.items()):
        there = [(index, one) for index, one in enumerate(outcomes) if is_shown(one, name)]
        if not there:
            continue
        positions = [index + (place - (len(SHOWN) - 1) / 2) * BAR for index, _ in there]
        factors = [one.ratio(BASELINE, name) for _, one in there]
        axis.bar(
            positions, [factor - 1 for factor in factors], BAR, bottom=1, color=colour, label=text
        )
        for position, factor in zip(positions, factors) if name == OURS else ():
            axis.annotate(
                number(factor), (position, max(factor, 1)), ha="center", va="bottom", fontsize=8
            )
    axis.set_yscale("log")
    axis.set_title(kind, loc="left", fontweight="bold")
    axis.set_xticks(range(len(outcomes)), [label(one) for one in outcomes], fontsize=8)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.axhline(1, color="#444444", linewidth=0.8)
    axis.margins(y=0.15)
    axis.spines[["top", "right"]].set_visible(False)


def main() -> int:
    """Draw the picture."""
    options = arguments()
    groups = load(options.results, options.operation)
    if not groups:
        sys.exit(f"no {options.operation} beside {BASELINE} in {options.results}")
    rows = (len(groups) + 1) // 2
    figure, axes = plt.subplots(rows, min(len(groups), 2), figsize=(13, 3.6 * rows), squeeze=False)
    for axis in axes.flat[len(groups) :]:
        axis.set_visible(False)
    for axis, (kind, outcomes) in zip(axes.flat, groups.items()):
        draw(axis, kind, outcomes)
    title = (
        f"{options.operation}: times faster than shutil of Python {BASELINE_PYTHON} (log scale)"
    )
    figure.suptitle(title, x=0.01, ha="left")
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    handles, texts = axes.flat[0].get_legend_handles_labels()
    figure.legend(
        handles, texts, loc="upper right", ncols=len(texts), frameon=False, bbox_to_anchor=(1, 1)
    )
    figure.savefig(options.picture, dpi=110)
    return 0


if __name__ == "__main__":
    sys.exit(main())
