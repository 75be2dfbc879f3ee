"""Little room: few descriptors, small files, small stacks, little memory, long
paths; and the permissions that a new file gets."""

import itertools
import json
import os
import shutil
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from rigs.outcomes import outcome
from support.box import posix_acl

import speedcopy_c

KIB, MIB = 1 << 10, 1 << 20
FUNCTIONS = ["copyfile", "copy", "copy2"]

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")

# What the scripts below begin with: the shape of an outcome, as JSON.
PRELUDE = """
import errno, json, os, resource, shutil, sys, threading
import speedcopy_c
from rigs.outcomes import outcome

def report(name, *arguments, **options):
    result = outcome(*arguments, **options)
    print(json.dumps([name, *[str(part) for part in result]]), flush=True)
"""


def run_limited(script, *arguments):
    """(exit status, the reports of the script) of a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script), *map(os.fspath, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd="/",  # -c puts it first on sys.path: no source tree may be there
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=100,
        check=False,
    )
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode > 0:
        raise AssertionError(done.stderr.decode(errors="replace"))
    return done.returncode, reports


# --- descriptors, file size, stack, memory -------------------------------------


@posix
def test_sixteen_descriptors(tmp_path):
    for size in 0, 1000, 100 * KIB, 20 * MIB:
        (tmp_path / f"source-{size}").write_bytes(os.urandom(size))
    script = """
        directory = sys.argv[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
        for turn in range(50):
            for size in 0, 1000, 100 * 1024, 20 << 20 if turn == 0 else 1000:
                source, target = f"{directory}/source-{size}", f"{directory}/target-{size}"
                for function in "copyfile", "copy", "copy2", "copymode", "copystat":
                    getattr(speedcopy_c, function)(source, target)
                speedcopy_c.copyfile(source, target, atomic=True)
        print(json.dumps(["done"]))
    """
    assert run_limited(script, tmp_path) == (0, [["done"]])
    for size in 0, 1000, 100 * KIB, 20 * MIB:
        source, target = tmp_path / f"source-{size}", tmp_path / f"target-{size}"
        assert source.read_bytes() == target.read_bytes()


@posix
@pytest.mark.parametrize("free", [0, 1, 2])
def test_no_descriptor_left(tmp_path, free):
    """EMFILE at the source's open, at the target's, or not at all."""
    (tmp_path / "source").write_bytes(b"data")
    script = """
        directory, free = sys.argv[1], int(sys.argv[2])
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        source, target = directory + "/source", directory + "/target"
        for module in shutil, speedcopy_c:     # what is imported late
            module.copy2(source, target)
        taken = []
        try:
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        for _ in range(free):
            os.close(taken.pop())
        for state in "new", "existing":
            for function in "copyfile", "copy2":
                for module in shutil, speedcopy_c:
                    if state == "new" and os.path.exists(target):
                        os.unlink(target)
                    report(state + function, getattr(module, function), source, target)
    """
    status, reports = run_limited(script, tmp_path, str(free))
    assert status == 0
    assert len(reports) == 8
    for reference, ours in zip(reports[::2], reports[1::2]):
        assert ours == reference
        assert (ours[1] == "returned") == (free == 2)


@posix
@pytest.mark.parametrize("limit", [0, 1000, 100_000])
@pytest.mark.parametrize("size", [5000, 60_000, 300_000, 5_000_000])
def test_file_size_limit(tmp_path, limit, size):
    """EFBIG, in shutil's shape; and what was written is a prefix."""
    content = os.urandom(size)
    (tmp_path / "source").write_bytes(content)
    script = """
        directory, limit = sys.argv[1], int(sys.argv[2])
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        source, target = directory + "/source", directory + "/target"
        old = {"new": None, "empty": 0, "shorter": 400, "longer": 6_000_000}
        for state, length in old.items():
            for module in shutil, speedcopy_c:
                if os.path.exists(target):
                    os.unlink(target)
                if length is not None:
                    shutil.copyfile(directory + f"/old-{length}", target)
                report(state, module.copyfile, source, target)
                os.rename(target, f"{directory}/{state}-{module.__name__}")
    """
    for length in 0, 400, 6_000_000:
        (tmp_path / f"old-{length}").write_bytes(b"x" * length)
    # Old content that is larger than the limit is put there before.
    script = script.replace("shutil.copyfile(directory", "os.link(directory")
    status, reports = run_limited(script, tmp_path, str(limit))
    assert status == 0
    assert len(reports) == 8
    for reference, ours in zip(reports[::2], reports[1::2]):
        assert ours == reference
        assert (ours[1] == "returned") == (size <= limit)
    for path in tmp_path.glob("*-speedcopy_c"):
        data = path.read_bytes()
        assert data == content[: len(data)], path.name
        assert len(data) <= max(limit, 0) or size <= limit


STACKS = [32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, MIB]


@posix
@pytest.mark.parametrize("size", [100, 64 * KIB, 64 * KIB + 1, MIB])
def test_smallest_thread_stack(tmp_path, size):
    """In a thread in which shutil can copy, we can."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(size))
    if hasattr(os, "setxattr"):
        try:
            os.setxattr(source, "user.large", os.urandom(3000))
        except OSError:
            pass  # not on every file system
    script = """
        module = {"shutil": shutil, "speedcopy_c": speedcopy_c}[sys.argv[4]]
        source, target, stack = sys.argv[1], sys.argv[2], int(sys.argv[3])
        module.copy2(source, target)
        try:
            threading.stack_size(stack)
        except ValueError:
            sys.exit()  # smaller than this system allows
        thread = threading.Thread(target=module.copy2, args=(source, target))
        thread.start()
        thread.join()
        print(json.dumps(["done"]))
    """
    for stack in STACKS:
        if run_limited(script, source, target, str(stack), "shutil") == (0, [["done"]]):
            break
    target.unlink()
    assert run_limited(script, source, target, str(stack), "speedcopy_c") == (0, [["done"]])
    assert target.read_bytes() == source.read_bytes()


@linux
@pytest.mark.parametrize("size", [1000, 60 * KIB, 300 * KIB, 5 * MIB])
@pytest.mark.parametrize("method", [None, "read_write"])
def test_little_memory(tmp_path, size, method):
    """A copy, or MemoryError; never a crash, never a wrong copy."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(size))
    script = """
        source, target, method = sys.argv[1:4]
        options = {"method": method} if method else {}
        speedcopy_c.copy2(source, target, **options)
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        for room in 0, 16384, 65536, 262144, 700_000, 1 << 20, 1 << 22:
            resource.setrlimit(resource.RLIMIT_AS, (used + room, -1))
            hold = []
            try:
                while True:         # what malloc has kept for itself
                    hold.append(bytearray(40_000))
            except MemoryError:
                pass
            del hold[len(hold) // 2 + 1 :]
            try:
                speedcopy_c.copy2(source, target, **options)
                word = "copied"
            except MemoryError:
                word = "MemoryError"
            except OSError as error:
                word = errno.errorcode[error.errno]
            del hold
            resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
            if word == "copied":
                with open(source, "rb") as first, open(target, "rb") as second:
                    assert first.read() == second.read()
            print(json.dumps([word]))
    """
    status, reports = run_limited(script, source, target, method or "")
    assert status == 0
    assert len(reports) == 7
    assert {word for (word,) in reports} <= {"copied", "MemoryError", "ENOMEM"}


# --- paths ------------------------------------------------------------------------


def limits_of(directory):
    return os.pathconf(directory, "PC_NAME_MAX"), os.pathconf(directory, "PC_PATH_MAX")


@posix
@pytest.mark.parametrize("function", [*FUNCTIONS, "copymode", "copystat"])
def test_long_names_and_paths(tmp_path, monkeypatch, function):
    """The longest that the system takes, and one more: each as in shutil."""
    name_max, path_max = limits_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    source = "s" * name_max
    Path(source).write_bytes(b"content")
    deep = os.fspath(tmp_path)
    while len(deep) + 202 < path_max:
        deep += "/" + "d" * 200
        os.mkdir(deep)
    # The longest path has path_max - 1 bytes, and a zero.
    spare = path_max - 1 - len(deep) - 1
    for target in [
        "t" * name_max,
        "t" * (name_max + 1),
        deep + "/" + "t" * min(spare, name_max),
        deep + "/" + "t" * (spare + 1),
        deep + "/missing" * 30 + "/t",
        "x/../" * 1000 + "t",
    ]:
        results = []
        for module in shutil, speedcopy_c:
            if function not in ("copymode", "copystat") and os.path.lexists(target[:path_max]):
                os.unlink(target)
            results.append(outcome(getattr(module, function), source, target))
            reversed_result = outcome(getattr(module, function), target, "other")
            results.append(reversed_result)
        assert results[2:] == results[:2], len(target)


@posix
def test_path_that_is_long_only_as_an_absolute_one(tmp_path, monkeypatch):
    """Relative names in a folder that has no usable absolute path."""
    monkeypatch.chdir(tmp_path)
    for _ in range(40):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    Path("source").write_bytes(b"content" * 10_000)
    for function in FUNCTIONS:
        for _ in "new", "existing":
            assert getattr(speedcopy_c, function)("source", function) == function
            assert Path(function).read_bytes() == b"content" * 10_000
    os.chdir(tmp_path)
    # shutil.rmtree of such a tree is deeper than its own path limit.
    subprocess.run(["rm", "-rf", "d" * 200], check=True)


# --- the modes of new files --------------------------------------------------------

MODES = [
    *[0o000, 0o400, 0o200, 0o600, 0o644, 0o640, 0o664, 0o666, 0o604, 0o700, 0o755, 0o777],
    *[0o4755, 0o2755, 0o1644, 0o6711, 0o7777, 0o007, 0o070, 0o4000, 0o6444],
]
UMASKS = [0o000, 0o022, 0o027, 0o077, 0o777]


@pytest.fixture
def umask():
    """umask(value) sets it; the old one comes back."""
    previous = os.umask(0o022)
    os.umask(previous)
    yield os.umask
    os.umask(previous)


def mode_of(path):
    return oct(stat.S_IMODE(os.stat(path).st_mode))


def is_root():
    return hasattr(os, "geteuid") and os.geteuid() == 0


@posix
@pytest.mark.parametrize("mask", UMASKS, ids=oct)
@pytest.mark.parametrize("existing", [None, 0o600, 0o644, 0o6777], ids=lambda m: m and oct(m))
def test_final_modes(tmp_path, umask, mask, existing):
    source = tmp_path / "source"
    source.write_bytes(b"content")
    umask(mask)
    for mode in MODES:
        os.chmod(source, mode)
        if not os.access(source, os.R_OK):
            continue
        for function, attributes in itertools.product(FUNCTIONS, (False, True)):
            if attributes and not set_attribute(source):
                continue
            results = []
            for module in shutil, speedcopy_c:
                target = tmp_path / "target"
                target.unlink(missing_ok=True)
                if existing is not None:
                    target.touch()
                    os.chmod(target, existing)
                result = outcome(getattr(module, function), source, target)
                results.append((result, mode_of(target) if target.exists() else None))
            assert results[1] == results[0], f"{function} of {oct(mode)}"
            if attributes:
                os.removexattr(source, "user.test")
    os.chmod(source, 0o600)


def set_attribute(path):
    try:
        os.setxattr(path, "user.test", b"value")
    except (OSError, AttributeError):
        return False
    return True


@linux
@pytest.mark.parametrize("mask", [0o022, 0o077], ids=oct)
def test_default_acl_of_the_directory(tmp_path, umask, mask):
    directory = tmp_path / "directory"
    directory.mkdir()
    me, group, others = ("u", 7, None), ("g", 5, None), ("o", 4, None)
    acls = [
        posix_acl(me, ("g", 0, None), ("o", 0, None)),
        posix_acl(me, ("g", 7, None), ("o", 7, None)),
        posix_acl(me, ("U", 7, 1234), group, ("m", 7, None), others),
        posix_acl(("u", 4, None), ("U", 2, 1234), group, ("m", 1, None), ("o", 0, None)),
    ]
    source = tmp_path / "source"
    source.write_bytes(b"content" * 20)
    umask(mask)
    for acl, own, mode in itertools.product(acls, (False, True), (0o600, 0o644, 0o755, 0o666)):
        try:
            os.setxattr(directory, "system.posix_acl_default", acl)
            os.chmod(source, mode)
            if own:
                os.setxattr(source, "system.posix_acl_access", acls[2])
        except OSError as error:
            pytest.skip(f"no access control lists in {tmp_path}: {error}")
        for function in FUNCTIONS:
            results = []
            for module in shutil, speedcopy_c:
                target = directory / "target"
                result = outcome(getattr(module, function), source, target)
                attributes = {name: os.getxattr(target, name) for name in os.listxattr(target)}
                results.append((result, mode_of(target), attributes))
                target.unlink()
            assert results[1] == results[0], f"{function} of {oct(mode)}"
        if own:
            os.removexattr(source, "system.posix_acl_access")


OBSERVER = """
import os, stat, sys
target, seen = sys.argv[1], 0
print("watching", flush=True)
while not os.path.exists(target + "-stop"):
    try:
        seen |= stat.S_IMODE(os.stat(target).st_mode)
    except OSError:
        pass
print(seen)
"""


@posix
@pytest.mark.parametrize("function", ["copy", "copy2"])
@pytest.mark.parametrize("size", [10, 30 * MIB])
@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_private_file_is_never_readable_by_others(tmp_path, umask, function, size, mode):
    """Not for a moment: shutil makes it with the umask's mode and narrows it
    after the data is there."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(size))
    set_attribute(source)
    os.chmod(source, mode)
    umask(0)
    with subprocess.Popen(
        [sys.executable, "-S", "-c", OBSERVER, target], stdout=subprocess.PIPE
    ) as observer:
        observer.stdout.readline()
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            getattr(speedcopy_c, function)(source, target)
            target.unlink()
        (tmp_path / "target-stop").touch()
        seen = int(observer.stdout.readline())
    assert seen & 0o077 == 0, f"was {oct(seen)}"
    assert seen & mode == mode, "the observer saw nothing"


# --- many at once ------------------------------------------------------------------


def test_many_threads_with_small_stacks(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(os.urandom(200 * KIB))
    previous = threading.stack_size(256 * KIB)
    try:
        threads = [
            threading.Thread(target=speedcopy_c.copy2, args=(source, tmp_path / f"target-{n}"))
            for n in range(64)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.stack_size(previous)
    for number in range(64):
        assert (tmp_path / f"target-{number}").read_bytes() == source.read_bytes()
