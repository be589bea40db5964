"""Compiled: the traces of the exact search (see `bosket.mining.descent_kernels`), multiplied out into itemsets."""

from __future__ import annotations

import numpy as np

from bosket.compiling import compiled
from bosket.mining.exact_structures import KernelArray, U


@compiled
def _insert(source: KernelArray, begin: int, size: int, item: int, items: KernelArray, at: int) -> None:
    """Copy ``source[begin : begin + size]``, which increases, to ``items[at:]`` with ``item`` put in its place."""
    n_below = U(0)
    for k in range(U(size)):
        other = source[U(begin) + k]
        items[U(at) + k + U(other > item)] = other
        n_below += U(other < item)
    items[U(at) + n_below] = item


@compiled
def expand(
    trace: KernelArray,
    item_of: KernelArray,
    row: KernelArray,
    block: KernelArray,
    items: KernelArray,
    first: KernelArray,
    counts: KernelArray,
) -> None:
    """Write the itemsets of a trace: those of size s from row ``row[s]`` on, of the rows from ``items[block[s]]``."""
    cap = len(row) - 1
    path = np.empty((cap + 1) * (cap + 1), np.int32)
    perfect = np.empty(len(item_of), np.int32)
    n_perfect = np.zeros(cap + 1, np.int64)
    chosen = np.empty(cap + 1, np.int64)
    at = 0
    while at < len(trace):
        size, item, count, new = abs(trace[at]), item_of[trace[at + 1]], trace[at + 2], trace[at + 3]
        is_itemset = trace[at] > 0
        n = n_perfect[size - 1]
        for k in range(new):
            perfect[n] = item_of[trace[at + 4 + k]]
            n += 1
        n_perfect[size] = n
        at += 4 + new
        _insert(path, (size - 1) * cap, size - 1, item, path, size * cap)
        if not is_itemset:
            continue
        to = U(block[size] + row[size] * size)
        for k in range(U(size)):
            items[to + k] = path[U(size * cap) + k]
        counts[first[size] + row[size]] = count
        row[size] += 1
        depth = turn = 0
        while True:  # every choice among the perfect extensions, each made from the last one a size smaller
            s = size + depth + 1
            if turn < n and s <= cap:
                _insert(
                    items, block[s - 1] + (row[s - 1] - 1) * (s - 1), s - 1, perfect[turn], items, block[s] + row[s] * s
                )
                counts[first[s] + row[s]] = count
                row[s] += 1
                depth += 1
                chosen[depth] = turn
                turn += 1
            elif depth > 0:
                turn = chosen[depth] + 1
                depth -= 1
            else:
                break
