"""Tables to try the measures on, and Hypothesis strategies for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from bosket.measures import Contingency
from tests.measures.definitions import Counts

small = st.builds(Counts, *[st.integers(1, 40)] * 4)
"""Tables of a few records, no cell empty."""

cell = st.integers(1, 40) | st.integers(1, 10**6)
counts = st.builds(Counts, cell, cell, cell, cell)
"""Tables of any number of records, no cell empty."""


def of_counts(*tables: Counts) -> Contingency:
    """Tables of the same number of records."""
    (n,) = {t.n for t in tables}
    cells = np.array([[t.n11, t.n10, t.n01, t.n00] for t in tables])
    return Contingency.of_counts(cells[:, 0], cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2], n)


def of_supports(x: Any, a: Any, c: Any, *, n: float) -> Contingency:
    """From support fractions, real or complex."""
    return Contingency(
        n=n, pi11=x, pi10=a - x, pi01=c - x, pi00=1 - a - c + x, a=a, c=c, not_a=1 - a, not_c=1 - c
    )  # fmt: skip


def of_cells(cells: npt.ArrayLike, n: float) -> Contingency:
    """From positive weights of the cells 11, 10, 01, 00 along the last axis; margins are sums, so nothing cancels."""
    pi = np.asarray(cells, float)
    pi11, pi10, pi01, pi00 = np.moveaxis(pi / pi.sum(-1, keepdims=True), -1, 0)
    return Contingency(
        n=n, pi11=pi11, pi10=pi10, pi01=pi01, pi00=pi00,
        a=pi11 + pi10, c=pi11 + pi01, not_a=pi01 + pi00, not_c=pi10 + pi00,
    )  # fmt: skip


def random_cells(number: int, *, seed: int) -> npt.NDArray[np.float64]:
    """Tables of all sorts: half of them even, half with cells that differ by orders of magnitude."""
    rng = np.random.default_rng(seed)
    even, uneven = rng.dirichlet([1.0] * 4, number // 2), rng.dirichlet([0.2] * 4, number - number // 2)
    cells: npt.NDArray[np.float64] = np.maximum(np.concatenate([even, uneven]), 1e-9)
    return cells
