"""The command ``speedcopy``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import speedcopy_c


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="speedcopy", description="shutil's copying, as fast as the kernel allows."
    )
    parser.add_argument("--version", action="version", version=speedcopy_c.__version__)
    commands = parser.add_subparsers(dest="command", required=True)

    info = commands.add_parser("info", help="say what this build can do, and on which paths")
    info.add_argument("src", nargs="?", help="a file or directory to copy from")
    info.add_argument("dst", nargs="?", help="a file or directory to copy to")

    trial = commands.add_parser(
        "try", help="copy a folder with shutil and with speedcopy, compare, and tell the times"
    )
    trial.add_argument("folder", help="what to copy; it is only read")
    trial.add_argument("--to", metavar="DIR", help="where to put the two copies for the while")
    trial.add_argument("--rounds", type=int, default=3, help="times each (default: 3)")

    arguments = parser.parse_args(argv)
    try:
        if arguments.command == "info":
            from speedcopy_c._cli import info as command
        else:
            from speedcopy_c._cli import trial as command  # type: ignore[no-redef]
        return command.run(arguments)
    except OSError as error:
        print(f"speedcopy: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
