"""Compiled: the depth-first search itself; `bosket.mining.exact` explains the algorithm and drives it.

Inside, an item is its *rank* among the frequent ones, 0 being the rarest.  A search writes a compact **trace**, a flat
array with one entry for each node of its tree::

    size, rank, count, p, then the ranks of the p perfect extensions found here

The node of ``size`` s is the item ``rank`` added to the last node of size s - 1.  A perfect extension occurs in every
record of the node, hence goes with or without every set below it: it is written once, and multiplied out by
`bosket.mining.trace_kernels.expand`.  An entry with a negative size restores the path of a search that was paused, and
stands for no itemset.
"""

from __future__ import annotations

import numpy as np

from bosket.compiling import compiled, popcount
from bosket.mining.exact_structures import DONE, OVERFLOW, PAUSED, Descent, KernelArray, Limits, RecordIndex, U
from bosket.mining.record_kernels import padded


@compiled
def _gather(index: RecordIndex, a: int, buffer: KernelArray) -> np.int64:
    """Copy the tails of ``a`` one after the other, so that the loops to come run over a flat array in cache.

    Eight items are copied whatever the length: most tails are shorter, and need no loop whose end must be guessed.
    """
    rows = index.rows
    n = U(0)
    for c in range(index.first.shape[1]):
        for k in range(index.first[a, c], index.last[a, c]):
            p, length = U(index.tails[k]), U(index.lengths[k])
            r0, r1, r2, r3 = rows[p], rows[p + U(1)], rows[p + U(2)], rows[p + U(3)]
            r4, r5, r6, r7 = rows[p + U(4)], rows[p + U(5)], rows[p + U(6)], rows[p + U(7)]
            buffer[n], buffer[n + U(1)], buffer[n + U(2)], buffer[n + U(3)] = r0, r1, r2, r3
            buffer[n + U(4)], buffer[n + U(5)], buffer[n + U(6)], buffer[n + U(7)] = r4, r5, r6, r7
            for j in range(U(8), length):
                buffer[n + j] = rows[p + j]
            n += length
    return np.int64(n)


@compiled
def _sort(values: KernelArray) -> None:
    """Shell's sort: for the few, and compiled at once where numpy's takes seconds."""
    gap = 1
    while gap < len(values) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(values)):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3


@compiled
def _extend_by_tails(
    index: RecordIndex,
    a: int,
    tails: KernelArray,
    min_count: int,
    tally: KernelArray,
    item: KernelArray,
    count: KernelArray,
) -> int:
    """Count the items in the tails of ``a``; frequent ones go to ``item`` and ``count``.  ``tally`` is left zero."""
    n_frequent = len(index.counts)
    for b in tails:
        tally[b] += 1
    tally[n_frequent] = 0
    m = 0
    if len(tails) > n_frequent - a:
        for b in range(a + 1, n_frequent):
            if tally[b] >= min_count:
                item[m] = b
                m += 1
    else:
        for b in tails:
            if tally[b] >= min_count:
                item[m] = b
                m += 1
                tally[b] = -tally[b]
        _sort(item[:m])
    for i in range(m):
        count[i] = abs(tally[item[i]])
    if len(tails) > n_frequent - a:
        tally[a:] = 0
    else:
        for b in tails:
            tally[b] = 0
    return m


@compiled
def _extend_by_bitmaps(index: RecordIndex, a: int, min_count: int, item: KernelArray, count: KernelArray) -> int:
    """Count every pair with ``a`` by AND and popcount over all the records."""
    n_frequent, n_words = index.bitmaps.shape
    m = 0
    for b in range(a + 1, n_frequent):
        n = U(0)
        for w in range(n_words):
            n += popcount(index.bitmaps[a, w] & index.bitmaps[b, w])
        if n >= U(min_count):
            item[m] = b
            count[m] = n
            m += 1
    return m


@compiled
def _reserve(arena: KernelArray, size: int) -> KernelArray:
    if size <= len(arena):
        return arena
    larger = np.empty(2 * size, np.uint64)
    for w in range(len(arena)):  # a loop, since numba takes seconds to compile an assignment of slices
        larger[w] = arena[w]
    return larger


@compiled
def _is_worth_compressing(count: int, n_extensions: int, n_words: int) -> bool:
    """Moving ``count`` bits an extension costs about 1 ns each; the tests below, m^2 / 2 at least, save 0.1 ns a word.

    The factor was measured on tables and on mushroom at supports from 0.2% to 20%; twice or half of it did worse.
    """
    return 2 * padded(count) <= n_words and 4 * count <= n_extensions * n_words


@compiled
def _compress(
    source: KernelArray, node: int, n_words: int, at: KernelArray, count: int, target: KernelArray, begin: int
) -> None:
    """Keep the records of the node alone: its bit and those at ``at`` become bitmaps one after the other."""
    records = np.empty(count, np.uint64)
    t = 0
    for w in range(n_words):
        word = source[node + w]
        while word != U(0):
            records[t] = U(64 * w) + popcount(~word & (word - U(1)))
            word &= word - U(1)
            t += 1
    n_words = padded(count)
    for i in range(len(at)):
        row, to = U(at[i]), U(begin + i * n_words)
        packed = U(0)
        for t in range(U(count)):
            r = records[t]
            packed = packed >> U(1) | source[row + (r >> U(6))] >> (r & U(63)) << U(63)
            target[to + (t >> U(6))] = packed >> (U(63) - (t & U(63)))
        target[begin + i * n_words + (count + 63) // 64 : begin + (i + 1) * n_words] = 0
        at[i] = to


@compiled
def _project_bitmaps(index: RecordIndex, descent: Descent, arena: KernelArray) -> KernelArray:
    """Bitmaps of frame 0 from those of all the records: those of the prefix alone if that is worth it."""
    a, m, n_words = descent.job[0], descent.stop[0], index.bitmaps.shape[1]
    source = index.bitmaps.reshape(-1)
    at = descent.at[:m]
    for i in range(m):
        at[i] = descent.item[i] * n_words
    if _is_worth_compressing(index.counts[a], m, n_words):
        arena = _reserve(arena, (m + 1) * padded(index.counts[a]))
        _compress(source, a * n_words, n_words, at, index.counts[a], arena, 0)
        _settle(descent, 0, padded(index.counts[a]), 0, arena)
    else:
        arena = _reserve(arena, (m + 1) * n_words)
        for i in range(m):
            for w in range(n_words):
                arena[i * n_words + w] = source[at[i] + w]
            at[i] = i * n_words
        _settle(descent, 0, n_words, 0, arena)
        for w in range(n_words):
            arena[m * n_words + w] = source[a * n_words + w]
    return arena


@compiled
def _project_tails(
    index: RecordIndex, descent: Descent, tails: KernelArray, offset: KernelArray, arena: KernelArray
) -> KernelArray:
    """The same from the tails of the prefix.  No branch depends on the data until the hits are together."""
    m, n_frequent = descent.stop[0], len(index.counts)
    n_words = padded(index.counts[descent.job[0]])
    for i in range(m):
        descent.at[i] = offset[descent.item[i]] = i * n_words
    hits = np.empty(descent.counts[:m].sum() + 1, np.uint64)
    n_hits = t = U(0)
    for b in tails:
        hits[n_hits] = U(offset[b]) << U(32) | t
        n_hits += U(offset[b] >= 0)
        t += U(b == n_frequent)
    arena = _reserve(arena, (m + 1) * n_words)
    arena[: m * n_words] = 0
    for h in range(n_hits):
        t = hits[h] & U(0xFFFFFFFF)
        arena[(hits[h] >> U(32)) + (t >> U(6))] |= U(1) << (t & U(63))
    for i in range(m):
        offset[descent.item[i]] = -1
    _settle(descent, 0, n_words, 0, arena)
    return arena


@compiled
def _settle(descent: Descent, depth: int, n_words: int, begin: int, arena: KernelArray) -> None:
    """The bitmaps of a frame lie from ``begin``: its extensions', then the node's, which has all of the records."""
    node = begin + (descent.stop[depth] - descent.turn[depth]) * n_words
    arena[node : node + n_words] = ~U(0)
    descent.n_words[depth], descent.node[depth], descent.free[depth] = n_words, node, node + n_words


@compiled
def _note(trace: KernelArray, used: int, size: int, rank: int, count: int, perfect: KernelArray) -> int:
    trace[used] = size
    trace[used + 1] = rank
    trace[used + 2] = count
    trace[used + 3] = len(perfect)
    for i in range(len(perfect)):
        trace[used + 4 + i] = perfect[i]
    return used + 4 + len(perfect)


@compiled
def _admit(found: KernelArray, room: KernelArray, size: int, n_perfect: int, limits: Limits) -> bool:
    """Count a node with every choice among its perfect extensions; False if there is no room for them."""
    ways = 1
    for j in range(min(n_perfect, limits.cap - size) + 1):
        found[size + j] += ways
        if found[size + j] > room[size + j]:
            return False
        ways = ways * (n_perfect - j) // (j + 1)
    return size + n_perfect <= limits.widest


@compiled
def _open(index: RecordIndex, descent: Descent, m: int) -> None:
    """Frame 0 from the m frequent extensions of the prefix; those in all of its records are perfect."""
    item, count = descent.item, descent.counts
    top = n_perfect = 0
    for i in range(m):
        if count[i] == index.counts[descent.job[0]]:
            descent.perfect[n_perfect] = item[i]
            n_perfect += 1
        else:
            item[top], count[top] = item[i], count[i]
            top += 1
    descent.job[2] = descent.turn[0] = 0
    descent.stop[0], descent.n_perfect[0] = top, n_perfect


@compiled
def _restore(descent: Descent, trace: KernelArray) -> int:
    """Note the path down to the open frame, so that every trace can be read on its own."""
    used = known = 0
    rank = descent.job[0]
    for d in range(descent.job[2] + 1):
        if d > 0:
            rank = descent.item[descent.turn[d - 1] - 1]
        used = _note(trace, used, -(d + 1), rank, 0, descent.perfect[known : descent.n_perfect[d]])
        known = descent.n_perfect[d]
    return used


@compiled
def _grow(
    descent: Descent,
    arena: KernelArray,
    limits: Limits,
    room: KernelArray,
    trace: KernelArray,
    used: int,
    found: KernelArray,
) -> tuple[int, int, int, KernelArray]:
    """Depth first below the open frame until done, paused or overflowing: status, length of the trace, work, arena."""
    job, item, count, at, turn, stop = descent[:6]
    work = 0
    depth = job[2]
    while depth >= 0:
        i, top = turn[depth], stop[depth]
        if i == top:
            depth -= 1
            continue
        if work > limits.budget or used + 4 + top - i > len(trace) or 2 * top - i - 1 > len(item):
            job[2] = depth  # out of time, or of room for the trace or the next frame
            return PAUSED, used, work, arena
        turn[depth] = i + 1
        size, end = depth + 2, top
        n_perfect = descent.n_perfect[depth]
        if i + 1 < top and size < limits.cap:
            n_words = descent.n_words[depth]
            arena = _reserve(arena, descent.free[depth] + n_words)
            node = arena[descent.free[depth] : descent.free[depth] + n_words]
            parent, other = arena[descent.node[depth] :], arena[at[i] :]
            for w in range(n_words):
                node[w] = parent[w] & other[w]
            for j in range(i + 1, top):
                other = arena[at[j] :]
                n = U(0)
                for w in range(n_words):
                    n += popcount(node[w] & other[w])
                if n == U(count[i]):
                    descent.perfect[n_perfect] = item[j]
                    n_perfect += 1
                elif n >= U(limits.min_count):
                    item[end], count[end], at[end] = item[j], n, at[j]
                    end += 1
            work += (top - i) * (n_words + 16)
        used = _note(trace, used, size, item[i], count[i], descent.perfect[descent.n_perfect[depth] : n_perfect])
        if not _admit(found, room, size, n_perfect, limits):
            job[3] = size + n_perfect
            return OVERFLOW, used, work, arena
        if end > top:
            begin = descent.free[depth]
            depth += 1
            turn[depth], stop[depth], descent.n_perfect[depth] = top, end, n_perfect
            if _is_worth_compressing(count[i], end - top, n_words):
                narrow = padded(count[i])
                arena = _reserve(arena, begin + n_words + (end - top + 1) * narrow)
                _compress(arena, begin, n_words, at[top:end], count[i], arena, begin + n_words)
                _settle(descent, depth, narrow, begin + n_words, arena)
                work += (end - top) * count[i]
            else:
                descent.n_words[depth], descent.node[depth], descent.free[depth] = n_words, begin, begin + n_words
    job[2] = -1
    return DONE, used, work, arena


@compiled
def advance(
    index: RecordIndex,
    limits: Limits,
    room: KernelArray,
    descent: Descent,
    arena: KernelArray,
    trace: KernelArray,
    found: KernelArray,
) -> tuple[int, int, KernelArray]:
    """Go on with a descent until done, paused or overflowing: status, length of the trace, the arena."""
    n_frequent, n_words = len(index.counts), index.bitmaps.shape[1]
    tally = np.zeros(n_frequent + 1, np.int32)
    offset = np.full(n_frequent + 1, -1, np.int64)
    tails = np.empty(0, np.uint32)
    job = descent.job
    work = n_tails = 0
    used = _restore(descent, trace)
    while job[0] < job[1]:
        a = job[0]
        if job[2] < 0:
            if work > limits.budget or used + 4 + n_frequent - a > len(trace):
                return PAUSED, used, arena
            if n_words > 0:
                m = _extend_by_bitmaps(index, a, limits.min_count, descent.item, descent.counts)
            else:
                if len(tails) < index.walk[a] + 8:
                    tails = np.empty(2 * index.walk[a] + 8, np.uint32)
                n_tails = _gather(index, a, tails)
                m = _extend_by_tails(index, a, tails[:n_tails], limits.min_count, tally, descent.item, descent.counts)
            work += n_tails + (n_frequent - a) * n_words
            _open(index, descent, m)
            n_perfect = descent.n_perfect[0]
            used = _note(trace, used, 1, a, index.counts[a], descent.perfect[:n_perfect])
            if not _admit(found, room, 1, n_perfect, limits):
                job[3] = 1 + n_perfect
                return OVERFLOW, used, arena
            if descent.stop[0] > 1 and limits.cap > 2:
                if n_words > 0:
                    arena = _project_bitmaps(index, descent, arena)
                else:
                    arena = _project_tails(index, descent, tails[:n_tails], offset, arena)
        status, used, spent, arena = _grow(descent, arena, limits, room, trace, used, found)
        work += spent
        if status != DONE:
            return status, used, arena
        job[0] += 1
    return DONE, used, arena
