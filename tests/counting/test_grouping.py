"""Itemsets in an order in which many begin alike: counts come back to the itemsets that were asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bosket.counting import Bitmaps, ReferenceCounter, kernels
from bosket.counting.grouping import grouped, worth_grouping
from bosket.data import Baskets


def test_what_many_share_comes_first() -> None:
    """All hold 3 and 7, in places of every kind."""
    rows = np.array([[1, 3, 7], [2, 3, 7], [3, 4, 7], [3, 7, 9], [3, 5, 7]], np.int32)
    order, found = grouped(rows)
    assert {tuple(row[:2]) for row in found.tolist()} == {(3, 7)}
    assert [sorted(row) for row in found.tolist()] == rows[order].tolist()
    assert sorted(order.tolist()) == list(range(5))


@given(st.lists(st.sets(st.integers(0, 9), min_size=4, max_size=4), min_size=17, max_size=60), st.integers(0, 3))
def test_counts_are_those_of_the_itemsets(itemsets: list[set[int]], seed: int) -> None:
    """In any order of itemsets, most of them alone with their beginning."""
    rows = np.array([sorted(itemset) for itemset in itemsets], np.int32)
    rng = np.random.default_rng(seed)
    records = [set(np.flatnonzero(rng.random(10) < 0.7).tolist()) for _ in range(90)]
    strata = rng.integers(0, 2, 90).astype(np.int32)
    bitmaps = Bitmaps.from_rows(Baskets(records, items=range(10)).to_bits(), 10, strata=strata)
    expected = ReferenceCounter(records, strata.tolist()).supports(rows)
    np.testing.assert_array_equal(bitmaps.supports(rows), expected)


def test_itemsets_that_are_grouped_stay_as_they_are() -> None:
    rows = np.array([[0, 1, last] for last in range(2, 40)], np.int32)
    assert not worth_grouping(len(rows), len(kernels.group_starts(rows)) - 1)
    assert worth_grouping(40, 40)
    assert not worth_grouping(16, 16)
