"""Faults that a review found, each with the way it was shown."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from unittest import mock

import pytest
from support.privilege import acting_as, is_root

import speedcopy_c

needs_root = pytest.mark.skipif(not is_root(), reason="needs root, to act as other users")


@pytest.fixture
def shared(arena, tmp_path_factory):
    """A directory that other users may enter."""
    place = os.path.join(arena, f"review-{time.monotonic_ns()}")
    os.mkdir(place)
    os.chmod(place, 0o777)
    yield place
    shutil.rmtree(place, ignore_errors=True)


def flip_attribute(path, stop):
    while not stop.is_set():
        os.setxattr(path, "user.flip", b"")
        os.setxattr(path, "user.flip", b"S" * 600)


def test_attribute_that_changes_size_leaks_no_memory(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x")
    target.write_bytes(b"x")
    try:
        os.setxattr(source, "user.flip", b"")
    except OSError:
        pytest.skip("no user attributes on this file system")
    stop = threading.Event()
    thread = threading.Thread(target=flip_attribute, args=(source, stop))
    thread.start()
    deadline = time.monotonic() + 3
    try:
        while time.monotonic() < deadline:
            try:
                speedcopy_c.copystat(source, target)
            except OSError:
                continue  # changed faster than it could be read
            assert os.getxattr(target, "user.flip").strip(b"S") == b""
    finally:
        stop.set()
        thread.join()


APPEND = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
while True:
    os.write(fd, b"abcd")
"""


def test_growing_sparse_file_gets_no_zeros(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    hole = 1 << 20
    deadline = time.monotonic() + 4
    while time.monotonic() < deadline:
        with open(source, "wb") as file:
            file.truncate(hole)
            file.seek(hole)
            file.write(b"abcd")
        with subprocess.Popen([sys.executable, "-c", APPEND, source]) as writer:
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                speedcopy_c.copyfile(source, target)
                with open(target, "rb") as file:
                    file.seek(hole)
                    tail = file.read()
                assert b"\0" not in tail
            writer.kill()


@pytest.mark.parametrize("hook", [False, True])
def test_copy_preserves_all_it_is_asked_for(tmp_path, hook):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x")
    os.utime(source, ns=(10**18, 10**18))
    code = f"""
import sys, speedcopy_c
if {hook}:
    sys.addaudithook(lambda event, args: None)
speedcopy_c.copy({str(source)!r}, {str(target)!r}, preserve="all")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert os.stat(target).st_mtime_ns == 10**18


@needs_root
def test_atomic_copy_gives_nothing_to_another_group(shared):
    source, target = os.path.join(shared, "source"), os.path.join(shared, "target")
    for path in (source, target):
        with open(path, "wb") as file:
            file.write(b"x")
    os.chmod(source, 0o644)
    os.chown(target, 0, 5000)
    os.chmod(target, 0o666)
    with acting_as(1234):
        speedcopy_c.copyfile(source, target, atomic=True)
    found = os.stat(target)
    assert found.st_uid == 1234
    assert found.st_gid == 5000 or (found.st_mode & 0o070) >> 3 == found.st_mode & 0o007


@needs_root
def test_atomic_copy_takes_no_acl_of_the_folder(shared):
    if shutil.which("setfacl") is None:
        pytest.skip("setfacl is needed")
    source, target = os.path.join(shared, "source"), os.path.join(shared, "target")
    for path in (source, target):
        with open(path, "wb") as file:
            file.write(b"x")
    os.chmod(target, 0o660)
    done = subprocess.run(["setfacl", "-d", "-m", "u:4321:rw", shared], check=False)
    if done.returncode:
        pytest.skip("no ACLs on this file system")
    speedcopy_c.copyfile(source, target, atomic=True)
    assert "system.posix_acl_access" not in os.listxattr(target)
    assert stat.S_IMODE(os.stat(target).st_mode) == 0o660


def test_private_source_is_private_in_an_atomic_copy(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(64 << 20))
    source.chmod(0o600)
    target.write_bytes(b"old")
    target.chmod(0o644)
    seen = set()

    def look(progress):
        for entry in os.scandir(tmp_path):
            if entry.name.startswith(".speedcopy-"):
                seen.add(stat.S_IMODE(os.stat(entry).st_mode) & 0o077)

    speedcopy_c.copy(source, target, atomic=True, method="read_write", progress=look)
    assert seen <= {0}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.fixture
def protected_symlinks():
    """fs.protected_symlinks on, as distributions have it."""
    place = "/proc/sys/fs/protected_symlinks"
    try:
        with open(place) as file:
            before = file.read()
        with open(place, "w") as file:
            file.write("1")
    except OSError as error:
        pytest.skip(f"fs.protected_symlinks cannot be set: {error}")
    yield
    with open(place, "w") as file:
        file.write(before)


@needs_root
def test_atomic_copy_follows_no_link_that_the_kernel_would_not(shared, protected_symlinks):
    os.chmod(shared, 0o1777)
    private = os.path.join(shared, "private")
    os.mkdir(private, 0o700)
    keys, source, out = (
        os.path.join(p, n)
        for p, n in [
            (private, "keys"),
            (shared, "source"),
            (shared, "out"),
        ]
    )
    for path in (keys, source):
        with open(path, "wb") as file:
            file.write(path.encode())
    with acting_as(1234):
        os.symlink(keys, out)
    with pytest.raises(OSError):
        speedcopy_c.copyfile(source, out, atomic=True)
    with open(keys, "rb") as file:
        assert file.read() == keys.encode()


@pytest.mark.parametrize(
    "options",
    [{"atomic": True}, {"fsync": True}, {"verify": "bytes"}, {"reflink": "never"}],
)
def test_options_of_a_link_are_refused(tmp_path, options):
    os.symlink("nowhere", tmp_path / "link")
    with pytest.raises(TypeError, match="link"):
        speedcopy_c.copyfile(
            tmp_path / "link", tmp_path / "copy", follow_symlinks=False, **options
        )
    assert not os.path.lexists(tmp_path / "copy")


def test_options_of_a_descriptor_are_refused(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x")
    target.write_bytes(b"x")
    with open(source) as file, pytest.raises(TypeError, match="descriptor"):
        speedcopy_c.copystat(file.fileno(), target, preserve="ownership")


@pytest.mark.parametrize(
    "options",
    [
        {"reflink": "always", "method": "read_write"},
        {"reflink": "never", "method": "clone"},
        {"sparse": "never", "method": "sendfile"},
    ],
)
def test_options_that_exclude_each_other_touch_nothing(tmp_path, options):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"new")
    target.write_bytes(b"old")
    with pytest.raises(ValueError):
        speedcopy_c.copyfile(source, target, **options)
    assert target.read_bytes() == b"old"


def test_method_that_is_switched_off_is_refused(tmp_path):
    code = "import speedcopy_c; speedcopy_c.copyfile('a', 'b', method='sendfile')"
    (tmp_path / "a").write_bytes(b"x")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "SPEEDCOPY_METHODS": "-sendfile",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "ValueError" in done.stderr


def test_copies_in_a_signal_handler_are_traced(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"x")
    handled = []

    def handler(*_):
        speedcopy_c.copyfile(source, tmp_path / "other")
        handled.append(1)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        with speedcopy_c.trace() as records:
            deadline = time.monotonic() + 1
            while time.monotonic() < deadline:
                speedcopy_c.copyfile(source, tmp_path / "target")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert handled
    assert len(records) > len(handled)


def test_open_mocked_at_import_is_not_taken_for_genuine(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    code = """
from unittest import mock
with mock.patch("builtins.open"):
    import speedcopy_c
print(speedcopy_c.capabilities()["rebound"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


class Changing:
    """Another path at every question."""

    def __init__(self, *paths):
        self.paths = list(paths)

    def __fspath__(self):
        return self.paths.pop(0)


def test_path_of_a_copy_into_a_folder_is_asked_once(tmp_path):
    (tmp_path / "folder").mkdir()
    source = tmp_path / "source"
    source.write_bytes(b"x")
    copied = speedcopy_c.copy(Changing(str(source), "a\0b"), tmp_path / "folder")
    assert copied == str(tmp_path / "folder" / "source")


def test_mock_of_a_module_function_leaves_no_trace_behind(tmp_path):
    """The guard sees a mock while it is there, and not after."""
    with mock.patch("os.stat", wraps=os.stat):
        assert "os.stat" in speedcopy_c.capabilities()["rebound"]
    assert speedcopy_c.capabilities()["rebound"] == []
