"""Tables of few cells: how many records are in each, with noise, and all itemsets as sums of cells.

A record of a table has one value of each attribute, so it is in one cell: numbers of records by cell move by one where
a record comes or goes, however many attributes there are, and no record is cut.  The support of an itemset is the sum
of the cells that have its values; its noise has the variance of one cell times their number, and nothing is modelled.

This is the marginal-based release (Barak and others, PODS 2007; McKenna and others, AIM, VLDB 2022) whose one marginal
has all attributes.  Sums over many cells are noisy, so it is for tables of few cells; the rule is in :func:`is_for`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, kve, ndtr, ndtri

from bosket.counting.base import Counts, ItemsetRows
from bosket.curator.noise import LAPLACE, Composition
from bosket.curator.population.dense import normal_level
from bosket.curator.sieve.beliefs import SievedLevel
from bosket.curator.sieve.contributions import Bounding
from bosket.data import Baskets
from bosket.randomness import Seeded
from bosket.statistics.estimates import Floats

MOST_CELLS = 1 << 18
"""Of a table: each takes a draw of noise."""
MOST_SUMS = 1 << 22
"""Of cells: the product of the numbers of values plus one, and so the number of itemsets."""
_SEED = 20_121_110
_DRAWS = 48  # of the noise of cells, at least
_MOST_DRAWS = 1 << 9
_DRAWN = 1 << 20  # sums of cells, or itemsets, times draws
_FAR = 5.0  # standard deviations below the limit, from which on an itemset is not looked at
_STEPS = 60  # of a bisection
_POINTS = np.linspace(-14.0, 14.0, 141)  # standard deviations
_NORMAL = 17  # cells: sums of as many Laplace variables are taken for normal

CellSizes = tuple[int, ...]


def n_cells(sizes: CellSizes) -> int:
    return math.prod(sizes)


def is_for(sizes: CellSizes, deviation: float, share: float, n_records: float, misfit: float) -> bool:
    """Whether cells tell more of itemsets at a limit, a share, than a fitted population is allowed to miss.

    deviation  standard deviation of the noise of one cell

    An itemset of two attributes of middle size is the sum of d^(1 - 2 / a) cells, of d with a attributes.  Numbers of
    values and settings are public, the number of records is noisy.
    """
    if n_cells(sizes) > MOST_CELLS or math.prod(size + 1 for size in sizes) > MOST_SUMS:
        return False
    typical = n_cells(sizes) ** max(0.0, 1 - 2 / len(sizes))
    return deviation * math.sqrt(typical) <= misfit * math.sqrt(share * (1 - share)) * n_records


def cell_of(data: Baskets, sizes: CellSizes) -> npt.NDArray[np.int64]:
    """The cell of each record, whose items are one value of each attribute, in their order."""
    codes = data.indices.reshape(data.n_records, len(sizes)) - np.cumsum([0, *sizes])[:-1]
    return np.asarray(np.ravel_multi_index(tuple(codes.T), sizes)).astype(np.int64)


def cell_counts(data: Baskets, sizes: CellSizes) -> Counts:
    """How many records are in each cell."""
    if not data.n_records:
        return np.zeros(n_cells(sizes), np.int64)
    return np.bincount(cell_of(data, sizes), minlength=n_cells(sizes))


def all_sums(cells: Floats, sizes: CellSizes) -> Floats:
    """Sums over every set of attributes: an axis has its values, and then their sum."""
    table = cells.reshape(sizes)
    for axis in range(len(sizes)):
        table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
    return table


def sum_law(k: int) -> Floats:
    """The law of a sum of k Laplace variables, of variance 1, at ``_POINTS``: (|z| / 2)^(k - 1/2) K_{k - 1/2}(|z|) over
    Gamma(k), z = sqrt(2 k) x, K a modified Bessel function; normal from ``_NORMAL`` on.
    """
    if k >= _NORMAL:
        weight = np.exp(-(_POINTS**2) / 2)
    else:
        z = np.maximum(math.sqrt(2 * k) * np.abs(_POINTS), 1e-3)
        weight = np.exp((k - 0.5) * np.log(z / 2) + np.log(kve(k - 0.5, z)) - z - gammaln(k))
    return np.asarray(weight / weight.sum())


@dataclass(frozen=True, eq=False)
class TableCells:
    """Noisy numbers of records by cell, and what they say of itemsets."""

    sizes: CellSizes
    noisy: Floats
    deviation: float
    number: float
    """Of records, noisy."""
    number_deviation: float
    most: int
    """Itemsets that are looked at."""
    largest: int
    is_laplace: bool = False
    """Whether the noise of a cell is, or else it is Gaussian."""

    @classmethod
    def measured(
        cls, data: Baskets, sizes: CellSizes, bounding: Bounding, granted: Composition, *,
        amount: float, per_person: int, number: float, number_deviation: float, most: int, largest: int,
    ) -> TableCells:  # fmt: skip
        """For this amount of what was granted: a record is in one cell."""
        one = bounding.norm_of_ones(per_person)
        noisy = granted.noisy(cell_counts(data, sizes), epsilon=amount, sensitivity=one).astype(float)
        deviation = bounding.deviation(granted.scale_of(amount, one))
        return cls(sizes, noisy, deviation, number, number_deviation, most, largest, bounding.law is LAPLACE)

    @property
    def _trust(self) -> float:
        """Weight of the noisy number of records, the rest is that of the sum of all cells."""
        of_sum = self.deviation**2 * len(self.noisy)
        return of_sum / (of_sum + self.number_deviation**2)

    @property
    def n_records(self) -> float:
        """Both numbers, by their noise."""
        return max(1.0, self._trust * self.number + (1 - self._trust) * float(self.noisy.sum()))

    def shares(self) -> tuple[Floats, Floats]:
        """Of the records, of all sums of cells, with standard deviations.

        A share S / N is off by (e_S - s e_N) / N, where e_N has the noise of the number of records and of all cells,
        those of S among them.
        """
        n, trust, each = self.n_records, self._trust, self.deviation**2
        shares = all_sums(self.noisy, self.sizes) / n
        n_summed = all_sums(np.ones(len(self.noisy)), self.sizes)
        of_number = (trust * self.number_deviation) ** 2 + (1 - trust) ** 2 * each * len(self.noisy)
        likely = np.clip(shares, 0.0, 1.0)
        variance = each * n_summed * (1 - 2 * likely * (1 - trust)) + likely**2 * of_number
        return shares, np.asarray(np.sqrt(np.maximum(variance, 0.25 * each)) / n)

    def levels(self, limit: float) -> tuple[list[SievedLevel], float]:
        """Itemsets that may reach the limit, a share, by size, and how many more are expected to."""
        shares, deviations = self.shares()
        numbers, flat, spread = self._numbers(), shares.ravel(), deviations.ravel()
        within = (numbers > 0) & (numbers <= self.largest)
        probability = np.where(within, ndtr((flat - limit) / spread), 0.0)
        places = np.flatnonzero(within & ((numbers == 1) | (flat > limit - _FAR * spread)))
        if len(places) > self.most:  # all items, then the likeliest, of equally likely ones the smaller
            rank = np.where(numbers[places] == 1, 2.0, probability[places])
            places = np.sort(places[np.lexsort((numbers[places], -rank))[: self.most]])
        sizes = np.unique(numbers[places])
        n_whole = int((sizes == np.arange(1, len(sizes) + 1)).sum())  # no size is skipped
        places = places[numbers[places] <= n_whole]
        missed = float(probability.sum() - probability[places].sum())
        changes = self._drawn(places, np.clip(flat[places], 0, 1), spread[places])
        n_summed = all_sums(np.ones(len(self.noisy)), self.sizes).ravel()
        found = []
        for size in range(1, n_whole + 1):
            inside = numbers[places] == size
            at = places[inside]
            none = np.zeros(len(at))
            level = normal_level(self._rows(at, size), flat[at], spread[at], changes[inside], none, self.number, limit)
            if self.is_laplace:
                self._with_tails(level, flat[at], spread[at], n_summed[at])
            found.append(level)
        return found, missed

    def _with_tails(self, level: SievedLevel, shares: Floats, spread: Floats, n_summed: Floats) -> None:
        """Posteriors by the laws of sums of so many cells: the tails of a few are those of Laplace noise."""
        laws, level.classes = np.unique(np.minimum(n_summed, _NORMAL).astype(np.int64), return_inverse=True)
        level.grid = np.clip(shares[:, None] + spread[:, None] * _POINTS, 0.0, 1.0) * self.number
        level.prior = np.stack([sum_law(int(one)) for one in laws])
        level.posterior = level.prior[level.classes]

    def _numbers(self) -> npt.NDArray[np.int64]:
        """How many attributes each sum of cells has a value of."""
        free = np.zeros([size + 1 for size in self.sizes], np.int64)
        for axis, size in enumerate(self.sizes):
            last = [slice(None)] * len(self.sizes)
            last[axis] = slice(size, None)
            free[tuple(last)] += 1
        return np.asarray(len(self.sizes) - free.ravel())

    def kth(self, k: int) -> float:
        """The share that k itemsets are expected to reach."""
        (shares, deviations), numbers = self.shares(), self._numbers()
        of = (numbers > 0) & (numbers <= self.largest)
        flat, spread = shares.ravel()[of], deviations.ravel()[of]
        low, high = 0.5 / self.n_records, 1.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if float(ndtr((flat - middle) / spread).sum()) > k else (low, middle)
        return (low + high) / 2

    def _rows(self, at: npt.NDArray[np.int64], size: int) -> ItemsetRows:
        """The items of sums at these places."""
        codes = np.stack(np.unravel_index(at, [n + 1 for n in self.sizes]), axis=1)
        items = codes + np.cumsum([0, *self.sizes])[:-1]
        return np.asarray(items[codes < np.array(self.sizes)].reshape(len(at), size), np.int32)

    def _drawn(self, places: npt.NDArray[np.int64], shares: Floats, deviations: Floats) -> npt.NDArray[np.float32]:
        """Deviations of these sums, as shares, in draws of the noise: a column each.

        Intervals of rules are made of these draws, which are the same in every release: few would make the interval of
        one and the same rule too short every time.  So each sum has the standard deviation that it is known to have,
        and there are as many draws as numbers of sums and itemsets allow.
        """
        stream = Seeded(_SEED).stream()
        n_sums = math.prod(size + 1 for size in self.sizes)
        n_draws = min(max(_DRAWS, _DRAWN // max(n_sums, len(places), 1)), _MOST_DRAWS)
        changes = np.empty((len(places), n_draws), np.float32)
        for draw in range(n_draws):
            words = stream.words(len(self.noisy) + 1)
            normal = ndtri(((words >> np.uint64(11)) + 0.5) * 2.0**-53)
            noise = self.deviation * normal[:-1]
            of_number = self._trust * self.number_deviation * normal[-1] + (1 - self._trust) * noise.sum()
            changes[:, draw] = (all_sums(noise, self.sizes).ravel()[places] - shares * of_number) / self.n_records
        known = np.sqrt(np.mean(np.square(changes, dtype=np.float64), axis=1))
        changes *= (deviations / np.maximum(known, np.finfo(np.float32).tiny))[:, None].astype(np.float32)
        return changes
