"""Literals: an item, or that it is missing, whichever fewer records hold.

What dense records lack is sparse: a record of 37 items that each nine tenths of the records hold lacks four of them.
The literals of a record are one word of 64 bits; all that is computed of them here is exact, and not for release.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.curator.population.kernels import add_pairs, add_singles, held_literals
from bosket.curator.population.leaves import Leaves, LiteralWords
from bosket.curator.sieve.contributions import Units
from bosket.data import Baskets
from bosket.data.domain import ItemIds
from bosket.threads import parallel_map, slices

MOST_LITERALS = 64
"""Of one population: the bits of a word."""
_RECORDS = 1 << 16  # in one call of a kernel


@dataclass(frozen=True, eq=False)
class Literals:
    """Some items, and of which of them it is measured that they are missing."""

    items: ItemIds
    complemented: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.items)

    def patterns(self, baskets: Baskets) -> LiteralWords:
        """The literals of each record, as bits of a word."""
        bit = np.zeros(baskets.n_items, np.uint64)
        bit[self.items] = np.uint64(1) << np.arange(len(self.items), dtype=np.uint64)
        result = np.zeros(baskets.n_records, np.uint64)
        ends = baskets.indptr
        for start, stop in slices(baskets.n_records, _RECORDS):
            record = np.repeat(np.arange(start, stop), np.diff(ends[start : stop + 1]))
            np.bitwise_or.at(result, record, bit[baskets.indices[ends[start] : ends[stop]]])
        missing = np.bitwise_or.reduce(bit[self.items[self.complemented]], initial=np.uint64(0))
        return np.asarray(result ^ missing)

    def words(self, rows: ItemsetRows) -> tuple[LiteralWords, LiteralWords]:
        """Of itemsets, places filled up with -1: the literals that they ask for, and those of them that a record that
        holds the itemset has.
        """
        bits = np.where(rows >= 0, np.uint64(1) << np.maximum(rows, 0).astype(np.uint64), np.uint64(0))
        present = np.where(self.complemented[rows], np.uint64(0), bits)
        return np.bitwise_or.reduce(bits, axis=1), np.bitwise_or.reduce(present, axis=1)


class LiteralRecords:
    """The literals that records hold."""

    def __init__(self, baskets: Baskets, literals: Literals) -> None:
        self._patterns = literals.patterns(baskets)
        self._n_literals = len(literals)

    @cached_property
    def held(self) -> Units:
        """How many literals each record holds."""
        held = np.empty(len(self._patterns), np.int64)
        parallel_map(lambda part: held_literals(self._patterns[slice(*part)], held[slice(*part)]), self._parts())
        return held

    @property
    def n_patterns(self) -> int:
        """How many patterns there are."""
        return len(np.unique(self._patterns))

    @property
    def n_records(self) -> int:
        return len(self._patterns)

    def holding(self, masks: LiteralWords, values: LiteralWords) -> Counts:
        """How many records have just these values of the literals of each mask."""

        def one(part: tuple[int, int]) -> Counts:
            words = self._patterns[slice(*part)]
            found = [np.count_nonzero(words & mask == value) for mask, value in zip(masks, values, strict=True)]
            return np.array(found, np.int64)

        return np.sum(parallel_map(one, self._parts()), axis=0, dtype=np.int64) + np.zeros(len(masks), np.int64)

    def counts(self, leaves: Leaves) -> Counts:
        """How many records are in each leaf."""
        return leaves.counts(self._patterns)

    def singles(self, units: Units) -> Counts:
        """Of each literal the units of the records that hold it."""

        def one(part: tuple[int, int]) -> Counts:
            sums = np.zeros(self._n_literals, np.int64)
            add_singles(self._patterns[slice(*part)], units[slice(*part)], sums)
            return sums

        return np.sum(parallel_map(one, self._parts()), axis=0, dtype=np.int64) + np.zeros(self._n_literals, np.int64)

    def pairs(self, units: Units) -> Counts:
        """The same of each pair of literals, in the order of ``np.triu_indices``."""

        def one(part: tuple[int, int]) -> Counts:
            sums = np.zeros((self._n_literals, self._n_literals), np.int64)
            add_pairs(self._patterns[slice(*part)], units[slice(*part)], sums)
            return sums[np.triu_indices(self._n_literals, 1)]

        zero = np.zeros(self._n_literals * (self._n_literals - 1) // 2, np.int64)
        return np.sum(parallel_map(one, self._parts()), axis=0, dtype=np.int64) + zero

    def _parts(self) -> list[tuple[int, int]]:
        return list(slices(len(self._patterns), _RECORDS))
