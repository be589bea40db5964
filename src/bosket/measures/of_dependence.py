"""How far the two sides are from independence.

x = pi11, a and c are the support fractions of both sides, of A and of C; gradients are by (x, a, c).  All of these are
made of D = x - a c = pi11 pi00 - pi10 pi01, the covariance of the two sides, whose gradient is (1, -c, -a).  When A and
C are randomized by independent 2x2 channels (1 stays 1 with probability p, 0 becomes 1 with probability r), D is
multiplied by (p_A - r_A) (p_C - r_C).
"""

from __future__ import annotations

from math import inf

import numpy as np

from bosket.measures.measure import UNBOUNDED, Gradient, Measure, Monotone, Scale
from bosket.measures.of_support import geometric_mean
from bosket.measures.table import Array, Contingency

MARGINS = ("a", "c", "not_a", "not_c")


def covariance(t: Contingency) -> Array:
    """D, by the cells: it is exactly 0 where a margin is."""
    difference: Array = t.pi11 * t.pi00 - t.pi10 * t.pi01
    return difference


def _lift_gradient(t: Contingency) -> Gradient:
    product = t.a * t.c
    ratio = t.pi11 / product
    return 1 / product, -ratio / t.a, -ratio / t.c


lift = Measure(
    name="lift",
    title="how much more often both sides occur together than if they were independent",
    formula="x / (a c)",
    value=lambda t: t.pi11 / (t.a * t.c),
    gradient=_lift_gradient,
    range=(0.0, inf),
    reference="Brin, Motwani and Silverstein (1997); Guo, Guo and Wu (2007), Table 2, as interest",
    aliases=("interest", "interest_factor"),
    arules="lift",
    scale=Scale.LOG,
    must_be_sure=("a", "c"),
    trusted_if=("a", "c", "pi11"),
    is_symmetric=True,
)

varying_liaison = Measure(
    name="varying_liaison",
    title="lift above 1",
    formula="x / (a c) - 1",
    value=lambda t: covariance(t) / (t.a * t.c),
    gradient=_lift_gradient,
    range=(-1.0, inf),
    reference="Bernard and Charron (1996), varying rates liaison",
    aliases=("varying_rates_liaison",),
    arules="varyingLiaison",
    must_be_sure=("a", "c"),
    trusted_if=("a", "c", "pi11"),
    is_symmetric=True,
)

leverage = Measure(
    name="leverage",
    title="covariance of the sides: support above that of independent ones",
    formula="x - a c; its absolute value never grows under randomization, which Guo's Result 1 overlooked",
    value=covariance,
    gradient=lambda t: (1.0, -t.c, -t.a),
    range=(-0.25, 0.25),
    reference="Piatetsky-Shapiro (1991); Guo, Guo and Wu (2007), Table 2, as PS",
    aliases=("PS", "piatetsky_shapiro", "novelty"),
    arules="leverage",
    monotone=Monotone.ALWAYS,
    trusted_if=("a", "c"),
    is_symmetric=True,
)


def _zhang(t: Contingency) -> Array:
    D = covariance(t)
    return D / np.where(D.real >= 0, t.pi11 * t.not_a, t.a * t.pi01)


def _zhang_gradient(t: Contingency) -> Gradient:
    above = covariance(t) >= 0
    over = t.pi11 / t.a
    room = np.where(above, t.pi11 * t.not_a, t.pi01)
    return (
        np.where(above, t.a * t.c * t.not_a, t.c * t.not_a / t.a) / room**2,
        -np.where(above, t.pi01 / t.not_a, over / t.a) / room,
        -np.where(above, t.a, over * t.not_a / room) / room,
    )


zhangs_metric = Measure(
    name="zhangs_metric",
    title="Zhang's metric: leverage, of the larger of two bounds on it",
    formula="(x - a c) / max(x (1 - a), a (c - x))",
    value=_zhang,
    gradient=_zhang_gradient,
    range=(-1.0, 1.0),
    reference="Yan, Zhang and Zhang (2009)",
    aliases=("zhang",),
    degenerate={"a": 0.0, "not_a": 0.0, "c": 0.0},
    scale=Scale.FISHER_Z,
    must_be_sure=("a", "c", "not_a"),
    trusted_if=("a", "c", "not_a"),
    kinks=("leverage",),
)


def _phi(t: Contingency) -> Array:
    phi: Array = covariance(t) / np.sqrt(t.a * t.not_a * (t.c * t.not_c))
    return phi


def _phi_gradient(t: Contingency) -> Gradient:
    variance_a, variance_c = t.a * t.not_a, t.c * t.not_c
    root = np.sqrt(variance_a * variance_c)
    half = 0.5 * covariance(t)
    return (
        1 / root,
        -(t.c + half * (t.not_a - t.a) / variance_a) / root,
        -(t.a + half * (t.not_c - t.c) / variance_c) / root,
    )


correlation = Measure(
    name="correlation",
    title="Pearson's correlation of the two sides, the phi coefficient",
    formula="(x - a c) / sqrt(a (1 - a) c (1 - c))",
    value=_phi,
    gradient=_phi_gradient,
    range=(-1.0, 1.0),
    reference="Pearson (1900); Tan, Kumar and Srivastava (2004); Guo, Guo and Wu (2007), Table 2",
    aliases=("phi", "phi_coefficient"),
    arules="phi",
    monotone=Monotone.ALWAYS,
    scale=Scale.FISHER_Z,
    must_be_sure=MARGINS,
    trusted_if=MARGINS,
    is_symmetric=True,
)


def _chi_squared_gradient(t: Contingency) -> Gradient:
    factor = 2 * t.n * _phi(t)
    by_x, by_a, by_c = _phi_gradient(t)
    return factor * by_x, factor * by_a, factor * by_c


chi_squared = Measure(
    name="chi_squared",
    title="Pearson's chi-squared statistic of independence",
    formula="n (x - a c)^2 / (a (1 - a) c (1 - c)) = n phi^2, without continuity correction",
    value=lambda t: t.n * covariance(t) ** 2 / (t.a * t.not_a * (t.c * t.not_c)),
    gradient=_chi_squared_gradient,
    range=(0.0, inf),
    reference="Pearson (1900); Brin, Motwani and Silverstein (1997); Guo, Guo and Wu (2007), Table 2, which omits n",
    aliases=("chi2", "chi_square", "pearson"),
    arules="chiSquared",
    monotone=Monotone.ALWAYS,
    scale=Scale.PHI,
    must_be_sure=MARGINS,
    trusted_if=MARGINS,
    is_symmetric=True,
    kinks=("leverage",),
)


def _residue_gradient(t: Contingency) -> Gradient:
    scale = np.sqrt(t.n / (t.a * t.c))
    half = 0.5 * covariance(t)
    return scale, -scale * (t.c + half / t.a), -scale * (t.a + half / t.c)


standardized_residue = Measure(
    name="standardized_residue",
    title="count of both sides above its expectation, in roots of that",
    formula="sqrt(n) (x - a c) / sqrt(a c)",
    value=lambda t: np.sqrt(t.n) * covariance(t) / geometric_mean(t.a, t.c),
    gradient=_residue_gradient,
    range=UNBOUNDED,
    reference="Lerman (1981); Guo, Guo and Wu (2007), Table 2, cell 11, which omits n",
    aliases=("standardized_residual", "std_residue", "pearson_residual"),
    arules="lerman",
    must_be_sure=("a", "c"),
    trusted_if=("a", "c"),
    is_symmetric=True,
)

RECORDS = (
    lift,
    varying_liaison,
    leverage,
    zhangs_metric,
    correlation,
    chi_squared,
    standardized_residue,
)
