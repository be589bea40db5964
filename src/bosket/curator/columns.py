"""Bitmaps of some items of the records."""

from __future__ import annotations

import numpy as np

from bosket.counting.bitmaps import Bitmaps
from bosket.data import Baskets
from bosket.data.domain import ItemIds


def bitmaps_of(baskets: Baskets, items: ItemIds) -> Bitmaps:
    """A column for each of these items, in their order; what else records hold is left out."""
    place = np.full(baskets.n_items, -1, np.int32)
    place[items] = np.arange(len(items), dtype=np.int32)
    places = place[baskets.indices]
    indptr = np.concatenate([[0], np.cumsum(places >= 0)])[baskets.indptr]
    few = Baskets.from_csr(indptr, places[places >= 0], range(len(items)))
    return Bitmaps.from_rows(few.to_bits(), len(items))
