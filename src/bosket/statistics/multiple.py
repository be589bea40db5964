"""p-values of many tests at once.

    bonferroni  min(1, m p): the chance of any false claim is at most alpha, however the tests depend on each other
    holm        step down, max over j <= i of (m - j + 1) p_(j): the same promise, never larger  (Holm 1979)
    bh          step up, min over j >= i of m p_(j) / j: of all claims, an expected share of at most alpha is false, if
                tests are independent or positively dependent  (Benjamini and Hochberg 1995; 2001, Theorem 1.2)
    by          bh times 1 + 1/2 + ... + 1/m: the same, however the tests depend on each other
                (Benjamini and Yekutieli 2001, Theorem 1.3)

m is the number of tests, p_(1) <= p_(2) <= ... their p-values in order; claim what has an adjusted value of at most
alpha.  Pairs that share an item are tested on the same data, some of them with negative dependence, hence ``by``.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from bosket.checks import check_choice, check_integer
from bosket.errors import ParameterError
from bosket.statistics.estimates import Floats

METHODS = {
    "by": "Benjamini-Yekutieli",
    "bh": "Benjamini-Hochberg",
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "none": "none",
}
"""What the methods are called in words."""

_SUMMED = 1_000_000


def adjust(p_values: npt.ArrayLike, method: str = "by", *, tests: int | None = None) -> Floats:
    """Adjusted p-values, in the order given.

    ``tests`` is the size of the family, at least as many as there are p-values: those left out count as 1, which is
    what may be said of tests that were not carried out, or whose results were not kept.

    >>> adjust([0.01, 0.04, 0.03], "bh").round(6).tolist()
    [0.03, 0.04, 0.04]
    >>> adjust([0.01], "bonferroni", tests=20).tolist()
    [0.2]
    """
    p: Floats = np.asarray(p_values, float)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ParameterError(
            "The 'p_values' parameter must be a list of numbers in [0, 1].", parameter="p_values", value=p_values
        )
    check_choice("method", method, METHODS)
    m = len(p) if tests is None else check_integer("tests", tests, least=len(p))
    if method == "none" or not len(p):
        return p.copy()
    if method == "bonferroni":
        return np.minimum(m * p, 1.0)
    order = np.argsort(p, kind="stable")
    ranks = np.arange(1, len(p) + 1)
    if method == "holm":
        steps = np.maximum.accumulate((m + 1 - ranks) * p[order])
    else:
        factor = m * harmonic(m) if method == "by" else float(m)
        steps = np.minimum.accumulate((factor / ranks * p[order])[::-1])[::-1]
    result = np.empty(len(p))
    result[order] = np.minimum(steps, 1.0)
    return result


def harmonic(m: int) -> float:
    """1 + 1/2 + ... + 1/m; beyond a million by Euler's expansion, whose next term, 1 / (120 m^4), is nothing."""
    if m <= _SUMMED:
        return float((1.0 / np.arange(m, 0, -1)).sum())  # the smallest first
    return math.log(m) + float(np.euler_gamma) + 1 / (2 * m) - 1 / (12 * m**2)
