"""How much one record may add, chosen by a noisy histogram of how many active itemsets records hold.

A small bound needs little noise, and cuts much: what is cut is put back on average, by dividing by the share that is
kept, but no itemset keeps just the average.  The bound that is chosen has the least of

    (deviation of the noise / share)^2 + (spread (1 - share) / share * limit)^2

for an itemset at the limit, where ``spread`` says how far the shares of itemsets lie apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bosket.curator.sieve.contributions import RESOLUTION, Bounding, Units
from bosket.curator.sieve.histograms import Histogram
from bosket.statistics.estimates import Floats

_RARE = 0.6  # of the limit: what seems to have less, by a deviation of the noise at least, met by chance
_SURE = 3.0  # deviations of the noise of a sum, from which on it tells of chance
_CHANCE = 0.25  # how much less records count that hold more, where all that they hold has met by chance


@dataclass(frozen=True, eq=False)
class Bound:
    """What one record may add, as a number of whole itemsets, and the share that is kept, by group of itemsets."""

    bound: float
    shares: Floats


def choose_bound(histogram: Histogram, bounding: Bounding, scale_of_one: float, limit: float, spread: float) -> Bound:
    """The best bound for records that hold itemsets as the histogram says.

    scale_of_one  the scale of the noise, in records, where one record may add one itemset
    """
    occurrences = histogram.occurrences
    n_groups = occurrences.shape[1]
    if occurrences.sum() <= 0:
        return Bound(1.0, np.ones(n_groups))
    held = np.maximum(1, np.rint(histogram.held * histogram.times)).astype(np.int64)
    bounds = _grid(int(held[occurrences.sum(axis=1) > 0.5].max(initial=0)))
    kept = np.array([bounding.weights(held, bound) @ occurrences for bound in bounds])
    average = kept.sum(axis=1) / occurrences.sum()
    is_something = average > 1 / RESOLUTION  # less is rounded to nothing
    if not is_something.any():  # bins of noise, so far away that no bound leaves anything of them
        return Bound(1.0, np.ones(n_groups))
    bounds, kept, average = bounds[is_something], kept[is_something], average[is_something]
    norms = np.array([bounding.sensitivity(bounding.budget(bound), 1) for bound in bounds]) / RESOLUTION
    noise = bounding.deviation(scale_of_one) * norms / average
    best = int(np.argmin(noise**2 + (spread * (1 - average) / average * limit) ** 2))
    return Bound(float(bounds[best]), shares_at(histogram, bounding, float(bounds[best])))


def shares_at(histogram: Histogram, bounding: Bounding, bound: float, by_chance: Floats | float = 0.0) -> Floats:
    """The share of what records hold that is kept under a bound, by group of itemsets.

    by_chance  of what a group holds, the part of rare itemsets that met by chance, by group: these live in the most
               crowded records, and others in less crowded ones.  Of these a record of k itemsets counts k^g in place of
               k, where g is 1 less a quarter of this part.
    """
    occurrences = histogram.numbers * histogram.held[:, None] ** (1 - _CHANCE * np.asarray(by_chance))
    kept = weights_at(histogram, bounding, bound) @ occurrences
    total = occurrences.sum(axis=0)
    shares = np.where(total > 0, kept / np.maximum(total, 1e-9), 1.0)
    return np.clip(shares, 1 / RESOLUTION, 1.0)


@dataclass(frozen=True)
class RoundShares:
    """What the noisy sums of a round tell of the shares that its itemsets keep."""

    bounding: Bounding
    bound: float
    scale: float
    """Of the noise of these sums."""
    limit: float
    tells_chance: bool = True
    """Whether itemsets that met by chance are told from others; not where all items are measured."""

    def shares(self, histogram: Histogram, groups: Units, noisy: Floats) -> Floats:
        """By group; ``groups`` has that of each itemset, and ``noisy`` its noisy sum, in records."""
        deviation = self.bounding.deviation(self.scale)
        sums: Floats = np.bincount(groups, weights=noisy).astype(float)
        deviations = deviation * np.sqrt(np.maximum(np.bincount(groups), 1))
        weights = weights_at(histogram, self.bounding, self.bound)
        known = histogram.knowing(weights, sums, deviations)
        average = shares_at(known, self.bounding, self.bound)
        if not self.tells_chance:
            return average
        is_clear = noisy > _RARE * self.limit * average[groups] + deviation
        others = np.bincount(groups, weights=noisy * is_clear)
        by_chance = np.where(sums > _SURE * deviations, 1 - others / np.maximum(sums, self.scale), 0.0)
        return shares_at(known, self.bounding, self.bound, np.clip(by_chance, 0.0, 1.0))


def weights_at(histogram: Histogram, bounding: Bounding, bound: float) -> Floats:
    """The share of a whole record that records of each bin add under a bound, to each itemset."""
    held = np.maximum(1, np.rint(histogram.held * histogram.times)).astype(np.int64)
    return bounding.weights(held, bound)


def _grid(longest: int) -> Floats:
    """Bounds from one itemset to all that a record holds, a twentieth apart."""
    most = max(1, longest)
    return np.unique(np.minimum(most, np.geomspace(1, most, 2 + int(20 * np.log(most)))))
