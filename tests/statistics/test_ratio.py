"""f(delta) of a ratio against the paper's integral, by quadrature, and against simulated ratios."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import dblquad, quad
from scipy.special import ndtr

from bosket.errors import ParameterError
from bosket.statistics.ratio import ERROR, RADIUS_TOLERANCE, Ratio
from tests.stats import assert_plausible, assert_rejected, binomial


def integral(ratio: Ratio, delta: float) -> float:
    """The paper's double integral, the inner one done by the conditional normal law of X given Y.

    With y = EY + sd(Y) z, X given y is normal with mean EX + b (y - EY), b = Cov / Var Y, and variance Var X - b Cov;
    the limits (v -+ delta) y, standardized, are linear in z.  Pieces end where these cross a few whole numbers, where
    y = 0, and at every whole z.  Coefficients are exact until the last rounding.
    """
    ex, ey = Fraction(ratio.numerator), Fraction(ratio.denominator)
    var_x, var_y = Fraction(ratio.variance_numerator), Fraction(ratio.variance_denominator)
    b = Fraction(ratio.covariance) / var_y
    sd_x, sd_y = math.sqrt(var_x - b * Fraction(ratio.covariance)), math.sqrt(var_y)
    lines = [
        (float(side * ey) / sd_x, float(ex / ey + side - b) * sd_y / sd_x)
        for side in (-Fraction(delta), Fraction(delta))
    ]

    def inner(z: float) -> float:
        low, high = sorted(start + slope * z for start, slope in lines)
        mass = ndtr(high) - ndtr(low) if low < 0 else ndtr(-low) - ndtr(-high)
        return float(mass) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    ends = {float(z) for z in range(-10, 11)} | {-ratio.denominator / sd_y}
    for start, slope in lines:
        if slope != 0:
            ends |= {(k - start) / slope for k in (-40, -9, -4, -2, -1, 0, 1, 2, 4, 9, 40)}
    inside = sorted(z for z in ends if -10 <= z <= 10)
    pieces = itertools.pairwise(inside)
    return sum(quad(inner, *piece, epsabs=1e-16, epsrel=1e-13, full_output=1)[0] for piece in pieces)


@st.composite
def ratios(draw: st.DrawFn) -> Ratio:
    """Standard deviations over six decades, EY from 0.001 to 100 of its own on either side of 0, any slope, and
    correlations up to 1e-13 from +-1.
    """
    powers = st.floats(-3, 3)
    signs = st.sampled_from([-1.0, 1.0])
    sd_x, sd_y = 10 ** draw(powers), 10 ** draw(powers)
    denominator = draw(signs) * sd_y * 10 ** draw(st.floats(-3, 2))
    value = draw(signs) * 10 ** draw(powers) * sd_x / sd_y
    correlation = draw(signs) * (1 - 10 ** draw(st.floats(-13, 0)))
    assume(Fraction(correlation * sd_x * sd_y) ** 2 < Fraction(sd_x**2) * Fraction(sd_y**2))
    return Ratio(value * denominator, denominator, sd_x**2, sd_y**2, correlation * sd_x * sd_y)


multiples = st.floats(-8, 8).map(lambda power: 10**power)
"""From tiny to huge."""

EXAMPLES = [
    Ratio(0.2, 0.5, 1e-4, 2e-4, 1e-4),
    Ratio(-0.3, 0.2, 0.01, 0.02, -0.005),  # the denominator 1.4 standard deviations from 0
    Ratio(0.05, -0.1, 0.01, 0.04, 0.015),  # 0.5, and below 0
    Ratio(1.0, 0.01, 0.5, 1.0, 0.7),  # as good as 0
    Ratio(2.0, 3.0, 1.0, 0.5, 0.7071),  # correlation 1 - 1e-5
    Ratio(0.0, 1.0, 0.1, 0.1, 0.0),
    Ratio(3.0, 2.0, 1.0, 4.0, 2.0),  # correlation 1
    Ratio(1.0, 2.0, 1.0, 0.0, 0.0),  # the denominator known
]


@given(ratios(), multiples)
def test_within_is_the_integral_of_the_paper(ratio: Ratio, multiple: float) -> None:
    delta = multiple * ratio.delta_method_stderr
    assert ratio.within(delta) == pytest.approx(integral(ratio, delta), rel=0, abs=ERROR)


@given(ratios(), st.floats(0, 2))
def test_within_next_to_a_denominator_of_zero(ratio: Ratio, sds: float) -> None:
    """EY within two standard deviations of 0, where a normal approximation is worth nothing."""
    denominator = sds * math.sqrt(ratio.variance_denominator)
    assume(denominator > 1e-6)
    near = Ratio(
        ratio.value * denominator,
        denominator,
        ratio.variance_numerator,
        ratio.variance_denominator,
        ratio.covariance,
    )
    for multiple in (0.01, 1.0, 100.0):
        delta = multiple * near.delta_method_stderr
        assert near.within(delta) == pytest.approx(integral(near, delta), rel=0, abs=ERROR)


@pytest.mark.parametrize("ratio", EXAMPLES[:3], ids=str)
def test_the_double_integral_as_it_stands(ratio: Ratio) -> None:
    """|int_(alpha y)^(beta y) density dx| over y, in two dimensions, with the inverse matrix of the paper."""
    sigma = np.array(
        [[ratio.variance_numerator, ratio.covariance], [ratio.covariance, ratio.variance_denominator]],
    )
    inverse, norm = np.linalg.inv(sigma), 2 * math.pi * math.sqrt(np.linalg.det(sigma))
    sd = math.sqrt(ratio.variance_denominator)
    delta = 1.3 * ratio.delta_method_stderr

    def density(x: float, y: float) -> float:
        away = np.array([x - ratio.numerator, y - ratio.denominator])
        return math.exp(-away @ inverse @ away / 2) / norm

    total = 0.0
    low, high = ratio.denominator - 8 * sd, ratio.denominator + 8 * sd
    slopes = (ratio.value - delta, ratio.value + delta)
    for start, stop, (left, right) in [(max(low, 0), high, slopes), (low, min(high, 0), slopes[::-1])]:
        if start < stop:
            total += dblquad(
                density, start, stop, lambda y, a=left: a * y, lambda y, b=right: b * y, epsabs=1e-9, epsrel=1e-9
            )[0]
    assert ratio.within(delta) == pytest.approx(total, abs=1e-7)


@pytest.mark.parametrize("ratio", EXAMPLES[-2:], ids=str)
@pytest.mark.parametrize("delta", [0.01, 0.4, 0.5, 1.0, 1.1, 7.0, 1e6])
def test_perfect_correlation(ratio: Ratio, delta: float) -> None:
    """Only one standard normal Z: the set of its values with |W| <= delta |Y| lies between roots of W = -+ delta Y."""
    s = math.sqrt(ratio.variance_numerator) * math.copysign(1, ratio.covariance or 1)
    r = math.sqrt(ratio.variance_denominator)
    w = s - ratio.value * r
    roots = [side * delta * ratio.denominator / (w - side * delta * r) for side in (-1, 1) if w != side * delta * r]
    ends = [-40.0, *sorted(roots), 40.0]
    law = NormalDist()
    expected = 0.0
    for a, b in itertools.pairwise(ends):
        middle = (a + b) / 2
        if abs(w * middle) <= delta * abs(ratio.denominator + r * middle):
            expected += law.cdf(b) - law.cdf(a)
    assert ratio.within(delta) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("sign", [-1, 1])
def test_perfect_correlation_is_a_limit(sign: int) -> None:
    """From both sides: a correlation that rounding left a little above 1 counts as 1."""
    exact = Ratio(3.0, 2.0, 1.0, 4.0, sign * 2.0)
    for near in (Ratio(3.0, 2.0, 1.0, 4.0, sign * 2.0 * (1 + shift)) for shift in (-1e-10, 1e-10)):
        for delta in (0.3, 1.0, 4.0):
            assert near.within(delta) == pytest.approx(exact.within(delta), abs=1e-4)
    assert exact.within(0.5 - sign * 0.5 + 1e-3) < 1


@pytest.mark.parametrize("ratio", [Ratio(0.3, 0.5, 0.0, 0.0, 0.0), Ratio(1.0, 2.0, 1.0, 4.0, 2.0)], ids=str)
def test_a_ratio_that_cannot_vary(ratio: Ratio) -> None:
    """Exact data; or X a fixed multiple of Y."""
    assert ratio.within(0.0) == ratio.within(1e-300) == ratio.within(2) == 1
    assert ratio.radius(0.999999) == ratio.delta_method_stderr == 0
    assert ratio.interval() == (ratio.value, ratio.value)


@pytest.mark.parametrize("ratio", EXAMPLES, ids=str)
def test_from_zero_to_one(ratio: Ratio) -> None:
    """f grows from 0; where Y may be 0, 1 - f falls as const / delta, no faster."""
    deltas = ratio.delta_method_stderr * np.logspace(-6, 6, 200)
    values = [ratio.within(delta) for delta in deltas]
    assert ratio.within(0.0) == 0
    assert np.all(np.diff(values) >= -ERROR)
    assert 0 < values[0] < 1e-5
    assert values[-1] > 1 - 1e-3
    sds = abs(ratio.denominator) / math.sqrt(ratio.variance_denominator or 1e-9)
    if sds < 3:
        far, farther = 1 - ratio.within(1e5 * deltas[0] * 1e6), 1 - ratio.within(2e5 * deltas[0] * 1e6)
        assert far / farther == pytest.approx(2, rel=1e-2)


@given(ratios(), multiples, st.sampled_from([0.125, 2.0, 1024.0]))
def test_signs_and_units_do_not_matter(ratio: Ratio, multiple: float, unit: float) -> None:
    ex, ey = ratio.numerator, ratio.denominator
    var_x, var_y, cov = ratio.variance_numerator, ratio.variance_denominator, ratio.covariance
    delta = multiple * ratio.delta_method_stderr
    expected = ratio.within(delta)
    assert Ratio(-ex, -ey, var_x, var_y, cov).within(delta) == expected
    assert Ratio(-ex, ey, var_x, var_y, -cov).within(delta) == pytest.approx(expected, rel=0, abs=ERROR)
    assert Ratio(ex * unit, ey * unit, var_x * unit**2, var_y * unit**2, cov * unit**2).within(delta) == expected
    assert Ratio(ex * unit, ey, var_x * unit**2, var_y, cov * unit).within(delta * unit) == expected


@given(ratios())
def test_a_tiny_delta_keeps_its_digits(ratio: Ratio) -> None:
    """f(delta) = 2 delta times the density of X / Y at v, which is E[|Y| given W = 0] times the density of W at 0."""
    v, delta = ratio.value, 1e-12 * ratio.delta_method_stderr
    s = ratio.delta_method_stderr * abs(ratio.denominator)
    c = float(Fraction(ratio.covariance) - Fraction(v) * Fraction(ratio.variance_denominator))
    assume(abs(c) < 0.99 * s * math.sqrt(ratio.variance_denominator))
    sd = math.sqrt(ratio.variance_denominator - (c / s) ** 2)
    m = ratio.denominator
    mean = sd * math.sqrt(2 / math.pi) * math.exp(-((m / sd) ** 2) / 2) + m * math.erf(m / sd / math.sqrt(2))
    assert ratio.within(delta) == pytest.approx(2 * delta * mean / s / math.sqrt(2 * math.pi), rel=1e-7)


@given(ratios(), st.floats(1e-6, 1 - 1e-6))
def test_radius_inverts_within(ratio: Ratio, probability: float) -> None:
    radius = ratio.radius(probability)
    assert ratio.within(radius * (1 - RADIUS_TOLERANCE)) <= probability + ERROR
    assert ratio.within(radius * (1 + RADIUS_TOLERANCE)) >= probability - ERROR


@given(ratios(), st.integers(-8, 8))
def test_radius_of_a_probability_met_exactly(ratio: Ratio, power: int) -> None:
    """Where the search starts or steps, it may hit the probability to the last bit."""
    delta = ratio.delta_method_stderr * 4.0**power
    probability = ratio.within(delta)
    assume(1e-9 < probability < 1 - 1e-9)
    radius = ratio.radius(probability)
    assert ratio.within(radius * (1 - RADIUS_TOLERANCE)) <= probability + ERROR
    assert ratio.within(radius * (1 + RADIUS_TOLERANCE)) >= probability - ERROR


def test_radius_far_from_zero_is_the_delta_method() -> None:
    ratio = Ratio(0.2, 0.5, 1e-8, 2e-8, 1e-8)
    low, high = ratio.interval(0.95)
    assert (high - low) / 2 == pytest.approx(1.959964 * ratio.delta_method_stderr, rel=1e-5)
    assert (high + low) / 2 == pytest.approx(0.4, rel=1e-12)
    assert ratio.delta_method_stderr == pytest.approx(math.sqrt(1e-8 - 2 * 0.4 * 1e-8 + 0.16 * 2e-8) / 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "ratio",
    [
        Ratio(1e300, 1e300, 1e300, 1e300, 0.0),
        Ratio(1e-300, 1e-300, 1e-300, 1e-300, 1e-310),
        Ratio(1e-300, 1.0, 0.0, 1e-300, 0.0),
        Ratio(1.0, 1e-290, 1.0, 1.0, 0.5),
        Ratio(5e-324, 5e-324, 5e-324, 5e-324, 0.0),
    ],
    ids=str,
)
def test_the_ends_of_the_floating_point_numbers(ratio: Ratio) -> None:
    for probability in (1e-300, 0.5, 0.95, math.nextafter(1, 0)):
        radius = ratio.radius(probability)
        assert radius > 0
        assert ratio.within(min(radius * 2, 1e308)) >= probability - ERROR
    assert 0 <= ratio.within(1.0) <= 1


@pytest.mark.parametrize("ratio", EXAMPLES, ids=str)
def test_f_against_simulated_ratios(ratio: Ratio) -> None:
    """100 000 draws of (X, Y): the share within delta is f(delta), and told from f - 0.02 and f + 0.02."""
    draws = 100_000
    rng = np.random.default_rng(2004)
    z, e = rng.standard_normal((2, draws))
    sd_x = math.sqrt(ratio.variance_numerator)
    slope = ratio.covariance / sd_x
    rest = math.sqrt(max(ratio.variance_denominator - slope**2, 0.0))
    found = (ratio.numerator + sd_x * z) / (ratio.denominator + slope * z + rest * e)
    for multiple in (0.3, 1.0, 2.0):
        delta = multiple * ratio.delta_method_stderr
        f = ratio.within(delta)
        hits = int((np.abs(found - ratio.value) <= delta).sum())
        assert_plausible(binomial(hits, draws, f))
        assert_rejected(binomial(hits, draws, f - 0.02))
        assert_rejected(binomial(hits, draws, min(f + 0.02, 1.0)))


@pytest.mark.parametrize(
    ("changed", "parameter"),
    [
        ({"denominator": 0.0}, "denominator"),
        ({"denominator": 1e-320}, "denominator"),
        ({"denominator": math.inf}, "denominator"),
        ({"numerator": math.nan}, "numerator"),
        ({"variance_numerator": -1e-9}, "variance_numerator"),
        ({"variance_denominator": math.nan}, "variance_denominator"),
        ({"covariance": 1.42e-4}, "covariance"),
        ({"covariance": -1.42e-4}, "covariance"),
        ({"variance_denominator": 0.0}, "covariance"),
    ],
    ids=str,
)
def test_what_is_no_ratio_is_refused(changed: dict[str, float], parameter: str) -> None:
    sound = {
        "numerator": 0.2,
        "denominator": 0.5,
        "variance_numerator": 1e-4,
        "variance_denominator": 2e-4,
        "covariance": 1e-4,
    }
    Ratio(**sound)
    with pytest.raises(ParameterError) as caught:
        Ratio(**{**sound, **changed})
    assert caught.value.parameter == parameter


def test_arguments_are_checked() -> None:
    ratio = EXAMPLES[0]
    for delta in (-1.0, math.nan, math.inf):
        with pytest.raises(ParameterError):
            ratio.within(delta)
    for probability in (0.0, 1.0, math.nan):
        with pytest.raises(ParameterError):
            ratio.radius(probability)
        with pytest.raises(ParameterError):
            ratio.interval(probability)
