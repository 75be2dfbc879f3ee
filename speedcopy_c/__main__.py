"""python -m speedcopy_c: the command ``speedcopy``."""

import sys

from speedcopy_c._cli import main

if __name__ == "__main__":
    sys.exit(main())
