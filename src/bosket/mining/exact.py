"""Exact frequent itemsets of raw baskets, by depth-first search over bitmaps.

1. Count the items, keep the frequent ones, and rank them from the rarest to the commonest.
2. For each item as a prefix, count the items ranked above it in its records, then search below: an extension b of the
   itemset P is frequent when popcount(bits(P) & bits(b)) >= min_count, with bitmaps over the records of the prefix
   alone (re-packed over the records of P once those have become few).  The rare items come first, so that most of the
   tree hangs below prefixes with few records.  Items that occur in every record of P (*perfect extensions*) are set
   aside rather than searched: they go with or without everything below.
3. The search leaves a compact trace of its tree; once the sizes are known, traces are multiplied out in place.

Why not level by level, as `bosket.mining.apriori` does: the counts of a node come from its parent's bitmap by one AND,
candidates are never stored, and a result of a million itemsets is written once.

**How pairs are counted.**  Horizontally, walking the records of the prefix, takes sum over records of |t|^2 / 2
increments, t being the frequent items of the record; vertically, over one bitmap an item and all the records, takes
pairs x n_records / 64 words.  Whichever is less is done: the first for baskets, the second for tables.

With F frequent items the index takes O(nnz) time and memory (or F n_records / 8 bytes of bitmaps), the search
O(nodes x extensions x records of the node / 64) in the worst case, the result O(its size).

Parts of the search run on all cores.  Each is paused after some 50 ms, so that Ctrl-C is answered, the limit is looked
after, and long branches are shared out; where it is paused changes nothing in the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bosket.data.domain import ItemIds as ItemIds
from bosket.errors import DataError, TooManyCandidatesError
from bosket.mining import descent_kernels, record_kernels, trace_kernels
from bosket.mining.exact_structures import PAUSED, Descent, Limits, RecordIndex
from bosket.threads import parallel_map, slices

SupportCounts: TypeAlias = NDArray[np.int64]
Ranks: TypeAlias = NDArray[np.uint32]

_CHUNK = 1 << 16  # entries of the data indexed together: what fits in the second cache
_CHUNKS_A_PART = 4
_WALK_A_PART = 1 << 18  # entries of tails, some milliseconds
_PARTS_A_ROUND = 32  # the same on every machine, since the limit is looked at after each round
_BUDGET = 1 << 27  # words, some 50 ms, until a part is paused
_TRACE = 1 << 18  # entries, until a part is paused
_EXTENSIONS = 1 << 16  # for which a part has room at first; where there are more, it is paused and given more
_ROWS_A_PART = 1 << 16  # of the result
_LARGEST_LIMIT = 1 << 40  # keeps the kernels' binomial coefficients within 64 bits


def exact_itemsets(
    indptr: SupportCounts,
    indices: ItemIds,
    n_items: int,
    *,
    min_count: int,
    max_size: int | None = None,
    max_itemsets: int,
    on_done: Callable[[float], None] | None = None,
) -> list[tuple[ItemIds, SupportCounts]]:
    """The itemsets in at least ``min_count`` records: (items, counts) for each size, 1 first, up to the last found.

    Record t is ``indices[indptr[t] : indptr[t + 1]]``, increasing.  Rows hold item ids in increasing order.  They are
    in the order of the depth-first search: by first item, then second, ..., when the items of an itemset are listed
    from the rarest to the commonest (equally common ones by id), except that an itemset comes together with its
    perfect extensions.  The order depends on the data and min_count alone; max_size merely cuts the list.

    More than ``max_itemsets`` of one size raise `TooManyCandidatesError` as soon as it is certain.  ``on_done``
    hears a rough fraction of the work done, from this thread.

    >>> records = [[0, 1], [0, 1, 2], [1], [1, 2]]
    >>> indptr = np.cumsum([0] + [len(record) for record in records])
    >>> for items, counts in exact_itemsets(
    ...     indptr, np.concatenate(records).astype(np.int32), 3, min_count=2, max_itemsets=100
    ... ):
    ...     print(items.tolist(), counts.tolist())
    [[0], [2], [1]] [2, 2, 4]
    [[0, 1], [1, 2]] [2, 2]
    """
    if len(indptr) > np.iinfo(np.int32).max:
        raise DataError("At most 2^31 - 2 records can be mined at once.", hint="Count shards and add the counts.")
    limit = min(max_itemsets, _LARGEST_LIMIT)
    counts = record_kernels.count_items(indices, n_items)
    frequent = np.flatnonzero(counts >= min_count).astype(np.int32)
    item_of = frequent[np.argsort(counts[frequent], kind="stable")]
    if len(item_of) > limit:
        raise too_many(1, len(item_of), limit)
    if len(item_of) == 0 or max_size == 1:
        found = [(item_of[:, None], counts[item_of])] if len(item_of) else []
    else:
        rank_of = np.full(n_items, len(item_of), np.uint32)
        rank_of[item_of] = np.arange(len(item_of), dtype=np.uint32)
        index = _index(indptr, indices, rank_of, counts[item_of])
        traces = _search(index, min_count, max_size, limit, on_done)
        found = _write(traces, item_of)
    if on_done is not None:
        on_done(1.0)
    return found


def pairs_by_bitmaps(indptr: SupportCounts, indices: ItemIds, rank_of: Ranks, n_frequent: int) -> bool:
    """Whether counting pairs over bitmaps takes fewer words than walking the records takes increments."""
    words = n_frequent * (n_frequent - 1) // 2 * ((len(indptr) + 62) // 64)
    lengths = np.diff(indptr)
    at_most = int(lengths @ (lengths - 1)) // 2
    return at_most > words and int(record_kernels.count_pairs(indptr, indices, rank_of, n_frequent)) > words


def _index(indptr: SupportCounts, indices: ItemIds, rank_of: Ranks, counts: SupportCounts) -> RecordIndex:
    n_records, n_frequent = len(indptr) - 1, len(counts)
    position = np.uint32 if len(indices) + len(indptr) + 8 < 1 << 32 else np.uint64
    index = RecordIndex(
        counts=counts,
        first=np.empty((0, 0), np.int64),
        last=np.empty((0, 0), np.int64),
        tails=np.empty(0, position),
        lengths=np.empty(0, np.uint32),
        rows=np.empty(0, np.uint32),
        walk=np.zeros(n_frequent, np.int64),
        bitmaps=np.empty((0, 0), np.uint64),
    )
    if pairs_by_bitmaps(indptr, indices, rank_of, n_frequent):
        bitmaps = np.zeros((n_frequent, record_kernels.padded(n_records)), np.uint64)

        def pack(part: tuple[int, int]) -> None:
            record_kernels.pack_chunk(indptr, indices, rank_of, *part, bitmaps)

        parallel_map(pack, list(slices(n_records, 1 << 13)))
        return index._replace(bitmaps=bitmaps)
    # A chunk's share of each item's tails is found through an n_frequent x n_chunks table: bound it by the data.
    chunk = max(_CHUNK, 32 * n_frequent)
    cuts = np.unique(np.append(np.searchsorted(indptr, np.arange(0, len(indices), chunk)), n_records)).tolist()
    first, last = (np.empty((len(cuts) - 1, n_frequent), np.int64) for _ in range(2))
    index = index._replace(
        tails=np.empty(len(indices), position),
        lengths=np.empty(len(indices), np.uint32),
        rows=np.empty(len(indices) + n_records + 8, np.uint32),
    )

    def follow(part: tuple[int, int]) -> None:
        for c in range(*part):
            record_kernels.index_chunk(indptr, indices, rank_of, cuts[c], cuts[c + 1], first[c], last[c], index)

    parallel_map(follow, list(slices(len(cuts) - 1, _CHUNKS_A_PART)))
    index = index._replace(first=np.ascontiguousarray(first.T), last=np.ascontiguousarray(last.T))
    record_kernels.measure_tails(index)
    return index


@dataclass(slots=True)
class _Part:
    """A range of prefixes, begun or not; ``key`` says where its traces belong, ``share`` how much of the work it is."""

    key: tuple[int, ...]
    share: float
    prefixes: tuple[int, int]
    descent: Descent | None = None
    arena: NDArray[np.uint64] = field(default_factory=lambda: np.empty(1 << 10, np.uint64))

    def begun(self, n_frequent: int, cap: int) -> Descent:
        """The search in it; its arrays are made at the first step, with room for two frames, and grow with need."""
        if self.descent is None:
            room = min(cap * n_frequent, n_frequent * (n_frequent + 1) // 2, max(2 * n_frequent, _EXTENSIONS))
            item, count, at = (np.empty(room, np.int64) for _ in range(3))
            turn, stop, n_perfect, n_words, node, free = np.empty((6, cap + 1), np.int64)
            job, perfect = np.array([*self.prefixes, -1, 0], np.int64), np.empty(n_frequent, np.int64)
            self.descent = Descent(job, item, count, at, turn, stop, perfect, n_perfect, n_words, node, free)
        return self.descent

    def rest(self, descent: Descent) -> list[_Part]:
        """What a paused part leaves to do: this branch, and the prefixes after it in two halves."""
        prefix, stop, frame, _ = descent.job.tolist()
        begin = prefix if frame < 0 else prefix + 1
        middle = (begin + stop) // 2
        ranges = [cut for cut in ((begin, middle), (middle, stop)) if cut[0] < cut[1]]
        share = self.share / 2 / (len(ranges) + (frame >= 0))
        parts = [_Part((*self.key, i), share, cut) for i, cut in enumerate(ranges, 1)]
        if frame >= 0:
            descent.job[1] = begin
            used = int(descent.stop[frame])
            parts.insert(0, _Part((*self.key, 0), share, (prefix, begin), _roomy(descent, used), self.arena))
        return parts


def _roomy(descent: Descent, used: int) -> Descent:
    """The same with room for a frame more, as large as all those before it."""
    if 2 * used <= len(descent.item):
        return descent
    item, count, at = (np.empty(4 * used, np.int64) for _ in range(3))
    item[:used], count[:used], at[:used] = descent.item[:used], descent.counts[:used], descent.at[:used]
    return descent._replace(item=item, counts=count, at=at)


@dataclass(frozen=True, slots=True)
class _Trace:
    key: tuple[int, ...]
    entries: ItemIds
    found: SupportCounts
    status: int


def _search(
    index: RecordIndex, min_count: int, max_size: int | None, limit: int, on_done: Callable[[float], None] | None
) -> list[_Trace]:
    n_frequent = len(index.counts)
    widest = _widest(limit)
    cap = widest + 1 if max_size is None else min(max_size, widest + 1)  # one more, so as to meet what is too wide
    is_cut = max_size is not None and max_size <= widest
    limits = Limits(min_count, cap, np.iinfo(np.int64).max if is_cut else widest, _BUDGET)
    cuts = _balanced(index)
    pending = [_Part((i,), 1 / (len(cuts) - 1), prefixes) for i, prefixes in enumerate(pairwise(cuts))]
    total = np.zeros(cap + 1, np.int64)
    done = 0.0
    traces: list[_Trace] = []
    while pending:
        now, pending = pending[:_PARTS_A_ROUND], pending[_PARTS_A_ROUND:]
        share = sum(part.share for part in now)
        new = parallel_map(
            partial(_advance, index, limits, limit - total),
            now,
            on_done=on_done and partial(_tell, on_done, done, share / 2 / len(now)),
        )
        total += sum(trace.found for trace in new)
        begun = [part.begun(n_frequent, cap) for part in now]
        width = max((int(descent.job[3]) for descent in begun), default=0)
        if width > 0 or (total > limit).any():
            raise _overflow(total, width, limit)
        rest = [
            later
            for part, descent, trace in zip(now, begun, new, strict=True)
            if trace.status == PAUSED
            for later in part.rest(descent)
        ]
        traces += new
        done += share - sum(part.share for part in rest)
        pending = rest + pending
    return sorted(traces, key=lambda trace: trace.key)


def _advance(index: RecordIndex, limits: Limits, room: SupportCounts, part: _Part) -> _Trace:
    entries = np.empty(_TRACE + 8 * len(index.counts), np.int32)
    found = np.zeros(limits.cap + 1, np.int64)
    descent = part.begun(len(index.counts), limits.cap)
    status, used, part.arena = descent_kernels.advance(index, limits, room, descent, part.arena, entries, found)
    return _Trace(part.key, entries[:used].copy(), found, status)


def _tell(on_done: Callable[[float], None], done: float, each: float, number: int) -> None:
    """A paused part leaves at most half of its share, hence this much is done at least; writing is the last tenth."""
    on_done(0.9 * (done + each * number))


def _balanced(index: RecordIndex) -> list[int]:
    """Cut the prefixes into parts of about equal work, as far as it can be told."""
    n_frequent = len(index.counts)
    if len(index.bitmaps) > 0:
        work = np.cumsum(index.counts * np.arange(n_frequent, 0, -1))
        n_parts = _PARTS_A_ROUND
    else:
        work = np.cumsum(index.walk + 1)
        n_parts = min(_PARTS_A_ROUND, int(work[-1]) // _WALK_A_PART)
        n_parts = n_parts if n_parts > 3 else 1  # a few milliseconds are not worth starting threads
    inner = np.searchsorted(work, work[-1] / n_parts * np.arange(1, n_parts))
    cuts: list[int] = np.unique([0, *inner.tolist(), n_frequent]).tolist()
    return cuts


def _write(traces: Iterable[_Trace], item_of: ItemIds) -> list[tuple[ItemIds, SupportCounts]]:
    """Multiply the traces out, every one to its own rows."""
    traces = list(traces)
    before = np.cumsum([np.zeros_like(traces[0].found)] + [trace.found for trace in traces], axis=0)
    total = before[-1]
    first = np.concatenate([[0], np.cumsum(total)])
    block = np.concatenate([[0], np.cumsum(total * np.arange(len(total)))])
    items = np.empty(block[-1], np.int32)
    counts = np.empty(first[-1], np.int64)

    def write(part: tuple[int, int]) -> None:
        for i in range(*part):
            trace_kernels.expand(traces[i].entries, item_of, before[i].copy(), block, items, first, counts)

    rows = np.cumsum([trace.found.sum() for trace in traces])
    cuts = np.unique(np.searchsorted(rows, np.arange(0, rows[-1], _ROWS_A_PART)))
    parallel_map(write, list(pairwise([*cuts.tolist(), len(traces)])))
    return [
        (items[block[k] : block[k + 1]].reshape(-1, k), counts[first[k] : first[k + 1]])
        for k in range(1, len(total))
        if total[k] > 0
    ]


def _widest(limit: int) -> int:
    """The longest an itemset can be without more than ``limit`` subsets of one size: C(d, d / 2) <= limit."""
    d = 1
    while math.comb(d + 1, (d + 1) // 2) <= limit:
        d += 1
    return d


def _overflow(total: SupportCounts, width: int, limit: int) -> TooManyCandidatesError:
    """Name the smallest size known to be too large, from what was found and from the subsets of the widest itemset."""
    at_least = [max(int(n), math.comb(width, k)) for k, n in enumerate(total)]
    level = next(k for k, n in enumerate(at_least) if n > limit)
    return too_many(level, at_least[level], limit)


def too_many(level: int, number: int, limit: int) -> TooManyCandidatesError:
    """Of a size that has more frequent itemsets than are allowed."""
    return TooManyCandidatesError(
        f"The frequent itemsets of size {level} must be at most {limit:,} in number, got {number:,} or more.",
        level=level,
        number=number,
        limit=limit,
        hint=f"Ask for a larger support, or for itemsets of at most {max(1, level - 1)} items.",
    )
