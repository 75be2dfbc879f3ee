"""What was copied and how: trace() and SPEEDCOPY_DEBUG."""

import contextlib
import errno
import os
import threading
from typing import Any, Iterator, List, NamedTuple, Tuple

import speedcopy_c

from . import _core


class CopyRecord(NamedTuple):
    """One file that was copied.

    src, dst: the objects that the call was made with (dst: the file's own
    path where a directory was given).
    method: "clone", "server_copy", "holes", "copy_file_range", "sendfile" or
    "read_write"; "shutil" where the call went to shutil's own function.
    bytes: the size of the copy, -1 if it could not be asked for.
    fallbacks: pairs of a method that gave way and why: the name of an errno,
    "no progress", or words; ("rebound", "os.stat") where the patched function
    went to shutil's own because somebody else had replaced that name.
    seconds: time taken, data and metadata.
    """

    src: Any
    dst: Any
    method: str
    bytes: int
    fallbacks: Tuple[Tuple[str, str], ...]
    seconds: float


_lock = threading.RLock()
# Replaced, never changed: a copy in a signal handler may come at any time.
_active: Tuple[List[CopyRecord], ...] = ()


#: The core does not know the size of what shutil copied.
_UNKNOWN = 2**64 - 1


def _size(path: Any) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _reason(code: object) -> str:
    if isinstance(code, int):
        return errno.errorcode.get(code, str(code)) if code else "no progress"
    return str(code)


@contextlib.contextmanager
def trace() -> Iterator[List[CopyRecord]]:
    """Collect a CopyRecord for every file copied meanwhile, by any thread.

    >>> with speedcopy_c.trace() as records:          # doctest: +SKIP
    ...     speedcopy_c.copyfile("a", "b")
    >>> records[0].method                             # doctest: +SKIP
    'clone'

    A copy that fails leaves no record: its exception says why.
    """
    global _active
    records: List[CopyRecord] = []
    with _lock:
        _active = (*_active, records)
        _core._set_observed(True)
    try:
        yield records
    finally:
        with _lock:
            _active = tuple(other for other in _active if other is not records)
            _core._set_observed(bool(_active))


def observe(*fields: Any) -> None:
    """Hear of one copy; called by the core with the fields of CopyRecord."""
    record = CopyRecord(*fields)
    reasons = tuple((name, _reason(code)) for name, code in record.fallbacks)
    record = record._replace(fallbacks=reasons)
    if record.bytes == _UNKNOWN:
        record = record._replace(bytes=_size(record.dst))
    for records in _active:
        records.append(record)
    if speedcopy_c.SPEEDCOPY_DEBUG:
        _log(record)


def _log(record: CopyRecord) -> None:
    import logging

    logger = logging.getLogger("speedcopy")
    if not logger.hasHandlers():
        # Nobody configured logging: stderr, once.
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        logger.addHandler(handler)
        logger.propagate = False
    if not logger.isEnabledFor(logging.DEBUG) and logger.level == logging.NOTSET:
        logger.setLevel(logging.DEBUG)
    tried = "".join(f", not {name} ({why})" for name, why in record.fallbacks)
    logger.debug(
        "%r -> %r: %s, %d bytes, %.6f s%s",
        os.fspath(record.src) if hasattr(record.src, "__fspath__") else record.src,
        os.fspath(record.dst) if hasattr(record.dst, "__fspath__") else record.dst,
        record.method,
        record.bytes,
        record.seconds,
        tried,
    )
