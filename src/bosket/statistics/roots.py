"""Where a function of one number is zero, and where it is least: for those who need nothing else of SciPy's optimizers,
which take a third of a second to load.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_STEPS = 200
_GOLDEN = (math.sqrt(5) - 1) / 2


def root(f: Callable[[float], float], low: float, high: float, *, xtol: float = 2e-12, rtol: float = 1e-15) -> float:
    """A zero of a continuous function between two numbers at which its signs differ, to xtol + rtol |x|.

    Brent (1973), chapter 4: a secant or an inverse parabola where that is no slower than halving, else halving.

    >>> round(root(lambda x: x * x - 2, 0.0, 2.0), 12)
    1.414213562373
    """
    a, b = float(low), float(high)
    fa, fb = f(a), f(b)
    if fa == 0 or fb == 0:
        return a if fa == 0 else b
    if not (fa < 0 < fb or fb < 0 < fa):
        raise ValueError("f(low) and f(high) must differ in sign")
    c, fc, step, before = a, fa, b - a, b - a
    for _ in range(_STEPS):
        if (fb > 0) == (fc > 0):  # the zero is between b and c from here on
            c, fc, step, before = a, fa, b - a, b - a
        if abs(fc) < abs(fb):  # b is the best so far
            a, b, c, fa, fb, fc = b, c, b, fb, fc, fb
        near, middle = (xtol + rtol * abs(b)) / 2, (c - b) / 2
        if abs(middle) <= near or fb == 0:
            return b
        tried = None if abs(before) < near or abs(fa) <= abs(fb) else _interpolated(a, b, c, fa, fb, fc)
        if tried is not None and 2 * abs(tried) < min(3 * abs(middle) - near, abs(before)) and tried * middle > 0:
            before, step = step, tried
        else:
            before = step = middle
        a, fa = b, fb
        b += step if abs(step) > near else math.copysign(near, middle)
        fb = f(b)
        if math.isnan(fb):
            raise ValueError("f must be a number everywhere")
    raise ValueError("no zero was found: the tolerance is too small for these numbers")


def _interpolated(a: float, b: float, c: float, fa: float, fb: float, fc: float) -> float | None:
    """The step from b to the zero of a line through two points, or of a parabola in f through three."""
    s = fb / fa
    if a == c:
        p, q = (c - b) * s, 1 - s
    else:
        t, r = fa / fc, fb / fc
        p, q = s * ((c - b) * t * (t - r) - (b - a) * (r - 1)), (t - 1) * (r - 1) * (s - 1)
    return None if q == 0 or not math.isfinite(p / q) else -p / q


def least_point(f: Callable[[float], float], low: float, high: float, *, xtol: float) -> float:
    """Where a function that falls and then rises is least between two numbers, to xtol: by the golden section.

    >>> round(least_point(lambda x: (x - 1) ** 2, -3.0, 2.0, xtol=1e-6), 4)
    1.0
    """
    a, b = float(low), float(high)
    one, other = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    f_one, f_other = f(one), f(other)
    for _ in range(_STEPS):
        if b - a <= xtol:
            break
        if f_one <= f_other:
            b, other, f_other = other, one, f_one
            one = b - _GOLDEN * (b - a)
            f_one = f(one)
        else:
            a, one, f_one = one, other, f_other
            other = a + _GOLDEN * (b - a)
            f_other = f(other)
    return one if f_one <= f_other else other
