"""Faults in the middle: limits, full and read-only disks, busy programs, odd sources."""

import contextlib
import os
import resource
import shutil
import subprocess

import pytest
from support.cases import FUNCTIONS
from support.outcome import (
    Arguments,
    Case,
    attempt,
    differences,
    forgive_narrow_modes,
    ignored,
)
from support.parity import assert_parity, calls_of, variants
from support.sources import DATA, pattern

import speedcopy_c

# None is one of the limits: see test_limit_of_exactly_the_size among the differences.
SIZES = [2, 5000, 65536, 70_000, 3 * 2**20]


def limit_file_size(box, limit):
    """Let no file grow beyond the limit from now on until the box ends."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    box.at_end(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before))
    box.later(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, before[1]))


@pytest.mark.parametrize("old", [None, 10, 200_000])
@pytest.mark.parametrize("limit", [0, 1, 1000, 4096, 66_000, 2**20])
@pytest.mark.parametrize("size", SIZES)
def test_file_size_limit(arena, size, limit, old):
    """EFBIG: both names once something is written, none before; what was written stays."""

    def prepare(box):
        box.file("src", pattern(size))
        if old is not None:
            box.file("dst", b"\xee" * old)
        limit_file_size(box, limit)
        return "src", "dst"

    assert_parity(arena, Case("limit", prepare), calls_of("copyfile", "copy", "copy2"))


@pytest.mark.parametrize("make", [os.fsencode, os.path.abspath, os.fspath])
def test_names_in_an_error_while_copying(arena, make):
    """Both file names, in the type and form that were passed."""

    def prepare(box):
        box.file("src", pattern(300_000))
        limit_file_size(box, 100_000)
        return make("src"), os.fsencode("dst")

    assert_parity(arena, Case("names", prepare), calls_of("copyfile", "copy"))


@contextlib.contextmanager
def few_descriptors(spare):
    """Only so many more descriptors can be opened."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
    taken = []
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        for _ in range(spare):
            os.close(taken.pop())
        yield
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("spare", [0, 1, 2])
@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("label, name, kwargs", list(variants(None)))
def test_no_descriptors_left(arena, label, name, kwargs, old, spare):  # noqa: PLR0913, PLR0917
    """EMFILE names the file that could not be opened; what needs no descriptor works."""

    def prepare(box):
        box.file("src", DATA, 0o640)
        box.xattr("src", "user.a", b"1")
        if old is not None:
            box.file("dst", old)
        return "src", "dst"

    case = Case("descriptors", prepare)
    place = os.path.join(arena, "box")
    reports = [
        attempt(place, getattr(module, name), case, kwargs, around=few_descriptors(spare))
        for module in (shutil, speedcopy_c)
    ]
    assert differences(*reports, ignored(case, name)) == []


@pytest.mark.parametrize(
    "size, old",
    [(5000, None), (5000, 3), (2**21, None), (2**21, 3), (2**21, 100_000), (3 * 2**20, None)],
)
@pytest.mark.parametrize("name", ["copyfile", "copy", "copy2"])
def test_disk_full(arena, tiny_disk, name, size, old):
    """ENOSPC with the names that shutil gives; the target holds what fitted."""
    data = pattern(size)
    left = 0 if size == 5000 else 2**19

    def prepare(box):
        with open(os.path.join(arena, "src"), "wb") as stream:
            stream.write(data)
        if old is not None:
            box.file("dst", b"\xee" * old)
        fill(left)
        return os.path.join(arena, "src"), "dst"

    case = Case("full", prepare, ignore={"size", "content", "filler"})
    place = os.path.join(tiny_disk, "box")
    reports = [
        attempt(place, keeping_the_rest(getattr(module, name), data), case, {})
        for module in (shutil, speedcopy_c)
    ]
    assert "No space left" in reports[0]["raised"]["text"]
    forgive_narrow_modes(*reports)
    assert differences(*reports, ignored(case, name)) == []


def fill(left):
    """Leave only so many bytes on the disk of the working directory."""
    disk = os.statvfs(".")
    with open("filler", "wb") as stream:
        stream.write(b"\0" * (disk.f_bavail * disk.f_frsize - left))


def keeping_the_rest(function, data):
    """The function, checked to leave nothing but a beginning of the data."""

    def call(src, dst):
        try:
            return function(src, dst)
        except OSError:
            with open(dst, "rb") as stream:
                written = stream.read()
            assert data.startswith(written)
            raise

    return call


def test_full_device(arena):
    """/dev/full refuses every write: ENOSPC, without names."""

    def prepare(box):
        box.file("src", DATA)
        return "src", "/dev/full"

    assert_parity(arena, Case("full device", prepare), calls_of("copyfile"))


@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_null_device(arena, size):
    """/dev/null takes everything and stays what it is."""

    def prepare(box):
        box.file("src", pattern(size))
        return "src", "/dev/null"

    assert_parity(arena, Case("null device", prepare), calls_of("copyfile"))


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("size", [10, 100_000])
def test_read_only_disk(arena, other_disk, size, old):
    """EROFS for whatever would change something; reading from there works."""

    def prepare(box):
        box.file("src", pattern(size))
        if old:
            box.file("dst", b"old")
        box.at_end(lambda: remount("rw"))
        box.later(remount, "ro")
        return "src", "dst"

    def remount(how):
        subprocess.run(["mount", "-o", "remount," + how, other_disk], check=True)

    assert_parity(other_disk, Case("read-only", prepare))


@pytest.mark.parametrize("size", [10, 100_000, 2**21])
@pytest.mark.parametrize("old", [None, 5, 3 * 2**20])
@pytest.mark.parametrize("direction", ["to", "from"])
def test_across_devices(arena, other_disk, size, old, direction):
    """No method that works within one file system only is needed."""
    outside = os.path.join(other_disk, "file")

    def prepare(box):
        if direction == "to":
            src, dst = "src", outside
        else:
            src, dst = outside, "dst"
        box.file(src, pattern(size), 0o640)
        if old is not None:
            box.file(dst, pattern(old)[::-1])
        if direction == "from":
            os.utime(src, ns=(10**18, 10**18 + 1))
        box.at_end(lambda: os.unlink(outside))
        box.at_end(lambda: checks.append(read(dst) == pattern(size)))
        return src, dst

    checks = []
    calls = calls_of("copyfile", "copy", "copy2")
    assert_parity(arena, Case("devices", prepare), calls)
    assert checks == [True] * (2 * len(calls))


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_running_program(arena, name):
    """ETXTBSY for its content, not for its metadata."""
    program = shutil.which("sleep")
    if program is None:
        pytest.skip("there is no program 'sleep' to run")

    def prepare(box):
        box.file("src", DATA)
        shutil.copyfile(program, "dst")
        os.chmod("dst", 0o755)
        running = subprocess.Popen([os.path.abspath("dst"), "60"])
        box.at_end(running.wait)
        box.at_end(running.kill)
        return "src", "dst"

    assert_parity(arena, Case("busy", prepare), calls_of(name))


PROC_FILES = ("/proc/cpuinfo", "/proc/self/status", "/proc/self/maps", "/proc/kallsyms")


@pytest.mark.parametrize("name", ["copyfile", "copy", "copy2"])
@pytest.mark.parametrize("path", PROC_FILES)
@pytest.mark.parametrize("old", [None, 10, 300_000])
def test_files_that_lie_about_their_size(box, name, path, old):
    """st_size is 0, the content is not; more than one buffer of it arrives."""
    if not os.path.exists(path):
        pytest.skip(f"no {path} on this system")
    if old is not None:
        box.file("dst", b"\xee" * old)
    getattr(speedcopy_c, name)(path, "dst")
    first, second = read(path), read("dst")
    if path == "/proc/kallsyms":
        assert second == first
    assert second[:6] == first[:6] and b"\xee\xee" not in second
    assert abs(second.count(b"\n") - first.count(b"\n")) <= 5


def test_descriptor_as_missing_target_directory(arena):
    """The rewritten error shows what was passed, not what it was turned into."""

    def prepare(box):
        box.file("src", DATA)
        fd = os.open(".", os.O_RDONLY)
        return Arguments("src", fd, descriptors=[fd])

    assert_parity(arena, Case("directory descriptor", prepare))
