"""Raw records that are not all in the memory of this process: what mining and estimating ask of them.

Files on disk and frames of another engine are such records.  What mines or estimates knows no more of them than this.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counter
from bosket.data.domain import Domain, ItemIds

ExactLevels = list[tuple[ItemIds, npt.NDArray[np.int64]]]
"""Itemsets and their counts for each size, 1 first, up to the last that was found."""


@dataclass(frozen=True)
class Sought:
    """A search that is known before the records are read, hence before their number and their items are."""

    min_support: float
    max_size: int | None
    max_itemsets: int


class RawRecords(ABC):
    """Records over a domain, not randomized, wherever they are; their supports are exact."""

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """The items."""

    @property
    @abstractmethod
    def n_records(self) -> int:
        """How many records there are."""

    @abstractmethod
    def item_counts(self) -> npt.NDArray[np.int64]:
        """The number of records that hold each item."""

    @abstractmethod
    def counter(self, items: ItemIds | None = None) -> Counter:
        """Counts the records that hold itemsets: of all items, or of those asked for."""

    @abstractmethod
    def frequent_itemsets(
        self,
        *,
        min_count: int,
        max_size: int | None,
        max_itemsets: int,
        items: ItemIds | None = None,
        on_done: Callable[[float], None] | None = None,
    ) -> ExactLevels:
        """The itemsets (of ``items``) in at least ``min_count`` records, as
        :func:`bosket.mining.exact.exact_itemsets` gives them, in its order.

        ``on_done`` hears which part of the work is done.
        """

    def counts_of(self, items: ItemIds | None) -> npt.NDArray[np.int64]:
        """The number of records that hold each item, 0 for those that are not asked for."""
        counts = self.item_counts()
        if items is not None:
            counts[~np.isin(np.arange(len(counts)), items)] = 0
        return counts

    @abstractmethod
    def close(self) -> None:
        """Give back what is held for the records: memory of an engine, or a temporary folder."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
