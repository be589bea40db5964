"""Contributions of records to the itemsets that are measured, bounded and in whole units.

A record that holds k of the active itemsets adds c(k) units to each of them, where RESOLUTION units are one record:

    pure       c(k) = min(R, floor(b / k))         k c(k)   <= b    the L1 norm of what one record adds
    Gaussian   c(k) = min(R, isqrt(floor(b / k)))  k c(k)^2 <= b    its L2 norm, squared

Everything is rounded down, in whole numbers, so the bound holds to the last unit.  Scaling all that a long record adds
has the mean of drawing some of its itemsets, with less variance.  Neighbours: one record comes or goes, or, where one
is replaced, one goes and one comes.  Vectors that are not negative have ||x - y||_1 <= ||x||_1 + ||y||_1 and
||x - y||_2^2 <= ||x||_2^2 + ||y||_2^2, so with n records that differ the sensitivity is n b or sqrt(n b).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, partial
from threading import Lock
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.curator.columns import bitmaps_of
from bosket.curator.noise import GAUSSIAN, LAPLACE, NoiseLaw
from bosket.curator.sieve.kernels import add_units, count_held
from bosket.data import Baskets
from bosket.statistics.estimates import Floats
from bosket.threads import parallel_map, slices

RESOLUTION = 1 << 10
"""Units that one whole record is."""
_RECORDS = 1 << 17  # in one step
_WORDS = 64  # of a column in one call of a kernel
_ITEMSETS = 1 << 13  # in one call: together half a million words, or 34 million records that hold an itemset

Units = npt.NDArray[np.int64]


class Bounding(ABC):
    """How contributions are bounded, and the noise that such a bound is for."""

    law: NoiseLaw
    clear: float
    """Standard deviations that the noise of one number in 2400 passes, upwards."""
    foresees_cuts: bool
    """Whether crowds say how much is cut at least: the law that they follow is one of L1 norms."""

    @abstractmethod
    def budget(self, bound: float) -> int:
        """The bound in whole units (pure), or in squares of them (Gaussian); ``bound`` is in itemsets of one record."""

    @abstractmethod
    def units(self, held: Units, budget: int) -> Units:
        """What a record adds to each of the itemsets that it holds, by their number; 0 where it holds none."""

    @abstractmethod
    def sensitivity(self, budget: int, per_person: int) -> float:
        """The distance of sums over neighbours, at most."""

    @abstractmethod
    def norm_of_ones(self, number: int) -> float:
        """The norm of a vector with so many ones, or ones with a minus, and zeros."""

    @abstractmethod
    def deviation(self, scale: float) -> float:
        """The standard deviation of the noise of this scale."""

    @abstractmethod
    def log_density(self, errors: Floats) -> Floats:
        """The logarithm of the density of noise, in scales, up to a constant."""

    def weights(self, held: Units, bound: float) -> Floats:
        """The share of a whole record that is added, by the number of itemsets held."""
        return np.asarray(self.units(held, self.budget(bound)) / RESOLUTION)


class PureBounding(Bounding):
    """L1 norms, for Laplace noise."""

    law = LAPLACE
    clear = 5.0  # exp(-5 sqrt(2)) / 2
    foresees_cuts = True

    def budget(self, bound: float) -> int:
        return math.floor(bound * RESOLUTION)

    def units(self, held: Units, budget: int) -> Units:
        return np.where(held > 0, np.minimum(RESOLUTION, budget // np.maximum(held, 1)), 0)

    def sensitivity(self, budget: int, per_person: int) -> float:
        return per_person * budget

    def norm_of_ones(self, number: int) -> float:
        return number

    def deviation(self, scale: float) -> float:
        return math.sqrt(2) * scale

    def log_density(self, errors: Floats) -> Floats:
        return np.asarray(-np.abs(errors))


class GaussianBounding(Bounding):
    """L2 norms, for Gaussian noise."""

    law = GAUSSIAN
    clear = 3.34  # of the normal law
    foresees_cuts = False

    def budget(self, bound: float) -> int:
        return math.floor(bound * RESOLUTION**2)

    def units(self, held: Units, budget: int) -> Units:
        squares = np.minimum(RESOLUTION**2, budget // np.maximum(held, 1))
        roots = np.floor(np.sqrt(squares)).astype(np.int64)  # exact: squares up to 2^20 have exact roots in doubles
        return np.where(held > 0, roots, 0)

    def sensitivity(self, budget: int, per_person: int) -> float:
        return math.nextafter(math.sqrt(per_person * budget), math.inf)

    def norm_of_ones(self, number: int) -> float:
        return 1.0 if number == 1 else math.nextafter(math.sqrt(number), math.inf)

    def deviation(self, scale: float) -> float:
        return scale

    def log_density(self, errors: Floats) -> Floats:
        return np.asarray(-0.5 * errors**2)


PURE: Bounding = PureBounding()
CONCENTRATED: Bounding = GaussianBounding()


class HeldOfRecords(Protocol):
    """What each record in memory holds of the itemsets that a round measures: exact, not for release."""

    @property
    def held(self) -> Units:
        """Of each record, how many of the itemsets it holds."""

    def held_by(self, groups: Units) -> Units:
        """The same by group of itemsets, a row each; ``groups`` has the number of the group of each itemset."""

    def sums(self, units: Units) -> Counts:
        """Of each itemset the units of the records that hold it; ``units`` has those of each record."""


class ActiveItems:
    """All single items, which need no bitmaps."""

    def __init__(self, baskets: Baskets) -> None:
        self._baskets = baskets
        self.held: Units = baskets.sizes.astype(np.int64)

    def held_by(self, groups: Units) -> Units:
        n_groups, baskets = int(groups.max(initial=0)) + 1, self._baskets
        held = np.zeros((n_groups, baskets.n_records), np.int64)
        for start, stop in slices(baskets.n_records, _RECORDS):
            part = baskets.indices[baskets.indptr[start] : baskets.indptr[stop]]
            which = np.repeat(np.arange(stop - start), self.held[start:stop])
            for group in range(n_groups):
                of_group = which[groups[part] == group]
                held[group, start:stop] = np.bincount(of_group, minlength=stop - start)
        return held

    def sums(self, units: Units) -> Counts:
        sums = np.zeros(self._baskets.n_items, np.int64)
        ends = self._baskets.indptr
        for start, stop in slices(self._baskets.n_records, _RECORDS):
            each = np.repeat(units[start:stop], self.held[start:stop])
            part = self._baskets.indices[ends[start] : ends[stop]]
            sums += np.bincount(part, weights=each, minlength=len(sums)).astype(np.int64)  # below 2^53: exact
        return sums


class ActiveItemsets:
    """Itemsets of several sizes, in bitmaps of the items that they have.

    Every itemset is looked at in every word of 64 records, and once more for every record that holds it: work and
    memory are bounded by the numbers of itemsets, of their items and of records.
    """

    def __init__(self, baskets: Baskets, rows: Sequence[ItemsetRows]) -> None:
        items = np.unique(np.concatenate([part.ravel() for part in rows]))
        self._columns = bitmaps_of(baskets, items).columns
        filled = filled_rows(rows)
        self._rows = np.where(filled >= 0, np.searchsorted(items, filled), -1).astype(np.int32)
        self._n_records = baskets.n_records

    @cached_property
    def held(self) -> Units:
        return self._held(self._rows)

    def held_by(self, groups: Units) -> Units:
        return np.stack([self._held(self._rows[groups == group]) for group in range(int(groups.max(initial=0)) + 1)])

    def sums(self, units: Units) -> Counts:
        whole = np.zeros(64 * self._columns.shape[1], np.int64)
        whole[: self._n_records] = units
        total = np.zeros(len(self._rows), np.int64)
        lock = Lock()

        def piece(block: tuple[int, int]) -> None:
            sums = np.zeros(len(self._rows), np.int64)
            for start, stop in slices(len(self._rows), _ITEMSETS):
                add_units(self._columns, self._rows[start:stop], *block, whole, sums[start:stop])
            with lock:
                np.add(total, sums, out=total)

        parallel_map(piece, self._blocks())
        return total

    def _held(self, rows: ItemsetRows) -> Units:
        held = np.zeros(64 * self._columns.shape[1], np.int64)
        parallel_map(partial(self._count, rows, held), self._blocks())
        return held[: self._n_records]

    def _count(self, rows: ItemsetRows, held: Units, block: tuple[int, int]) -> None:
        for first, last in slices(len(rows), _ITEMSETS):
            count_held(self._columns, rows[first:last], *block, held)

    def _blocks(self) -> list[tuple[int, int]]:
        return list(slices(self._columns.shape[1], _WORDS))


def filled_rows(rows: Sequence[ItemsetRows]) -> ItemsetRows:
    """Rows of all sizes in one array, filled up with -1."""
    widest = max(part.shape[1] for part in rows)
    return np.concatenate(
        [np.pad(part.astype(np.int32), ((0, 0), (0, widest - part.shape[1])), constant_values=-1) for part in rows]
    )
