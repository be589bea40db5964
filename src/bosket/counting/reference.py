"""The obvious counter: the oracle the fast ones are held against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from bosket.counting.base import Counts, ItemsetRows


class ReferenceCounter:
    """Counts with plain Python sets, one record and one itemset at a time."""

    def __init__(self, records: Iterable[Iterable[int]], strata: Sequence[int] | None = None) -> None:
        self._records = [frozenset(record) for record in records]
        self._stratum = list(strata) if strata is not None else [0] * len(self._records)
        self.strata: tuple[int, ...] = tuple(sorted(set(self._stratum))) or (0,)

    @property
    def n_records(self) -> int:
        return len(self._records)

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        counts = np.zeros((len(self.strata), len(itemsets)), np.int64)
        for column, itemset in enumerate(itemsets.tolist()):
            for record, stratum in zip(self._records, self._stratum, strict=True):
                counts[self.strata.index(stratum), column] += record.issuperset(itemset)
        return counts
