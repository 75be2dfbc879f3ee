"""What is copied: every kind of source that the contract names.

Each maker is called with the box as working directory and returns the path to
pass, "src" if it returns nothing.
"""

import collections
import os
import struct

from .box import APPEND, IMMUTABLE, PAST, SECOND, posix_acl
from .privilege import STRANGER, Unavailable

Kind = collections.namedtuple("Kind", "name make core outside user ignore")

SOURCES = {}
DATA = b"The quick brown fox jumps over the lazy dog.\n" * 30


def source(name, *, core=False, outside=False, user=False, ignore=()):
    """Register a source: *outside* the box; only meaningful for a plain *user*."""

    def register(make):
        SOURCES[name] = Kind(name, make, core, outside, user, frozenset(ignore))
        return make

    return register


def pattern(size):
    """Bytes in which a shifted or repeated block would be seen."""
    block = b"".join(struct.pack(">I", n * 2654435761 % 2**32) for n in range(1031))
    return (block * (size // len(block) + 1))[:size]


def sized(name, size, core=False):
    """A source of that many bytes."""

    @source(name, core=core)
    def make(box):
        box.file("src", pattern(size))


def moded(name, mode, user=False):
    """A source of that mode."""

    @source(name, user=user)
    def make(box):
        box.file("src", DATA, mode)


def named(name, path, outside=False):
    """A path that is passed as it is, beside a regular file "src"."""

    @source(name, outside=outside)
    def make(box):
        box.file("src", DATA)
        return path


@source("regular", core=True)
def regular(box):
    box.file("src", DATA)


sized("empty", 0, core=True)
sized("one-byte", 1)
sized("page", 4096)
sized("64k-1", 65535)
sized("64k", 65536, core=True)
sized("64k+1", 65537)
sized("1m+3", 2**20 + 3, core=True)


@source("holes")
def holes(box):
    with open("src", "wb") as stream:
        stream.seek(300_000)
        stream.write(b"in the middle")
        stream.truncate(900_000)


@source("all-hole")
def all_hole(box):
    with open("src", "wb") as stream:
        stream.truncate(700_001)


@source("link", core=True)
def link(box):
    box.file("target", DATA, 0o640)
    box.link("target", "src")


@source("link-to-link")
def link_to_link(box):
    box.file("target", DATA, 0o640)
    box.link("target", "middle")
    box.link(os.path.join(box.path, "middle"), "src")


@source("dangling-link", core=True)
def dangling_link(box):
    box.link("nowhere", "src")


@source("link-loop")
def link_loop(box):
    box.link("src", "other")
    box.link("other", "src")


@source("link-of-odd-bytes")
def link_of_odd_bytes(box):
    box.link(b"t\xff\xe9", b"src")
    box.file(b"t\xff\xe9", DATA)


@source("through-linked-directory")
def link_through_directory(box):
    box.directory("folder")
    box.file("folder/inner", DATA)
    box.link("folder", "way")
    return "way/inner"


@source("fifo", core=True)
def fifo(box):
    box.fifo("src")


@source("link-to-fifo")
def link_to_fifo(box):
    box.fifo("pipe")
    box.link("pipe", "src")


@source("socket", core=True)
def socket(box):
    box.socket("src")


@source("link-to-socket")
def link_to_socket(box):
    box.socket("plug")
    box.link("plug", "src")


@source("directory", core=True)
def directory(box):
    box.directory("src")
    box.file("src/inner", DATA)


@source("link-to-directory")
def link_to_directory(box):
    box.directory("folder", 0o750)
    box.link("folder", "src")


@source("directory-with-slash")
def directory_with_slash(box):
    box.directory("src")
    return "src/"


@source("null-node")
def null_node(box):
    box.device("src", 1, 3)


named("dev-null", "/dev/null", outside=True)
named("missing", "missing")
named("missing-parent", "nowhere/src")
named("file-with-slash", "src/")
named("file-as-directory", "src/inner")
named("dots", "./././src")
named("long-name", "n" * 300)
named("long-path", "d/" * 2100 + "src")
named("longest-path", "./" * 2046 + "src")
named("root-directory", "/", outside=True)


@source("proc-version", outside=True, ignore=("mtime",))
def proc_version(box):
    return "/proc/version"


@source("proc-cmdline", outside=True, ignore=("mtime",))
def proc_cmdline(box):
    return "/proc/self/cmdline"


@source("sysfs", outside=True, ignore=("mtime",))
def sysfs(box):
    path = "/sys/class/net/lo/mtu"
    if not os.path.exists(path):
        raise Unavailable(f"no {path}")
    return path


moded("mode-0400", 0o400)
moded("mode-0600", 0o600)
moded("mode-0444", 0o444)
moded("mode-0755", 0o755)
moded("mode-4755", 0o4755)
moded("mode-6711", 0o6711)
moded("mode-1644", 0o1644)
moded("mode-7777", 0o7777)
moded("mode-0200", 0o200)
moded("mode-0000", 0o000)


moded("unreadable", 0o200, user=True)
moded("forbidden", 0o000, user=True)


@source("unsearchable-directory", user=True)
def unsearchable(box):
    box.directory("closed", 0o600)
    box.file("closed/src", DATA)
    return "closed/src"


@source("foreign-readable", user=True)
def foreign_readable(box):
    box.file("src", DATA, 0o644)
    box.own("src", STRANGER)


@source("foreign-forbidden", user=True)
def foreign_forbidden(box):
    box.file("src", DATA, 0o640)
    box.own("src", STRANGER)


@source("foreign-setuid", user=True)
def foreign_setuid(box):
    box.file("src", DATA, 0o4755)
    box.own("src", STRANGER)


@source("user-xattrs", core=True)
def user_xattrs(box):
    box.file("src", DATA)
    box.xattr("src", "user.colour", b"green")
    box.xattr("src", "user.empty", b"")
    box.xattr("src", "user.binary", bytes(range(256)))


@source("user-xattrs-0400")
def user_xattrs_read_only(box):
    box.file("src", DATA, 0o600)
    box.xattr("src", "user.colour", b"green")
    os.chmod("src", 0o400)


@source("many-xattrs")
def many_xattrs(box):
    box.file("src", DATA)
    for number in range(40):
        box.xattr("src", f"user.name-{number:03d}", b"%d" % number)


@source("trusted-xattrs")
def trusted_xattrs(box):
    box.file("src", DATA)
    box.xattr("src", "trusted.secret", b"for root")
    box.xattr("src", "user.open", b"for all")


@source("capability")
def capability(box):
    box.file("src", DATA, 0o755)
    box.xattr("src", "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))


@source("acl")
def acl(box):
    box.file("src", DATA)
    entries = (("u", 6, None), ("U", 4, STRANGER), ("g", 4, None), ("m", 6, None), ("o", 0, None))
    box.xattr("src", "system.posix_acl_access", posix_acl(*entries))


@source("link-with-trusted-xattr")
def link_with_xattr(box):
    box.file("target", DATA)
    box.link("target", "src")
    box.xattr("src", "trusted.of-the-link", b"yes", follow_symlinks=False)


@source("link-dangling-with-trusted-xattr")
def dangling_with_xattr(box):
    box.link("nowhere", "src")
    box.xattr("src", "trusted.of-the-link", b"yes", follow_symlinks=False)


@source("immutable")
def immutable(box):
    box.file("src", DATA)
    box.flag("src", IMMUTABLE)


@source("append-only")
def append_only(box):
    box.file("src", DATA)
    box.flag("src", APPEND)


def timed(name, atime_ns, mtime_ns):
    """A source of those times."""

    @source(name)
    def make(box):
        box.file("src", DATA)
        box.times("src", atime_ns, mtime_ns)


timed("nanoseconds", PAST + 999_999_999, PAST + 1)
timed("before-1970", -5 * SECOND + 1, -(10**6) * SECOND + 7)
timed("at-1970", 0, 0)
timed("far-future", 7_000_000_000 * SECOND + 3, 8_000_000_000 * SECOND + 4)
