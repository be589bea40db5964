"""``python -m bosket.cli``."""

import sys

from bosket.cli import main

sys.exit(main())
