"""Select-a-size and cut-and-paste: hide the leaf in a forest of false items.

Evfimievski, Srikant, Agrawal and Gehrke (Information Systems 29, 2004), Definitions 7 and 8.  Of a record of m items,
j are kept, where j is chosen with probability p_m[j] and the items uniformly; every item that the record does not have
comes in with probability rho_m.  With x' = 1 for an item that is shown and g_k = E of the product of (x' - rho) over k
items of the record, the weight of a report is

    w_A(t') = product over X in A of (x' - rho_m)  /  g_k(m)

since the factor of an item that the record lacks has mean 0.  For cut-and-paste, g_k = (1 - rho)^k Pr(k given items
are all among those chosen first), which is 0 when the cutoff is below k.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, perm
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bosket import strict_json
from bosket.checks import check_integer, check_probability
from bosket.counting.base import Words
from bosket.data import Domain
from bosket.errors import ParameterError
from bosket.mechanisms.base import Mechanism, Records, Strata, as_domain
from bosket.mechanisms.chosen import all_chosen, all_shown, log_moment_of_shown
from bosket.mechanisms.cut_kernels import worst_gain
from bosket.mechanisms.exchangeable import ExchangeableChannel
from bosket.mechanisms.laws import OnDemand, check_law, cumulative
from bosket.mechanisms.sizes import (
    at,
    declared_sizes,
    from_pairs,
    mapping_from_pairs,
    per_size,
    same_size_guarantee,
    shown,
    to_pairs,
)
from bosket.privacy import LocalGuarantee
from bosket.privacy.sized import amplification, exchange, outward
from bosket.random_kernels import PRECISION
from bosket.randomness import Randomness, Thresholds

if TYPE_CHECKING:
    from typing import Self

MOST_KEPT = 1 << 19
"""Most probabilities of all record sizes together that SelectASize takes."""
LARGEST_KEPT = 10_000
"""Largest record size for which SelectASize takes them."""

_ONE = 1 << PRECISION
_ROWS = 1 << 17  # records randomized at once: bounds the memory for copies


class SizedMechanism(Mechanism):
    """What the two mechanisms share: record sizes that may be declared, and a guarantee for records of one size."""

    sends_sizes: ClassVar[bool] = True
    insert: float | Mapping[int, float]

    @property
    @abstractmethod
    def record_sizes(self) -> frozenset[int] | None: ...

    def telling_sizes(self, n_items: int) -> Iterable[int]:
        """Record sizes among which the worst is."""
        return range(n_items + 1) if self.record_sizes is None else sorted(self.record_sizes)

    @abstractmethod
    def channel(self, domain: Domain) -> SelectASizeChannel: ...

    def guarantee(
        self, domain: Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        """Amplification between records of one size: for one item exchanged, for any two of them, and for a person."""
        domain = as_domain(domain)
        channel = self.channel(domain)
        return same_size_guarantee(
            str(self), channel, self.telling_sizes(len(domain)), max_size=max_size, reports=reports
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and other.name == self.name and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SelectASize(SizedMechanism):
    """Keep j of a record's m items with probability ``kept[m][j]``; let every other item in with ``insert[m]``.

    kept     a mapping from record size m to the m + 1 probabilities of keeping 0 .. m items; m is at most 10 000, and
             there are at most 2**19 probabilities in all
    insert   one number, or a mapping from record size to number
    """

    name = "select_a_size"

    kept: Mapping[int, Sequence[float]]
    insert: float | Mapping[int, float]

    def __post_init__(self) -> None:
        if not isinstance(self.kept, Mapping) or not self.kept:
            raise ParameterError(
                "The 'kept' parameter of SelectASize must be a mapping from record size to probabilities.",
                parameter="kept",
                value=self.kept,
            )
        kept = {
            check_integer("kept size", size, least=0, most=LARGEST_KEPT, of="SelectASize"): row
            for size, row in self.kept.items()
        }
        if sum(kept) + len(kept) > MOST_KEPT:
            raise ParameterError(
                f"The 'kept' parameter of SelectASize must have at most {MOST_KEPT} probabilities in all, got "
                f"{sum(kept) + len(kept)}.",
                parameter="kept",
                value=len(kept),
                hint="Declare fewer record sizes, or use CutAndPaste, which needs two numbers for each.",
            )
        rows = {size: check_law(size, kept[size]) for size in sorted(kept)}
        object.__setattr__(self, "kept", MappingProxyType(rows))
        object.__setattr__(self, "insert", per_size("insert", self.insert, check_probability, of="SelectASize"))
        declared_sizes("SelectASize", self.kept, self.insert)

    @property
    def record_sizes(self) -> frozenset[int]:
        return frozenset(self.kept)

    def channel(self, domain: Domain) -> SelectASizeChannel:
        return KeptChannel(domain, self)

    def to_json(self) -> dict[str, Any]:
        return {
            "kept": [[size, list(row)] for size, row in sorted(self.kept.items())],
            "insert": to_pairs(self.insert),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        known = strict_json.fields(value, of="select_a_size", required=("kept", "insert"))

        def law(value: Any, name: str) -> list[float]:
            return [_real(one, name) for one in strict_json.sequence(value, name, of="select_a_size")]

        kept = mapping_from_pairs(known["kept"], "kept", law, of="select_a_size")
        return cls(kept=kept, insert=from_pairs(known["insert"], "insert", _real, of="select_a_size"))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self.kept), dict(self.insert) if isinstance(self.insert, Mapping) else self.insert)

    def __str__(self) -> str:
        sizes = sorted(self.kept)
        return f"SelectASize(sizes {sizes[0]} to {sizes[-1]}, insert={shown(self.insert)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CutAndPaste(SizedMechanism):
    """Choose a number from 0 to ``cutoff``, keep so many items (all, if there are fewer); then let every other item
    in, the rest of the record included, with probability ``insert``.

    Both may be one number for all record sizes, or a mapping from record size to number; records of a size that a
    mapping does not name are refused.
    """

    name = "cut_and_paste"

    cutoff: int | Mapping[int, int]
    insert: float | Mapping[int, float]

    def __post_init__(self) -> None:
        def check_cutoff(name: str, value: Any) -> int:
            return check_integer(name, value, least=1, most=1_000_000, of="CutAndPaste")

        def check_insert(name: str, value: Any) -> float:
            return check_probability(name, value, of="CutAndPaste")

        object.__setattr__(self, "cutoff", per_size("cutoff", self.cutoff, check_cutoff, of="CutAndPaste"))
        object.__setattr__(self, "insert", per_size("insert", self.insert, check_insert, of="CutAndPaste"))
        declared_sizes("CutAndPaste", self.cutoff, self.insert)

    @property
    def record_sizes(self) -> frozenset[int] | None:
        return declared_sizes("CutAndPaste", self.cutoff, self.insert)

    def channel(self, domain: Domain) -> CutAndPasteChannel:
        return CutAndPasteChannel(domain, self)

    def telling_sizes(self, n_items: int) -> Iterable[int]:
        """With one pair of parameters for all sizes, no size beyond the cutoff K is worse.

        For m >= K, phi_(m+1)(a) = (1 - a/(m+1)) phi_m(a) + a/(m+1) phi_m(a - 1), so the ratio of neighbours does not
        grow.  phi_m grows with a, hence phi_m(a - 1) <= phi_(m+1)(a) <= phi_m(a), and the overlaps that a report allows
        lie within d = n - m of each other for m, d - 1 for m + 1: phi_(m+1)(b) / phi_(m+1)(b - d + 1) is at most
        phi_m(b) / phi_m(b - d), where b <= m, and phi_(m+1)(m + 1) = phi_m(m).
        """
        sizes = SizedMechanism.telling_sizes(self, n_items)
        if isinstance(self.cutoff, int) and self.record_sizes is None:
            return range(min(self.cutoff, n_items) + 1)
        return sizes

    def kept(self, size: int) -> tuple[float, ...]:
        """p_m[j] of the select-a-size operator that this is, for records of m = ``size`` items (Remark 4.2)."""
        return tuple(
            float(p) for p in kept_by_cut_and_paste(size, at(self.cutoff, size), Fraction(at(self.insert, size)))
        )

    def to_json(self) -> dict[str, Any]:
        return {"cutoff": to_pairs(self.cutoff), "insert": to_pairs(self.insert)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        known = strict_json.fields(value, of="cut_and_paste", required=("cutoff", "insert"))
        return cls(
            cutoff=from_pairs(known["cutoff"], "cutoff", _whole, of="cut_and_paste"),
            insert=from_pairs(known["insert"], "insert", _real, of="cut_and_paste"),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.cutoff, self.insert)
        return type(self), tuple(dict(part) if isinstance(part, Mapping) else part for part in parts)

    def __str__(self) -> str:
        return f"CutAndPaste(cutoff={shown(self.cutoff)}, insert={shown(self.insert)})"


def _real(value: Any, name: str) -> float:
    return strict_json.real(value, name, of="a mechanism by record size")


def _whole(value: Any, name: str) -> int:
    return strict_json.whole(value, name, of="a mechanism by record size")


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
        false = (len(self.domain) - size) * math.log1p(float(self.rho(size)) * math.expm1(tilt))
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
        """Of the shown ones i were chosen first, the others came back: C(shown, i) ways."""
        rho, cutoff = self.rho(size), at(self._cutoff, size)
        last = min(cutoff, size)
        total = Fraction(0)
        for i in range(shown + 1):
            # C(m - true, j - i) / C(m, j) as a ratio of falling factorials, whose denominator j does not touch
            these = sum(perm(j, i) * perm(size - j, true - i) for j in range(last + 1))
            if size <= cutoff and true == i:  # all numbers from m to K choose the whole record
                these += (cutoff - size) * perm(size, i)
            total += Fraction(comb(shown, i) * these, (cutoff + 1) * perm(size, true)) * rho ** (shown - i)
        return total * (1 - rho) ** (true - shown)

    def _all_shown(self, size: int, among: int, true: int) -> Fraction:
        rho = self.rho(size)
        return all_shown(size, at(self._cutoff, size), rho, true) * rho ** (among - true)

    def showable_weights(self, k: int, size: int) -> list[float]:
        """The same in floating point, g_k = (1 - rho)^k c_k: no term cancels, and there may be a parameter by size."""
        odds, chosen = -float(self.rho(size) / (1 - self.rho(size))), all_chosen(size, at(self._cutoff, size), k)
        return [odds ** (k - shown) / float(chosen) for shown in self.showable(k, size)]

    def telling_sizes(self, k: int, sizes: Sequence[int]) -> Sequence[int]:
        """With one pair of parameters the largest: k given items of more are less likely to be all chosen first."""
        alike = not isinstance(self._cutoff, Mapping) and not isinstance(self._insert, Mapping)
        return sizes[-1:] if alike else sizes

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
