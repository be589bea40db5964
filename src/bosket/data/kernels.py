"""Compiled loops over records in compressed rows.  Inputs are read-only, so that each kernel compiles once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bosket.compiled import compiled

if TYPE_CHECKING:
    from bosket.data.csr import Bits, Offsets
    from bosket.data.domain import ItemIds


@compiled
def is_canonical(indptr: Offsets, indices: ItemIds) -> bool:
    """Whether the ids increase strictly within every record."""
    for record in range(indptr.size - 1):
        for j in range(indptr[record] + 1, indptr[record + 1]):
            if indices[j] <= indices[j - 1]:
                return False
    return True


@compiled
def canonicalize(indptr: Offsets, indices: ItemIds) -> tuple[Offsets, ItemIds]:
    """Sort each record (Shell sort: records are short) and drop repeated items."""
    out = indices.copy()
    ends = np.zeros_like(indptr)
    written = 0
    for record in range(indptr.size - 1):
        start, stop = indptr[record], indptr[record + 1]
        gap = 1
        while gap < (stop - start) // 3:
            gap = 3 * gap + 1
        while gap > 0:
            for j in range(start + gap, stop):
                item = out[j]
                k = j
                while k >= start + gap and out[k - gap] > item:
                    out[k] = out[k - gap]
                    k -= gap
                out[k] = item
            gap //= 3
        first = written
        for j in range(start, stop):
            if written == first or out[j] != out[written - 1]:
                out[written] = out[j]
                written += 1
        ends[record + 1] = written
    return ends, out[:written]


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
def pack(indptr: Offsets, indices: ItemIds, bits: Bits, start: int, stop: int) -> None:
    """Set bit i % 64 of word i // 64 for each item i of the records from ``start`` to ``stop``."""
    for record in range(start, stop):
        for j in range(indptr[record], indptr[record + 1]):
            item = indices[j]
            bits[record, item >> 6] |= np.uint64(1) << np.uint64(item & 63)


@compiled
def unpack(bits: Bits, indptr: Offsets, indices: ItemIds, start: int, stop: int) -> None:
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
