"""Fixtures of all tests, and a guard that ends a test run that hangs."""

import faulthandler
import os
import shutil
import tempfile

import pytest

HANG_SECONDS = 120
STDERR = pytest.StashKey()


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "takes_long(seconds): the time that the hang guard grants this test"
    )
    # Capturing is suspended now: later, descriptor 2 is a file nobody would see.
    config.stash[STDERR] = os.fdopen(os.dup(2), "w")


def pytest_unconfigure(config):
    config.stash[STDERR].close()


@pytest.fixture(autouse=True)
def hang_guard(request):
    """A test that takes too long prints every thread's stack and ends the run."""
    marker = request.node.get_closest_marker("takes_long")
    seconds = marker.args[0] if marker else HANG_SECONDS
    faulthandler.dump_traceback_later(seconds, exit=True, file=request.config.stash[STDERR])
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def arena():
    """A directory that every user may reach, for boxes that are not root's."""
    from support.parity import warm_up

    place = os.path.realpath(tempfile.mkdtemp(prefix="speedcopy-tests-"))
    os.chmod(place, 0o755)
    warm_up(place)
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def box(arena):
    """A fresh box, entered: the working directory of one test."""
    from support.box import Box

    with Box(os.path.join(arena, "box")) as made:
        yield made


def disk(arena, name, kind, options=""):
    """Mount a file system for the session, or skip the test with the reason."""
    from support.mounts import mounted
    from support.privilege import Unavailable

    try:
        with mounted(os.path.join(arena, name), kind, options) as place:
            yield place
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def tiny_disk(arena):
    """A tmpfs of one MiB."""
    yield from disk(arena, "tiny", "tmpfs", "size=1m,mode=777")


@pytest.fixture(scope="session")
def other_disk(arena):
    """A tmpfs: another device than the arena's."""
    yield from disk(arena, "other", "tmpfs", "size=64m,mode=777")


@pytest.fixture(scope="session", params=["xfs", "btrfs"])
def reflink_disk(arena, request):
    """A file system that can clone."""
    yield from disk(arena, request.param, request.param)
