"""atomic=True: no reader ever sees half a file, and an error leaves the old one."""

import os
import resource
import shutil
import stat
import threading

import pytest
from support.box import posix_acl
from support.privilege import STRANGER, USER, Unavailable, acting_as, is_root
from support.sources import DATA, pattern

import speedcopy_c

COPIERS = ("copyfile", "copy", "copy2")
MIB = 2**20


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def copier(name):
    return getattr(speedcopy_c, name)


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("sizes", [(5000, 9000), (60_000, 3), (MIB, 2 * MIB)])
def test_no_reader_sees_half(box, name, sizes):
    """Read all the time while two contents take turns: always one or the other."""
    contents = [pattern(sizes[0]), pattern(sizes[1])[::-1]]
    for number, data in enumerate(contents):
        box.file(f"src-{number}", data)
    shutil.copyfile("src-0", "dst")
    wrong = []
    done = threading.Event()

    def look():
        while not done.is_set():
            seen = read("dst")
            if seen not in contents:
                wrong.append(len(seen))

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for turn in range(150):
            copier(name)(f"src-{turn % 2}", "dst", atomic=True)
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert wrong == []
    assert sorted(os.listdir()) == ["dst", "src-0", "src-1"]


def fails_by_limit(function, *args, **options):
    """Call with too low a limit on the size of files."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError):
            function(*args, **options)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("size", [5000, 3 * MIB])
@pytest.mark.parametrize("old", [False, True])
def test_error_leaves_the_old_target(box, name, size, old):
    """Content, inode, mode and times as they were; no temporary file."""
    box.file("src", pattern(size))
    if old:
        box.file("dst", b"old", 0o604)
        os.utime("dst", ns=(5, 6))
        before = os.stat("dst")
    fails_by_limit(copier(name), "src", "dst", atomic=True)
    assert sorted(os.listdir()) == (["dst", "src"] if old else ["src"])
    if old:
        after = os.stat("dst")
        assert read("dst") == b"old"
        assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (
            before.st_ino,
            before.st_mode,
            6,
        )


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("old", [False, True])
def test_cancelling_leaves_the_old_target(box, name, old):
    box.file("src", pattern(3 * MIB))
    if old:
        box.file("dst", b"old")

    def stop(progress):
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        copier(name)("src", "dst", atomic=True, method="read_write", progress=stop)
    names = sorted(os.listdir())
    assert [found for found in names if found not in ("src", "dst")] == []
    if old:
        assert read("dst") in (b"old", pattern(3 * MIB))


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("src", ["missing", "folder", "pipe"])
def test_bad_source(box, name, src):
    box.file("dst", b"old")
    box.directory("folder")
    box.fifo("pipe")
    with pytest.raises(OSError):
        copier(name)(src, "dst", atomic=True)
    assert read("dst") == b"old" and len(os.listdir()) == 3


@pytest.mark.parametrize("name", COPIERS)
def test_bad_folder(box, name):
    """The error is of the target, never of a temporary name."""
    box.file("src", DATA)
    with pytest.raises(FileNotFoundError) as caught:
        copier(name)("src", "nowhere/dst", atomic=True)
    assert caught.value.filename == "nowhere/dst"


@pytest.mark.parametrize("name", COPIERS)
def test_link_stays_a_link(box, name):
    """What the link leads to is replaced, in its own folder."""
    box.file("src", DATA)
    box.directory("folder")
    box.file("folder/file", b"old")
    box.link("folder/file", "middle")
    box.link("middle", "dst")
    assert copier(name)("src", "dst", atomic=True) == "dst"
    assert os.readlink("dst") == "middle" and os.readlink("middle") == "folder/file"
    assert not os.path.islink("folder/file") and read("folder/file") == DATA
    assert os.listdir("folder") == ["file"]


def test_dangling_link_gets_its_target(box):
    box.file("src", DATA)
    box.directory("folder")
    box.link("folder/file", "dst")
    speedcopy_c.copyfile("src", "dst", atomic=True)
    assert os.path.islink("dst") and read("folder/file") == DATA


@pytest.mark.parametrize("mode", [0o600, 0o604, 0o444, 0o755, 0o4711])
def test_mode_of_the_old_target_is_kept(box, mode):
    """copyfile changes content only, atomic or not."""
    box.file("src", DATA, 0o640)
    box.file("dst", b"old", mode)
    inode = os.stat("dst").st_ino
    keeper = os.open("dst", os.O_RDONLY) if mode & 0o400 else None
    try:
        speedcopy_c.copyfile("src", "dst", atomic=True)
        assert stat.S_IMODE(os.stat("dst").st_mode) == mode
        assert read("dst") == DATA
        assert os.stat("dst").st_ino != inode
    finally:
        if keeper is not None:
            os.close(keeper)


@pytest.mark.parametrize("name", ["copy", "copy2"])
@pytest.mark.parametrize("old", [False, True])
def test_mode_of_the_source_with_copy(box, name, old):
    box.file("src", DATA, 0o751)
    os.utime("src", ns=(10**18, 10**18 + 3))
    if old:
        box.file("dst", b"old", 0o600)
    copier(name)("src", "dst", atomic=True)
    assert stat.S_IMODE(os.stat("dst").st_mode) == 0o751
    assert (os.stat("dst").st_mtime_ns == 10**18 + 3) is (name == "copy2")


@pytest.mark.parametrize("umask, mode", [(0o022, 0o644), (0o027, 0o640), (0, 0o666)])
def test_mode_of_a_new_target(box, umask, mode):
    """As if it had been opened for writing."""
    box.file("src", DATA, 0o600)
    os.umask(umask)
    speedcopy_c.copyfile("src", "dst", atomic=True)
    assert stat.S_IMODE(os.stat("dst").st_mode) == mode


def test_owner_and_acl_of_the_old_target_are_kept(box):
    if not is_root():
        pytest.skip("needs root to give a file away")
    box.file("src", DATA)
    box.file("dst", b"old", 0o4755)
    box.own("dst", STRANGER)
    acl = (("u", 7, None), ("U", 5, USER), ("g", 5, None), ("m", 5, None), ("o", 5, None))
    try:
        box.xattr("dst", "system.posix_acl_access", posix_acl(*acl))
    except Unavailable as reason:
        pytest.skip(str(reason))
    before = os.stat("dst")
    speedcopy_c.copyfile("src", "dst", atomic=True)
    after = os.stat("dst")
    assert read("dst") == DATA
    assert (after.st_uid, after.st_gid, after.st_mode) == (
        before.st_uid,
        before.st_gid,
        before.st_mode,
    )
    assert os.getxattr("dst", "system.posix_acl_access") == posix_acl(*acl)


def test_other_names_keep_the_old_content(box):
    """The documented price: a hard link is parted from the new content."""
    box.file("src", DATA)
    box.file("dst", b"old")
    os.link("dst", "other")
    speedcopy_c.copyfile("src", "dst", atomic=True)
    assert read("dst") == DATA and read("other") == b"old"


@pytest.mark.parametrize("name", ["copy", "copy2"])
def test_into_a_directory(box, name):
    box.file("src", DATA)
    box.directory("dst")
    assert copier(name)("src", "dst", atomic=True) == "dst/src"
    assert read("dst/src") == DATA and os.listdir("dst") == ["src"]


@pytest.mark.parametrize("make", [str, os.fsencode, os.path.abspath])
def test_long_and_odd_names(box, make):
    """The temporary name does not grow with the target's."""
    name = "n" * 250 + os.fsdecode(b"\xff")
    box.file("src", DATA)
    speedcopy_c.copyfile("src", make(name), atomic=True)
    assert read(name) == DATA and len(os.listdir()) == 2


def test_folder_that_cannot_be_written(arena):
    """A plain user may write the file, but not make one beside it: refused, unharmed."""
    if not is_root():
        pytest.skip("needs root to act as two users")
    place = os.path.join(arena, "closed")
    os.mkdir(place)
    src, dst = os.path.join(place, "src"), os.path.join(place, "dst")
    for path in (src, dst):
        with open(path, "wb") as stream:
            stream.write(path.encode())
        os.chmod(path, 0o666)
    try:
        with acting_as(USER):
            speedcopy_c.copyfile(src, dst)
            with open(dst, "wb") as stream:
                stream.write(b"old")
            with pytest.raises(PermissionError):
                speedcopy_c.copyfile(src, dst, atomic=True)
        assert read(dst) == b"old" and len(os.listdir(place)) == 2
    finally:
        shutil.rmtree(place)


@pytest.mark.parametrize("name", COPIERS)
def test_target_that_may_not_be_written(arena, name):
    """Replacing is no way round the permission of the old file."""
    if not is_root():
        pytest.skip("needs root to make another user's file")
    place = os.path.join(arena, "foreign")
    os.mkdir(place)
    os.chmod(place, 0o777)
    src, dst = os.path.join(place, "src"), os.path.join(place, "dst")
    for path in (src, dst):
        with open(path, "wb") as stream:
            stream.write(path.encode())
        os.chmod(path, 0o644)
    try:
        with acting_as(USER), pytest.raises(PermissionError) as caught:
            copier(name)(src, dst, atomic=True)
        assert caught.value.filename == dst
        assert read(dst) == dst.encode() and len(os.listdir(place)) == 2
    finally:
        shutil.rmtree(place)
