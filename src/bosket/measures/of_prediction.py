"""How well A foretells C: the confidence of the rule, and what it gains over knowing nothing.

x = pi11, a and c are the support fractions of both sides, of A and of C; gradients are by (x, a, c).
"""

from __future__ import annotations

from math import inf, log, nan, sqrt

import numpy as np

from bosket.measures.measure import UNBOUNDED, Gradient, Measure, Monotone, Scale
from bosket.measures.of_dependence import covariance
from bosket.measures.table import FORMS, Array, Contingency

confidence = Measure(
    name="confidence",
    title="fraction of the records with A that have C",
    formula="x / a",
    value=lambda t: t.pi11 / t.a,
    gradient=lambda t: (1 / t.a, -t.pi11 / t.a**2, 0.0),
    range=(0.0, 1.0),
    reference="Agrawal, Imielinski and Swami (1993); Guo, Guo and Wu (2007), Table 2",
    aliases=("conf", "strength"),
    arules="confidence",
    scale=Scale.FIELLER,
    ratio=(FORMS["pi11"], FORMS["a"]),
    must_be_sure=("a",),
    trusted_if=("a",),
    is_share=True,
)


def _laplace_gradient(t: Contingency) -> Gradient:
    records = t.n * t.a + 2
    return t.n / records, -t.n * (t.n * t.pi11 + 1) / records**2, 0.0


laplace = Measure(
    name="laplace",
    title="confidence with one record more on either side",
    formula="(n x + 1) / (n a + 2)",
    value=lambda t: (t.n * t.pi11 + 1) / (t.n * t.a + 2),
    gradient=_laplace_gradient,
    range=(0.0, 1.0),
    reference="Clark and Boswell (1991); Tan, Kumar and Srivastava (2004)",
    aliases=("laplace_accuracy",),
    arules="laplace",
    trusted_if=("a", "pi11"),
)

certainty = Measure(
    name="certainty",
    title="gain of confidence over the support of C, of the gain that is possible",
    formula="(x / a - c) / (1 - c), above and below independence alike, as mlxtend and arules have it",
    value=lambda t: (t.pi11 / t.a - t.c) / t.not_c,
    gradient=lambda t: (1 / (t.a * t.not_c), -t.pi11 / (t.a**2 * t.not_c), -t.pi10 / (t.a * t.not_c**2)),
    range=(-inf, 1.0),
    reference="Loevinger (1947); Galiano, Blanco, Sanchez and Vila (2002)",
    aliases=("loevinger",),
    arules="certainty",
    degenerate={"not_c": 0.0},
    must_be_sure=("a", "not_c"),
    trusted_if=("a", "not_c"),
)


def _certainty_factor(t: Contingency) -> Array:
    gain = t.pi11 / t.a - t.c
    return gain / np.where(gain.real >= 0, t.not_c, t.c)


def _certainty_factor_gradient(t: Contingency) -> Gradient:
    above = t.pi11 / t.a >= t.c
    room = t.a * np.where(above, t.not_c, t.c)
    return 1 / room, -t.pi11 / (t.a * room), -np.where(above, t.pi10, t.pi11) / (room * room / t.a)


certainty_factor = Measure(
    name="certainty_factor",
    title="gain or loss of confidence against the support of C, of what is possible",
    formula="(x / a - c) / (1 - c) where that is not negative, else (x / a - c) / c",
    value=_certainty_factor,
    gradient=_certainty_factor_gradient,
    range=(-1.0, 1.0),
    reference="Shortliffe and Buchanan (1975); Berzal et al. (2002); Guo, Guo and Wu (2007), Table 2, misprinted",
    degenerate={"a": nan, "c": 0.0, "not_c": 0.0},
    must_be_sure=("a", "c", "not_c"),
    trusted_if=("a", "c", "not_c"),
    kinks=("leverage",),
)

added_value = Measure(
    name="added_value",
    title="confidence above the support of C",
    formula="x / a - c",
    value=lambda t: t.pi11 / t.a - t.c,
    gradient=lambda t: (1 / t.a, -t.pi11 / t.a**2, -1.0),
    range=(-1.0, 1.0),
    reference="Sahar and Mansour (1999); Tan, Kumar and Srivastava (2004); Guo, Guo and Wu (2007), Table 2, misprinted",
    aliases=("AV", "pavillon", "centered_confidence"),
    arules="addedValue",
    must_be_sure=("a",),
    trusted_if=("a",),
)


def _klosgen_gradient(t: Contingency) -> Gradient:
    root = np.sqrt(t.pi11)
    confidence = t.pi11 / t.a
    return (confidence - t.c) / (2 * root) + root / t.a, -root * confidence / t.a, -root


klosgen = Measure(
    name="klosgen",
    title="added value, weighed by the root of the support",
    formula="sqrt(x) (x / a - c); without the maximum over both directions",
    value=lambda t: np.sqrt(t.pi11) * (t.pi11 / t.a - t.c),
    gradient=_klosgen_gradient,
    range=(-4 / 27, 2 / (3 * sqrt(3))),
    reference="Kloesgen (1992); Geng and Hamilton (2006)",
    aliases=("kloesgen",),
    degenerate={"a": 0.0},
    must_be_sure=("a",),
    trusted_if=("a", "pi11"),
)


def _difference_gradient(t: Contingency) -> Gradient:
    variance = t.a * t.not_a
    return 1 / variance, -t.pi11 / t.a**2 - t.pi01 / t.not_a**2, -1 / t.not_a


difference_of_confidence = Measure(
    name="difference_of_confidence",
    title="confidence of A => C above that of not A => C",
    formula="x / a - (c - x) / (1 - a) = (x - a c) / (a (1 - a)), the slope of C on A",
    value=lambda t: covariance(t) / (t.a * t.not_a),
    gradient=_difference_gradient,
    range=(-1.0, 1.0),
    reference="Hofmann and Wilhelm (2001)",
    aliases=("doc", "difference_of_proportions", "risk_difference", "delta_p"),
    arules="doc",
    monotone=Monotone.ALWAYS,
    must_be_sure=("a", "not_a"),
    trusted_if=("a", "not_a"),
)


def _risk_gradient(t: Contingency) -> Gradient:
    return (
        t.not_a * t.c / (t.a * t.pi01**2),
        -t.pi11 / (t.a**2 * t.pi01),
        -t.pi11 * t.not_a / (t.a * t.pi01**2),
    )


relative_risk = Measure(
    name="relative_risk",
    title="confidence of A => C over that of not A => C",
    formula="(x / a) / ((c - x) / (1 - a))",
    value=lambda t: t.pi11 * t.not_a / (t.a * t.pi01),
    gradient=_risk_gradient,
    range=(0.0, inf),
    reference="Sistrom and Garvan (2004)",
    aliases=("risk_ratio",),
    arules="relativeRisk",
    scale=Scale.LOG,
    must_be_sure=("a", "not_a", "pi01"),
    trusted_if=("a", "not_a", "pi01", "pi11"),
)


def _importance(t: Contingency) -> Array:
    ratio = (t.n * t.pi11 + 1) * (t.n * t.not_a + 2) / ((t.n * t.pi01 + 1) * (t.n * t.a + 2))
    return np.log(ratio) / log(10)


def _importance_gradient(t: Contingency) -> Gradient:
    n = t.n / log(10)
    without = n / (t.n * t.pi01 + 1)
    return n / (t.n * t.pi11 + 1) + without, -n / (t.n * t.not_a + 2) - n / (t.n * t.a + 2), -without


importance = Measure(
    name="importance",
    title="decimal logarithm of the relative risk, of Laplace's confidences",
    formula="log10(((n x + 1) / (n a + 2)) / ((n (c - x) + 1) / (n (1 - a) + 2)))",
    value=_importance,
    gradient=_importance_gradient,
    range=UNBOUNDED,
    reference="Microsoft Association Algorithm Technical Reference; Hahsler (2015)",
    arules="importance",
    trusted_if=("a", "not_a", "pi01", "pi11"),
)

rule_power_factor = Measure(
    name="rule_power_factor",
    title="support times confidence",
    formula="x^2 / a",
    value=lambda t: t.pi11 * t.pi11 / t.a,
    gradient=lambda t: (2 * t.pi11 / t.a, -((t.pi11 / t.a) ** 2), 0.0),
    range=(0.0, 1.0),
    reference="Ochin, Kumar and Joshi (2016)",
    aliases=("rpf",),
    arules="rulePowerFactor",
    degenerate={"a": 0.0},
    scale=Scale.LOG,
    must_be_sure=("a",),
    trusted_if=("a", "pi11"),
)

RECORDS = (
    confidence,
    laplace,
    certainty,
    certainty_factor,
    added_value,
    klosgen,
    difference_of_confidence,
    relative_risk,
    importance,
    rule_power_factor,
)
