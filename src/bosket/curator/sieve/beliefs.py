"""What all measurements so far say about supports: an empirical Bayes posterior for every itemset.

The support of an item has a prior on a grid of counts, that of a larger itemset one on a grid of ratios to the smallest
support of its subsets.  Each size has one prior, fitted to the noisy values of all its itemsets by EM (a smoothed
nonparametric maximum likelihood; Kiefer and Wolfowitz 1956).  A measured value is

    y = share * support + noise

where the share of an itemset that is kept is not known: it lies around the average share with a standard deviation of
``spread`` (1 - average), and is integrated out.  In rounds of several sizes the average over a size may lie far from
that over all, so it is fitted to what other rounds said of its itemsets.

All of it is post-processing of noisy numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.counting.table import ItemsetIndex, patterns
from bosket.curator.sieve.contributions import Bounding
from bosket.statistics.estimates import Floats

_POINTS = np.array([-1.8, -0.9, 0.0, 0.9, 1.8])  # of the share, in standard deviations
_WEIGHTS = np.exp(-(_POINTS**2) / 2) / np.exp(-(_POINTS**2) / 2).sum()
_FACTORS = np.geomspace(0.4, 3.0, 41)  # of an average share that is fitted
_FACTORS_DEVIATION = 0.8  # of their logarithm, before anything is known
_ENOUGH = 1000
_FEW = 10  # values that do not say what their average share is
_STEPS = 60  # of EM
_LEAST_SHARE = 0.25  # of the average
_MAY_BE = 0.03  # probability from which on a subset is taken to reach the limit, barely, whatever its mean is
BARELY = 1.02
"""Of the limit."""
RATIOS = np.concatenate([[1e-6], np.geomspace(2e-3, 1.0, 60)])
"""Supports over the smallest support of a subset."""

LevelPlaces = npt.NDArray[np.int64]


@dataclass(eq=False)
class Values:
    """What one round measured of itemsets of one size."""

    places: LevelPlaces
    """Of the itemsets in their level."""
    values: Floats
    """Noisy sums, in records."""
    scale: float
    share: float
    """The average share of what is kept."""
    is_anchor: bool
    """Whether the share is taken as it is; otherwise it is fitted."""
    factor: float = 1.0


@dataclass(eq=False)
class SievedLevel:
    """Itemsets of one size with all that was measured of them, and what that says."""

    rows: ItemsetRows
    rounds: list[Values] = field(default_factory=list)
    grid: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Of each itemset, the supports that it may have."""
    posterior: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """How likely they are."""
    prior: Floats = field(default_factory=lambda: np.empty(0))
    limit: float = 0.0

    @property
    def size(self) -> int:
        return int(self.rows.shape[1])

    @property
    def mean(self) -> Floats:
        return np.asarray((self.posterior * self.grid).sum(axis=1))

    @property
    def probability(self) -> Floats:
        """How likely each itemset is frequent; what a point of the grid has is spread evenly over its cell."""
        edges = edges_of(self.grid)
        above = (edges[:, 1:] - self.limit) / np.maximum(np.diff(edges, axis=1), 1e-9)
        return np.asarray(np.minimum((self.posterior * np.clip(above, 0.0, 1.0)).sum(axis=1), 1.0))


@dataclass(frozen=True)
class Believer:
    """How posteriors are made: the noise, how far shares lie apart, the limit and the noisy number of records."""

    bounding: Bounding
    spread: float
    limit: float
    n_records: float

    def update(self, levels: list[SievedLevel]) -> None:
        """Posteriors of all levels, smallest itemsets first: the means of subsets are what supports are ratios to."""
        below: SievedLevel | None = None
        for level in levels:
            level.grid = self._grid(level, below)
            level.limit = self.limit
            self._fit(level)
            below = level

    def _grid(self, level: SievedLevel, below: SievedLevel | None) -> Floats:
        if below is None:
            counts = np.geomspace(max(1.0, self.limit / 50), max(2.0, self.n_records), 120)
            return np.broadcast_to(np.concatenate([[0.0], counts]), (len(level.rows), 121))
        may_be = np.where(below.probability > _MAY_BE, np.maximum(below.mean, BARELY * self.limit), below.mean)
        return np.asarray(smallest_subset(level.rows, below.rows, may_be, self.limit / 2)[:, None] * RATIOS)

    def _fit(self, level: SievedLevel) -> None:
        fits = [self._likelihood(level, values, values.factor) for values in level.rounds]
        total = np.zeros(level.grid.shape)
        for values, fit in zip(level.rounds, fits, strict=True):
            total[values.places] += fit
        level.prior = _prior(total)
        for _ in range(2):
            free = [at for at, values in enumerate(level.rounds) if not values.is_anchor]
            for at in free:
                values = level.rounds[at]
                others = total[values.places] - fits[at]
                values.factor = self._best_factor(level, values, others)
                fits[at] = self._likelihood(level, values, values.factor)
                total[values.places] = others + fits[at]
            if not free:
                break
            level.prior = _prior(total)
        level.posterior = _posterior(total, level.prior)

    def _best_factor(self, level: SievedLevel, values: Values, others: Floats) -> float:
        """The factor of the average share under which the values are likeliest, beside what other rounds say.

        By itemsets of which another round says something, a thousand of them at most.
        """
        told = np.flatnonzero(np.ptp(others, axis=1) > 0)
        told = told[:: max(1, len(told) // _ENOUGH)]
        if len(told) < _FEW:
            return 1.0
        some = replace(values, places=values.places[told], values=values.values[told])
        best, chosen = -math.inf, 1.0
        for factor in _FACTORS:
            whole = others[told] + self._likelihood(level, some, float(factor))
            highest = whole.max(axis=1, keepdims=True)
            likely = float((np.log(np.exp(whole - highest) @ level.prior) + highest[:, 0]).sum())
            likely -= 0.5 * (math.log(factor) / _FACTORS_DEVIATION) ** 2
            if likely > best:
                best, chosen = likely, float(factor)
        return chosen

    def _likelihood(self, level: SievedLevel, values: Values, factor: float) -> Floats:
        """The log-likelihood of each value under each support of the grid, the share integrated out."""
        average = min(1.0, values.share * factor)
        grid = level.grid[values.places]
        total = np.full(grid.shape, -np.inf)
        for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
            share = min(1.0, max(_LEAST_SHARE * average, average + point * self.spread * (1 - average)))
            errors = (values.values[:, None] - share * grid) / values.scale
            np.logaddexp(total, self.bounding.log_density(errors) + math.log(weight), out=total)
        return total


def edges_of(grid: Floats) -> Floats:
    """The ends of the cells of a grid, a row each: the middles between its points, and the first and the last."""
    return np.concatenate([grid[:, :1], (grid[:, 1:] + grid[:, :-1]) / 2, grid[:, -1:]], axis=1)


def smallest_subset(rows: ItemsetRows, below: ItemsetRows, values: Floats, otherwise: float) -> Floats:
    """Of each itemset the smallest value of a subset that is one smaller; ``otherwise`` for unknown subsets."""
    index = ItemsetIndex(below)
    known = np.append(values, otherwise)
    size = rows.shape[1]
    found = [known[index.find(rows, positions)] for positions in patterns(size, size - 1)[1]]
    return np.asarray(np.min(found, axis=0))


def _prior(likelihood: Floats) -> Floats:
    """The prior of a size by EM, smoothed over neighbours in the grid."""
    shape = np.exp(likelihood - likelihood.max(axis=1, keepdims=True, initial=-np.inf))
    n, width = shape.shape
    prior = np.full(width, 1 / width)
    for _ in range(_STEPS):
        marginal = np.maximum(shape @ prior, np.finfo(float).tiny)
        new = prior * ((1 / marginal) @ shape) / max(n, 1)
        new = 0.5 * new + 0.5 * np.convolve(new, [0.25, 0.5, 0.25], mode="same")
        new = (n * new + 0.5 / width) / (n + 0.5)
        new /= new.sum()
        is_done = np.abs(new - prior).max() < 1e-5
        prior = new
        if is_done:
            break
    return prior


def _posterior(likelihood: Floats, prior: Floats) -> Floats:
    posterior = np.exp(likelihood - likelihood.max(axis=1, keepdims=True, initial=-np.inf)) * prior
    return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))
