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
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from bosket.data import Domain
from bosket.mechanisms.base import Mechanism, Records, as_domain
from bosket.mechanisms.mappings import BySize, LawBySize
from bosket.mechanisms.parameters import FileOption, Option, Probability, Whole, parameter
from bosket.mechanisms.select_channels import CutAndPasteChannel, KeptChannel, SelectASizeChannel, kept_by_cut_and_paste
from bosket.mechanisms.sizes import at, declared_sizes, same_size_guarantee
from bosket.privacy import LocalGuarantee

_COMES_IN = "probability that an item which was not kept comes in"
_SIZES_FILE = FileOption(
    "sizes_file",
    "cut and paste by record size: CSV with columns size,cutoff,insert, or JSON; in JSON also select a size, with kept "
    "in place of cutoff",
)

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


@dataclass(frozen=True, slots=True)
class CutAndPaste(SizedMechanism):
    """Choose a number from 0 to ``cutoff``, keep that number of items (all, if there are fewer); then let every other
    item in, the rest of the record included, with probability ``insert``.

    Both may be one number for all record sizes, or a mapping from record size to number; records of a size that a
    mapping does not name are refused.
    """

    name = "cut_and_paste"
    file_option: ClassVar[FileOption | None] = _SIZES_FILE

    cutoff: int | Mapping[int, int] = field(
        metadata=parameter(
            BySize(Whole(least=1, most=1_000_000)),
            "how many items are kept at most: 0 to this many, each number equally likely",
            Option(
                "cutoff",
                "K",
                help="cut and paste: keep 0 to K items, each number equally likely; others come in with --insert",
            ),
        )
    )
    insert: float | Mapping[int, float] = field(
        metadata=parameter(BySize(Probability()), _COMES_IN, Option("insert", "RHO", beside=("cutoff",)))
    )

    def check_together(self) -> None:
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


@dataclass(frozen=True, slots=True)
class SelectASize(SizedMechanism):
    """Keep j of a record's m items with probability ``kept[m][j]``; let every other item in with ``insert[m]``.

    kept     a mapping from record size m to the m + 1 probabilities of keeping 0 .. m items; m is at most 10 000, and
             there are at most 2**19 probabilities in all
    insert   one number, or a mapping from record size to number
    """

    name = "select_a_size"
    file_option: ClassVar[FileOption | None] = _SIZES_FILE

    kept: Mapping[int, Sequence[float]] = field(
        metadata=parameter(LawBySize(largest=LARGEST_KEPT, most=MOST_KEPT), "probabilities of keeping 0 to m items")
    )
    insert: float | Mapping[int, float] = field(metadata=parameter(BySize(Probability()), _COMES_IN))

    def check_together(self) -> None:
        declared_sizes("SelectASize", self.kept, self.insert)

    @property
    def record_sizes(self) -> frozenset[int]:
        return frozenset(self.kept)

    def channel(self, domain: Domain) -> SelectASizeChannel:
        return KeptChannel(domain, self)
