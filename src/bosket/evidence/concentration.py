"""Whether a few reports carry an estimate: what a few dishonest people could have sent.

The variance of a support is made of squared weights.  A few reports carry it that have more than half of their sum and
can move the support by a tenth of everybody.  A few are

- reports of strata that are small, less than a hundredth of all reports each and together, every report counted with
  the mean square of its stratum: the estimate says what these few say, and its interval may be narrow around it;
- at most three reports, one of which counts for ten people or more.  The standard error is then as large as the
  support, and says so; this says why.

Forged reports that state long records look like this, and so do honest long records where little is inserted
(cut-and-paste 10/.01 on groceries, of which intervals for four items cover 59%).  docs/theory/poisoning.md says where
honest data stay clear of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.evidence.carried import Carried, Concentration
from bosket.evidence.kernels import few_in_lists, few_strata, top_in_lists
from bosket.evidence.sums import TOP, Moments
from bosket.statistics.estimates import Floats

HALF = 0.5
"""The share of the sum of squared weights that is too much for a few."""
FEW = 0.01
"""The share of the reports below which those of some strata are a few; as are three reports, however many there are."""
LARGE_SHIFT = 0.1
"""The change of a support that is worth a word.  Below, those who carry an estimate may just be those who have it."""
LARGE_WEIGHT = LARGE_SHIFT / FEW
"""The people that one of three reports counts for.  Below, where there are few people, all of them carry it."""


@dataclass(frozen=True, slots=True)
class Few:
    """The few reports that carry each itemset: their number (0 where none do), share, largest weight and stratum."""

    reports: npt.NDArray[np.int64]
    share: Floats
    weight: Floats
    stratum: npt.NDArray[np.int64]
    """The place of the stratum that all of them are of; -1 where they are of several."""

    def summary(self, itemsets: ItemsetRows, n_records: int, size_at: Callable[[int], int | None]) -> Carried:
        """How many itemsets are carried, and the worst; ``size_at`` says the record size of a stratum, by its place."""
        places = np.flatnonzero(self.reports)
        if not len(places):
            return Carried(len(itemsets))
        at = int(places[np.lexsort((self.weight[places], self.share[places]))[-1]])
        stratum = int(self.stratum[at])
        worst = Concentration(
            tuple(itemsets[at].tolist()),
            int(self.reports[at]),
            n_records,
            float(self.share[at]),
            float(self.weight[at]),
            None if stratum < 0 else size_at(stratum),
        )
        return Carried(len(itemsets), len(places), worst)


def carried_by_few(found: Moments, stratum_records: npt.NDArray[np.int64]) -> Few:
    """For each itemset, the few reports that carry it: those of some strata, or else up to three of any."""
    n_records = int(stratum_records.sum())
    half = HALF * found.second
    numbers, sums = np.zeros((len(half), 2), np.int64), np.zeros((len(half), 2))
    few_strata(
        found.squares, found.largest, stratum_records, FEW * n_records, half, LARGE_SHIFT * n_records, sums, numbers
    )
    return _or_three(numbers, sums, found.second, found.top, found.top_strata, n_records)


def carried_in_lists(firsts: npt.NDArray[np.int64], weights: Floats, counts: npt.NDArray[Any], n_records: int) -> Few:
    """The same where every itemset has strata of its own, as questions that tell of it, from firsts[r] on.

    weights   without their sign, a row for each stratum of each itemset: those that a report can have there
    counts    how many reports have each
    """
    squares, largest = (counts * weights**2).sum(axis=1), np.where(counts > 0, weights, 0.0).max(axis=1, initial=0.0)
    n = len(firsts) - 1
    second = np.bincount(np.repeat(np.arange(n), np.diff(firsts)), squares, minlength=n).astype(float)
    numbers, sums = np.zeros((n, 2), np.int64), np.zeros((n, 2))
    top, top_strata = np.zeros((n, TOP)), np.zeros((n, TOP), np.int64)
    whole = counts.astype(np.int64)
    limit, shift = FEW * n_records, LARGE_SHIFT * n_records
    few_in_lists(firsts, squares, largest, whole.sum(axis=1), limit, HALF * second, shift, sums, numbers)
    top_in_lists(firsts, weights, whole, top, top_strata)
    return _or_three(numbers, sums, second, top, top_strata, n_records)


def _or_three(
    numbers: npt.NDArray[np.int64],
    sums: Floats,
    second: Floats,
    top: Floats,
    top_strata: npt.NDArray[np.int64],
    n_records: int,
) -> Few:
    """Those of some strata, where there are such, or else up to three reports that count for most."""
    rows = np.flatnonzero((top[:, 0] >= LARGE_WEIGHT) & (numbers[:, 0] == 0))  # seldom any
    part, reach = np.cumsum(top[rows] ** 2, axis=1), np.cumsum(top[rows], axis=1)
    enough = (part > HALF * second[rows, None]) & (reach >= LARGE_SHIFT * n_records)
    there = enough.any(axis=1)
    rows, part, last = rows[there], part[there], enough[there].argmax(axis=1)
    numbers[rows, 0], sums[rows, 0], sums[rows, 1] = last + 1, part[np.arange(len(rows)), last], top[rows, 0]
    strata = top_strata[rows]
    is_one = ((strata == strata[:, :1]) | (np.arange(strata.shape[1]) > last[:, None])).all(axis=1)
    numbers[rows, 1] = np.where(is_one, strata[:, 0], -1)
    share = np.divide(sums[:, 0], second, out=np.zeros(len(second)), where=second > 0)
    return Few(numbers[:, 0], share, sums[:, 1], numbers[:, 1])
