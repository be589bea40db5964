"""Compiled: truncating records and counting candidates in what is left of them.

The numbers of section 5.3 of Zeng, Naughton and Cai (2012): a truncation looks at one record and at what is published
already, so whatever is private about truncated records is as private about whole ones (their Theorem 7).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiled import compiled, popcount


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
def first_from(rows: Any, depth: int, item: Any, low: int, high: int) -> int:
    """The first of the sorted rows in [low, high) with at least this item at this depth, ``high`` if none.

    In steps that double, then by halves: it is near ``low`` as a rule.
    """
    step = 1
    while low + step < high and rows[low + step, depth] < item:
        low += step
        step += step
    right = min(low + step, high)
    while low < right:
        middle = (low + right) >> 1
        if rows[middle, depth] < item:
            low = middle + 1
        else:
            right = middle
    return low


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
        place, low, high = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if depth == k - 1:
            while place < length and low < high:
                item = record[place]
                low = first_from(rows, depth, item, low, high)
                if low < high and rows[low, depth] == item:
                    found[number] = low
                    number += 1
                place += 1
            depth -= 1
            continue
        if place > length - (k - depth) or low == high:
            depth -= 1
            continue
        item = record[place]
        start = first_from(rows, depth, item, low, high)
        stop = first_from(rows, depth, item + 1, start, high)
        stack[depth, 0], stack[depth, 1] = place + 1, stop
        if start < stop:
            depth += 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = place + 1, start, stop
    return number


@compiled
def choose(rows: Any, scores: Any, found: Any, number: int, limit: int, weight: Any, has: Any, kept: Any) -> int:
    """Greedy smart truncation (section 5.3.1): the items to keep of a record, at most ``limit``; how many they are.

    The candidates ``found[:number]`` are within the record.  The one with the highest weight that still fits is taken
    (the first of equals) and its items are kept; then each of the others gets, on top of its weight, its score over
    its size for each of its items that is kept.  Until none fits.  ``has`` says how many items of each are kept.
    """
    k = rows.shape[1]
    size = 0
    for j in range(number):
        weight[j] = scores[found[j]]
        has[j] = 0
    while size < limit:
        best = -1
        for j in range(number):
            if weight[j] == -np.inf or (best >= 0 and weight[j] <= weight[best]):
                continue
            if k - has[j] <= limit - size:
                best = j
        if best < 0:
            break
        before = size
        for d in range(k):
            item = rows[found[best], d]
            known = False
            for place in range(before):
                known = known or kept[place] == item
            if not known:
                kept[size] = item
                size += 1
        weight[best] = -np.inf
        for j in range(number):
            for d in range(k):
                for place in range(before, size):
                    has[j] += kept[place] == rows[found[j], d]
            if weight[j] != -np.inf:
                weight[j] += scores[found[j]] / k * has[j]
    return size


@compiled
def count_truncated(indptr: Any, indices: Any, is_used: Any, rows: Any, scores: Any, limit: int, counts: Any) -> None:
    """Add to ``counts`` the candidates (sorted rows) in each record, after smart truncation to ``limit`` items.

    Items that no candidate has are dropped first; a record with no more than ``limit`` others stays whole.
    """
    k = rows.shape[1]
    found = np.empty(rows.shape[0], np.int64)
    weight = np.empty(rows.shape[0], np.float64)
    has = np.empty(rows.shape[0], np.int64)
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
        choose(rows, scores, found, number, limit, weight, has, kept)
        for j in range(number):
            if has[j] == k:
                counts[found[j]] += 1


@compiled
def raise_supports(columns: Any, counts: Any, best: Any) -> None:
    """Raise ``best[j - 1]`` to the largest support of any itemset of j items, where that is larger, for all its j.

    ``columns`` are bitmaps of items, ``counts`` their supports, the largest first.  Depth first, likeliest extensions
    first: an itemset of j items with support s is gone into only if s is above the best of the largest size that its
    other items could fill.  ``best`` never rises with j, as an itemset lends its support to its subsets.
    """
    n, words = columns.shape
    cap = len(best)
    shared = np.empty((cap, words), np.uint64)
    items = np.empty((cap, n), np.int64)
    supports = np.empty((cap, n), np.int64)
    sizes = np.zeros(cap, np.int64)
    places = np.zeros(cap, np.int64)
    items[0], supports[0], sizes[0] = np.arange(n), counts, n
    depth = 0
    while depth >= 0:
        at = places[depth]
        rest = sizes[depth] - at
        if rest == 0 or supports[depth, at] <= best[min(cap, depth + rest) - 1]:  # so are those after it
            depth -= 1
            continue
        places[depth] = at + 1
        support = supports[depth, at]
        for j in range(depth + 1):
            best[j] = max(best[j], support)
        if depth + 1 == cap:
            continue
        column = columns[items[depth, at]]
        for word in range(words):
            shared[depth, word] = column[word] if depth == 0 else column[word] & shared[depth - 1, word]
        size = 0
        for other in range(at + 1, sizes[depth]):
            column = columns[items[depth, other]]
            count = 0
            for word in range(words):
                count += popcount(shared[depth, word] & column[word])
            if count > best[cap - 1]:
                items[depth + 1, size], supports[depth + 1, size] = items[depth, other], count
                size += 1
        order = np.argsort(-supports[depth + 1, :size], kind="mergesort")
        items[depth + 1, :size] = items[depth + 1, :size][order]
        supports[depth + 1, :size] = supports[depth + 1, :size][order]
        sizes[depth + 1], places[depth + 1] = size, 0
        depth += 1
