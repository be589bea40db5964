"""How large frequent itemsets get, and the k-th largest support, privately (section 6 of Zeng, Naughton and Cai 2012).

Let y_i be the largest support of any itemset of i items in a pool that was settled beforehand (:mod:`.pool`).  It does
not grow with i, and one record more or less moves it by one at most.  The paper mines at a twentieth of the limit and
copies the last y_j found to all longer sizes, which is not private: one person can bring the first itemset of j + 1
items to that floor, and y_(j+1) falls from y_j to the floor.  Here every y_i that is asked for is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bosket.checks import check_integer
from bosket.curator.noise import Composition, scale_of
from bosket.curator.pool import Pool

_CLEAR = 2.0  # scales of the noise: one size in fifteen that nobody has is mistaken for a frequent one
KTH_SIZES = 4
"""The k-th largest support is that of itemsets of up to this many items."""


def kth_support(pool: Pool, k: int) -> int:
    """The k-th largest support of up to four items in the pool, 0 if there are fewer.  Exact: not for release.

    Every support moves by at most one when a record comes or goes, so does the k-th largest.
    """
    supports = np.concatenate([pool.supports(size) for size in range(1, KTH_SIZES + 1)])
    if len(supports) < k:
        return 0
    return int(np.partition(supports, len(supports) - k)[len(supports) - k])


def steps(cap: int) -> int:
    """How many comparisons the search makes: enough for the answers 1 .. cap."""
    return max(1, math.ceil(math.log2(check_integer("cap", cap, least=1))))


def noisy_cardinality(
    largest: Callable[[int], int], cap: int, min_count: float, *, granted: Composition, epsilon: float
) -> int:
    """The largest i up to ``cap`` with y_i >= min_count, at least 1, by a binary search over noisy comparisons.

    ``largest`` gives y_i, exact.  Each comparison has its share of epsilon; there are always as many, so that their
    number tells nothing.  Where the limit is not clear of the noise of a comparison, more than the limit is asked for.
    """
    share = epsilon / steps(cap)
    asked = max(min_count, _CLEAR * scale_of(share, 1))
    low, high = 1, cap
    for _ in range(steps(cap)):
        middle = (low + high + 1) // 2
        value = int(granted.noisy([largest(middle)], epsilon=share, sensitivity=1)[0])
        if low == high:
            continue
        if value >= asked:
            low = middle
        else:
            high = middle - 1
    return low
