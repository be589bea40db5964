"""What a counting engine is, and the array types it speaks.

A counter answers one question: in how many records of each stratum do these itemsets occur?  Counts over disjoint
shards add, which is all that chunks on disk, a cluster or a collector's running totals need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

ItemsetRows = npt.NDArray[np.int32]
"""Itemsets of one size: a row each, item ids increasing within the row."""

Counts = npt.NDArray[np.int64]
"""Numbers of records: a row per stratum, a column per itemset."""

Words = npt.NDArray[np.uint64]
"""Packed bits: item or record i is bit i % 64 of word i // 64."""

Strata = npt.NDArray[np.int32]
"""The stratum of each record or report, a label that the channel understands."""


@runtime_checkable
class Counter(Protocol):
    """Supports of itemsets, stratum by stratum.

    A stratum is a class of records that were randomized alike (those of one true size, say); ``strata`` names them in
    the order of the rows that :meth:`supports` returns.
    """

    @property
    def n_records(self) -> int: ...

    @property
    def strata(self) -> tuple[int, ...]: ...

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        """Count the records that hold each itemset (all of one size; size 0 counts every record).

        ``on_progress`` may be told, now and then, how many itemsets are done.
        """
        ...
