"""``python -m bosket``: the command line."""

import sys

from bosket.cli import program

if __name__ == "__main__":
    sys.exit(program())
