"""Modes, times and attributes as copymode, copystat, copy and copy2 carry them over."""

import os
import time

import pytest
from support.box import APPEND, IMMUTABLE, SECOND, posix_acl
from support.outcome import Case, attempt
from support.parity import assert_parity, calls_of
from support.privilege import STRANGER, USER, acting_as, is_root
from support.sources import DATA
from support.targets import default_acl

import speedcopy_c

CARRIERS = ("copymode", "copystat", "copy", "copy2")
MODES = [0o000, 0o100, 0o200, 0o400, 0o444, 0o600, 0o644, 0o755, 0o777, 0o1755, 0o2755, 0o4755]
MODES += [0o6000, 0o7000, 0o7777]
USERS = [None, USER] if is_root() else [None]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("old", [None, 0o200, 0o644, 0o6777], ids="to {}".format)
@pytest.mark.parametrize("mode", MODES, ids=oct)
def test_mode(arena, mode, old, user):
    """All twelve bits, over any old mode."""

    def prepare(box):
        box.file("src", DATA)
        if old is not None:
            box.file("dst", b"old", old)
        os.chmod("src", mode | 0o400)
        box.later(os.chmod, "src", mode | 0o400)
        return "src", "dst"

    assert_parity(arena, Case("mode", prepare, user=user))


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o666, 0o755, 0o4755])
@pytest.mark.parametrize("umask", [0, 0o022, 0o077, 0o777])
@pytest.mark.parametrize("acl", [False, True])
def test_final_mode_despite_umask_and_default_acl(arena, mode, umask, acl):
    """Whatever mode the target is born with, it ends with the source's."""

    def prepare(box):
        box.file("src", DATA, mode)
        box.directory("parent")
        if acl:
            default_acl(box, "parent")
        return "src", "parent/dst"

    assert_parity(arena, Case("mode", prepare, umask=umask))


@pytest.mark.parametrize("user", USERS)
def test_group_of_a_setgid_directory(arena, user):
    """A target born with another group may lose its setgid bit, as with shutil."""

    def prepare(box):
        box.file("src", DATA, 0o2755)
        os.mkdir("parent")
        if is_root():
            box.own("parent", STRANGER)
            with_root_mode(box, "parent", 0o2777)
        return "src", "parent/dst"

    assert_parity(arena, Case("setgid", prepare, user=user))


def with_root_mode(box, name, mode):
    """Set the mode of an entry that is not the box owner's."""
    with acting_as(0):
        os.chmod(name, mode)


LINKS = ("neither", "source", "target", "both", "both dangling", "source dangling")
LINKS += ("to directories",)


@pytest.mark.parametrize("links", LINKS)
def test_links_on_either_side(arena, links):
    """Not followed only if both are links; a link's own mode is never changed on Linux."""

    def prepare(box):
        box.file("file", DATA, 0o751)
        box.file("other", b"old", 0o604)
        if links == "to directories":
            box.directory("a", 0o711)
            box.directory("b", 0o755)
            box.link("a", "src")
            box.link("b", "dst")
            return "src", "dst"
        if links in ("source", "both"):
            box.link("file", "src")
        elif "dangling" in links:
            box.link("nowhere", "src")
        else:
            os.rename("file", "src")
        if links in ("target", "both"):
            box.link("other", "dst")
        elif links == "both dangling":
            box.link("nowhere-else", "dst")
        else:
            os.rename("other", "dst")
        return "src", "dst"

    assert_parity(arena, Case(links, prepare))


TIMES = [0, 1, -1, 10**9 - 1, -(10**9) - 1, 1_700_000_000_123_456_789]
TIMES += [2**31 * SECOND, 2**33 * SECOND]


@pytest.mark.parametrize("mtime", TIMES)
@pytest.mark.parametrize("links", [False, True])
def test_times(arena, mtime, links):
    """To the nanosecond, before 1970 and after 2038, of links too."""

    def prepare(box):
        for name, moment in (("src", mtime), ("dst", 5)):
            if links:
                box.link("nowhere", name)
            else:
                box.file(name, DATA)
            box.times(name, moment + 3, moment, follow_symlinks=not links)
        return "src", "dst"

    assert_parity(arena, Case("times", prepare))


def test_access_time_that_reading_does_not_change(arena):
    """copy2 carries an atime that lies in the future, which relatime leaves alone."""
    ahead = (int(time.time()) + 10**6) * SECOND + 987654321

    def prepare(box):
        box.file("src", DATA)
        box.times("src", ahead, 10**18 + 1)
        return "src", "dst"

    case = Case("atime", prepare)
    calls = [("copy2()", "copy2", {})]
    assert_parity(arena, case, calls)

    report = attempt(os.path.join(arena, "box"), speedcopy_c.copy2, case, {})
    assert report["tree"][b"dst"]["atime"] == ahead
    assert report["tree"][b"dst"]["mtime"] == 10**18 + 1


@pytest.mark.parametrize("kind", ["directory", "fifo", "socket"])
def test_times_of_directories_and_special_files(arena, kind):
    """copystat is not for regular files only."""

    def prepare(box):
        getattr(box, kind)("src")
        os.chmod("src", 0o711)
        getattr(box, kind)("dst")
        return "src", "dst"

    assert_parity(arena, Case(kind, prepare), calls_of("copymode", "copystat"))


ATTRIBUTES = {
    "none": {},
    "one": {"user.a": b"1"},
    "empty": {"user.a": b""},
    "zeros": {"user.a": b"\0" * 100},
    "kilobytes": {"user.a": b"x" * 2000, "user.b": b"y" * 1000},
    "odd names": {"user.\udcff \xe9": b"1", "user.a=b": b"2", "user.." + "n" * 200: b"3"},
    "many": {f"user.{n}": b"%d" % n for n in range(60)},
    "trusted": {"trusted.a": b"1", "user.b": b"2"},
}


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("old", [None, {"user.a": b"old value", "user.kept": b"kept"}])
@pytest.mark.parametrize("new", ATTRIBUTES)
def test_attributes(arena, new, old, user):
    """Overwritten, added, never removed; those not permitted are passed over."""

    def prepare(box):
        box.file("src", DATA)
        for key, value in ATTRIBUTES[new].items():
            box.xattr("src", key, value)
        if old is not None:
            box.file("dst", b"old")
            for key, value in old.items():
                box.xattr("dst", key, value)
        return "src", "dst"

    assert_parity(arena, Case("xattrs", prepare, user=user), calls_of("copystat", "copy", "copy2"))


@pytest.mark.parametrize("kind", ["directory", "fifo", "socket", "link"])
def test_attributes_of_other_kinds(arena, kind):
    """user.* is not allowed on special files: passed over; trusted.* of links goes along."""

    def prepare(box):
        box.file("plain", DATA)
        box.xattr("plain", "user.a", b"1")
        box.xattr("plain", "trusted.b", b"2")
        if kind == "link":
            for name in ("src", "dst"):
                box.link("nowhere", name)
            box.xattr("src", "trusted.c", b"3", follow_symlinks=False)
            return "src", "dst"
        getattr(box, kind)("dst")
        return "plain", "dst"

    assert_parity(arena, Case(kind, prepare), calls_of("copystat"))


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("mode", [0o400, 0o444, 0o000, 0o4555])
def test_attributes_with_a_mode_that_forbids_them(arena, mode, user):
    """Attributes are set before the mode forbids it."""

    def prepare(box):
        box.file("src", DATA, 0o600)
        box.xattr("src", "user.a", b"1")
        box.later(os.chmod, "src", mode | 0o400)
        return "src", "dst"

    assert_parity(arena, Case("read-only", prepare, user=user))


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("old", [0o444, 0o000])
def test_attributes_to_a_read_only_target(arena, old, user):
    """copystat to a file that its owner may not write: EACCES, passed over from 3.12 on."""

    def prepare(box):
        box.file("src", DATA)
        box.xattr("src", "user.a", b"1")
        box.file("dst", b"old", old)
        return "src", "dst"

    assert_parity(arena, Case("read-only target", prepare, user=user))


MASKS = [0, 4, 7]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("old", [False, True])
def test_access_lists(arena, mask, old):
    """An ACL is an attribute to copystat; the mode that follows sets its mask."""

    def acl(permissions):
        named = (("U", 7, STRANGER), ("g", 5, None), ("m", permissions, None))
        return posix_acl(("u", 6, None), *named, ("o", 1, None))

    def prepare(box):
        box.file("src", DATA)
        box.xattr("src", "system.posix_acl_access", acl(mask))
        if old:
            box.file("dst", b"old")
            box.xattr("dst", "system.posix_acl_access", acl(7 - mask))
        return "src", "dst"

    assert_parity(arena, Case("acl", prepare))


@pytest.mark.parametrize("flag", [IMMUTABLE, APPEND], ids=["immutable", "append-only"])
@pytest.mark.parametrize("side", ["src", "dst"])
@pytest.mark.parametrize("attributes", [False, True])
def test_flags(arena, flag, side, attributes):
    """The flag of a source is not copied; that of a target forbids the change."""

    def prepare(box):
        box.file("src", DATA, 0o755)
        box.file("dst", b"old")
        if attributes:
            box.xattr("src", "user.a", b"1")
        box.flag(side, flag)
        return "src", "dst"

    assert_parity(arena, Case("flag", prepare))


@pytest.mark.parametrize("name", CARRIERS)
@pytest.mark.parametrize("attributes", [False, True])
@pytest.mark.parametrize("mode", [0o666, 0o646])
def test_target_of_another_owner(arena, name, attributes, mode):
    """Writable, but not ours: data first, then the error of the first step refused."""

    def prepare(box):
        box.file("src", DATA, 0o640)
        if attributes:
            box.xattr("src", "user.a", b"1")
        box.file("dst", b"old", mode)
        box.own("dst", STRANGER)
        return "src", "dst"

    assert_parity(arena, Case("foreign", prepare, user=USER), calls_of(name))
