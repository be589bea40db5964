"""What A tells about C: information in nats, impurity, errors of guessing.  0 log 0 is 0 here.

x = pi11, a and c are the support fractions of both sides, of A and of C; gradients are by (x, a, c).
"""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from bosket.measures.measure import Gradient, Measure, Monotone, Scale
from bosket.measures.of_agreement import CELLS
from bosket.measures.of_dependence import MARGINS, covariance
from bosket.measures.table import Array, Contingency


def _term(pi: Array, excess: Array) -> Array:
    """pi log(pi / e), e the product of its margins and ``excess`` = (pi - e) / e; log1p of which keeps more digits."""
    return np.where(pi == 0, 0, pi * np.log1p(excess))


def _information(t: Contingency) -> Array:
    D = covariance(t)
    result = _term(t.pi11, D / (t.a * t.c))
    result += _term(t.pi10, -D / (t.a * t.not_c))
    result += _term(t.pi01, -D / (t.not_a * t.c))
    result += _term(t.pi00, D / (t.not_a * t.not_c))
    return result


def _information_gradient(t: Contingency) -> Gradient:
    return (
        np.log(t.pi11 * t.pi00 / (t.pi10 * t.pi01)),
        np.log(t.pi10 * t.not_a / (t.pi00 * t.a)),
        np.log(t.pi01 * t.not_c / (t.pi00 * t.c)),
    )


mutual_information = Measure(
    name="mutual_information",
    title="mutual information of the two sides, in nats",
    formula="sum of pi log(pi / (product of its margins)); arules and Guo's Table 2 divide it by an entropy",
    value=_information,
    gradient=_information_gradient,
    range=(0.0, log(2)),
    reference="Shannon (1948); numerator of Guo, Guo and Wu (2007), Table 2",
    aliases=("MI",),
    monotone=Monotone.ALWAYS,
    scale=Scale.ROOT,
    must_be_sure=MARGINS,
    trusted_if=CELLS,
    is_symmetric=True,
    kinks=("leverage",),
)


def _g2_gradient(t: Contingency) -> Gradient:
    by_x, by_a, by_c = _information_gradient(t)
    return 2 * t.n * by_x, 2 * t.n * by_a, 2 * t.n * by_c


g2 = Measure(
    name="g2",
    title="likelihood ratio statistic of independence",
    formula="2 n sum of pi log(pi / (product of its margins)) = 2 n (mutual information)",
    value=lambda t: 2 * t.n * _information(t),
    gradient=_g2_gradient,
    range=(0.0, inf),
    reference="Wilks (1935); Guo, Guo and Wu (2007), Table 2, which omits n",
    aliases=("likelihood_ratio", "g_squared"),
    monotone=Monotone.ALWAYS,
    scale=Scale.ROOT,
    must_be_sure=MARGINS,
    trusted_if=CELLS,
    is_symmetric=True,
    kinks=("leverage",),
)


def _entropy(one: Array, other: Array) -> Array:
    return -np.where(one == 0, 0, one * np.log(one)) - np.where(other == 0, 0, other * np.log(other))


def _uncertainty_gradient(t: Contingency) -> Gradient:
    by_x, by_a, by_c = _information_gradient(t)
    entropy = _entropy(t.a, t.not_a)
    share = _information(t) / entropy
    return by_x / entropy, (by_a - share * np.log(t.not_a / t.a)) / entropy, by_c / entropy


uncertainty_coefficient = Measure(
    name="uncertainty_coefficient",
    title="mutual information, as a share of the entropy of A",
    formula="(mutual information) / (-a log a - (1 - a) log(1 - a)), as Guo's Table 2 prints mutual information",
    value=lambda t: _information(t) / _entropy(t.a, t.not_a),
    gradient=_uncertainty_gradient,
    range=(0.0, 1.0),
    reference="Theil (1970); Tan, Kumar and Srivastava (2004); Guo, Guo and Wu (2007), Table 2, as M",
    aliases=("theils_u",),
    monotone=Monotone.ALWAYS,
    scale=Scale.ROOT,
    must_be_sure=MARGINS,
    trusted_if=CELLS,
    kinks=("leverage",),
)


def _less_is_known_of_c(t: Contingency) -> Array:
    of_c: Array = (t.a * t.not_a).real <= (t.c * t.not_c).real
    return of_c


def _normalized(t: Contingency) -> Array:
    by_a = _less_is_known_of_c(t)
    shared: Array = _information(t) / _entropy(np.where(by_a, t.a, t.c), np.where(by_a, t.not_a, t.not_c))
    return shared


def _normalized_gradient(t: Contingency) -> Gradient:
    of_a = _less_is_known_of_c(t)
    side, rest = np.where(of_a, t.a, t.c), np.where(of_a, t.not_a, t.not_c)
    entropy = _entropy(side, rest)
    by_x, by_a, by_c = _information_gradient(t)
    slope = _information(t) / entropy * np.log(rest / side)
    return by_x / entropy, (by_a - np.where(of_a, slope, 0)) / entropy, (by_c - np.where(of_a, 0, slope)) / entropy


normalized_mutual_information = Measure(
    name="normalized_mutual_information",
    title="mutual information, as a share of the smaller entropy of the two sides",
    formula="(mutual information) / min(H(A), H(C)), which arules calls mutualInformation",
    value=_normalized,
    gradient=_normalized_gradient,
    range=(0.0, 1.0),
    reference="Tan, Kumar and Srivastava (2004)",
    aliases=("NMI",),
    monotone=Monotone.ALWAYS,
    scale=Scale.ROOT,
    must_be_sure=MARGINS,
    trusted_if=CELLS,
    kinks=("leverage", "a - c", "a - not_c"),
    is_symmetric=True,
)


def _j(t: Contingency) -> Array:
    D = covariance(t)
    return _term(t.pi11, D / (t.a * t.c)) + _term(t.pi10, -D / (t.a * t.not_c))


def _j_gradient(t: Contingency) -> Gradient:
    return (
        np.log(t.pi11 * t.not_c / (t.pi10 * t.c)),
        np.log(t.pi10 / (t.a * t.not_c)),
        t.pi10 / t.not_c - t.pi11 / t.c,
    )


j_measure = Measure(
    name="j_measure",
    title="information that A => C gives, when A occurs, times how often it does",
    formula="x log(x / (a c)) + (a - x) log((a - x) / (a (1 - c))), in nats",
    value=_j,
    gradient=_j_gradient,
    range=(0.0, exp(-1)),
    reference="Smyth and Goodman (1992); Guo, Guo and Wu (2007), Table 2, misprinted",
    arules="jMeasure",
    scale=Scale.ROOT,
    must_be_sure=("a", "c", "not_c"),
    trusted_if=("pi11", "pi10", "c", "not_c"),
    kinks=("leverage",),
)


def _gini_gradient(t: Contingency) -> Gradient:
    variance = t.a * t.not_a
    slope = covariance(t) / variance
    return 4 * slope, -slope * (4 * t.c + 2 * slope * (t.not_a - t.a)), -4 * slope * t.a


gini = Measure(
    name="gini",
    title="how much purer, by Gini's index, C is once A is known",
    formula="2 (x - a c)^2 / (a (1 - a))",
    value=lambda t: 2 * covariance(t) ** 2 / (t.a * t.not_a),
    gradient=_gini_gradient,
    range=(0.0, 0.5),
    reference="Breiman et al. (1984); Tan, Kumar and Srivastava (2004)",
    aliases=("gini_index",),
    arules="gini",
    degenerate={"a": 0.0, "not_a": 0.0},
    monotone=Monotone.ALWAYS,
    scale=Scale.ROOT,
    must_be_sure=("a", "not_a"),
    trusted_if=("a", "not_a"),
    kinks=("leverage",),
)


def _avoided(t: Contingency) -> tuple[Array, Array, Array]:
    """The sign of c - 1/2, and in either row how many more have what is rarer in C as a whole, if there are more."""
    sign = np.where(t.c.real >= t.not_c.real, 1, -1)
    with_a, without = sign * (t.pi10 - t.pi11), sign * (t.pi00 - t.pi01)
    return sign, np.where(with_a.real > 0, with_a, 0), np.where(without.real > 0, without, 0)


def _lambda(t: Contingency) -> Array:
    sign, with_a, without = _avoided(t)
    errors = np.where(sign > 0, t.not_c, t.c)
    fraction: Array = (with_a + without) / np.where(errors == 0, t.a * t.not_a, errors)
    return fraction


def _lambda_gradient(t: Contingency) -> Gradient:
    sign, with_a, without = _avoided(t)
    errors = np.where(sign > 0, t.not_c, t.c)
    one, other = sign * (with_a > 0) / errors, sign * (without > 0) / errors
    return 2 * other - 2 * one, one - other, sign * (with_a + without) / errors**2 - 2 * other


goodman_kruskal_lambda = Measure(
    name="goodman_kruskal_lambda",
    title="share of the errors in guessing C that knowing A avoids",
    formula="(max(pi11, pi10) + max(pi01, pi00) - max(c, 1 - c)) / min(c, 1 - c)",
    value=_lambda,
    gradient=_lambda_gradient,
    range=(0.0, 1.0),
    reference="Goodman and Kruskal (1954); Tan, Kumar and Srivastava (2004)",
    aliases=("predictive_association",),
    arules="lambda",
    monotone=Monotone.SYMMETRIC,
    must_be_sure=("c", "not_c"),
    trusted_if=("c", "not_c"),
    kinks=("pi11 - pi10", "pi01 - pi00", "c - not_c"),
)

RECORDS = (
    mutual_information,
    g2,
    uncertainty_coefficient,
    normalized_mutual_information,
    j_measure,
    gini,
    goodman_kruskal_lambda,
)
