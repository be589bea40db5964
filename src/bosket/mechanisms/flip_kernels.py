"""Compiled products of the weights of items that are randomized each on its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled


@compiled
def product_weights(present: Any, absent: Any, itemsets: Any, weights: Any) -> Any:
    """weights[r, f] = product over j of present[item j] where f has bit j, of absent[item j] where it has not."""
    n, k = itemsets.shape
    for r in range(n):
        weights[r, 0] = 1.0
        size = 1
        for j in range(k):
            a = absent[itemsets[r, j]]
            p = present[itemsets[r, j]]
            for f in range(size):
                weights[r, size + f] = weights[r, f] * p
                weights[r, f] *= a
            size *= 2
    return np.int64(0)


@compiled
def square_products(present: Any, absent: Any, itemsets: Any, cells: Any) -> None:
    """Turn cells[r, f] into the sum over patterns g of cells[r, g] times a product over items j, in place.

    The factor of item j is the square of its weight where f has bit j, the weight itself where it has not.
    """
    n, k = itemsets.shape
    for r in range(n):
        row = cells[r]
        bit = 1
        for j in range(k):
            a = absent[itemsets[r, j]]
            p = present[itemsets[r, j]]
            for f in range(1 << k):
                if f & bit == 0:
                    hidden = row[f] * a
                    shown = row[f | bit] * p
                    row[f] = hidden + shown
                    row[f | bit] = hidden * a + shown * p
            bit <<= 1
