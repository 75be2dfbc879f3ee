"""Where it is copied to: every kind of target that the contract names.

Each maker is called after the source's, gets the box and the source's path and
returns the path to pass, "dst" if it returns nothing.
"""

import collections
import os

from .box import APPEND, IMMUTABLE, posix_acl
from .privilege import STRANGER, Unavailable, as_root
from .sources import DATA, pattern

Kind = collections.namedtuple("Kind", "name make core beside user")

TARGETS = {}


def target(name, *, core=False, beside=False, user=False):
    """Register a target: *beside* needs a source in the box, *user* is for a plain user."""

    def register(make):
        TARGETS[name] = Kind(name, make, core, beside, user)
        return make

    return register


def existing(name, data, mode=0o644, core=False, user=False):
    """An existing regular file."""

    @target(name, core=core, user=user)
    def make(box, src):
        box.file("dst", data, mode)


def named(name, path):
    """A path passed as it is."""

    @target(name)
    def make(box, src):
        return path


@target("new", core=True)
def new(box, src):
    return "dst"


existing("shorter", b"old", core=True)
existing("longer", pattern(200_000), core=True)
existing("much-longer", pattern(3 * 2**20))
existing("same-size", b"x" * len(DATA))
existing("same-content", DATA)
existing("emptied", b"")
existing("mode-0600", b"old", 0o600)
existing("mode-0444", b"old", 0o444)
existing("mode-4777", b"old", 0o4777)
existing("mode-2775", b"old", 0o2775)
existing("mode-0000", b"old", 0o000)
existing("read-only", b"old", 0o444, user=True)
existing("write-only", b"old", 0o200, user=True)
existing("setuid", b"old", 0o6777, user=True)
existing("setuid-longer", pattern(100_000), 0o4755, user=True)
named("missing-parent", "nowhere/dst")
named("missing-with-slash", "dst/")
named("missing-parent-with-slash", "nowhere/dst/")
named("long-name", "n" * 300)
named("long-path", "d/" * 2100 + "dst")
named("longest-path", "./" * 2046 + "dst")
named("in-proc", "/proc/speedcopy-test")
named("dot", ".")
named("proc-directory", "/proc/self/fdinfo")


@target("directory", core=True)
def directory(box, src):
    box.directory("dst", 0o750)


@target("directory-with-slash")
def directory_with_slash(box, src):
    box.directory("dst")
    return "dst/"


@target("directory-holding-the-name")
def directory_holding(box, src):
    box.directory("dst")
    if os.path.basename(src):
        box.file("dst/" + os.path.basename(src)[:255], b"old")


@target("directory-holding-a-directory")
def directory_holding_directory(box, src):
    box.directory("dst")
    if os.path.basename(src):
        box.directory("dst/" + os.path.basename(src)[:255], 0o700)


@target("directory-holding-a-link-back", beside=True)
def directory_holding_link(box, src):
    box.directory("dst")
    box.link("../src", "dst/src")


@target("directory-holding-a-dangling-link")
def directory_holding_dangling(box, src):
    box.directory("dst")
    if os.path.basename(src):
        box.link("../landed", "dst/" + os.path.basename(src)[:255])


@target("link-to-directory")
def link_to_directory(box, src):
    box.directory("folder-dst")
    box.link("folder-dst", "dst")


@target("file-with-slash")
def file_with_slash(box, src):
    box.file("dst", b"old")
    return "dst/"


@target("file-as-directory")
def file_as_directory(box, src):
    box.file("dst", b"old")
    return "dst/inner"


@target("link", core=True)
def link(box, src):
    box.file("landing", b"old", 0o660)
    box.link("landing", "dst")


@target("dangling-link", core=True)
def dangling_link(box, src):
    box.link("landing", "dst")


@target("link-into-missing-directory")
def link_into_missing(box, src):
    box.link("nowhere/landing", "dst")


@target("link-loop")
def link_loop(box, src):
    box.link("dst", "dst-other")
    box.link("dst-other", "dst")


@target("same-path", core=True, beside=True)
def same_path(box, src):
    return src


@target("same-by-dot", beside=True)
def same_by_dot(box, src):
    return "./" + src


@target("same-by-dotdot", beside=True)
def same_by_dotdot(box, src):
    box.directory("side")
    return "side/../" + src


@target("same-absolute", beside=True)
def same_absolute(box, src):
    return os.path.join(box.path, src)


@target("same-by-link", core=True, beside=True)
def same_by_link(box, src):
    box.link("src", "dst")


@target("same-by-two-links", beside=True)
def same_by_two_links(box, src):
    box.link("src", "between")
    box.link("between", "dst")


@target("hard-link", beside=True)
def hard_link(box, src):
    if not os.path.lexists("src"):
        return src
    if os.path.isdir("src") and not os.path.islink("src"):
        return "src/."
    box.hard_link("src", "dst")
    return "dst"


@target("target-of-the-link", beside=True)
def target_of_the_link(box, src):
    return os.readlink("src") if os.path.islink("src") else src


@target("file-with-other-names")
def file_with_other_names(box, src):
    box.file("dst", b"old")
    box.hard_link("dst", "dst-other-name")


@target("fifo", core=True)
def fifo(box, src):
    box.fifo("dst")


@target("link-to-fifo")
def link_to_fifo(box, src):
    box.fifo("pipe-dst")
    box.link("pipe-dst", "dst")


@target("socket")
def socket(box, src):
    box.socket("dst")


@target("null-node")
def null_node(box, src):
    box.device("dst", 1, 3)


@target("full-node")
def full_node(box, src):
    box.device("dst", 1, 7)


@target("with-xattrs")
def with_xattrs(box, src):
    box.file("dst", b"old")
    box.xattr("dst", "user.colour", b"red")
    box.xattr("dst", "user.kept", b"by shutil")


@target("with-acl")
def with_acl(box, src):
    box.file("dst", b"old")
    entries = (("u", 6, None), ("U", 6, STRANGER), ("g", 4, None), ("m", 6, None), ("o", 0, None))
    box.xattr("dst", "system.posix_acl_access", posix_acl(*entries))


def default_acl(box, folder):
    """Make the directory give its new entries an access list."""
    entries = (("u", 7, None), ("U", 7, STRANGER), ("g", 7, None), ("m", 7, None), ("o", 0, None))
    box.xattr(folder, "system.posix_acl_default", posix_acl(*entries))


@target("under-default-acl")
def under_default_acl(box, src):
    box.directory("parent")
    default_acl(box, "parent")
    return "parent/dst"


@target("setgid-directory")
def setgid_directory(box, src):
    os.mkdir("parent")
    try:
        box.own("parent", STRANGER)
        with as_root("make a directory of another group"):
            os.chmod("parent", 0o2777)
    except Unavailable:
        os.chmod("parent", 0o2777)
    return "parent/dst"


@target("append-only")
def append_only(box, src):
    box.file("dst", b"old")
    box.flag("dst", APPEND)


@target("immutable")
def immutable(box, src):
    box.file("dst", b"old")
    box.flag("dst", IMMUTABLE)


@target("in-immutable-directory")
def in_immutable_directory(box, src):
    box.directory("parent")
    box.flag("parent", IMMUTABLE)
    return "parent/dst"


@target("in-append-only-directory")
def in_append_only_directory(box, src):
    box.directory("parent")
    box.flag("parent", APPEND)
    return "parent/dst"


@target("in-read-only-directory", user=True)
def in_read_only_directory(box, src):
    box.directory("parent", 0o555)
    return "parent/dst"


@target("file-in-read-only-directory", user=True)
def file_in_read_only_directory(box, src):
    box.directory("parent", 0o555)
    box.file("parent/dst", b"old")
    return "parent/dst"


@target("in-unsearchable-directory", user=True)
def in_unsearchable_directory(box, src):
    box.directory("parent", 0o666)
    box.file("parent/dst", b"old")
    return "parent/dst"


@target("foreign-writable", user=True)
def foreign_writable(box, src):
    box.file("dst", b"old", 0o666)
    box.own("dst", STRANGER)


@target("foreign-longer", user=True)
def foreign_longer(box, src):
    box.file("dst", pattern(100_000), 0o666)
    box.own("dst", STRANGER)


@target("foreign-forbidden", user=True)
def foreign_forbidden(box, src):
    box.file("dst", b"old", 0o644)
    box.own("dst", STRANGER)


@target("foreign-setuid", user=True)
def foreign_setuid(box, src):
    box.file("dst", b"old", 0o6777)
    box.own("dst", STRANGER)


@target("foreign-in-sticky-directory", user=True)
def foreign_in_sticky(box, src):
    box.directory("parent", 0o1777)
    box.file("parent/dst", b"old", 0o666)
    box.own("parent/dst", STRANGER)
    box.own("parent", STRANGER + 1)
    return "parent/dst"
