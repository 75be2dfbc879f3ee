from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, Literal, TypeVar

from typing_extensions import TypeAlias

from ._progress import CopyProgress

_Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
_Target = TypeVar("_Target", bound=_Path)
_Choice: TypeAlias = Literal["auto", "always", "never"]
_Verify: TypeAlias = Literal[False, "bytes"]
_Progress: TypeAlias = Callable[[CopyProgress], object] | Literal[True] | None
_Method: TypeAlias = Literal[
    "clone", "server_copy", "holes", "copy_file_range", "sendfile", "read_write"
]
_Kept: TypeAlias = Literal["ownership", "acl", "all"]
_Preserve: TypeAlias = _Kept | Iterable[_Kept] | None

_disabled: int
_platform: str

def copyfile(
    src: _Path,
    dst: _Target,
    *,
    follow_symlinks: bool = True,
    reflink: _Choice = "auto",
    sparse: _Choice = "auto",
    atomic: bool = False,
    fsync: bool = False,
    verify: _Verify = False,
    progress: _Progress = None,
    method: _Method | None = None,
) -> _Target: ...
def copy(
    src: _Path,
    dst: _Target,
    *,
    follow_symlinks: bool = True,
    reflink: _Choice = "auto",
    sparse: _Choice = "auto",
    atomic: bool = False,
    fsync: bool = False,
    verify: _Verify = False,
    progress: _Progress = None,
    method: _Method | None = None,
    preserve: _Preserve = None,
) -> _Target | str | bytes: ...
def copy2(
    src: _Path,
    dst: _Target,
    *,
    follow_symlinks: bool = True,
    reflink: _Choice = "auto",
    sparse: _Choice = "auto",
    atomic: bool = False,
    fsync: bool = False,
    verify: _Verify = False,
    progress: _Progress = None,
    method: _Method | None = None,
    preserve: _Preserve = None,
) -> _Target | str | bytes: ...
def copymode(src: _Path, dst: _Path, *, follow_symlinks: bool = True) -> None: ...
def copystat(
    src: _Path, dst: _Path, *, follow_symlinks: bool = True, preserve: _Preserve = None
) -> None: ...
def filesystem_type(path: _Path, /) -> str: ...
def _set_observed(wanted: object, /) -> None: ...
def _methods() -> list[str]: ...
def _originals() -> dict[str, Callable[..., Any]]: ...
def _patched_copyfile(src: _Path, dst: _Target, follow_symlinks: bool) -> _Target: ...
def _patched_copymode(src: _Path, dst: _Path, follow_symlinks: bool) -> None: ...
def _patched_copystat(src: _Path, dst: _Path, follow_symlinks: bool) -> None: ...
def _patched_copy(src: _Path, dst: _Target, follow_symlinks: bool) -> _Target | str | bytes: ...
def _patched_copy2(src: _Path, dst: _Target, follow_symlinks: bool) -> _Target | str | bytes: ...
def _rebound() -> list[str]: ...
def _recapture() -> None: ...
def _set_guard(wanted: object, /) -> None: ...
def _set_replacements(replacements: dict[str, Callable[..., Any]], /) -> None: ...
