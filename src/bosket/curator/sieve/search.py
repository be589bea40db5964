"""Which itemsets are worth a measurement: those likely enough to be frequent, by what is believed so far.

An itemset that was never measured has a prior probability: that its subsets are frequent, times the chance that the
ratio to the smallest of them reaches the limit.  The ratios are those of its size where some were measured, otherwise

    pairs     log-uniform over a factor of exp(6): Pr(ratio >= r) = log(1 / r) / 6
    larger    uniform: Pr(ratio >= r) = 1 - r

Candidates of one size, with their prior probabilities, are what candidates of the next are joined from, so that one
round can look at several sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bosket.counting.base import ItemsetRows
from bosket.counting.table import ItemsetIndex
from bosket.curator.sieve.beliefs import BARELY, RATIOS, SievedLevel, smallest_subset
from bosket.errors import TooManyCandidatesError
from bosket.mining.candidates import ItemGroups, next_candidates
from bosket.statistics.estimates import Floats

_SPAN = 6.0  # of the logarithms of ratios of pairs
_PAIRS_MEAN, _LARGER_MEAN = 0.3, 0.6  # of ratios, before any were measured
_HARDLY = 0.7  # of the limit: items with a smaller support are not joined to pairs
_JOINED = 4_000_000  # candidates of one size, before the unlikely ones are left out


@dataclass(frozen=True, eq=False)
class SievedCandidates:
    """New itemsets of one size, with the prior probability that they are frequent."""

    rows: ItemsetRows
    probability: Floats


@dataclass(frozen=True)
class SieveSearch:
    """The limit, and from which prior probability on an itemset is measured."""

    limit: float
    likely: float
    max_candidates: int
    groups: ItemGroups | None = None

    def candidates(self, levels: list[SievedLevel], *, largest: int) -> tuple[list[SievedCandidates], float]:
        """New itemsets of up to ``largest`` items, the likeliest first of all sizes together, and how many frequent
        itemsets are expected among those left out.
        """
        found: list[SievedCandidates] = []
        missed = 0.0
        known = [(level.rows, level.probability, level.mean) for level in levels]
        rows, probability, mean = known[0]
        for size in range(2, largest + 1):
            new, of_new, means, left_out = self._next(size, rows, probability, mean, levels)
            missed += left_out
            if len(new):
                found.append(SievedCandidates(new, of_new))
            if size <= len(known):
                new = np.concatenate([known[size - 1][0], new])
                of_new = np.concatenate([known[size - 1][1], of_new])
                means = np.concatenate([known[size - 1][2], means])
            if not len(new):
                break
            rows, probability, mean = new, of_new, means
        return self._most_likely(found, missed)

    def _next(
        self, size: int, rows: ItemsetRows, probability: Floats, mean: Floats, levels: list[SievedLevel]
    ) -> tuple[ItemsetRows, Floats, Floats, float]:
        """Candidates of one size that are new and likely enough, with what they may have, and what is missed."""
        joined = probability > self.likely
        if size == 2:
            joined &= mean > _HARDLY * self.limit
        new = self._join(rows[joined], mean[joined])
        if len(levels) >= size:
            new = new[ItemsetIndex(levels[size - 1].rows).find(new) < 0]
        if not len(new):
            return new, np.empty(0), np.empty(0), 0.0
        cap = smallest_subset(new, rows, mean, 0.0)
        likely, ratio = self._chance(size, cap, levels)
        likely *= smallest_subset(new, rows, probability, 0.0)
        chosen = likely > self.likely
        return new[chosen], likely[chosen], np.maximum(ratio * cap, self.limit)[chosen], float(likely[~chosen].sum())

    def _join(self, rows: ItemsetRows, mean: Floats) -> ItemsetRows:
        """All itemsets one larger whose subsets are all among these; of the more frequent half where they are too many.

        How many there are follows from noisy numbers.
        """
        while len(rows):
            base = np.ascontiguousarray(rows[np.lexsort(rows.T[::-1])])
            try:
                return next_candidates(ItemsetIndex(base), max_candidates=_JOINED, groups=self.groups)
            except TooManyCandidatesError:
                kept = np.argsort(-mean, kind="stable")[: len(rows) // 2]
                rows, mean = rows[kept], mean[kept]
        return np.empty((0, rows.shape[1] + 1), np.int32)

    def _chance(self, size: int, cap: Floats, levels: list[SievedLevel]) -> tuple[Floats, float]:
        """The chance that supports below these caps reach the limit, and the mean ratio to the cap."""
        cap = np.maximum(cap, BARELY * self.limit)
        needed = self.limit / cap
        if len(levels) >= size:
            prior = levels[size - 1].prior
            above = np.append(np.cumsum(prior[::-1])[::-1], 0.0)
            return above[np.searchsorted(RATIOS, needed)], float(prior @ RATIOS)
        if size == 2:
            return -np.log(needed) / _SPAN, _PAIRS_MEAN
        return 1 - needed, _LARGER_MEAN

    def _most_likely(self, found: list[SievedCandidates], missed: float) -> tuple[list[SievedCandidates], float]:
        """No more than may be measured at once, the likeliest of all sizes together."""
        every = np.concatenate([np.empty(0), *(part.probability for part in found)])
        if len(every) <= self.max_candidates:
            return found, missed
        chosen = np.zeros(len(every), bool)
        chosen[np.argsort(-every, kind="stable")[: self.max_candidates]] = True
        kept = np.split(chosen, np.cumsum([len(part.probability) for part in found])[:-1])
        missed += float(every.sum()) - sum(
            float(part.probability[keep].sum()) for part, keep in zip(found, kept, strict=True)
        )
        return [
            SievedCandidates(part.rows[keep], part.probability[keep]) for part, keep in zip(found, kept, strict=True)
        ], missed
