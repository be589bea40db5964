"""Exact tests of independence, given the margins: how likely chance alone brings both sides together so often.

The number of records with both sides, given those with A and with C, is hypergeometric if the sides are independent.
These want whole counts, so they are for records as they were given, not for estimates; they have no gradient.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from bosket.checks import check_between
from bosket.measures.measure import Measure
from bosket.measures.table import Array, Contingency


def _by_chance(t: Contingency) -> Any:
    """The hypergeometric law: n records, those with C among them, those with A drawn."""
    from scipy.stats import hypergeom  # late: it takes long to import, and changes the filters of warnings

    return hypergeom(np.rint(t.n), np.rint(t.n * t.c), np.rint(t.n * t.a))


def _count(t: Contingency) -> Array:
    return np.rint(t.n * t.pi11)


fisher = Measure(
    name="fisher",
    title="p-value of Fisher's exact test, one-sided: as many or more records with both sides",
    formula="Pr(X >= n x), X hypergeometric with n records, n c of them with C, n a drawn",
    value=lambda t: _by_chance(t).sf(_count(t) - 1),
    gradient=None,
    range=(0.0, 1.0),
    reference="Fisher (1935); Hahsler and Hornik (2007)",
    aliases=("fisher_exact", "fishers_exact"),
    arules="fishersExactTest",
    is_symmetric=True,
    is_loss=True,
)


hyper_confidence = Measure(
    name="hyper_confidence",
    title="probability that chance alone gives fewer records with both sides",
    formula="Pr(X < n x) = 1 - fisher, X hypergeometric with n records, n c of them with C, n a drawn",
    value=lambda t: _by_chance(t).cdf(_count(t) - 1),
    gradient=None,
    range=(0.0, 1.0),
    reference="Hahsler and Hornik (2007)",
    arules="hyperConfidence",
    is_symmetric=True,
)


def hyper_lift_at(quantile: float) -> Measure:
    """Hyper-lift by another quantile than 0.99."""
    check_between("quantile", quantile, 0, 1)
    return Measure(
        name="hyper_lift",
        title="lift over a count that chance alone seldom exceeds",
        formula=f"n x / (smallest q with Pr(X <= q) >= {quantile:g}), X hypergeometric as for fisher",
        value=lambda t: _count(t) / _by_chance(t).ppf(quantile),
        gradient=None,
        range=(0.0, inf),
        reference="Hahsler and Hornik (2007)",
        arules="hyperLift",
        is_symmetric=True,
    )


hyper_lift = hyper_lift_at(0.99)

RECORDS = (fisher, hyper_confidence, hyper_lift)
