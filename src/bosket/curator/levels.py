"""One size of itemsets after another: candidates, noisy counts of truncated records, double standards (Algorithm 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb

import numpy as np
import numpy.typing as npt

from bosket.checks import check_not_negative
from bosket.counting.base import Counts, ItemsetRows
from bosket.counting.table import ItemsetIndex
from bosket.curator.lengths import Lengths
from bosket.curator.loss import average_support, kept_ratio, maximal_support
from bosket.curator.noise import Composition, scale_of
from bosket.curator.truncation import count_candidates, count_items
from bosket.data import Baskets
from bosket.data.domain import ItemIds
from bosket.mining.candidates import next_candidates
from bosket.statistics.estimates import Floats


@dataclass(frozen=True)
class NoisyLevel:
    """Itemsets of one size with noisy counts of truncated records, all of it released."""

    items: ItemsetRows
    noisy: Counts
    average: Floats
    """The estimated count in whole records (Eq. 11); what is frequent is decided by it."""
    maximal: Floats
    """The largest that it may well be (Eq. 12); what is extended is decided by it."""
    max_size: int
    """What records were cut to."""
    epsilon: float
    sensitivity: int
    kept: float
    """The share of its records that truncation at random is expected to leave an itemset in; intervals allow for it."""
    n_candidates: int
    """How many itemsets were counted, of which these were chosen."""

    @property
    def scale(self) -> float:
        """Of the noise."""
        return scale_of(self.epsilon, self.sensitivity)

    def capped(self, average: Floats, maximal: Floats) -> NoisyLevel:
        """With estimates no larger than these: no itemset is more frequent than its subsets."""
        return replace(self, average=np.minimum(self.average, average), maximal=np.minimum(self.maximal, maximal))

    def take(self, chosen: npt.NDArray[np.bool_]) -> NoisyLevel:
        return NoisyLevel(
            self.items[chosen], self.noisy[chosen], self.average[chosen], self.maximal[chosen],
            self.max_size, self.epsilon, self.sensitivity, self.kept, self.n_candidates,
        )  # fmt: skip


@dataclass(frozen=True)
class Heuristics:
    """What the two heuristics do; both off is the naive miner of section 5.2."""

    smart: bool = True
    """Keep what goes together when a record is cut, not items at random."""
    double_standards: bool = True
    """Extend by the largest support that an itemset may well have, report by the average."""
    correction: float = 0.0
    """How much of the loss of random truncation is undone where records are cut smartly, as a power of its ratio.

    The paper undoes all of it (1), though smart truncation keeps what goes together: where records are long that makes
    supports several times too large.  Records are cut at random for single items, and there all of it is undone."""
    by_length: bool = True
    """Count long records for the more itemsets that they hold, when the loss is reckoned; the paper does not."""

    def __post_init__(self) -> None:
        check_not_negative("correction", self.correction, of="Heuristics")


def sensitivity(max_size: int, size: int, n_candidates: int, per_person: int) -> int:
    """Theorem 10: one record of at most max_size items holds min(C(max_size, size), n_candidates) of the candidates."""
    return per_person * max(1, min(comb(max_size, size), n_candidates))


def first_level(
    baskets: Baskets,
    lengths: Lengths,
    max_size: int,
    *,
    granted: Composition,
    epsilon: float,
    per_person: int,
    heuristics: Heuristics,
) -> NoisyLevel:
    """All single items, counted in records that were cut at random; ``baskets`` are cut already."""
    items = np.arange(baskets.n_items, dtype=np.int32)[:, None]
    kappa = sensitivity(max_size, 1, len(items), per_person)
    counts = granted.noisy(count_items(baskets), epsilon=epsilon, sensitivity=kappa)
    level = _level(items, counts, lengths, max_size, epsilon, kappa, heuristics)
    return level.capped(np.full(len(items), max(lengths.total, 1)), np.full(len(items), max(lengths.total, 1)))


def next_level(
    baskets: Baskets,
    before: NoisyLevel,
    lengths: Lengths,
    max_size: int,
    *,
    granted: Composition,
    epsilon: float,
    per_person: int,
    heuristics: Heuristics,
    max_candidates: int,
    groups: ItemIds | None = None,
) -> NoisyLevel | None:
    """The candidates one larger than the itemsets of ``before``, counted; None if there are none.

    ``groups`` are the attributes of a table's items, of which a record has one each.
    """
    order = np.lexsort(before.items.T[::-1])
    index = ItemsetIndex(np.ascontiguousarray(before.items[order]))
    candidates = next_candidates(index, max_candidates=max_candidates, groups=groups)
    if not len(candidates):
        return None
    size = candidates.shape[1]
    scores = frequency_scores(candidates, index, before.noisy[order])
    kappa = sensitivity(max_size, size, len(candidates), per_person)
    exact = count_candidates(baskets, candidates, scores, max_size)
    counts = granted.noisy(exact, epsilon=epsilon, sensitivity=kappa)
    level = _level(candidates, counts, lengths, max_size, epsilon, kappa, heuristics)
    if not heuristics.double_standards:
        return level
    return level.capped(*(_least(candidates, index, values[order]) for values in (before.average, before.maximal)))


def _least(candidates: ItemsetRows, index: ItemsetIndex, values: Floats) -> Floats:
    """The smallest value of the subsets of each candidate that are one smaller."""
    size = candidates.shape[1]
    places = [index.find(candidates, np.delete(np.arange(size), left_out)) for left_out in range(size)]
    result: Floats = np.min([values[place] for place in places], axis=0)
    return result


def frequency_scores(candidates: ItemsetRows, index: ItemsetIndex, noisy_counts: Counts) -> Floats:
    """Definition 8: the sum of the noisy supports of the subsets that are one smaller."""
    size = candidates.shape[1]
    total = np.zeros(len(candidates))
    for left_out in range(size):
        place = index.find(candidates, np.delete(np.arange(size), left_out))
        total += noisy_counts[place]
    return total


def _level(
    items: ItemsetRows,
    counts: Counts,
    lengths: Lengths,
    max_size: int,
    epsilon: float,
    kappa: int,
    heuristics: Heuristics,
) -> NoisyLevel:
    values = counts.astype(float)
    average = maximal = values
    size = items.shape[1]
    kept = kept_ratio(lengths.longest_likely, size, max_size, by_length=True)
    if heuristics.double_standards:
        ratio = kept_ratio(lengths.weights, size, max_size, by_length=heuristics.by_length)
        if size > 1 and heuristics.smart:
            ratio **= heuristics.correction
        each = 1 / scale_of(epsilon, kappa)
        average, maximal = average_support(values, ratio, each), maximal_support(values, ratio, each)
    return NoisyLevel(items, counts, average, maximal, max_size, epsilon, kappa, kept, len(items))
