"""Compiled: truncating records and counting candidates in what is left of them.

The numbers of section 5.3 of Zeng, Naughton and Cai (2012): a truncation looks at one record and at what is published
already, so whatever is private about truncated records is as private about whole ones (their Theorem 7).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled


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
def foremost(record: Any, length: int, rank: Any, most: int) -> int:
    """Leave in a record the ``most`` items with the lowest ranks at most, in their order; how many are left."""
    if length <= most:
        return length
    ranks = np.empty(length, rank.dtype)
    for place in range(length):
        ranks[place] = rank[record[place]]
    last = np.sort(ranks)[most - 1]
    left = 0
    for place in range(length):
        if rank[record[place]] <= last:
            record[left] = record[place]
            left += 1
    return left


@compiled
def count_truncated(
    indptr: Any, indices: Any, rank: Any, rows: Any, scores: Any, limit: int, most: int, n_found: int, counts: Any
) -> None:
    """Add to ``counts`` the candidates (sorted rows) in each record, after smart truncation to ``limit`` items.

    rank     a number for each item, all different, the lowest for the item to keep first; -1 for one that no candidate
             has, which is dropped
    most     a record with more than ``limit`` items is cut by rank to this many first, which bounds the work
    n_found  how many candidates a record so cut can hold

    A record with no more than ``limit`` items of candidates stays whole.
    """
    k = rows.shape[1]
    found = np.empty(n_found, np.int64)
    weight = np.empty(n_found, np.float64)
    has = np.empty(n_found, np.int64)
    stack = np.empty((k, 3), np.int64)
    kept = np.empty(limit, indices.dtype)
    longest = 0
    for r in range(len(indptr) - 1):
        longest = max(longest, indptr[r + 1] - indptr[r])
    record = np.empty(max(longest, 1), indices.dtype)
    for r in range(len(indptr) - 1):
        length = 0
        for at in range(indptr[r], indptr[r + 1]):
            if rank[indices[at]] >= 0:
                record[length] = indices[at]
                length += 1
        if length < k:
            continue
        is_whole = length <= limit
        if not is_whole:
            length = foremost(record, length, rank, most)
        number = contained(rows, record, length, found, stack)
        if is_whole:
            for j in range(number):
                counts[found[j]] += 1
            continue
        choose(rows, scores, found, number, limit, weight, has, kept)
        for j in range(number):
            if has[j] == k:
                counts[found[j]] += 1


@compiled
def best_triangle(table: Any, first: int) -> int:
    """The largest number that all three pairs of ``first`` and two later items have in a symmetric table of pairs."""
    best = 0
    for second in range(first + 1, len(table)):
        edge = table[first, second]
        for third in range(second + 1, len(table)):
            best = max(best, min(edge, min(table[first, third], table[second, third])))
    return best
