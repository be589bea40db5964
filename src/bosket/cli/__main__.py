"""``python -m bosket.cli``."""

import sys

from bosket.cli import program

sys.exit(program())
