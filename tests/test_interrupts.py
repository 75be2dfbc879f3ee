"""What happens to a copy in the middle: signals, threads, forks, other
interpreters, SIGKILL, and sources that change."""

import contextlib
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from pathlib import Path

import pytest

import speedcopy_c

KIB, MIB = 1 << 10, 1 << 20
LARGE = 400 * MIB
METHODS = ["copy_file_range", "sendfile", "read_write"]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals and fork")


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    """A directory in memory where there is room, so that no disk's pauses
    come between a signal and its handler."""
    base = Path("/dev/shm")
    if os.access(base, os.W_OK) and shutil.disk_usage(base).free > 4 * LARGE:
        directory = Path(tempfile.mkdtemp(prefix="speedcopy-interrupts-", dir=base))
        yield directory
        shutil.rmtree(directory)
    else:
        yield tmp_path_factory.mktemp("interrupts")


@pytest.fixture
def place(memory):
    directory = Path(tempfile.mkdtemp(dir=memory))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def large(memory):
    """A file of 400 MB, each 4 KiB of which is different."""
    path = memory / "large"
    block = os.urandom(MIB)
    with open(path, "wb") as file:
        for number in range(LARGE // MIB):
            file.write(number.to_bytes(8, "big") + block[8:])
    return path


def same_content(first, second):
    if os.path.getsize(first) != os.path.getsize(second):
        return False
    return is_prefix(first, second)


def is_prefix(short, long):
    """Does the file `long` begin with the content of `short`?"""
    with open(short, "rb") as first, open(long, "rb") as second:
        while True:
            block = first.read(4 * MIB)
            if not block:
                return True
            if block != second.read(len(block)):
                return False


@contextlib.contextmanager
def handler(number, function):
    previous = signal.signal(number, function)
    try:
        yield
    finally:
        signal.signal(number, previous)


# --- signals ----------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("function", ["copyfile", "copy2"])
def test_timer_every_two_milliseconds(large, place, method, function):
    """Each signal cuts a system call short: the copy goes on, and is right."""
    target = place / "target"
    ticks = []
    with handler(signal.SIGALRM, lambda *_: ticks.append(time.monotonic())):
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        try:
            getattr(speedcopy_c, function)(large, target, method=method)
            during = len(ticks)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    assert during > 3, "the handler did not run during the copy"
    assert same_content(large, target)


def test_handler_that_raises_stops_the_copy(large, place):
    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    target = place / "target"
    with handler(signal.SIGALRM, stop):
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(Stop):
            speedcopy_c.copyfile(large, target, reflink="never")
    assert os.path.getsize(target) < LARGE
    assert is_prefix(target, large)


def interrupt_later(seconds, sent):
    def run():
        time.sleep(seconds)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("existing", [False, True], ids=["new", "existing"])
def test_keyboard_interrupt_within_50_milliseconds(large, place, method, existing):
    """The best of a few tries: the machine has other work, too."""
    target = place / "target"
    latencies = []
    with handler(signal.SIGINT, signal.default_int_handler):
        for _ in range(5):
            target.unlink(missing_ok=True)
            if existing:
                target.write_bytes(b"old" * 100_000)
            sent = []
            thread = interrupt_later(0.03, sent)
            try:
                speedcopy_c.copyfile(large, target, method=method)
                thread.join()  # the copy was done before the signal came
            except KeyboardInterrupt:
                latencies.append(time.monotonic() - sent[0])
            thread.join()
            if latencies and latencies[-1] < 0.05:
                break
    assert latencies, "the copy could not be interrupted"
    assert latencies[-1] < 0.05
    assert os.path.getsize(target) < LARGE
    assert is_prefix(target, large)
    speedcopy_c.copyfile(large, target, method=method)
    assert same_content(large, target)


# --- threads ----------------------------------------------------------------


def in_threads(count, function):
    """function(number) in each of `count` threads that start at once."""
    barrier = threading.Barrier(count)
    errors = []

    def run(number):
        try:
            barrier.wait()
            function(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


SIZES = [0, 1, 1000, 20 * KIB, 64 * KIB, 64 * KIB + 1, 5 * MIB]


def test_eight_threads_with_files_of_their_own(place):
    for number in range(8):
        for size in SIZES:
            (place / f"source-{number}-{size}").write_bytes(os.urandom(size))

    def copies(number):
        for _ in range(5):
            for size in SIZES:
                target = place / f"target-{number}-{size}"
                speedcopy_c.copy2(place / f"source-{number}-{size}", target)

    in_threads(8, copies)
    for number in range(8):
        for size in SIZES:
            source, target = (place / f"{name}-{number}-{size}" for name in ("source", "target"))
            assert same_content(source, target)


def test_eight_threads_with_the_same_source(place):
    source = place / "source"
    source.write_bytes(os.urandom(5 * MIB))

    def copies(number):
        for turn in range(10):
            speedcopy_c.copy2(source, place / f"target-{number}-{turn % 2}")

    in_threads(8, copies)
    for number in range(8):
        assert same_content(source, place / f"target-{number}-0")


@pytest.mark.parametrize("size", [1000, 20 * KIB, 64 * KIB])
def test_eight_threads_onto_the_same_small_target(place, size):
    """Of one size, and each written by one call: the last one stays whole."""
    contents = [bytes([number]) * size for number in range(8)]
    for number, content in enumerate(contents):
        (place / f"source-{number}").write_bytes(content)
    target = place / "target"

    def copies(number):
        for _ in range(50):
            speedcopy_c.copyfile(place / f"source-{number}", target)

    for _ in range(5):
        in_threads(8, copies)
        assert target.read_bytes() in contents


def test_eight_threads_onto_the_same_large_target(place):
    """Nobody promises an order; but no byte may come from anywhere else."""
    size = 3 * MIB + 5
    for number in range(8):
        (place / f"source-{number}").write_bytes(bytes([number + 1]) * size)
    target = place / "target"
    for _ in range(5):
        in_threads(8, lambda number: speedcopy_c.copyfile(place / f"source-{number}", target))
        data = target.read_bytes()
        assert len(data) == size
        assert set(data) <= set(range(1, 9))


def test_eight_threads_replace_the_same_target_whole(place):
    sizes = [100, 20 * KIB, 3 * MIB]
    contents = [bytes([number + 1]) * sizes[number % 3] for number in range(8)]
    for number, content in enumerate(contents):
        (place / f"source-{number}").write_bytes(content)
    target = place / "target"

    def copies(number):
        for _ in range(10):
            speedcopy_c.copyfile(place / f"source-{number}", target, atomic=True)
            assert target.read_bytes() in contents

    in_threads(8, copies)
    assert target.read_bytes() in contents
    assert len(list(place.iterdir())) == 9, "a temporary file was left"


# --- fork and other interpreters ---------------------------------------------


def fork_quietly():
    with warnings.catch_warnings():
        # Python 3.12 warns of a fork with threads; that is the point here.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def test_fork_while_another_thread_copies(large, place):
    small = place / "small"
    small.write_bytes(os.urandom(30 * KIB))
    done = threading.Event()

    def copy_large():
        while not done.is_set():
            speedcopy_c.copyfile(large, place / "large-copy", reflink="never")

    thread = threading.Thread(target=copy_large)
    thread.start()
    try:
        for number in range(20):
            pid = fork_quietly()
            if pid == 0:
                status = 1
                try:
                    speedcopy_c.copy2(small, place / f"child-{number}")
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitpid(pid, 0)[1] == 0
            assert same_content(small, place / f"child-{number}")
    finally:
        done.set()
        thread.join()
    assert same_content(large, place / "large-copy")


def run_script(script, *arguments):
    """Run a script in a process of its own: a crash ends only that."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(os.fspath, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd="/",  # -c puts it first on sys.path: no source tree may be there
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}"
    return done.stdout


INTERPRETERS = """
    import sys, threading
    try:
        import _interpreters as interpreters
        RunFailed = ()
    except ImportError:
        import _xxsubinterpreters as interpreters
    directory, own_gil, count = sys.argv[1], sys.argv[2] == "own-gil", int(sys.argv[3])

    def make():
        if sys.version_info >= (3, 13):
            return interpreters.create("isolated" if own_gil else "legacy")
        if sys.version_info >= (3, 9):
            return interpreters.create(isolated=own_gil)

    code = '''if True:
        import sys
        sys.path[:] = {path!r}
        import shutil, speedcopy_c
        for turn in range(20):
            for size in 0, 1000, 100_000, 3_000_000:
                target = {directory!r} + "/target-{number}-" + str(size)
                speedcopy_c.copy2({directory!r} + "/source-" + str(size), target)
                with speedcopy_c.trace() as records:
                    speedcopy_c.copyfile({directory!r} + "/source-" + str(size), target)
                assert len(records) == 1
            try:
                speedcopy_c.copyfile({directory!r} + "/missing", target)
            except FileNotFoundError as error:
                assert error.filename.endswith("missing")
            else:
                raise AssertionError
            try:
                speedcopy_c.copyfile(target, target)
            except shutil.SameFileError:
                pass
            else:
                raise AssertionError
    '''
    failures = []

    def run(number):
        interpreter = make()
        text = code.format(path=sys.path, directory=directory, number=number)
        try:
            problem = interpreters.run_string(interpreter, text)
        except Exception as error:
            problem = error
        if problem is not None:
            failures.append(str(problem))
        interpreters.destroy(interpreter)

    if count == 1 or not own_gil or sys.version_info < (3, 12):
        for number in range(count):
            run(number)
    else:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert not failures, failures[0]

    import speedcopy_c
    speedcopy_c.copy2(directory + "/source-1000", directory + "/target-main")
"""


@pytest.mark.parametrize("gil", ["shared-gil", "own-gil"])
@pytest.mark.parametrize("count", [1, 4])
def test_subinterpreters(place, gil, count):
    if gil == "own-gil" and sys.version_info < (3, 12):
        pytest.skip("every interpreter shares the GIL before Python 3.12")
    for size in 0, 1000, 100_000, 3_000_000:
        (place / f"source-{size}").write_bytes(os.urandom(size))
    run_script(INTERPRETERS, place, gil, str(count))
    for number in range(count):
        for size in 0, 1000, 100_000, 3_000_000:
            assert same_content(place / f"source-{size}", place / f"target-{number}-{size}")


# --- SIGKILL ------------------------------------------------------------------


def killed_copy(sources, target, seconds):
    """Copy the sources to the target in turn, again and again, in a child
    that is killed after `seconds`."""
    ready, tell = os.pipe()
    pid = fork_quietly()
    if pid == 0:
        try:
            os.write(tell, b"x")
            while True:
                for source in sources:
                    speedcopy_c.copyfile(source, target)
        finally:
            os._exit(1)
    os.close(tell)
    try:
        os.read(ready, 1)
        time.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.close(ready)
    assert os.WIFSIGNALED(status), f"the copy ended by itself: status {status}"


def judge_killed(data, contents):
    """What a target, found after a SIGKILL, is to the sources in `contents`."""
    if data in contents:
        return "whole"
    smaller = [content for content in contents if len(data) < len(content)]
    if smaller and any(data == content[: len(data)] for content in contents):
        return "prefix"
    # Old content that was cut before it is overwritten, or overwritten in part.
    if smaller and torn(data, contents):
        return "shorter"
    if torn(data, contents):
        return "torn"
    return f"{len(data)} bytes that are no copy of anything"


def torn(data, contents):
    """Is the data the beginning of one content and the end of another, as of
    one write that was killed at a page's end?"""
    for new in contents:
        same = common_prefix(data, new)
        page = same - same % 4096
        for old in contents:
            for cut in (page, same):
                if data[cut:] == old[cut : len(data)] and len(data) <= len(old):
                    return True
    return False


def common_prefix(first, second):
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == second[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


KILL_SIZES = [
    (1 * KIB, 1 * KIB),
    (1 * KIB, 64 * KIB),
    (20 * KIB, 20 * KIB),
    (30 * KIB, 5 * KIB),
    (64 * KIB, 64 * KIB),
    (64 * KIB + 1, 3 * KIB),
    (3 * MIB, 3 * MIB),
    (20 * MIB, 10 * KIB),
]


@pytest.mark.parametrize("sizes", KILL_SIZES, ids=lambda sizes: "-and-".join(map(str, sizes)))
def test_killed_at_any_moment(place, sizes):
    """Old content, new content, or shorter than the source: a target that is
    as long as its source is right.  SIGKILL ends even one write(), between
    two pages."""
    contents = [os.urandom(size) for size in sizes]
    sources = [place / "first", place / "second"]
    for source, content in zip(sources, contents):
        source.write_bytes(content)
    target = place / "target"
    speedcopy_c.copyfile(sources[0], target)
    seen = {}
    for _ in range(60):
        killed_copy(sources, target, random.uniform(0, 0.004))
        verdict = judge_killed(target.read_bytes(), contents)
        seen[verdict] = seen.get(verdict, 0) + 1
    assert set(seen) <= {"whole", "prefix", "shorter"}, seen


@pytest.mark.parametrize("size", [1 * KIB, 3 * MIB])
def test_killed_while_replacing_whole(place, size):
    contents = [os.urandom(size), os.urandom(size // 2)]
    sources = [place / "first", place / "second"]
    for source, content in zip(sources, contents):
        source.write_bytes(content)
    target = place / "target"
    speedcopy_c.copyfile(sources[0], target)
    for _ in range(40):
        pid = fork_quietly()
        if pid == 0:
            while True:
                for source in sources:
                    speedcopy_c.copyfile(source, target, atomic=True)
        time.sleep(random.uniform(0.001, 0.006))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert target.read_bytes() in contents


# --- sources that change --------------------------------------------------------


def other_process(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-S", "-c", textwrap.dedent(script), *map(os.fspath, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )


@pytest.mark.parametrize("method", [None, *METHODS])
def test_source_that_grows(place, method):
    source, target = place / "source", place / "target"
    grow = """
        import sys, time
        with open(sys.argv[1], "ab", 0) as file:
            print("go", flush=True)
            for number in range(1500):
                file.write(number.to_bytes(4, "big") * 5000)
    """
    options = {} if method is None else {"method": method}
    for start in 10, 50 * KIB, 10 * MIB:
        source.write_bytes(b"begin" * (start // 5))
        with other_process(grow, source) as writer:
            writer.stdout.readline()
            sizes = []
            while writer.poll() is None:
                before = os.path.getsize(source)
                speedcopy_c.copyfile(source, target, **options)
                sizes.append(os.path.getsize(target))
                assert sizes[-1] >= before
                assert is_prefix(target, source)
        assert writer.returncode == 0
        assert sizes
    speedcopy_c.copyfile(source, target, **options)
    assert same_content(source, target)


def assert_begins(target, original, offloaded):
    """The target is the beginning of the original.  Where the kernel copies
    it holds on to a page of the source, and cutting the source zeroes the end
    of its last page: a few zeros there are no fault of ours, shutil has them
    as often."""
    data = target.read_bytes()
    safe = max(0, len(data) - 16 * KIB) if offloaded else len(data)
    expected = original.read_bytes()[: len(data)]
    assert data[:safe] == expected[:safe]
    assert all(a in (b, 0) for a, b in zip(data[safe:], expected[safe:]))


@pytest.mark.parametrize("method", [None, *METHODS])
@pytest.mark.parametrize("size", [60 * KIB, 40 * MIB])
def test_source_that_shrinks(place, method, size):
    """The result is what one saw of the source: its beginning, never zeros
    that stand for what is gone."""
    source, target = place / "source", place / "target"
    original = place / "original"
    original.write_bytes(os.urandom(size))
    shrink = """
        import os, sys, time
        path, size = sys.argv[1], int(sys.argv[2])
        print("go", flush=True)
        for number in range(20):
            time.sleep(0.001)
            os.truncate(path, size - (number + 1) * (size // 21))
    """
    options = {} if method is None else {"method": method}
    for _ in range(5):
        source.write_bytes(original.read_bytes())
        with other_process(shrink, source, str(size)) as writer:
            writer.stdout.readline()
            while writer.poll() is None:
                try:
                    speedcopy_c.copyfile(source, target, **options)
                except OSError as error:
                    # Told to use this method only, it cannot make sure by
                    # reading that the source ends here.
                    assert error.errno == errno.ENOTSUP
                    assert method in ("copy_file_range", "sendfile")
                    continue
                after = os.path.getsize(source)
                assert os.path.getsize(target) >= after
                small = method is None and size <= 64 * KIB
                assert_begins(target, original, method != "read_write" and not small)
        assert writer.returncode == 0
    speedcopy_c.copyfile(source, target, **options)
    assert same_content(source, target)


def test_sparse_source_that_changes(place):
    """Extents that come and go must not send the copy round for ever."""
    source, target = place / "source", place / "target"
    change = """
        import os, sys
        fd = os.open(sys.argv[1], os.O_RDWR)
        print("go", flush=True)
        for number in range(400):
            os.ftruncate(fd, (number % 7 + 1) * (4 << 20))
            for offset in range(0, 24 << 20, (3 << 20) + 4096):
                os.pwrite(fd, b"data" * 3000, offset)
    """
    source.write_bytes(b"data" * 30_000)
    os.truncate(source, 28 * MIB)
    with other_process(change, source) as writer:
        writer.stdout.readline()
        while writer.poll() is None:
            speedcopy_c.copyfile(source, target)
            assert os.path.getsize(target) <= 28 * MIB
    assert writer.returncode == 0
    speedcopy_c.copyfile(source, target)
    assert same_content(source, target)
