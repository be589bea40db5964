"""The exact search against counting every subset of every record, in all of its ways of working."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bosket.threads
from bosket.errors import TooManyCandidatesError
from bosket.mining import exact
from bosket.mining.exact import ItemIds, SupportCounts, exact_itemsets
from tests.memory import memory_within

Records = Sequence[Iterable[int]]
Levels = list[tuple[ItemIds, SupportCounts]]

WAYS: dict[str, dict[str, Any]] = {
    "as decided": {},
    "tails": {"pairs_by_bitmaps": lambda *_: False},
    "bitmaps": {"pairs_by_bitmaps": lambda *_: True},
    # Every part as small as it can be: a prefix a part, many chunks, and a pause after each step of the search.
    "tails in pieces": {"pairs_by_bitmaps": lambda *_: False, "_CHUNK": 1, "_WALK_A_PART": 1, "_BUDGET": 0},
    "bitmaps in pieces": {"pairs_by_bitmaps": lambda *_: True, "_BUDGET": 0, "_ROWS_A_PART": 1},
    "short traces": {"_TRACE": 64, "_PARTS_A_ROUND": 2},
    "little room": {"_EXTENSIONS": 0},
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(bosket.threads, "n_threads", lambda: 1)  # starting threads for every small part is slow
    return take(request.param, monkeypatch)


def take(way: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in WAYS[way].items():
        monkeypatch.setattr(exact, name, value)
    return way


def mine(
    records: Records, n_items: int, min_count: int, max_size: int | None = None, max_itemsets: int = 10**6
) -> Levels:
    rows = [sorted(set(record)) for record in records]
    indptr = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
    indices = np.array([item for row in rows for item in row], np.int32)
    for array in (indptr, indices):
        array.flags.writeable = False  # as those of Baskets are
    return exact_itemsets(indptr, indices, n_items, min_count=min_count, max_size=max_size, max_itemsets=max_itemsets)


def subsets_counted(records: Records, min_count: int, max_size: int | None = None) -> dict[tuple[int, ...], int]:
    """The oracle: the definition of support, one subset of one record at a time."""
    counter: Counter[tuple[int, ...]] = Counter()
    for record in records:
        items = sorted(set(record))
        for size in range(1, min(len(items), max_size or len(items)) + 1):
            counter.update(combinations(items, size))
    return {itemset: count for itemset, count in counter.items() if count >= min_count}


def as_dict(levels: Levels) -> dict[tuple[int, ...], int]:
    """All itemsets with their counts, after a look at the form that was promised."""
    itemsets: dict[tuple[int, ...], int] = {}
    for size, (items, counts) in enumerate(levels, 1):
        assert items.dtype == np.int32
        assert counts.dtype == np.int64
        assert items.shape == (len(counts), size)
        assert len(counts) > 0
        assert items.flags.c_contiguous
        assert (np.diff(items) > 0).all()
        itemsets.update(zip(map(tuple, items.tolist()), counts.tolist(), strict=True))
    assert len(itemsets) == sum(len(counts) for _, counts in levels)
    return itemsets


def assert_identical(some: Levels, other: Levels) -> None:
    assert len(some) == len(other)
    for (items, counts), (other_items, other_counts) in zip(some, other, strict=True):
        np.testing.assert_array_equal(items, other_items)
        np.testing.assert_array_equal(counts, other_counts)


def bernoulli(n_records: int, chances: Iterable[float], seed: int) -> list[list[int]]:
    chance = np.array(list(chances))
    bits = np.random.default_rng(seed).random((n_records, len(chance))) < chance
    return [np.flatnonzero(row).tolist() for row in bits]


@st.composite
def repeated_records(draw: st.DrawFn) -> list[frozenset[int]]:
    """A few patterns, each up to 90 times and shuffled: word boundaries, perfect extensions and ties are common."""
    n_items = draw(st.integers(1, 8))
    patterns = draw(st.lists(st.frozensets(st.integers(0, n_items - 1)), max_size=8))
    times = draw(st.lists(st.integers(1, 90), min_size=len(patterns), max_size=len(patterns)))
    records = [pattern for pattern, n in zip(patterns, times, strict=True) for _ in range(n)]
    return draw(st.permutations(records)) if len(records) < 20 else records[::2] + records[1::2]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=repeated_records(), min_count=st.integers(1, 100), max_size=st.none() | st.integers(1, 5))
def test_equals_counting_every_subset(
    way: str, records: list[frozenset[int]], min_count: int, max_size: int | None
) -> None:
    levels = mine(records, 8, min_count, max_size)
    assert as_dict(levels) == subsets_counted(records, min_count, max_size)


@pytest.mark.parametrize("n_records", [1, 63, 64, 65, 127, 128, 129, 255, 257])
def test_dense_records_at_word_boundaries(way: str, n_records: int) -> None:
    records = bernoulli(n_records, np.linspace(0.2, 1.0, 9), seed=n_records)
    for min_count in {1, n_records // 3 + 1}:
        assert as_dict(mine(records, 9, min_count)) == subsets_counted(records, min_count)


def test_sparse_records(way: str) -> None:
    records = bernoulli(400, 1.5 / np.arange(1, 61), seed=1)
    assert as_dict(mine(records, 70, 3)) == subsets_counted(records, 3)


def test_long_bitmaps_are_packed_again_below_rare_nodes(way: str) -> None:
    records = bernoulli(3000, [0.05, 0.1, 0.1, 0.2, 0.3, 0.3, 0.4, 0.5, 0.6, 0.7, 0.2], seed=2)
    assert as_dict(mine(records, 11, 2)) == subsets_counted(records, 2)


def test_a_long_record_among_short_ones(way: str) -> None:
    records = [range(300), *([i, i + 1] for i in range(299)), [0, 299]]
    expected = {(i, i + 1): 2 for i in range(299)} | {(0, 299): 2} | {(i,): 3 for i in range(300)}
    assert as_dict(mine(records, 300, 2)) == expected


def test_order_does_not_depend_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    records = bernoulli(500, [0.1, 0.2, 0.3, 0.3, 0.5, 0.9, 1.0, 1.0], seed=3)
    expected = mine(records, 8, 4)
    for way in WAYS:
        with monkeypatch.context() as patch:
            take(way, patch)
            assert_identical(mine(records, 8, 4), expected)


@pytest.mark.parametrize("n_threads", [2, 7])
def test_order_does_not_depend_on_threads(way: str, n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    records = bernoulli(150, 1 / np.arange(1, 21) ** 0.7, seed=4)
    expected = mine(records, 20, 4)
    monkeypatch.setattr(bosket.threads, "n_threads", lambda: n_threads)
    assert_identical(mine(records, 20, 4), expected)


def test_single_items_come_from_the_rarest_and_by_id() -> None:
    levels = mine([[3, 1], [3, 1], [3, 0], [2], [4]], 5, 1)
    assert levels[0][0][:, 0].tolist() == [0, 2, 4, 1, 3]


def test_max_size_cuts_the_list_and_changes_nothing_else(way: str) -> None:
    records = bernoulli(200, [0.3, 0.4, 0.6, 0.9, 0.9, 1.0, 1.0], seed=5)
    levels = mine(records, 7, 5)
    for max_size in range(1, len(levels) + 2):
        assert_identical(mine(records, 7, 5, max_size), levels[:max_size])


def test_two_copies_of_the_records_double_every_count(way: str) -> None:
    records = bernoulli(90, 1 / np.arange(1, 16), seed=6)
    once, twice = mine(records, 15, 2), mine(records * 2, 15, 4)
    assert_identical([(items, 2 * counts) for items, counts in once], twice)


@pytest.mark.parametrize("records", [[], [[]], [[], []]])
@pytest.mark.parametrize("n_items", [0, 1, 100_000])
def test_nothing_to_find(way: str, records: Records, n_items: int) -> None:
    assert mine(records, n_items, 1) == []


@pytest.mark.slow
def test_no_item_is_frequent(way: str) -> None:
    assert mine([[0, 1]] * 5, 2, 6) == []
    assert mine([[i] for i in range(100_000)], 100_000, 2) == []


def test_one_item(way: str) -> None:
    assert as_dict(mine([[3], [], [3]], 5, 1)) == {(3,): 2}


def test_many_frequent_items_take_no_quadratic_time(monkeypatch: pytest.MonkeyPatch) -> None:
    take("tails", monkeypatch)
    items, pairs = mine([[2 * i, 2 * i + 1] for i in range(50_000)], 100_000, 1)
    assert len(items[1]) == 100_000
    np.testing.assert_array_equal(pairs[0], np.arange(100_000).reshape(-1, 2))


@pytest.mark.slow
def test_a_record_of_800_items(way: str) -> None:
    singles, pairs = mine([range(800)], 800, 1, max_size=2)
    assert len(singles[1]) == 800
    assert (pairs[1] == 1).all()
    np.testing.assert_array_equal(np.unique(pairs[0], axis=0), np.transpose(np.triu_indices(800, 1)))
    with pytest.raises(TooManyCandidatesError) as caught:
        mine([range(800)], 800, 1)
    assert (caught.value.level, caught.value.number, caught.value.limit) == (3, math.comb(800, 3), 10**6)
    assert caught.value.hint


@pytest.mark.slow
def test_a_very_long_record_is_refused_without_room_for_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 32 parts reserved 26 places for each item: gigabytes of addresses, and a MemoryError where those end."""
    monkeypatch.setattr(bosket.threads, "n_threads", lambda: 1)
    mine([range(2000)], 2000, 1, max_size=1)  # kernels compile now
    with memory_within(1 << 29), pytest.raises(TooManyCandidatesError) as caught:
        mine([range(300_000)], 300_000, 1)
    assert caught.value.hint


def test_the_limit_holds_size_by_size(way: str) -> None:
    records = bernoulli(150, [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.9, 1.0], seed=7)
    levels = mine(records, 8, 5)
    sizes = [len(counts) for _, counts in levels]
    assert_identical(mine(records, 8, 5, max_itemsets=max(sizes)), levels)
    for limit in (1, 7, 8, sizes[1] - 1, max(sizes) - 1):
        with pytest.raises(TooManyCandidatesError) as caught:
            mine(records, 8, 5, max_itemsets=limit)
        assert caught.value.limit == limit
        assert limit < caught.value.number <= sizes[caught.value.level - 1]


def test_a_deep_itemset_is_refused_for_its_subsets_at_once(way: str) -> None:
    """Each record misses one item, so nothing is perfect: the search reaches a set of 20 before any size is full."""
    records = [set(range(30)) - {left_out} for left_out in range(30)]
    with pytest.raises(TooManyCandidatesError) as caught:
        mine(records, 30, 1, max_itemsets=math.comb(19, 9))
    assert (caught.value.level, caught.value.number) == (8, math.comb(20, 8))


def test_the_limit_counts_only_the_sizes_asked_for(way: str) -> None:
    levels = mine([range(12)] * 3, 12, 3, max_size=3, max_itemsets=math.comb(12, 3))
    assert [len(counts) for _, counts in levels] == [12, 66, 220]
    with pytest.raises(TooManyCandidatesError):
        mine([range(12)] * 3, 12, 3, max_size=4, max_itemsets=math.comb(12, 3))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_limit_error_is_the_same_on_every_machine(n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    records = bernoulli(200, 1.2 / np.arange(1, 31) ** 0.5, seed=8)
    monkeypatch.setattr(bosket.threads, "n_threads", lambda: n_threads)
    monkeypatch.setattr(exact, "_WALK_A_PART", 64)
    seen = set()
    for _ in range(3):
        with pytest.raises(TooManyCandidatesError) as caught:
            mine(records, 30, 1, max_itemsets=500)
        seen.add((caught.value.level, caught.value.number))
    assert len(seen) == 1


def test_pairs_are_counted_the_cheaper_way() -> None:
    def decide(records: Records, n_frequent: int) -> bool:
        rows = [sorted(record) for record in records]
        indptr = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
        indices = np.array([item for row in rows for item in row], np.int32)
        rank_of = np.minimum(np.arange(200), n_frequent).astype(np.uint32)
        return exact.pairs_by_bitmaps(indptr, indices, rank_of, n_frequent)

    assert decide([range(10)] * 64, 10)  # 64 x 45 increments against 45 words
    assert not decide([range(10)], 10)  # 45 against 45
    assert decide([range(10)] * 2, 10)  # 90 against 45
    assert not decide([[i, i + 1] for i in range(64)], 65)  # 64 against 65 x 64 / 2
    assert not decide([range(100)] + [[0]] * 63, 1)  # nothing but rare items in the long record


def test_progress_rises_to_one(way: str) -> None:
    records = bernoulli(150, np.linspace(0.2, 0.9, 9), seed=9)
    rows = [np.array(record, np.int32) for record in records]
    heard: list[float] = []
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    exact_itemsets(indptr, np.concatenate(rows), 9, min_count=5, max_itemsets=10**6, on_done=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert heard[0] > 0.0


def test_an_interruption_is_passed_on() -> None:
    class Interruption(Exception):  # noqa: N818 - stands for KeyboardInterrupt
        pass

    def interrupt(done: float) -> None:
        raise Interruption

    with pytest.raises(Interruption):
        exact_itemsets(
            np.array([0, 2], np.int64),
            np.array([0, 1], np.int32),
            2,
            min_count=1,
            max_itemsets=9,
            on_done=interrupt,
        )
