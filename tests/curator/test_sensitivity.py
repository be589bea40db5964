"""How far one record moves what noise is added to: by enumeration over small universes, and kernels by plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations, combinations_with_replacement, product
from math import comb

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.counting.base import Counts, ItemsetRows
from bosket.curator import Settings, kernels, pool
from bosket.curator.cardinality import kth_support
from bosket.curator.lengths import noisy_lengths
from bosket.curator.levels import sensitivity
from bosket.curator.pool import Pool, width
from bosket.curator.truncation import count_candidates, count_items, foremost_items, random_truncation
from bosket.data import Baskets
from bosket.errors import ParameterError
from bosket.randomness import Seeded
from bosket.statistics.estimates import Floats
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


@pytest.mark.parametrize("cap", range(2, 28))
def test_one_record_takes_steps_by_public_numbers(cap: int) -> None:
    """At the largest ``extra`` that there is: taken candidates times those that are gone through for each."""
    extra = max(extra for extra in range(100) if _is_allowed(extra, cap))
    for size, n_items in product(range(2, cap + 1), (30, 1000, 10**6)):
        limit = size + extra
        seen = foremost_items(size, limit, n_items)
        assert comb(limit, size) * comb(seen, size) <= 1 << 24
    assert extra >= 3, "the default"


def _is_allowed(extra: int, cap: int) -> bool:
    try:
        return Settings(extra=extra, cap=cap).extra == extra
    except ParameterError:
        return False


def test_what_is_taken_without_new_items_counts() -> None:
    """{1, 5} and {3, 5} add no items once {0, 1}, {0, 5} and {0, 3} are kept, but without them item 2 came before 4."""
    rows: list[Record] = [(0, 1), (0, 2), (0, 3), (0, 5), (1, 5), (2, 6), (3, 5), (4, 5)]
    scores = [19.0, 5.0, 7.0, 16.0, 11.0, 12.0, 10.0, 6.0]
    assert smart(tuple(range(7)), rows, scores, 5) == {0, 1, 3, 4, 5}
    counts = count_candidates(Baskets([range(7)], items=range(7)), as_rows(rows), np.array(scores), 5)
    assert counts.tolist() == [1, 0, 1, 1, 1, 0, 1, 1]


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


@pytest.mark.slow
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
def test_lengths_move_by_one(longest: int) -> None:
    paid = {"granted": broken.Unpaid(1.0), "epsilon": 1.0}
    for records, fewer in neighbours():
        one, other = (noisy_lengths(part.sizes, longest=longest, **paid).counts for part in (records, fewer))  # type: ignore[arg-type]
        assert len(one) == len(other) == longest + 1
        assert distance(one, other) == 1


def test_two_records_for_one_that_is_exchanged() -> None:
    assert sensitivity(3, 2, 100, 2) == 2 * sensitivity(3, 2, 100, 1) == 6
    assert sensitivity(3, 2, 2, 1) == 2


# ---------------------------------------------------------------------------------------------------- the pool

RANKED = np.arange(N_ITEMS, dtype=np.int32)


def pool_of(records: list[Record], ranked: npt.NDArray[np.int32] = RANKED) -> Pool:
    return Pool(of(records), ranked, 10)


def supports_of(records: list[Record], items: Iterable[int], size: int) -> list[int]:
    """By definition."""
    return [sum(set(row) <= set(record) for record in records) for row in combinations(sorted(items), size)]


def narrow(monkeypatch: pytest.MonkeyPatch, n_itemsets: int) -> None:
    """So little work that pools have fewer items than there are."""
    monkeypatch.setattr(pool, "ITEMSETS", n_itemsets)


@pytest.mark.parametrize("n_itemsets", [3, 6, 1000])
@given(st.lists(st.sampled_from(RECORDS), max_size=8), st.permutations(range(N_ITEMS)))
def test_supports_in_a_pool(n_itemsets: int, records: list[Record], order: list[int]) -> None:
    """All itemsets of the first items in the ranking: as many items as the work allows for."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        narrow(monkeypatch, n_itemsets)
        here = pool_of(records, np.array(order, np.int32))
        for size in range(1, 5):
            allowed = (all(comb(m, part) <= n_itemsets for part in range(2, size + 1)) for m in range(N_ITEMS + 1))
            n = max(m for m, is_allowed in enumerate(allowed) if is_allowed)
            assert here.width(size) == n
            expected = supports_of(records, order[:n], size)
            assert sorted(here.supports(size).tolist()) == sorted(expected)
            if size != 3:
                assert here.largest(size) == max(expected, default=0)


@given(st.lists(st.sampled_from(RECORDS), max_size=8))
def test_triangles(records: list[Record]) -> None:
    """Three pairs of three items, of which the rarest is as frequent as can be; no triple is more frequent."""
    supports = dict(zip(combinations(range(N_ITEMS), 2), supports_of(records, range(N_ITEMS), 2), strict=True))
    expected = max(min(supports[pair] for pair in combinations(row, 2)) for row in combinations(range(N_ITEMS), 3))
    assert pool_of(records).largest(3) == expected >= max(supports_of(records, range(N_ITEMS), 3))


@given(st.lists(st.sampled_from(RECORDS), min_size=1, max_size=8), st.sampled_from(RECORDS), st.integers(1, 12))
def test_all_that_a_pool_gives_moves_by_one(records: list[Record], other: Record, k: int) -> None:
    """The largest support of each size and the k-th of all, where a record comes, and where one takes another's place.

    Not by two where one is exchanged: what the one takes the other may give back, never more.
    """
    before, more, instead = (pool_of(part) for part in (records, [*records, other], [other, *records[1:]]))
    numbers: list[Callable[[Pool], int]] = [partial(kth_support, k=k)]
    for number in numbers + [partial(Pool.largest, size=size) for size in range(1, 5)]:
        assert number(more) - number(before) in (0, 1)
        assert abs(number(instead) - number(before)) <= 1


@given(st.lists(st.sampled_from(RECORDS), max_size=8), st.integers(1, 40))
def test_the_kth_support(records: list[Record], k: int) -> None:
    known = sorted((n for size in range(1, 5) for n in supports_of(records, range(N_ITEMS), size)), reverse=True)
    assert kth_support(pool_of(records), k) == (known[k - 1] if k <= len(known) else 0)


def test_supports_do_not_grow_with_the_size() -> None:
    """The search for the largest size goes by halves, which needs that."""
    rng = np.random.default_rng(3)
    baskets = Baskets([np.flatnonzero(rng.random(40) < 0.5).tolist() for _ in range(50)], items=range(40))
    here = Pool(baskets, np.arange(40, dtype=np.int32), 2_000_000)  # so many that pools are narrow
    found = [here.largest(size) for size in range(1, 12)]
    assert here.width(2) == 40 > here.width(4) > here.width(8)
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("n_records", [1, 70_000, 10_000_000])
def test_the_work_is_bounded_by_public_numbers(n_records: int) -> None:
    """Whatever the data: a pool has no more itemsets than the work allows for, and the next wider one has more."""
    most = min(pool.ITEMSETS, pool.WORK // -(-n_records // 64))
    for n_items in (3, 500, 50_000):
        for size in range(2, 16):
            n = width(size, n_items, n_records)
            assert all(comb(n, part) <= most for part in range(2, size + 1))
            assert n == n_items or any(comb(n + 1, part) > most for part in range(2, size + 1))


def test_records_alike_are_no_trouble() -> None:
    """Thirty records of sixty items have 2^60 itemsets in common; so would one less."""
    alike = [tuple(range(60))]
    for number in (29, 30):
        baskets = Baskets(alike * number + [(0,)] * 50, items=range(60))
        here = Pool(baskets, np.arange(60, dtype=np.int32), 80)
        assert [here.largest(size) for size in (1, 2, 3, 6)] == [50 + number] + [number] * 3


@given(problems(), st.integers(2, 4))
def test_a_record_cut_by_rank_first(
    problem: tuple[list[Record], list[Record], list[float], int], n_itemsets: int
) -> None:
    """A record with too many items loses those whose best candidate has the lowest score, before anything else."""
    records, rows, scores, limit = problem
    size = len(rows[0])
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("bosket.curator.truncation._ITEMSETS", n_itemsets)
        found = count_candidates(Baskets(records, items=range(8)), as_rows(rows), np.array(scores), limit)
    most = max(limit, max(n for n in range(size, 12) if comb(n, size) <= n_itemsets))
    best = {item: max(s for s, row in zip(scores, rows, strict=True) if item in row) for row in rows for item in row}
    first = sorted(best, key=lambda item: (-best[item], item))
    expected = [0] * len(rows)
    for whole in records:
        record = [item for item in whole if item in best]
        if len(record) > limit:
            record = sorted(sorted(record, key=first.index)[:most])
            kept = smart(tuple(record), rows, scores, limit)
        else:
            kept = set(record)
        for j in held(tuple(kept), rows):
            expected[j] += 1
    assert found.tolist() == expected


def test_supports_that_are_copied_move_by_more() -> None:
    """Section 6 as printed: the first pair to reach the floor takes y_2 from y_1 down to the floor."""
    fewer: list[Record] = [(0,)] * 7 + [(0, 1)] * 2
    records = [*fewer, (0, 1)]
    assert broken.copied_supports(of(fewer), floor=3, cap=2).tolist() == [9, 9]
    assert broken.copied_supports(of(records), floor=3, cap=2).tolist() == [10, 3]
    assert [pool_of(fewer).largest(size) for size in (1, 2)] == [9, 2]
    assert [pool_of(records).largest(size) for size in (1, 2)] == [10, 3]
