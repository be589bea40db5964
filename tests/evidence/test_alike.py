"""Where one itemset's weights are those of all, sums made with them once are those of each itemset, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import bosket as bk
from bosket.evidence.sums import alike, least_variances, moments

ITEMS = 9


@pytest.mark.parametrize("size", range(1, 7))
@pytest.mark.parametrize(("keep", "absent"), [(0.9, 0.9), (0.3, 0.45), (1 / 3, 0.99), (0.05, 0.6)])
def test_flip_with_one_keep(keep: float, absent: float, size: int) -> None:
    channel = bk.Flip(keep=keep, keep_absent=absent).channel(bk.Domain(range(ITEMS)))
    rng = np.random.default_rng(size)
    rows = np.array([np.sort(rng.choice(ITEMS, size, replace=False)) for _ in range(30)], np.int32)
    cells = rng.integers(0, 1000, (1, len(rows), 1 << size))
    records = np.array([123_457])
    known = alike(channel, (0,), records, size)
    assert known is not None
    each, at_once = moments(channel, (0,), rows, cells), moments(channel, (0,), rows, cells, known=known)
    for name in ("value", "second", "squares", "largest", "top", "top_strata"):
        np.testing.assert_array_equal(getattr(at_once, name), getattr(each, name), err_msg=name)
    np.testing.assert_array_equal(np.full(len(rows), known.least), least_variances(channel, (0,), records, rows))


@pytest.mark.parametrize(
    "flip", [bk.Flip(keep={0: 0.9}, default=0.8), bk.Flip(keep=0.5)], ids=["items that differ", "erased"]
)
def test_not_where_items_differ_or_are_erased(flip: bk.Flip) -> None:
    assert alike(flip.channel(bk.Domain(range(ITEMS))), (0,), np.array([10]), 2) is None
