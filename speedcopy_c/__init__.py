"""shutil's copying, as fast as the kernel allows.

The functions of shutil's names take shutil's arguments and more; see their
docstrings and docs/design.rst.  What is not needed to copy a file is loaded
when it is first used.
"""

import os as _os

__version__ = "0.1.0.dev0"

#: One line per file through ``logging.getLogger("speedcopy")``.
SPEEDCOPY_DEBUG = _os.environ.get("SPEEDCOPY_DEBUG", "") not in ("", "0")

from ._core import (  # noqa: E402  (the core looks at SPEEDCOPY_DEBUG)
    copy,
    copy2,
    copyfile,
    copymode,
    copystat,
    filesystem_type,
)

TYPE_CHECKING = False  # typing's own costs an import
if TYPE_CHECKING:
    from ._capabilities import capabilities
    from ._patch import early_bindings, patch, patch_copyfile, patched, unpatch, unpatch_copyfile
    from ._progress import CopyProgress
    from ._trace import CopyRecord, trace

_LAZY = {
    "CopyProgress": "_progress",
    "CopyRecord": "_trace",
    "capabilities": "_capabilities",
    "early_bindings": "_patch",
    "patch": "_patch",
    "patch_copyfile": "_patch",
    "patched": "_patch",
    "trace": "_trace",
    "unpatch": "_patch",
    "unpatch_copyfile": "_patch",
}

__all__ = [
    "SPEEDCOPY_DEBUG",
    "CopyProgress",
    "CopyRecord",
    "capabilities",
    "copy",
    "copy2",
    "copyfile",
    "copymode",
    "copystat",
    "early_bindings",
    "filesystem_type",
    "patch",
    "patch_copyfile",
    "patched",
    "trace",
    "unpatch",
    "unpatch_copyfile",
]


def __getattr__(name: str) -> object:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{module}", "speedcopy_c"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
