"""Exact tests of independence, given the margins: how likely chance alone brings both sides together so often.

The number of records with both sides, given those with A and with C, is hypergeometric if the sides are independent.
These want whole counts, so they are for records as they were given, not for estimates; they have no gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from bosket.checks import check_between
from bosket.measures.measure import Measure
from bosket.measures.table import Array, Contingency
from bosket.statistics.estimates import Floats
from bosket.statistics.exact_kernels import fisher_tail, hypergeometric_quantile
from bosket.threads import slices

_TABLES = 1 << 10


def _counts(t: Contingency) -> tuple[Floats, Floats, Floats]:
    """The whole numbers of records with both sides, with A and with C."""
    given = (t.n * t.pi11, t.n * t.a, t.n * t.c) if t.counts is None else t.counts
    x, a, c = (np.rint(np.asarray(part, float)) for part in given)
    return x, a, c


def _each(t: Contingency, work: Callable[[Floats, Floats, Floats, float, Floats], None]) -> Floats:
    """What the kernel puts last, of each table; nan where the margins are those of no table."""
    n = float(np.rint(t.n))
    x, a, c = np.broadcast_arrays(*_counts(t))
    result = np.full(x.shape, np.nan)
    sound = np.isfinite(x) & (a >= 0) & (a <= n) & (c >= 0) & (c <= n)
    x, a, c = x[sound], a[sound], c[sound]
    out = np.empty(len(x))
    for start, stop in slices(len(x), _TABLES):  # Ctrl-C is answered between two of them
        work(x[start:stop], a[start:stop], c[start:stop], n, out[start:stop])
    result[sound] = out
    return result


def _at_least(t: Contingency) -> Floats:
    return _each(t, lambda x, a, c, n, out: fisher_tail(x, a, c, n, True, out))


def _fewer(t: Contingency) -> Floats:
    return _each(t, lambda x, a, c, n, out: fisher_tail(x - 1, a, c, n, False, out))


def _over_quantile(t: Contingency, quantile: float) -> Array:
    seldom = _each(t, lambda _, a, c, n, out: hypergeometric_quantile(quantile, a, c, n, out))
    result: Array = _counts(t)[0] / seldom
    return result


fisher = Measure(
    name="fisher",
    title="p-value of Fisher's exact test, one-sided: as many or more records with both sides",
    formula="Pr(X >= n x), X hypergeometric with n records, n c of them with C, n a drawn",
    value=_at_least,
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
    value=_fewer,
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
        value=lambda t: _over_quantile(t, quantile),
        gradient=None,
        range=(0.0, inf),
        reference="Hahsler and Hornik (2007)",
        arules="hyperLift",
        is_symmetric=True,
    )


hyper_lift = hyper_lift_at(0.99)

RECORDS = (fisher, hyper_confidence, hyper_lift)
