"""What tests of the curator share."""

from __future__ import annotations

import pytest

from bosket.curator.curate import _compiled


@pytest.fixture
def rehearsed() -> None:
    """The first call of a process curates made-up records, so that nothing is compiled after it is paid.

    A test that lists what is asked of the noise wants that behind it, whichever test comes first.
    """
    _compiled()
