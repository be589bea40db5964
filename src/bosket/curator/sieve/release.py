"""What the sieve publishes: posteriors of supports, noisy sums beside them, and what it announces of itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bosket.counting.base import ItemsetRows
from bosket.curator.release import Release, capped, frame_of, joined
from bosket.curator.rule_intervals import Ends
from bosket.curator.sieve.beliefs import edges_of
from bosket.curator.sieve.selection import Announced, ReleasedItemsets
from bosket.statistics.estimates import Floats, normal_quantile

_UNSURE = 0.1  # of an average share that is kept, as histograms tell it; an error that all itemsets of a round have


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
    """Of the noise of the number of records."""

    intervals = (
        "intervals of supports are those of a posterior, by Bonferroni over all itemsets that were measured: they hold "
        "as far as its assumptions do, and often not all at once; a measure is between its least and largest value in "
        "them"
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
                     the number of records and a tenth more at either end for an error that all have in common;
                     docs/theory/sieve.md says how often they hold
        probability  how likely the itemset is frequent, by all that was measured
        noisy        noisy sums of bounded contributions over the share that itemsets keep on average: the average of
                     all rounds
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

    def _ends(self, tail: float) -> Ends:
        low, high = ([quantiles(part.grid, part.posterior, q) for part in self.chosen] for q in (tail, 1 - tail))
        reach = math.ceil(self.scale_of_number * math.log(1 / tail))  # of Gaussian noise more than enough
        least, most = max(self.number - reach, 1), self.number + reach
        return Ends(joined(low) * (1 - _UNSURE) / most, np.minimum(joined(high) * (1 + _UNSURE) / least, 1.0))


def quantiles(grid: Floats, posterior: Floats, q: float) -> Floats:
    """Of each row the quantile of a law on a grid; what a point has is spread evenly to the middles between points.

    >>> quantiles(np.array([[1.0, 2.0, 3.0]]), np.array([[0.0, 1.0, 0.0]]), 0.5).tolist()
    [2.0]
    """
    edges = edges_of(grid)
    below = np.concatenate([np.zeros((len(grid), 1)), np.cumsum(posterior, axis=1)], axis=1)
    return np.array([np.interp(q, mass, edge) for mass, edge in zip(below, edges, strict=True)], float)
