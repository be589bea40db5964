"""How far one record moves what noise is added to: by enumeration over small universes, and kernels by plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.counting.base import ItemsetRows
from bosket.curator import cardinality, kernels
from bosket.curator.cardinality import kth_support, largest_supports
from bosket.curator.lengths import noisy_lengths
from bosket.curator.levels import sensitivity
from bosket.curator.noise import Counts
from bosket.curator.truncation import count_candidates, count_items, random_truncation
from bosket.data import Baskets
from bosket.estimates import Floats
from bosket.randomness import Seeded
from tests.curator import broken

Record = tuple[int, ...]

N_ITEMS = 5
RECORDS: list[Record] = [record for size in range(5) for record in combinations(range(N_ITEMS), size)]


def of(records: list[Record]) -> Baskets:
    return Baskets(records, items=range(N_ITEMS))


def neighbours() -> Iterator[tuple[Baskets, Baskets]]:
    """All data sets of up to two records, with one of any kind added."""
    for number in range(3):
        for records in combinations_with_replacement(RECORDS[::2], number):
            for added in RECORDS[1::3]:
                yield of([*records, added]), of(list(records))


def distance(one: Counts, other: Counts) -> int:
    return int(np.abs(one - other).sum())


# ---------------------------------------------------------------------------------------------------- definitions


def held(record: Record, rows: list[Record]) -> list[int]:
    """The numbers of the rows within a record."""
    return [j for j, row in enumerate(rows) if set(row) <= set(record)]


def smart(record: Record, rows: list[Record], scores: list[float], limit: int) -> set[int]:
    """SmartTruncating of section 5.3.1, from its words: the items kept of a record longer than the limit."""
    weight = {j: scores[j] for j in held(record, rows)}
    kept: set[int] = set()
    while len(kept) < limit:
        fitting = [j for j in weight if len(kept | set(rows[j])) <= limit]
        if not fitting:
            break
        best = max(fitting, key=lambda j: (weight[j], -j))
        kept |= set(rows[best])
        del weight[best]
        for j in weight:
            weight[j] += scores[j] / len(rows[j]) * len(kept & set(rows[j]))
    return kept


def count_by_definition(records: list[Record], rows: list[Record], scores: list[float], limit: int) -> list[int]:
    used = {item for row in rows for item in row}
    counts = [0] * len(rows)
    for whole in records:
        record = tuple(item for item in whole if item in used)
        kept = record if len(record) <= limit else tuple(smart(record, rows, scores, limit))
        for j in held(kept, rows):
            counts[j] += 1
    return counts


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Record], list[Record], list[float], int]:
    """Records, candidates of one size, their scores (with ties, below 0 too), and a limit of at least that size."""
    n_items = draw(st.integers(3, 8))
    size = draw(st.integers(1, 3))
    possible = list(combinations(range(n_items), size))
    rows = sorted(draw(st.sets(st.sampled_from(possible), min_size=1, max_size=20)))
    scores = draw(st.lists(st.integers(-4, 8).map(float), min_size=len(rows), max_size=len(rows)))
    records = draw(st.lists(st.sets(st.integers(0, n_items - 1)), max_size=6))
    return [tuple(sorted(r)) for r in records], rows, scores, draw(st.integers(size, 6))


def as_rows(rows: list[Record]) -> ItemsetRows:
    return np.array(rows, np.int32)


# ---------------------------------------------------------------------------------------------------- kernels


@given(problems())
def test_contained(problem: tuple[list[Record], list[Record], list[float], int]) -> None:
    records, rows, _, _ = problem
    table = as_rows(rows)
    found, stack = np.empty(len(rows), np.int64), np.empty((table.shape[1], 3), np.int64)
    for record in records:
        number = kernels.contained(table, np.array(record, np.int32), len(record), found, stack)
        assert found[:number].tolist() == held(record, rows)


@given(problems())
def test_choose(problem: tuple[list[Record], list[Record], list[float], int]) -> None:
    """Scores are small multiples of 1/3 at worst, so weights that are equal are found equal or told apart alike."""
    records, rows, scores, limit = problem
    table = as_rows(rows)
    for record in records:
        within = np.array(held(record, rows), np.int64)
        kept, weight, has = np.empty(limit, np.int32), np.empty(len(rows)), np.empty(len(rows), np.int64)
        size = kernels.choose(table, np.array(scores), within, len(within), limit, weight, has, kept)
        assert size <= limit
        assert len(set(kept[:size].tolist())) == size
        assert set(kept[:size].tolist()) == smart(record, rows, scores, limit)
        assert has[: len(within)].tolist() == [len({*rows[j]} & {*kept[:size].tolist()}) for j in within]


@given(problems())
def test_counts_of_truncated_records(problem: tuple[list[Record], list[Record], list[float], int]) -> None:
    records, rows, scores, limit = problem
    baskets = Baskets(records, items=range(8))
    found = count_candidates(baskets, as_rows(rows), np.array(scores), limit)
    assert found.tolist() == count_by_definition(records, rows, scores, limit)


def test_example_1() -> None:
    """Zeng, Naughton and Cai (2012): {1, 2, 3, 4, 5} is cut to {1, 2, 3}, though {4, 5} scores more than {2, 3}."""
    rows: list[Record] = [(1, 2), (2, 3), (4, 5)]
    scores = [10.0, 8.0, 9.0]
    kept, weight, has = np.empty(3, np.int32), np.empty(3), np.empty(3, np.int64)
    size = kernels.choose(as_rows(rows), np.array(scores), np.arange(3), 3, 3, weight, has, kept)
    assert sorted(kept[:size].tolist()) == [1, 2, 3]
    baskets = Baskets([[1, 2, 3, 4, 5]], items=range(6))
    assert count_candidates(baskets, as_rows(rows), np.array(scores), 3).tolist() == [1, 1, 0]


@given(st.lists(st.sets(st.integers(0, 9)), max_size=8), st.integers(1, 6), st.integers(0, 99))
def test_random_truncation(records: list[set[int]], limit: int, seed: int) -> None:
    """A part of each record, of as many items as may be kept, in its place."""
    short = random_truncation(Baskets(records, items=range(10)), limit, rng=Seeded(seed))
    assert short.n_records == len(records)
    for whole, part in zip(records, short, strict=True):
        assert set(part) <= whole
        assert len(part) == min(len(whole), limit)


# ---------------------------------------------------------------------------------------------------- one record


@given(problems(), st.permutations(range(6)))
def test_a_truncation_looks_at_one_record(
    problem: tuple[list[Record], list[Record], list[float], int], order: list[int]
) -> None:
    """Counts are the sum of the counts of each record alone, whatever else is there and in whatever order."""
    records, rows, scores, limit = problem

    def count(some: list[Record]) -> Counts:
        return count_candidates(Baskets(some, items=range(8)), as_rows(rows), np.array(scores), limit)

    alone = sum((count([record]) for record in records), np.zeros(len(rows), np.int64))
    np.testing.assert_array_equal(count(records), alone)
    np.testing.assert_array_equal(count([records[at] for at in order if at < len(records)]), alone)


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_candidates_move_no_more_than_paid_for(limit: int, size: int) -> None:
    """Every record alone, hence (they add up) every data set, under random public scores and candidates."""
    rng = np.random.default_rng(limit + 10 * size)
    possible = as_rows(list(combinations(range(N_ITEMS), size)))
    most = 0
    for _ in range(40):
        rows = possible[rng.random(len(possible)) < rng.choice([0.3, 0.7, 1.0])]
        scores: Floats = rng.integers(-20, 100, len(rows)).astype(float)
        kappa = sensitivity(limit, size, len(rows), 1)
        assert kappa <= max(1, len(rows))
        if not len(rows):
            continue
        for record in [*RECORDS, tuple(range(N_ITEMS))]:
            moved = int(count_candidates(of([record]), rows, scores, limit).sum())
            assert moved <= kappa
            most = max(most, moved - kappa + 1)
    assert most == (1 if limit >= size else 0)  # it is reached, but where nothing fits


def test_all_counts_move_no_more_than_paid_for() -> None:
    """Items, pairs and lengths of neighbours, data sets enumerated."""
    rng = np.random.default_rng(5)
    pairs = as_rows(list(combinations(range(N_ITEMS), 2)))
    for records, fewer in neighbours():
        scores = rng.integers(-5, 50, len(pairs)).astype(float)
        of_pairs = [count_candidates(part, pairs, scores, 3) for part in (records, fewer)]
        assert distance(*of_pairs) <= sensitivity(3, 2, len(pairs), 1)
        # the added record is the last, so that with one seed the others are cut alike: the coupling of the proof
        of_items = [count_items(random_truncation(part, 2, rng=Seeded(3))) for part in (records, fewer)]
        assert distance(*of_items) <= sensitivity(2, 1, N_ITEMS, 1)


@pytest.mark.parametrize("longest", [0, 2, 4])
def test_lengths_move_by_one(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.curator.lengths.noisy", lambda counts, **paid: counts)
    for records, fewer in neighbours():
        one, other = (noisy_lengths(part.sizes, epsilon=1.0, longest=longest).counts for part in (records, fewer))
        assert len(one) == len(other) == longest + 1
        assert distance(one, other) == 1


def test_two_records_for_one_that_is_exchanged() -> None:
    assert sensitivity(3, 2, 100, 2) == 2 * sensitivity(3, 2, 100, 1) == 6
    assert sensitivity(3, 2, 2, 1) == 2


# ---------------------------------------------------------------------------------------------------- cardinality


@given(st.lists(st.sampled_from(RECORDS), max_size=8), st.integers(1, 4))
def test_largest_supports(records: list[Record], floor: int) -> None:
    expected = [
        max(floor, *(sum(set(row) <= set(record) for record in records) for row in combinations(range(N_ITEMS), i)))
        for i in range(1, 5)
    ]
    assert largest_supports(of(records), floor=floor, cap=4).tolist() == expected


@given(st.lists(st.sampled_from(RECORDS), max_size=8), st.sampled_from(RECORDS), st.integers(1, 4))
def test_largest_supports_move_by_one_each(records: list[Record], added: Record, floor: int) -> None:
    one, other = (largest_supports(of(part), floor=floor, cap=4) for part in ([*records, added], records))
    assert ((one - other >= 0) & (one - other <= 1)).all()


@given(st.lists(st.sampled_from(RECORDS), min_size=1, max_size=8), st.sampled_from(RECORDS), st.integers(1, 4))
def test_largest_supports_move_by_one_each_where_a_record_is_exchanged(
    records: list[Record], instead: Record, floor: int
) -> None:
    """Not by two: what the one takes the other may give back, never more."""
    one, other = (largest_supports(of(part), floor=floor, cap=4) for part in (records, [instead, *records[1:]]))
    assert np.abs(one - other).max() <= 1


@given(st.lists(st.sampled_from(RECORDS), min_size=1, max_size=8), st.sampled_from(RECORDS), st.integers(1, 12))
def test_the_kth_support_moves_by_one(records: list[Record], other: Record, k: int) -> None:
    """Where a record comes, and where one takes the place of another."""
    before = kth_support(of(records), k, 3)
    assert kth_support(of([*records, other]), k, 3) - before in (0, 1)
    assert abs(kth_support(of([other, *records[1:]]), k, 3) - before) <= 1


@given(st.lists(st.sampled_from(RECORDS), max_size=12), st.integers(1, 4), st.integers(1, 5))
def test_largest_supports_by_either_way(records: list[Record], floor: int, cap: int) -> None:
    """Listed, or sought without listing."""
    listed = largest_supports(of(records), floor=floor, cap=cap)
    np.testing.assert_array_equal(cardinality._sought(of(records), floor, cap), listed)


def test_records_alike_are_no_trouble() -> None:
    """Thirty records of sixty items have 2^60 itemsets in common; so would one less."""
    alike = [tuple(range(60))]
    for number in (29, 30):
        baskets = Baskets(alike * number + [(0,)] * 50, items=range(60))
        assert largest_supports(baskets, floor=29, cap=15).tolist() == [50 + number] + [number] * 14


def test_supports_that_are_copied_move_by_more() -> None:
    """Section 6 as printed: the first pair to reach the floor takes y_2 from y_1 down to the floor."""
    fewer: list[Record] = [(0,)] * 7 + [(0, 1)] * 2
    records = [*fewer, (0, 1)]
    assert broken.copied_supports(of(fewer), floor=3, cap=2).tolist() == [9, 9]
    assert broken.copied_supports(of(records), floor=3, cap=2).tolist() == [10, 3]
    assert largest_supports(of(fewer), floor=3, cap=2).tolist() == [9, 3]
    assert largest_supports(of(records), floor=3, cap=2).tolist() == [10, 3]
