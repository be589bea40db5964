"""Exact itemsets of records that are searched part by part, and the order of the search from itemsets alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket.counting.base import ItemsetRows
from bosket.data.baskets.rows import Csr
from bosket.mining.exact import exact_itemsets
from bosket.mining.exact_order import in_search_order
from bosket.mining.exact_parts import exact_by_parts

N_ITEMS = 7
RECORDS = st.lists(st.sets(st.integers(0, N_ITEMS - 1), max_size=N_ITEMS), min_size=1, max_size=24)


def csr_of(records: list[set[int]]) -> Csr:
    baskets = bk.Baskets(records, items=range(N_ITEMS))
    return Csr(baskets.indptr, baskets.indices, baskets.domain)


def searched(
    records: list[set[int]], min_count: int, max_size: int | None = None
) -> list[tuple[list[object], list[int]]]:
    csr = csr_of(records)
    found = exact_itemsets(
        csr.indptr, csr.indices, N_ITEMS, min_count=min_count, max_size=max_size, max_itemsets=10_000
    )
    return [(items.tolist(), counts.tolist()) for items, counts in found]


def counted(csr: Csr, itemsets: ItemsetRows) -> npt.NDArray[np.int64]:
    """By definition."""
    records = [set(csr.indices[lo:hi].tolist()) for lo, hi in pairwise(csr.indptr)]
    return np.array([sum(set(row) <= record for record in records) for row in itemsets.tolist()], np.int64)


@given(records=RECORDS, min_count=st.integers(1, 4), seed=st.integers(0, 9))
def test_the_order_follows_from_the_itemsets(records: list[set[int]], min_count: int, seed: int) -> None:
    """Perfect extensions abound in so few records."""
    expected = searched(records, min_count)
    rng = np.random.default_rng(seed)
    levels = []
    for items, counts in expected:
        order = rng.permutation(len(counts))
        levels.append((np.array(items, np.int32)[order], np.array(counts, np.int64)[order]))
    found = in_search_order(levels, N_ITEMS)
    assert [(items.tolist(), counts.tolist()) for items, counts in found] == expected


@given(
    records=RECORDS,
    cuts=st.lists(st.integers(0, 24), max_size=3),
    min_count=st.integers(1, 5),
    max_size=st.sampled_from([None, 1, 2, 3]),
)
def test_parts_find_what_all_records_hold(
    records: list[set[int]], cuts: list[int], min_count: int, max_size: int | None
) -> None:
    """Any parts, empty ones too."""
    borders = [0, *sorted(min(cut, len(records)) for cut in cuts), len(records)]
    pieces = [records[lo:hi] for lo, hi in pairwise(borders)]

    def parts(is_asked: npt.NDArray[np.bool_]) -> Iterator[Csr]:
        for piece in pieces:
            yield csr_of([{item for item in record if is_asked[item]} for record in piece])

    found = exact_by_parts(
        parts,
        [len(piece) for piece in pieces],
        np.array([sum(item in record for record in records) for item in range(N_ITEMS)], np.int64),
        min_count=min_count,
        max_size=max_size,
        max_itemsets=10_000,
        count=counted,
    )
    assert [(items.tolist(), counts.tolist()) for items, counts in found] == searched(records, min_count, max_size)
