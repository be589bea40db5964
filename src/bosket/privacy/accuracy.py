"""The errors of supports that can be foreseen: what one record's coins bring to the variance of a support count.

With v_t the variance that a record t brings to the estimated support count of an itemset A, N records give the support,
a fraction, a standard error of sqrt(mean of v_t / N).  So it lies between sqrt(least / N) and sqrt(most / N) whatever
the records are, and where everybody has A it is sqrt(full / N).

A plan is *hopeless* for itemsets of a size at N people where full > N for each of them: then no data set has a support
s that is as large as its own standard error, since the mean of v_t is at least s full, so that the squared error is at
least s full / N > s >= s^2.  Otherwise there is one: everybody has the itemset.  See docs/theory/accuracy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.statistics.estimates import Floats

CARD_PEOPLE = 10_000
"""The number of people that a card speaks of where it knows none."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Variances that one record can bring to the support count of an itemset of ``size`` items, whichever it is."""

    size: int
    least: float
    """The smallest, over itemsets and records; where sizes are sent, over records of at least ``size`` items."""
    most: float
    """The largest."""
    full: float
    """That of a record which has the itemset, for the itemset (and the size of records) where it is smallest."""

    def stderr(self, people: int) -> tuple[float, float]:
        """The smallest and the largest standard error of a support, a fraction, among so many people."""
        return math.sqrt(self.least / people), math.sqrt(self.most / people)

    def best(self, people: int) -> float:
        """The standard error of the itemset that is seen best, if everybody has it."""
        return math.sqrt(self.full / people)

    def is_hopeless(self, people: int) -> bool:
        """Whether no support can be as large as its own standard error."""
        return self.full > people

    def people(self, stderr: float = 1.0) -> int:
        """How many people it takes for ``best`` to come down to this."""
        return max(1, math.ceil(self.full / stderr**2))

    def to_json(self, people: int) -> dict[str, float | int | bool]:
        """The standard errors among so many people."""
        low, high = self.stderr(people)
        return {"size": self.size, "least_stderr": low, "most_stderr": high, "hopeless": self.is_hopeless(people)}


def product_accuracy(
    present: Floats, absent: Floats, k: int, groups: npt.NDArray[np.integer[Any]] | None = None
) -> Accuracy | None:
    """Where the weight of an itemset is a product over its items, each randomized on its own: E[w^2] is one too.

    ``present`` and ``absent`` have E[w^2] of each item, for a record that has it and one that lacks it.  A record that
    has all items brings the product of the first less 1; any other a product in which one item at least is absent.
    ``groups`` has the attribute of each item, rising: its values exclude each other.  None for fewer than k items.
    """
    starts = np.arange(len(present)) if groups is None else np.flatnonzero(np.diff(groups, prepend=-1))
    if len(starts) < k:
        return None
    full, lacking = _extremes(present, absent, k, starts, np.minimum)
    top, lacking_top = _extremes(present, absent, k, starts, np.maximum)
    return Accuracy(k, least=max(0.0, min(full - 1, lacking)), most=max(top - 1, lacking_top), full=max(0.0, full - 1))


def _extremes(
    present: Floats, absent: Floats, k: int, starts: npt.NDArray[np.int64], better: np.ufunc
) -> tuple[float, float]:
    """The best products of k items of different groups: all of them present, and one or more of them absent.

    The latter has one absent item j, and of k - 1 others whichever is better of the two.  These are the best k - 1 that
    there are, unless j is one of them.
    """
    present, absent = better.reduceat(present, starts), better.reduceat(absent, starts)
    either = better(present, absent)
    sign = 1.0 if better is np.minimum else -1.0
    order = np.argsort(sign * either, kind="stable")
    others = either[order[: k - 1]].tolist()
    beside = [math.prod(others)] + [
        math.prod([*others[:at], *others[at + 1 :], float(either[order[k - 1]])]) for at in range(k - 1)
    ]
    alone = [float(better.reduce(absent[order[k - 1 :]])), *absent[order[: k - 1]].tolist()]
    lacking = float(better.reduce([one * other for one, other in zip(alone, beside, strict=True)]))
    return math.prod((sign * np.sort(sign * present)[:k]).tolist()), lacking
