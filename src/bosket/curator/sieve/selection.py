"""Which itemsets are released: those that make the expected F of the release largest.

With the itemsets in order of the probability p that they are frequent, and T expected to be frequent in all, the first
k have an expected F of about 2 (p_1 + ... + p_k) / (k + T), or what :mod:`bosket.curator.sieve.scores` says where few
are.  To release none is right where nothing is frequent: with probability (1 - p_1) (1 - p_2) ... e^-M, if M are
expected among those that were not measured.  An itemset is as probable as each superset, at least.
All of it is post-processing of noisy numbers, and so are the F, precision and recall that a release announces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bosket.counting.base import ItemsetRows
from bosket.counting.table import ItemsetIndex, patterns
from bosket.curator.sieve.beliefs import LevelPlaces, SievedLevel
from bosket.curator.sieve.rounds import Sieved
from bosket.curator.sieve.scores import expected_scores, nothing_is_right
from bosket.statistics.estimates import Floats


@dataclass(frozen=True, eq=False)
class ReleasedItemsets:
    """The itemsets of one size that are released, with what is believed of them."""

    rows: ItemsetRows
    probability: Floats
    grid: Floats
    posterior: Floats
    prior: Floats
    """Of the points of the grid, before anything was measured of these itemsets."""
    noisy: Floats
    """Noisy sums over the share that they keep, in records: the average of all rounds, by their noise."""
    draws: Floats | None = None
    """Deviations in joint draws, a column each, where there are any; those of each itemset's own beside them."""
    own: Floats | None = None


@dataclass(frozen=True)
class Announced:
    """What the posterior says of the release itself; of one of nothing, how likely nothing is frequent."""

    f: float
    precision: float
    recall: float


def select(result: Sieved) -> tuple[list[ReleasedItemsets], Announced]:
    """The itemsets that are released, by size, and what is announced of them."""
    by_size = closed(result.levels, [level.probability for level in result.levels])
    every = np.concatenate(by_size)
    falling = -np.sort(-every)
    total = float(falling.sum()) + result.missed
    expected, of_none = expected_scores(falling, result.missed), nothing_is_right(falling, result.missed)
    best = int(np.argmax(expected))
    if expected[best] <= of_none:
        return [], Announced(of_none, of_none, of_none)
    least = falling[best]
    chosen = [
        taken(level, probability, np.flatnonzero(probability >= least))
        for level, probability in zip(result.levels, by_size, strict=True)
    ]
    number, found = int((every >= least).sum()), float(every[every >= least].sum())
    return chosen, Announced(float(expected[number - 1]), found / number, found / total)


def closed(levels: list[SievedLevel], values: list[Floats]) -> list[Floats]:
    """Probabilities, or supports, by size, each at least as large as those of supersets."""
    result = [value.copy() for value in values]
    for size in range(len(levels), 1, -1):
        rows, index = levels[size - 1].rows, ItemsetIndex(levels[size - 2].rows)
        for positions in patterns(size, size - 1)[1]:
            at = index.find(rows, positions)
            np.maximum.at(result[size - 2], at[at >= 0], result[size - 1][at >= 0])
    return result


def taken(level: SievedLevel, probability: Floats, at: LevelPlaces) -> ReleasedItemsets:
    """The itemsets at these places of a level, with all that is released of them."""
    weight, total = np.zeros(len(level.rows)), np.zeros(len(level.rows))
    for values in level.rounds:
        np.add.at(weight, values.places, (values.shares / values.scale) ** 2)
        np.add.at(total, values.places, values.shares / values.scale**2 * values.values)
    noisy = total / np.maximum(weight, np.finfo(float).tiny)
    prior, posterior = level.prior[level.classes[at]], level.posterior[at]
    draws, own = (None if one is None else level.wider * one[at] for one in (level.draws, level.own))
    means = (posterior * level.grid[at]).sum(axis=1, keepdims=True)
    grid = np.maximum(means + level.wider * (level.grid[at] - means), 0.0)
    return ReleasedItemsets(level.rows[at], probability[at], grid, posterior, prior, noisy[at], draws, own)
