"""The keyword-only options of the copying functions: what each promises, and bad values."""

import errno
import os
import shutil
import stat
import subprocess
import sys
import threading

import pytest
from support.box import posix_acl
from support.outcome import differences
from support.privilege import STRANGER, USER, Unavailable, acting_as, is_root
from support.processes import code, environment
from support.sources import DATA, pattern

import speedcopy_c

COPIERS = ("copyfile", "copy", "copy2")
NOT_HERE = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EXDEV)
MIB = 2**20


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def allocated(path):
    return os.stat(path).st_blocks * 512


def copier(name):
    return getattr(speedcopy_c, name)


BAD_OPTIONS = [
    ("reflink", "sometimes", ValueError),
    ("reflink", "", ValueError),
    ("reflink", None, TypeError),
    ("reflink", True, TypeError),
    ("reflink", b"auto", TypeError),
    ("sparse", "maybe", ValueError),
    ("sparse", "AUTO", ValueError),
    ("sparse", False, TypeError),
    ("atomic", "yes", TypeError),
    ("atomic", 1, TypeError),
    ("atomic", None, TypeError),
    ("fsync", "no", TypeError),
    ("fsync", 0, TypeError),
    ("verify", "md5", ValueError),
    ("verify", "", ValueError),
    ("verify", 1, TypeError),
    ("verify", None, TypeError),
    ("progress", 5, TypeError),
    ("progress", "bar", TypeError),
    ("method", "teleport", ValueError),
    ("method", "", ValueError),
    ("method", 1, TypeError),
    ("method", b"clone", TypeError),
]


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("option, value, error", BAD_OPTIONS)
def test_bad_value(box, name, option, value, error):
    """ValueError for a value, TypeError for a type, naming the option; nothing is touched."""
    box.file("src", DATA)
    box.file("dst", b"old")
    box.settle()
    before = box.snapshot()
    with pytest.raises(error, match=option):
        copier(name)("src", "dst", **{option: value})
    assert differences(before, box.snapshot(), {"atime"}) == []


@pytest.mark.parametrize("name", ["copy", "copy2", "copystat"])
@pytest.mark.parametrize(
    "value, error",
    [
        ("colour", ValueError),
        ("", ValueError),
        (("ownership", "colour"), ValueError),
        (5, TypeError),
        ([5], TypeError),
        (b"all", TypeError),
    ],
)
def test_bad_preserve(box, name, value, error):
    box.file("src", DATA)
    box.file("dst", b"old")
    with pytest.raises(error):
        copier(name)("src", "dst", preserve=value)
    assert read("dst") == b"old"


ELSEWHERE = [("copyfile", "preserve", "all"), ("copymode", "preserve", "all")]
ELSEWHERE += [
    (name, option, value)
    for name in ("copymode", "copystat")
    for option, value in (
        ("reflink", "always"),
        ("sparse", "always"),
        ("atomic", True),
        ("fsync", True),
        ("verify", "bytes"),
        ("progress", print),
        ("method", "clone"),
    )
]


@pytest.mark.parametrize("name, option, value", ELSEWHERE)
def test_option_of_other_functions(box, name, option, value):
    """An option that a function does not have is refused, never ignored."""
    box.file("src", DATA, 0o600)
    box.file("dst", b"old", 0o644)
    with pytest.raises(TypeError):
        copier(name)("src", "dst", **{option: value})
    assert read("dst") == b"old"
    assert stat.S_IMODE(os.stat("dst").st_mode) == 0o644


@pytest.mark.parametrize("name", COPIERS)
def test_options_are_keyword_only(box, name):
    box.file("src", DATA)
    with pytest.raises(TypeError):
        copier(name)("src", "dst", True, "auto")
    assert not os.path.exists("dst")


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("size", [0, 1, 5000, 65536, 300_000])
@pytest.mark.parametrize("old", [None, 70_000, MIB])
@pytest.mark.parametrize("sparse", ["auto", "always", "never"])
@pytest.mark.parametrize("reflink", ["auto", "never"])
def test_options_together(box, name, size, old, sparse, reflink):  # noqa: PLR0913, PLR0917
    """All options at once still copy: content, mode, result."""
    data = pattern(size // 2) + b"\0" * (size - size // 2)
    box.file("src", data, 0o640)
    if old is not None:
        box.file("dst", b"\xee" * old, 0o604)
    options = {"reflink": reflink, "sparse": sparse, "verify": "bytes", "fsync": size == 1}
    for atomic in (False, True):
        seen = []
        assert copier(name)("src", "dst", atomic=atomic, progress=seen.append, **options) == "dst"
        assert read("dst") == data
        assert seen[-1].copied == seen[-1].total == size
        expected = (0o644 if old is None else 0o604) if name == "copyfile" else 0o640
        assert stat.S_IMODE(os.stat("dst").st_mode) == expected
    assert sorted(os.listdir()) == ["dst", "src"]


# method=


def method_used(name, *args, **options):
    """Copy, and say which method the trace saw."""
    with speedcopy_c.trace() as records:
        copier(name)(*args, **options)
    assert len(records) == 1
    return records[0].method


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("size", [1, 4096, 70_000, 3 * MIB])
@pytest.mark.parametrize("old", [None, 10, 4 * MIB])
@pytest.mark.parametrize("method", ["copy_file_range", "sendfile", "read_write"])
def test_forced_method(box, name, method, size, old):
    """The method is the one used, whatever would have been chosen."""
    box.file("src", pattern(size))
    if old is not None:
        box.file("dst", b"\xee" * old)
    assert method_used(name, "src", "dst", method=method) == method
    assert read("dst") == pattern(size)


@pytest.mark.parametrize("method", ["copy_file_range", "sendfile", "read_write"])
def test_forced_method_with_an_empty_file(box, method):
    box.file("src", b"")
    box.file("dst", b"old")
    speedcopy_c.copyfile("src", "dst", method=method)
    assert read("dst") == b""


def test_method_none_chooses(box):
    box.file("src", pattern(MIB))
    assert method_used("copyfile", "src", "dst", method=None)
    assert read("dst") == pattern(MIB)


@pytest.mark.parametrize("name", COPIERS)
def test_forced_holes(box, name):
    """The extents by SEEK_DATA and SEEK_HOLE."""
    data = pattern(100_000) + b"\0" * MIB + pattern(5)
    with open("src", "wb") as stream:
        stream.write(data[:100_000])
        stream.seek(100_000 + MIB)
        stream.write(pattern(5))
    assert method_used(name, "src", "dst", method="holes") == "holes"
    assert read("dst") == data
    assert allocated("dst") <= allocated("src") + 65536


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("options", [{"method": "clone"}, {"reflink": "always"}])
def test_clone_where_there_is_none(other_disk, name, options):
    """OSError(ENOTSUP) with both names, and no empty file that was not there before."""
    place = os.path.join(other_disk, "no-clones")
    src, dst = os.path.join(place, "src"), os.path.join(place, "dst")
    os.mkdir(place)
    with open(src, "wb") as stream:
        stream.write(pattern(100_000))
    with pytest.raises(OSError) as caught:
        copier(name)(src, dst, **options)
    assert caught.value.errno in NOT_HERE
    assert (caught.value.filename, caught.value.filename2) == (src, dst)
    left = os.listdir(place)
    shutil.rmtree(place)
    assert left == ["src"]


@pytest.mark.parametrize("options", [{"method": "clone"}, {"reflink": "always"}])
@pytest.mark.parametrize("size", [10, 100_000])
def test_clone_across_devices(arena, other_disk, options, size):
    src, dst = os.path.join(arena, "src"), os.path.join(other_disk, "across")
    with open(src, "wb") as stream:
        stream.write(pattern(size))
    with pytest.raises(OSError) as caught:
        speedcopy_c.copyfile(src, dst, **options)
    assert caught.value.errno in NOT_HERE
    assert not os.path.exists(dst)
    os.unlink(src)


@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_server_copy_on_a_local_disk(box, size):
    """Only SMB mounts have it."""
    box.file("src", pattern(size))
    with pytest.raises(OSError) as caught:
        speedcopy_c.copyfile("src", "dst", method="server_copy")
    assert caught.value.errno in NOT_HERE
    assert not os.path.exists("dst")


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("options", [{"method": "clone"}, {"reflink": "always"}, {}])
@pytest.mark.parametrize("old", [None, 10, 16 * MIB])
def test_clone(reflink_disk, name, options, old):
    """The blocks are shared: the disk is no fuller than before."""
    src, dst = os.path.join(reflink_disk, "src"), os.path.join(reflink_disk, "dst")
    data = pattern(12 * MIB + 77)
    with open(src, "wb") as stream:
        stream.write(data)
    if old is not None:
        with open(dst, "wb") as stream:
            stream.write(b"\xee" * old)
    os.chmod(src, 0o751)
    free = free_bytes(reflink_disk)
    assert method_used(name, src, dst, **options) == "clone"
    assert free_bytes(reflink_disk) > free - 4 * MIB
    assert read(dst) == data
    if name != "copyfile":
        assert stat.S_IMODE(os.stat(dst).st_mode) == 0o751
    os.unlink(dst)
    os.unlink(src)


def free_bytes(disk):
    os.sync()
    found = os.statvfs(disk)
    return found.f_bfree * found.f_frsize


@pytest.mark.parametrize("name", COPIERS)
def test_no_clone_when_told_so(reflink_disk, name):
    """The bytes are written again, by no method that may share them."""
    src, dst = os.path.join(reflink_disk, "src"), os.path.join(reflink_disk, "dst")
    with open(src, "wb") as stream:
        stream.write(os.urandom(12 * MIB))
    free = free_bytes(reflink_disk)
    method = method_used(name, src, dst, reflink="never")
    assert method not in ("clone", "copy_file_range", "server_copy")
    assert free_bytes(reflink_disk) < free - 10 * MIB
    assert read(dst) == read(src)
    os.unlink(dst)
    os.unlink(src)


# sparse=

LAYOUTS = {
    "zeros": [(0, 2 * MIB)],
    "zeros at the end": [(1, 100_000), (0, MIB)],
    "zeros at the start": [(0, MIB + 4096), (1, 3)],
    "zeros between": [(1, MIB), (0, MIB), (1, MIB), (0, MIB), (1, 77)],
    "odd sizes": [(1, 5000), (0, 77_777), (1, 1), (0, 333_333)],
    "no zeros": [(1, MIB)],
    "short": [(0, 100)],
}


def laid_out(layout):
    return b"".join(pattern(size) if kind else b"\0" * size for kind, size in layout)


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("old", [None, 4 * MIB])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_always(box, name, layout, old):
    """Blocks of zeros become holes, also over old content."""
    data = laid_out(LAYOUTS[layout])
    box.file("src", data)
    if old is not None:
        box.file("dst", b"\xee" * old)
    copier(name)("src", "dst", sparse="always")
    assert read("dst") == data
    needed = sum(size for kind, size in LAYOUTS[layout] if kind)
    assert allocated("dst") <= needed + 65536 * len(LAYOUTS[layout])


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("size", [100, 70_000, 3 * MIB + 5])
@pytest.mark.parametrize("old", [None, 10, 4 * MIB])
def test_sparse_never(box, name, size, old):
    """Every block of the copy is allocated, though the source is one hole."""
    with open("src", "wb") as stream:
        stream.truncate(size)
    if old is not None:
        box.file("dst", b"\xee" * old)
    copier(name)("src", "dst", sparse="never")
    assert read("dst") == b"\0" * size
    assert allocated("dst") >= size


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("old", [None, 4 * MIB])
def test_sparse_auto(box, name, old):
    """Holes stay holes, zeros stay zeros: the copy is no larger than its source."""
    data = b"\0" * MIB + pattern(4096) + b"\0" * (3 * MIB)
    with open("src", "wb") as stream:
        stream.seek(MIB)
        stream.write(pattern(4096))
        stream.truncate(len(data))
    if old is not None:
        box.file("dst", b"\xee" * old)
    copier(name)("src", "dst")
    assert read("dst") == data
    assert allocated("dst") <= allocated("src")


# verify=


@pytest.mark.parametrize("name", COPIERS)
def test_verify_finds_a_difference(box, name):
    """A source that never reads the same twice cannot be verified."""
    changing = "/proc/sys/kernel/random/uuid"
    if not os.path.exists(changing):
        pytest.skip(f"no {changing} on this system")
    with pytest.raises(OSError) as caught:
        copier(name)(changing, "dst", verify="bytes")
    assert caught.value.errno == errno.EIO
    copier(name)(changing, "dst", verify=False)


# fsync=

SYNC = """
import os, sys
import speedcopy_c
os.chdir(sys.argv[1])
getattr(speedcopy_c, sys.argv[2])("src", "folder/dst", **eval(sys.argv[3]))
"""


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize(
    "options, wanted",
    [("{}", []), ("{'fsync': True}", ["dst", "folder"])],
)
def test_fsync(box, name, options, wanted):
    """The file and its folder are synchronised, in this order, and only if asked."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("there is no program 'strace' to see system calls with")
    box.file("src", DATA)
    box.directory("folder")
    assert synchronised(strace, box.path, name, options) == wanted


def synchronised(strace, place, name, options):
    """The names of the descriptors that were synchronised."""
    words = [strace, "-f", "-y", "-qq", "-e", "trace=fsync,fdatasync", "-o", "trace"]
    words += [sys.executable, "-c", SYNC, place, name, options]
    subprocess.run(words, env=environment(), check=True)
    with open("trace") as stream:
        lines = [line for line in stream if "sync(" in line]
    return [line.split("<", 1)[1].split(">")[0].rsplit("/", 1)[-1] for line in lines]


def test_atomic_with_fsync(box):
    box.file("src", DATA)
    box.file("dst", b"old")
    speedcopy_c.copyfile("src", "dst", atomic=True, fsync=True)
    assert read("dst") == DATA


# preserve=


@pytest.mark.parametrize("name", ["copy", "copy2", "copystat"])
@pytest.mark.parametrize("value", ["ownership", ("ownership",), ["acl", "ownership"], "all"])
def test_preserve_ownership(box, name, value):
    """Owner and group, without losing the setuid bit that a chown takes away."""
    box.file("src", DATA, 0o4755)
    box.file("dst", b"old")
    if not is_root():
        pytest.skip("needs root to give a file away")
    box.own("src", STRANGER)
    copier(name)("src", "dst", preserve=value)
    found = os.stat("dst")
    assert (found.st_uid, found.st_gid) == (STRANGER, STRANGER)
    assert stat.S_IMODE(found.st_mode) == 0o4755


@pytest.mark.parametrize("name", ["copy", "copy2", "copystat"])
def test_preserve_ownership_without_the_right(arena, name):
    """A plain user cannot: the error says so."""
    if not is_root():
        pytest.skip("needs root to make another user's file")
    place = os.path.join(arena, "ownership")
    os.mkdir(place)
    os.chmod(place, 0o777)
    src, dst = os.path.join(place, "src"), os.path.join(place, "dst")
    for path, owner in ((src, STRANGER), (dst, USER)):
        with open(path, "wb") as stream:
            stream.write(DATA)
        os.chown(path, owner, owner)
    with acting_as(USER), pytest.raises(PermissionError):
        copier(name)(src, dst, preserve="ownership")
    shutil.rmtree(place)


def test_nothing_more_is_preserved_unasked(box):
    if not is_root():
        pytest.skip("needs root to give a file away")
    box.file("src", DATA)
    box.own("src", STRANGER)
    for name in ("copy", "copy2", "copystat"):
        copier(name)("src", box.file("dst"))
        copier(name)("src", "dst", preserve=None)
        copier(name)("src", "dst", preserve=())
        assert os.stat("dst").st_uid == os.geteuid()


@pytest.mark.parametrize("value", ["acl", ("acl",), "all"])
@pytest.mark.parametrize("name", ["copy", "copy2"])
def test_preserve_acl(box, name, value):
    entries = (("u", 6, None), ("U", 5, STRANGER), ("g", 4, None), ("m", 5, None), ("o", 0, None))
    box.file("src", DATA)
    try:
        box.xattr("src", "system.posix_acl_access", posix_acl(*entries))
    except Unavailable as reason:
        pytest.skip(str(reason))
    copier(name)("src", "dst", preserve=value)
    acl = "system.posix_acl_access"
    assert os.getxattr("dst", acl) == os.getxattr("src", acl)


def test_preserve_all_with_copy(box):
    """Times and attributes too, which copy alone leaves out."""
    box.file("src", DATA, 0o640)
    with_attribute = hasattr(os, "setxattr")
    if with_attribute:
        box.xattr("src", "user.a", b"1")
    os.utime("src", ns=(10**18, 10**18 + 7))
    speedcopy_c.copy("src", "dst", preserve="all")
    assert os.stat("dst").st_mtime_ns == 10**18 + 7
    if with_attribute:
        assert os.getxattr("dst", "user.a") == b"1"


# What options do with sources and targets that are no regular files.


@pytest.mark.parametrize(
    "options",
    [{"reflink": "always"}, {"atomic": True}, {"verify": "bytes"}, {"method": "read_write"}],
)
@pytest.mark.parametrize("kind", ["fifo", "directory", "socket"])
def test_options_with_odd_files(box, options, kind):
    """An error, never a hang, on either side."""
    getattr(box, kind)("odd")
    box.file("src", DATA)
    with pytest.raises(OSError):
        speedcopy_c.copyfile("odd", "dst", **options)
    with pytest.raises(OSError):
        speedcopy_c.copyfile("src", "odd", **options)
    assert not os.path.exists("dst")


@pytest.mark.parametrize("name", COPIERS)
@pytest.mark.parametrize("options", [{"atomic": True}, {"sparse": "always"}, {"fsync": True}])
def test_same_file_with_options(box, name, options):
    box.file("src", DATA)
    os.link("src", "other")
    with pytest.raises(shutil.SameFileError):
        copier(name)("src", "other", **options)
    assert read("src") == DATA and os.stat("src").st_nlink == 2


def test_options_from_threads(box):
    """Eight threads with different options at once."""
    box.file("src", pattern(MIB))
    choices = [{"method": "read_write"}, {"atomic": True}, {"sparse": "always"}, {}]
    failures = []

    def work(number):
        for turn in range(20):
            name = f"dst-{number}"
            speedcopy_c.copy2("src", name, **choices[(number + turn) % len(choices)])
            if read(name) != pattern(MIB):
                failures.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and len(os.listdir()) == 9


def test_options_in_a_fresh_process(tmp_path):
    """Nothing of the options needs an earlier import of anything."""
    (tmp_path / "src").write_bytes(DATA)
    text = (
        "import speedcopy_c, sys\n"
        "seen = []\n"
        "speedcopy_c.copy2(sys.argv[1], sys.argv[2], atomic=True, verify='bytes', fsync=True,\n"
        "                  progress=seen.append)\n"
        "print(seen[-1].copied)\n"
    )
    assert code(text, str(tmp_path / "src"), str(tmp_path / "dst")).strip() == str(len(DATA))
