"""Which cases of a long list the quick suite runs: a few, evenly spread; `make slow` runs the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def few_quick(cases: Iterable[Any], *, every: int = 4, name: Callable[[Any], str] = str) -> list[Any]:
    """One case of ``every`` as it is, the others marked as slow.

    >>> [len(case.marks) for case in few_quick("abcde", every=4)]
    [0, 1, 1, 1, 0]
    """
    marks = [pytest.mark.slow]
    return [pytest.param(case, id=name(case), marks=[] if at % every == 0 else marks) for at, case in enumerate(cases)]
