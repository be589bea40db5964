"""The few of very many equal noises that matter: how many pass a limit and their values, without drawing the others.

n empty counts get independent noise z with Pr(z) ~ exp(-|z| / s), the law of :func:`bosket.curator.noise.noisy`.  Those
with z >= t, for t >= 1, are Binomial(n, p) in number, p = a^t / (1 + a), a = exp(-1/s), and each is t plus a geometric
number, Pr(j or more) = a^j, whatever t.  (Cormode, Procopiuc, Srivastava and Tran, ICDT 2012: "filtering"; Chen
et al. 2011 use the same for empty partitions.)

Both are drawn by inversion, exactly: U is uniform bits of a secure stream, compared to sums known up to a proven error;
as long as U is too close to call, more bits are drawn and more digits computed.  `decimal` rounds exp and ln correctly.
Which time this takes is outside any guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np

from bosket.counting.base import Counts
from bosket.randomness import Randomness

_DIGITS = 50  # to begin with
_BITS_A_DIGIT = 4  # more than log2(10): U is finer than the error
_LOST = 15  # digits lost to rounding at most: sums of up to 1e6 terms of relative error below 1e-(digits - 9)


def passing(n: int, scale: float, low: int, *, high: int | None = None, rng: Randomness) -> Counts:
    """The noises, among n independent ones known to be below ``high``, that are at least ``low`` (1 or more)."""
    if n == 0 or (high is not None and high <= low):
        return np.empty(0, np.int64)
    number = _binomial(n, scale, low, high, rng)
    values = np.empty(number, np.int64)
    for i in range(number):
        values[i] = low + _geometric(scale, rng)
        while high is not None and values[i] >= high:
            values[i] = low + _geometric(scale, rng)
    return values


def limit_for(n: int, scale: float, expected: float) -> int:
    """A limit, at least 1, that about so many of n noises pass."""
    return max(1, math.floor(scale * math.log(max(1.0, n / (expected * (1 + math.exp(-1 / scale)))))))


def _decided(answer: Callable[[int, int, Decimal], int | None], rng: Randomness) -> int:
    """Ask with more and more bits of one uniform U in [bits, bits + 1) / 2^n_bits until the answer is certain."""
    stream = rng.stream()
    bits, n_bits, digits = 0, 0, _DIGITS
    while True:
        while n_bits < _BITS_A_DIGIT * digits:
            bits, n_bits = bits << 64 | int(stream.words(1)[0]), n_bits + 64
        with localcontext() as context:
            context.prec, context.Emin, context.Emax = digits, -(10**9), 10**9
            found = answer(bits, n_bits, Decimal(10) ** (_LOST - digits))
        if found is not None:
            return found
        digits *= 2


def _binomial(n: int, scale: float, low: int, high: int | None, rng: Randomness) -> int:
    """The number of passes: the least j with U < Pr(0 .. j)."""

    def answer(bits: int, n_bits: int, error: Decimal) -> int | None:
        unit = Decimal(1) / Decimal(scale)  # the double as it is
        total = 1 + (-unit).exp()
        p = (-unit * low).exp() / total
        if high is not None:
            above = (-unit * high).exp() / total
            p = (p - above) / (1 - above)
        start, stop = Decimal(bits) / Decimal(1 << n_bits), Decimal(bits + 1) / Decimal(1 << n_bits)
        term = (n * (1 - p).ln()).exp()  # 1 - p loses p's last digits, an absolute error below 10^-digits
        reached, odds = term, p / (1 - p)
        for j in range(n + 1):
            if stop + error * n < reached:
                return j
            if start - error * n < reached:
                return None
            term = term * (n - j) / (j + 1) * odds
            reached += term
        return None if start - error * n < 1 else n

    return _decided(answer, rng)


def _geometric(scale: float, rng: Randomness) -> int:
    """The largest j with U < a^j, that is, j < -s ln U."""

    def answer(bits: int, n_bits: int, error: Decimal) -> int | None:
        if bits == 0:
            return None
        s = Decimal(scale)
        whole = Decimal(1 << n_bits)
        most = -s * (Decimal(bits) / whole).ln() + error * (1 + s)
        least = -s * (Decimal(bits + 1) / whole).ln() - error * (1 + s)
        return int(most) if least > 0 and int(least) == int(most) else (0 if most < 1 else None)

    return _decided(answer, rng)
