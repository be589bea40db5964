"""What all measurements so far say about supports: an empirical Bayes posterior for every itemset.

The support of an item has a prior on a grid of counts, that of a larger itemset one on a grid of ratios to what its
subsets lead to expect (:mod:`bosket.curator.sieve.expected`).  Each size has one prior, fitted to the noisy values of
all its itemsets by EM (a smoothed nonparametric maximum likelihood; Kiefer and Wolfowitz 1956).  A measured value is

    y = share * support + noise

where the share of an itemset that is kept is not known: it lies around the average share of its size with a standard
deviation of ``spread`` (1 - average), and is integrated out.

All of it is post-processing of noisy numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.curator.sieve.contributions import Bounding
from bosket.curator.sieve.crowds import Company, LeastCut, company_of, crowded_shares
from bosket.curator.sieve.expected import N_CLASSES, Expected, KnownSupports, expected_of
from bosket.statistics.estimates import Floats

_POINTS = np.array([-1.8, -0.9, 0.0, 0.9, 1.8])  # of the share, in standard deviations
_WEIGHTS = np.exp(-(_POINTS**2) / 2) / np.exp(-(_POINTS**2) / 2).sum()
_STEPS = 60  # of EM
_NEAR = 20.0  # itemsets that the prior of all counts for in that of a class
_LEAST_SHARE = 0.25  # of the average
_MAY_BE = 0.03  # probability from which on a subset is taken to reach the limit, barely, whatever its mean is
_FINE = 20  # values of items are told apart to a twentieth of the scale of their noise
SIZES = 4
"""Of itemsets that have an average share of their own, the last with all that are larger."""
BARELY = 1.02
"""Of the limit."""
RATIOS = np.concatenate([[1e-6], np.geomspace(2e-3, 2.0, 67)])
"""Supports over the smallest support of a subset, as far as that is known: by noise it may be the smaller one."""

LevelPlaces = npt.NDArray[np.int64]


@dataclass(eq=False)
class Values:
    """What one round measured of itemsets of one size."""

    places: LevelPlaces
    """Of the itemsets in their level."""
    values: Floats
    """Noisy sums, in records."""
    scale: float
    average: Floats
    """The average share that is kept, of the group of each itemset."""
    number: int = 1
    """Of the round, among those that measured something."""
    least_cut: LeastCut | None = None
    """The least that crowds say is cut, where noise may hide crowded records from the histogram."""
    crowded: Floats | None = None
    """The share that is kept of each itemset, where it is told by how crowded its records are."""

    @property
    def shares(self) -> Floats:
        return self.average if self.crowded is None else self.crowded


@dataclass(eq=False)
class SievedLevel:
    """Itemsets of one size with all that was measured of them, and what that says."""

    rows: ItemsetRows
    rounds: list[Values] = field(default_factory=list)
    grid: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Of each itemset, the supports that it may have."""
    posterior: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """How likely they are."""
    prior: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """By class of itemsets; items have one."""
    classes: LevelPlaces = field(default_factory=lambda: np.empty(0, np.int64))
    """Of each itemset, the class whose prior it has."""
    limit: float = 0.0
    draws: Floats | None = None
    """Deviations of all supports in joint draws, a column each, where these tell more than posteriors one by one."""
    own: Floats | None = None
    """Standard deviations of what itemsets have on their own beside these."""
    wider: float = 1.0
    """Deviations of what is released, of intervals and draws, over those of what is believed."""

    @property
    def size(self) -> int:
        return int(self.rows.shape[1])

    @property
    def mean(self) -> Floats:
        return np.asarray((self.posterior * self.grid).sum(axis=1))

    @property
    def probability(self) -> Floats:
        """How likely each itemset is frequent."""
        return self.reaching(self.limit)

    def reaching(self, limit: float) -> Floats:
        """How likely each itemset reaches a limit; what a point of the grid has is spread evenly over its cell."""
        edges = edges_of(self.grid)
        above = (edges[:, 1:] - limit) / np.maximum(np.diff(edges, axis=1), 1e-9)
        return np.asarray(np.minimum((self.posterior * np.clip(above, 0.0, 1.0)).sum(axis=1), 1.0))


@dataclass(frozen=True)
class Believer:
    """How posteriors are made: the noise, how far shares lie apart, the limit and the noisy number of records."""

    bounding: Bounding
    spread: float
    limit: float
    n_records: float
    is_crowded: bool = False
    """Whether shares follow how crowded records are, once pairs are known."""

    def update(self, levels: list[SievedLevel]) -> None:
        """Posteriors of all levels, smallest itemsets first: supports are ratios to those of subsets."""
        if self.is_crowded:
            self._crowd(levels)
        known: list[KnownSupports] = []
        for level in levels:
            level.limit = self.limit
            if not known:
                self._fit_items(level)
            else:
                self._fit(level, expected_of(level.rows, known, self.n_records, self.limit / 2))
            known.append(KnownSupports(level.rows, may_be(level.probability, level.mean, self.limit)))

    def _crowd(self, levels: list[SievedLevel]) -> None:
        """Shares of all rounds since pairs were measured, by pairs as they are known before this update."""
        if len(levels) < 2 or not len(levels[1].posterior):
            return
        together = levels[1].mean
        pairs = levels[1].rows[: len(together)]
        rounds: dict[int, list[tuple[ItemsetRows, Values]]] = {}
        for level in levels:
            for values in level.rounds:
                rounds.setdefault(values.number, []).append((level.rows[values.places], values))
        of_pairs = [parts for parts in rounds.values() if parts[-1][0].shape[1] > 1]
        if not of_pairs:
            return
        items = np.unique(np.concatenate([rows.ravel() for parts in of_pairs for rows, _ in parts]))
        company = company_of(items, levels[0].mean, pairs, together, self.n_records)
        if company is None:
            return
        for parts in of_pairs:
            active = [rows for rows, _ in parts]
            for size in range(1, SIZES + 1):
                group = [(rows, values) for rows, values in parts if min(rows.shape[1], SIZES) == size]
                if group:
                    _tell_shares(company, group, active)

    def _fit_items(self, level: SievedLevel) -> None:
        """Items have one grid, so that those measured once, to the same value, have one posterior."""
        counts = np.geomspace(max(1.0, self.limit / 50), max(2.0, self.n_records), 120)
        grid = np.concatenate([[0.0], counts])
        first, *others = level.rounds  # the first is of all items
        rounded = np.rint(first.values * (_FINE / first.scale)) * (first.scale / _FINE)
        again = np.unique(np.concatenate([np.empty(0, np.int64), *(one.places for one in others)]))
        kinds = np.full(len(rounded), -1)
        kinds[again] = np.arange(len(again))
        _, chosen, which, numbers = np.unique(
            np.stack([kinds, rounded, first.shares]), axis=1, return_index=True, return_inverse=True, return_counts=True
        )
        which = which.ravel()
        grids = np.broadcast_to(grid, (len(chosen), len(grid)))
        total = self._likelihood(grids, rounded[chosen], first.shares[chosen], first.scale)
        for one in others:
            at = which[one.places]
            total[at] += self._likelihood(grids[at], one.values, one.shares, one.scale)
        level.prior = prior_of(total, numbers.astype(float))[None, :]
        level.grid = np.broadcast_to(grid, (len(level.rows), len(grid)))
        level.classes = np.zeros(len(level.rows), np.int64)
        level.posterior = posterior_of(total, level.prior)[which]

    def _fit(self, level: SievedLevel, expected: Expected) -> None:
        """Larger itemsets: each class has a prior of ratios, near that of all."""
        level.grid = expected.most[:, None] * RATIOS
        total = np.zeros(level.grid.shape)
        for values in level.rounds:
            total[values.places] += self._likelihood(
                level.grid[values.places], values.values, values.shares, values.scale
            )
        whole, classes = prior_of(total, np.ones(len(total))), expected.classes
        level.classes = classes
        level.prior = np.tile(whole, (N_CLASSES, 1))
        for one in np.unique(classes):
            part = total[classes == one]
            level.prior[one] = prior_of(part, np.ones(len(part)), near=whole)
        level.posterior = posterior_of(total, level.prior[classes])

    def _likelihood(self, grid: Floats, values: Floats, average: Floats, scale: float) -> Floats:
        """The log-likelihood of each value under each support of its row of the grid, the share integrated out."""
        shares = [
            np.clip(average + point * self.spread * (1 - average), _LEAST_SHARE * average, 1.0) for point in _POINTS
        ]
        parts = [self.bounding.log_density((values[:, None] - share[:, None] * grid) / scale) for share in shares]
        highest = np.maximum.reduce(parts)
        total = sum(weight * np.exp(part - highest) for part, weight in zip(parts, _WEIGHTS, strict=True))
        return np.asarray(np.log(total) + highest)


def _tell_shares(company: Company, group: list[tuple[ItemsetRows, Values]], active: list[ItemsetRows]) -> None:
    """Shares of itemsets that have one average, by how crowded their records are."""
    values, average = (
        np.concatenate(part) for part in zip(*((one.values, one.average) for _, one in group), strict=True)
    )
    crowds = np.concatenate([company.crowds(rows, active) for rows, _ in group])
    first = group[0][1]
    shares = crowded_shares(crowds, values, first.scale, average, first.least_cut)
    for (_, one), part in zip(group, np.split(shares, np.cumsum([len(rows) for rows, _ in group])[:-1]), strict=True):
        one.crowded = part


def may_be(probability: Floats, mean: Floats, limit: float) -> Floats:
    """Supports for what they bound from above: those that may be frequent reach the limit, barely."""
    return np.where(probability > _MAY_BE, np.maximum(mean, BARELY * limit), mean)


def edges_of(grid: Floats) -> Floats:
    """The ends of the cells of a grid, a row each: the middles between its points, and the first and the last."""
    return np.concatenate([grid[:, :1], (grid[:, 1:] + grid[:, :-1]) / 2, grid[:, -1:]], axis=1)


def prior_of(likelihood: Floats, numbers: Floats, near: Floats | None = None) -> Floats:
    """The prior of a size by EM, smoothed over neighbours in the grid.

    numbers  of itemsets that each row stands for
    near     a prior that counts as much as some itemsets; all supports alike otherwise, as much as half of one
    """
    shape = np.exp(likelihood - likelihood.max(axis=1, keepdims=True, initial=-np.inf))
    n, width = float(numbers.sum()), shape.shape[1]
    other, weight = (np.full(width, 1 / width), 0.5) if near is None else (near, _NEAR)
    prior = other
    for _ in range(_STEPS):
        marginal = np.maximum(shape @ prior, np.finfo(float).tiny)
        new = prior * ((numbers / marginal) @ shape) / max(n, 1.0)
        new = 0.5 * new + 0.5 * np.convolve(new, [0.25, 0.5, 0.25], mode="same")
        new = (n * new + weight * other) / (n + weight)
        new /= new.sum()
        is_done = np.abs(new - prior).max() < 1e-5
        prior = new
        if is_done:
            break
    return prior


def posterior_of(likelihood: Floats, prior: Floats) -> Floats:
    posterior = np.exp(likelihood - likelihood.max(axis=1, keepdims=True, initial=-np.inf)) * prior
    return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))
