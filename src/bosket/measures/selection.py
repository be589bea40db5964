"""Which rules of exact data reach a limit: by whole numbers where rounding could decide.

Most tables are far from the limit, and their measure as a float decides.  Those within a hair of it are few; there the
formula is worked out once more in fractions of whole numbers, and the float nearest to the exact value is compared
(see :mod:`bosket.limits`).  A formula with roots or logarithms has no such value and passes by the hair.  The value
that a frame shows passes as a limit too, though it be rounded upwards.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.limits import is_near, reaches
from bosket.measures.measure import Measure
from bosket.measures.table import Array, Contingency


def passes(measure: Measure, table: Contingency, limit: float) -> npt.NDArray[np.bool_]:
    """Which tables of exact counts have a measure of at least ``limit``."""
    value = measure(table)
    result: npt.NDArray[np.bool_] = value >= limit
    if measure.is_rounded_once and table.counts is not None:
        return result
    near = np.flatnonzero(is_near(value, limit))
    if len(near) and table.counts is not None:
        counts = np.stack([np.broadcast_to(part, value.shape).ravel()[near] for part in table.counts])
        distinct, place = np.unique(counts, axis=1, return_inverse=True)
        values = exact_values(measure, distinct, table.n)
        result.ravel()[near] |= reached(values, limit)[place.ravel()]
    return result


def reached(values: list[Any], limit: float) -> npt.NDArray[np.bool_]:
    """Of exact values by their nearest floats; of the others, which are near the limit, by a hair."""
    return np.array(
        [
            float(value) >= limit if isinstance(value, Fraction | int) else bool(reaches(value, limit))
            for value in values
        ],
        bool,
    )


def exact_values(measure: Measure, counts: Array, n: float) -> list[Any]:
    """The measure of each column of counts (x, a, c) as a fraction; as a float where the formula has no exact value."""
    whole = np.array([[Fraction(int(count)) for count in row] for row in counts.tolist()], object)
    try:
        return list(measure(_of_fractions(whole, n)))
    except (ZeroDivisionError, TypeError, AttributeError):
        return [_exact_value(measure, column, n) for column in whole.T]


def _exact_value(measure: Measure, counts: Array, n: float) -> Any:
    """Of one table; the conventions of degenerate tables are the float's."""
    try:
        return measure(_of_fractions(counts[:, None], n))[0]
    except (ZeroDivisionError, TypeError, AttributeError):
        x, a, c = (np.array([float(count)]) for count in counts)
        return float(measure(Contingency.of_counts(x, a, c, n))[0])


def _of_fractions(counts: Array, n: float) -> Contingency:
    x, a, c = counts
    return Contingency.of_counts(x, a, c, Fraction(int(n)))  # type: ignore[arg-type]  # divides as a float does
