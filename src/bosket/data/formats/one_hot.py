"""Records from columns of truth values, one for each item.

A truth value is a bit in a file, and its item four bytes of a record: so the bits are kept until it is known how many
records and items there are, and what those take is held to the cap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from bosket.data.baskets.rows import Csr, Items, Sizes, canonical
from bosket.data.domain import Domain, ItemIds

Marks = npt.NDArray[np.bool_]
"""Whether each row has an item."""


class OneHotRows:
    """Records as they are read, some rows at a time."""

    def __init__(self, domain: Domain, check_size: Callable[[int], None]) -> None:
        self._domain = domain
        self._sizes = Sizes(check_size)
        self._items = Items()

    def append(self, n_rows: int, items: ItemIds, columns: Iterable[Marks]) -> None:
        """Add rows; the columns say which of them have each of the items."""
        self._sizes.check(n_rows, 0)
        sizes, packed = np.zeros(n_rows, np.int32), []
        for marks in columns:
            sizes += marks
            packed.append(np.packbits(marks))
        self._sizes.append(sizes, n_items=int(sizes.sum()))
        ends = np.cumsum(sizes, dtype=np.int64)
        free = ends - sizes
        found = self._items.more(int(ends[-1]) if n_rows else 0)
        for item, bits in zip(items.tolist(), packed, strict=True):
            rows = np.flatnonzero(np.unpackbits(bits, count=n_rows))
            found[free[rows]] = item
            free[rows] += 1

    def csr(self) -> Csr:
        """All of them; what was kept is let go."""
        return canonical(self._sizes.starts(), self._items.together(), self._domain)
