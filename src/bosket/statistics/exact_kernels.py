"""Compiled: Fisher's exact test of many 2x2 tables."""

from __future__ import annotations

from typing import Any

from bosket.compiling import compiled

TIE = 1.0 + 1e-7
"""Tables whose probability exceeds that of the observed one by no more than rounding count as equally likely."""

_NOTHING = 1e-17


@compiled
def fisher(x: Any, a: Any, c: Any, n: float, out: Any) -> None:
    """Two-sided p-values: of all tables with these margins, those no more likely than the observed one.

    With both margins given, x is hypergeometric under independence.  Weights are taken relative to the mode and summed
    from there both ways; ratios of neighbouring ones are simple, so no factorial is needed and n may be large.  A
    p-value below 1e-300 comes out as 0.
    """
    for i in range(x.size):
        one, other = float(a[i]), float(c[i])
        rest = n - one - other  # cell pi00 of a table with x = 0, perhaps below 0
        lowest, highest = max(0.0, -rest), min(one, other)
        mode = min(max(float(int((one + 1) * (other + 1) / (n + 2))), lowest), highest)
        w, k = 1.0, mode
        while k < x[i] and w > 0:
            w *= (one - k) * (other - k) / ((k + 1) * (rest + k + 1))
            k += 1
        while k > x[i] and w > 0:
            w *= k * (rest + k) / ((one - k + 1) * (other - k + 1))
            k -= 1
        limit = w * TIE
        total, part = 0.0, 0.0
        w, k = 1.0, mode
        while w > _NOTHING * part:
            total += w
            if w <= limit:
                part += w
            if k >= highest:
                break
            w *= (one - k) * (other - k) / ((k + 1) * (rest + k + 1))
            k += 1
        w, k = 1.0, mode
        while k > lowest:
            w *= k * (rest + k) / ((one - k + 1) * (other - k + 1))
            k -= 1
            if w <= _NOTHING * part:
                break
            total += w
            if w <= limit:
                part += w
        out[i] = min(part / total, 1.0)


@compiled
def fisher_tail(x: Any, a: Any, c: Any, n: float, upper: bool, out: Any) -> None:
    """One-sided p-values: of all tables with these margins, those with x or more (``upper``), or x or fewer."""
    for i in range(x.size):
        one, other = float(a[i]), float(c[i])
        rest = n - one - other
        lowest, highest = max(0.0, -rest), min(one, other)
        mode = min(max(float(int((one + 1) * (other + 1) / (n + 2))), lowest), highest)
        total, part = 0.0, 0.0
        w, k = 1.0, mode
        while w > 0:  # from the mode up
            total += w
            if (k >= x[i]) == upper or k == x[i]:
                part += w
            if k >= highest or (w < _NOTHING * total and w < _NOTHING * part):
                break
            w *= (one - k) * (other - k) / ((k + 1) * (rest + k + 1))
            k += 1
        w, k = 1.0, mode
        while k > lowest and w > 0:  # and down
            w *= k * (rest + k) / ((one - k + 1) * (other - k + 1))
            k -= 1
            total += w
            if (k >= x[i]) == upper or k == x[i]:
                part += w
            if w < _NOTHING * total and w < _NOTHING * part:
                break
        out[i] = min(part / total, 1.0)
