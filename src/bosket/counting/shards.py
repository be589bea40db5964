"""Counts over disjoint shards add: several counters as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.errors import DataError


class Shards:
    """A :class:`~bosket.counting.base.Counter` over others, of different records; a stratum may be in some of them."""

    def __init__(self, parts: Sequence[Counter]) -> None:
        if not parts:
            raise DataError("There are no shards to count.")
        self.parts = tuple(parts)
        self.strata = tuple(sorted({stratum for part in parts for stratum in part.strata}))
        self.n_records = sum(part.n_records for part in parts)

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        total = np.zeros((len(self.strata), len(itemsets)), np.int64)
        for number, part in enumerate(self.parts, 1):
            rows = [self.strata.index(stratum) for stratum in part.strata]
            total[rows] += part.supports(itemsets)
            if on_progress is not None:
                on_progress(len(itemsets) * number // len(self.parts))
        return total
