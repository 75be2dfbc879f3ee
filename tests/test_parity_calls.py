"""How the functions may be called, and what they hand back."""

import functools
import os
import pathlib
import shutil

import pytest
from support.cases import FUNCTIONS
from support.outcome import Arguments, Case, attempt, differences
from support.parity import assert_parity, calls_of
from support.sources import DATA

import speedcopy_c

FOLLOW_VALUES = [True, False, 0, 1, 2.5, None, "", "no", [], [0]]


def both(name):
    """shutil's function and ours."""
    return getattr(shutil, name), getattr(speedcopy_c, name)


def plain_case(box):
    box.file("src", DATA, 0o640)
    box.link("src", "way")
    return "way", "dst"


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("value", FOLLOW_VALUES, ids=repr)
@pytest.mark.parametrize("existing", [False, True])
def test_any_truth_value_for_follow_symlinks(arena, name, value, existing):
    def prepare(box):
        arguments = plain_case(box)
        if existing:
            box.link("src", "dst")
        return arguments

    assert_parity(arena, Case("truth", prepare), [(name, name, {"follow_symlinks": value})])


class Undecided:
    """Has no truth value."""

    def __bool__(self):
        raise ZeroDivisionError("no truth in it")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_follow_symlinks_without_truth_value(arena, name):
    """The exception comes out, and the tree is left as shutil leaves it."""
    case = Case("undecided", plain_case)
    assert_parity(arena, case, [(name, name, {"follow_symlinks": Undecided()})])


SHAPES = {
    "src, dst": lambda function, src, dst: function(src=src, dst=dst),
    "dst, src": lambda function, src, dst: function(dst=dst, src=src),
    "mixed": lambda function, src, dst: function(src, dst=dst),
    "follow between": lambda function, src, dst: function(src, follow_symlinks=True, dst=dst),
    "follow first": lambda function, src, dst: function(follow_symlinks=False, dst=dst, src=src),
    "unpacked": lambda function, src, dst: function(*[src], **{"dst": dst}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_keywords(arena, name, shape):
    """src= and dst= work in any order, mixed with positions."""

    def prepare(box):
        box.file("src", DATA, 0o640)
        box.file("dst", b"old")
        return "src", "dst"

    def report(function):
        case = Case("keywords", prepare)
        call = functools.partial(SHAPES[shape], function)
        return attempt(os.path.join(arena, "box"), call, case, {})

    assert differences(*map(report, both(name)), ignore={"atime"}) == []


BAD_CALLS = {
    "nothing": ((), {}),
    "source only": (("src",), {}),
    "target only": ((), {"dst": "dst"}),
    "source twice": (("src", "dst"), {"src": "src"}),
    "target twice": (("src", "dst"), {"dst": "dst"}),
    "four": (("src", "dst", True, True), {}),
    "many": (("src", "dst") + (None,) * 30, {}),
    "unknown": (("src", "dst"), {"colour": "green"}),
    "unknown with the rest missing": ((), {"colour": "green"}),
    "misspelt": (("src", "dst"), {"follow_symlink": True}),
    "other function's": (("src", "dst"), {"dirs_exist_ok": True}),
    "not text": (("src", "dst"), {1: 2}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("bad", BAD_CALLS)
def test_bad_call(box, name, bad):
    """TypeError that names the function, before anything is touched, in both."""
    box.file("src", DATA)
    box.settle()
    before = box.snapshot()
    args, kwargs = BAD_CALLS[bad]
    for function in both(name):
        with pytest.raises(TypeError) as caught:
            function(*args, **kwargs)
        if bad != "not text":
            assert f"{name}()" in str(caught.value)
        if "unknown" in bad and args:
            assert "colour" in str(caught.value)
    assert differences(before, box.snapshot(), ignore={"atime"}) == []


@pytest.mark.parametrize("name", ["copyfile", "copy", "copy2"])
@pytest.mark.parametrize("make", [str, pathlib.Path, os.fsencode])
def test_returns_the_target_object(box, name, make):
    """The very object that was passed, of any type."""
    box.file("src", DATA)
    dst = make("dst")
    assert getattr(speedcopy_c, name)("src", dst) is dst
    assert getattr(speedcopy_c, name)("src", dst=dst) is dst


@pytest.mark.parametrize("name", ["copymode", "copystat"])
def test_returns_none(box, name):
    box.file("src", DATA)
    box.file("dst", DATA)
    assert getattr(speedcopy_c, name)("src", "dst") is None


@pytest.mark.parametrize("name", ["copy", "copy2"])
@pytest.mark.parametrize("make", [str, pathlib.Path, os.fsencode])
def test_returns_the_path_in_a_directory(box, name, make):
    """str or bytes as os.path.join gives, never a Path."""
    box.file("src", DATA)
    box.directory("dst")
    assert getattr(speedcopy_c, name)(make("src"), make("dst")) == os.path.join(
        make("dst"), make("src")
    )
    assert os.path.getsize("dst/src") == len(DATA)


def test_metadata_functions_do_not_enter_directories(arena):
    """copymode and copystat take a directory itself, copyfile refuses it."""

    def prepare(box):
        box.file("src", DATA, 0o755)
        box.directory("dst", 0o711)
        box.file("dst/src", b"old", 0o600)
        return "src", "dst"

    assert_parity(arena, Case("directory", prepare))


@pytest.mark.parametrize("src", ["src", "folder/src", "folder//src", "folder/../folder/src"])
@pytest.mark.parametrize("dst", ["dst", "dst/", "dst//", "./dst", "dst/inner", "dst/inner/.."])
def test_name_in_a_directory(arena, src, dst):
    """The new name is the source's last component, joined as os.path joins."""

    def prepare(box):
        box.directory("folder")
        box.directory("dst")
        box.directory("dst/inner")
        box.file("src", DATA)
        box.file("folder/src", DATA)
        return src, dst

    assert_parity(arena, Case("name", prepare), calls_of("copy", "copy2"))


def test_working_directory_removed(arena):
    """Relative names in a directory that is gone: both sides fail alike."""

    def prepare(box):
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir("../gone")
        box.at_end(lambda: os.chdir(arena))
        return Arguments("src", "dst")

    assert_parity(arena, Case("gone", prepare))


def test_absolute_paths_without_working_directory(arena):
    def prepare(box):
        box.file("src", DATA)
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir("../gone")
        return os.path.join(box.path, "src"), os.path.join(box.path, "dst")

    assert_parity(arena, Case("gone", prepare))
