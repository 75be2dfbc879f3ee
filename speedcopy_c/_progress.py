"""The ``progress`` argument."""

from typing import Any, Callable, NamedTuple


class CopyProgress(NamedTuple):
    """How far a copy is.

    src, dst: the file being copied, as the call was given them.
    copied, total: bytes, in all files; ``total`` is what the source's size
    was at the start.
    files_done, files_total: numbers of files.
    """

    src: Any
    dst: Any
    copied: int
    total: int
    files_done: int
    files_total: int


def reporter(progress: Any, src: Any, dst: Any) -> Callable[[int, int, bool], None]:
    """Return what the core calls with (copied, total, finished)."""
    if progress is True:
        progress = _bar()

    def report(copied: int, total: int, finished: bool) -> None:
        progress(CopyProgress(src, dst, copied, total, int(finished), 1))

    return report


def _bar() -> Callable[[CopyProgress], None]:
    """A tqdm bar as a progress callable."""
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install speedcopy-c[cli]") from error

    bar = tqdm(unit="B", unit_scale=True, unit_divisor=1024)

    def show(state: CopyProgress) -> None:
        bar.total = state.total
        bar.update(state.copied - bar.n)
        if state.files_done == state.files_total:
            bar.close()

    return show
