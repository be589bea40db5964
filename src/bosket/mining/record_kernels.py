"""Compiled: the records as the exact search reads them, by tails or by bitmaps."""

from __future__ import annotations

import numpy as np

from bosket.compiling import compiled
from bosket.mining.exact_structures import KernelArray, RecordIndex, U


@compiled
def count_items(indices: KernelArray, n_items: int) -> KernelArray:
    counts = np.zeros(n_items, np.int64)
    for item in indices:
        counts[U(item)] += 1
    return counts


@compiled
def count_pairs(indptr: KernelArray, indices: KernelArray, rank_of: KernelArray, n_frequent: int) -> int:
    """Pairs of frequent items over all the records: what counting them horizontally would take."""
    total = 0
    for t in range(len(indptr) - 1):
        length = 0
        for k in range(indptr[t], indptr[t + 1]):
            length += rank_of[indices[k]] < n_frequent
        total += length * (length - 1) // 2
    return total


@compiled
def index_chunk(
    indptr: KernelArray,
    indices: KernelArray,
    rank_of: KernelArray,
    begin: int,
    end: int,
    first: KernelArray,
    last: KernelArray,
    index: RecordIndex,
) -> None:
    """Tails of the records begin:end; transposing twice sorts each record by rank in linear time."""
    n_frequent = U(len(first))
    kept = np.empty(indptr[end] - indptr[begin] + 1, np.uint32)
    top = np.empty(end - begin + 1, np.uint32)
    at = np.empty(end - begin + 1, index.tails.dtype)
    stop = np.empty(end - begin + 1, index.tails.dtype)
    size = np.zeros(n_frequent + U(1), np.int64)
    n_kept = n_rows = U(0)
    position = U(indptr[begin] + begin)
    for t in range(begin, end):
        head = n_kept
        highest = np.uint32(0)
        for k in range(U(indptr[t]), U(indptr[t + 1])):
            r = rank_of[U(indices[k])]
            kept[n_kept] = r
            size[r] += 1
            if r < n_frequent:
                n_kept += U(1)
                highest = max(highest, r)
        top[n_rows] = highest
        at[n_rows] = position
        stop[n_rows] = position + n_kept - head
        if n_kept > head:
            n_rows += U(1)
            position += n_kept - head + U(1)
    k = indptr[begin]
    for r in range(n_frequent):
        first[r] = last[r] = k
        k += size[r]
    i = U(0)
    for t in range(n_rows):
        for _ in range(stop[t] - at[t]):
            r = kept[i]
            k = last[r]
            index.tails[k] = t
            last[r] = k + (r != top[t])  # the tail of the highest item is empty: its slot is written over
            i += U(1)
    for r in range(n_frequent):
        for k in range(first[r], last[r]):
            t = index.tails[k]
            position = U(at[t])
            index.rows[position] = r
            at[t] = position + U(1)
            index.tails[k] = position + U(1)
            index.lengths[k] = U(stop[t]) - position
    for t in range(n_rows):
        index.rows[at[t]] = top[t]
        index.rows[U(at[t]) + U(1)] = n_frequent


@compiled
def pack_chunk(
    indptr: KernelArray, indices: KernelArray, rank_of: KernelArray, begin: int, end: int, bitmaps: KernelArray
) -> None:
    """Set the bits of the records begin:end, where begin is a multiple of 64."""
    for t in range(begin, end):
        for k in range(indptr[t], indptr[t + 1]):
            r = rank_of[indices[k]]
            if r < len(bitmaps):
                bitmaps[r, t >> 6] |= U(1) << U(t & 63)


@compiled
def measure_tails(index: RecordIndex) -> None:
    """Sum the lengths of the tails of each item."""
    for r in range(len(index.walk)):
        total = U(0)
        for c in range(index.first.shape[1]):
            total += index.lengths[index.first[r, c] : index.last[r, c]].sum()
        index.walk[r] = total


@compiled
def padded(n_records: int) -> int:
    """Words of a bitmap: a multiple of four, since odd ends cost as much as whole vectors."""
    return (n_records + 255) // 256 * 4
