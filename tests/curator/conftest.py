"""What tests of the curator share."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from bosket.curator import curate


@pytest.fixture(scope="session", autouse=True)
def rehearsed() -> None:
    """The first call of a process curates made-up records, so that nothing is compiled after it is paid.

    Compiling takes memory and noise of its own.  A test that looks at those, or puts something in their place, wants it
    behind it, whichever test comes first.
    """
    if find_spec("opendp"):
        curate._compiled()
        curate._compiled_sieve()
