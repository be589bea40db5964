"""How much one record may add, chosen by a noisy histogram of how many active itemsets records hold.

A small bound needs little noise, and cuts much: what is cut is put back on average, by dividing by the share that is
kept, but no itemset keeps just the average.  The bound that is chosen has the least of

    (deviation of the noise / share)^2 + (spread (1 - share) / share * limit)^2

for an itemset at the limit, where ``spread`` says how far the shares of itemsets lie apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from bosket.curator.lengths import binned
from bosket.curator.noise import Composition
from bosket.curator.sieve.contributions import RESOLUTION, Bounding, Units
from bosket.statistics.estimates import Floats

_SINGLE = 8
_CLEAR = 2.5  # standard deviations of the noise
_FIRST, _FALLING = 0.8, 0.55


@dataclass(frozen=True)
class Bound:
    """What one record may add, as a number of whole itemsets, and the share of all that is kept."""

    bound: float
    share: float


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many records hold so many of the itemsets, by bins, smoothed."""

    held: Floats
    """The middle of each bin."""
    numbers: Floats

    @property
    def occurrences(self) -> Floats:
        """Of itemsets in records, by bin."""
        return np.asarray(self.held * self.numbers)


def bins(most: int) -> Units:
    """The first numbers of bins for 0 .. most: single up to eight, then half as many more each.

    >>> bins(40).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 18, 27, 40]
    """
    starts = list(range(min(most, _SINGLE) + 1))
    while starts[-1] < most:
        starts.append(min(most, starts[-1] * 3 // 2))
    return np.array(starts, np.int64)


def noisy_histogram(
    held: Units, n_active: int, *, granted: Composition, amount: float, bounding: Bounding, per_person: int
) -> Histogram:
    """How many records hold 0, 1, 2, ... of the itemsets.  A record is in one bin: where one is replaced, one bin loses
    a record and one gains one.
    """
    starts = bins(n_active)
    sensitivity = bounding.norm_of_ones(per_person)
    counts = granted.noisy(binned(held, starts), epsilon=amount, sensitivity=sensitivity)
    deviation = bounding.deviation(granted.scale_of(amount, sensitivity))
    middles = (starts + np.append(starts[1:] - 1, starts[-1])) / 2
    return Histogram(middles, smoothed(counts.astype(float), deviation))


def smoothed(counts: Floats, deviation: float) -> Floats:
    """Noisy numbers by bin that are not negative, fall from their peak on, and end.

    From the peak on they are the nearest that do not grow (isotonic regression).  Where these fall below two and a half
    standard deviations of the noise, a bin has about half of the one before: a few hundred records that hold hundreds
    of itemsets, made of noise, would outweigh all others, and a tail that is cut off would hide what long records lose.
    Records that hold none are left out.
    """
    result = np.maximum(counts, 0.0)
    if len(counts) < 2:
        return result
    peak = 1 + int(np.argmax(counts[1:]))
    falling = isotonic_regression(counts[peak:], increasing=False)
    blocks = np.diff(falling.blocks)[np.searchsorted(falling.blocks, np.arange(len(counts) - peak), side="right") - 1]
    is_clear = falling.x > _CLEAR * deviation / np.sqrt(blocks)
    n_clear = max(1, len(is_clear) if is_clear.all() else int(np.argmin(is_clear)))
    last = max(0.0, min(float(falling.x[n_clear - 1]), _CLEAR * deviation))
    tail = _FIRST * last * _FALLING ** np.arange(1, len(is_clear) - n_clear + 1)
    result[peak:] = np.maximum(np.concatenate([falling.x[:n_clear], tail]), 0.0)
    return result


def choose_bound(histogram: Histogram, bounding: Bounding, scale_of_one: float, limit: float, spread: float) -> Bound:
    """The best bound for records that hold itemsets as the histogram says.

    scale_of_one  the scale of the noise, in records, where one record may add one itemset
    """
    occurrences = histogram.occurrences
    if occurrences.sum() <= 0:
        return Bound(1.0, 1.0)
    held = np.maximum(1, np.rint(histogram.held)).astype(np.int64)
    bounds = _grid(int(held[np.flatnonzero(occurrences)[-1]]))
    shares = np.array([occurrences @ bounding.weights(held, bound) for bound in bounds]) / occurrences.sum()
    bounds, shares = bounds[shares > 1 / RESOLUTION], shares[shares > 1 / RESOLUTION]  # less is rounded to nothing
    norms = np.array([bounding.sensitivity(bounding.budget(bound), 1) for bound in bounds]) / RESOLUTION
    noise = bounding.deviation(scale_of_one) * norms / shares
    best = int(np.argmin(noise**2 + (spread * (1 - shares) / shares * limit) ** 2))
    return Bound(float(bounds[best]), float(shares[best]))


def _grid(longest: int) -> Floats:
    """Bounds from one itemset to all that a record holds, a twentieth apart."""
    most = max(1, longest)
    return np.unique(np.minimum(most, np.geomspace(1, most, 2 + int(20 * np.log(most)))))
