"""The items that cut-and-paste chooses first: J of a record's m, J the smaller of m and a uniform number from 0 to K.

Closed forms, so that neither a cutoff of a million nor a long record takes time.
"""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb


def all_chosen(size: int, cutoff: int, given: int) -> Fraction:
    """The probability that ``given`` items of the record are all chosen first: E of C(J, i) / C(m, i).

    The sum over j < n of C(j, i) is C(n, i + 1).
    """
    few = min(size, cutoff + 1)  # J is below this with probability 1 / (K + 1) each, or m
    ways = comb(few, given + 1) + (cutoff + 1 - few) * comb(size, given)
    return Fraction(ways, (cutoff + 1) * comb(size, given))


def all_shown(size: int, cutoff: int, rho: Fraction, given: int) -> Fraction:
    """The probability that they are all in the report: i of them were chosen first, and the others came back."""
    return sum(
        (comb(given, i) * (1 - rho) ** i * rho ** (given - i) * all_chosen(size, cutoff, i) for i in range(given + 1)),
        Fraction(0),
    )


def log_moment_of_coin(rho: float, tilt: float) -> float:
    """ln E exp(tilt X), X being 1 with probability rho and else 0; no digits are lost where either is extreme."""
    rise = rho * math.expm1(tilt)
    return math.log1p(rise) if rise > -0.5 else math.log((1 - rho) + rho * math.exp(tilt))


def log_moment_of_shown(size: int, cutoff: int, rho: float, tilt: float) -> float:
    """ln E exp(tilt T), T the items of the record in the report: those chosen first, and of the others rho each.

    With b = ln E exp(tilt [one of the others comes back]), the sum over j < f of exp(tilt j + (m - j) b), f = min(m,
    K + 1), is that of a geometric series; with the rest of the probability all of the record is chosen.
    """
    back = log_moment_of_coin(rho, tilt)
    few = min(size, cutoff + 1)
    rest = math.log((cutoff + 1 - few) / (cutoff + 1)) + tilt * size if few <= cutoff else -math.inf
    if few == 0:
        return rest
    step = tilt - back
    largest = size * back + max(step, 0.0) * (few - 1)
    terms = largest + _log_geometric(abs(step), few) - math.log(cutoff + 1)
    high, low = max(terms, rest), min(terms, rest)
    return high + math.log1p(math.exp(low - high))


def _log_geometric(x: float, n: int) -> float:
    """ln of the sum over j < n of exp(-j x), x >= 0."""
    return math.log(n) if x * n < 1e-12 else math.log(-math.expm1(-x * n)) - math.log(-math.expm1(-x))
