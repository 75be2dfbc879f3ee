"""The directory in which one call runs, and what it looks like afterwards."""

import contextlib
import errno
import hashlib
import os
import shutil
import socket
import stat
import struct
import time

from .privilege import Unavailable, acting_as, as_root, is_root

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None

SECOND = 1_000_000_000
PAST = 1_600_000_000 * SECOND
KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "block device",
}
LONG = struct.calcsize("l")
GET_FLAGS = 0x80000000 | LONG << 16 | ord("f") << 8 | 1
SET_FLAGS = 0x40000000 | LONG << 16 | ord("f") << 8 | 2
IMMUTABLE = 0x10
APPEND = 0x20


def posix_acl(*entries):
    """The xattr form of an access list; each entry is (tag, permissions, id or None)."""
    tags = {"u": 1, "U": 2, "g": 4, "G": 8, "m": 16, "o": 32}
    data = struct.pack("<I", 2)
    for tag, permissions, who in entries:
        data += struct.pack("<HHI", tags[tag], permissions, 0xFFFFFFFF if who is None else who)
    return data


def change_flags(path, add=0, remove=0):
    """Set and clear inode flags (chattr's)."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        raw = fcntl.ioctl(fd, GET_FLAGS, b"\0" * LONG)
        flags = struct.unpack("i", raw[:4])[0]
        fcntl.ioctl(fd, SET_FLAGS, struct.pack("l", flags & ~remove | add))
    finally:
        os.close(fd)


class Box:
    """A fresh directory that is the working directory while the block runs.

    Makers are called inside :meth:`acting`, so that what they make belongs to
    *user*. :meth:`settle` then gives every entry a known time and carries out
    what was put off until all is made (flags, forbidden directories).
    """

    def __init__(self, path, user=None, umask=0o022):
        self.path = path
        self.user = user if is_root() else None
        self.umask = umask
        self._later = []
        self._undo = []
        self._timed = set()
        self._before = {}

    def __enter__(self):
        os.mkdir(self.path)
        if self.user is not None:
            os.chown(self.path, self.user, self.user)
        self._cwd = os.getcwd()
        self._umask = os.umask(self.umask)
        os.chdir(self.path)
        return self

    def __exit__(self, *exc):
        with contextlib.ExitStack() as stack:
            stack.callback(self._remove)
            stack.callback(os.chdir, self._cwd)
            stack.callback(os.umask, self._umask)
            for undo in self._undo:
                stack.callback(undo)

    def _remove(self):
        for folder, _names, _files in os.walk(self.path):
            if not os.access(folder, os.W_OK | os.X_OK):
                os.chmod(folder, 0o700)
        shutil.rmtree(self.path)

    def acting(self):
        """Act as the user to whom this box belongs."""
        return acting_as(self.user)

    # Makers.

    def file(self, name, data=b"data\n", mode=0o644):
        """A regular file."""
        with open(name, "wb") as stream:
            stream.write(data)
        os.chmod(name, mode)
        return name

    def directory(self, name, mode=0o755):
        """A directory; a mode that forbids its owner anything is set at the end."""
        os.mkdir(name)
        if mode & 0o700 == 0o700:
            os.chmod(name, mode)
        else:
            self.later(os.chmod, name, mode)
        return name

    def link(self, target, name):
        """A symbolic link *name* to *target*."""
        os.symlink(target, name)
        return name

    def hard_link(self, old, new):
        """A second name; root may make one of anybody's file."""
        with acting_as(0):
            os.link(old, new, follow_symlinks=False)
        return new

    def fifo(self, name):
        """A named pipe."""
        os.mkfifo(name)
        return name

    def socket(self, name):
        """A unix socket nobody listens on."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(name)
        return name

    def device(self, name, major, minor):
        """A character device of our own, so that the system's stays as it is."""
        with as_root("make a device node"):
            os.mknod(name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
            os.chmod(name, 0o666)
            try:
                os.close(os.open(name, os.O_WRONLY))
            except OSError as err:
                raise Unavailable(f"device nodes cannot be opened here: {err}") from None
        return name

    def xattr(self, name, key, value, follow_symlinks=True):
        """An extended attribute, if the file system has them."""
        if not hasattr(os, "setxattr"):
            raise Unavailable("this platform has no extended attributes")
        try:
            if key.startswith(("user.", "system.")):
                os.setxattr(name, key, value, follow_symlinks=follow_symlinks)
            else:
                with as_root(f"set {key}"):
                    os.setxattr(name, key, value, follow_symlinks=follow_symlinks)
        except OSError as err:
            if err.errno not in (errno.ENOTSUP, errno.EINVAL):
                raise
            raise Unavailable(f"no attribute {key} on this file system") from None

    def flag(self, name, flags):
        """Inode flags, set when all else is made and cleared at the end."""
        if fcntl is None:
            raise Unavailable("this platform has no inode flags")
        absolute = os.path.join(self.path, name)

        def apply():
            with as_root("set inode flags"):
                try:
                    change_flags(absolute, add=flags)
                except OSError as err:
                    raise Unavailable(f"no inode flags here: {err}") from None
                self._undo.append(lambda: change_flags(absolute, remove=flags))

        self.later(apply)

    def own(self, name, uid):
        """Give the entry to another user."""
        with as_root("give a file away"):
            mode = os.lstat(name).st_mode
            os.chown(name, uid, uid, follow_symlinks=False)
            if not stat.S_ISLNK(mode):
                os.chmod(name, stat.S_IMODE(mode))

    def times(self, name, atime_ns, mtime_ns, follow_symlinks=True):
        """Exact times; settle() will leave them alone."""
        self._timed.add(os.fsencode(os.path.normpath(name)))
        self.later(self._utime, name, (atime_ns, mtime_ns), follow_symlinks)

    @staticmethod
    def _utime(name, ns, follow_symlinks):
        os.utime(name, ns=ns, follow_symlinks=follow_symlinks)

    def later(self, function, *args):
        """Call this when every entry is made and has its time."""
        self._later.append((function, args))

    def at_end(self, function):
        """Call this before the box is removed."""
        self._undo.append(function)

    # Looking.

    def _walk(self):
        top = os.fsencode(self.path)
        pending = [b""]
        while pending:
            relative = pending.pop()
            absolute = os.path.join(top, relative) if relative else top
            yield relative, absolute
            if stat.S_ISDIR(os.lstat(absolute).st_mode):
                with contextlib.suppress(PermissionError):
                    names = sorted(os.listdir(absolute), reverse=True)
                    pending += [os.path.join(relative, name) for name in names]

    def settle(self):
        """Known times for all entries, then what was put off; remember every inode."""
        entries = list(self._walk())
        for number, (relative, absolute) in enumerate(entries):
            if relative not in self._timed:
                moment = PAST + number * 1000 * SECOND + 123456789 + number
                os.utime(absolute, ns=(moment, moment + 7 * SECOND), follow_symlinks=False)
        with self.acting():
            for function, args in self._later:
                function(*args)
        for relative, absolute in entries:
            found = os.lstat(absolute)
            self._before[relative] = found.st_dev, found.st_ino
        self.started = time.time_ns()

    def _moment(self, ns):
        if self.started - SECOND <= ns <= time.time_ns() + SECOND:
            return "now"
        return ns

    def snapshot(self):
        """{name: {field: value}} of everything in the box."""
        groups = {}
        tree = {}
        for relative, absolute in self._walk():
            found = os.lstat(absolute)
            inode = found.st_dev, found.st_ino
            entry = {
                "kind": KINDS.get(stat.S_IFMT(found.st_mode), "?"),
                "mode": oct(stat.S_IMODE(found.st_mode)),
                "owner": (found.st_uid, found.st_gid),
                "mtime": self._moment(found.st_mtime_ns),
                "atime": self._moment(found.st_atime_ns),
                "same inode as": groups.setdefault(inode, relative),
                "kept": self._before.get(relative) == inode,
                "xattrs": read_xattrs(absolute),
            }
            if entry["kind"] == "file":
                entry["size"] = found.st_size
                entry["content"] = read_content(absolute)
            elif entry["kind"] == "link":
                entry["target"] = os.readlink(absolute)
            elif entry["kind"] == "directory":
                entry["names"] = found.st_nlink
            elif entry["kind"] == "device":
                entry["device"] = found.st_rdev
            tree[relative or b"."] = entry
        return tree


def read_xattrs(path):
    """All extended attributes that may be read."""
    if not hasattr(os, "listxattr"):
        return None
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError as err:
        return err.errno
    return {name: os.getxattr(path, name, follow_symlinks=False) for name in sorted(names)}


def read_content(path):
    """Short content as it is, long content as its digest."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except PermissionError:
        return "unreadable"
    if len(data) <= 64:
        return data
    return f"{len(data)} bytes, sha1 {hashlib.sha1(data).hexdigest()}"
