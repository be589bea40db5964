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

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from bosket import strict_json
from bosket.checks import check_integer, check_probability
from bosket.data import Domain
from bosket.errors import ParameterError
from bosket.mechanisms.base import Mechanism, Records, as_domain
from bosket.mechanisms.laws import check_law
from bosket.mechanisms.select_channels import CutAndPasteChannel, KeptChannel, SelectASizeChannel, kept_by_cut_and_paste
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

if TYPE_CHECKING:
    from typing import Self

MOST_KEPT = 1 << 19
"""Most probabilities of all record sizes together that SelectASize takes."""
LARGEST_KEPT = 10_000
"""Largest record size for which SelectASize takes them."""


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
