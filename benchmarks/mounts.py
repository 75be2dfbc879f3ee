"""File systems to measure on: given folders, or images that are made, mounted and gone afterwards.

Made ones live in a mount namespace of this process, which starts itself again inside `unshare
--mount`. A tmpfs holds the images, so nothing but memory is measured, and when the process ends,
in whatever way, the kernel takes all away.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

INSIDE = "SPEEDCOPY_BENCHMARK_NAMESPACE"
KINDS = ("tmpfs", "ext4", "xfs", "btrfs")
IMAGE_SIZE = 6 << 30
MEMORY_SIZE = 8 << 30
TMPFS = ["mount", "-t", "tmpfs", "-o", f"size={MEMORY_SIZE}", "tmpfs"]
MAKERS = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"],
    "xfs": ["mkfs.xfs", "-q", "-f", "-K", "-m", "reflink=1"],
    "btrfs": ["mkfs.btrfs", "-q", "-f", "-K"],
}
OPTIONS = {"ext4": "loop,nodiscard", "xfs": "loop,nodiscard", "btrfs": "loop,nodiscard"}


@dataclass
class Filesystem:
    """A folder on a file system of a known type."""

    kind: str
    root: str


def enter_namespace() -> None:
    """Start this program again in a mount namespace of its own, unless it is there already."""
    if os.environ.get(INSIDE):
        return
    if os.geteuid() != 0:
        sys.exit("--make-mounts must be run as root")
    command = ["unshare", "--mount", "--propagation", "private", "--", sys.executable, *sys.argv]
    os.execvpe(command[0], command, {**os.environ, INSIDE: "1"})


def filesystem_type(path: str) -> str:
    """The type of the file system that a folder is on."""
    real = os.path.realpath(path)
    best, kind = "", "unknown"
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
        for line in mounts:
            _, where, this_kind = line.split()[:3]
            where = where.replace("\\040", " ")
            inside = real == where or real.startswith(where.rstrip("/") + "/")
            if inside and len(where) >= len(best):
                best, kind = where, this_kind
    return kind


def sync_filesystem(path: str) -> None:
    """Write everything back that is dirty on the file system of a folder, and wait for it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), "syncfs", path)
    finally:
        os.close(descriptor)


def touch_memory(folder: str) -> None:
    """Use memory once and give it back: a virtual machine pays for the first use of each page."""
    path = os.path.join(folder, "touched")
    with open(path, "wb") as file:
        os.unlink(path)
        os.posix_fallocate(file.fileno(), 0, MEMORY_SIZE // 8 * 7)


def _mount(kind: str, base: str, root: str) -> None:
    if kind == "tmpfs":
        subprocess.run([*TMPFS, root], check=True)
        return
    image = os.path.join(base, "image")
    with open(image, "wb") as file:
        os.posix_fallocate(
            file.fileno(), 0, IMAGE_SIZE
        )  # so that no writeback has to find memory first
    subprocess.run([*MAKERS[kind], image], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["mount", "-t", kind, "-o", OPTIONS[kind], image, root], check=True)
    os.unlink(image)  # the loop device keeps it until it is unmounted


@contextmanager
def made(kind: str) -> Iterator[Filesystem]:
    """A file system of the given kind, for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="bench-") as base:
        subprocess.run([*TMPFS, base], check=True)
        try:
            touch_memory(base)
            root = os.path.join(base, kind)
            os.mkdir(root)
            _mount(kind, base, root)
            try:
                yield Filesystem(kind, root)
            finally:
                subprocess.run(["umount", root], check=True)
        finally:
            subprocess.run(["umount", base], check=True)


@contextmanager
def given(root: str) -> Iterator[Filesystem]:
    """A folder of its own below a folder that the user named."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=root) as base:
        yield Filesystem(filesystem_type(root), base)
