"""The acceptance table: which ratios must hold in which scenario."""

from __future__ import annotations

from collections.abc import Iterator

from contestants import BASELINE_PYTHON, FLOOR_SMALL, OURS
from measure import KIB, Outcome
from report import aligned, duration
from special import Row

FLOOR_LIMIT = 1.15
LARGE_LIMIT = 1.05
BASELINE = f"shutil {BASELINE_PYTHON}"
LARGE_RIVALS = (BASELINE, "os.copy_file_range", "cp", "C rw 512K", "C rw 1M")
EXISTING_FACTORS = {"ext4": 5.0, "xfs": 5.0, "tmpfs": 3.0, "btrfs": 3.0}
NEW_FACTORS = {"copyfile": 1.9, "copy2": 2.2}
NEW_FACTOR_TMPFS = 3.0


def needed_factor(filesystem: str, operation: str, target: str) -> float | None:
    """How many times faster than the baseline the copy of a small file must be."""
    if target == "existing":
        return EXISTING_FACTORS.get(filesystem)
    if filesystem == "tmpfs":
        return NEW_FACTOR_TMPFS
    return NEW_FACTORS[operation] if filesystem in EXISTING_FACTORS else None


def missing(outcome: Outcome, limit: str, names: list[str]) -> Row:
    """A row that can't be judged."""
    reasons = "; ".join(f"{name}: {outcome.failed.get(name, 'not measured')}" for name in names)
    return Row(outcome.scenario.title(), limit, reasons, False)


def small_rows(outcome: Outcome) -> Iterator[Row]:
    """Rows of a scenario with a small file: the floor and the baseline."""
    scenario = outcome.scenario
    factor = needed_factor(scenario.filesystem, scenario.operation, scenario.target)
    checks = [(FLOOR_SMALL, f"<= {FLOOR_LIMIT} x {FLOOR_SMALL}")]
    if factor is not None:
        checks.append((BASELINE, f">= {factor} x {BASELINE}"))
    for name, limit in checks:
        absent = [one for one in (OURS, name) if one not in outcome.times]
        if absent:
            yield missing(outcome, limit, absent)
            continue
        if name == FLOOR_SMALL:
            ratio = outcome.ratio(OURS, name)
            passed = ratio <= FLOOR_LIMIT
        else:
            ratio = outcome.ratio(name, OURS)
            passed = factor is not None and ratio >= factor
        pair = f"{duration(outcome.median(OURS))} and {duration(outcome.median(name))}"
        yield Row(scenario.title(), limit, f"{ratio:.2f} ({pair})", passed)


def large_row(outcome: Outcome) -> Row:
    """The row of a scenario with a larger file: ours against the best of the rivals."""
    limit = f"<= {LARGE_LIMIT} x the best"
    absent = [name for name in (OURS, *LARGE_RIVALS) if name not in outcome.times]
    if absent:
        return missing(outcome, limit, absent)
    best = min(LARGE_RIVALS, key=outcome.median)
    ratio = outcome.ratio(OURS, best)
    pair = f"{duration(outcome.median(OURS))} and {duration(outcome.median(best))} by {best}"
    return Row(outcome.scenario.title(), limit, f"{ratio:.2f} ({pair})", ratio <= LARGE_LIMIT)


def judge(outcomes: list[Outcome]) -> list[Row]:
    """The rows of all scenarios."""
    rows: list[Row] = []
    for outcome in outcomes:
        rows += small_rows(outcome) if outcome.scenario.size <= KIB else [large_row(outcome)]
    return rows


def table(rows: list[Row]) -> str:
    """The acceptance table as text."""
    verdict = {True: "PASS", False: "FAIL"}
    lines = [["what", "limit", "measured", "verdict"]]
    lines += [[row.what, row.limit, row.measured, verdict[row.passed]] for row in rows]
    failures = sum(not row.passed for row in rows)
    return f"{aligned(lines, left=4)}\n\n{len(rows) - failures} rows pass, {failures} fail"
