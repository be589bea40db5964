"""Compiled counting on bitmaps.

All kernels release the interpreter lock.  They walk over *blocks*: short ranges of words, none crossing the border of a
stratum, sized so that what a kernel touches of a block stays in cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled, popcount

_TILE = 16  # columns of a pair tile; 2 x 16 rows of a block fit the first-level cache


@compiled
def count_columns(columns: Any, items: Any, starts: Any, stops: Any, stratum: Any, counts: Any) -> None:
    """Add to counts[stratum, c] the set bits of column items[c]."""
    for c in range(items.size):
        column = columns[items[c]]
        for b in range(starts.size):
            total = np.uint64(0)
            for word in column[starts[b] : stops[b]]:
                total += popcount(word)
            counts[stratum[b], c] += total


@compiled
def count_pairs(
    columns: Any, left: Any, right: Any, same: bool, starts: Any, stops: Any, stratum: Any, counts: Any
) -> None:
    """Add to counts[stratum, i, j] the records holding left[i] and right[j]; with ``same``, for j >= i only (roughly).

    Two by two columns at a time: four words loaded serve four ANDs, which is twice what a pair at a time can do.
    """
    n, m = left.size, right.size
    for b in range(starts.size):
        lo, hi = starts[b], stops[b]
        into = counts[stratum[b]]
        for ti in range(0, n, _TILE):
            for tj in range(ti if same else 0, m, _TILE):
                for i in range(ti, min(ti + _TILE, n), 2):
                    i2 = min(i + 1, n - 1)
                    x0 = columns[left[i], lo:hi]
                    x1 = columns[left[i2], lo:hi]
                    for j in range(tj, min(tj + _TILE, m), 2):
                        if same and j < i:
                            continue
                        j2 = min(j + 1, m - 1)
                        y0 = columns[right[j], lo:hi]
                        y1 = columns[right[j2], lo:hi]
                        s00 = np.uint64(0)
                        s01 = np.uint64(0)
                        s10 = np.uint64(0)
                        s11 = np.uint64(0)
                        for w in range(hi - lo):
                            a0, a1, b0, b1 = x0[w], x1[w], y0[w], y1[w]
                            s00 += popcount(a0 & b0)
                            s01 += popcount(a0 & b1)
                            s10 += popcount(a1 & b0)
                            s11 += popcount(a1 & b1)
                        into[i, j] += s00
                        if j2 != j:
                            into[i, j2] += s01
                        if i2 != i:
                            into[i2, j] += s10
                            if j2 != j:
                                into[i2, j2] += s11


@compiled
def count_groups(columns: Any, itemsets: Any, groups: Any, starts: Any, stops: Any, stratum: Any, counts: Any) -> None:
    """Add to counts[stratum, c] the records holding itemset c.

    groups[g] is the first of a run of itemsets that share all but their last item (a last entry closes the list): the
    AND of the shared part is made once a block and meets each last item from cache.
    """
    k = itemsets.shape[1]
    scratch = np.empty((stops - starts).max() if starts.size else 0, np.uint64)
    for b in range(starts.size):
        lo, hi = starts[b], stops[b]
        n = hi - lo
        into = counts[stratum[b]]
        for g in range(groups.size - 1):
            first = groups[g]
            shared = scratch[:n]
            shared[:] = columns[itemsets[first, 0], lo:hi]
            for position in range(1, k - 1):
                column = columns[itemsets[first, position], lo:hi]
                for w in range(n):
                    shared[w] &= column[w]
            for c in range(first, groups[g + 1]):
                column = columns[itemsets[c, k - 1], lo:hi]
                total = np.uint64(0)
                for w in range(n):
                    total += popcount(shared[w] & column[w])
                into[c] += total


@compiled
def group_starts(itemsets: Any) -> Any:
    """Where runs of rows equal in all but the last item begin, and the number of rows as a last entry."""
    n, k = itemsets.shape
    result = np.empty(n + 1, np.int64)
    m = 0
    for c in range(n):
        fresh = c == 0
        for position in range(k - 1):
            if fresh:
                break
            fresh = itemsets[c, position] != itemsets[c - 1, position]
        if fresh:
            result[m] = c
            m += 1
    result[m] = n
    return result[: m + 1].copy()


@compiled
def _transpose64(a: Any) -> None:
    """Transpose a 64 x 64 bit matrix in place (bit j of word i becomes bit i of word j), by halving blocks."""
    width = np.uint64(32)
    mask = np.uint64(0x00000000FFFFFFFF)
    while width != 0:
        step = np.int64(width)
        i = 0
        while i < 64:
            for j in range(i, i + step):
                t = ((a[j] >> width) ^ a[j + step]) & mask
                a[j] ^= t << width
                a[j + step] ^= t
            i += 2 * step
        width >>= np.uint64(1)
        mask ^= mask << width


@compiled
def transpose_rows(rows: Any, order: Any, first_word: int, words: Any, columns: Any) -> None:
    """Write the bits of rows[order] into ``columns``, whose words from ``first_word`` on belong to these records.

    ``order`` is -1 where a word of a stratum is padded out.  Column 64 * v + i of the output is bit i of rows[:,
    words[v]]. Eight words of records are gathered before they are stored, so that stores fill cache lines.
    """
    n_blocks = order.size // 64
    n_columns = columns.shape[0]
    tile = np.empty((8, 64), np.uint64)
    for start in range(0, n_blocks, 8):
        depth = min(8, n_blocks - start)
        for v in range(words.size):
            for d in range(depth):
                block = tile[d]
                base = 64 * (start + d)
                for i in range(64):
                    r = order[base + i]
                    block[i] = rows[r, words[v]] if r >= 0 else np.uint64(0)
                _transpose64(block)
            for i in range(min(64, n_columns - 64 * v)):
                out = columns[64 * v + i]
                for d in range(depth):
                    out[first_word + start + d] = tile[d, i]
