"""The items that cut-and-paste chooses first: J of a record's m, J the smaller of m and a uniform number from 0 to K.

Closed forms, so that neither a cutoff of a million nor a long record takes time.
"""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np


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


def log_moment_of_shown(size: int, cutoff: int, rho: float, tilt: float) -> float:
    """ln E exp(tilt T), T the items of the record in the report: those chosen first, and of the others rho each."""
    back = math.log1p(rho * math.expm1(tilt))
    few = min(size, cutoff + 1)
    j = np.arange(few)
    terms = tilt * j + (size - j) * back - math.log(cutoff + 1)
    whole = [math.log((cutoff + 1 - few) / (cutoff + 1)) + tilt * size] if few <= cutoff else []
    return float(np.logaddexp.reduce(np.append(terms, whole)))
