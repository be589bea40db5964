"""Compiled worst cases of cut-and-paste, in time that grows with the record and not with its square.

The probability of a report that has a of a record's m items is, up to what depends on the report's size,

    F(a) = sum over i <= min(K, m) of c_i C(a, i) / C(m, i) r^i,      r = 1 / rho,

with c_i = 1, but K + 1 - m for i = m where m <= K (all larger choices keep everything).  C(a, i) / C(m, i) is a product
of i factors, so the sum is evaluated from its end as 1 + q_0 (1 + q_1 (1 + ...)), q_i = r (a - i) / (m - i): positive
terms, i.e. an error of some units in the last place for each step and no cancellation.

Where the largest F(a + 1) / F(a) is: F(a + 1) - s F(a) = sum over i <= K of C(a, i) v_i, where v_i is u_i times
(1 - s + r (i + 1) / (m - i)) with u_i = r^i / C(m, i), but the last v is (1 - s) u_K.  The factor grows with i, so for
s > 1 the signs of v are -, +, - at most.  The matrix C(a, i) is totally positive, so the left side changes its sign in
a no more often, and in this order (Karlin 1968, variation diminishing): the ratios rise and then fall.  Hence so do the
products of d successive ones, F(b) / F(b - d), and both maxima are found by bisection.  Where m <= K the last v counts
for a = m alone, which has no successor, and the ratios only rise.
"""

from __future__ import annotations

import math

from bosket.compiling import compiled

_LARGE = 1e250
_LOG_LARGE = math.log(_LARGE)


@compiled
def log_overlap(size: int, cutoff: int, rho: float, overlap: int) -> float:
    """ln F(overlap)."""
    last = min(cutoff, size)
    top = min(last, overlap)
    total = float(cutoff + 1 - size) if top == size else 1.0
    one, log_scale = 1.0, 0.0
    for i in range(top - 1, -1, -1):
        total = one + total * ((overlap - i) / ((size - i) * rho))
        if total > _LARGE:
            total /= _LARGE
            one /= _LARGE
            log_scale += _LOG_LARGE
    return math.log(total) + log_scale


@compiled
def _gain(size: int, cutoff: int, rho: float, overlap: int, width: int) -> float:
    return log_overlap(size, cutoff, rho, overlap) - log_overlap(size, cutoff, rho, overlap - width)


@compiled
def worst_gain(size: int, cutoff: int, rho: float, width: int) -> float:
    """The largest ln F(b) / F(b - width), by b from ``width`` to ``size``."""
    if size <= cutoff:
        return _gain(size, cutoff, rho, size, width)
    low, high = width, size
    while high - low > 4:
        middle = (low + high) // 2
        if _gain(size, cutoff, rho, middle + 1, width) > _gain(size, cutoff, rho, middle, width):
            low = middle + 1
        else:
            high = middle
    worst = 0.0
    for overlap in range(max(low - 2, width), min(high + 2, size) + 1):
        worst = max(worst, _gain(size, cutoff, rho, overlap, width))
    return worst
