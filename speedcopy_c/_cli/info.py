"""speedcopy info: what this build can do."""

from __future__ import annotations

import argparse
import os
import sys

import speedcopy_c
from speedcopy_c._capabilities import capabilities


def run(arguments: argparse.Namespace) -> int:
    """Print the answer and return the exit status."""
    found = capabilities(arguments.src, arguments.dst)
    print(f"speedcopy-c {speedcopy_c.__version__} in {os.path.dirname(speedcopy_c.__file__)}")
    print(f"Python      {sys.version.split()[0]}")
    print(f"platform    {found['platform']}")
    print(f"methods     {', '.join(found['methods'])}")
    if found["disabled"]:
        print("disabled    SPEEDCOPY_DISABLE is set: shutil's own functions copy")
    if found["rebound"]:
        print(f"rebound     {', '.join(found['rebound'])}: shutil's own functions copy")
    print(f"'speedcopy' {_drop_in_name()}")
    if "pair" in found:
        print(f"from        {found['src_filesystem']}")
        print(f"to          {found['dst_filesystem']}")
        for method, outcome in found["pair"].items():
            print(f"  {method:<17} {'works' if outcome is True else outcome}")
    return 0


def _drop_in_name() -> str:
    """Whose module ``import speedcopy`` gives."""
    import importlib

    try:
        module = importlib.import_module("speedcopy")
    except ImportError:
        return "cannot be imported"
    if module is speedcopy_c:
        return "is this package"
    return f"is another package ({module.__file__}); 'speedcopy_c' is this one"
