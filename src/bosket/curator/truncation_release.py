"""What truncation publishes: noisy counts of cut records by size, with intervals that allow for the cut."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bosket.counting.base import ItemsetRows
from bosket.curator.levels import NoisyLevel
from bosket.curator.loss import maximal_support
from bosket.curator.prepared import Prepared
from bosket.curator.release import Release, capped, frame_of, joined
from bosket.curator.rule_intervals import Ends
from bosket.statistics.estimates import normal_quantile


@dataclass(frozen=True, eq=False, repr=False)
class TruncationRelease(Release):
    """Itemsets found by truncation."""

    prepared: Prepared
    """What was measured first: lengths, limit, how large frequent itemsets get."""
    levels: tuple[NoisyLevel, ...]
    """The frequent itemsets by size."""

    intervals = (
        "with a probability of at least the level, the intervals of all supports hold at once, whichever rules are "
        "chosen, as far as truncation took no more than they allow for; a measure is somewhere between its least and "
        "largest value"
    )

    @property
    def n_records(self) -> int:
        return max(self.prepared.lengths.total, 1)

    @property
    def rows(self) -> list[ItemsetRows]:
        return [level.items for level in self.levels]

    def to_frame(self, *, level: float = 0.95) -> pd.DataFrame:
        """One row per itemset, the most frequent first.

        support     estimated share of the records: what to expect behind the noisy count, within the interval; of
                    single items also what truncation at random took, give or take a tenth where few records are
                    long.  Not so of larger itemsets: theirs are too small where records are long
        itemsets    frozenset of labels
        size        number of items
        low, high   interval at ``level``: the noise of the count and of the number of records, and that of many
                    candidates the luckiest are shown (of the intervals shown, 5% are expected to miss; Benjamini and
                    Yekutieli 2005).  Truncation can only lower a support, so the low end needs no correction; the
                    high end allows for the loss when records are cut at random.  An interval is that of its own count:
                    the largest low end of many supersets would be that of the luckiest, and miss far more often
        noisy       the noisy share of truncated records, as it was drawn
        consistent  ``support`` made consistent: not negative, and no larger than that of any subset
        """
        normal_quantile(level)
        failure = (1 - level) / 2  # half of what may fail for the count, half for the number of records
        ends = self._ends([failure * len(part.items) / part.n_candidates for part in self.levels], failure)
        support = (joined([part.average for part in self.levels]) / self.n_records).clip(ends.low, ends.high)
        columns = {
            "low": ends.low,
            "high": ends.high,
            "noisy": joined([part.noisy for part in self.levels]) / self.n_records,
        }
        return frame_of(self, support, columns, level=level)

    def ends_at_once(self, level: float) -> Ends:
        """Intervals of all supports that hold at once with a probability of at least ``level``, in the order of
        ``names``; by Bonferroni over all candidates of all sizes and the number of records.

        Since all hold, no low end is below that of a superset, and no high end above that of a subset.  Of every size
        all candidates are counted in, released or not, so it does not matter which were chosen.
        """
        normal_quantile(level)
        failure = (1 - level) / (self.prepared.largest + 1)
        ends, names = self._ends([failure / part.n_candidates for part in self.levels], failure), self.names
        highest = capped(names, ends.high)
        lowest = -capped(names[::-1], -ends.low[::-1], up=True)[::-1]
        return Ends(lowest, np.maximum(lowest, highest))  # a lucky superset may say more than a subset allows

    def _ends(self, failures: list[float], of_total: float) -> Ends:
        """Intervals of supports, where each count of a size may fail with one probability, and the number of records.

        Pr(|z| > reach) < exp(-reach / scale) for the noise z of a count.
        """
        total = math.ceil(self.prepared.lengths.scale_of_total * math.log(1 / of_total))
        low, high = [], []
        for part, failure in zip(self.levels, failures, strict=True):
            reach = math.ceil(part.scale * math.log(1 / failure)) if failure else 0
            above = maximal_support(np.maximum(part.noisy + reach, 0), part.kept, 1 / part.scale)
            low.append((part.noisy - reach) / (self.n_records + total))
            high.append(np.maximum(above, part.noisy + reach) / max(self.n_records - total, 1.0))
        lowest, highest = joined(low), np.minimum(joined(high), 1.0)
        return Ends(lowest, np.maximum(lowest, highest))
