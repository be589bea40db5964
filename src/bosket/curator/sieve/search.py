"""Which itemsets are worth a measurement: those likely enough to be frequent, by what is believed so far.

An itemset that was never measured has a prior probability: that its subsets are frequent, times the chance that the
ratio to the smallest of them reaches the limit.  The ratios are those of its size where some were measured, otherwise

    pairs     log-uniform over a factor of exp(6): Pr(ratio >= r) = log(1 / r) / 6
    triples   uniform: Pr(ratio >= r) = 1 - r
    larger    those of the largest size that was measured

Candidates of one size, with their prior probabilities, are what candidates of the next are joined from, so that one
round can look at several sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bosket.counting.base import ItemsetRows
from bosket.counting.table import ItemsetIndex
from bosket.curator.sieve.beliefs import RATIOS, SievedLevel, may_be
from bosket.curator.sieve.expected import Expected, KnownSupports, expected_of, smallest_subset
from bosket.errors import TooManyCandidatesError
from bosket.mining.candidates import ItemGroups, next_candidates
from bosket.statistics.estimates import Floats
from bosket.threads import slices

_SPAN = 6.0  # of the logarithms of ratios of pairs
_TRIPLES = 3  # items: ratios of this size on are like those of the size before
_HARDLY = 0.7  # of the limit: items with a smaller support are not joined to pairs
_JOINED = 4_000_000  # candidates of one size, before the unlikely ones are left out
_AT_ONCE = 1 << 16  # of them that are looked at; each takes some kilobytes meanwhile


@dataclass(frozen=True, eq=False)
class SievedCandidates:
    """New itemsets of one size, with the prior probability that they are frequent."""

    rows: ItemsetRows
    probability: Floats


@dataclass(frozen=True, eq=False)
class _Chained:
    """Itemsets of one size, measured or not, that larger ones are joined from."""

    rows: ItemsetRows
    probability: Floats
    mean: Floats


@dataclass(frozen=True)
class SieveSearch:
    """The limit, and from which prior probability on an itemset is measured."""

    limit: float
    n_records: float
    likely: float
    max_candidates: int
    groups: ItemGroups | None = None

    def at(self, limit: float) -> SieveSearch:
        """The same search for another limit."""
        return replace(self, limit=limit)

    def candidates(self, levels: list[SievedLevel], *, largest: int) -> tuple[list[SievedCandidates], list[float]]:
        """New itemsets of up to ``largest`` items, the likeliest first of all sizes together, and how many frequent
        itemsets are expected among those left out, by size.
        """
        found: list[SievedCandidates] = []
        missed = [0.0]
        chain = [_Chained(levels[0].rows, levels[0].probability, levels[0].mean)]
        for size in range(2, largest + 1):
            new, left_out = self._next(chain, levels)
            missed.append(left_out)
            if len(new.rows):
                found.append(SievedCandidates(new.rows, new.probability))
            if size <= len(levels):
                level = levels[size - 1]
                new = _Chained(
                    np.concatenate([level.rows, new.rows]),
                    np.concatenate([level.probability, new.probability]),
                    np.concatenate([level.mean, new.mean]),
                )
            if not len(new.rows):
                break
            chain.append(new)
        return self._most_likely(found, missed)

    def _next(self, chain: list[_Chained], levels: list[SievedLevel]) -> tuple[_Chained, float]:
        """Candidates of one size that are new and likely enough, with what they may have, and what is missed."""
        below, size = chain[-1], len(chain) + 1
        joined = below.probability > self.likely
        if size == 2:
            joined &= below.mean > _HARDLY * self.limit
        new = self._join(below.rows[joined], below.mean[joined])
        if len(levels) >= size:
            new = new[ItemsetIndex(levels[size - 1].rows).find(new) < 0]
        if not len(new):
            return _Chained(new, np.empty(0), np.empty(0)), 0.0
        known = [KnownSupports(one.rows, may_be(one.probability, one.mean, self.limit)) for one in chain]
        chances = KnownSupports(below.rows, below.probability)
        parts = [self._likely(new[start:stop], known, chances, levels) for start, stop in slices(len(new), _AT_ONCE)]
        rows, likely, mean = (np.concatenate(column) for column in zip(*(part for part, _ in parts), strict=True))
        return _Chained(rows, likely, mean), sum(left_out for _, left_out in parts)

    def _likely(
        self, new: ItemsetRows, known: list[KnownSupports], chances: KnownSupports, levels: list[SievedLevel]
    ) -> tuple[tuple[ItemsetRows, Floats, Floats], float]:
        """Those that are likely enough, with their probabilities and means, and how many frequent ones are left out."""
        likely, mean = self._chance(expected_of(new, known, self.n_records, 0.0), new.shape[1], levels)
        likely *= smallest_subset(new, chances, 0.0)
        chosen = likely > self.likely
        means = np.maximum(mean, self.limit)[chosen]
        return (new[chosen], likely[chosen], means), float(likely[~chosen].sum())

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

    def _chance(self, expected: Expected, size: int, levels: list[SievedLevel]) -> tuple[Floats, Floats]:
        """The chance that supports of which this is expected reach the limit, and the mean of those that do."""
        needed = self.limit / expected.most
        measured = min(size, len(levels))
        if measured >= min(size, _TRIPLES):
            prior = levels[measured - 1].prior[expected.classes]
            at = np.arange(len(prior)), np.searchsorted(RATIOS, needed)
            chance, sums = _above(prior)[at], _above(prior * RATIOS)[at]
            return chance, sums / np.maximum(chance, np.finfo(float).tiny) * expected.most
        needed = np.minimum(needed, 1.0)
        if size == 2:
            chance = -np.log(needed) / _SPAN
            return chance, (1 - needed) / np.maximum(_SPAN * chance, np.finfo(float).tiny) * expected.most
        return 1 - needed, (1 + needed) / 2 * expected.most

    def _most_likely(
        self, found: list[SievedCandidates], missed: list[float]
    ) -> tuple[list[SievedCandidates], list[float]]:
        """No more than may be measured at once, the likeliest of all sizes together."""
        every = np.concatenate([np.empty(0), *(part.probability for part in found)])
        if len(every) <= self.max_candidates:
            return found, missed
        chosen = np.zeros(len(every), bool)
        chosen[np.argsort(-every, kind="stable")[: self.max_candidates]] = True
        kept = np.split(chosen, np.cumsum([len(part.probability) for part in found])[:-1])
        for part, keep in zip(found, kept, strict=True):
            missed[part.rows.shape[1] - 1] += float(part.probability[~keep].sum())
        return [
            SievedCandidates(part.rows[keep], part.probability[keep]) for part, keep in zip(found, kept, strict=True)
        ], missed


def _above(values: Floats) -> Floats:
    """Sums of rows from each place on; after the last one 0."""
    return np.concatenate([np.cumsum(values[:, ::-1], axis=1)[:, ::-1], np.zeros((len(values), 1))], axis=1)
