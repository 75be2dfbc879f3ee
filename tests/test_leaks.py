"""Descriptors and memory, over many copies of each kind and many errors of
each kind.

SPEEDCOPY_LEAK_ROUNDS sets the number of rounds: a few thousand show a leak of
an object or a block in every round; CI runs 100,000.
"""

import ctypes
import functools
import gc
import os
import shutil
import signal
import stat
import sys
from pathlib import Path

import pytest

import speedcopy_c

ROUNDS = int(os.environ.get("SPEEDCOPY_LEAK_ROUNDS", "2000"))
SOME = max(ROUNDS // 4, 1000)  # for variants of what is tested in full
WARM_UP = 200
KIB, MIB = 1 << 10, 1 << 20

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc/self/fd")


class Statistics(ctypes.Structure):
    """glibc's struct mallinfo2; the member that counts is `uordblks`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *["arena", "ordblks", "smblks", "hblks", "hblkhd"],
            *["usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"],
        )
    ]


def malloc_statistics():
    """Bytes in use, of malloc and of its mappings, or None without glibc."""
    try:
        function = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return None
    function.restype = Statistics
    statistics = function()
    return statistics.uordblks + statistics.hblkhd


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure():
    gc.collect()
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "blocks": sys.getallocatedblocks(),
        "malloc": malloc_statistics(),
        "resident": resident(),
        # Only debug builds count references.
        "references": getattr(sys, "gettotalrefcount", lambda: None)(),
    }


def check(before, after, rounds):
    """Less than one object, block or reference in ten rounds: whatever grows,
    none of it is lost in every round."""
    grown = {name: after[name] - before[name] for name in before if before[name] is not None}
    assert grown["descriptors"] == 0, grown
    assert grown["blocks"] < rounds // 10 + 50, grown
    assert grown.get("malloc", 0) < rounds * 4 + 32 * KIB, grown
    assert grown.get("references", 0) < rounds // 10 + 100, grown
    assert grown["resident"] < rounds * 16 + 2 * MIB, grown


def repeat(call, rounds=ROUNDS):
    """A leak shows every time; caches of the interpreter fill up once."""
    for _ in range(WARM_UP):
        call()
    for attempt in range(3):
        before = measure()
        for _ in range(rounds):
            call()
        try:
            check(before, measure(), rounds)
        except AssertionError:
            if attempt == 2:
                raise
        else:
            return


def raises(error, function, *arguments, **options):
    """A call that has to raise, as a function without arguments."""

    def call():
        try:
            function(*arguments, **options)
        except error:
            return
        raise AssertionError(f"{error} was not raised")

    return call


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    base = Path("/dev/shm")
    if os.access(base, os.W_OK):
        directory = base / f"speedcopy-leaks-{os.getpid()}"
        directory.mkdir()
        yield directory
        shutil.rmtree(directory)
    else:
        yield tmp_path_factory.mktemp("leaks")


@pytest.fixture
def pair(memory):
    """(source, target), as str; removed afterwards."""
    source, target = memory / "source", memory / "target"
    source.write_bytes(b"content" * 100)
    yield os.fspath(source), os.fspath(target)
    for path in source, target:
        path.unlink(missing_ok=True)


FUNCTIONS = ["copyfile", "copy", "copy2", "copymode", "copystat"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(pair, name):
    source, target = pair
    shutil.copyfile(source, target)
    function = getattr(speedcopy_c, name)
    repeat(lambda: function(source, target))


def test_new_targets(pair):
    source, target = pair

    def call():
        speedcopy_c.copy2(source, target)
        os.unlink(target)

    repeat(call)


PATHS = {
    "bytes": os.fsencode,
    "path": Path,
    "surrogates": lambda path: path + "\udcff",
    "long": lambda path: os.path.dirname(path) + "/." * 600 + "/" + os.path.basename(path),
}


@pytest.mark.parametrize("kind", sorted(PATHS))
def test_kinds_of_paths(pair, kind):
    source, target = map(PATHS[kind], pair)
    if not os.path.exists(source):
        shutil.copyfile(pair[0], source)
    try:
        repeat(lambda: speedcopy_c.copyfile(source, target), SOME)
    finally:
        for path in source, target:
            if os.path.exists(path):
                os.unlink(path)


def test_directory_entry(memory, pair):
    with os.scandir(memory) as entries:
        entry = next(each for each in entries if each.name == "source")
    repeat(lambda: speedcopy_c.copy2(entry, pair[1]), SOME)


@pytest.mark.parametrize("size", [70 * KIB, 300 * KIB])
@pytest.mark.parametrize("method", ["copy_file_range", "sendfile", "read_write"])
def test_methods(pair, method, size):
    source, target = pair
    Path(source).write_bytes(os.urandom(size))
    rounds = ROUNDS // 10
    repeat(lambda: speedcopy_c.copyfile(source, target, method=method), rounds)


def test_sparse(pair):
    source, target = pair
    os.truncate(source, 10 * MIB)
    repeat(lambda: speedcopy_c.copyfile(source, target), ROUNDS // 10)


def ignore(progress):
    pass


OPTIONS = [
    {"atomic": True},
    {"verify": "bytes"},
    {"reflink": "never"},
    {"sparse": "always"},
    {"progress": ignore},
    {"preserve": "all"},
]


@pytest.mark.parametrize("options", OPTIONS, ids="".join)
def test_options(pair, options):
    function = speedcopy_c.copy2 if "preserve" in options else speedcopy_c.copyfile
    repeat(functools.partial(function, *pair, **options), SOME)


def test_attributes(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"content")
    try:
        for number in range(3):
            os.setxattr(source, f"user.number{number}", os.urandom(700))
    except (OSError, AttributeError) as error:
        pytest.skip(f"no extended attributes: {error}")
    repeat(lambda: speedcopy_c.copy2(source, target), SOME)


def test_trace(pair):
    def call():
        with speedcopy_c.trace() as records:
            speedcopy_c.copyfile(*pair)
        assert len(records) == 1

    repeat(call, SOME)


# --- errors -------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_missing_source(pair, name):
    function = getattr(speedcopy_c, name)
    repeat(raises(FileNotFoundError, function, pair[0] + "-missing", pair[1]))


@pytest.mark.parametrize("name", ["copyfile", "copy2"])
def test_missing_directory(pair, name):
    function = getattr(speedcopy_c, name)
    repeat(raises(FileNotFoundError, function, pair[0], pair[1] + "/missing/target"))


def test_same_file(pair):
    repeat(raises(shutil.SameFileError, speedcopy_c.copyfile, pair[0], pair[0]))


def test_source_is_a_directory(memory, pair):
    repeat(raises(IsADirectoryError, speedcopy_c.copyfile, os.fspath(memory), pair[1]))


def test_target_is_a_directory(memory, pair):
    repeat(raises(IsADirectoryError, speedcopy_c.copyfile, pair[0], os.fspath(memory)))


def test_pipe(memory, pair):
    pipe = os.fspath(memory / "pipe")
    os.mkfifo(pipe)
    try:
        repeat(raises(shutil.SpecialFileError, speedcopy_c.copyfile, pipe, pair[1]))
        repeat(raises(shutil.SpecialFileError, speedcopy_c.copyfile, pair[0], pipe))
    finally:
        os.unlink(pipe)


def test_device_that_is_full(pair):
    if not stat.S_ISCHR(os.stat("/dev/full").st_mode):
        pytest.skip("no /dev/full")
    repeat(raises(OSError, speedcopy_c.copyfile, pair[0], "/dev/full"))


@pytest.mark.parametrize("size", [700, 300 * KIB])
def test_data_that_cannot_be_written(pair, size):
    """By a limit on the size of files: EFBIG after some progress."""
    resource = pytest.importorskip("resource")
    source, target = pair
    Path(source).write_bytes(os.urandom(size))
    previous = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores SIGXFSZ; a test run under another program may not.
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, previous[1]))
    try:
        repeat(raises(OSError, speedcopy_c.copyfile, source, target), ROUNDS // 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, previous)
        signal.signal(signal.SIGXFSZ, handler)


def test_metadata_that_cannot_be_set(pair):
    """Of a file that may not be changed by its owner either."""
    repeat(raises(OSError, speedcopy_c.copymode, pair[0], "/proc/self/status"))
    repeat(raises(OSError, speedcopy_c.copystat, pair[0], "/proc/self/status"))


class Unusable:
    def __fspath__(self):
        raise RuntimeError("no path")


WRONG = {
    "type": (TypeError, (None, "target"), {}),
    "number-of-arguments": (TypeError, ("one",), {}),
    "keyword": (TypeError, ("one", "two"), {"unknown": 1}),
    "zero": (ValueError, ("one\0", "two"), {}),
    "path": (RuntimeError, (Unusable(), "two"), {}),
    "option": (ValueError, ("one", "two"), {"reflink": "sometimes"}),
    "option-type": (TypeError, ("one", "two"), {"reflink": 1.5}),
}


@pytest.mark.parametrize("kind", sorted(WRONG))
def test_wrong_arguments(kind):
    error, arguments, options = WRONG[kind]
    repeat(raises((error, ValueError), speedcopy_c.copyfile, *arguments, **options))


def test_progress_that_raises(pair):
    Path(pair[0]).write_bytes(os.urandom(100 * KIB))

    def progress(report):
        raise KeyError("enough")

    repeat(raises(KeyError, speedcopy_c.copyfile, *pair, progress=progress), SOME)


def test_temporary_files(pair):
    """An atomic copy that fails leaves nothing behind."""
    source, target = pair
    directory = os.path.dirname(target)

    def call():
        raises(FileNotFoundError, speedcopy_c.copyfile, source + "x", target, atomic=True)()
        raises(OSError, speedcopy_c.copyfile, source, directory, atomic=True)()

    repeat(call)
    assert os.listdir(directory) == ["source"]
