"""Select-a-size and cut-and-paste on a domain: how records are randomized, and what a report is worth.

The formulas are in :mod:`bosket.mechanisms.select_a_size`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb, perm
from typing import TYPE_CHECKING

import numpy as np

from bosket.counting.base import Words
from bosket.data import Domain
from bosket.mechanisms.base import Floats, Strata
from bosket.mechanisms.chosen import all_chosen, all_shown, log_moment_of_coin, log_moment_of_shown
from bosket.mechanisms.cut_kernels import worst_gain
from bosket.mechanisms.exchangeable import ExchangeableChannel
from bosket.mechanisms.laws import OnDemand, cumulative
from bosket.mechanisms.sizes import at
from bosket.privacy.sized import amplification, exchange, outward
from bosket.randomness import Randomness, Thresholds
from bosket.randomness.kernels import PRECISION

if TYPE_CHECKING:
    from bosket.mechanisms.select_a_size import CutAndPaste, SelectASize, SizedMechanism

_ONE = 1 << PRECISION
_ROWS = 1 << 17  # records randomized at once: bounds the memory for copies


def kept_by_cut_and_paste(size: int, cutoff: int, rho: Fraction) -> list[Fraction]:
    """Remark 4.2: p_m[j] = sum over i <= min(K, j) of Pr(i chosen) C(m - i, j - i) rho^(j - i) (1 - rho)^(m - j)."""
    chosen = _chosen_first(size, cutoff)
    return [
        sum(
            (
                chance * comb(size - i, j - i) * rho ** (j - i) * (1 - rho) ** (size - j)
                for i, chance in enumerate(chosen[: j + 1])
            ),
            Fraction(0),
        )
        for j in range(size + 1)
    ]


def _chosen_first(size: int, cutoff: int) -> list[Fraction]:
    """The law of min(uniform number from 0 to K, m): 1 / (K + 1) each, and what is left at m if m < K."""
    if size > cutoff:
        return [Fraction(1, cutoff + 1)] * (cutoff + 1)
    return [Fraction(1, cutoff + 1)] * size + [1 - Fraction(size, cutoff + 1)]


class SelectASizeChannel(ExchangeableChannel):
    """Select-a-size on a domain; stratum m is a record of m items."""

    def __init__(self, domain: Domain, mechanism: SizedMechanism) -> None:
        super().__init__(domain)
        self._sizes = mechanism.record_sizes
        self._insert = mechanism.insert
        self._never = Thresholds(np.zeros(len(domain)))
        self._rho: dict[int, Fraction] = {}

    def rho(self, size: int) -> Fraction:
        """The realised probability that an item which the record lacks comes in."""
        if size not in self._rho:
            self._rho[size] = Fraction(Thresholds(at(self._insert, size)).probability[0])
        return self._rho[size]

    def showable_weights(self, k: int, size: int) -> list[float]:
        """The product form: (1 - rho)^l' (-rho)^(k - l') / g_k, g_k being the diagonal of k items."""
        rho, g = self.rho(size), self.diagonal(k, size)
        return [float((1 - rho) ** shown * (-rho) ** (k - shown) / g) for shown in self.showable(k, size)]

    def _weigh(self, k: int, size: int) -> tuple[Floats, Floats]:
        """The product form, in fractions as exact as the inverse and many times quicker.

        An absent item brings E[factor^2] = rho (1 - rho).  A true one brings rho^2 + (1 - 2 rho) [shown], so that l of
        them bring the sum over i of C(l, i) (1 - 2 rho)^i rho^(2 (l - i)) Pr(i given ones are all shown).
        """
        self._check_traces(k, size)
        rho = self.rho(size)
        shown = [self._all_shown(size, i, i) for i in range(k + 1)]
        g = sum(((-rho) ** (k - l) * comb(k, l) * shown[l] for l in range(k + 1)), Fraction(0))
        variances = np.zeros(k + 1)
        for l in self.possible(k, size):
            terms = (comb(l, i) * (1 - 2 * rho) ** i * rho ** (2 * (l - i)) * shown[i] for i in range(l + 1))
            variances[l] = (rho * (1 - rho)) ** (k - l) * sum(terms, Fraction(0)) / g**2 - (l == k)
        return np.array([float((1 - rho) ** y * (-rho) ** (k - y) / g) for y in range(k + 1)]), variances

    @property
    def record_sizes(self) -> frozenset[int] | None:
        return self._sizes

    @abstractmethod
    def only_shown(self, size: int, true: int, shown: int) -> Fraction:
        """The probability that of ``true`` given items of the record ``shown`` given ones are in the report, and no
        others of them.
        """

    @abstractmethod
    def _randomize_kept(self, bits: Words, sizes: Strata, rng: Randomness) -> Words | None:
        """Leave in ``bits`` what may not be taken away; return the bits that must not come back, if there are any."""

    @abstractmethod
    def steps(self, size: int) -> int:
        """About how many steps of ten nanoseconds ``amplification`` takes."""

    @abstractmethod
    def amplification(self, size: int) -> tuple[float, float]:
        """epsilon for one item exchanged, and for any two records of this size."""

    @abstractmethod
    def log_moment_of_true(self, tilt: float, size: int) -> float:
        """ln E exp(tilt T) where T is the number of items of the record that a report shows."""

    def log_moment(self, tilt: float, stratum: int | None = None, max_size: int | None = None) -> float | None:
        size = self._size(stratum)
        false = (len(self.domain) - size) * log_moment_of_coin(float(self.rho(size)), tilt)
        return self.log_moment_of_true(tilt, size) + false

    def outcome(self, size: int, true: int, shown: int, absent: int, inserted: int) -> Fraction:
        rho = self.rho(size)
        return self.only_shown(size, true, shown) * rho**inserted * (1 - rho) ** (absent - inserted)

    def randomize_bits(self, bits: Words, rng: Randomness) -> tuple[Words, Strata | None]:
        sizes = self.sizes_of(bits)
        for start in range(0, len(bits), _ROWS):
            self._randomize_part(bits[start : start + _ROWS], sizes[start : start + _ROWS], rng)
        return bits, sizes

    def _randomize_part(self, bits: Words, sizes: Strata, rng: Randomness) -> None:
        gone = self._randomize_kept(bits, sizes, rng)
        present = np.unique(sizes).tolist()
        rates = np.zeros(int(sizes.max(initial=0)) + 1)
        rates[present] = [at(self._insert, size) for size in present]
        for rho in np.unique(rates[present]):
            rows = np.flatnonzero(rates[sizes] == rho)
            part = bits if len(rows) == len(bits) else bits[rows]
            rng.xor_bernoulli(part, when_set=self._never, when_clear=Thresholds(np.full(len(self.domain), rho)))
            if part is not bits:
                bits[rows] = part
        if gone is not None:
            bits &= ~gone


class KeptChannel(SelectASizeChannel):
    """SelectASize on a domain: the number of kept items is drawn from p_m, in multiples of 2**-53."""

    def __init__(self, domain: Domain, mechanism: SelectASize) -> None:
        super().__init__(domain, mechanism)
        self._moments: dict[tuple[int, int], Fraction] = {}
        self.drawn = OnDemand(lambda size: np.diff(cumulative(mechanism.kept[size]), prepend=0).tolist())
        """The realised p_m[j] by m, in multiples of 2**-53."""
        self.realised = OnDemand(lambda size: [Fraction(p, _ONE) for p in self.drawn[size]])
        """The same as fractions."""

    @property
    def is_smooth(self) -> bool:
        """Every size has a law of its own."""
        return False

    def only_shown(self, size: int, true: int, shown: int) -> Fraction:
        """C(m - true, j - shown) / C(m, j) is a ratio of falling factorials, whose denominator j does not touch."""
        ways = sum(p * perm(j, shown) * perm(size - j, true - shown) for j, p in enumerate(self.drawn[size]) if p)
        return Fraction(ways, perm(size, true) * _ONE)

    def _all_shown(self, size: int, among: int, true: int) -> Fraction:
        """E of C(m - l, j - l) / C(m, j) = j (j - 1) ... / m (m - 1) ..., l factors each, times rho for each other."""
        if (size, true) not in self._moments:
            kept = sum(p * perm(j, true) for j, p in enumerate(self.drawn[size]))
            self._moments[size, true] = Fraction(kept, _ONE * perm(size, true))
        return self._moments[size, true] * self.rho(size) ** (among - true)

    def _randomize_kept(self, bits: Words, sizes: Strata, rng: Randomness) -> Words:
        keep = np.zeros(len(bits), np.int64)
        for size in np.unique(sizes).tolist():
            rows = np.flatnonzero(sizes == size)
            keep[rows] = rng.choose(np.cumsum(self.drawn[size]).astype(np.uint64), len(rows))
        kept = bits.copy()
        rng.keep_subset(kept, keep)
        return bits ^ kept

    def log_moment_of_true(self, tilt: float, size: int) -> float:
        terms = [math.log(p / _ONE) + tilt * j for j, p in enumerate(self.drawn[size]) if p]
        return float(np.logaddexp.reduce(terms))

    def steps(self, size: int) -> int:
        return 150 * size

    def amplification(self, size: int) -> tuple[float, float]:
        if size == 0 or size == len(self.domain):
            return 0.0, 0.0  # there is one such record
        rho = self.rho(size)
        if rho in (0, 1):  # reports lie within the record, or cover all that it lacks: an overlap gives it away
            is_sure = self.drawn[size][0 if rho == 0 else size] == _ONE
            return (0.0, 0.0) if is_sure else (math.inf, math.inf)
        phi = self._log_phi(size)
        return exchange(phi), amplification(phi, len(self.domain))

    def _log_phi(self, size: int) -> list[float]:
        """ln of the probability of a report that has a items of the record, by a, up to what depends on its size."""
        rho = float(self.rho(size))
        odds = math.log1p(-rho) - math.log(rho)
        result, choices = [], 1  # C(m, a), exactly
        for a, p in enumerate(self.drawn[size]):
            result.append(math.log(p / _ONE) - math.log(choices) + a * odds if p else -math.inf)
            choices = choices * (size - a) // (a + 1)
        return result


class CutAndPasteChannel(SelectASizeChannel):
    """CutAndPaste on a domain: drawn as it is defined, so its law is exact and needs few terms for any record size."""

    rounding = Fraction(0)

    def __init__(self, domain: Domain, mechanism: CutAndPaste) -> None:
        super().__init__(domain, mechanism)
        self._cutoff = mechanism.cutoff

    def only_shown(self, size: int, true: int, shown: int) -> Fraction:
        """By inclusion and exclusion of those that are not shown, over the closed form for some that all are."""
        rho, cutoff, others = self.rho(size), at(self._cutoff, size), true - shown
        return sum(
            ((-1) ** u * comb(others, u) * all_shown(size, cutoff, rho, shown + u) for u in range(others + 1)),
            Fraction(0),
        )

    def _all_shown(self, size: int, among: int, true: int) -> Fraction:
        rho = self.rho(size)
        return all_shown(size, at(self._cutoff, size), rho, true) * rho ** (among - true)

    def showable_weights(self, k: int, size: int) -> list[float]:
        """The same in floating point, g_k = (1 - rho)^k c_k: no term cancels, and there may be a parameter by size."""
        odds, chosen = -float(self.rho(size) / (1 - self.rho(size))), all_chosen(size, at(self._cutoff, size), k)
        return [odds ** (k - shown) / float(chosen) for shown in self.showable(k, size)]

    @property
    def is_smooth(self) -> bool:
        """With one pair of parameters."""
        return not isinstance(self._cutoff, Mapping) and not isinstance(self._insert, Mapping)

    def telling_sizes(self, k: int, sizes: Sequence[int]) -> Sequence[int]:
        """With one pair of parameters the largest: k given items of more are less likely to be all chosen first."""
        return sizes[-1:] if self.is_smooth else sizes

    def log_moment_of_true(self, tilt: float, size: int) -> float:
        return log_moment_of_shown(size, at(self._cutoff, size), float(self.rho(size)), tilt)

    def _keeps_trace(self, j: int, size: int) -> bool:
        """g_j is positive up to the cutoff and 0 beyond."""
        return bool(j <= at(self._cutoff, size)) and self.rho(size) < 1

    def _randomize_kept(self, bits: Words, sizes: Strata, rng: Randomness) -> None:
        keep = np.zeros(len(bits), np.int64)
        present = np.unique(sizes).tolist()
        for cutoff in {at(self._cutoff, size) for size in present}:
            rows = np.flatnonzero(np.isin(sizes, [size for size in present if at(self._cutoff, size) == cutoff]))
            keep[rows] = rng.integers(cutoff + 1, len(rows))
        rng.keep_subset(bits, np.minimum(keep, sizes))

    def steps(self, size: int) -> int:
        cutoff = at(self._cutoff, size)
        return 3 * size if size <= cutoff else int(4 * cutoff * size.bit_length())

    def amplification(self, size: int) -> tuple[float, float]:
        """phi(a) = (1 - rho)^m sum over i of Pr(i chosen) C(a, i) / C(m, i) rho^-i: positive terms that grow with a."""
        n, rho = len(self.domain), float(self.rho(size))
        if size in (0, n) or rho == 1:
            return 0.0, 0.0  # there is one such record, or every report shows everything
        if rho == 0:
            return math.inf, math.inf  # reports lie within the record: an overlap gives it away
        cutoff = at(self._cutoff, size)
        near, far = (worst_gain(size, cutoff, rho, width) for width in (1, min(size, n - size)))
        return outward(near, size), outward(far, size)
