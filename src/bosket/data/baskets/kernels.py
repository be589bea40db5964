"""Compiled loops over records, in compressed rows or as codes.  Inputs are read-only, so that kernels compile once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bosket.compiling import compiled, popcount

if TYPE_CHECKING:
    from bosket.data.baskets.rows import BitRows, Offsets
    from bosket.data.domain import ItemIds
    from bosket.data.tables.domain import Codes


@compiled
def is_canonical(indptr: Offsets, indices: ItemIds) -> bool:
    """Whether the ids increase strictly within every record."""
    for record in range(indptr.size - 1):
        for j in range(indptr[record] + 1, indptr[record + 1]):
            if indices[j] <= indices[j - 1]:
                return False
    return True


@compiled
def canonicalize(indptr: Offsets, indices: ItemIds) -> int:
    """Sort each record in its place (Shell sort: records are short), drop repeated items; returns how many stay.

    Both arrays are written to, so that one record out of order does not make a copy of all.
    """
    written = 0
    start = indptr[0]
    for record in range(indptr.size - 1):
        stop = indptr[record + 1]
        gap = 1
        while gap < (stop - start) // 3:
            gap = 3 * gap + 1
        while gap > 0:
            for j in range(start + gap, stop):
                item = indices[j]
                k = j
                while k >= start + gap and indices[k - gap] > item:
                    indices[k] = indices[k - gap]
                    k -= gap
                indices[k] = item
            gap //= 3
        first = written
        for j in range(start, stop):
            if written == first or indices[j] != indices[written - 1]:
                indices[written] = indices[j]
                written += 1
        indptr[record + 1] = written
        start = stop
    return written


@compiled
def rename(items: ItemIds, known: ItemIds) -> None:
    """Write ``known[item]`` in the place of each item; -1 stays."""
    for at in range(items.size):
        if items[at] >= 0:
            items[at] = known[items[at]]


@compiled
def once_in_list(items: ItemIds, ends: Offsets, start: int, last: Offsets, before: int, sizes: Offsets) -> ItemIds:
    """The items of a piece of some lists, each once in its list; ``sizes`` counts them, list by list.

    The piece begins at cell ``start`` of all, and lists end at ``ends``.  ``last`` remembers in which list each item
    was seen last; ``before`` counts the lists before these.  An item of -1 is none.
    """
    chosen = np.empty(items.size, np.int32)
    found = 0
    row = np.searchsorted(ends, start, side="right")
    for cell in range(items.size):
        while start + cell >= ends[row]:
            row += 1
        item = items[cell]
        if item >= 0 and last[item] != before + row + 1:
            last[item] = before + row + 1
            chosen[found] = item
            found += 1
            sizes[row] += 1
    return chosen[:found].copy()


@compiled
def group_pairs(records: Offsets, items: ItemIds, n_records: int) -> tuple[Offsets, ItemIds]:
    """Rows from (record, item) pairs in any order, by a stable counting sort; item -1 adds nothing to its record."""
    indptr = np.zeros(n_records + 1, np.int64)
    for pair in range(records.size):
        if items[pair] >= 0:
            indptr[records[pair] + 1] += 1
    for record in range(n_records):
        indptr[record + 1] += indptr[record]
    indices = np.empty(indptr[n_records], np.int32)
    free = indptr[:-1].copy()
    for pair in range(records.size):
        if items[pair] >= 0:
            record = records[pair]
            indices[free[record]] = items[pair]
            free[record] += 1
    return indptr, indices


@compiled
def pack(indptr: Offsets, indices: ItemIds, bits: BitRows, start: int, stop: int) -> None:
    """Set bit i % 64 of word i // 64 for each item i of the records from ``start`` to ``stop``."""
    for record in range(start, stop):
        for j in range(indptr[record], indptr[record + 1]):
            item = indices[j]
            bits[record, item >> 6] |= np.uint64(1) << np.uint64(item & 63)


@compiled
def unpack(bits: BitRows, indptr: Offsets, indices: ItemIds, start: int, stop: int) -> None:
    """Write the items of the records from ``start`` to ``stop`` to their places in ``indices``."""
    for record in range(start, stop):
        j = indptr[record]
        for column in range(bits.shape[1]):
            word = bits[record, column]
            item = column << 6
            while word:
                if word & np.uint64(1):
                    indices[j] = item
                    j += 1
                word >>= np.uint64(1)
                item += 1


@compiled
def pack_codes(codes: Codes, offsets: Offsets, bits: BitRows, start: int, stop: int) -> None:
    """Set the bit of item ``offsets[j] + codes[record, j]`` for each attribute j, from ``start`` to ``stop``."""
    for record in range(start, stop):
        for j in range(codes.shape[1]):
            item = offsets[j] + np.int64(codes[record, j])
            bits[record, item >> 6] |= np.uint64(1) << np.uint64(item & 63)


@compiled
def unpack_codes(bits: BitRows, groups: ItemIds, offsets: Offsets, codes: Codes, start: int, stop: int) -> int:
    """The other way; returns the first record without exactly one item of each group, or -1.

    Items come in increasing order, as their groups do: the k-th one must be of group k.
    """
    n_attributes = codes.shape[1]
    for record in range(start, stop):
        found = 0
        for column in range(bits.shape[1]):
            word = bits[record, column]
            while word:
                item = (column << 6) + np.int64(popcount((word & (~word + np.uint64(1))) - np.uint64(1)))
                if found == n_attributes or groups[item] != found:
                    return record
                codes[record, found] = item - offsets[found]
                found += 1
                word &= word - np.uint64(1)
        if found < n_attributes:
            return record
    return -1
