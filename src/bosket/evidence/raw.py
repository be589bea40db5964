"""Raw records that another engine holds: what mining and estimating ask of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counter
from bosket.data.domain import Domain, ItemIds

ExactLevels = list[tuple[ItemIds, npt.NDArray[np.int64]]]
"""Itemsets and their counts for each size, 1 first, up to the last that was found."""


class RawRecords(ABC):
    """Records over a domain, not randomized, wherever they are; their supports are exact."""

    domain: Domain
    n_records: int

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
