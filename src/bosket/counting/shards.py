"""Counts over disjoint shards add: several counters as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
        total = np.zeros((len(self.strata), len(itemsets)), np.int64)
        place = {stratum: row for row, stratum in enumerate(self.strata)}
        for number, part in enumerate(self.parts, 1):
            rows = [place[stratum] for stratum in part.strata]
            total[rows] += self.times[number - 1] * part.supports(itemsets)
            if on_progress is not None:
                on_progress(len(itemsets) * number // len(self.parts))
        return total
