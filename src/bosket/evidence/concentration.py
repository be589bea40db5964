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

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.evidence.carried import Carried, Concentration
from bosket.evidence.kernels import few_strata
from bosket.evidence.sums import Moments
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
    shift = LARGE_SHIFT * n_records
    few_strata(found.squares, found.largest, stratum_records, FEW * n_records, half, shift, sums, numbers)
    part, reach = np.cumsum(found.top**2, axis=1), np.cumsum(found.top, axis=1)
    enough = (part > half[:, None]) & (reach >= shift) & (found.top[:, :1] >= LARGE_WEIGHT)
    rows = np.flatnonzero(enough.any(axis=1) & (numbers[:, 0] == 0))
    last = enough[rows].argmax(axis=1)
    numbers[rows, 0], sums[rows, 0], sums[rows, 1] = last + 1, part[rows, last], found.top[rows, 0]
    strata = found.top_strata[rows]
    is_one = ((strata == strata[:, :1]) | (np.arange(strata.shape[1]) > last[:, None])).all(axis=1)
    numbers[rows, 1] = np.where(is_one, strata[:, 0], -1)
    share = np.divide(sums[:, 0], found.second, out=np.zeros(len(half)), where=found.second > 0)
    return Few(numbers[:, 0], share, sums[:, 1], numbers[:, 1])
