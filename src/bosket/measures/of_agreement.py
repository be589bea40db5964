"""Odds and agreement: the 2x2 table as statisticians, psychologists and geneticists read it.

x = pi11, a and c are the support fractions of both sides, of A and of C; gradients are by (x, a, c).
D = x - a c is the covariance of the two sides.
"""

from __future__ import annotations

from math import inf

import numpy as np

from bosket.measures.measure import Gradient, Measure, Monotone, Scale
from bosket.measures.of_dependence import MARGINS, covariance
from bosket.measures.table import Array, Contingency

CELLS = ("pi11", "pi10", "pi01", "pi00")


def _odds_ratio_gradient(t: Contingency) -> Gradient:
    discordant = t.pi10 * t.pi01
    odds = t.pi11 * t.pi00 / discordant
    return (
        (t.pi11 + t.pi00 + odds * (t.pi10 + t.pi01)) / discordant,
        -t.pi11 / discordant - odds / t.pi10,
        -t.pi11 / discordant - odds / t.pi01,
    )


odds_ratio = Measure(
    name="odds_ratio",
    title="odds of C with A, over the odds of C without A",
    formula="pi11 pi00 / (pi10 pi01); randomization brings it nearer to 1, but for a reversed item as 1 / odds ratio",
    value=lambda t: t.pi11 * t.pi00 / (t.pi10 * t.pi01),
    gradient=_odds_ratio_gradient,
    range=(0.0, inf),
    reference="Mosteller (1968); Tan, Kumar and Srivastava (2004); Guo, Guo and Wu (2007), Table 2",
    aliases=("alpha",),
    arules="oddsRatio",
    scale=Scale.LOG,
    must_be_sure=("pi10", "pi01"),
    trusted_if=CELLS,
    is_symmetric=True,
)


def _yule_q(t: Contingency) -> Array:
    concordant, discordant = t.pi11 * t.pi00, t.pi10 * t.pi01
    q: Array = (concordant - discordant) / (concordant + discordant)
    return q


def _yule_gradient(t: Contingency, by_concordant: Array, by_discordant: Array) -> Gradient:
    """Of a function of pi11 pi00 and pi10 pi01, from its two derivatives."""
    return (
        by_concordant * (t.pi11 + t.pi00) - by_discordant * (t.pi10 + t.pi01),
        by_discordant * t.pi01 - by_concordant * t.pi11,
        by_discordant * t.pi10 - by_concordant * t.pi11,
    )


def _yule_q_gradient(t: Contingency) -> Gradient:
    concordant, discordant = t.pi11 * t.pi00, t.pi10 * t.pi01
    square = (concordant + discordant) ** 2
    return _yule_gradient(t, 2 * discordant / square, -2 * concordant / square)


yule_q = Measure(
    name="yule_q",
    title="Yule's Q: the odds ratio carried to [-1, 1]",
    formula="(pi11 pi00 - pi10 pi01) / (pi11 pi00 + pi10 pi01)",
    value=_yule_q,
    gradient=_yule_q_gradient,
    range=(-1.0, 1.0),
    reference="Yule (1900); Tan, Kumar and Srivastava (2004)",
    aliases=("yules_q",),
    arules="yuleQ",
    monotone=Monotone.ALWAYS,
    scale=Scale.FISHER_Z,
    must_be_sure=MARGINS,
    trusted_if=CELLS,
    is_symmetric=True,
)


def _yule_y(t: Contingency) -> Array:
    concordant, discordant = np.sqrt(t.pi11 * t.pi00), np.sqrt(t.pi10 * t.pi01)
    y: Array = (concordant - discordant) / (concordant + discordant)
    return y


def _yule_y_gradient(t: Contingency) -> Gradient:
    concordant, discordant = np.sqrt(t.pi11 * t.pi00), np.sqrt(t.pi10 * t.pi01)
    square = (concordant + discordant) ** 2
    return _yule_gradient(t, discordant / concordant / square, -concordant / discordant / square)


yule_y = Measure(
    name="yule_y",
    title="Yule's Y, coefficient of colligation: the root of the odds ratio carried to [-1, 1]",
    formula="(sqrt(pi11 pi00) - sqrt(pi10 pi01)) / (sqrt(pi11 pi00) + sqrt(pi10 pi01))",
    value=_yule_y,
    gradient=_yule_y_gradient,
    range=(-1.0, 1.0),
    reference="Yule (1912); Tan, Kumar and Srivastava (2004)",
    aliases=("yules_y", "colligation"),
    arules="yuleY",
    monotone=Monotone.ALWAYS,
    scale=Scale.FISHER_Z,
    must_be_sure=MARGINS,
    trusted_if=CELLS,
    is_symmetric=True,
)


def _kappa_gradient(t: Contingency) -> Gradient:
    chance = t.a * t.not_c + t.c * t.not_a
    kappa = 2 * covariance(t) / chance
    return 2 / chance, -(2 * t.c + kappa * (t.not_c - t.c)) / chance, -(2 * t.a + kappa * (t.not_a - t.a)) / chance


kappa = Measure(
    name="kappa",
    title="Cohen's kappa: agreement of the sides above chance, of what is possible",
    formula="2 (x - a c) / (a (1 - c) + c (1 - a)) = (pi11 + pi00 - e) / (1 - e), e = a c + (1 - a) (1 - c)",
    value=lambda t: 2 * covariance(t) / (t.a * t.not_c + t.c * t.not_a),
    gradient=_kappa_gradient,
    range=(-1.0, 1.0),
    reference="Cohen (1960); Tan, Kumar and Srivastava (2004)",
    aliases=("cohens_kappa",),
    arules="kappa",
    scale=Scale.FISHER_Z,
    must_be_sure=MARGINS,
    trusted_if=MARGINS,
    is_symmetric=True,
)


def _strength_gradient(t: Contingency) -> Gradient:
    agree, differ = t.pi11 + t.pi00, t.pi10 + t.pi01
    by_chance, against = t.a * t.c + t.not_a * t.not_c, t.a * t.not_c + t.c * t.not_a
    slope, factor = against / (by_chance * differ**2), agree / (differ * by_chance**2)
    return 2 * slope, factor * (t.not_c - t.c) - slope, factor * (t.not_a - t.a) - slope


def _strength(t: Contingency) -> Array:
    expected = (t.a * t.not_c + t.c * t.not_a) / (t.a * t.c + t.not_a * t.not_c)
    strength: Array = (t.pi11 + t.pi00) / (t.pi10 + t.pi01) * expected
    return strength


collective_strength = Measure(
    name="collective_strength",
    title="odds that the sides agree, over those of independent sides",
    formula="(pi11 + pi00) (1 - e) / (e (pi10 + pi01)), e = a c + (1 - a) (1 - c); arules 1.7 has * for + and + for *",
    value=_strength,
    gradient=_strength_gradient,
    range=(0.0, inf),
    reference="Aggarwal and Yu (1998); Tan, Kumar and Srivastava (2004)",
    scale=Scale.LOG,
    must_be_sure=MARGINS,
    trusted_if=(*MARGINS, "apart"),
    is_symmetric=True,
)


def _rld(t: Contingency) -> Array:
    D = covariance(t)
    more = D.real > 0
    room_more = np.where(t.a.real <= t.c.real, t.a * t.not_c, t.c * t.not_a)
    room_less = np.where(t.a.real + t.c.real <= 1, t.a * t.c, t.not_a * t.not_c)
    return np.where(more, D, -D) / np.where(more, room_more, room_less)


def _rld_gradient(t: Contingency) -> Gradient:
    """|D| / (u v), where u is a or 1 - a, and v is c or 1 - c."""
    D = covariance(t)
    more = D > 0
    sign = np.where(more, 1.0, -1.0)
    u_is_a = np.where(more, t.a <= t.c, t.a + t.c <= 1)
    v_is_c = u_is_a != more
    u, v = np.where(u_is_a, t.a, t.not_a), np.where(v_is_c, t.c, t.not_c)
    scale, size = sign / (u * v), np.abs(D) / (u * v)
    by_a = np.where(u_is_a, size, -size) / u
    by_c = np.where(v_is_c, size, -size) / v
    return scale, -scale * t.c - by_a, -scale * t.a - by_c


rld = Measure(
    name="rld",
    title="relative linkage disequilibrium: distance from independence, of the most that the margins allow",
    formula="|x - a c| / min(a (1 - c), c (1 - a)) if x > a c, else |x - a c| / min(a c, (1 - a) (1 - c))",
    value=_rld,
    gradient=_rld_gradient,
    range=(0.0, 1.0),
    reference="Lewontin (1964), |D'|; Kenett and Salini (2008)",
    aliases=("relative_linkage_disequilibrium", "lewontin"),
    arules="RLD",
    monotone=Monotone.ALWAYS,
    must_be_sure=MARGINS,
    trusted_if=MARGINS,
    kinks=("leverage", "a - c", "a - not_c"),
    is_symmetric=True,
)

RECORDS = (odds_ratio, yule_q, yule_y, kappa, collective_strength, rld)
