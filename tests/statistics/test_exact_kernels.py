"""Fisher's test against sums of all tables, up to numbers of people that no sum would end for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from bosket.statistics.exact_kernels import TIE, WIDEST, fisher, fisher_tail

Tails = tuple[float, float, float]


def found(x: int, a: int, c: int, n: int) -> Tails:
    """Two-sided, x or more, x or fewer."""
    one, other, third = (np.array([value]) for value in (x, a, c))
    both, up, down = np.empty(1), np.empty(1), np.empty(1)
    fisher(one, other, third, float(n), both)
    fisher_tail(one, other, third, float(n), True, up)
    fisher_tail(one, other, third, float(n), False, down)
    return float(both[0]), float(up[0]), float(down[0])


def summed(x: int, a: int, c: int, n: int) -> Tails:
    """Of all tables within 45 standard deviations, by logarithms of ratios in extended precision."""
    mode = (a + 1) * (c + 1) // (n + 2)
    reach = int(45 * math.sqrt(a / n * c * (n - a) / n * (n - c) / n)) + 5
    low, high = max(0, a + c - n, mode - reach), min(a, c, mode + reach)
    one, other, rest = (np.longdouble(value) for value in (a, c, n - a - c))
    up, down = np.arange(mode, high, dtype=np.longdouble), np.arange(mode, low, -1, dtype=np.longdouble)
    above = np.cumsum(np.log((one - up) * (other - up) / ((up + 1) * (rest + up + 1))))
    below = np.cumsum(np.log(down * (rest + down) / ((one - down + 1) * (other - down + 1))))
    k = np.arange(low, high + 1)
    logs = np.concatenate([below[::-1], np.zeros(1, np.longdouble), above])
    w = np.exp(logs)
    parts = (logs <= logs[x - low] + np.log(np.longdouble(TIE)), k >= x, k <= x)
    two_sided, up_to, down_to = (float(w[part].sum() / w.sum()) for part in parts)
    return two_sided, up_to, down_to


WIDE = [(2 * 10**7, 10**7, 9 * 10**6), (10**8, 4 * 10**7, 6 * 10**7), (4 * 10**8, 10**7, 3 * 10**8)]


@pytest.mark.parametrize("z", [-36, -30, -8, -3, -0.5, 0, 0.001, 0.7, 4, 12, 33])
@pytest.mark.parametrize(("n", "a", "c"), [*WIDE, (10**6, 10**5, 4 * 10**5), (10**5, 300, 5 * 10**4)])
def test_tails_are_the_sums_of_all_tables(n: int, a: int, c: int, z: float) -> None:
    """On both sides of the standard deviation beyond which tails are integrals."""
    spread = math.sqrt(a / n * c * (n - a) / n * (n - c) / n)
    assert (spread > WIDEST) == ((n, a, c) in WIDE)
    x = round(a * c / n + z * spread)
    if max(0, a + c - n) <= x <= min(a, c):
        assert found(x, a, c, n) == pytest.approx(summed(x, a, c, n), rel=1e-8, abs=1e-290)


def test_few_people_by_fractions() -> None:
    def chance(k: int) -> Fraction:
        return Fraction(math.comb(9, k) * math.comb(11, 7 - k), math.comb(20, 7))

    for x in range(8):
        sides = [k for k in range(8) if chance(k) <= chance(x)], range(x, 8), range(x + 1)
        expected = tuple(float(sum(map(chance, side), Fraction(0))) for side in sides)
        assert found(x, 9, 7, 20) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("exponent", [31, 40, 53])
def test_the_normal_limit(exponent: int) -> None:
    """The number of steps does not grow with that of people: summed one by one, 2^53 of them took an hour."""
    n = 1 << exponent
    for z in (0.5, 2, 5):
        x = round(n / 4 + z * math.sqrt(n) / 4)
        expected = math.erfc((x - 0.5 - n / 4) / (math.sqrt(n / 16 * n / (n - 1)) * math.sqrt(2)))
        assert found(x, n // 2, n // 2, n)[0] == pytest.approx(expected, rel=1e-7)
    assert found(n // 2, n // 2, n // 2, n) == (0.0, 0.0, 1.0)
    assert found(0, n // 2, n // 2, n) == (0.0, 1.0, 0.0)
