"""How well several perturbed versions of one record give it away, when they are known to belong together.

FRAPP, section 5.1.1: the miner guesses the value seen most often among m versions.  Under the gamma-diagonal matrix a
version shows the true value with probability p and each of the other n - 1 values with probability (1 - p) / (n - 1).
The paper bounds the probability of a right guess (Eq. 17, whose sum should start at 0); here it is computed.

Versions known to be siblings compose: their amplification is gamma^m, so epsilon is m ln gamma.  Over an anonymous
channel, where nobody can tell which reports are siblings, any one report has gamma; all reports together are gamma^m in
the worst case as before, for one who knows the records of all others.
"""

from __future__ import annotations

import math

import numpy as np

from bosket.checks import check_integer, check_probability
from bosket.privacy.breaches import Floats


def guessing_probability(n_values: int, same: float, versions: int, *, ties: bool = True) -> float:
    """The probability that the value seen most often among ``versions`` is the true one.

    n_values   n, the size of the domain
    same       p, the probability that a version shows the true value
    ties       guess at random among those seen most often; without, as in the paper, a tie is a wrong guess

    With k versions true, the other m - k fall on n - 1 values uniformly, and j of these have k each while the rest have
    fewer: the coefficient of z^(m - k) in C(n - 1, j) (z^k / k!)^j (sum over i < k of z^i / i!)^(n - 1 - j), times
    (m - k)! / (n - 1)^(m - k).
    """
    n = check_integer("n_values", n_values, least=2)
    m = check_integer("versions", versions, least=1, most=150)
    p = check_probability("same", same)
    total = 0.0
    for k in range(1, m + 1):
        chance = math.comb(m, k) * p**k * (1 - p) ** (m - k)
        if chance > 0:
            total += chance * _leads(n - 1, k, m - k, ties=ties)
    return min(1.0, total)


def _leads(others: int, k: int, left: int, *, ties: bool) -> float:
    """The probability that k occurrences are the most when ``left`` more fall on the other values at random."""
    if left == 0:
        return 1.0
    # in logarithms: powers of 1 / others underflow and binomials overflow where the domain is large
    log_others = math.log(others)
    below = np.array([-math.lgamma(i + 1) for i in range(min(k, left + 1))])  # ln 1 / i!
    result = 0.0
    for j in range(min(left // k, others) + 1 if ties else 1):
        rest = left - j * k
        ways = math.log(math.comb(others, j))  # a whole number: differences of lgamma have no digits left at 2**40
        log_term = ways - j * math.lgamma(k + 1) + _log_power(below, others - j, rest) + math.lgamma(left + 1)
        result += math.exp(log_term - left * log_others) / (j + 1)
    return result


def _log_power(log_coefficients: Floats, exponent: int, degree: int) -> float:
    """ln of the coefficient of z^degree in a polynomial with positive coefficients raised to a power.

    By squaring, every product scaled by its largest entry.
    """
    if exponent == 0:
        return 0.0 if degree == 0 else -math.inf
    result, log_result = np.zeros(degree + 1), 0.0
    result[0] = 1.0
    base = np.zeros(degree + 1)
    base[: min(len(log_coefficients), degree + 1)] = np.exp(log_coefficients[: degree + 1])
    # z -> z / exponent keeps all entries near those of an exponential series; undone at the end
    base *= np.exp(-np.arange(degree + 1) * math.log(exponent))
    log_base = 0.0
    left = exponent
    while left:
        if left & 1:
            result = np.convolve(result, base)[: degree + 1]
            log_result += log_base
            most = result.max()
            result, log_result = result / most, log_result + math.log(most)
        base = np.convolve(base, base)[: degree + 1]
        log_base *= 2
        most = base.max()
        base, log_base = base / most, log_base + math.log(most)
        left >>= 1
    if result[degree] <= 0:
        return -math.inf
    return float(math.log(result[degree]) + log_result + degree * math.log(exponent))


def guessing_bound(n_values: int, same: float, versions: int) -> float:
    """Eq. (17) with its sum from 0: 1 - Pr(at most floor(m / n) versions are true)."""
    m, n = check_integer("versions", versions, least=1), check_integer("n_values", n_values, least=2)
    p = check_probability("same", same)
    from scipy.stats import binom

    return float(binom.sf(m // n, m, p))


def same_value(gamma: float, n_cells: int, n_values: int | None = None) -> float:
    """p[u -> u] of the gamma-diagonal matrix: of a whole record, or of one attribute with n values.

    gamma x + (n_cells / n_values - 1) x with x = 1 / (gamma + n_cells - 1).
    """
    values = n_cells if n_values is None else n_values
    return (gamma + n_cells / values - 1) / (gamma + n_cells - 1)
