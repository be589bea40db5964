"""Compiled joins of frequent itemsets into candidates one item larger."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled
from bosket.counting.index_kernels import find_row


@compiled
def _meet(current: Any, m: int, others: Any) -> int:
    """Keep of current[:m] what ``others`` has too, both increasing; the number kept."""
    low = 0
    kept = 0
    is_short = 16 * m < len(others)
    for c in range(m):
        if is_short:
            high = len(others)
            while low < high:
                middle = (low + high) >> 1
                if others[middle] < current[c]:
                    low = middle + 1
                else:
                    high = middle
        else:
            while low < len(others) and others[low] < current[c]:
                low += 1
        if low == len(others):
            break
        if others[low] == current[c]:
            current[kept] = current[c]
            kept += 1
    return kept


@compiled
def join(
    rows: Any,
    lasts: Any,
    groups: Any,
    heads: Any,
    slots: Any,
    current: Any,
    first: int,
    last: int,
    limit: int,
    out: Any,
) -> int:
    """Extend the rows ``first`` to ``last``, each by the larger items with which all subsets one smaller are there.

    A group is a run of rows that share all but their last item, its head: groups[g] is where it begins, heads[g] what
    is shared, and ``slots`` find a head.  P + i is extended by the j > i that follow P, and that follow P - p + i for
    every p of P: lists of increasing items, which are met with each other in ``current``, as long as the longest group.

    Returns the number of candidates, or more than ``limit`` as soon as there are more; fills ``out`` as far as it goes
    (it may be empty: then this only counts).
    """
    k = rows.shape[1]
    head = np.empty(k - 1, rows.dtype)
    g = np.searchsorted(groups, first, side="right") - 1
    n = 0
    for a in range(first, last):
        while a >= groups[g + 1]:
            g += 1
        m = groups[g + 1] - a - 1
        current[:m] = lasts[a + 1 : groups[g + 1]]
        for left_out in range(k - 1):
            if m == 0:
                break
            for i in range(k - 1):
                head[i] = rows[a, i if i < left_out else i + 1]
            h = find_row(heads, slots, head)
            m = 0 if h < 0 else _meet(current, m, lasts[groups[h] : groups[h + 1]])
        for c in range(m):
            if n < out.shape[0]:
                out[n, :k] = rows[a]
                out[n, k] = current[c]
            n += 1
        if n > limit:
            break
    return n
