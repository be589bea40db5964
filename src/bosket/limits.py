"""Whether a number reaches the limit that a user gave: the one place where a value *at* the limit is decided.

A confidence of 4 in 5 computed from rounded fractions is 0.7999999999999999, and 0.07 of 100 records are
7.000000000000001 of them: a plain ``>=`` loses what lies just at the limit.  Two rules settle it.

    counts      Whole numbers are compared where a limit can be made one.  A ratio of counts reaches a limit when the
                float nearest to it is at least the limit: k of n reaches both the decimal as written and the float k/n.
    elsewhere   Estimates, p-values and measures with roots or logarithms carry rounding errors of their own: they are
                compared with a hair, a billionth of the limit (1e-12 for a measure that must reach 0, nothing for a
                p-value that must keep to 0).

Neither is for privacy: a budget or a guarantee is never met by a hair.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

HAIR = 1e-9
"""The part of a limit by which a computed value may miss it."""

_NEAR_ZERO = 1e-12  # the hair of a limit of 0


def hair(limit: Any) -> Any:
    """By how much a computed value may miss the limit, or limits."""
    return HAIR * np.abs(limit) + _NEAR_ZERO * (limit == 0)


def reaches(value: Any, limit: Any) -> Any:
    """Whether each value is at least the limit; not a number never is.

    >>> bool(reaches(0.8 - 1e-16, 0.8)), bool(reaches(0.79999, 0.8))
    (True, False)
    """
    return np.asarray(value) >= limit - hair(limit)


def keeps_to(value: Any, limit: Any) -> Any:
    """Whether each value is at most the limit, neither being below 0; 1e-13 does not keep to 1e-14, nor to 0.

    >>> bool(keeps_to(0.1 + 0.2, 0.3))
    True
    """
    return np.asarray(value) <= limit * (1 + HAIR)


def is_near(value: Any, limit: Any) -> Any:
    """Whether each value is so near the limit that rounding may decide on which side it lies."""
    with np.errstate(invalid="ignore"):
        return np.abs(np.asarray(value) - limit) <= hair(limit)


def least_count(fraction: float, n_records: int) -> int:
    """The smallest number of records that is at least this fraction of them, at least 1.

    >>> least_count(0.07, 100), least_count(0.1, 30), least_count(5 / 9, 9)
    (7, 3, 5)
    """
    count = math.ceil(Fraction(repr(float(fraction))) * n_records)
    if count and (count - 1) / n_records >= fraction:  # the fraction is k / n as a float, rounded upwards
        count -= 1
    return max(1, count)
