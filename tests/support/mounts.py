"""Small file systems of our own: mounted for a test session, gone after it."""

import contextlib
import os
import shutil
import subprocess

from .privilege import Unavailable, is_root

MKFS = {
    "xfs": ["mkfs.xfs", "-q", "-f", "-m", "reflink=1"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
    "ext4": ["mkfs.ext4", "-q", "-F"],
}
IMAGE_SIZE = 320 * 2**20


def command(*words):
    """Run a command quietly; False if it is missing or fails."""
    if shutil.which(words[0]) is None:
        return False
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    done = subprocess.run(words, check=False, **quiet)
    return done.returncode == 0


@contextlib.contextmanager
def mounted(place, kind, options="", scratch=None):
    """Mount a new file system on directory *place*; *scratch* is where its image may lie."""
    if not is_root():
        raise Unavailable(f"needs root to mount {kind}")
    os.mkdir(place)
    image = None
    words = ["mount", "-t", kind, "-o"]
    if kind in MKFS:
        image = os.path.join(scratch or os.path.dirname(place), os.path.basename(place) + ".img")
        with open(image, "wb") as stream:
            stream.truncate(IMAGE_SIZE)
        if not command(*MKFS[kind], image):
            raise Unavailable(f"{MKFS[kind][0]} is missing or failed")
        words += ["loop," + options if options else "loop", image, place]
    else:
        words += [options or "rw", kind, place]
    if not command(*words):
        raise Unavailable(f"{kind} cannot be mounted here")
    os.chmod(place, 0o777)
    try:
        yield place
    finally:
        command("umount", "-l", place)
        os.rmdir(place)
        if image is not None:
            os.unlink(image)
