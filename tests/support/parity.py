"""Comparing speedcopy_c with the running Python's shutil, call by call."""

import os
import shutil

import pytest

import speedcopy_c

from .cases import variants
from .outcome import attempt, differences, forgive_narrow_modes, ignored
from .privilege import Unavailable


def compare(arena, case, function_name, kwargs):
    """The lines in which the two modules differ for one call of the case."""
    place = os.path.join(arena, "box")
    expected = attempt(place, getattr(shutil, function_name), case, kwargs)
    actual = attempt(place, getattr(speedcopy_c, function_name), case, kwargs)
    forgive_narrow_modes(expected, actual)
    return differences(expected, actual, ignored(case, function_name))


def assert_parity(arena, case, calls=None):
    """Every call of the case has the same outcome with both modules."""
    failures = []
    try:
        for label, function_name, kwargs in calls or variants(case):
            lines = compare(arena, case, function_name, kwargs)
            failures += [f"{label}: {line}" for line in lines]
    except Unavailable as reason:
        pytest.skip(str(reason))
    if failures:
        shown = "\n".join(failures[:12])
        pytest.fail(f"{case.name}: {len(failures)} differences, such as\n{shown}", False)


def calls_of(*names):
    """All variants of some functions only."""
    return [call for call in variants(None) if call[1] in names]


def warm_up(arena):
    """Let both modules import what they import late, before privileges are dropped."""
    place = os.path.join(arena, "warm-up")
    os.mkdir(place)
    here = os.getcwd()
    os.chdir(place)
    try:
        with open("src", "wb") as stream:
            stream.write(b"warm")
        for module in (shutil, speedcopy_c):
            for name in ("copyfile", "copymode", "copystat", "copy", "copy2"):
                getattr(module, name)("src", "dst")
                getattr(module, name)(b"src", b"dst", follow_symlinks=False)
                for wrong in ("missing", "src"):
                    try:
                        getattr(module, name)(wrong, wrong)
                    except OSError:
                        pass
    finally:
        os.chdir(here)
        shutil.rmtree(place)
