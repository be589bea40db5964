"""Compiled: Fisher's exact test of many 2x2 tables, in a time that does not grow with the number of people.

With both margins given, x is hypergeometric under independence.  Where its standard deviation is at most `WIDEST`,
weights are taken relative to the mode and summed from there both ways: ratios of neighbouring ones are simple, so no
factorial is needed.  Beyond, the sum of a tail is the integral of its probabilities (midpoint rule, with the next term
of Euler and Maclaurin's formula, whose error is below 1e-8 of it), and these follow from Stirling's formula with the
deviance taken together, which loses no digits for large numbers (Loader, "Fast and accurate computation of binomial
probabilities", 2000).  A p-value below 1e-300 comes out as 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bosket.compiling import compiled

TIE = 1.0 + 1e-7
"""Tables whose probability exceeds that of the observed one by no more than rounding count as equally likely."""

WIDEST = 1000.0
"""The largest standard deviation of x for which its weights are summed one by one."""

_NOTHING = 1e-17
_LEAST = 1e-300
_LOG_LEAST = math.log(_LEAST)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@compiled
def fisher(x: Any, a: Any, c: Any, n: float, out: Any) -> None:
    """Two-sided p-values: of all tables with these margins, those no more likely than the observed one."""
    for i in range(x.size):
        one, other = float(a[i]), float(c[i])
        if _spread(one, other, n) > WIDEST:
            out[i] = _wide(float(x[i]), one, other, n)
            continue
        rest = n - one - other  # cell pi00 of a table with x = 0, perhaps below 0
        lowest, highest = max(0.0, -rest), min(one, other)
        mode = min(max(float(int((one + 1) * (other + 1) / (n + 2))), lowest), highest)
        w, k = 1.0, mode
        while k < x[i] and w > _LEAST:
            w *= (one - k) * (other - k) / ((k + 1) * (rest + k + 1))
            k += 1
        while k > x[i] and w > _LEAST:
            w *= k * (rest + k) / ((one - k + 1) * (other - k + 1))
            k -= 1
        if w <= _LEAST:
            out[i] = 0.0
            continue
        limit = w * TIE
        total, part = 0.0, 0.0
        w, k = 1.0, mode
        while w > _NOTHING * part and w > _LEAST:
            total += w
            if w <= limit:
                part += w
            if k >= highest:
                break
            w *= (one - k) * (other - k) / ((k + 1) * (rest + k + 1))
            k += 1
        w, k = 1.0, mode
        while k > lowest:
            w *= k * (rest + k) / ((one - k + 1) * (other - k + 1))
            k -= 1
            if w <= _NOTHING * part or w <= _LEAST:
                break
            total += w
            if w <= limit:
                part += w
        out[i] = min(part / total, 1.0)


@compiled
def fisher_tail(x: Any, a: Any, c: Any, n: float, upper: bool, out: Any) -> None:
    """One-sided p-values: of all tables with these margins, those with x or more (``upper``), or x or fewer."""
    for i in range(x.size):
        one, other = float(a[i]), float(c[i])
        if _spread(one, other, n) > WIDEST:
            out[i] = _wide_tail(float(x[i]), one, other, n, upper)
            continue
        rest = n - one - other
        lowest, highest = max(0.0, -rest), min(one, other)
        mode = min(max(float(int((one + 1) * (other + 1) / (n + 2))), lowest), highest)
        total, part = 0.0, 0.0
        w, k = 1.0, mode
        while w > _LEAST:  # from the mode up
            total += w
            if (k >= x[i]) == upper or k == x[i]:
                part += w
            if k >= highest or (w < _NOTHING * total and w < _NOTHING * part):
                break
            w *= (one - k) * (other - k) / ((k + 1) * (rest + k + 1))
            k += 1
        w, k = 1.0, mode
        while k > lowest and w > _LEAST:  # and down
            w *= k * (rest + k) / ((one - k + 1) * (other - k + 1))
            k -= 1
            total += w
            if (k >= x[i]) == upper or k == x[i]:
                part += w
            if w < _NOTHING * total and w < _NOTHING * part:
                break
        out[i] = min(part / total, 1.0)


@compiled
def hypergeometric_quantile(quantile: float, a: Any, c: Any, n: float, out: Any) -> None:
    """The smallest x that is exceeded with a chance of at most 1 - quantile, for each pair of margins."""
    rare = (1 - quantile) * (1 + 1e-12)  # a tie counts, whatever the rounding
    for i in range(a.size):
        one, other = float(a[i]), float(c[i])
        if _spread(one, other, n) > WIDEST:
            out[i] = _wide_quantile(rare, one, other, n)
            continue
        rest = n - one - other
        lowest, highest = max(0.0, -rest), min(one, other)
        mode = min(max(float(int((one + 1) * (other + 1) / (n + 2))), lowest), highest)
        total = 1.0
        w, k = 1.0, mode
        while k > lowest and w > _NOTHING * total:
            w *= k * (rest + k) / ((one - k + 1) * (other - k + 1))
            k -= 1
            total += w
        w, k = 1.0, mode
        while k < highest and w > _NOTHING * rare * total:
            w *= (one - k) * (other - k) / ((k + 1) * (rest + k + 1))
            k += 1
            total += w
        beyond = w  # and back: k is not exceeded at all
        while k > lowest and beyond <= rare * total:
            w *= k * (rest + k) / ((one - k + 1) * (other - k + 1))
            k -= 1
            beyond += w
        out[i] = k


@compiled
def _wide_quantile(rare: float, one: float, other: float, n: float) -> float:
    """By bisection; within 40 standard deviations of the mean, beyond which no chance is a number above 0."""
    mean, reach = one / n * other, 40 * _spread(one, other, n)
    low, high = math.floor(max(mean - reach, 0.0)) - 1, math.ceil(min(mean + reach, min(one, other)))
    while high - low > 1:
        middle = math.floor((low + high) / 2)
        if _wide_tail(middle + 1, one, other, n, True) <= rare:
            high = middle
        else:
            low = middle
    return high


@compiled
def _spread(one: float, other: float, n: float) -> float:
    """The standard deviation of x."""
    if n < 2:
        return 0.0
    return math.sqrt(one / n * other * ((n - one) / n) * ((n - other) / (n - 1)))


@compiled
def _wide(x: float, one: float, other: float, n: float) -> float:
    """The two-sided p-value: the tail that begins at x, and that of the other side as far as it is no more likely."""
    mean = one / n * other
    sign = 1.0 if x >= mean else -1.0
    limit = _log_chance(x, one, other, n)
    if limit < _LOG_LEAST:
        return 0.0
    near, far = x, mean - sign * (abs(x - mean) + 2)  # near is more likely than that, or x itself
    while _log_chance(far, one, other, n) > limit:  # skewed
        far -= sign * _spread(one, other, n)
    far = math.floor(far)
    while abs(near - far) > 1:
        middle = math.floor((near + far) / 2)
        if _log_chance(middle, one, other, n) <= limit + TIE - 1:
            far = middle
        else:
            near = middle
    found = _sum_from(x, sign, one, other, n) + _sum_from(far, -sign, one, other, n)
    return min(found, 1.0)


@compiled
def _wide_tail(x: float, one: float, other: float, n: float, upper: bool) -> float:
    mean = one / n * other
    if upper:
        return _sum_from(x, 1.0, one, other, n) if x > mean else 1.0 - _sum_from(x - 1, -1.0, one, other, n)
    return _sum_from(x, -1.0, one, other, n) if x < mean else 1.0 - _sum_from(x + 1, 1.0, one, other, n)


@compiled
def _sum_from(x: float, sign: float, one: float, other: float, n: float) -> float:
    """The probability of x and all beyond it, away from the mean, in pieces of which each is a fraction of the one
    before, by eight nodes each (Gauss and Legendre).
    """
    start, spread = x - sign / 2, _spread(one, other, n)
    width = spread / (2 + abs(x - one / n * other) / spread)
    total = _slope(start, one, other, n) * sign * math.exp(_log_chance(start, one, other, n)) / 24
    piece = math.inf
    while piece > _NOTHING * total:
        piece = 0.0
        for j in range(_NODES.size):
            at = start + sign * width * (_NODES[j] + 1) / 2
            piece += _WEIGHTS[j] * math.exp(_log_chance(at, one, other, n))
        piece *= width / 2
        total += piece
        start += sign * width
    return total


@compiled
def _slope(x: float, one: float, other: float, n: float) -> float:
    """The derivative of the logarithm of a probability, by its largest term."""
    cells = (x, one - x, other - x, n - one - other + x)
    if min(cells) < 1:
        return 0.0
    return math.log(cells[1] / cells[0] * (cells[2] / cells[3]))


@compiled
def _log_chance(x: float, one: float, other: float, n: float) -> float:
    """ln Pr(x); minus infinity where a cell is below 1, which is beyond all that counts where x is spread widely."""
    rest_one, rest_other = n - one, n - other
    x10, x01, x00 = one - x, other - x, rest_one - other + x
    if min(min(x, x10), min(x01, x00)) < 1:
        return -math.inf
    by = x - one / n * other
    deviance = _deviance(x, by) + _deviance(x10, -by) + _deviance(x01, -by) + _deviance(x00, by)
    errors = _stirling(one) + _stirling(rest_one) + _stirling(other) + _stirling(rest_other) - _stirling(n)
    errors -= _stirling(x) + _stirling(x10) + _stirling(x01) + _stirling(x00)
    scale = one / x * (rest_one / x00) * (other / x10) * (rest_other / x01) / (2 * math.pi * n)
    return errors - deviance + 0.5 * math.log(scale)


@compiled
def _deviance(x: float, by: float) -> float:
    """x ln(x / e) + e - x, e = x - by being what is expected."""
    e = x - by
    if abs(by) < 0.1 * (x + e):
        v = by / (x + e)
        total, term, j = by * v, 2 * x * v, 1
        while True:
            term *= v * v
            more = total + term / (2 * j + 1)
            if more == total:
                return total
            total = more
            j += 1
    return x * math.log(x / e) - by


@compiled
def _stirling(m: float) -> float:
    """ln m! - (m + 1/2) ln m + m - ln sqrt(2 pi)."""
    if m < 16:
        return math.lgamma(m + 1) - (m + 0.5) * math.log(m) + m - 0.5 * math.log(2 * math.pi)
    return (1 / 12 - (1 / 360 - 1 / (1260 * m * m)) / (m * m)) / m
