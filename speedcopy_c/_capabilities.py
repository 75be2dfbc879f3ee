"""What this build can do, and what a pair of places can."""

import os
import tempfile
from typing import Any, Dict, List, Optional, Union

from . import _core

_SAMPLE = 256 * 1024


def capabilities(src: Any = None, dst: Any = None) -> Dict[str, Any]:
    """Return a dict of what copying can use.

    platform: the back end of this build.
    methods: the methods in use, in the order in which they are tried.
    disabled: whether SPEEDCOPY_DISABLE is set.
    patched: the names in shutil that are ours.
    rebound: the names that somebody has replaced, such as "os.stat", and
    whose users among the patched functions go to shutil's own.

    With ``src`` and ``dst`` (a file or directory each; one alone stands for
    both) also:

    src_filesystem, dst_filesystem: as filesystem_type(), None if unknown.
    pair: for each method True, or the error that it met, found by copying a
    file of 256 KiB between the two directories and removing it again.

    Raises OSError where a directory cannot be written to.
    """
    found: Dict[str, Any] = {
        "platform": _core._platform,
        "methods": _core._methods(),
        "disabled": bool(_core._disabled),
    }
    from ._patch import patched_names

    found["patched"] = patched_names()
    found["rebound"] = _core._rebound()
    if src is None and dst is None:
        return found
    source = _directory(dst if src is None else src)
    target = _directory(src if dst is None else dst)
    found["src_filesystem"] = _filesystem(source)
    found["dst_filesystem"] = _filesystem(target)
    found["pair"] = _try_pair(source, target, found["methods"])
    return found


def _directory(place: Any) -> Any:
    place = os.fspath(place)
    return place if os.path.isdir(place) else os.path.dirname(place) or "."


def _filesystem(directory: Any) -> Optional[str]:
    try:
        return _core.filesystem_type(directory)
    except OSError:
        return None


def _try_pair(source: Any, target: Any, methods: List[Any]) -> Dict[str, Union[bool, str]]:
    outcome: Dict[str, Union[bool, str]] = {}
    with tempfile.TemporaryDirectory(prefix=".speedcopy-", dir=source) as a:
        with tempfile.TemporaryDirectory(prefix=".speedcopy-", dir=target) as b:
            sample = os.path.join(a, "sample")
            with open(sample, "wb") as file:
                file.write(os.urandom(_SAMPLE))
            for method in methods:
                try:
                    _core.copyfile(sample, os.path.join(b, method), method=method)
                    outcome[method] = True
                except OSError as error:
                    outcome[method] = error.strerror or str(error)
    return outcome
