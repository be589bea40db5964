"""What speaks against a rule: the records with A and without C, pi10 = a - x.

x = pi11, a and c are the support fractions of both sides, of A and of C; gradients are by (x, a, c).  Several of these
have other forms in arules, which took them from a list in which "not C" had lost its bar; here they are as published.
"""

from __future__ import annotations

from math import inf, nan

import numpy as np

from bosket.measures.measure import UNBOUNDED, Gradient, Measure, Scale
from bosket.measures.of_dependence import covariance
from bosket.measures.of_support import geometric_mean
from bosket.measures.table import FORMS, Contingency, Form

EXCESS: Form = (2, -1, 0, 0)
"""Examples less exceptions: pi11 - pi10 = 2 x - a."""


def _conviction_gradient(t: Contingency) -> Gradient:
    square = t.pi10**2
    return t.a * t.not_c / square, -t.not_c * t.pi11 / square, -t.a / t.pi10


conviction = Measure(
    name="conviction",
    title="how much rarer exceptions are than if the sides were independent",
    formula="a (1 - c) / (a - x)",
    value=lambda t: t.a * t.not_c / t.pi10,
    gradient=_conviction_gradient,
    range=(0.0, inf),
    reference="Brin, Motwani, Ullman and Tsur (1997); Guo, Guo and Wu (2007), Table 2",
    arules="conviction",
    degenerate={"a": nan, "pi10": inf},
    scale=Scale.RECIPROCAL,
    must_be_sure=("a", "not_c"),
    trusted_if=("a", "not_c"),
)

sebag = Measure(
    name="sebag",
    title="examples of the rule for each exception",
    formula="x / (a - x)",
    value=lambda t: t.pi11 / t.pi10,
    gradient=lambda t: (t.a / t.pi10**2, -t.pi11 / t.pi10**2, 0.0),
    range=(0.0, inf),
    reference="Sebag and Schoenauer (1988)",
    aliases=("sebag_schoenauer",),
    arules="sebag",
    scale=Scale.RECIPROCAL,
    must_be_sure=("pi11",),
    trusted_if=("pi11",),
)

counterexample = Measure(
    name="counterexample",
    title="examples less exceptions, for each example",
    formula="(2 x - a) / x = 1 - (a - x) / x",
    value=lambda t: (t.pi11 - t.pi10) / t.pi11,
    gradient=lambda t: (t.a / t.pi11**2, -1 / t.pi11, 0.0),
    range=(-inf, 1.0),
    reference="Guillet (2004), example and counter-example rate",
    aliases=("example_and_counterexample_rate",),
    arules="counterexample",
    scale=Scale.FIELLER,
    ratio=(EXCESS, FORMS["pi11"]),
    must_be_sure=("pi11",),
    trusted_if=("pi11", "pi10"),
)

confirmed_confidence = Measure(
    name="confirmed_confidence",
    title="confidence of A => C above that of A => not C",
    formula="(2 x - a) / a",
    value=lambda t: (t.pi11 - t.pi10) / t.a,
    gradient=lambda t: (2 / t.a, -2 * t.pi11 / t.a**2, 0.0),
    range=(-1.0, 1.0),
    reference="Kodratoff (2001), descriptive confirmed confidence",
    aliases=("descriptive_confirmed_confidence",),
    arules="confirmedConfidence",
    scale=Scale.FIELLER,
    ratio=(EXCESS, FORMS["a"]),
    must_be_sure=("a",),
    trusted_if=("a",),
)

least_contradiction = Measure(
    name="least_contradiction",
    title="examples less exceptions, for each record with C",
    formula="(2 x - a) / c; arules 1.7 leaves the exceptions out and has x / c",
    value=lambda t: (t.pi11 - t.pi10) / t.c,
    gradient=lambda t: (2 / t.c, -1 / t.c, (t.pi10 - t.pi11) / t.c**2),
    range=(-inf, 1.0),
    reference="Aze and Kodratoff (2004)",
    scale=Scale.FIELLER,
    ratio=(EXCESS, FORMS["c"]),
    must_be_sure=("c",),
    trusted_if=("c",),
)


def _casual_confidence_gradient(t: Contingency) -> Gradient:
    return (
        0.5 / t.a + 0.5 / t.not_c,
        -0.5 * t.pi11 / t.a**2 - 0.5 / t.not_c,
        -0.5 * t.pi10 / t.not_c**2,
    )


casual_confidence = Measure(
    name="casual_confidence",
    title="mean of the confidences of A => C and of its contrapositive, not C => not A",
    formula="(x / a + pi00 / (1 - c)) / 2; arules 1.7 has 1 - pi10 (1 / a + 1 / c) / n",
    value=lambda t: (t.pi11 / t.a + t.pi00 / t.not_c) / 2,
    gradient=_casual_confidence_gradient,
    range=(0.0, 1.0),
    reference="Kodratoff (2001), causal confidence, as in Huynh, Guillet and Briand (2005)",
    aliases=("causal_confidence",),
    must_be_sure=("a", "not_c"),
    trusted_if=("a", "not_c"),
)

casual_support = Measure(
    name="casual_support",
    title="fraction of records with both sides or neither",
    formula="x + pi00 = 1 - a - c + 2 x; arules 1.7 has a + c - 2 pi10",
    value=lambda t: t.pi11 + t.pi00,
    gradient=lambda t: (2.0, -1.0, -1.0),
    range=(0.0, 1.0),
    reference="Kodratoff (2001), causal support, as in Huynh, Guillet and Briand (2005)",
    aliases=("causal_support", "simple_matching"),
    is_symmetric=True,
)

ralambondrainy = Measure(
    name="ralambondrainy",
    title="fraction of records that are exceptions; the less the better",
    formula="a - x",
    value=lambda t: t.pi10,
    gradient=lambda t: (-1.0, 1.0, 0.0),
    range=(0.0, 1.0),
    reference="Diatta, Ralambondrainy and Totohasina (2007)",
    arules="ralambondrainy",
    trusted_if=("pi10",),
    is_loss=True,
)


def _implication_gradient(t: Contingency) -> Gradient:
    scale = np.sqrt(t.n / (t.a * t.not_c))
    half = 0.5 * covariance(t)
    return -scale, scale * (t.c + half / t.a), scale * (t.a - half / t.not_c)


implication_index = Measure(
    name="implication_index",
    title="standardized residue of the exceptions; the less the better",
    formula="sqrt(n) (pi10 - a (1 - c)) / sqrt(a (1 - c))",
    value=lambda t: -np.sqrt(t.n) * covariance(t) / geometric_mean(t.a, t.not_c),
    gradient=_implication_gradient,
    range=UNBOUNDED,
    reference="Gras (1996)",
    aliases=("gras",),
    arules="implicationIndex",
    must_be_sure=("a", "not_c"),
    trusted_if=("a", "not_c"),
    is_loss=True,
)

RECORDS = (
    conviction,
    sebag,
    counterexample,
    confirmed_confidence,
    least_contradiction,
    casual_confidence,
    casual_support,
    ralambondrainy,
    implication_index,
)
