"""Intervals of a rule's measures from intervals of its three supports, without any assumption on how these err.

x, a and c are the supports of both sides together, of A and of C; x <= min(a, c).  Every measure here does not fall
when x grows, and does not grow when a or c does (Piatetsky-Shapiro's conditions; ``test_measures_are_monotone``).  So
over all tables with supports within their intervals

    least     at x low, a high, c high
    largest   at some x, with a and c as low as they can be: max(a low, x) and max(c low, x).  As x grows the measure
              grows as far as both low ends; beyond them the sides are alike, and it stays (confidence), falls (lift)
              or has its top at 1/2 (leverage).  So one of a low, c low, 1/2 and x high has the largest.

Where no side may be empty these are the least and the largest value themselves (``test_intervals_are_sharp``), but for
tables whose sides must overlap, a + c > 1 + x, which are not left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bosket.measures.catalogue import MLXTEND
from bosket.measures.measure import Measure
from bosket.measures.table import Contingency
from bosket.statistics.estimates import Floats

BOUNDED = MLXTEND
"""The measures that have intervals here."""


ReleasedPlaces = npt.NDArray[np.int64]
"""Of itemsets among all that were released."""


class Ends(NamedTuple):
    """Intervals of supports, a place for each rule."""

    low: Floats
    high: Floats


EndsOfRules = Callable[[Measure, list[ReleasedPlaces]], Ends]
"""Intervals of a measure for rules, by the places of both sides together, of the antecedent and of the consequent."""


@dataclass(frozen=True, eq=False)
class WithinSupports:
    """Intervals of measures from intervals of supports, which are widened to hold the estimates."""

    values: Floats
    ends: Ends

    def __call__(self, measure: Measure, places: list[ReleasedPlaces]) -> Ends:
        low = np.clip(np.minimum(self.ends.low, self.values), 0.0, 1.0)
        high = np.clip(np.maximum(self.ends.high, self.values), 0.0, 1.0)
        x, a, c = (Ends(low[at], high[at]) for at in places)
        return interval_of(measure, x, a, c)


def interval_of(measure: Measure, x: Ends, a: Ends, c: Ends) -> Ends:
    """The least and the largest value of a measure, for any supports within these."""
    least, largest = measure.range
    table = _table(x.low, np.maximum(a.high, x.low), np.maximum(c.high, x.low))
    low = measure(table)
    for place in {"not_a", "not_c"} & set(measure.degenerate):  # decided by convention there, and not by a limit
        low = np.where(getattr(table, place) <= 0, least, low)
    high = np.full(len(low), -np.inf)
    for end in (a.low, c.low, np.full(len(low), 0.5), x.high):
        at = np.clip(end, x.low, x.high)
        high = np.fmax(high, _at_most(measure, _table(at, np.maximum(a.low, at), np.maximum(c.low, at))))
    return Ends(np.clip(np.where(np.isnan(low), least, low), least, largest), np.clip(high, least, largest))


def _at_most(measure: Measure, table: Contingency) -> Floats:
    """The measure; where a side may be empty, which decides nothing, the largest that it can be."""
    value = measure(table)
    return np.where(np.isnan(value) | (table.a <= 0) | (table.c <= 0), measure.range[1], value)


def _table(x: Floats, a: Floats, c: Floats) -> Contingency:
    return Contingency.of_counts(x, a, c, 1.0)
