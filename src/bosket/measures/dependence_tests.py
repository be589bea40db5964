"""Tests of independence of 2x2 tables of counts, and how strong the dependence is at least.

Counts are of records that are independent draws from one law.  Pearson's chi-square has one degree of freedom, but
its law is an approximation, and of many tests it is the far tail that matters.  Given the margins, x is hypergeometric
with a skewness of about 1 / sqrt(e), e the smallest expected cell; so at z = sqrt(chi-square) the normal tail is wrong
by a factor of about exp(z^3 / (6 sqrt(e))) (Feller II, XVI.7).  With e = 15, which the usual rule of 5 would let pass,
one true hypothesis in a million is rejected at 1e-7.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bosket.checks import check_between, check_not_negative
from bosket.measures.catalogue import measure
from bosket.measures.table import Contingency
from bosket.statistics.estimates import Floats
from bosket.statistics.exact_kernels import fisher
from bosket.threads import parallel_map, slices

WholeNumbers = npt.NDArray[np.int64]

_PIECE = 1 << 12
_HALVINGS = 60


def independence(
    x: WholeNumbers,
    a: WholeNumbers,
    c: WholeNumbers,
    n: int,
    *,
    min_expected: float = 5.0,
    on_done: Callable[[float], None] | None = None,
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Two-sided p-values of independence, and which of them are Fisher's.

    x, a, c, n    counts of both sides together, of one, of the other, and of all records
    min_expected  chi-square where the smallest expected cell is at least this times max(1, chi-square)^3, so that the
                  factor above is at most exp(1 / (6 sqrt(min_expected))), or 1.08, at any level; elsewhere Fisher's
                  exact test, which is valid for any counts: its p-values can be larger than need be, never smaller.
                  0 for chi-square everywhere
    on_done   hears which part of the exact tests is done

    A side that all records have, or none, cannot be tested: its p-value is 1.
    """
    from scipy.special import erfc  # slow to import, and few need it

    check_not_negative("min_expected", min_expected)
    chi_squared = chi_squares(x, a, c, n)
    expected = np.minimum(a, n - a) * (np.minimum(c, n - c) / n)
    p: Floats = erfc(np.sqrt(chi_squared / 2))  # the tail of chi-square with one degree of freedom
    is_exact = (expected > 0) & (expected < min_expected * np.maximum(chi_squared, 1.0) ** 3)
    chosen = np.flatnonzero(is_exact)

    def piece(part: tuple[int, int]) -> None:
        rows = chosen[part[0] : part[1]]
        own = np.empty(len(rows))
        fisher(x[rows], a[rows], c[rows], float(n), own)
        p[rows] = own

    parts = list(slices(len(chosen), _PIECE))
    parallel_map(piece, parts, on_done=None if on_done is None else lambda done: on_done(done / len(parts)))
    return p, is_exact


def chi_squares(x: WholeNumbers, a: WholeNumbers, c: WholeNumbers, n: int) -> Floats:
    """Pearson's statistic; 0 where a margin is empty."""
    result: Floats = np.nan_to_num(measure("chi_squared")(Contingency.of_counts(x, a, c, n)), nan=0.0)
    return result


def correlation_at_least(x: WholeNumbers, a: WholeNumbers, c: WholeNumbers, n: int, *, level: float = 0.95) -> Floats:
    """A lower confidence limit of |phi|, one-sided, at ``level``; 0 where phi = 0 is not excluded.

    Fisher's z = artanh phi with the delta method's standard error s over multinomial tables, 1/2 added to every cell
    (Anscombe 1956), and s at least 1 / sqrt(n), its value at independence: the variance at the limit lies between that
    and the one at the estimate.  As the sign is open too, the limit L solves

        Pr(|Z + L / s| >= |z| / s) = 1 - level,     Z standard normal

    which at L = 0 is the two-sided test at 1 - level, and for large |z| / s the one-sided limit |z| - z_level s.
    """
    from scipy.special import ndtr  # slow to import, and few need it

    alpha = 1 - check_between("level", level, 0, 1)
    table = Contingency.of_counts(x + 0.5, a + 1.0, c + 1.0, n + 2)
    phi = measure("correlation")
    assert phi.gradient is not None
    by_x, by_a, by_c = phi.gradient(table)
    value = np.abs(phi(table))
    square = (
        by_x**2 * table.pi11 * (1 - table.pi11)
        + by_a**2 * table.a * table.not_a
        + by_c**2 * table.c * table.not_c
        + 2 * by_x * (by_a * table.pi11 * table.not_a + by_c * table.pi11 * table.not_c)
        + 2 * by_a * by_c * (table.pi11 - table.a * table.c)
    ) / table.n
    error = np.maximum(np.sqrt(np.maximum(square, 0.0)) / (1 - value**2), table.n**-0.5)
    distance = np.arctanh(value) / error

    def tail(limit: Floats) -> Floats:
        result: Floats = ndtr(limit - distance) + ndtr(-limit - distance)
        return result

    low, high = np.zeros(len(distance)), distance.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_below = tail(middle) < alpha
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.where(tail(np.zeros(len(distance))) < alpha, np.tanh(low * error), 0.0)
