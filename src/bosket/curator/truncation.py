"""Records cut to a length, and candidates counted in what is left."""

from __future__ import annotations

from itertools import pairwise
from math import comb
from threading import Lock

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.curator.kernels import count_truncated, keep_some
from bosket.data import Baskets
from bosket.randomness import Randomness, Secure
from bosket.threads import n_threads, parallel_map, slices

_RECORDS = 1 << 13
_ITEMSETS = 1 << 14  # of one size in one record
_STEPS = 1 << 24  # of one record: a step looks at one candidate, and takes some nanoseconds
MOST_TAKEN = 1 << 12
"""Candidates that a record which was cut can hold, C(i + extra, i) at most; with these many one record takes no more
than the steps above."""
_WORK = 1 << 21  # itemsets in records, some tens of milliseconds


def random_truncation(baskets: Baskets, max_size: int, *, rng: Randomness | None = None) -> Baskets:
    """Each record with at most ``max_size`` of its items, drawn at random without replacement (Algorithm 1)."""
    stream = (rng or Secure()).stream()
    keys = np.empty(len(baskets.indices), np.uint64)
    stream.fill(keys)
    kept = np.zeros(len(baskets.indices), bool)

    def piece(part: tuple[int, int]) -> None:
        start, stop = part
        keep_some(baskets.indptr[start : stop + 1], baskets.indices, keys, max_size, kept)

    parallel_map(piece, list(slices(baskets.n_records, _RECORDS)))
    indptr = np.concatenate([[0], np.cumsum(kept)])[baskets.indptr]
    return Baskets.from_csr(indptr, baskets.indices[kept], baskets.domain)


def count_items(baskets: Baskets) -> Counts:
    return np.bincount(baskets.indices, minlength=baskets.n_items).astype(np.int64)


def count_candidates(
    baskets: Baskets, candidates: ItemsetRows, scores: npt.NDArray[np.float64], max_size: int
) -> Counts:
    """How many records hold each candidate after smart truncation to ``max_size`` items (section 5.3).

    ``scores`` are public: the sums of the noisy supports of each candidate's subsets (Definition 8).  The candidates
    within a record are gone through once for each that is taken, C(max_size, k) times at most: one whose items are all
    kept adds none, but it adds to the weight of others.  So that one record cannot take long, one with very many items
    is first cut to those with the highest scores (:func:`foremost_items`).  That looks at one record as well.
    """
    n, k = candidates.shape
    most = foremost_items(k, max_size, baskets.n_items)
    n_found = min(n, comb(most, k))
    rank = _ranks(candidates, scores, baskets.n_items)
    total = np.zeros(n, np.int64)
    lock = Lock()

    def piece(part: tuple[int, int]) -> None:
        start, stop = part
        counts = np.zeros(n, np.int64)
        ends = baskets.indptr[start : stop + 1]
        count_truncated(ends, baskets.indices, rank, candidates, scores, max_size, most, n_found, counts)
        with lock:
            np.add(total, counts, out=total)

    parallel_map(piece, _pieces(baskets.sizes, k, most, n_found))
    return total


def foremost_items(size: int, max_size: int, n_items: int) -> int:
    """How many items of a record are looked at before it is cut to ``max_size``, for itemsets of this size.

    >>> [foremost_items(size, size + 3, 1000) for size in (2, 3, 4, 15)]
    [181, 47, 26, 20]
    """
    return max(max_size, widest(size, n_items, min(_ITEMSETS, _STEPS // max(1, comb(max_size, size)))))


def widest(size: int, n_items: int, most: int) -> int:
    """The largest number of items, up to ``n_items``, that have no more than ``most`` itemsets of this size.

    >>> widest(2, 1000, 45)
    10
    """
    low, high = 0, n_items
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if comb(middle, size) <= most else (low, middle - 1)
    return low


def _ranks(candidates: ItemsetRows, scores: npt.NDArray[np.float64], n_items: int) -> npt.NDArray[np.int32]:
    """Items by the highest score of a candidate that has them; -1 for those that none has."""
    best = np.full(n_items, -np.inf)
    np.maximum.at(best, candidates.ravel(), np.repeat(scores, candidates.shape[1]))
    rank = np.empty(n_items, np.int32)
    rank[np.argsort(-best, kind="stable")] = np.arange(n_items, dtype=np.int32)
    rank[best == -np.inf] = -1
    return rank


def _pieces(sizes: npt.NDArray[np.int64], k: int, most: int, n_found: int) -> list[tuple[int, int]]:
    """Records in runs of about equal work, so that Ctrl-C is answered soon."""
    by_size = np.array([min(n_found, comb(size, k)) for size in range(most + 1)])
    work = np.cumsum(sizes + by_size[np.minimum(sizes, most)])
    whole = int(work[-1]) if len(work) else 0
    step = max(1, min(_WORK, -(-whole // (4 * n_threads()))))
    cuts = np.unique([0, *np.searchsorted(work, np.arange(step, whole, step)).tolist(), len(sizes)])
    return list(pairwise(cuts.tolist()))
