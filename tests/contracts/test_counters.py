"""Every counting engine against plain Python sets.  Register a new engine in ENGINES and it is tested."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bosket.counting import Bitmaps, Counter, ItemsetRows, ReferenceCounter, Shards
from bosket.counting.growing import Growing
from bosket.counting.table import ItemsetIndex, SupportTable, count_subsets
from bosket.data import Baskets
from tests.contracts.counters import CounterCase, Make, Records, assert_contract, by_hand, cases


def bitmaps(records: Records, n_items: int, strata: list[int] | None) -> Counter:
    rows = Baskets(records, items=range(n_items)).to_bits()
    return Bitmaps.from_rows(rows, n_items, strata=None if strata is None else np.array(strata, np.int32))


def bitmaps_of_some_items(records: Records, n_items: int, strata: list[int] | None) -> Counter:
    rows = Baskets(records, items=range(n_items)).to_bits()
    asked_for = np.unique([*range(min(n_items, 5)), n_items - 1]).astype(np.int32)
    return Bitmaps.from_rows(
        rows, n_items, strata=None if strata is None else np.array(strata, np.int32), items=asked_for
    )


def shards(records: Records, n_items: int, strata: list[int] | None) -> Counter:
    """Cut in three, an empty shard among them; strata that a shard does not have count as 0 there."""
    cuts = [0, len(records) // 3, len(records) // 3, len(records)]
    return Shards(
        [
            bitmaps(records[start:stop], n_items, None if strata is None else strata[start:stop])
            for start, stop in itertools.pairwise(cuts)
            if stop > start or len(records) == 0 or strata is None
        ]
    )


def reference(records: Records, n_items: int, strata: list[int] | None) -> Counter:
    return ReferenceCounter(records, strata)


def growing(records: Records, n_items: int, strata: list[int] | None) -> Counter:
    """A part that stays, one that came after some pairs and singles were counted, and one that went again."""
    half = len(records) // 2
    cuts = [(0, half), (half, len(records)), (0, min(half, 7))]
    parts = [
        (lambda start=start, stop=stop: bitmaps(records[start:stop], n_items, strata and strata[start:stop]))
        for start, stop in cuts
    ]
    first, second, third = parts
    counter = Growing([first, third])
    counter.supports(np.arange(n_items, dtype=np.int32)[:, None])
    counter.supports(np.array([[0, n_items - 1]], np.int32) if n_items > 1 else np.array([[0]], np.int32))
    return counter.moved([first, second], came=[second], went=[third])


ENGINES: dict[str, Make] = {
    "reference": reference,
    "bitmaps": bitmaps,
    "shards": shards,
    "bitmaps_of_some_items": bitmaps_of_some_items,
    "growing": growing,
}


@pytest.mark.parametrize("engine", ENGINES)
@given(case=cases())
def test_supports_are_those_of_plain_sets(engine: str, case: CounterCase) -> None:
    assert_contract(ENGINES[engine], case)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_itemsets_no_counts(engine: str) -> None:
    counter = ENGINES[engine]([{0}, {1}], 2, None)
    assert counter.supports(np.empty((0, 2), np.int32)).shape == (1, 0)


@pytest.mark.slow
def test_large_blocks_and_many_items() -> None:
    """More words than a block and more items than a tile: the cache blocking itself, against a dense product."""
    rng = np.random.default_rng(5)
    n, n_items = 70_000, 530
    dense = rng.random((n, n_items)) < 0.3
    strata = rng.integers(0, 3, n).astype(np.int32)
    records = np.packbits(np.pad(dense, ((0, 0), (0, 576 - n_items))), axis=1, bitorder="little").view(np.uint64)
    counter = Bitmaps.from_rows(records, n_items, strata=strata)
    pairs = np.array(list(itertools.combinations(range(n_items), 2)), np.int32)
    told: list[int] = []
    counts = counter.supports(pairs, on_progress=told.append)
    assert told[-1] == len(pairs)
    for stratum in range(3):
        part = dense[strata == stratum].astype(np.float32)
        expected = (part.T @ part).astype(np.int64)
        np.testing.assert_array_equal(counts[stratum], expected[pairs[:, 0], pairs[:, 1]])
    few: ItemsetRows = pairs[rng.choice(len(pairs), 500, replace=False)]
    np.testing.assert_array_equal(
        counter.supports(few).sum(axis=0), (dense[:, few[:, 0]] & dense[:, few[:, 1]]).sum(axis=0)
    )
    drawn = np.sort(rng.choice(n_items, (300, 3), replace=True), axis=1)
    triples = drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)].astype(np.int32)
    expected = dense[:, triples].all(axis=2).sum(axis=0)
    np.testing.assert_array_equal(counter.supports(triples).sum(axis=0), expected)


@given(
    st.lists(
        st.lists(st.integers(0, 40), min_size=3, max_size=3, unique=True).map(sorted), unique_by=tuple, max_size=60
    )
)
def test_index_finds_what_is_there_and_nothing_else(rows: list[list[int]]) -> None:
    half = rows[: len(rows) // 2]
    index = ItemsetIndex(np.array(half, np.int32).reshape(-1, 3))
    found = index.find(np.array(rows, np.int32).reshape(-1, 3))
    assert found.tolist() == [half.index(row) if row in half else -1 for row in rows]


@given(case=cases())
def test_subset_supports_by_two_routes(case: CounterCase) -> None:
    """Asking the counter for each subset, and looking them up in a table, give the support of every pattern."""
    records, n_items, strata = case
    assume(n_items >= 3)
    counter = bitmaps(records, n_items, strata)
    rows = np.array([[0, 1, 2]], np.int32)
    supports = count_subsets(counter, rows)
    own = strata if strata is not None else [0] * len(records)
    for pattern in range(8):
        subset = tuple(item for item in range(3) if pattern >> item & 1)
        assert supports[:, 0, pattern].tolist() == by_hand(records, own, subset)
    table = SupportTable(counter.supports(np.empty((1, 0), np.int32)))
    table.add(np.array([[0], [1], [2]], np.int32), supports[:, 0, [1, 2, 4]])
    table.add(np.array([[0, 1], [0, 2], [1, 2]], np.int32), supports[:, 0, [3, 5, 6]])
    np.testing.assert_array_equal(table.subset_supports(rows, own=supports[:, :, 7]), supports)
