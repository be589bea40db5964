"""Contributions are bounded to the last unit, whatever a record holds, for neighbours of both kinds."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.counting.base import Counts, ItemsetRows
from bosket.curator.sieve.contributions import (
    CONCENTRATED,
    PURE,
    RESOLUTION,
    ActiveItems,
    ActiveItemsets,
    Bounding,
    GaussianBounding,
    PureBounding,
    Units,
)
from bosket.data import Baskets

N_ITEMS = 5
RECORDS = [frozenset(part) for size in range(N_ITEMS + 1) for part in combinations(range(N_ITEMS), size)]
ROWS: list[ItemsetRows] = [
    np.array([[0], [3]], np.int32),
    np.array(list(combinations(range(4), 2)), np.int32),
    np.array([[0, 1, 2], [1, 2, 4]], np.int32),
]
BOUNDS = (1.0, 1.37, 2.5, 4.0, 7.77, 100.0)


def of(records: list[frozenset[int]]) -> Baskets:
    return Baskets([sorted(record) for record in records], items=range(N_ITEMS))


def sums(records: list[frozenset[int]], bounding: Bounding, bound: float, *, items: bool) -> Counts:
    active = ActiveItems(of(records)) if items else ActiveItemsets(of(records), ROWS)
    return active.sums(bounding.units(active.held, bounding.budget(bound)))


def norm(bounding: Bounding, difference: Counts) -> float:
    if isinstance(bounding, PureBounding):
        return float(np.abs(difference).sum())
    return math.sqrt(float((difference.astype(float) ** 2).sum()))


def farthest(bounding: Bounding, bound: float, *, items: bool, replaced: bool) -> float:
    """The largest distance of sums over neighbours, among all records of five items: one comes, or one is replaced.

    Sums are those of records, added up (tested below), so what the other records are does not matter.
    """
    each = [sums([record], bounding, bound, items=items) for record in RECORDS]
    others = each if replaced else [np.zeros_like(each[0])]
    return max(norm(bounding, one - other) for one in each for other in others)


@pytest.mark.parametrize("bounding", [PURE, CONCENTRATED])
@pytest.mark.parametrize("items", [True, False])
@pytest.mark.parametrize("bound", BOUNDS)
def test_no_neighbours_are_farther_apart_than_the_sensitivity(bounding: Bounding, items: bool, bound: float) -> None:
    for per_person in (1, 2):
        sensitivity = bounding.sensitivity(bounding.budget(bound), per_person)
        assert farthest(bounding, bound, items=items, replaced=per_person == 2) <= sensitivity


class RoundingUp(PureBounding):
    """A mistake: contributions are rounded up."""

    def units(self, held: Units, budget: int) -> Units:
        return np.where(held > 0, np.minimum(RESOLUTION, -(-budget // np.maximum(held, 1))), 0)


class RootsRoundedUp(GaussianBounding):
    """The same, of roots."""

    def units(self, held: Units, budget: int) -> Units:
        squares = np.minimum(RESOLUTION**2, budget // np.maximum(held, 1))
        return np.where(held > 0, np.ceil(np.sqrt(squares)).astype(np.int64), 0)


class ByLength(PureBounding):
    """A mistake: the sum of absolute values is bounded for one record, where two differ."""

    def sensitivity(self, budget: int, per_person: int) -> float:
        return budget


@pytest.mark.parametrize("broken", [RoundingUp(), RootsRoundedUp()])
def test_rounding_up_is_found(broken: Bounding) -> None:
    assert any(
        farthest(broken, bound, items=False, replaced=False) > broken.sensitivity(broken.budget(bound), 1)
        for bound in BOUNDS
    )


def test_one_record_for_two_is_found() -> None:
    broken = ByLength()
    assert farthest(broken, 2.5, items=False, replaced=True) > broken.sensitivity(broken.budget(2.5), 2)


@given(
    held=st.lists(st.integers(0, 10**7), min_size=1, max_size=20),
    bound=st.floats(1.0, 1e6, allow_nan=False),
)
def test_what_a_record_adds_is_within_its_budget(held: list[int], bound: float) -> None:
    numbers = np.array(held, np.int64)
    for bounding, power in ((PURE, 1), (CONCENTRATED, 2)):
        budget = bounding.budget(bound)
        units = bounding.units(numbers, budget).tolist()
        assert all(k * unit**power <= budget and 0 <= unit <= RESOLUTION for k, unit in zip(held, units, strict=True))
        assert all(unit == RESOLUTION for k, unit in zip(held, units, strict=True) if 0 < k <= bound)
        assert all(unit == 0 for k, unit in zip(held, units, strict=True) if k == 0)


@given(records=st.lists(st.sampled_from(RECORDS), max_size=200), bound=st.sampled_from(BOUNDS))
def test_sums_are_those_of_plain_sets(records: list[frozenset[int]], bound: float) -> None:
    itemsets = [frozenset(row) for part in ROWS for row in part.tolist()]
    for active, every in (
        (ActiveItemsets(of(records), ROWS), itemsets),
        (ActiveItems(of(records)), [frozenset([item]) for item in range(N_ITEMS)]),
    ):
        held = [sum(itemset <= record for itemset in every) for record in records]
        assert active.held.tolist() == held
        units = PURE.units(active.held, PURE.budget(bound))
        expected = [
            sum(int(unit) for record, unit in zip(records, units, strict=True) if itemset <= record)
            for itemset in every
        ]
        assert active.sums(units).tolist() == expected
