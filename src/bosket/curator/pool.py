"""Itemsets whose exact supports are looked at before noise is added: a family that public and paid numbers settle.

To find the largest or the k-th largest support among *all* itemsets takes a search whose time and memory hang on the
data: one record more took it from one second to a minute.  Here the family is settled beforehand.  Items are ranked by
noisy supports, which are paid for, and the itemsets of i items are those among the first M_i of the ranking, where

    M_i = the largest M with C(M, j) <= min(ITEMSETS, WORK / W) for j = 2 .. i
    W   = ceil(noisy number of records / 64)

All of them are counted in bitmaps, without pruning: time and memory follow from these numbers and the true number of
records.  Pools are nested, so supports do not grow with the size.

Whatever the family, as long as it does not hang on the data: one record more or less moves the largest and the k-th
largest of its supports by one at most, since it moves each of them by one at most.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain, combinations
from math import comb

import numpy as np

from bosket.counting.base import Counts, ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.curator.columns import bitmaps_of
from bosket.curator.kernels import best_triangle
from bosket.curator.truncation import widest
from bosket.data import Baskets
from bosket.data.domain import ItemIds
from bosket.threads import parallel_map

WORK = 1 << 27
"""Words of bitmaps that are looked at for the itemsets of one size."""
ITEMSETS = 1 << 18
"""Of one size, where records are few."""


def width(size: int, n_items: int, n_records: int) -> int:
    """M_i of the module: how many items the itemsets of this size are looked for among; ``n_records`` is noisy.

    >>> [width(size, 1000, 60_000) for size in (1, 2, 3, 4, 15)]
    [1000, 535, 96, 44, 19]
    """
    most = max(1, min(ITEMSETS, WORK // max(1, -(-n_records // 64))))
    return min([n_items, *(widest(part, n_items, most) for part in range(2, size + 1))])  # items need no bitmaps


class Pool:
    """Exact supports of itemsets of the most frequent items: for callers that add noise to what they make of them."""

    def __init__(self, baskets: Baskets, ranked: ItemIds, n_records: int) -> None:
        """``ranked`` are all items, the likely most frequent first; ``n_records`` is the noisy number of records."""
        self._baskets = baskets
        self._ranked = ranked
        self._n_records = n_records

    def width(self, size: int) -> int:
        return width(size, len(self._ranked), self._n_records)

    def supports(self, size: int) -> Counts:
        """The supports of all itemsets of this size in the pool, in no order that says anything."""
        if size == 1:
            return self._baskets.item_counts()
        rows = _all(self.width(size), size)
        return self._bitmaps.supports(rows)[0] if len(rows) else np.zeros(0, np.int64)

    def largest(self, size: int) -> int:
        """The largest support of an itemset of this size in the pool.

        Of three items it is the largest support that three pairs, two by two of three items, all have.  That is no less
        than the support of any triple, moves by one at most as well, and reaches as far as pairs do.
        """
        if size == 3:
            return self._best_triangle()
        return int(self.supports(size).max(initial=0))

    def _best_triangle(self) -> int:
        n = self.width(2)
        table = np.zeros((n, n), np.int64)
        left, right = np.triu_indices(n, 1)
        table[left, right] = table[right, left] = self.supports(2)
        return max(parallel_map(lambda first: int(best_triangle(table, first)), range(n)), default=0)

    @cached_property
    def _bitmaps(self) -> Bitmaps:
        """A column for each item of the pool of pairs, the widest there is; columns stand by rank."""
        return bitmaps_of(self._baskets, self._ranked[: self.width(2)])


def _all(n: int, size: int) -> ItemsetRows:
    """All itemsets of this size of n items, a row each, in order."""
    if size == 2:
        return np.stack(np.triu_indices(n, 1), axis=1).astype(np.int32)
    flat = np.fromiter(chain.from_iterable(combinations(range(n), size)), np.int32, count=size * comb(n, size))
    return flat.reshape(-1, size)
