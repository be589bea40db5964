"""What truncating records takes away, undone on average and at most: Zeng, Naughton and Cai (VLDB 2012), section 5.4.

All of it is post-processing: it reads noisy lengths and noisy counts that have been paid for, and nothing else.  It is
also a heuristic, in that records are taken to have been truncated at random and those that contain an itemset to be as
long as others that could.  Where the print slips:

* Eq. (5) is for records longer than l; shorter ones keep everything.
* The sums of Eqs. (11) and (12) run over supports 0, 1, 2, ..., not over items.
* The epsilon of Eq. (3) is that of the noise on one count: the budget divided by the sensitivity.
* Eq. (9) holds "provided ln rho <= 2 theta", which is always so, as ln rho < 0 <= theta; its other case never arises.
* The ratio after Eq. (7) takes every record with at least i items to be as likely to hold the itemset.  Long records
  hold more, and are the ones that are cut: on the benchmark files it keeps 0.95 of single items where 0.76 are left.
  ``by_length`` mends it.
* Eq. (3) is the posterior of a flat prior on 0, 1, 2, ...: a count far below 0 is still put at 1 / (e^epsilon - 1) on
  average.  If that exceeds the threshold, everything looks frequent.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import comb

from bosket.checks import check_between, check_fraction, check_integer, check_positive
from bosket.counting.base import Counts
from bosket.errors import ParameterError
from bosket.statistics.estimates import Floats

_MASS = 40.0  # exp(-40) of the posterior is left out on either side
_STEPS = 1 << 20  # points on either side of a count, beyond which neighbouring supports are taken together
_SPAN = 1 << 16  # counts this far apart at most share one pass


def kept_ratio(lengths: npt.ArrayLike, itemset_size: int, max_size: int, *, by_length: bool = False) -> float:
    """The share of its support that an itemset of i items is expected to keep when records are cut to l items.

    exp_ratio(i) = sum over h >= i of z_h Pr(M_h = 1) / sum over h >= i of z_h (after Eq. 7), with Pr(M_h = 1) =
    C(h - i, l - i) / C(h, l) for h > l (Eq. 5) and 1 for h <= l.  ``lengths`` is z: how many records have 0, 1, 2, ...
    items, noisy; what came out below 0 counts as 0.  1.0 if then no record has i items.

    That takes a record of five items and one of fifty to be as likely to hold the itemset.  ``by_length`` counts a
    record once for every itemset of i items in it, z_h C(h, i) for z_h: the share that the itemsets of a data set keep
    on average, whatever the data, sum of z_h C(min(h, l), i) / sum of z_h C(h, i).

    >>> kept_ratio([0, 10, 0, 0, 10], 1, 2)
    0.75
    >>> kept_ratio([0, 10, 0, 0, 10], 1, 2, by_length=True)  # 10 of 10 items and 20 of 40
    0.6
    """
    i = check_integer("itemset_size", itemset_size, least=1)
    l = check_integer("max_size", max_size, least=i)
    noisy = np.asarray(lengths, np.float64)
    if noisy.ndim != 1 or not np.isfinite(noisy).all():
        raise ParameterError(
            "The 'lengths' parameter must be a row of finite numbers, one for every length from 0.",
            parameter="lengths",
            value=lengths,
        )
    z = np.maximum(noisy[i:], 0.0)
    if by_length:
        z = z * comb(np.arange(i, noisy.size), i)
    total = z.sum()
    if total == 0:
        return 1.0
    h = np.maximum(np.arange(i, noisy.size, dtype=np.float64), l)
    kept = np.ones_like(h)
    for j in range(i):
        kept *= (l - j) / (h - j)  # C(h - i, l - i) / C(h, l) without the factorials
    return min(1.0, float(z @ kept / total))


def maximal_mean(truncated_count: npt.ArrayLike, rho: float = 0.01) -> Floats:
    """The largest mean of a truncated support for which the one seen is not yet a rho-lower bound: mu* of Eq. (9).

    mu* = theta + R + sqrt(R^2 + 2 R theta) with R = -ln rho.  It solves exp(-gamma^2 mu / 2) = rho with
    gamma = 1 - theta / mu: were the mean larger, theta or less would have a probability of at most rho (Chernoff).

    >>> maximal_mean([0, 100]).round(2).tolist()
    [9.21, 135.3]
    """
    theta = np.asarray(truncated_count, np.float64)
    if not (np.isfinite(theta) & (theta >= 0)).all():
        raise ParameterError(
            "The 'truncated_count' parameter must be of finite numbers, at least 0.",
            parameter="truncated_count",
            value=truncated_count,
        )
    r = -math.log(check_between("rho", rho, 0, 1))
    return np.asarray(theta + r + _spread(theta, r))


def average_support(noisy_count: npt.ArrayLike, ratio: float, epsilon: float) -> Floats:
    """The support before truncation to expect behind a noisy count after it: Eq. (11) with Eqs. (3) and (8).

    E[j | theta'] / ratio, Pr(j | theta') ~ alpha^|theta' - j| on j = 0, 1, 2, ..., alpha = exp(-epsilon), where
    ``epsilon`` is that of the noise on this one count.  Summed up, with m = max(theta', 0):

        E[j | theta'] = m + alpha^(m+1) (1 + m (1 - alpha)) / ((1 - alpha) (1 + alpha - alpha^(m+1)))

    >>> average_support([-3, 0, 50], 0.5, 0.1).round(3).tolist()
    [19.017, 19.017, 100.389]
    """
    counts = _check_counts(noisy_count)
    share = check_fraction("ratio", ratio)
    return np.asarray(_posterior_mean(counts, check_positive("epsilon", epsilon)) / share)


def maximal_support(noisy_count: npt.ArrayLike, ratio: float, epsilon: float, rho: float = 0.01) -> Floats:
    """The largest support before truncation that a noisy count after it lets one expect: Eq. (12) with Eq. (10).

    E[mu*(j) | theta'] / ratio, the posterior as in :func:`average_support` and mu* as in :func:`maximal_mean`.

    >>> maximal_support([-3, 0, 50], 0.5, 0.1).round(3).tolist()
    [47.558, 47.558, 153.162]
    """
    counts = _check_counts(noisy_count)
    share = check_fraction("ratio", ratio)
    e = check_positive("epsilon", epsilon)
    r = -math.log(check_between("rho", rho, 0, 1))
    # below 0 the posterior is that at 0
    distinct, where = np.unique(np.maximum(counts, 0), return_inverse=True)
    spread = _posterior_spread(distinct, e, r)[where.reshape(counts.shape)]
    return np.asarray((_posterior_mean(counts, e) + r + spread) / share)


def _spread(theta: Floats, r: float) -> Floats:
    return np.sqrt(r * r + 2 * r * theta)


def _posterior_mean(counts: Counts, epsilon: float) -> Floats:
    m = np.maximum(counts, 0).astype(np.float64)
    alpha, beta = math.exp(-epsilon), -math.expm1(-epsilon)  # 1 - alpha cancels where epsilon is small
    tail = np.exp(-epsilon * (m + 1))
    return np.asarray(m + tail * (1 + m * beta) / (beta * (1 + alpha - tail)))


def _posterior_spread(counts: Counts, epsilon: float, r: float) -> Floats:
    """E[sqrt(R^2 + 2 R j) | theta'] for distinct counts in increasing order, none below 0.

    The sum over j <= theta' obeys S(theta') = f(theta') + alpha S(theta' - 1), the one over j > theta' likewise from
    above, so one pass over the supports serves all counts.  Where epsilon is so small that the posterior stretches
    over millions, s neighbouring supports are taken together at their middle.  The root bends most at 0, so the error
    is largest there: less than (s epsilon)^1.5 / 100 of the result, or 1e-8 as s is chosen.
    """
    s = max(1, math.ceil(_MASS / (epsilon * _STEPS)))
    middle = (s - 1) / 2
    e = epsilon * s
    window = math.ceil(_MASS / e)
    alpha, beta = math.exp(-e), -math.expm1(-e)
    x = np.maximum((counts - middle) / s, 0.0)
    floor = np.floor(x).astype(np.int64)
    sums = np.empty(counts.size)
    start = 0
    from scipy.signal import lfilter  # takes longer to load than all else that a curator needs

    while start < counts.size:
        stop = int(np.searchsorted(floor, floor[start] + max(_SPAN, 4 * window), side="right"))
        first = max(0, int(floor[start]) - window)
        points = np.arange(first, int(floor[stop - 1]) + window + 1, dtype=np.float64)
        f = _spread(points * s + middle, r)
        at = floor[start:stop] - first
        past = x[start:stop] - floor[start:stop]
        below = lfilter([1.0], [1.0, -alpha], f)[at]
        above = lfilter([0.0, alpha], [1.0, -alpha], f[::-1])[::-1][at]
        sums[start:stop] = below * np.exp(-e * past) + above * np.exp(e * past)
        start = stop
    past = x - floor
    mass = -np.expm1(-e * (floor + 1)) / beta * np.exp(-e * past) + alpha / beta * np.exp(e * past)
    return np.asarray(sums / mass)


def _check_counts(noisy_count: npt.ArrayLike) -> Counts:
    counts = np.asarray(noisy_count)
    is_number = counts.dtype.kind in "iuf"
    if not is_number or not ((np.abs(counts.astype(np.float64)) < 2**53) & (counts == np.floor(counts))).all():
        raise ParameterError(
            "The 'noisy_count' parameter must be of whole numbers below 2^53.",
            parameter="noisy_count",
            value=noisy_count,
            hint="Noise on a count is drawn from a discrete law; a count with a fractional part had other noise.",
        )
    return counts.astype(np.int64)
