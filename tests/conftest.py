"""Settings shared by all tests."""

from __future__ import annotations

from hypothesis import settings

from bosket.compiling import announcer

announcer.said = True  # kernels compile on first use: no test should find a line about that in what it captures

# Kernels compile on first use, so no deadline; fixed examples, so that a commit's verdict does not depend on luck.
settings.register_profile("commit", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("commit")
