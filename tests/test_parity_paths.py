"""Every type of argument on either side: paths, near-paths, descriptors, nonsense."""

import os

import pytest
from support.outcome import Arguments, Case
from support.parity import assert_parity, calls_of
from support.paths import DESCRIPTORS, INVALID, VALID, Like
from support.sources import DATA, pattern

FORMS = ("new", "existing", "directory")


def stage(box, form):
    """A source, and a target of that form."""
    box.file("src", DATA, 0o640)
    if form == "existing":
        box.file("dst", b"old")
    elif form == "directory":
        box.directory("dst")


def case_of(form, make_src, make_dst):
    def prepare(box):
        stage(box, form)
        return make_src("src"), make_dst("dst")

    return Case("paths", prepare)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("src", VALID)
@pytest.mark.parametrize("dst", VALID)
def test_valid_types(arena, src, dst, form):
    """Any type of path may meet any other."""
    assert_parity(arena, case_of(form, VALID[src], VALID[dst]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dst", ["str", "bytes", "Path", "DirEntry", "Like-str"])
@pytest.mark.parametrize("src", INVALID)
def test_wrong_source(arena, src, dst, form):
    """What is no path fails as it does in shutil, and as late."""
    assert_parity(arena, case_of(form, INVALID[src], VALID[dst]))


@pytest.mark.parametrize("src", ["str", "bytes", "Path", "DirEntry", "Like-str"])
@pytest.mark.parametrize("dst", INVALID)
def test_wrong_target(arena, src, dst):
    assert_parity(arena, case_of("new", VALID[src], INVALID[dst]))


# Each is asked for its path once, at the start (docs/differences.rst), so one that
# answers by raising may raise before another argument is looked at.
ORDERED = [name for name in INVALID if not name.startswith("Like-raises")]


@pytest.mark.parametrize("dst", ORDERED)
@pytest.mark.parametrize("src", ORDERED)
def test_both_wrong(arena, src, dst):
    """Of two wrong arguments the same one is complained of."""
    assert_parity(arena, case_of("new", INVALID[src], INVALID[dst]))


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("dst", ORDERED)
def test_wrong_target_and_bad_source(arena, dst, missing):
    """A source that is missing or a directory does not hide a wrong target, or does."""

    def prepare(box):
        if not missing:
            box.directory("src")
        return "src", INVALID[dst]("dst")

    assert_parity(arena, Case("wrong", prepare))


@pytest.mark.parametrize("dst", ["str", "bytes", "Path"])
@pytest.mark.parametrize("src", VALID)
def test_missing_source(arena, src, dst):
    """The filename in the error has the type that shutil gives it."""

    def prepare(box):
        return VALID[src]("src"), VALID[dst]("dst")

    assert_parity(arena, Case("missing", prepare))


@pytest.mark.parametrize("dst", VALID)
@pytest.mark.parametrize("src", ["str", "bytes", "Path", "DirEntry"])
def test_missing_folder_of_target(arena, src, dst):
    def prepare(box):
        box.file("src", DATA)
        return VALID[src]("src"), VALID[dst]("nowhere/dst")

    assert_parity(arena, Case("missing folder", prepare))


@pytest.mark.parametrize("dst", ["str", "bytes", "Text", "Octets", "Like-str", "Like-bytes"])
def test_missing_folder_with_slash(arena, dst):
    """FileNotFoundError without errno, caused by IsADirectoryError."""

    def prepare(box):
        box.file("src", DATA)
        return "src", VALID[dst]("dst/")

    assert_parity(arena, Case("slash", prepare))


@pytest.mark.parametrize("src", VALID)
@pytest.mark.parametrize("kind", ["fifo", "same", "socket", "directory"])
def test_refusal_names_the_argument(arena, src, kind):
    """Messages show the argument as it was passed (repr, or path of a DirEntry)."""

    def prepare(box):
        if kind == "same":
            box.file("src", DATA)
            argument = VALID[src]("src")
            return argument, argument
        getattr(box, kind)("src")
        return VALID[src]("src"), "dst"

    assert_parity(arena, Case(kind, prepare))


@pytest.mark.parametrize("dst", VALID)
@pytest.mark.parametrize("kind", ["fifo", "socket", "directory"])
def test_refused_target_names_the_argument(arena, dst, kind):
    def prepare(box):
        box.file("src", DATA)
        getattr(box, kind)("dst")
        return "src", VALID[dst]("dst")

    assert_parity(arena, Case(kind, prepare))


@pytest.mark.parametrize("dst", VALID)
@pytest.mark.parametrize("src", VALID)
@pytest.mark.parametrize("existing", [False, True])
def test_links_not_followed(arena, src, dst, existing):
    """A link is made again, or the error of os.symlink has its two names."""

    def prepare(box):
        box.file("target", DATA)
        box.link("target", "src")
        if existing:
            box.file("dst", b"old")
        return VALID[src]("src"), VALID[dst]("dst")

    assert_parity(arena, Case("links", prepare))


def descriptor_case(kind, side, other, size, old):
    def prepare(box):
        box.file("src", pattern(size))
        if old is not None:
            box.file("dst", pattern(old)[::-1])
        name = "src" if side == "src" else "dst"
        fd = DESCRIPTORS[kind](name)
        if side == "src":
            return Arguments(fd, VALID[other]("dst"), descriptors=[fd])
        return Arguments(VALID[other]("src"), fd, descriptors=[fd])

    return Case(kind, prepare)


@pytest.mark.parametrize("size", [0, 1000, 100_000])
@pytest.mark.parametrize("old", [None, 50, 300_000])
@pytest.mark.parametrize("other", ["str", "bytes", "DirEntry"])
@pytest.mark.parametrize("side", ["src", "dst"])
@pytest.mark.parametrize("kind", DESCRIPTORS)
def test_descriptor(arena, kind, side, other, old, size):  # noqa: PLR0913, PLR0917
    """shutil takes descriptors by accident, closes them, and never truncates them."""
    assert_parity(arena, descriptor_case(kind, side, other, size, old))


@pytest.mark.parametrize("old", [None, 50, 300_000])
@pytest.mark.parametrize("dst", DESCRIPTORS)
@pytest.mark.parametrize("src", DESCRIPTORS)
def test_two_descriptors(arena, src, dst, old):
    def prepare(box):
        box.file("src", pattern(1000))
        if old is not None:
            box.file("dst", pattern(old)[::-1])
        fds = DESCRIPTORS[src]("src"), DESCRIPTORS[dst]("dst")
        return Arguments(*fds, descriptors=fds)

    assert_parity(arena, Case("two descriptors", prepare))


@pytest.mark.parametrize("side", ["src", "dst"])
@pytest.mark.parametrize("kind", ["directory", "pipe", "same file", "missing other"])
def test_odd_descriptor(arena, kind, side):
    """Descriptors of what cannot be copied, or of the very same file."""

    def prepare(box):
        box.file("src", DATA)
        other = "dst" if side == "src" else "src"
        if kind == "directory":
            box.directory("folder")
            fds = [os.open("folder", os.O_RDONLY)]
        elif kind == "pipe":
            fds = list(os.pipe())
        elif kind == "same file":
            fds = [os.open("src", os.O_RDWR)]
            other = "src"
        else:
            fds = [os.open("src", os.O_RDWR)]
            other = "nowhere/file"
        pair = (fds[0], other) if side == "src" else (other, fds[-1])
        return Arguments(*pair, descriptors=fds)

    assert_parity(arena, Case(kind, prepare))


@pytest.mark.parametrize("position", [0, 7])
@pytest.mark.parametrize("dst", ["new", "longer"])
def test_descriptor_of_proc_file(arena, dst, position):
    """st_size lies, and the position of the descriptor counts for some methods only."""

    def prepare(box):
        if dst == "longer":
            box.file("dst", pattern(5000))
        fd = os.open("/proc/version", os.O_RDONLY)
        os.lseek(fd, position, os.SEEK_SET)
        return Arguments(fd, "dst", descriptors=[fd])

    assert_parity(arena, Case("proc", prepare, ignore={"mtime"}), calls_of("copyfile", "copy"))


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o027, 0o077, 0o777])
def test_umask(arena, umask):
    def prepare(box):
        box.file("src", DATA, 0o4751)
        return "src", "dst"

    assert_parity(arena, Case("umask", prepare, umask=umask))


def test_path_like_answers_in_turn(arena):
    """An object that gives the same path each time may be asked any number of times."""

    def prepare(box):
        box.file("src", DATA)
        return Like("src"), Like(b"dst")

    assert_parity(arena, Case("like", prepare))
