"""Faults in the release build: strace makes system calls of a copy fail, or
return 0, at the first call or later.

Whatever happens, the outcome has to be the right bytes, or an error that
shutil would raise; never a hang, never a success with wrong content, never a
descriptor left open.  The whole matrix, with faults that strace cannot make,
runs in tests/core on the testing build.
"""

import os
import shutil
import stat
from pathlib import Path

import pytest
from rigs.faults.injector import Worker, check_available
from rigs.filesystems.places import Places, unavailable
from support.privilege import Unavailable

KIB, MIB = 1 << 10, 1 << 20
MTIME = 1_600_000_000_987_654_321

# The ways to move data, in the order of the ladder.  A worker for one of them
# is forbidden those before it; those after it are what it falls back to.
METHODS = ["clone", "holes", "copy_file_range", "sendfile", "read_write"]
SYSTEM_CALL = {
    "clone": "ioctl",
    "holes": "lseek",
    "copy_file_range": "copy_file_range",
    "sendfile": "sendfile",
}
DATA_CALLS = "copy_file_range,sendfile,write"

# Reasons, seen in the wild, for which the kernel's own copying says "not
# here": nothing is wrong with the files and another way works.  524 is the
# kernel's private ENOTSUPP, which NFS has let out.
NOT_HERE = {
    "clone": [
        *["EOPNOTSUPP", "ENOTTY", "EXDEV", "EINVAL", "EBADF", "EISDIR", "EPERM"],
        *["EACCES", "ETXTBSY", "EAGAIN", "ENOSYS", "524"],
    ],
    "copy_file_range": [
        *["EXDEV", "EPERM", "ENOSYS", "EACCES", "EOPNOTSUPP", "EINVAL", "EBADF", "EIO"],
        *["ENOENT", "ENODATA", "EAGAIN", "ETXTBSY", "ENOTTY", "EOVERFLOW", "EFBIG", "524"],
    ],
    "sendfile": [
        *["EINVAL", "ENOSYS", "EAGAIN", "ENODATA", "EIO", "EPERM", "EOPNOTSUPP"],
        *["ENOTSOCK", "EBADF", "EOVERFLOW", "ESPIPE", "524"],
    ],
    "holes": ["EINVAL", "EOPNOTSUPP", "ENOENT", "EIO", "EPERM", "EOVERFLOW"],
}
# Reasons that another way would meet as well.
FINAL = {
    "clone": ["EIO", "ENOMEM", "ENOSPC", "EDQUOT"],
    "copy_file_range": ["ENOSPC", "EDQUOT", "ENOMEM"],
    "sendfile": ["ENOSPC", "EDQUOT", "ENOMEM"],
}
WHEN = ["1", "1+", "2", "2+", "3+"]

# What each group of calls is in shutil and what it is here.
METADATA_CALLS = {
    "utime": "utimensat,?utime,?utimes,?futimesat",
    "chmod": "?chmod,fchmod,fchmodat,?fchmodat2",
    "listxattr": "listxattr,flistxattr,llistxattr",
    "getxattr": "getxattr,fgetxattr,lgetxattr",
    "setxattr": "setxattr,fsetxattr,lsetxattr",
}
METADATA_ERRORS = {
    "utime": ["EPERM", "EACCES", "EROFS", "EIO", "ENOSYS", "524"],
    "chmod": ["EPERM", "EACCES", "EOPNOTSUPP", "EIO", "ENOSYS", "524"],
    "listxattr": ["EOPNOTSUPP", "ENODATA", "EINVAL", "EPERM", "EACCES", "ENOSYS", "EIO", "524"],
    "getxattr": ["EOPNOTSUPP", "ENODATA", "EINVAL", "EPERM", "EACCES", "ENOSYS", "EIO", "524"],
    "setxattr": [
        *["EOPNOTSUPP", "ENODATA", "EINVAL", "EPERM", "EACCES", "ENOSYS", "EIO", "524"],
        *["ENOSPC", "E2BIG", "ERANGE", "EDQUOT"],
    ],
}


@pytest.fixture(scope="module", autouse=True)
def strace():
    try:
        check_available()
    except Unavailable as error:
        unavailable(error)


@pytest.fixture(scope="module")
def workers():
    """workers(method): the process in which `method` is the first choice."""
    made = {}

    def get(method):
        if method not in made:
            forbidden = METHODS[: METHODS.index(method)]
            switch = ",".join(f"-{name}" for name in forbidden)
            made[method] = Worker(SPEEDCOPY_METHODS=switch)
        return made[method]

    yield get
    for worker in made.values():
        worker.stop()


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    """A directory in memory where there is one: the matrix copies a lot."""
    shm = Path("/dev/shm")
    if os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 1 << 30:
        directory = shm / f"speedcopy-faults-{os.getpid()}"
        directory.mkdir()
        yield directory
        shutil.rmtree(directory)
    else:
        yield tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    places = Places(tmp_path_factory.mktemp("filesystems"))
    yield places
    places.close()


class Bench:
    """A source, a target, and copies with faults from one to the other."""

    def __init__(self, worker, directory, size, sparse=False):
        self.worker = worker
        self.source = directory / "source"
        self.target = directory / "target"
        with open(self.source, "wb") as file:
            if sparse:
                file.truncate(size)
                for offset in 0, size // 3, size - 9000:
                    file.seek(offset)
                    file.write(os.urandom(9000))
            else:
                file.write(os.urandom(size))
        self.content = self.source.read_bytes()
        os.utime(self.source, ns=(MTIME, MTIME))
        os.chmod(self.source, 0o754)

    def run(self, module, function, calls, what, old=None, **options):
        """(outcome, bytes of the target or None)."""
        self.target.unlink(missing_ok=True)
        if old is not None:
            self.target.write_bytes(old)
            os.chmod(self.target, 0o620)
        self.worker.start()
        before = self.worker.descriptors()
        with self.worker.fault(calls, what):
            source, target = os.fspath(self.source), os.fspath(self.target)
            result = self.worker.call(module, function, source, target, **options)
        if "close" not in calls:
            assert self.worker.descriptors() == before, "a descriptor leaked"
        assert self.source.stat().st_mtime_ns == MTIME, "the source was changed"
        data = self.target.read_bytes() if self.target.exists() else None
        return result, data

    def copy(self, function, calls, what, old=None, **options):
        """The outcome of ours, after what holds for every fault."""
        label = f"{function} with {calls}:{what} over {len(old) if old else old}"
        result, data = self.run("speedcopy_c", function, calls, what, old, **options)
        if result[0] == "returned":
            assert data == self.content, f"{label}: success with wrong content"
            if function == "copy2":
                self.check_metadata(label)
        else:
            assert result[2] is not None, f"{label}: {result} is no OSError"
            untouched = data == old
            prefix = data is not None and data == self.content[: len(data)]
            assert untouched or prefix, f"{label}: neither old nor a prefix of new"
        return label, result, data

    def check_metadata(self, label):
        source, target = os.stat(self.source), os.stat(self.target)
        assert stat.S_IMODE(target.st_mode) == stat.S_IMODE(source.st_mode), label
        assert target.st_mtime_ns == source.st_mtime_ns, label

    def must_succeed(self, function, calls, what, old=None):
        label, result, _ = self.copy(function, calls, what, old)
        assert result[0] == "returned", f"{label}: {result}"

    def must_match_shutil(self, function, calls, what, old=None):
        """The same exception, where shutil raises; the same data either way.
        What shutil raises may be a success here, if the bytes are right: we
        go on where shutil gives up."""
        expected, _ = self.run("shutil", function, calls, what, old)
        label, result, data = self.copy(function, calls, what, old)
        if result[0] == "raised":
            assert result == expected, label
        return expected, result, data


def old_contents(size):
    return [None, b"old" * 1000, b"old" * (size // 3 + 1000)]


def fault(error, when):
    return f"error={error}:when={when}"


@pytest.fixture
def bench(request, workers, memory):
    """bench(method, size): in memory, removed afterwards."""
    made = []

    def get(method, size, sparse=False, directory=memory):
        made.append(Bench(workers(method), directory, size, sparse))
        return made[-1]

    yield get
    for each in made:
        each.source.unlink(missing_ok=True)
        each.target.unlink(missing_ok=True)


@pytest.mark.parametrize("method", ["copy_file_range", "sendfile"])
@pytest.mark.parametrize("when", WHEN)
def test_offload_that_is_not_possible_gives_way(bench, method, when):
    """Before the first chunk; and in a file of three chunks, of 32 MiB each
    at most, between them and after them."""
    size = (1 if when.startswith("1") else 70) * MIB + 12_345
    made = bench(method, size)
    for number, error in enumerate(NOT_HERE[method]):
        old = old_contents(size)[number % 3] if size < 2 * MIB else None
        made.must_succeed("copyfile", SYSTEM_CALL[method], fault(error, when), old)


@pytest.mark.parametrize("method", ["copy_file_range", "sendfile"])
def test_offload_with_all_kinds_of_targets(bench, method):
    size = 300 * KIB + 1
    made = bench(method, size)
    for error in NOT_HERE[method]:
        for old in old_contents(size):
            made.must_succeed("copy2", SYSTEM_CALL[method], fault(error, "1+"), old)


@pytest.mark.parametrize("method", ["copy_file_range", "sendfile"])
@pytest.mark.parametrize("when", ["1", "1+", "2", "2+", "3"])
def test_offload_that_returns_nothing(bench, method, when):
    """0 is what old kernels, /proc and some FUSE servers say: no end of file,
    and no reason to ask again for ever."""
    made = bench(method, 70 * MIB + 1)
    made.must_succeed("copyfile", SYSTEM_CALL[method], f"retval=0:when={when}")
    every = "copy_file_range,sendfile"
    made.must_succeed("copyfile", every, f"retval=0:when={when}", b"old")


@pytest.mark.parametrize("method", ["copy_file_range", "sendfile"])
@pytest.mark.parametrize("when", ["1", "2", "3"])
def test_offload_that_is_interrupted(bench, method, when):
    made = bench(method, 70 * MIB + 1)
    made.must_succeed("copyfile", SYSTEM_CALL[method], fault("EINTR", when))


@pytest.mark.parametrize("error", ["EXDEV", "EPERM", "ENOSYS", "EIO"])
def test_no_offload_at_all(bench, error):
    size = 3 * MIB + 17
    made = bench("copy_file_range", size)
    for when in "1+", "2+":
        for old in old_contents(size):
            made.must_succeed("copy2", "copy_file_range,sendfile", fault(error, when), old)


@pytest.mark.parametrize("method", ["copy_file_range", "sendfile", "read_write"])
@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT", "EIO", "EFBIG", "ENOMEM"])
def test_data_that_cannot_be_written(bench, method, error):
    """Every way fails: the error, and which file names it carries, are those
    of shutil, whose way may be another one."""
    size = 3 * MIB + 17
    made = bench(method, size)
    for when in "1+", "2+":
        for old in old_contents(size):
            for function in "copyfile", "copy2":
                expected, result, _ = made.must_match_shutil(
                    function, DATA_CALLS, fault(error, when), old
                )
                if when == "1+":
                    assert result == expected
                    assert result[0] == "raised"


@pytest.mark.parametrize("method", ["copy_file_range", "sendfile"])
@pytest.mark.parametrize("error", FINAL["sendfile"])
@pytest.mark.parametrize("when", ["1", "2", "2+"])
def test_final_errors_of_offload(bench, method, error, when):
    made = bench(method, 70 * MIB + 1)
    made.must_match_shutil("copyfile", "copy_file_range,sendfile", fault(error, when))


@pytest.mark.parametrize("name", ["xfs", "btrfs"])
@pytest.mark.parametrize("size", [20 * KIB, 300 * KIB, 5 * MIB + 3])
def test_clone_that_is_not_possible_gives_way(places, bench, name, size):
    made = bench("clone", size, directory=places.fresh(name))
    for error in NOT_HERE["clone"]:
        for old in old_contents(size):
            made.must_succeed("copyfile", "ioctl", fault(error, "1+"), old)
    made.must_succeed("copy2", "ioctl", fault("EINTR", "1"))


@pytest.mark.parametrize("name", ["xfs", "btrfs"])
@pytest.mark.parametrize("error", FINAL["clone"])
def test_final_errors_of_clone(places, bench, name, error):
    size = 5 * MIB
    made = bench("clone", size, directory=places.fresh(name))
    for old in old_contents(size):
        made.copy("copyfile", "ioctl", fault(error, "1+"), old)


@pytest.mark.parametrize("when", WHEN)
def test_holes_that_cannot_be_found(bench, when):
    size = 9 * MIB + 100
    made = bench("holes", size, sparse=True)
    for error in NOT_HERE["holes"]:
        for old in old_contents(size):
            made.copy("copyfile", "lseek", fault(error, when), old)
            if when == "1":
                made.must_succeed("copyfile", "lseek", fault(error, when), old)


@pytest.mark.parametrize("method", ["copy_file_range", "sendfile", "read_write"])
@pytest.mark.parametrize("when", ["1+", "2+", "3+"])
def test_faults_between_holes(bench, method, when):
    size = 9 * MIB + 100
    made = bench("holes", size, sparse=True)
    calls = {"read_write": "copy_file_range,sendfile"}.get(method, method)
    for error in NOT_HERE["copy_file_range"]:
        made.must_succeed("copyfile", calls, fault(error, when))
    made.must_succeed("copyfile", calls, f"retval=0:when={when}")
    for error in FINAL["sendfile"]:
        made.copy("copyfile", DATA_CALLS, fault(error, when))


SMALL = [1, 4096, 20 * KIB, 64 * KIB]


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize("when", ["1", "1+", "2", "2+"])
def test_small_files_and_reads_that_fail(bench, size, when):
    made = bench("read_write", size)
    for error in "EIO", "EAGAIN", "EISDIR", "ENODATA":
        for old in old_contents(size):
            label, result, data = made.copy("copyfile", "read,pread64", fault(error, when), old)
            if result[0] == "raised" and old is not None:
                assert data == old, f"{label}: the old content is lost"
            # Nothing to read yet is waited for, once.
            if when.startswith("1") and (error, when) != ("EAGAIN", "1"):
                assert result[0] == "raised", label
    if when == "1":
        for old in old_contents(size):
            for error in "EINTR", "EAGAIN":
                made.must_succeed("copyfile", "read,pread64", fault(error, when), old)


@pytest.mark.parametrize("size", [*SMALL, 3 * MIB])
@pytest.mark.parametrize("when", ["1", "1+", "2", "2+"])
def test_writes_that_fail(bench, size, when):
    made = bench("read_write", size)
    for error in "EIO", "ENOSPC", "EDQUOT", "EFBIG", "EPERM", "ETXTBSY":
        for old in old_contents(size):
            label, result, _ = made.copy("copy2", "write,pwrite64", fault(error, when), old)
            if when == "1+":
                assert result[0] == "raised", label
    for old in old_contents(size):
        if "+" not in when:
            made.must_succeed("copyfile", "write,pwrite64", fault("EINTR", when), old)
        made.copy("copyfile", "write,pwrite64", f"retval=0:when={when}", old)


@pytest.mark.parametrize("size", [0, *SMALL, 3 * MIB])
@pytest.mark.parametrize("when", ["1", "1+", "2"])
def test_truncation_that_fails(bench, size, when):
    made = bench("copy_file_range", size)
    for error in "EIO", "EPERM", "EINVAL", "ENOSPC", "ETXTBSY":
        for old in old_contents(size):
            made.copy("copyfile", "?truncate,ftruncate", fault(error, when), old)
    made.must_succeed("copyfile", "?truncate,ftruncate", fault("EINTR", "1"), b"old" * 50_000)


@pytest.mark.parametrize("size", [0, 5000, 3 * MIB])
@pytest.mark.parametrize("when", ["1", "2", "3", "4", "5", "6", "1+", "2+", "3+", "4+"])
def test_stat_that_fails(bench, size, when):
    made = bench("clone", size)
    for error in "EIO", "ENOMEM", "EACCES", "EOVERFLOW":
        for old in old_contents(size):
            made.copy("copy2", "fstat,newfstatat,statx", fault(error, when), old)


@pytest.mark.parametrize("size", [0, 5000, 3 * MIB])
@pytest.mark.parametrize("when", ["1", "2", "1+"])
def test_close_that_fails(bench, size, when):
    """The last chance of NFS and quota to say that the data is not there."""
    made = bench("read_write", size)
    for error in "EIO", "ENOSPC", "EDQUOT":
        for function in "copyfile", "copy2":
            for old in old_contents(size):
                expected, result, _ = made.must_match_shutil(
                    function, "close", fault(error, when), old
                )
                if when == "1+":
                    assert result == expected
                    assert result[0] == "raised"
        made.worker.stop()  # the injected close left its descriptors open


@pytest.mark.parametrize("size", [0, 5000, 3 * MIB])
@pytest.mark.parametrize("when", ["1", "2", "1+"])
def test_open_that_fails(bench, size, when):
    made = bench("clone", size)
    for error in "EACCES", "EMFILE", "ENFILE", "ENOSPC", "EROFS", "ENXIO", "EIO":
        for old in old_contents(size):
            expected, result, data = made.must_match_shutil(
                "copyfile", "openat,?open,?creat", fault(error, when), old
            )
            # A single fault may be met by trying again.
            if when == "1+" or result[0] == "raised":
                assert result == expected
                assert data == old


@pytest.mark.parametrize("group", sorted(METADATA_CALLS))
@pytest.mark.parametrize("size", [0, 5000, 300 * KIB])
def test_metadata_that_cannot_be_set(bench, tmp_path, group, size):
    """shutil's tolerance and shutil's exceptions, to the file name; and the
    data stays."""
    made = bench("clone", size, directory=tmp_path)
    try:
        os.setxattr(made.source, "user.first", b"1" * 300)
        os.setxattr(made.source, "user.second", b"2")
    except OSError as error:
        if group.endswith("xattr"):
            unavailable(f"no extended attributes in {tmp_path}: {error}")
    for error in METADATA_ERRORS[group]:
        for old in None, b"old" * 2000:
            what = fault(error, "1+")
            expected, _ = made.run("shutil", "copy2", METADATA_CALLS[group], what, old)
            result, data = made.run("speedcopy_c", "copy2", METADATA_CALLS[group], what, old)
            where = f"{group} {error} over {old and len(old)}"
            assert data == made.content, where
            if result != expected:
                # A mode that the new target has already is not set again.
                assert group == "chmod" and old is None and result[0] == "returned", where
                made.check_metadata(where)


@pytest.mark.parametrize("function", ["copymode", "copystat"])
@pytest.mark.parametrize("group", sorted(METADATA_CALLS))
def test_metadata_functions(bench, tmp_path, function, group):
    made = bench("clone", 100, directory=tmp_path)
    for error in METADATA_ERRORS[group]:
        what = fault(error, "1+")
        expected, _ = made.run("shutil", function, METADATA_CALLS[group], what, b"old")
        result, data = made.run("speedcopy_c", function, METADATA_CALLS[group], what, b"old")
        assert result == expected, f"{group} {error}"
        assert data == b"old"


@pytest.mark.parametrize("error", ["EREMOTEIO", "EIO", "ENOSYS", "EACCES"])
def test_file_system_that_does_not_say_what_it_is(bench, error):
    made = bench("clone", 3 * MIB)
    made.must_succeed("copyfile", "statfs,fstatfs", fault(error, "1+"))
