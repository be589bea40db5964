"""Compiled joins of frequent itemsets into candidates one item larger."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiled import compiled
from bosket.counting.index_kernels import find_row


@compiled
def join(rows: Any, slots: Any, groups: Any, first_group: int, last_group: int, limit: int, out: Any) -> int:
    """Join itemsets that share all but their last item; keep a union when all its subsets one smaller are in ``rows``.

    Returns the number of candidates, or limit + 1 as soon as there are more; fills ``out`` as far as it goes (it may be
    empty: then this only counts).
    """
    k = rows.shape[1]
    candidate = np.empty(k + 1, rows.dtype)
    subset = np.empty(k, rows.dtype)
    n = 0
    for g in range(first_group, last_group):
        for a in range(groups[g], groups[g + 1]):
            candidate[:k] = rows[a]
            for b in range(a + 1, groups[g + 1]):
                candidate[k] = rows[b, k - 1]
                complete = True
                for left_out in range(k - 1):  # leaving out one of the last two gives rows a and b themselves
                    for i in range(k):
                        subset[i] = candidate[i if i < left_out else i + 1]
                    if find_row(rows, slots, subset) < 0:
                        complete = False
                        break
                if complete:
                    if n < out.shape[0]:
                        out[n] = candidate
                    n += 1
                    if n > limit:
                        return n
    return n
