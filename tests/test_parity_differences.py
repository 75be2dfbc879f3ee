"""The deliberate differences from shutil (docs/differences.rst), each as the one it is."""

import contextlib
import errno
import os
import resource
import shutil
import stat
import threading

import pytest
from support.box import PAST
from support.paths import entry
from support.processes import run
from support.sources import DATA, pattern

import speedcopy_c

COPIERS = ("copyfile", "copy", "copy2")
FUNCTIONS = ("copyfile", "copymode", "copystat", "copy", "copy2")
MIB = 2**20


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def copier(name):
    return getattr(speedcopy_c, name)


# Holes and clones are kept on every Python, not only from 3.14 on.


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("size", [8 * MIB, 3 * 2**30])
def test_holes_are_kept(box, name, size):
    with open("src", "wb") as stream:
        stream.seek(size // 2)
        stream.write(b"island")
        stream.truncate(size)
    copier(name)("src", "dst")
    assert os.stat("dst").st_size == size
    assert os.stat("dst").st_blocks <= os.stat("src").st_blocks
    with open("dst", "rb") as stream:
        stream.seek(size // 2 - 2)
        assert stream.read(10) == b"\0\0island\0\0"


@pytest.mark.parametrize("name", COPIERS)
def test_clones_are_made(reflink_disk, name):
    src, dst = os.path.join(reflink_disk, "a"), os.path.join(reflink_disk, "b")
    with open(src, "wb") as stream:
        stream.write(pattern(2 * MIB))
    with speedcopy_c.trace() as records:
        copier(name)(src, dst)
    assert records[0].method == "clone"
    assert read(dst) == pattern(2 * MIB)
    os.unlink(src)
    os.unlink(dst)


# A file that only its owner may read is never readable by others on the way.


@pytest.mark.parametrize("name", ["copy", "copy2"])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400, 0o4700])
def test_private_from_the_start(box, name, mode):
    """The copy ends half-way by a limit: what is left has no bit that the source has not."""
    box.file("src", pattern(200_000))
    os.chmod("src", mode)
    os.umask(0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OSError) as caught:
            copier(name)("src", "dst")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.errno == errno.EFBIG
    assert stat.S_IMODE(os.stat("dst").st_mode) & ~(mode | 0o200) == 0


@pytest.mark.parametrize("name", ["copy", "copy2"])
def test_private_all_the_time(box, name):
    """Looked at all the while: no moment in which others might open it."""
    os.umask(0)
    box.file("src", pattern(30 * MIB), 0o600)
    modes = set()
    done = threading.Event()

    def look():
        while not done.is_set():
            try:
                modes.add(stat.S_IMODE(os.stat("dst").st_mode))
            except FileNotFoundError:
                pass

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(5):
            copier(name)("src", "dst", method="read_write")
            os.unlink("dst")
    finally:
        done.set()
        thread.join()
    assert modes == {0o600}


# A source that cannot be read leaves a small target as it was.


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("old", [b"old", b"old" * 50_000])
def test_unreadable_content_leaves_the_target(box, name, old):
    """/proc/self/mem opens, but its first page cannot be read."""
    source = "/proc/self/mem"
    if not os.access(source, os.R_OK):
        pytest.skip(f"{source} cannot be opened here")
    box.file("dst", old, 0o604)
    os.utime("dst", ns=(PAST, PAST))
    for function, left in ((getattr(shutil, name), b""), (copier(name), old)):
        with open("dst", "wb") as stream:
            stream.write(old)
        with pytest.raises(OSError) as caught:
            function(source, "dst")
        assert (caught.value.errno, caught.value.filename) == (errno.EIO, None)
        assert read("dst") == left
    assert stat.S_IMODE(os.stat("dst").st_mode) == 0o604


# A limit that is just reached is no error (copy_file_range, and so shutil from 3.14 on,
# reports EFBIG when it is asked for more at the end of the file).


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("size", [1, 4096, 100_000, 3 * MIB])
def test_limit_of_exactly_the_size(box, name, size):
    box.file("src", pattern(size))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        copier(name)("src", "dst")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert read("dst") == pattern(size)


# Direct calls take follow_symlinks as a third position, as the older speedcopy did.


@pytest.mark.parametrize("name", FUNCTIONS)
def test_positional_follow_symlinks(box, name):
    box.file("src", DATA, 0o640)
    box.link("src", "way")
    box.file("dst", b"old")
    with pytest.raises(TypeError):
        getattr(shutil, name)("way", "dst", True)
    copier(name)("way", "dst", True)
    if name in COPIERS:
        assert read("dst") == DATA and not os.path.islink("dst")
        copier(name)("way", "link", False)
        assert os.readlink("link") == "src"
    else:
        assert stat.S_IMODE(os.stat("dst").st_mode) == 0o640


@pytest.mark.parametrize("name", FUNCTIONS)
def test_follow_symlinks_twice(box, name):
    """By position and by name at once is an error, as for any function."""
    box.file("src", DATA)
    box.file("dst", b"old")
    with pytest.raises(TypeError):
        copier(name)("src", "dst", True, follow_symlinks=True)
    assert read("dst") == b"old"


# A path-like object is asked for its path once.


class Counting:
    """Counts how often it is asked."""

    def __init__(self, path):
        self.path = path
        self.asked = 0

    def __fspath__(self):
        self.asked += 1
        return self.path


@pytest.mark.parametrize("name", FUNCTIONS)
def test_path_asked_once(box, name):
    box.file("src", DATA)
    box.file("dst", b"old")
    src, dst = Counting("src"), Counting("dst")
    copier(name)(src, dst)
    assert (src.asked, dst.asked) == (1, 1)
    getattr(shutil, name)(src, dst)
    assert src.asked + dst.asked > 3


# A DirEntry is a path: what it remembers of the file is not believed.


def chmod(box):
    os.chmod("src", 0o755)


def touch(box):
    os.utime("src", ns=(10**15, 10**15 + 1))
    box.times("src", 10**15, 10**15 + 1)


def replace_by_link(box):
    os.unlink("src")
    os.symlink("elsewhere", "src")


def replace_by_fifo(box):
    os.unlink("src")
    os.mkfifo("src")


def replace_by_missing(box):
    os.unlink("src")


def replace_by_target(box):
    os.unlink("src")
    os.link("dst", "src")


def replace_target_by_old_source(box):
    os.unlink("dst")
    os.rename("src", "dst")
    box.file("src", b"another")


def retarget(box):
    os.unlink("way")
    os.symlink("elsewhere", "way")


CHANGES = (
    chmod,
    touch,
    replace_by_link,
    replace_by_missing,
    replace_by_target,
    replace_target_by_old_source,
    retarget,
)


def outcome(function, entry_name, change, as_path):
    """What a call with a stale entry, or with its path, comes to: mode, content, times."""
    for leftover in ("src", "dst", "way", "elsewhere"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(leftover)
    for path, content, mode in (("src", DATA, 0o640), ("elsewhere", b"elsewhere", 0o604)):
        with open(path, "wb") as stream:
            stream.write(content)
        os.chmod(path, mode)
        os.utime(path, ns=(10**18, 10**18 + mode))
    with open("dst", "wb") as stream:
        stream.write(b"old")
    os.symlink("src", "way")
    found = entry(entry_name)
    found.stat()
    found.stat(follow_symlinks=False)
    change(Changer)
    try:
        function(found.path if as_path else found, "dst")
    except OSError as error:
        raised = type(error).__name__, error.errno, os.fspath(error.filename or b"")
    else:
        raised = None
    seen = os.lstat("dst")
    kept = seen.st_mtime_ns if seen.st_mtime_ns < 2 * 10**18 // 2 + 10**15 else "now"
    return raised, stat.S_IMODE(seen.st_mode), kept, read("dst")


class Changer:
    """What a change asks of a box."""

    @staticmethod
    def file(path, content):
        with open(path, "wb") as stream:
            stream.write(content)

    @staticmethod
    def times(path, accessed, modified):
        os.utime(path, ns=(accessed, modified))


@pytest.mark.parametrize("entry_name", ["src", "way"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_stale_entry_is_a_path(box, name, change, entry_name):
    ours = outcome(copier(name), entry_name, change, False)
    assert ours == outcome(getattr(shutil, name), entry_name, change, True)


@pytest.mark.parametrize("name", ["copymode", "copystat"])
def test_metadata_of_a_pipe_behind_a_stale_entry(box, name):
    ours = outcome(copier(name), "src", replace_by_fifo, False)
    assert ours == outcome(getattr(shutil, name), "src", replace_by_fifo, True)


# A pipe that takes a file's place cannot hang the copy.

SWAPPED = """
import os, sys
import speedcopy_c
from support.paths import entry

os.chdir(sys.argv[1])
with open("src", "wb") as stream:
    stream.write(b"data")
found = entry("src")
found.stat()
os.unlink("src")
os.mkfifo("src")
try:
    speedcopy_c.copyfile(found, "dst")
except OSError as error:
    print(type(error).__name__)
"""


def test_pipe_behind_a_stale_entry(tmp_path):
    """shutil trusts the entry and waits for a writer for ever."""
    done = run("-c", SWAPPED, str(tmp_path), timeout=20)
    assert done.stdout.strip() == "SpecialFileError"


def test_no_difference_of_identity(box):
    """A DirEntry whose name moved on: still never a file emptied by copying it on itself."""
    box.file("src", DATA)
    found = entry("src")
    found.stat()
    os.rename("src", "moved")
    os.link("moved", "dst")
    os.link("moved", "src")
    with pytest.raises(shutil.SameFileError):
        speedcopy_c.copyfile(found, "dst")
    assert read("moved") == DATA


def test_access_time_is_from_before_the_read(box):
    """Reading a file whose access is older than its change sets its access time."""
    box.file("src", DATA)
    os.utime("src", ns=(10**18, 10**18 + 1))
    copier("copy2")("src", "dst")
    assert os.stat("dst").st_atime_ns == 10**18
