"""What is possible at an epsilon: a bound for every algorithm, and what noise on every count comes to.

Zeng, Naughton and Cai (VLDB 2012), sections 3 and 4.1.  An output is delta-approximate (Definition 5) when it has every
itemset with support above (1 + delta) lambda and none with support below (1 - delta) lambda; an algorithm is
(delta, eta)-useful (Definition 6) when on every database its output is so with probability at least 1 - eta.

The geometric noise algorithm adds to every count an independent sigma with Pr(sigma) ~ alpha^|sigma|,
alpha = exp(-epsilon / sensitivity), and calls frequent what then is at least lambda.  Neighbours differ by one record,
added or removed.  Supports are whole numbers, so with L = ceil(lambda) the closest calls are

    least support that must be in:     floor((1 + delta) lambda) + 1,  missed if sigma <= -(that - L + 1)
    greatest that must stay out:       ceil((1 - delta) lambda) - 1,   let in if sigma >= L - that

For a whole lambda these are |sigma| >= floor(delta lambda) + 2 and + 1: letting in is the likelier, as ties are
frequent.  With t the smaller of the two, a count fails with probability at most p = alpha^t / (1 + alpha), and as
every count may be such a close call at once, the worst database fails with probability exactly 1 - (1 - p)^n.
"""

from __future__ import annotations

import math
from fractions import Fraction

from bosket.checks import check_between, check_integer, check_not_negative, check_positive
from bosket.errors import ParameterError

_MOST = 10**300  # beyond it an epsilon would be no double
_TINY = -40.0  # the logarithm of a rate below which 1 - exp(-rate) is the rate in doubles


def least_epsilon(n_items: int, min_count: float, *, delta: float, eta: float) -> float:
    """No epsilon below this one lets any algorithm be (delta, eta)-useful: Theorem 3, by Lemma 1.

    ln[(2^n - 1) (1 - eta) / eta] / (2 delta lambda + 2), n being ``n_items`` and lambda ``min_count``; 0 where that
    is negative and excludes nothing.  The proof needs records of up to n items: shorter ones may do with less.

    >>> round(least_epsilon(3340, 310, delta=0.2, eta=0.5), 1)
    18.4
    """
    n = check_integer("n_items", n_items, least=1)
    lam = check_positive("min_count", min_count)
    d = check_between("delta", delta, 0, 1)
    e = check_between("eta", eta, 0, 1)
    # 2^n - 1 in logs: 2^3340 is no double
    log_odds = n * math.log(2) + math.log1p(-math.exp2(-n)) + math.log1p(-e) - math.log(e)
    return max(0.0, log_odds / (2 * d * lam + 2))


def useful_epsilon(
    n_items: int,
    min_count: float,
    *,
    max_size: int,
    delta: float,
    eta: float,
    itemset_size: int = 1,
    n_candidates: int | None = None,
) -> float:
    """The smallest epsilon at which the geometric noise algorithm is (delta, eta)-useful, rounded up.

    For ``n_candidates`` counts of itemsets of one size (all of them, unless said) in records of at most ``max_size``
    items; see :func:`failure_probability`, of which this is the inverse.  0 where every epsilon above 0 is enough.

    1 - (1 - p)^n = eta gives p; then a = epsilon / sensitivity solves t a + ln(1 + exp(-a)) = -ln p.

    >>> round(useful_epsilon(3340, 310, max_size=5, delta=0.2, eta=0.5), 3)
    0.623
    """
    n, sensitivity = _counts(n_items, max_size, itemset_size, n_candidates)
    t = _closest_call(min_count, delta)
    e = check_between("eta", eta, 0, 1)
    need = -_log_chance_each(n, e)
    if need <= math.log(2):
        return 0.0
    a = need / t
    for _ in range(100):  # a contraction by 1 / (t (1 + e^a)), at most a half
        before, a = a, (need - math.log1p(math.exp(-a))) / t
        if a == before:
            break
    epsilon = a * sensitivity
    step = math.ulp(epsilon)
    while _chance_any(n, _log_tail(t, epsilon / sensitivity)) > e:
        epsilon, step = epsilon + step, 2 * step
    return epsilon


def failure_probability(
    epsilon: float,
    n_items: int,
    min_count: float,
    *,
    max_size: int,
    delta: float,
    itemset_size: int = 1,
    n_candidates: int | None = None,
) -> float:
    """How likely the geometric noise algorithm is not delta-approximate, on the database that is worst for it.

    1 - (1 - p)^n with p = alpha^t / (1 + alpha), exactly and not by a union bound: the noises are independent (the
    formulas are the module's).  The sensitivity is that of Theorem 10, min(C(max_size, itemset_size), n_candidates).

    >>> round(failure_probability(0.623, 3340, 310, max_size=5, delta=0.2), 2)
    0.5
    """
    n, sensitivity = _counts(n_items, max_size, itemset_size, n_candidates)
    t = _closest_call(min_count, delta)
    return _chance_any(n, _log_tail(t, check_not_negative("epsilon", epsilon) / sensitivity))


def discoverable_count(epsilon: float, n_candidates: int, *, sensitivity: int, eta: float = 0.05) -> int:
    """The smallest count that, with probability 1 - eta, noise alone reaches in none of the empty counts.

    The least c >= 1 with 1 - (1 - alpha^c / (1 + alpha))^n <= eta: a noisy count from c on is hardly noise alone.

    >>> discoverable_count(1.0, 3340, sensitivity=5)
    53
    """
    most = check_integer("sensitivity", sensitivity, least=1)
    a = check_positive("epsilon", epsilon) / _check_sensitivity("sensitivity", sensitivity, most)
    n = check_integer("n_candidates", n_candidates, least=1)
    e = check_between("eta", eta, 0, 1)

    def is_reached(count: int) -> bool:
        return _chance_any(n, _log_tail(count, a)) > e

    high = 1
    while is_reached(high):
        high *= 2
    low = high // 2  # reached, or 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_reached(middle) else (low, middle)
    return high


def _closest_call(min_count: float, delta: float) -> int:
    """The t of the module: the least noise, in absolute value, that makes an output not delta-approximate."""
    # as the numbers are written: 0.07 * 100 is 7.000000000000001 in doubles, which matters to a floor
    lam = Fraction(repr(check_positive("min_count", min_count)))
    d = Fraction(repr(check_between("delta", delta, 0, 1)))
    limit = math.ceil(lam)
    least_in = math.floor((1 + d) * lam) + 1
    greatest_out = math.ceil((1 - d) * lam) - 1
    return min(least_in - limit + 1, limit - greatest_out)


def _counts(n_items: int, max_size: int, itemset_size: int, n_candidates: int | None) -> tuple[int, int]:
    """The number of counts and their sensitivity (Theorem 10)."""
    n_items = check_integer("n_items", n_items, least=1)
    k = check_integer("itemset_size", itemset_size, least=1, most=n_items)
    size = min(n_items, check_integer("max_size", max_size, least=k))
    n = math.comb(n_items, k)
    if n_candidates is not None:
        n = check_integer("n_candidates", n_candidates, least=1, most=n)
    return n, _check_sensitivity("max_size", max_size, min(math.comb(size, k), n))


def _log_tail(t: int, a: float) -> float:
    """ln Pr(sigma >= t) for t >= 0 and alpha = exp(-a): ln of alpha^t / (1 + alpha)."""
    return -(t * a) - math.log1p(math.exp(-a))


def _chance_any(n: int, log_p: float) -> float:
    """1 - (1 - p)^n, from ln p; n may be too large for a double."""
    log_rate = log_p if log_p < _TINY else math.log(-math.log1p(-math.exp(log_p)))
    log_rate += math.log(n)
    return -math.expm1(-math.exp(min(log_rate, 700.0)))


def _log_chance_each(n: int, eta: float) -> float:
    """ln of the p with 1 - (1 - p)^n = eta."""
    log_rate = math.log(-math.log1p(-eta)) - math.log(n)
    return log_rate if log_rate < _TINY else math.log(-math.expm1(-math.exp(log_rate)))


def _check_sensitivity(name: str, value: int, sensitivity: int) -> int:
    if sensitivity > _MOST:
        raise ParameterError(
            f"The '{name}' parameter must leave a sensitivity of at most 1e300, got more.", parameter=name, value=value
        )
    return sensitivity
