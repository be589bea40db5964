"""The ratio X / Y of two jointly Gaussian estimates: how likely it is within delta of EX / EY.

Evfimievski, Srikant, Agrawal and Gehrke (Information Systems 29, 2004), Section 4.6: with v = EX / EY,
alpha = v - delta and beta = v + delta,

    f(delta) = P[alpha <= X / Y <= beta] = int |int_(alpha y)^(beta y) density(x, y) dx| dy

The paper leaves the double integral to the reader.  It has a closed form in Owen's function T(h, a), the probability
that Z1 > h and 0 < Z2 < a Z1 for independent standard normal Z1, Z2.  Let

    W = X - v Y,  EW = 0,   s^2 = Var W,   c = Cov(W, Y),   d^2 = Var X Var Y - Cov(X, Y)^2 = s^2 Var Y - c^2

X / Y lies in [alpha, beta] just when |W| <= delta |Y|.  Put W = s Z1 and Y = EY + (c Z1 + d Z2) / s.  In the plane of
(Z1, Z2) the event is a double wedge between the lines W = delta Y and W = -delta Y, with its apex, where W = Y = 0, on
the axis Z1 = 0 at distance H = |EY| s / d from the origin.  The axis cuts the wedge in two.  The two lines make angles
t1, t2 in (0, pi) with it and lie at distances h1, h2 from the origin:

    cot t1 = (s^2 - delta c) / (delta d)      h1 = H sin t1
    cot t2 = (s^2 + delta c) / (delta d)      h2 = H sin t2

The double sector between the axis and a line at angle t has probability

    G(H, t) = 1/2 - 2 T(h, cot t) = erf(h / sqrt 2) erf(g / sqrt 2) / 2 + 2 T(g, tan t)     h = H sin t, g = H cos t

where the second form, by T(h, a) + T(a h, 1/a) = (1 - erf(h / sqrt 2) erf(a h / sqrt 2)) / 4, adds positive terms for
t <= pi/2, so that a tiny f keeps its digits; and G(H, t) = 1 - G(H, pi - t).  Hence

    f(delta) = G(H, t1) + G(H, t2) = 1 - 2 T(h1, cot t1) - 2 T(h2, cot t2)

In the terms of U = X - alpha Y and V = X - beta Y this is Phi(h) + Phi(k) - 2 Phi2(h, k; corr(U, V)) for h = EU / sd U
and k = EV / sd V, by Owen (1956).

As the correlation of X and Y nears +-1, d^2 and s^2 -+ delta c cancel.  They are therefore computed exactly, as
fractions; what is left is the rounding of erf and T.  SciPy's T is right to 1e-16.  Its relative error reaches 3e-9
where g > 4.8 and tan t is tiny, but there 2 T is less than 1e-5 of the term with erf beside it.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from bosket.checks import check_between, check_not_negative, check_real
from bosket.errors import ParameterError

ERROR = 1e-14
"""Absolute error of ``within`` for the very numbers given."""

RADIUS_TOLERANCE = 1e-10
"""Relative error of ``radius``, beyond what ``ERROR`` in the probability brings."""

ROUNDING = 1e-9
"""A squared correlation may exceed 1 by this much, and then counts as 1; beyond, it is no correlation."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """X / Y for jointly Gaussian X (the numerator) and Y (the denominator), by their means and covariance.

    X / Y has no mean and no variance, for Y may fall next to 0; how often it lies within delta of ``value`` is well
    defined whatever the denominator, also below 0.

    >>> ratio = Ratio(0.21, 0.5, variance_numerator=1e-4, variance_denominator=1e-4, covariance=2e-5)
    >>> ratio.value, round(ratio.within(0.04), 4), round(ratio.radius(0.95), 4)
    (0.42, 0.9534, 0.0394)
    """

    numerator: float
    denominator: float
    variance_numerator: float
    variance_denominator: float
    covariance: float

    def __post_init__(self) -> None:
        for name in ("numerator", "denominator", "covariance"):
            object.__setattr__(self, name, check_real(name, getattr(self, name), of="Ratio"))
        for name in ("variance_numerator", "variance_denominator"):
            object.__setattr__(self, name, check_not_negative(name, getattr(self, name), of="Ratio"))
        if self.denominator == 0 or math.isinf(self.value):
            raise ParameterError(
                f"The 'denominator' parameter of Ratio must not be 0 nor next to it, got {self.denominator!r}.",
                parameter="denominator",
                value=self.denominator,
            )
        limit = Fraction(self.variance_numerator) * Fraction(self.variance_denominator)
        if Fraction(self.covariance) ** 2 > limit * (1 + Fraction(ROUNDING)):
            raise ParameterError(
                "The 'covariance' parameter of Ratio must be at most the root of the product of the variances "
                f"({math.sqrt(self.variance_numerator) * math.sqrt(self.variance_denominator)!r}) in size, got "
                f"{self.covariance!r}.",
                parameter="covariance",
                value=self.covariance,
            )

    @property
    def value(self) -> float:
        """EX / EY."""
        return self.numerator / self.denominator

    @property
    def delta_method_stderr(self) -> float:
        """s / |EY|: the standard error of X / Y where Y is many standard errors from 0, and ``within`` is normal."""
        return _wedge(self).stderr

    def within(self, delta: float) -> float:
        """f(delta): the probability that X / Y lies within ``delta`` of EX / EY, with an absolute error of ``ERROR``.

        Without variance, or where X is always EX / EY times Y, it is 1 from delta = 0 on.
        """
        return _within(_wedge(self), check_not_negative("delta", delta))

    def radius(self, probability: float) -> float:
        """The smallest delta with ``within(delta)`` at least ``probability``.

        f grows from 0 to 1, but for large delta only as 1 - const / delta: next to 1 the radius can be huge.
        """
        from scipy.optimize import brentq  # slow to import, and few need it

        check_between("probability", probability, 0, 1)
        wedge = _wedge(self)
        if wedge.variance == 0:
            return 0.0
        low = high = min(max(wedge.stderr, sys.float_info.min), sys.float_info.max)
        while math.isfinite(high) and _within(wedge, high) < probability:
            low, high = high, high * 4
        while low >= sys.float_info.min and _within(wedge, low) >= probability:
            low, high = low / 4, low
        if low < sys.float_info.min or math.isinf(high):  # beyond the floating-point numbers of full precision
            return high
        power = brentq(  # in the logarithm, for a relative tolerance; low * 4.0**1 is high, to the last bit
            lambda power: _within(wedge, low * math.pow(4.0, power)) - probability, 0.0, 1.0, xtol=RADIUS_TOLERANCE / 4
        )
        return low * math.pow(4.0, power)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """``value`` -+ ``radius(level)``, not clipped."""
        radius = self.radius(check_between("level", level, 0, 1))
        return self.value - radius, self.value + radius


class _Wedge(NamedTuple):
    """The double wedge without its width, exact: (s EY)^2, c EY^2, d^2 and EY^2 in the letters above.

    Lengths along and across the axis are taken EY^2 times as long, which leaves no division.
    """

    variance: Fraction
    tilt: Fraction
    determinant: Fraction
    square: Fraction

    @property
    def stderr(self) -> float:
        """s / |EY|."""
        return _root(self.variance, self.square**2)


def _wedge(ratio: Ratio) -> _Wedge:
    """From the numbers given; where rounding left d^2 below 0, d = 0 and s^2 = c^2 / Var Y, as in the limit."""
    ex, ey = Fraction(ratio.numerator), Fraction(ratio.denominator)
    var_x, var_y = Fraction(ratio.variance_numerator), Fraction(ratio.variance_denominator)
    cov = Fraction(ratio.covariance)
    c = ey * cov - ex * var_y
    determinant = var_x * var_y - cov**2
    if determinant >= 0:
        variance = ey**2 * var_x - 2 * ex * ey * cov + ex**2 * var_y
    else:
        determinant, variance = Fraction(0), c**2 / var_y
    return _Wedge(variance, ey * c, determinant, ey**2)


def _within(wedge: _Wedge, delta: float) -> float:
    if wedge.variance == 0:
        return 1.0
    if delta == 0:
        return 0.0
    width = Fraction(delta)
    tilt = width * wedge.tilt
    return min(1.0, _sector(wedge, width, wedge.variance - tilt) + _sector(wedge, width, wedge.variance + tilt))


def _sector(wedge: _Wedge, width: Fraction, along: Fraction) -> float:
    """G(H, t) for the t with cot t = along / (width EY^2 d), by its second form."""
    from scipy.special import owens_t  # slow to import, and few need it

    if along == 0:
        return 0.5
    broad = (width * wedge.square) ** 2
    across = broad * wedge.determinant
    length = along**2 + across
    acute = math.erf(_root(wedge.variance * broad, length) / math.sqrt(2)) / 2
    if across:
        g = _root(wedge.variance * along**2, wedge.determinant * length)
        acute = acute * math.erf(g / math.sqrt(2)) + 2 * float(owens_t(g, _root(across, along**2)))
    return acute if along > 0 else 1 - acute


def _root(over: Fraction, under: Fraction) -> float:
    """The root of over / under, though that itself may be no floating-point number; infinite if it is none either."""
    top, bottom = over.numerator * under.denominator, over.denominator * under.numerator
    half = (top.bit_length() - bottom.bit_length()) // 2
    if half >= 1023:
        return math.inf
    square = top / (bottom << 2 * half) if half >= 0 else (top << -2 * half) / bottom
    return math.ldexp(math.sqrt(square), half)
