"""Mistakes that a curator could make, each in the shape of the function it takes the place of.

They are kept so that the audit can show that it would notice.  Nothing here is private; nothing here is to be used.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.curator.lengths import Lengths, binned, bins
from bosket.curator.noise import Counts, noisy, scale_of
from bosket.data import Baskets
from bosket.mining.exact import exact_itemsets


def whole_records(baskets: Baskets, max_size: int) -> Baskets:
    """For ``random_truncation``: the noise is that of max_size items, but nobody cuts."""
    return baskets


def count_whole(baskets: Baskets, candidates: ItemsetRows, scores: npt.NDArray[np.float64], max_size: int) -> Counts:
    """For ``count_candidates``: candidates counted in whole records."""
    records = [
        frozenset(baskets.indices[a:b].tolist()) for a, b in zip(baskets.indptr, baskets.indptr[1:], strict=False)
    ]
    return np.array([sum(record.issuperset(row) for record in records) for row in candidates.tolist()], np.int64)


def copied_supports(baskets: Baskets, *, floor: int, cap: int) -> Counts:
    """For ``Pool.largest``: section 6 as printed, the last y_j that was found serves for all longer sizes."""
    levels = exact_itemsets(
        baskets.indptr, baskets.indices, baskets.n_items, min_count=floor, max_size=cap, max_itemsets=1 << 40
    )
    found = [int(counts.max()) for _, counts in levels] or [floor]
    return np.array(found + [found[-1]] * (cap - len(found)), np.int64)


def exact_lengths(
    sizes: npt.NDArray[np.int64], *, epsilon: float, longest: int, most: int | None = None, per_person: int = 1
) -> Lengths:
    """For ``noisy_lengths``: the distribution of lengths, unpaid."""
    starts = bins(longest, most)
    return Lengths(binned(sizes, starts), len(sizes), starts, 1e-9)


def lengths_with_total(
    sizes: npt.NDArray[np.int64], *, epsilon: float, longest: int, most: int | None = None, per_person: int = 1
) -> Lengths:
    """For ``noisy_lengths``: a limit that is a share of the true number of records."""
    starts = bins(longest, most)
    counts = noisy(binned(sizes, starts), epsilon=epsilon, sensitivity=per_person)
    return Lengths(counts, len(sizes), starts, scale_of(epsilon, per_person))


def noisy_once(counts: npt.ArrayLike, *, epsilon: float, sensitivity: int) -> Counts:
    """For ``noisy``: as if one record could move one count only."""
    return noisy(counts, epsilon=epsilon, sensitivity=1)


def floating_noise(
    counts: npt.ArrayLike, rng: np.random.Generator, *, epsilon: float, sensitivity: int
) -> npt.NDArray[np.float64]:
    """For ``noisy``: Laplace noise in doubles (Mironov, CCS 2012).  Its law is right, its last bits are not."""
    exact = np.asarray(counts, float)
    return exact + rng.laplace(scale=sensitivity / epsilon, size=exact.shape)


def seen_items(baskets: Baskets) -> Baskets:
    """For the data themselves: the domain is whatever occurs in them."""
    return Baskets(list(baskets))
