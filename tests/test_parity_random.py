"""Random files copied over random targets by random functions: as shutil does it."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cases import FUNCTIONS
from support.outcome import Case, attempt
from support.parity import compare
from support.privilege import USER, is_root

import speedcopy_c

EDGES = [0, 1, 511, 512, 513, 4095, 4096, 4097, 8191, 8192, 8193, 16383, 16384, 16385]
EDGES += [32768, 65535, 65536, 65537, 131072, 262143, 262145]
EDGES += [2**20 - 1, 2**20, 2**20 + 1, 2**20 + 4097, 3 * 2**20]

sizes = st.one_of(st.sampled_from(EDGES), st.integers(0, 70_000))
targets = st.one_of(st.none(), st.integers(-2, 2), st.integers(-70_000, 70_000))
modes = st.integers(0, 0o7777)
moments = st.one_of(
    st.integers(0, 2**34 * 10**9),
    st.integers(-(2**30) * 10**9, 0),
    st.sampled_from([0, 1, 10**9 - 1, 10**9, 2**31 * 10**9 - 1]),
)
attribute_names = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1, max_size=40
)
attributes = st.dictionaries(attribute_names, st.binary(max_size=100), max_size=4)
users = st.sampled_from([None, USER]) if is_root() else st.none()


@st.composite
def contents(draw):
    """Bytes, or runs of zeros among them."""
    size = draw(sizes)
    seed = draw(st.binary(min_size=1, max_size=30))
    data = bytearray((seed * (size // len(seed) + 1))[:size])
    for start in draw(st.lists(st.integers(0, max(size - 1, 0)), max_size=3)):
        length = min(draw(st.sampled_from([1, 4096, 20_000, 70_000])), size - start)
        data[start : start + length] = b"\0" * length
    return bytes(data)


def make_case(data, holes, src, dst, owner, umask):  # noqa: PLR0913, PLR0917
    """A case from what was drawn; src and dst are (mode, attributes, times) each."""

    def prepare(box):
        write(box, "src", data, holes)
        dress(box, "src", *src)
        if dst is not None:
            old, how = dst
            write(box, "dst", old, False)
            dress(box, "dst", *how)
        return "src", "dst"

    return Case("random", prepare, user=owner, umask=umask)


def write(box, name, data, holes):
    """A file of that content; blocks of zeros are left out if *holes*."""
    box.file(name, b"", 0o600)
    with open(name, "r+b") as stream:
        for start in range(0, len(data), 4096):
            block = data[start : start + 4096]
            if not holes or block.strip(b"\0"):
                stream.seek(start)
                stream.write(block)
        stream.truncate(len(data))


def dress(box, name, mode, xattrs, times):
    """Attributes, mode and times of a file."""
    if hasattr(os, "setxattr"):
        for key, value in xattrs.items():
            box.xattr(name, "user." + key, value)
    box.later(os.chmod, name, mode)
    if times is not None:
        box.times(name, times, times + 1)


dressed = st.tuples(modes, attributes, st.one_of(st.none(), moments))
calls = st.tuples(st.sampled_from(FUNCTIONS), st.sampled_from([{}, {"follow_symlinks": False}]))


@settings(
    max_examples=int(os.environ.get("SPEEDCOPY_TEST_EXAMPLES", "300")),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    data=contents(),
    holes=st.booleans(),
    src=dressed,
    longer=targets,
    how=dressed,
    owner=users,
    umask=st.sampled_from([0o022, 0o002, 0o077, 0]),
    call=calls,
)
def test_same_as_shutil(arena, data, holes, src, longer, how, owner, umask, call):  # noqa: PLR0913, PLR0917
    """Any content, mode, times, attributes, old target, user and function."""
    dst = None
    if longer is not None:
        dst = b"\xee" * max(0, len(data) + longer), how
    case = make_case(data, holes, src, dst, owner, umask)
    assert compare(arena, case, *call) == []


@settings(max_examples=60, deadline=None, database=None)
@given(
    data=contents(), holes=st.booleans(), old=targets, name=st.sampled_from(["copyfile", "copy2"])
)
def test_content_with_any_options(arena, data, holes, old, name):
    """Whatever method and options, the content is the source's."""
    function = getattr(speedcopy_c, name)
    for options in OPTIONS:

        def prepare(box):
            write(box, "src", data, holes)
            if old is not None:
                write(box, "dst", b"\xee" * max(0, len(data) + old), False)
            return "src", "dst"

        report = attempt(os.path.join(arena, "box"), function, Case("options", prepare), options)
        tree = report["tree"]
        assert report["raised"] is None, (options, report["raised"])
        assert tree[b"dst"]["content"] == tree[b"src"]["content"], options


OPTIONS = [
    {"method": "read_write"},
    {"method": "sendfile"},
    {"method": "copy_file_range"},
    {"method": "holes"},
    {"sparse": "always"},
    {"sparse": "never"},
    {"reflink": "never"},
    {"atomic": True},
    {"verify": "bytes"},
    {"atomic": True, "sparse": "always", "verify": "bytes"},
]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("size", EDGES)
@pytest.mark.parametrize("old", [None, -1, 0, 1, 100_000])
def test_every_edge(arena, name, size, old):
    """The sizes at which something changes, each with shorter, equal and longer targets."""

    def prepare(box):
        write(box, "src", b"ab" * (size // 2) + b"c" * (size % 2), False)
        if old is not None:
            write(box, "dst", b"\xee" * max(0, size + old), False)
        return "src", "dst"

    assert compare(arena, Case("edge", prepare), name, {}) == []
