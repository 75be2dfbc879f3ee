"""The guard: whoever rebinds a name that shutil would have used is obeyed."""

import builtins
import dis
import os
import shutil
import stat
import sys
import types
from unittest import mock

import pytest

import speedcopy_c
from speedcopy_c import _core, _patch

#: What each function may also call; everything else is found in the code.
FUNCTIONS = ("copyfile", "copymode", "copystat", "copy", "copy2")
SPACES = {
    "shutil": shutil,
    "os": os,
    "os.path": os.path,
    "builtins": builtins,
    "stat": stat,
    "sys": sys,
}


@pytest.fixture
def files(tmp_path):
    """A source and a target that is there."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"new content")
    target.write_bytes(b"old")
    return str(source), str(target)


@pytest.fixture(autouse=True)
def patched():
    """Everything here is about the patched functions."""
    with speedcopy_c.patched():
        yield


def rebound_by(name):
    """The modules' dictionary and the attribute for a name of the guard."""
    module, _, attribute = name.rpartition(".")
    return SPACES[module], attribute


class _Transparent:
    """Stands for a value that is not the genuine one."""

    def __init__(self, old):
        self.old = old


def _names_in(code):
    """Globals and dotted attributes that a code object loads."""
    loads = []
    previous = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loads.append((instruction.argval,))
            previous = (instruction.argval,)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and previous:
            previous = (*previous, instruction.argval)
            loads.append(previous)
        else:
            previous = None
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            loads.extend(_names_in(constant))
    return loads


def used_names(name, seen=None):
    """What a function of shutil uses: {"shutil.x", "os.y", "os.path.z"}."""
    seen = set() if seen is None else seen
    function = getattr(shutil, f"_orig_{name}", None) or getattr(shutil, name, None)
    if name in seen or not isinstance(function, types.FunctionType):
        return set()
    seen.add(name)
    used = set()
    for load in _names_in(function.__code__):
        first = load[0]
        if first in vars(shutil):
            used.add(f"shutil.{first}")
            used |= used_names(first, seen)
        if first == "open":
            used |= {"builtins.open", "shutil.open"}
        if first in ("os", "stat", "sys") and len(load) == 2:
            used.add(f"{first}.{load[1]}")
        if load[:2] == ("os", "path") and len(load) == 3:
            used.add(f"os.path.{load[2]}")
    return used


#: Constants and types that nobody rebinds to change how files are copied.
NOT_WATCHED = {
    "os.SEEK_CUR",
    "os.path.abspath",  # only where there is no os.path.samefile
    "os.path.normcase",
    "os.posix_spawn",
    "stat.S_ISREG",
    "sys.maxsize",
    "sys.platform",
    "shutil.posix",
    "shutil.nt",
    "shutil._winapi",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_name_that_this_python_uses_is_watched(name, monkeypatch):
    used = {n for n in used_names(name) if n not in NOT_WATCHED}
    assert len(used) > 5
    for full in sorted(used):
        space, attribute = rebound_by(full)
        with monkeypatch.context() as patch:
            if full == "shutil.os":
                continue  # test_module_os_of_shutil
            patch.setitem(vars(space), attribute, _Transparent(None))
            rebound = _core._rebound()
        assert full in rebound, f"shutil.{name} uses {full}, which is not watched"


def copied_by(function, source, target):
    """The trace of one patched call: (method, fallbacks)."""
    with speedcopy_c.trace() as records:
        getattr(shutil, function)(source, target)
    return records[-1].method, records[-1].fallbacks


@pytest.mark.parametrize(
    "function, name",
    [
        ("copyfile", "os.stat"),
        ("copyfile", "os.sendfile"),
        ("copyfile", "builtins.open"),
        ("copyfile", "os.path.samefile"),
        ("copyfile", "shutil.copyfileobj"),
        ("copyfile", "shutil._samefile"),
        ("copy", "shutil.copymode"),
        ("copy", "shutil.copyfile"),
        ("copy", "os.chmod"),
        ("copy", "os.path.isdir"),
        ("copy2", "shutil.copystat"),
        ("copy2", "os.utime"),
        ("copy2", "os.listxattr"),
        ("copy2", "shutil.copyfile"),
    ],
)
def test_wrapped_name_is_called_and_told(files, monkeypatch, function, name):
    source, target = files
    space, attribute = rebound_by(name)
    if not hasattr(space, attribute):
        pytest.skip(f"this Python has no {name}")
    calls = []
    own = getattr(space, attribute)

    def wrapper(*args, **kwargs):
        calls.append(args)
        return own(*args, **kwargs)

    reads_only_by_copyfileobj = name == "shutil.copyfileobj"
    if reads_only_by_copyfileobj:
        monkeypatch.setattr(shutil, "_USE_CP_SENDFILE", False)
        if hasattr(shutil, "_USE_CP_COPY_FILE_RANGE"):
            monkeypatch.setattr(shutil, "_USE_CP_COPY_FILE_RANGE", False)
    if name == "os.sendfile" and hasattr(shutil, "_USE_CP_COPY_FILE_RANGE"):
        monkeypatch.setattr(shutil, "_USE_CP_COPY_FILE_RANGE", False)
    monkeypatch.setattr(space, attribute, wrapper)
    with speedcopy_c.trace() as records:
        getattr(shutil, function)(source, target)
    monkeypatch.undo()
    assert calls, f"{name} was not called"
    told = [record for record in records if record.method == "shutil"]
    assert told
    assert told[-1].fallbacks[0][0] == "rebound"
    if not (reads_only_by_copyfileobj or name == "os.sendfile"):
        assert told[-1].fallbacks == (("rebound", name),)
    with open(target, "rb") as file:
        assert file.read() == b"new content"


def test_ours_again_when_it_is_undone(files):
    source, target = files
    with mock.patch("os.stat", wraps=os.stat):
        assert copied_by("copy2", source, target)[0] == "shutil"
    assert copied_by("copy2", source, target)[0] == "read_write"


def test_names_of_other_functions_do_not_matter(files, monkeypatch):
    source, target = files
    monkeypatch.setattr(os, "chmod", lambda *args, **kwargs: None)
    monkeypatch.setattr(shutil, "copystat", lambda *args, **kwargs: None)
    assert copied_by("copyfile", source, target)[0] == "read_write"


def test_open_that_appears_in_shutil_is_obeyed(files):
    source, target = files
    calls = []

    def own_open(path, mode):
        calls.append(path)
        return open(path, mode)

    with mock.patch.object(shutil, "open", own_open, create=True):
        shutil.copyfile(source, target)
    assert calls == [source, target]


def test_module_os_of_shutil(files):
    source, target = files
    clone = types.ModuleType("os")
    vars(clone).update(vars(os))
    with mock.patch.object(shutil, "os", clone):
        assert copied_by("copyfile", source, target) == ("shutil", (("rebound", "shutil.os"),))


@pytest.mark.parametrize("flag", ["_USE_CP_SENDFILE", "_USE_CP_COPY_FILE_RANGE", "COPY_BUFSIZE"])
def test_flags_are_honoured(files, monkeypatch, flag):
    source, target = files
    if not hasattr(shutil, flag):
        pytest.skip(f"this Python's shutil has no {flag}")
    monkeypatch.setattr(shutil, flag, 12345 if flag == "COPY_BUFSIZE" else False)
    assert copied_by("copyfile", source, target) == ("shutil", (("rebound", f"shutil.{flag}"),))


def test_replaced_copystat_changes_copytree(tmp_path, monkeypatch):
    """The documented way of many programs to not keep times."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a").write_bytes(b"a")
    calls = []
    monkeypatch.setattr(shutil, "copystat", lambda *args, **kwargs: calls.append(args))
    shutil.copytree(tmp_path / "tree", tmp_path / "copy")
    assert len(calls) == 2


def test_replaced_copyfile_serves_copy_and_move(tmp_path, monkeypatch):
    source = tmp_path / "a"
    source.write_bytes(b"a")
    calls = []

    def own(src, dst, *, follow_symlinks=True):
        calls.append(src)
        return shutil._orig_copyfile(src, dst, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(shutil, "copyfile", own)
    shutil.copy(source, tmp_path / "b")
    monkeypatch.setattr(os, "rename", mock.Mock(side_effect=OSError))
    shutil.move(str(source), str(tmp_path / "c"))
    assert len(calls) == 2


def test_sibling_that_is_ours_is_no_rebinding(files):
    assert _core._rebound() == []
    speedcopy_c.unpatch_copyfile("copyfile", "copystat")
    assert _core._rebound() == []
    assert copied_by("copy2", *files)[0] == "read_write"


def test_rebound_names_are_in_capabilities_and_debug(files, monkeypatch, caplog):
    source, target = files
    monkeypatch.setattr(os, "utime", lambda *args, **kwargs: None)
    assert speedcopy_c.capabilities()["rebound"] == ["os.utime"]
    monkeypatch.setattr(speedcopy_c, "SPEEDCOPY_DEBUG", True)
    with caplog.at_level("DEBUG", logger="speedcopy"):
        shutil.copy2(source, target)
    assert "os.utime" in caplog.text


def test_direct_calls_know_no_guard(files, monkeypatch):
    source, target = files
    monkeypatch.setattr(os, "stat", lambda *args, **kwargs: 1 / 0)
    with speedcopy_c.trace() as records:
        speedcopy_c.copyfile(source, target)
    assert records[0].method == "read_write"


def test_monkeypatch_and_mock_of_the_function_itself(files, monkeypatch):
    source, target = files
    with mock.patch("shutil.copy2") as fake:
        shutil.copy2(source, target)
    fake.assert_called_once_with(source, target)
    with mock.patch("shutil.copyfile", autospec=True) as fake:
        shutil.copyfile(source, target, follow_symlinks=False)
        with pytest.raises(TypeError):
            shutil.copyfile(source)
    monkeypatch.setattr(shutil, "copyfile", lambda *args: "mine")
    assert shutil.copyfile(source, target) == "mine"
    monkeypatch.undo()
    assert "copyfile" in _patch.patched_names()
