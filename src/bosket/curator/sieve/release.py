"""What the sieve publishes: posteriors of supports, noisy sums beside them, and what it announces of itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import ndtri

from bosket.checks import check_integer
from bosket.counting.base import ItemsetRows
from bosket.counting.table import ItemsetIndex, patterns
from bosket.curator.release import Release, capped, frame_of, joined
from bosket.curator.rule_intervals import Ends, EndsOfRules
from bosket.curator.sieve.beliefs import LevelPlaces, edges_of
from bosket.curator.sieve.draws import Drawn, OverDraws, draw_numbers, draw_supports
from bosket.curator.sieve.selection import Announced, ReleasedItemsets
from bosket.errors import ParameterError
from bosket.progress import Progress
from bosket.randomness import Randomness, Secure, check_randomness
from bosket.statistics.estimates import Floats, normal_quantile

_DRAWS = 25  # in either tail of an interval, at least
_LEAST_DRAWS = 1000
_MOST = 1 << 26  # numbers that are drawn in all
_LARGER = 2.0  # for itemsets of three items and more, over those of one and two
_TAIL = 0.025  # either tail beside an interval at 95%
_TINY, _FAR = 1e-9, 1e12  # of a record; and times a support


@dataclass(frozen=True, eq=False, repr=False)
class SieveRelease(Release):
    """Itemsets found by the sieve."""

    chosen: tuple[ReleasedItemsets, ...]
    """The frequent itemsets by size."""
    number: int
    """The noisy number of records."""
    announced: Announced
    """The F, precision and recall that the posterior expects of this release."""
    n_measured: int
    """How many itemsets were measured, of which these were chosen."""
    scale_of_number: float
    """Of the noise of the number of records; 0 where supports were told as shares."""
    unsure: float
    """Of a support, the error that all itemsets of a size may have in common."""
    adds_squares: bool
    """Whether that error and those that an itemset has on its own add up as squares, or as they are."""

    def unsure_of(self, size: int) -> float:
        """Of a support, the error that all itemsets of a size may have in common.

        Twice as much for three items and more, without a delta: their share is told by few sums that are clear of
        the noise.
        """
        return self.unsure * (_LARGER if size > 2 and not self.adds_squares else 1.0)

    intervals = (
        "an interval has the level of the posterior, by joint draws of all supports, for each rule by itself and not "
        "for all at once; it holds as far as the assumptions of the posterior do.  Bias: of itemsets that live in long "
        "records less is kept than on average, so their supports come out too small, and confidences of rules from "
        "short to long records with them; a tenth of every support and the spread of the settings are allowed for, and "
        "no more.  Where records are dense, supports are those of one fitted population and of answers about "
        "undecided itemsets, and none of this is so: effects of three items and more are allowed for by a share that "
        "the answers tell"
    )

    @property
    def n_records(self) -> int:
        return self.number

    @property
    def rows(self) -> list[ItemsetRows]:
        return [part.rows for part in self.chosen]

    def to_frame(self, *, level: float = 0.95) -> pd.DataFrame:
        """One row per itemset, the most frequent first.

        support      posterior mean of the share of the records
        itemsets     frozenset of labels
        size         number of items
        low, high    interval that has ``level`` of the posterior, as much of the rest on either side, with the noise of
                     the smallest subset and of the number of records, and a tenth for an error that all have in common:
                     beside the others as squares where there is a delta, on top of them otherwise;
                     docs/theory/sieve.md says how often they hold
        probability  how likely the itemset is frequent, by all that was measured
        noisy        noisy sums of bounded contributions over the share that itemsets keep on average: the average of
                     all rounds; where records are dense, of the fitted population and answers about undecided itemsets
        consistent   ``support`` made consistent: no larger than that of any subset
        """
        normal_quantile(level)
        ends = self._ends((1 - level) / 2)
        columns = {
            "low": ends.low,
            "high": ends.high,
            "probability": joined([part.probability for part in self.chosen]),
            "noisy": joined([part.noisy for part in self.chosen]) / self.number,
        }
        means = joined([(part.posterior * part.grid).sum(axis=1) for part in self.chosen]) / self.number
        return frame_of(self, np.clip(means, ends.low, ends.high), columns, level=level)

    def ends_at_once(self, level: float) -> Ends:
        """Intervals that together have ``level`` of the posterior, by Bonferroni over all itemsets that were measured;
        no low end is below that of a superset, and no high end above that of a subset.
        """
        normal_quantile(level)
        ends, names = self._ends((1 - level) / (2 * self.n_measured)), self.names
        highest = capped(names, ends.high)
        lowest = -capped(names[::-1], -ends.low[::-1], up=True)[::-1]
        return Ends(lowest, np.maximum(lowest, highest))

    def ends_of_rules(self, level: float, *, on_progress: Progress | None = None) -> EndsOfRules:
        """Quantiles of measures over joint draws of all supports; the same draws in every call for a level."""
        normal_quantile(level)
        tail = (1 - level) / 2
        n = math.ceil(_DRAWS / tail)
        in_common = max((part.draws.shape[1] for part in self.chosen if part.draws is not None), default=0)
        most = max(_LEAST_DRAWS, _MOST // max(1, len(self) + 4 * in_common))  # these are doubles, and drawn twice
        n = min(max(n, _LEAST_DRAWS), most)
        if tail * n < 1:  # no draw would be left out
            raise ParameterError(
                f"The 'level' parameter must be at most {1 - 2 / n:.9f} for rules of {len(self):,} itemsets, whose "
                f"intervals are made of {n:,} draws, got {level!r}.",
                parameter="level",
                value=level,
            )
        return OverDraws(self.consistent, self._drawn(n, on_progress), tail)

    def draw(self, n: int, *, rng: Randomness | None = None) -> Drawn:
        """``n`` joint draws of all supports from the posterior, as fractions: a row for each of ``names``.

        No draw has an itemset above a subset that was released.  Post-processing: nothing is looked at again.
        """
        return self._draw(check_integer("n", n, least=1), Secure() if rng is None else check_randomness(rng))

    def _draw(self, n: int, chance: Randomness, on_progress: Progress | None = None) -> Drawn:
        drawn = draw_supports(self.chosen, n, chance, self.unsure_of, on_progress)
        drawn /= draw_numbers(self.number, self.scale_of_number, n, chance)
        return np.minimum(drawn, 1.0, out=drawn)

    @cached_property
    def _kept_draws(self) -> dict[int, Drawn]:
        """The draws that were made last, by their number."""
        return {}

    def _drawn(self, n: int, on_progress: Progress | None) -> Drawn:
        known = self._kept_draws
        if n not in known:
            drawn = self._draw(n, Secure(), on_progress)
            known.clear()
            known[n] = drawn
        return known[n]

    def _ends(self, tail: float) -> Ends:
        low, high = ([quantiles(part.grid, part.posterior, q) for part in self.chosen] for q in (tail, 1 - tail))
        if self.unsure > 0:
            low, high = with_noise_of_subsets(self.chosen, low, high)
        reach = math.ceil(self.scale_of_number * math.log(1 / tail))  # of Gaussian noise more than enough
        least, most = max(self.number - reach, 1), self.number + reach
        below, above = self._with_common_error(joined(low), joined(high), tail)
        lowest = np.minimum(below / most, 1.0)
        return Ends(lowest, np.clip(above / least, lowest, 1.0))

    def _with_common_error(self, low: Floats, high: Floats, tail: float) -> tuple[Floats, Floats]:
        """Ends, in records, wider by the error that all itemsets of a size may have in common.

        Added as a square it is that of a normal law whose interval at 95% it is, and grows with the level as that does.
        """
        if not self.unsure or not self.adds_squares:
            sizes = [part.rows.shape[1] for part in self.chosen]
            unsure = np.repeat([self.unsure_of(size) for size in sizes], [len(part.rows) for part in self.chosen])
            return low * (1 - unsure), high * (1 + unsure)
        times = float(ndtri(tail) / ndtri(_TAIL))
        means = np.clip(joined([(part.posterior * part.grid).sum(axis=1) for part in self.chosen]), low, high)
        down, up = _logs(means / np.maximum(low, _TINY)), _logs(high / np.maximum(means, _TINY))
        return (
            means * np.exp(-np.hypot(down, -math.log1p(-self.unsure) * times)),
            means * np.exp(np.hypot(up, math.log1p(self.unsure) * times)),
        )


def with_noise_of_subsets(
    chosen: Sequence[ReleasedItemsets], low: Sequence[Floats], high: Sequence[Floats]
) -> tuple[list[Floats], list[Floats]]:
    """Ends by size, wider by what is not known of the smallest subset.

    The posterior of a larger itemset takes the support m of its smallest subset for known.  With logarithms of low ends
    l, means s and high ends h, the distances s - l and h - s become the roots of (s - l)^2 + (s_m - l_m)^2 and of
    (h - s)^2 + (h_m - s_m)^2, where l_m and h_m are the ends of the subset by itself.
    """
    middles = [
        np.clip((part.posterior * part.grid).sum(axis=1), *ends) for part, *ends in zip(chosen, low, high, strict=True)
    ]
    down = [_logs(middle / np.maximum(end, _TINY)) for middle, end in zip(middles, low, strict=True)]
    up = [_logs(end / np.maximum(middle, _TINY)) for middle, end in zip(middles, high, strict=True)]
    lows, highs = list(low), list(high)
    for at in range(1, len(chosen)):
        subset = _smallest_subset(chosen[at].rows, chosen[at - 1].rows, middles[at - 1])
        below, above = (
            np.where(subset >= 0, one[subset], 0.0) if len(one) else 0.0 for one in (down[at - 1], up[at - 1])
        )
        lows[at] = middles[at] * np.exp(-np.hypot(down[at], below))
        highs[at] = middles[at] * np.exp(np.hypot(up[at], above))
    return lows, highs


def _smallest_subset(rows: ItemsetRows, smaller: ItemsetRows, supports: Floats) -> LevelPlaces:
    """Of each itemset the place of its least frequent subset among those one smaller; -1 where there is none."""
    index, size = ItemsetIndex(smaller), rows.shape[1]
    places = np.stack([index.find(rows, positions) for positions in patterns(size, size - 1)[1]])
    known = np.where(places >= 0, np.append(supports, np.inf)[places], np.inf)
    return np.asarray(places[np.argmin(known, axis=0), np.arange(len(rows))])


def _logs(ratios: Floats) -> Floats:
    return np.asarray(np.log(np.clip(ratios, 1.0, _FAR)))


def quantiles(grid: Floats, posterior: Floats, q: float) -> Floats:
    """Of each row the quantile of a law on a grid; what a point has is spread evenly to the middles between points.

    >>> quantiles(np.array([[1.0, 2.0, 3.0]]), np.array([[0.0, 1.0, 0.0]]), 0.5).tolist()
    [2.0]
    """
    edges = edges_of(grid)
    below = np.concatenate([np.zeros((len(grid), 1)), np.cumsum(posterior, axis=1)], axis=1)
    return np.array([np.interp(q, mass, edge) for mass, edge in zip(below, edges, strict=True)], float)
