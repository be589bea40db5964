"""How bitmaps are counted in pieces; that counts are right is in tests/contracts/test_counters.py."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

from bosket.counting import Bitmaps, bitmaps, kernels


@pytest.mark.parametrize("kernel, size", [("count_columns", 1), ("count_pairs", 2), ("count_groups", 3)])
def test_a_piece_has_a_table_of_its_own_strata_alone(kernel: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row of counts for each piece, and one more where a piece reaches over a border: not all strata each time."""
    monkeypatch.setattr(bitmaps, "_BLOCK_WORDS", 8)
    monkeypatch.setattr(bitmaps, "_WORK", 1)  # a piece for each block
    monkeypatch.setattr(bitmaps, "_SMALL", 0)
    sizes = [3000, 1, 70, 2000, 64, 1, 1, 4000, 500, 900]
    chance = np.random.default_rng(3)
    strata = chance.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.int32)
    dense = chance.random((len(strata), 64)) < 0.4
    rows = np.packbits(dense, axis=1, bitorder="little").view(np.uint64)
    counter = Bitmaps.from_rows(rows, 64, strata=strata)
    itemsets = np.array(list(itertools.combinations(range(9), size)), np.int32)
    original, tables = getattr(kernels, kernel), []

    def seen(*arguments: object) -> None:
        tables.append(len(arguments[-1]))  # type: ignore[arg-type]  # the counts
        original(*arguments)

    monkeypatch.setattr(kernels, kernel, seen)
    found = counter.supports(itemsets)
    has = np.all(dense[:, itemsets], axis=2)
    np.testing.assert_array_equal(found, [has[strata == stratum].sum(axis=0) for stratum in range(len(sizes))])
    assert len(tables) > len(sizes)
    assert sum(tables) < len(tables) + len(sizes)


def test_a_piece_may_reach_over_strata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pieces, on two cores, of five strata with an empty one among them."""
    monkeypatch.setattr(bitmaps, "n_threads", lambda: 2)
    monkeypatch.setattr(bitmaps, "_SMALL", 0)
    columns = np.full((3, 5), (1 << 64) - 1, np.uint64)
    counter = Bitmaps(columns, strata=range(5), stratum_records=[64, 64, 0, 128, 64])
    pairs = np.array([[0, 1], [0, 2], [1, 2]], np.int32)
    np.testing.assert_array_equal(counter.supports(pairs), np.repeat([[64], [64], [0], [128], [64]], 3, axis=1))


@pytest.mark.parametrize("n_strata", [0, 1, 3])
def test_bitmaps_take_little_beside_the_records(n_strata: int) -> None:
    """The order of records is kept where there are several strata, once; it took 16 bytes a record in any case."""
    n = 1_000_000
    rows = np.full((n, 1), 5, np.uint64)
    strata = (np.arange(n) % n_strata).astype(np.int32) if n_strata else None
    Bitmaps.from_rows(rows[:100], 8, strata=None if strata is None else strata[:100])  # compiled before
    tracemalloc.start()
    try:
        counter = Bitmaps.from_rows(rows, 8, strata=strata)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    bitmaps_of_8, a_few_pieces = n, 6 << 20
    assert peak < bitmaps_of_8 + (14 * n if n_strata > 1 else 5 * n if n_strata else 0) + a_few_pieces
    assert counter.supports(np.array([[0], [1], [2]], np.int32)).sum(axis=0).tolist() == [n, 0, n]
