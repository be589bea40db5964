"""Compiled: truncating records and counting candidates in what is left of them.

The numbers of section 5.3 of Zeng, Naughton and Cai (2012): a truncation looks at one record and at what is published
already, so whatever is private about truncated records is as private about whole ones (their Theorem 7).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiled import compiled


@compiled
def keep_some(indptr: Any, indices: Any, keys: Any, limit: int, kept: Any) -> None:
    """Mark the ``limit`` items of each record with the smallest keys; all of them where there are no more."""
    for r in range(len(indptr) - 1):
        start, stop = indptr[r], indptr[r + 1]
        if stop - start <= limit:
            for at in range(start, stop):
                kept[at] = True
            continue
        order = np.argsort(keys[start:stop])
        for place in range(limit):
            kept[start + order[place]] = True


@compiled
def narrow(rows: Any, depth: int, item: Any, low: int, high: int) -> Any:
    """The range of the sorted rows in [low, high) that have this item at this depth."""
    left, right = low, high
    while left < right:
        middle = (left + right) >> 1
        if rows[middle, depth] < item:
            left = middle + 1
        else:
            right = middle
    start, right = left, high
    while left < right:
        middle = (left + right) >> 1
        if rows[middle, depth] <= item:
            left = middle + 1
        else:
            right = middle
    return start, left


@compiled
def contained(rows: Any, record: Any, length: int, found: Any, stack: Any) -> int:
    """The numbers of all rows (sorted itemsets of one size) within a sorted record, in ``found``; how many there are.

    Depth first over the prefixes that the record holds; a line of ``stack`` is a place in it and a range of rows.
    """
    k = rows.shape[1]
    number = 0
    depth = 0
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, rows.shape[0]
    while depth >= 0:
        place = stack[depth, 0]
        if place > length - (k - depth):
            depth -= 1
            continue
        stack[depth, 0] = place + 1
        start, stop = narrow(rows, depth, record[place], stack[depth, 1], stack[depth, 2])
        if start == stop:
            continue
        if depth == k - 1:
            found[number] = start
            number += 1
        else:
            depth += 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = place + 1, start, stop
    return number


@compiled
def choose(rows: Any, scores: Any, found: Any, number: int, limit: int, weight: Any, kept: Any) -> int:
    """Greedy smart truncation (section 5.3.1): the items to keep of a record, at most ``limit``; how many they are.

    The candidates ``found[:number]`` are within the record.  The one with the highest weight that still fits is taken
    (the first of equals) and its items are kept; then each of the others gets, on top of its weight, its score over
    its size for each of its items that is kept.  Until none fits.
    """
    k = rows.shape[1]
    size = 0
    for j in range(number):
        weight[j] = scores[found[j]]
    while size < limit:
        best = -1
        for j in range(number):
            if weight[j] == -np.inf or (best >= 0 and weight[j] <= weight[best]):
                continue
            if k - shared(rows[found[j]], kept, size) <= limit - size:
                best = j
        if best < 0:
            break
        for d in range(k):
            item = rows[found[best], d]
            known = False
            for place in range(size):
                known = known or kept[place] == item
            if not known:
                kept[size] = item
                size += 1
        weight[best] = -np.inf
        for j in range(number):
            if weight[j] != -np.inf:
                weight[j] += scores[found[j]] / k * shared(rows[found[j]], kept, size)
    return size


@compiled
def shared(itemset: Any, kept: Any, size: int) -> int:
    """How many items of an itemset are kept."""
    number = 0
    for item in itemset:
        for place in range(size):
            if kept[place] == item:
                number += 1
    return number


@compiled
def count_truncated(indptr: Any, indices: Any, is_used: Any, rows: Any, scores: Any, limit: int, counts: Any) -> None:
    """Add to ``counts`` the candidates (sorted rows) in each record, after smart truncation to ``limit`` items.

    Items that no candidate has are dropped first; a record with no more than ``limit`` others stays whole.
    """
    k = rows.shape[1]
    found = np.empty(rows.shape[0], np.int64)
    weight = np.empty(rows.shape[0], np.float64)
    stack = np.empty((k, 3), np.int64)
    kept = np.empty(limit, indices.dtype)
    longest = 0
    for r in range(len(indptr) - 1):
        longest = max(longest, indptr[r + 1] - indptr[r])
    record = np.empty(max(longest, 1), indices.dtype)
    for r in range(len(indptr) - 1):
        length = 0
        for at in range(indptr[r], indptr[r + 1]):
            if is_used[indices[at]]:
                record[length] = indices[at]
                length += 1
        if length < k:
            continue
        number = contained(rows, record, length, found, stack)
        if length <= limit:
            for j in range(number):
                counts[found[j]] += 1
            continue
        size = choose(rows, scores, found, number, limit, weight, kept)
        for j in range(number):
            if shared(rows[found[j]], kept, size) == k:
                counts[found[j]] += 1
