"""Records cut to a length, and candidates counted in what is left."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.curator.kernels import count_truncated, keep_some
from bosket.curator.noise import Counts
from bosket.data import Baskets
from bosket.randomness import Randomness, Secure
from bosket.threads import n_threads, parallel_map, slices

_RECORDS = 1 << 14


def random_truncation(baskets: Baskets, max_size: int, *, rng: Randomness | None = None) -> Baskets:
    """Each record with at most ``max_size`` of its items, drawn at random without replacement (Algorithm 1)."""
    stream = (rng or Secure()).stream()
    keys = np.empty(len(baskets.indices), np.uint64)
    stream.fill(keys)
    kept = np.zeros(len(baskets.indices), bool)
    keep_some(baskets.indptr, baskets.indices, keys, max_size, kept)
    indptr = np.concatenate([[0], np.cumsum(kept)])[baskets.indptr]
    return Baskets.from_csr(indptr, baskets.indices[kept], baskets.domain)


def count_items(baskets: Baskets) -> Counts:
    return np.bincount(baskets.indices, minlength=baskets.n_items).astype(np.int64)


def count_candidates(
    baskets: Baskets, candidates: ItemsetRows, scores: npt.NDArray[np.float64], max_size: int
) -> Counts:
    """How many records hold each candidate after smart truncation to ``max_size`` items (section 5.3).

    ``scores`` are public: the sums of the noisy supports of each candidate's subsets (Definition 8).
    """
    is_used = np.zeros(baskets.n_items, bool)
    is_used[candidates] = True

    def piece(part: tuple[int, int]) -> Counts:
        start, stop = part
        counts = np.zeros(len(candidates), np.int64)
        count_truncated(
            baskets.indptr[start : stop + 1], baskets.indices, is_used, candidates, scores, max_size, counts
        )
        return counts

    each = max(_RECORDS, -(-baskets.n_records // (4 * n_threads())))
    parts = parallel_map(piece, list(slices(baskets.n_records, each)))
    return np.sum(parts, axis=0) if parts else np.zeros(len(candidates), np.int64)
