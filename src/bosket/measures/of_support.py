"""How often the two sides of a rule occur, and how often together.

x = pi11, a and c are the support fractions of both sides, of A and of C; gradients are by (x, a, c).
"""

from __future__ import annotations

from math import inf

import numpy as np

from bosket.measures.measure import Gradient, Measure, Scale
from bosket.measures.table import FORMS, Array, Contingency

antecedent_support = Measure(
    name="antecedent support",
    title="fraction of records with A",
    formula="a",
    value=lambda t: t.a,
    gradient=lambda t: (0.0, 1.0, 0.0),
    range=(0.0, 1.0),
    reference="Agrawal, Imielinski and Swami (1993)",
    aliases=("coverage", "lhs_support"),
    arules="coverage",
    trusted_if=("a",),
)

consequent_support = Measure(
    name="consequent support",
    title="fraction of records with C",
    formula="c",
    value=lambda t: t.c,
    gradient=lambda t: (0.0, 0.0, 1.0),
    range=(0.0, 1.0),
    reference="Agrawal, Imielinski and Swami (1993)",
    arules="rhsSupport",
    trusted_if=("c",),
)

support = Measure(
    name="support",
    title="fraction of records with both sides",
    formula="x",
    value=lambda t: t.pi11,
    gradient=lambda t: (1.0, 0.0, 0.0),
    range=(0.0, 1.0),
    reference="Agrawal, Imielinski and Swami (1993); Guo, Guo and Wu (2007), Table 2",
    arules="support",
    trusted_if=("pi11",),
    is_symmetric=True,
)

count = Measure(
    name="count",
    title="number of records with both sides",
    formula="n x",
    value=lambda t: t.n * t.pi11,
    gradient=lambda t: (t.n, 0.0, 0.0),
    range=(0.0, inf),
    reference="Agrawal, Imielinski and Swami (1993)",
    aliases=("support_count",),
    arules="count",
    trusted_if=("pi11",),
    is_symmetric=True,
)

representativity = Measure(
    name="representativity",
    title="fraction of records in which no item of the rule is missing",
    formula="1: records here have no missing values",
    value=lambda t: np.ones_like(t.pi11),
    gradient=lambda t: (0.0, 0.0, 0.0),
    range=(1.0, 1.0),
    reference="Ragel and Cremilleux (1999); a column of mlxtend",
    is_symmetric=True,
)


def union(t: Contingency) -> Array:
    """Records with at least one side: a + c - x, of the cells so that nothing cancels."""
    either: Array = t.a + t.pi01
    return either


def _jaccard_gradient(t: Contingency) -> Gradient:
    square = union(t) ** 2
    by_side = -t.pi11 / square
    return (t.a + t.c) / square, by_side, by_side


jaccard = Measure(
    name="jaccard",
    title="records with both sides among those with at least one",
    formula="x / (a + c - x)",
    value=lambda t: t.pi11 / union(t),
    gradient=_jaccard_gradient,
    range=(0.0, 1.0),
    reference="Jaccard (1901); Tan, Kumar and Srivastava (2004); Guo, Guo and Wu (2007), Table 2",
    aliases=("zeta", "coherence"),
    arules="jaccard",
    scale=Scale.FIELLER,
    ratio=(FORMS["pi11"], FORMS["union"]),
    must_be_sure=("union",),
    trusted_if=("union",),
    is_symmetric=True,
    is_share=True,
)

kulczynski = Measure(
    name="kulczynski",
    title="mean of the confidences of A => C and C => A",
    formula="x (1 / a + 1 / c) / 2",
    value=lambda t: t.pi11 * (1 / t.a + 1 / t.c) / 2,
    gradient=lambda t: (0.5 / t.a + 0.5 / t.c, -0.5 * t.pi11 / t.a**2, -0.5 * t.pi11 / t.c**2),
    range=(0.0, 1.0),
    reference="Kulczynski (1927); Wu, Chen and Han (2010)",
    aliases=("kulc",),
    arules="kulczynski",
    must_be_sure=("a", "c"),
    trusted_if=("a", "c", "pi11"),
    is_symmetric=True,
)


def geometric_mean(one: Array, other: Array) -> Array:
    """sqrt(one other), for denominators: where one alone is 0 their sum instead, so that 0 over it is the limit, 0."""
    product = one * other
    return np.where(product == 0, one + other, np.sqrt(product))


def _cosine_gradient(t: Contingency) -> Gradient:
    root = np.sqrt(t.a * t.c)
    half = -0.5 * t.pi11 / root
    return 1 / root, half / t.a, half / t.c


cosine = Measure(
    name="cosine",
    title="geometric mean of the confidences of A => C and C => A",
    formula="x / sqrt(a c)",
    value=lambda t: t.pi11 / geometric_mean(t.a, t.c),
    gradient=_cosine_gradient,
    range=(0.0, 1.0),
    reference="Ochiai (1957); Tan, Kumar and Srivastava (2004), as IS; Guo, Guo and Wu (2007), Table 2",
    aliases=("IS", "ochiai"),
    arules="cosine",
    scale=Scale.LOG,
    must_be_sure=("a", "c"),
    trusted_if=("a", "c", "pi11"),
    is_symmetric=True,
)


def _larger_side_is_a(t: Contingency) -> Array:
    larger: Array = t.a.real >= t.c.real
    return larger


def _all_confidence_gradient(t: Contingency) -> Gradient:
    with_a = _larger_side_is_a(t)
    larger = np.where(with_a, t.a, t.c)
    by_side = -t.pi11 / larger**2
    return 1 / larger, np.where(with_a, by_side, 0.0), np.where(with_a, 0.0, by_side)


all_confidence = Measure(
    name="all_confidence",
    title="the lower confidence of A => C and C => A",
    formula="x / max(a, c); arules divides by the commonest single item of the itemset",
    value=lambda t: t.pi11 / np.where(_larger_side_is_a(t), t.a, t.c),
    gradient=_all_confidence_gradient,
    range=(0.0, 1.0),
    reference="Omiecinski (2003); Wu, Chen and Han (2010)",
    must_be_sure=("a", "c"),
    trusted_if=("a", "c", "pi11"),
    kinks=("a - c",),
    is_symmetric=True,
)


def _max_confidence_gradient(t: Contingency) -> Gradient:
    with_c = _larger_side_is_a(t)
    smaller = np.where(with_c, t.c, t.a)
    by_side = -t.pi11 / smaller**2
    return 1 / smaller, np.where(with_c, 0.0, by_side), np.where(with_c, by_side, 0.0)


max_confidence = Measure(
    name="max_confidence",
    title="the higher confidence of A => C and C => A",
    formula="x / min(a, c)",
    value=lambda t: t.pi11 / np.where(_larger_side_is_a(t), t.c, t.a),
    gradient=_max_confidence_gradient,
    range=(0.0, 1.0),
    reference="Wu, Chen and Han (2010)",
    arules="maxconfidence",
    must_be_sure=("a", "c"),
    trusted_if=("a", "c", "pi11"),
    kinks=("a - c",),
    is_symmetric=True,
)


def _imbalance_gradient(t: Contingency) -> Gradient:
    either = union(t)
    sign = np.where(_larger_side_is_a(t), 1.0, -1.0)
    share = sign * (t.a - t.c) / either
    return share / either, (sign - share) / either, -(sign + share) / either


imbalance = Measure(
    name="imbalance",
    title="how unlike the supports of the two sides are",
    formula="|a - c| / (a + c - x)",
    value=lambda t: np.where(_larger_side_is_a(t), t.a - t.c, t.c - t.a) / union(t),
    gradient=_imbalance_gradient,
    range=(0.0, 1.0),
    reference="Wu, Chen and Han (2010)",
    aliases=("imbalance_ratio",),
    arules="imbalance",
    must_be_sure=("union",),
    trusted_if=("union",),
    kinks=("a - c",),
    is_symmetric=True,
)

RECORDS = (
    antecedent_support,
    consequent_support,
    support,
    count,
    representativity,
    jaccard,
    kulczynski,
    cosine,
    all_confidence,
    max_confidence,
    imbalance,
)
