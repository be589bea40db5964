"""Counts over disjoint shards add: several counters as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.errors import DataError


class Shards:
    """A :class:`~bosket.counting.base.Counter` over others, of different records; a stratum may be in some of them.

    ``times`` says how often each record of a shard stands there, once if not given.
    """

    def __init__(self, parts: Sequence[Counter], times: Sequence[int] | None = None) -> None:
        if not parts:
            raise DataError("There are no shards to count.")
        self.parts = tuple(parts)
        self.times = (1,) * len(parts) if times is None else tuple(times)
        self.strata = tuple(sorted({stratum for part in parts for stratum in part.strata}))
        self.n_records = sum(number * part.n_records for number, part in zip(self.times, self.parts, strict=True))

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        return added(self.strata, self.parts, self.times, itemsets, on_progress)


class OneByOne:
    """Shards that are made when they are counted, one after the other: they take the memory of one, the time of all."""

    def __init__(self, makers: Sequence[Callable[[], Counter]], times: Sequence[int]) -> None:
        self.makers, self.times = tuple(makers), tuple(times)
        known = [(part.strata, part.n_records) for part in (make() for make in self.makers)]
        self.strata = tuple(sorted({stratum for strata, _ in known for stratum in strata}))
        self.n_records = sum(number * records for number, (_, records) in zip(self.times, known, strict=True))

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        return added(self.strata, (make() for make in self.makers), self.times, itemsets, on_progress)


def added(
    strata: Sequence[int],
    parts: Iterable[Counter],
    times: Sequence[int],
    itemsets: ItemsetRows,
    on_progress: Callable[[int], None] | None,
) -> Counts:
    """The sum of what the parts count, each taken ``times`` times, by stratum of all parts."""
    total = np.zeros((len(strata), len(itemsets)), np.int64)
    place = {stratum: row for row, stratum in enumerate(strata)}
    for number, (part, often) in enumerate(zip(parts, times, strict=True), 1):
        tell = None if on_progress is None else partial(_tell, on_progress, number, len(itemsets), len(times))
        total[[place[stratum] for stratum in part.strata]] += often * part.supports(itemsets, on_progress=tell)
        if tell is not None:
            tell(len(itemsets))
    return total


def _tell(tell: Callable[[int], None], number: int, n_itemsets: int, n_parts: int, done: int) -> None:
    """How many itemsets are as good as done when some are in the part of this number."""
    tell(((number - 1) * n_itemsets + done) // n_parts)
