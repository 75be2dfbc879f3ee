"""progress=: what is reported, how often, and that an exception cancels."""

import math
import os
import pathlib
import threading
import time

import pytest
from support.sources import DATA, pattern

import speedcopy_c

COPIERS = ("copyfile", "copy", "copy2")
FIELDS = ("src", "dst", "copied", "total", "files_done", "files_total")
MIB = 2**20
LARGE = 300 * MIB


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def copier(name):
    return getattr(speedcopy_c, name)


@pytest.fixture
def large(box):
    """A source that takes a while and little space: one hole, written out as zeros."""
    with open("src", "wb") as stream:
        stream.truncate(LARGE)
    return {"sparse": "never", "method": "read_write"}


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("size", [0, 1, 5000, 65536, 65537, 3 * MIB])
@pytest.mark.parametrize("old", [None, 100_000])
def test_last_report(box, name, size, old):
    """Always one at the end, when all is copied."""
    box.file("src", pattern(size))
    if old is not None:
        box.file("dst", b"\xee" * old)
    seen = []
    copier(name)("src", "dst", progress=seen.append)
    last = seen[-1]
    assert type(last) is speedcopy_c.CopyProgress
    assert [getattr(last, field) for field in FIELDS] == ["src", "dst", size, size, 1, 1]
    assert all(state.files_done == 0 for state in seen[:-1])
    assert read("dst") == pattern(size)


def test_reports_show_the_objects_passed(box):
    box.file("src", DATA)
    seen = []
    src, dst = pathlib.Path("src"), os.fsencode("dst")
    speedcopy_c.copyfile(src, dst, progress=seen.append)
    assert seen[-1].src is src and seen[-1].dst is dst


@pytest.mark.parametrize("name", ["copy", "copy2"])
def test_report_of_a_file_in_a_directory(box, name):
    """dst is the file or the directory that was given, and the count is right."""
    box.file("src", DATA)
    box.directory("dst")
    seen = []
    assert copier(name)("src", "dst", progress=seen.append) == "dst/src"
    assert seen[-1].dst in ("dst", "dst/src") and seen[-1].copied == len(DATA)


def test_rate_and_order(box, large):
    """At most 20 a second besides the last; counts never go back."""
    moments, seen = [], []

    def note(state):
        moments.append(time.monotonic())
        seen.append(state)

    start = time.monotonic()
    speedcopy_c.copyfile("src", "dst", progress=note, **large)
    taken = time.monotonic() - start
    copied = [state.copied for state in seen]
    assert copied == sorted(copied) and copied[-1] == LARGE
    assert {state.total for state in seen} == {LARGE}
    assert len(seen) <= math.ceil(taken * 20) + 2
    gaps = [b - a for a, b in zip(moments[:-1], moments[1:-1])]
    assert all(gap > 0.04 for gap in gaps), gaps
    if taken > 0.3:
        assert len(seen) >= 2, taken
    assert read_end("dst", LARGE)


def read_end(path, size):
    """True if the file is that long and ends in a zero."""
    with open(path, "rb") as stream:
        stream.seek(size - 1)
        return stream.read() == b"\0"


def test_thread_of_the_caller(box, large):
    seen = set()
    note = lambda state: seen.add(threading.get_ident())  # noqa: E731
    results = []

    def work():
        speedcopy_c.copyfile("src", "dst", progress=note, **large)
        results.append(threading.get_ident())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == set(results)


def test_other_threads_run_meanwhile(box, large):
    """The copy itself does not hold up the interpreter."""
    turns = []
    done = threading.Event()

    def count():
        while not done.is_set():
            turns.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.monotonic()
    speedcopy_c.copyfile("src", "dst", progress=lambda state: None, **large)
    end = time.monotonic()
    done.set()
    thread.join()
    inside = [turn for turn in turns if start < turn < end]
    assert len(inside) > (end - start) * 50


class Cancelled(BaseException):
    """Raised by a callback; not even an Exception."""


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("error", [ValueError("stop"), KeyboardInterrupt(), Cancelled(1, 2)])
@pytest.mark.parametrize("old", [False, True])
def test_exception_cancels(box, name, error, old):
    """It comes out as it is; the target holds a beginning, and no more than was reported."""
    size = 64 * MIB
    data = pattern(size)
    box.file("src", data)
    if old:
        box.file("dst", b"\xee" * (size + 5000))
    reported = []

    def stop(state):
        reported.append(state.copied)
        raise error

    with pytest.raises(type(error)) as caught:
        copier(name)("src", "dst", progress=stop, method="read_write")
    assert caught.value is error
    assert len(reported) == 1
    left = read("dst")
    assert len(left) <= max(reported[0], 0) and data.startswith(left)


def test_cancelled_early(box, large):
    """A large copy ends long before its end."""
    reported = []

    def stop(state):
        reported.append(state.copied)
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        speedcopy_c.copyfile("src", "dst", progress=stop, **large)
    assert os.path.getsize("dst") <= reported[0]
    assert os.stat("src").st_size == LARGE


def test_exception_in_the_last_report(box):
    """It comes out; the copy is whole."""

    def stop(state):
        if state.files_done:
            raise ValueError("late")

    box.file("src", DATA)
    with pytest.raises(ValueError, match="late"):
        speedcopy_c.copyfile("src", "dst", progress=stop)
    assert read("dst") == DATA


@pytest.mark.parametrize("method", [None, "copy_file_range", "sendfile", "read_write"])
def test_every_method_reports(box, method):
    box.file("src", pattern(5 * MIB))
    seen = []
    speedcopy_c.copyfile("src", "dst", progress=seen.append, method=method)
    assert seen[-1].copied == 5 * MIB and read("dst") == pattern(5 * MIB)


def test_copying_from_a_callback(box):
    """A callback may copy other files itself."""
    box.file("src", pattern(MIB))
    box.file("small", DATA)
    seen = []

    def again(state):
        seen.append(speedcopy_c.copy2("small", "small-copy", progress=seen.append))

    speedcopy_c.copyfile("src", "dst", progress=again)
    assert "small-copy" in seen and read("small-copy") == DATA and read("dst") == pattern(MIB)


def test_no_report_of_what_failed(box):
    seen = []
    with pytest.raises(FileNotFoundError):
        speedcopy_c.copyfile("missing", "dst", progress=seen.append)
    assert seen == []
