"""Putting our functions into shutil's place, and taking them out again.

While patched, ``shutil.copyfile`` and its family are the functions below,
with shutil's signatures, names and docstrings; ``shutil._orig_copyfile`` and
the like are shutil's own.  Nothing is patched by importing anything.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from typing import Any, Callable

from . import _core

_Function = Callable[..., Any]

#: What is patched when nothing is named.
FAMILY = ("copyfile", "copymode", "copystat", "copy", "copy2", "copytree", "move")

_lock = threading.RLock()


def _renew_lock() -> None:
    # Another thread may have held it when the process forked.
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


# The replacements.  What shutil's own function does with these arguments is
# done in C, after a look whether anybody rebound a name that it would use.
# mypy: disable-error-code="attr-defined, no-untyped-def"


def copyfile(src, dst, *, follow_symlinks=True):
    return _core._patched_copyfile(src, dst, follow_symlinks)


def copymode(src, dst, *, follow_symlinks=True):
    return _core._patched_copymode(src, dst, follow_symlinks)


def copystat(src, dst, *, follow_symlinks=True):
    return _core._patched_copystat(src, dst, follow_symlinks)


def copy(src, dst, *, follow_symlinks=True):
    return _core._patched_copy(src, dst, follow_symlinks)


def copy2(src, dst, *, follow_symlinks=True):
    return _core._patched_copy2(src, dst, follow_symlinks)


def _like_shutils(ours: _Function, own: _Function) -> None:
    """Give a replacement the name, the home and the words of shutil's own."""
    ours.__module__ = own.__module__
    ours.__qualname__ = own.__qualname__
    ours.__doc__ = own.__doc__


def _over_our_copy2(own: types.FunctionType) -> types.FunctionType:
    """shutil's own copytree or move, whose default copies with our copy2.

    The same code in the same module: it finds every other name where the
    original finds it.
    """
    defaults = tuple(
        copy2 if value is _own["copy2"] else value for value in own.__defaults__ or ()
    )
    ours = types.FunctionType(
        own.__code__, own.__globals__, own.__name__, defaults, own.__closure__
    )
    ours.__kwdefaults__ = own.__kwdefaults__
    ours.__annotations__ = own.__annotations__
    _like_shutils(ours, own)
    return ours


def _find_own() -> dict[str, _Function]:
    own = dict(_core._originals())
    for name in ("copytree", "move"):
        own[name] = vars(shutil)[name]
    return own


#: shutil's own functions, and ours in their place.
_own = _find_own()
_ours: dict[str, _Function] = {}


def _make_replacements() -> None:
    for function in (copyfile, copymode, copystat, copy, copy2):
        _like_shutils(function, _own[function.__name__])
        _ours[function.__name__] = function
    for name in ("copytree", "move"):
        function = _own[name]
        if isinstance(function, types.FunctionType):
            _ours[name] = _over_our_copy2(function)
    _core._set_replacements(_ours)


_make_replacements()


def _follow_reload() -> None:
    """After importlib.reload(shutil): its new functions are the genuine ones."""
    global _own
    present = vars(shutil)["copyfile"]
    if present is _own["copyfile"] or present is _ours["copyfile"]:
        return
    if getattr(present, "__globals__", None) is not vars(shutil):
        return  # somebody's replacement
    if present.__code__.co_filename != _own["copyfile"].__code__.co_filename:
        return
    _core._recapture()
    _own = _find_own()
    _make_replacements()


def _selected(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in FAMILY:
            raise ValueError(f"{name!r} is not one of {', '.join(FAMILY)}")
    return names or FAMILY


def _patch(names: tuple[str, ...]) -> list[str]:
    """Patch, and return the names that were not patched before."""
    if _core._disabled:
        return []
    changed = []
    foreign = []
    with _lock:
        _follow_reload()
        for name in _selected(names):
            present = getattr(shutil, name, None)
            if present is _own[name] and name in _ours:
                setattr(shutil, f"_orig_{name}", present)
                setattr(shutil, name, _ours[name])
                changed.append(name)
            elif present is not _ours.get(name):
                foreign.append(name)
    if foreign:
        warnings.warn(
            "left alone, because something else is in its place: "
            + ", ".join(f"shutil.{name}" for name in foreign),
            RuntimeWarning,
            stacklevel=3,
        )
    return changed


def _unpatch(names: tuple[str, ...]) -> None:
    with _lock:
        for name in _selected(names):
            if getattr(shutil, name, None) is _ours.get(name) and name in _ours:
                setattr(shutil, name, _own[name])
            if getattr(shutil, name, None) is _own[name] and hasattr(shutil, f"_orig_{name}"):
                delattr(shutil, f"_orig_{name}")


def patch_copyfile(*names: str) -> None:
    """Make shutil's copying fast, for everything in this process.

    names: functions of shutil to patch; without any: copyfile, copymode,
    copystat, copy, copy2, copytree and move.

    Calling it again does nothing.  A function that something else has
    replaced is left alone, with a RuntimeWarning.  A patched function whose
    call would have used a name that somebody rebound (``os.stat``,
    ``shutil.copystat``, ``open``, ...) goes to shutil's own, and trace() says
    so.  Functions that were imported from shutil before stay what they were:
    see early_bindings().  With SPEEDCOPY_DISABLE=1 in the environment nothing
    is patched.

    Raises ValueError for other names.
    """
    _patch(names)


def unpatch_copyfile(*names: str) -> None:
    """Take our functions out of shutil; the names are those of patch_copyfile().

    Does nothing where ours is not there: not patched, or replaced by
    something else since.
    """
    _unpatch(names)


@contextlib.contextmanager
def patched(*names: str) -> Iterator[None]:
    """patch_copyfile(*names) for the time of a with statement.

    At the end what this statement patched is unpatched, and no more.  It is
    the process that is patched, not the thread.
    """
    changed = _patch(names)
    try:
        yield
    finally:
        if changed:
            _unpatch(tuple(changed))


def patched_names() -> list[str]:
    """Return the names in shutil that are ours now."""
    return [name for name in FAMILY if getattr(shutil, name, None) is _ours.get(name)]


def early_bindings() -> list[tuple[str, str]]:
    """Return (module, attribute) of what is bound to a function of shutil's own.

    Such a module said ``from shutil import copyfile`` before the patch, and
    is not made faster by it.  Default arguments, partials and attributes of
    classes are not found.
    """
    own = {id(function) for function in _own.values()}
    found = []
    for name, module in sorted(sys.modules.items()):
        if module is shutil or not isinstance(module, types.ModuleType):
            continue
        if name.partition(".")[0] in ("speedcopy", "speedcopy_c"):
            continue
        for attribute, value in list(vars(module).items()):
            if id(value) in own:
                found.append((name, attribute))
    return found


patch = patch_copyfile
unpatch = unpatch_copyfile
