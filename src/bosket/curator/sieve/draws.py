"""Joint draws of the supports of a release, from the posterior: what intervals of rules are made of.

Itemsets are drawn from small to large.  Each prior of a larger itemset is one on its ratio to the smallest support of a
subset, so given that support m as it was drawn, the posterior of the itemset is

    Pr(m r) ~ prior(r) * likelihood(m r)       over ratios r <= 1

where the likelihood of a support is posterior over prior on the grid of the release, interpolated.  Draws are therefore
consistent: no itemset has more than a subset.  What is uncertain about all itemsets of one size at once (the average
share that they keep) is a factor for each size and draw, within a tenth; what is uncertain about the number of records
is one number a draw.

Supports of a fitted population (:mod:`bosket.curator.population`) have normal draws in common, and those of a size one
deviation of what pairs do not tell.

Nothing is looked at and nothing is paid: this is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from bosket.curator.rule_intervals import Ends, ReleasedPlaces
from bosket.curator.sieve.beliefs import RATIOS, edges_of
from bosket.curator.sieve.selection import ReleasedItemsets
from bosket.measures.measure import Measure
from bosket.measures.table import Contingency
from bosket.progress import Meter, Progress
from bosket.randomness import Randomness
from bosket.statistics.estimates import Floats
from bosket.threads import slices

Drawn = npt.NDArray[np.float32]
"""A row for each itemset, a column for each draw."""

UNSURE = 0.1
"""Of an average share that is kept, as histograms tell it; an error that all itemsets of a round have."""
_SHIFTS = 25  # of the logarithm of m that are told apart, between its least and its largest draw
_TINY = 1e-300
_TOLD = 256  # itemsets that are drawn before somebody hears of it again
_TABLES = 1 << 20  # of rules times draws at once


def draw_supports(
    chosen: Sequence[ReleasedItemsets],
    n: int,
    rng: Randomness,
    unsure: Callable[[int], float] = lambda _: UNSURE,
    on_progress: Progress | None = None,
) -> Drawn:
    """Counts of records, a row for each itemset, smallest first, and a column for each of ``n`` draws.

    unsure  of a support, the error that all itemsets of a size may have in common, by size
    """
    rows = {tuple(row): place for place, row in enumerate(row for part in chosen for row in part.rows.tolist())}
    drawn = np.empty((len(rows), n), np.float32)
    place = 0
    common: Floats | None = None
    meter = Meter(on_progress, 0, "drawing", len(rows))
    for part in chosen:
        factor = 1 + unsure(part.rows.shape[1]) * (2 * uniform(rng, n) - 1)
        if part.draws is not None and common is None:
            common = _normal(rng, part.draws.shape[1] * n).reshape(-1, n) / np.sqrt(part.draws.shape[1])
        own = None if common is None else _normal(rng, n)  # of a size: many of their own would pull down the least
        for at, row in enumerate(map(tuple, part.rows.tolist())):
            subsets = [rows[small] for small in combinations(row, len(row) - 1) if small in rows]
            least = drawn[subsets].min(axis=0).astype(float) if subsets else None
            if common is None or own is None:
                drawn[place] = _draw(part, at, least, factor, uniform(rng, n))
            else:
                drawn[place] = _drawn_together(part, at, least, common, own)
            place += 1
            if place % _TOLD == 0:
                meter(place)
    meter.finish()
    return drawn


def _drawn_together(part: ReleasedItemsets, at: int, least: Floats | None, common: Floats, own: Floats) -> Floats:
    """One itemset of a population: what all have in common, what its size has, and no more than a subset."""
    assert part.draws is not None
    assert part.own is not None
    support = float(part.posterior[at] @ part.grid[at])
    value = np.maximum(support + part.draws[at] @ common + part.own[at] * own, 0.0)
    return np.asarray(value if least is None else np.minimum(value, least))


def _normal(rng: Randomness, n: int) -> Floats:
    return np.asarray(ndtri(uniform(rng, n) + 2.0**-54))


def draw_numbers(number: int, scale: float, n: int, rng: Randomness) -> Floats:
    """The number of records, at least 1: with Laplace noise, of which Gaussian noise of this scale has less."""
    signed = 2 * uniform(rng, n) - 1
    noise = -scale * np.sign(signed) * np.log1p(-np.minimum(np.abs(signed), 1 - 2.0**-53))
    return np.asarray(np.maximum(number + noise, 1.0))


def uniform(rng: Randomness, n: int) -> Floats:
    """Numbers in [0, 1), even over multiples of 2^-53."""
    return np.asarray((rng.stream().words(n) >> np.uint64(11)) * 2.0**-53)


def _draw(part: ReleasedItemsets, at: int, least: Floats | None, factor: Floats, even: Floats) -> Floats:
    """One itemset: by its own posterior, or, where a subset was drawn, by that given the smallest of them."""
    grid, posterior = part.grid[at], part.posterior[at]
    edges = edges_of(grid[None])[0]
    if least is None:
        return np.asarray(np.interp(even, _rising(posterior), edges) * factor)
    most = grid[-1] / RATIOS[-1]
    shift = np.log(np.maximum(least, _TINY) / most) - np.log(factor)
    shifts = np.linspace(shift.min(), shift.max(), _SHIFTS)
    nearest = np.rint((shift - shifts[0]) / max(shifts[-1] - shifts[0], _TINY) * (_SHIFTS - 1)).astype(np.int64)
    weights = part.prior[at] * np.exp(_shifted(grid, posterior, part.prior[at], shifts))
    rising = np.arange(_SHIFTS)[:, None] + np.stack([_rising(row) for row in weights])
    ratios = np.interp(nearest + even, rising.ravel(), np.tile(edges / most, _SHIFTS))
    return np.asarray(np.clip(ratios, 0.0, 1.0) * least)


def _shifted(grid: Floats, posterior: Floats, prior: Floats, shifts: Floats) -> Floats:
    """The log-likelihood of every support of the grid times exp(shift), a row for each shift, at most 0.

    Beyond the grid it falls on as it did; where it did not fall it stays.
    """
    known = np.log(np.maximum(posterior, _TINY)) - np.log(np.maximum(prior, _TINY))
    at = np.log(np.maximum(grid, _TINY))
    wanted = at + shifts[:, None]
    slope = min(0.0, (known[-1] - known[-2]) / max(at[-1] - at[-2], _TINY))
    result = np.interp(wanted, at, known) + slope * np.maximum(wanted - at[-1], 0.0)
    return np.asarray(result - result.max(axis=1, keepdims=True))


def _rising(weights: Floats) -> Floats:
    """The sums of weights from 0 to 1."""
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    return np.asarray(sums / sums[-1])


@dataclass(frozen=True, eq=False)
class OverDraws:
    """Intervals of measures: quantiles over joint draws of supports, widened to hold the estimates."""

    values: Floats
    drawn: Drawn
    tail: float

    def __call__(self, measure: Measure, places: list[ReleasedPlaces]) -> Ends:
        at = measure(_table([self.values[place] for place in places]))
        low, high = np.empty(len(at)), np.empty(len(at))
        for start, stop in slices(len(at), max(1, _TABLES // self.drawn.shape[1])):
            low[start:stop], high[start:stop] = self._quantiles(measure, [place[start:stop] for place in places])
        return Ends(np.fmin(low, at), np.fmax(high, at))

    def _quantiles(self, measure: Measure, places: list[ReleasedPlaces]) -> Ends:
        """Order statistics, so that infinite values stay what they are; undefined ones count against either end."""
        value = np.asarray(measure(_table([self.drawn[place].astype(float) for place in places])))
        n = value.shape[1]
        out = int(self.tail * n)
        ends = []
        for side, place in zip(measure.range, (out, n - 1 - out), strict=True):
            defined = np.clip(np.where(np.isnan(value), side, value), *measure.range)
            ends.append(np.partition(defined, place, axis=1)[:, place])
        return Ends(*ends)


def _table(sides: list[Floats]) -> Contingency:
    both, antecedent, consequent = sides
    return Contingency.of_counts(both, antecedent, consequent, 1.0)
