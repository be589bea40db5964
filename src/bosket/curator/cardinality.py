"""How large frequent itemsets get, privately: a binary search over noisy comparisons (section 6).

Let y_i be the largest support of any itemset of i items.  It does not grow with i, and one record more or less moves it
by at most one.  Itemsets below a floor are never looked at; the paper copies the last y_j found to all longer sizes,
which is not private: one person can bring the first itemset of j + 1 items to the floor, and y_(j+1) falls from y_j to
the floor.  With

    y_i := max(y_i, floor)        for every i, whether anything of that size was found or not

nothing of the kind can happen: x -> max(x, floor) moves by at most as much as x.  (Where nothing of size i reaches the
floor, the value is the floor, without its support being known.)
"""

from __future__ import annotations

import math

import numpy as np

from bosket.checks import check_integer
from bosket.counting.bitmaps import Bitmaps
from bosket.curator.kernels import raise_supports
from bosket.curator.noise import Counts, noisy, scale_of
from bosket.curator.truncation import count_items
from bosket.data import Baskets
from bosket.errors import TooManyCandidatesError
from bosket.mining.exact import exact_itemsets

_CLEAR = 2.0  # scales of the noise
_LISTED = 100_000
"""Itemsets of one size; where there are more, the largest supports are found without listing them."""
FLOOR = 2
"""The floor is the limit over this; the paper has 20.

Any floor that follows from what is public is as private.  Sizes of which nothing reaches half the limit are not told
from those at half the limit, which :func:`noisy_cardinality` allows for."""


def largest_supports(baskets: Baskets, *, floor: int, cap: int) -> Counts:
    """max(y_i, floor) for i = 1 .. cap.  Exact: for whoever adds noise to it.

    By one of two ways, which give the same: itemsets are listed where they are few, else the best of each size is
    sought.  How long that takes depends on the data; what comes out of it changes by one at most.
    """
    try:
        levels = exact_itemsets(
            baskets.indptr, baskets.indices, baskets.n_items, min_count=floor, max_size=cap, max_itemsets=_LISTED
        )
    except TooManyCandidatesError:
        return _sought(baskets, floor, cap)
    result = np.full(cap, floor, np.int64)
    for items, counts in levels:
        result[items.shape[1] - 1] = max(floor, int(counts.max(initial=floor)))
    return result


def _sought(baskets: Baskets, floor: int, cap: int) -> Counts:
    counts = count_items(baskets)
    items = np.flatnonzero(counts > floor)
    items = items[np.argsort(-counts[items], kind="stable")]
    columns = Bitmaps.from_rows(baskets.to_bits(), baskets.n_items, items=np.sort(items).astype(np.int32)).column(items)
    result = np.full(cap, floor, np.int64)
    raise_supports(columns, counts[items], result)
    return result


def kth_support(baskets: Baskets, k: int, cap: int) -> int:
    """The k-th largest support of itemsets of up to ``cap`` items, 0 if there are fewer.  Exact: not for release.

    Every support moves by at most one when a record comes or goes, so does the k-th largest.  A search for the limit
    that k of them reach: no more than k of a size are ever listed, so that no record, however long, can make it fail.
    """

    def reach(limit: int) -> bool:
        try:
            levels = exact_itemsets(
                baskets.indptr, baskets.indices, baskets.n_items, min_count=limit, max_size=cap, max_itemsets=k
            )
        except TooManyCandidatesError:
            return True
        return sum(len(counts) for _, counts in levels) >= k

    low, high = 0, baskets.n_records + 1  # k of them reach low, and do not reach high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reach(middle) else (low, middle)
    return low


def steps(cap: int) -> int:
    """How many comparisons the search makes: enough for the answers 1 .. cap."""
    return max(1, math.ceil(math.log2(check_integer("cap", cap, least=1))))


def noisy_cardinality(supports: Counts, min_count: float, *, epsilon: float) -> int:
    """The largest i with y_i >= min_count, at least 1, by comparisons of noisy values.

    Each of the comparisons has its share of epsilon; there are always as many, so that their number tells nothing.  A
    size whose y_i is the floor, as far as it is known, is mistaken for a frequent one in one comparison of fifteen at
    most: where the limit is not far enough above the floor for that, more than the limit is asked for.
    """
    cap = len(supports)
    share = epsilon / steps(cap)
    asked = max(min_count, min_count / FLOOR + _CLEAR * scale_of(share, 1))
    low, high = 1, cap
    for _ in range(steps(cap)):
        middle = (low + high + 1) // 2
        value = int(noisy(supports[middle - 1 : middle], epsilon=share, sensitivity=1)[0])
        if low == high:
            continue
        if value >= asked:
            low = middle
        else:
            high = middle - 1
    return low
