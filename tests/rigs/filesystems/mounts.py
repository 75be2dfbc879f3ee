"""Real file systems for tests: loop mounts on images that live in memory.

Everything is mounted in a mount namespace that belongs to this process alone,
so nothing can be left behind: when the process ends, however it ends, the
kernel drops the namespace, with it the mounts, and with them the loop
devices (`mount -o loop` sets autoclear) and the images.

Needs root, the usual mkfs programs and a kernel with loop devices.  Whatever
is missing is told by `Unavailable`, whose text is fit for a skip reason.
"""

import contextlib
import ctypes
import fcntl
import os
import shutil
import stat
import struct
import subprocess
from pathlib import Path

from support.box import change_flags
from support.privilege import Unavailable

CLONE_NEWNS = 0x20000
FS_IOC_FIEMAP = 0xC020660B
NOCOW = 0x00800000  # chattr +C
MIB = 1 << 20

# mkfs command, size of the image.  600 MiB is enough for what the tests
# write, and too little for the sparse files that they copy.  ext4 would take
# 1 KiB blocks for a file system of this size.
IMAGES = {
    "ext4": (["mkfs.ext4", "-q", "-F", "-b", "4096"], 600 * MIB),
    "xfs": (["mkfs.xfs", "-q", "-m", "reflink=1"], 600 * MIB),
    "xfs-noreflink": (["mkfs.xfs", "-q", "-m", "reflink=0"], 600 * MIB),
    "btrfs": (["mkfs.btrfs", "-q"], 600 * MIB),
}
# The smallest that mkfs makes without complaint, to be filled up.
SMALL_IMAGES = {
    "ext4": (["mkfs.ext4", "-q", "-F", "-b", "4096"], 16 * MIB),
    "xfs": (["mkfs.xfs", "-q"], 300 * MIB),
    "btrfs": (["mkfs.btrfs", "-q"], 120 * MIB),
}
SMALL_TMPFS = 8 * MIB


def _run(*command, timeout=120):
    program = shutil.which(command[0], path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if program is None:
        raise Unavailable(f"{command[0]} is not installed")
    done = subprocess.run(
        [program, *map(os.fspath, command[1:])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines() or ["no message"]
        raise Unavailable(f"{command[0]} failed: {lines[0]}")
    return done.stdout


def enter_private_namespace():
    """Give this process mounts of its own; other processes keep theirs."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise Unavailable(f"unshare: {os.strerror(ctypes.get_errno())}")
    _run("mount", "--make-rprivate", "/")


def sync_of(path):
    """Write back the one file system that holds `path`."""
    fd = os.open(path, os.O_RDONLY)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syncfs(fd) != 0:
            raise OSError(ctypes.get_errno(), "syncfs", path)
    finally:
        os.close(fd)


class Rig:
    """File systems by name; each is made when it is first asked for."""

    def __init__(self, base):
        if not hasattr(os, "geteuid") or os.geteuid() != 0:
            raise Unavailable("mounting needs root")
        self.base = Path(base)
        self._mounted = []
        self._directories = {}
        self._missing = {}
        self._counter = 0
        enter_private_namespace()
        self._mount("-t", "tmpfs", "-o", "mode=755,size=80%", "images", self.base)

    def close(self):
        """Unmount in reverse; what is busy is detached, and goes when unused."""
        while self._mounted:
            target = self._mounted.pop()
            with contextlib.suppress(Unavailable):
                try:
                    _run("umount", target)
                except Unavailable:
                    _run("umount", "-l", target)

    def directory(self, name):
        """A directory on the file system `name`, or Unavailable.  A failure is
        remembered: the file system is not tried again."""
        if name in self._missing:
            raise Unavailable(self._missing[name])
        if name not in self._directories:
            try:
                maker = {
                    "tmpfs": self._make_tmpfs,
                    "ramfs": self._make_ramfs,
                    "overlay": self._make_overlay,
                    "btrfs-nocow": self._make_nocow,
                }.get(name, self._make_image)
                self._directories[name] = maker(name)
            except Unavailable as error:
                self._missing[name] = str(error)
                raise
        return self._directories[name]

    def overlay_lower(self):
        """The lower layer of "overlay", to be written to before the layer's
        files are first seen through the overlay."""
        return self.directory("ext4") / "overlay-lower"

    def bind(self, source, *options):
        """The directory `source` at another place, with mount options."""
        place = self._place("bind")
        self._mount("--bind", source, place)
        if options:
            self._mount("-o", "remount,bind," + ",".join(options), place)
        return place

    def full(self, name, room, files=()):
        """A directory on a file system of its own that has about `room` bytes
        left for data.  `files`, pairs of name and content, are there already:
        a full xfs may have no room for another inode."""
        if name == "tmpfs":
            place = self._place("full-tmpfs")
            self._mount("-t", "tmpfs", "-o", f"size={SMALL_TMPFS}", "full", place)
        else:
            command, size = SMALL_IMAGES[name]
            place = self._image(f"full-{name}", command, size)
        work = place / "work"
        work.mkdir()
        for file, content in files:
            (work / file).write_bytes(content)
        self._fill(place, room)
        return work

    def btrfs_subvolume(self, name, limit):
        """A btrfs directory in which no more than `limit` bytes fit."""
        top = self.directory("btrfs")
        place = top / name
        _run("btrfs", "quota", "enable", top)
        _run("btrfs", "subvolume", "create", place)
        _run("btrfs", "qgroup", "limit", str(limit), place)
        return place

    @contextlib.contextmanager
    def swap(self, name):
        """The path of an active swap file of 2 MiB on the file system."""
        path = self.directory(name) / "swap"
        path.touch(mode=0o600)
        if name.startswith("btrfs"):
            change_flags(path, add=NOCOW)
        path.write_bytes(os.urandom(4096) * 512)
        sync_of(path)
        _run("mkswap", path)
        _run("swapon", path)
        try:
            yield path
        finally:
            _run("swapoff", path)
            path.unlink()

    def _place(self, name):
        self._counter += 1
        place = self.base / f"{self._counter}-{name}"
        place.mkdir()
        return place

    def _mount(self, *arguments):
        _run("mount", *arguments)
        self._mounted.append(arguments[-1])

    def _image(self, name, command, size):
        place = self._place(name)
        image = place.with_suffix(".img")
        with open(image, "wb") as file:
            file.truncate(size)
        _run(*command, image)
        self._mount("-o", "loop", image, place)
        return place

    def _make_image(self, name):
        command, size = IMAGES[name]
        return self._image(name, command, size)

    def _make_tmpfs(self, name):
        place = self._place(name)
        self._mount("-t", "tmpfs", "-o", "size=600M", name, place)
        return place

    def _make_ramfs(self, name):
        place = self._place(name)
        self._mount("-t", "ramfs", name, place)
        return place

    def _make_nocow(self, name):
        place = self.directory("btrfs") / name
        place.mkdir()
        change_flags(place, add=NOCOW)
        return place

    def _make_overlay(self, name):
        """Lower layer on ext4, upper on tmpfs: one mount point, one st_dev
        for directories, and yet two file systems."""
        lower = self.overlay_lower()
        upper = self.directory("tmpfs") / "overlay"
        lower.mkdir()
        for directory in upper, upper / "upper", upper / "work":
            directory.mkdir()
        place = self._place(name)
        layers = f"lowerdir={lower},upperdir={upper}/upper,workdir={upper}/work"
        self._mount("-t", "overlay", "-o", layers, name, place)
        return place

    def _fill(self, place, room):
        reserve = place / "reserve"
        reserve.write_bytes(os.urandom(room))
        sync_of(place)
        with open(place / "filler", "wb") as filler:
            size = 0
            step = 64 * MIB
            while step >= 4096:
                try:
                    os.posix_fallocate(filler.fileno(), size, step)
                    size += step
                except OSError:
                    step //= 4
        sync_of(place)
        reserve.unlink()
        sync_of(place)


def is_clone_of(first, second):
    """Do two files on one file system share the blocks of their first bytes?
    None where the file system does not say (FIEMAP)."""
    extents = [_first_extent(path) for path in (first, second)]
    return None if None in extents else extents[0] == extents[1]


def _first_extent(path):
    fiemap_sync = 1
    header = struct.pack("=QQLLLL", 0, (1 << 64) - 1, fiemap_sync, 0, 1, 0)
    buffer = bytearray(header + bytes(56))
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, FS_IOC_FIEMAP, buffer)
    except OSError:
        return None
    finally:
        os.close(fd)
    mapped = struct.unpack_from("=L", buffer, 20)[0]
    return struct.unpack_from("=8xQ", buffer, len(header))[0] if mapped else None


def allocated(path):
    """Bytes that the file takes on disk, once everything is written."""
    sync_of(os.path.dirname(path))
    status = os.stat(path)
    assert stat.S_ISREG(status.st_mode)
    return status.st_blocks * 512
