"""Itemsets that a search kept, with their estimates, found again by what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.counting.table import ItemsetIndex, patterns
from bosket.evidence.carried import NONE_LOOKED_AT, Carried
from bosket.statistics.estimates import Floats, standard_error

Places = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Level:
    """Itemsets of one size with what is known of their support counts."""

    items: ItemsetRows
    value: Floats | npt.NDArray[np.int64]
    """Estimated support counts; whole numbers where they are exact."""
    variance: Floats
    """Of the coins alone; unbiased, so it may dip below 0 where the truth is next to 0."""
    least: Floats
    """The smallest variance that any data set of this size could have."""
    observed: Counts
    """Numbers of reports that show each itemset: a row per stratum, a column per itemset."""
    carried: Carried = NONE_LOOKED_AT
    """Which supports a few reports carry, of all that were estimated with these."""

    def __len__(self) -> int:
        return len(self.items)

    @property
    def size(self) -> int:
        size: int = self.items.shape[1]
        return size

    @property
    def noise(self) -> Floats:
        """The variance of the coins, no smaller than the least."""
        result: Floats = np.maximum(self.variance, self.least)
        return result

    @property
    def stderr(self) -> Floats:
        """Of the coins alone, of a support count."""
        return standard_error(self.variance, self.least)

    @cached_property
    def shown(self) -> npt.NDArray[Any]:
        """Numbers of reports that show each itemset, of all strata together; not a number where reports show none."""
        if not len(self.observed):
            return np.full(len(self.items), np.nan)
        shown: npt.NDArray[np.int64] = self.observed[0] if len(self.observed) == 1 else self.observed.sum(axis=0)
        return shown

    @cached_property
    def index(self) -> ItemsetIndex:
        return ItemsetIndex(self.items)

    def take(self, chosen: Any) -> Level:
        """Some of the itemsets, by number or by truth value."""
        if isinstance(chosen, np.ndarray) and chosen.dtype == bool and chosen.all():
            return self
        return Level(
            np.ascontiguousarray(self.items[chosen]),
            self.value[chosen],
            self.variance[chosen],
            self.least[chosen],
            self.observed[:, chosen],
            self.carried,
        )

    @classmethod
    def exact(cls, items: ItemsetRows, counts: npt.NDArray[np.int64]) -> Level:
        """Itemsets whose supports were counted in raw records."""
        nothing = np.broadcast_to(np.float64(0.0), len(items))
        return cls(items, counts, nothing, nothing, counts[None, :])


class Kept:
    """Levels of a search, sizes 1, 2 and so on; every subset of an itemset is in it."""

    def __init__(self, stratum_records: npt.NDArray[np.int64], levels: Sequence[Level] = ()) -> None:
        self.stratum_records = stratum_records
        self.levels = list(levels)
        self.carried = NONE_LOOKED_AT
        """Which supports a few reports carry, of all that were estimated on the way."""
        self.n_not_covered = 0
        """How many itemsets were left out on the way since no report tells of them."""
        self.n_hopeless = 0
        """How many were left out since they are off by more than any support could be."""

    @property
    def n_records(self) -> int:
        return int(self.stratum_records.sum())

    def find(self, row: ItemsetRows) -> int:
        """Where one itemset stands in its level; -1 if it was not kept."""
        size = row.shape[1]
        return int(self.levels[size - 1].index.find(row)[0]) if 0 < size <= len(self.levels) else -1

    def places(self, rows: ItemsetRows) -> Places:
        """Where each subset of each itemset stands in its level, by pattern: shape (n, 2**k)."""
        n, k = rows.shape
        result = np.zeros((n, 1 << k), np.int64)
        for size in range(1, k + 1):
            masks, positions = patterns(k, size)
            found = self.levels[size - 1].index.find(rows[:, positions].reshape(-1, size))
            result[:, masks] = found.reshape(n, len(masks))
        return result

    def by_pattern(self, columns: Sequence[npt.NDArray[Any]], places: Places, empty: Any) -> Any:
        """A value of each subset, from a column for every level; the last axis of a column is that of itemsets."""
        n, width = places.shape
        k = width.bit_length() - 1
        result = np.empty((*columns[0].shape[:-1], n, width), columns[0].dtype)
        result[..., 0] = empty
        for size in range(1, k + 1):
            masks, _ = patterns(k, size)
            result[..., masks] = columns[size - 1][..., places[:, masks]]
        return result

    def subset_counts(self, rows: ItemsetRows, own: Counts) -> Counts:
        """Numbers of reports that show each subset of itemsets one larger than all kept; ``own`` are theirs."""
        n, k = rows.shape
        result = np.empty((len(own), n, 1 << k), np.int64)
        result[:, :, 0], result[:, :, -1] = self.stratum_records[:, None], own
        for size in range(1, k):
            masks, positions = patterns(k, size)
            level = self.levels[size - 1]
            place = level.index.find(rows[:, positions].reshape(-1, size))
            assert place.min(initial=0) >= 0, "every subset must have been kept"
            result[:, :, masks] = level.observed[:, place].reshape(len(own), n, len(masks))
        return result
