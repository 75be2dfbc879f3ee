"""Copies between real file systems, against what shutil does there.

The file systems are loop mounts made by rigs/filesystems, which needs root.
With SPEEDCOPY_REQUIRE_RIGS=1, as in CI, a missing file system is a failure
instead of a skip.
"""

import errno
import os
import shutil
import stat
import time

import pytest
from rigs.filesystems import mounts
from rigs.filesystems.places import Places, unavailable
from rigs.outcomes import outcome, renamed
from support.box import APPEND, IMMUTABLE, change_flags
from support.privilege import Unavailable

import speedcopy_c

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40

FILESYSTEMS = ["ext4", "xfs", "xfs-noreflink", "btrfs", "btrfs-nocow", "tmpfs", "overlay"]
PAIRS = [(source, target) for source in FILESYSTEMS for target in FILESYSTEMS]
SIZES = [0, 1, 4 * KIB, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, MIB, 20 * MIB]
CLONES = {"xfs", "btrfs", "btrfs-nocow"}
FULL = ["tmpfs", "ext4", "xfs", "btrfs"]
FLAGGED = ["ext4", "xfs", "btrfs"]  # those that know chattr +i and +a

MTIME = 1_600_000_000_123_456_789


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    places = Places(tmp_path_factory.mktemp("filesystems"))
    yield places
    places.close()


@pytest.fixture
def room(places):
    """room(name): a directory there that is removed after the test."""
    made = []

    def fresh(name):
        made.append(places.fresh(name))
        return made[-1]

    yield fresh
    for directory in made:
        shutil.rmtree(directory, ignore_errors=True)


def run_traced(function, *arguments, **options):
    """The single record that a copy left."""
    with speedcopy_c.trace() as records:
        function(*arguments, **options)
    records = list(records)
    assert len(records) == 1, records
    return records[0]


def methods_expected(source, target, size):
    """The methods that may copy a file without holes from one to the other.
    None stands for a copy without data."""
    everything = {"server_copy", "holes", "copy_file_range", "sendfile", "read_write"}
    if size == 0:
        return everything | {"clone", None}
    if source == target and source in CLONES:
        return {"clone"} if size >= MIB else everything | {"clone"}
    return everything - {"server_copy"}


def write_source(path, size):
    path.write_bytes(os.urandom(size))
    os.chmod(path, 0o640)
    set_source_times(path)


def set_source_times(path):
    # An access time in the future is one that reading does not move, with
    # mount option relatime; so it can be compared.
    os.utime(path, ns=(time.time_ns() + 3600 * 10**9, MTIME))


def write_target(path, state, size):
    path.unlink(missing_ok=True)
    if state == "longer":
        path.write_bytes(os.urandom(size + 70 * KIB + 3))
    elif state == "shorter":
        path.write_bytes(os.urandom(size // 2))


def metadata(path):
    status = os.stat(path)
    names = os.listxattr(path)
    return {
        "mode": oct(status.st_mode),
        "owner": (status.st_uid, status.st_gid),
        "size": status.st_size,
        "links": status.st_nlink,
        "xattrs": {name: os.getxattr(path, name) for name in names},
    }


def times(path):
    status = os.stat(path)
    return (status.st_atime_ns, status.st_mtime_ns)


def data_extents(path):
    """[(start, end), ...] as SEEK_DATA and SEEK_HOLE tell it."""
    extents = []
    with open(path, "rb") as file:
        fd = file.fileno()
        end = 0
        while True:
            try:
                start = os.lseek(fd, end, os.SEEK_DATA)
            except OSError as error:
                assert error.errno == errno.ENXIO
                return extents
            end = os.lseek(fd, start, os.SEEK_HOLE)
            extents.append((start, end))


def assert_same_data(source, target):
    """Equal content, without reading the holes of either file."""
    assert os.path.getsize(source) == os.path.getsize(target)
    with open(source, "rb") as first, open(target, "rb") as second:
        for start, end in sorted(data_extents(source) + data_extents(target)):
            for offset in range(start, end, 8 * MIB):
                size = min(8 * MIB, end - offset)
                blocks = [os.pread(file.fileno(), size, offset) for file in (first, second)]
                assert len(blocks[0]) == size
                assert blocks[0] == blocks[1], f"differs in the {size} bytes at {offset}"


def assert_prefix(target, content):
    data = target.read_bytes()
    assert len(data) <= len(content)
    assert data == content[: len(data)], "the target is not a prefix of the source"


@pytest.mark.parametrize("function", ["copyfile", "copy2"])
@pytest.mark.parametrize(("source_fs", "target_fs"), PAIRS, ids=["-to-".join(p) for p in PAIRS])
def test_every_pair(room, source_fs, target_fs, function):
    source = room(source_fs) / "source"
    directory = room(target_fs)
    target, reference = directory / "target", directory / "reference"
    for size in SIZES:
        write_source(source, size)
        content = source.read_bytes()
        set_source_times(source)
        for state in ["new", "longer", "shorter"]:
            where = f"{size} bytes, {state} target"
            write_target(target, state, size)
            write_target(reference, state, size)
            getattr(shutil, function)(source, reference)
            record = run_traced(getattr(speedcopy_c, function), source, target)
            assert target.read_bytes() == content, where
            assert record.bytes == size, where
            assert record.method in methods_expected(source_fs, target_fs, size), where
            assert metadata(target) == metadata(reference), where
            if function == "copy2":
                assert times(target) == times(reference), where
            if record.method == "clone" and size >= MIB:
                assert mounts.is_clone_of(source, target) is not False, where


@pytest.mark.parametrize("name", sorted(CLONES))
def test_a_clone_shares_blocks_and_never_does_not(room, name):
    directory = room(name)
    source, target = directory / "source", directory / "target"
    write_source(source, 4 * MIB)
    record = run_traced(speedcopy_c.copyfile, source, target)
    assert record.method == "clone"
    assert mounts.is_clone_of(source, target) is True
    record = run_traced(speedcopy_c.copyfile, source, target, reflink="never")
    assert record.method != "clone"
    assert target.read_bytes() == source.read_bytes()
    assert mounts.is_clone_of(source, target) is False


@pytest.mark.parametrize(("source_fs", "target_fs"), PAIRS, ids=["-to-".join(p) for p in PAIRS])
def test_holes_stay_holes(room, source_fs, target_fs):
    source, target = room(source_fs) / "source", room(target_fs) / "target"
    with open(source, "wb") as file:
        file.truncate(48 * MIB + 5)
        for offset in 0, 9 * MIB + 4096, 20 * MIB - 1, 48 * MIB:
            file.seek(offset)
            file.write(os.urandom(20000)[: 48 * MIB + 5 - offset])
    for state in ["new", "longer"]:
        write_target(target, state, 2 * MIB)
        speedcopy_c.copyfile(source, target)
        assert_same_data(source, target)
        # One block of 4 KiB more: ext4 keeps a file's fifth extent outside
        # of its inode.
        assert mounts.allocated(target) <= mounts.allocated(source) + 4096


@pytest.mark.parametrize("name", ["ext4", "xfs", "btrfs", "tmpfs"])
def test_a_tebibyte_with_three_extents(room, name):
    directory = room(name)
    source, target = directory / "source", directory / "target"
    with open(source, "wb") as file:
        file.truncate(TIB)
        for offset in 0, 400 * GIB + 12345, TIB - 3 * MIB:
            file.seek(offset)
            file.write(os.urandom(MIB))
    started = time.monotonic()
    speedcopy_c.copyfile(source, target)
    seconds = time.monotonic() - started
    assert_same_data(source, target)
    assert mounts.allocated(target) <= mounts.allocated(source) + 4096
    assert seconds < 2


@pytest.mark.parametrize("name", ["ext4", "xfs", "xfs-noreflink", "btrfs", "btrfs-nocow", "tmpfs"])
@pytest.mark.parametrize("origin", ["tmpfs", "same"])
def test_a_sparse_file_larger_than_the_file_system(room, name, origin):
    source = room(name if origin == "same" else origin) / "source"
    target = room(name) / "target"
    with open(source, "wb") as file:
        file.truncate(5 * GIB)
        for offset in range(0, 5 * GIB, 700 * MIB):
            file.seek(offset)
            file.write(os.urandom(2 * MIB))
    speedcopy_c.copyfile(source, target)
    assert_same_data(source, target)
    assert mounts.allocated(target) <= mounts.allocated(source) + 3 * 4096


@pytest.mark.parametrize("name", ["ext4", "xfs", "btrfs", "tmpfs"])
def test_all_hole_and_preallocated_files(room, name):
    directory = room(name)
    source, target = directory / "source", directory / "target"
    with open(source, "wb") as file:
        file.truncate(3 * MIB + 7)
    speedcopy_c.copyfile(source, target)
    assert target.read_bytes() == bytes(3 * MIB + 7)
    assert mounts.allocated(target) <= mounts.allocated(source)
    with open(source, "r+b") as file:
        os.posix_fallocate(file.fileno(), 0, 2 * MIB)
        os.pwrite(file.fileno(), b"data", 300 * KIB)
    speedcopy_c.copyfile(source, target)
    assert target.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("name", ["ext4", "xfs", "btrfs", "tmpfs"])
def test_data_written_into_a_hole_a_moment_ago(room, name):
    directory = room(name)
    source, target = directory / "source", directory / "target"
    with open(source, "wb") as file:
        file.truncate(4 * MIB)
        for number in range(40):
            os.pwrite(file.fileno(), b"%04d" % number, number * 100_003)
            speedcopy_c.copyfile(source, target)
            assert_same_data(source, target)
    assert target.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("turn", ["to", "from"])
def test_nodatacow_cannot_clone_and_is_copied(room, turn):
    ends = ["btrfs", "btrfs-nocow"] if turn == "to" else ["btrfs-nocow", "btrfs"]
    source, target = (room(name) / "file" for name in ends)
    write_source(source, 3 * MIB + 1)
    record = run_traced(speedcopy_c.copyfile, source, target)
    assert target.read_bytes() == source.read_bytes()
    assert record.method != "clone"
    assert "clone" in {fallback_method(each) for each in record.fallbacks}


def fallback_method(fallback):
    return fallback if isinstance(fallback, str) else fallback[0]


@pytest.mark.parametrize("size", [1, 5000, 64 * KIB, 3 * MIB])
def test_overlay_lower_layer(places, room, size):
    """A file of the lower layer is on another file system than the target,
    which has the same st_dev; a target there is copied up first."""
    merged = places.directory("overlay")
    lower = places.overlay_lower()
    content = os.urandom(size)
    for name in "source", "target":
        lower.joinpath(f"{name}-{size}").write_bytes(content if name == "source" else b"old" * 90)
    source, target = merged / f"source-{size}", merged / f"target-{size}"
    speedcopy_c.copy2(source, room("overlay") / "new")
    speedcopy_c.copy2(source, target)
    assert target.read_bytes() == content
    assert lower.joinpath(target.name).read_bytes() == b"old" * 90


def test_the_same_file_under_two_mounts(places, room):
    directory = room("ext4")
    content = os.urandom(70 * KIB)
    (directory / "file").write_bytes(content)
    alias = places.bind(directory) / "file"
    for function in speedcopy_c.copyfile, speedcopy_c.copy2:
        with pytest.raises(shutil.SameFileError):
            function(directory / "file", alias)
    assert alias.read_bytes() == content


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("function", ["copyfile", "copy2"])
def test_disk_full(places, room, name, function):
    full = places.full(name, MIB)
    source = room("ext4") / "source"
    content = os.urandom(3 * MIB)
    source.write_bytes(content)
    for state, size in [("new", 0), ("longer", 0), ("shorter", 200 * KIB)]:
        results = []
        for module in shutil, speedcopy_c:
            target = full / "target"
            write_target(target, state, size)
            result = outcome(getattr(module, function), source, target)
            results.append(result)
            if result[0] == "raised" and target.exists():
                assert_prefix(target, content)
                assert target.stat().st_size < len(content)
            target.unlink(missing_ok=True)
            mounts.sync_of(full)
        assert results[0][2] == errno.ENOSPC, results[0]
        assert results[1] == results[0], state


@pytest.mark.parametrize("name", FULL)
def test_disk_full_from_the_same_file_system(places, name):
    full = places.full(name, 2 * MIB)
    source, target = full / "source", full / "target"
    content = os.urandom(1500 * KIB)
    source.write_bytes(content)
    mounts.sync_of(full)
    results = []
    for module in shutil, speedcopy_c:
        result = outcome(module.copyfile, source, target)
        results.append(result)
        assert_prefix(target, content)
        target.unlink()
        mounts.sync_of(full)
    assert source.read_bytes() == content
    if results[1][0] == "raised":
        assert results[1] == results[0]
        assert results[1][2] == errno.ENOSPC
        assert name not in CLONES


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("old_size", [0, 5000, 20 * KIB, 60 * KIB])
def test_small_file_over_an_existing_one_on_a_full_disk(places, room, name, old_size):
    source = room("ext4") / "source"
    content = os.urandom(20 * KIB)
    source.write_bytes(content)
    results = []
    for module in shutil, speedcopy_c:
        # A new one each time: what shutil cut off is free space for the next.
        old = os.urandom(old_size)
        full = places.full(name, 64 * KIB, [("target", old), ("rest", b"")])
        target = full / "target"
        exhaust(full / "rest")
        result = outcome(module.copyfile, source, target)
        results.append(renamed(result, target, "target"))
        data = target.read_bytes()
        assert data == old or data == content[: len(data)], "neither old nor a prefix of new"
        assert result[0] == "raised" or data == content
    if results[1][0] == "raised":
        assert results[1] == results[0]


def exhaust(path):
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
                os.fsync(file.fileno())
        except OSError as error:
            assert error.errno == errno.ENOSPC


@pytest.mark.parametrize("function", ["copyfile", "copy2"])
def test_quota_exceeded(places, room, function):
    directory = places.btrfs_subvolume(f"limited-{function}", 8 * MIB)
    content = os.urandom(20 * MIB)
    for source_fs in "ext4", "btrfs":
        source = room(source_fs) / "source"
        source.write_bytes(content)
        mounts.sync_of(source.parent)
        results = []
        for module in shutil, speedcopy_c:
            target = directory / "target"
            result = outcome(getattr(module, function), source, target)
            results.append(result)
            if target.exists():
                assert_prefix(target, content)
                assert result[0] == "raised" or target.stat().st_size == len(content)
                target.unlink()
            mounts.sync_of(directory)
        # btrfs counts the blocks of a clone later: a clone may get through.
        if source_fs == "ext4" or results[1][0] == "raised":
            assert results[0][:3] == ("raised", "OSError", errno.EDQUOT)
            assert results[1] == results[0]


@pytest.mark.parametrize("size", [10, 64 * KIB, MIB])
@pytest.mark.parametrize("function", ["copyfile", "copy", "copy2"])
def test_read_only_mount(places, room, function, size):
    directory = room("ext4")
    (directory / "existing").write_bytes(b"old")
    write_source(directory / "inside", size)
    frozen = places.bind(directory, "ro")
    outside = directory / "outside"
    write_source(outside, size)
    for name in "existing", "new":
        results = [
            outcome(getattr(module, function), outside, frozen / name)
            for module in (shutil, speedcopy_c)
        ]
        assert results[0][2] == errno.EROFS
        assert results[1] == results[0]
    assert (directory / "existing").read_bytes() == b"old"
    assert not (directory / "new").exists()
    getattr(speedcopy_c, function)(frozen / "inside", directory / "copy")
    assert (directory / "copy").read_bytes() == (directory / "inside").read_bytes()


@pytest.mark.parametrize("function", ["copymode", "copystat"])
def test_metadata_on_a_read_only_mount(places, room, function):
    directory = room("ext4")
    (directory / "existing").write_bytes(b"old")
    write_source(directory / "source", 1)
    frozen = places.bind(directory, "ro")
    results = [
        outcome(getattr(module, function), directory / "source", frozen / "existing")
        for module in (shutil, speedcopy_c)
    ]
    assert results[0][2] == errno.EROFS
    assert results[1] == results[0]


@pytest.mark.parametrize("name", FLAGGED)
@pytest.mark.parametrize("flag", [IMMUTABLE, APPEND], ids=["immutable", "append-only"])
@pytest.mark.parametrize("size", [0, 10, MIB])
def test_immutable_and_append_only(room, name, flag, size):
    directory = room(name)
    source, target = directory / "source", directory / "target"
    write_source(source, size)
    target.write_bytes(b"old")
    change_flags(target, add=flag)
    try:
        for function in "copyfile", "copy", "copy2", "copymode", "copystat":
            results = [
                outcome(getattr(module, function), source, target)
                for module in (shutil, speedcopy_c)
            ]
            assert results[0][2] == errno.EPERM, function
            assert results[1] == results[0], function
        assert target.read_bytes() == b"old"
    finally:
        change_flags(target, remove=flag)
    change_flags(source, add=flag)
    try:
        speedcopy_c.copy2(source, target)
        assert target.read_bytes() == source.read_bytes()
        assert metadata(target)["mode"] == metadata(source)["mode"]
    finally:
        change_flags(source, remove=flag)


@pytest.mark.parametrize("name", FLAGGED)
def test_active_swap_file(places, room, name):
    directory = room(name)
    try:
        with places.swap(name) as swap:
            content = swap.read_bytes()
            speedcopy_c.copyfile(swap, directory / "copy")
            assert (directory / "copy").read_bytes() == content
            for size in 100, MIB:
                write_source(directory / "source", size)
                results = [
                    outcome(module.copyfile, directory / "source", swap)
                    for module in (shutil, speedcopy_c)
                ]
                assert results[0][2] == errno.ETXTBSY
                assert results[1] == results[0]
            assert swap.read_bytes() == content
    except Unavailable as error:
        unavailable(error)


@pytest.mark.parametrize("attribute_size", [10, 10_000])
@pytest.mark.parametrize("target_fs", ["ext4", "xfs", "btrfs", "tmpfs", "ramfs", "overlay"])
def test_extended_attributes_between_file_systems(room, attribute_size, target_fs):
    """Attributes that the target cannot hold: too large (ENOSPC from ext4,
    which is no full disk) or none at all (ramfs)."""
    source, directory = room("xfs") / "source", room(target_fs)
    write_source(source, 5000)
    os.setxattr(source, "user.one", os.urandom(attribute_size))
    os.setxattr(source, "user.two", b"2")
    results = []
    for module, name in (shutil, "reference"), (speedcopy_c, "target"):
        target = directory / name
        results.append(renamed(outcome(module.copy2, source, target), target, "target"))
        assert target.read_bytes() == source.read_bytes()
    assert results[1] == results[0]
    # shutil stops at the attribute that failed, in an order that the source's
    # file system gives: the same for both.
    ours, reference = metadata(directory / "target"), metadata(directory / "reference")
    if results[0][0] == "raised":
        # And before the mode is set.  Ours is made narrow (differences.rst).
        assert ours.pop("mode") == "0o100600"
        reference.pop("mode")
    assert ours == reference


PSEUDO = [
    "/proc/self/cmdline",
    "/proc/self/limits",
    "/proc/filesystems",
    "/proc/version",
    "/proc/kallsyms",
    "/proc/config.gz",
    "/proc/sys/kernel/ostype",
    "/sys/class/net/lo/mtu",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/dev/null",
]


@pytest.mark.parametrize("name", ["ext4", "xfs", "btrfs", "tmpfs", "overlay"])
@pytest.mark.parametrize("pseudo", PSEUDO, ids=lambda path: path.strip("/").replace("/", "-"))
def test_files_whose_size_lies(room, name, pseudo):
    if not os.path.exists(pseudo):
        pytest.skip(f"this kernel has no {pseudo}")
    target = room(name) / "target"
    with open(pseudo, "rb") as file:
        content = file.read()
    for state in "new", "longer":
        write_target(target, state, 10)
        speedcopy_c.copyfile(pseudo, target)
        assert target.read_bytes() == content
        assert stat.S_ISREG(os.stat(target).st_mode)
