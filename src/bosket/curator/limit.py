"""The limit that itemsets must reach, as a count: a share of the records, or the k-th largest support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from bosket.checks import check_fraction, check_integer
from bosket.curator.cardinality import kth_support
from bosket.curator.lengths import Lengths
from bosket.curator.noise import Composition
from bosket.curator.pool import Pool

BELOW = 0.6
"""Of the noisy k-th support: estimates scatter, and of what is found the best k are kept."""
_A_HAIR_LESS = 1 - 1e-12  # the parts are rounded


class Limit(Protocol):
    """What was asked for, and how it becomes a count of records."""

    @property
    def share(self) -> float:
        """Of epsilon: what the count costs, 0 where it follows from what was measured before."""

    @property
    def asked(self) -> dict[str, Any]:
        """The parameter, as it stands in the ledger and in a release."""

    def count(self, lengths: Lengths, pool: Pool, *, granted: Composition, epsilon: float) -> float:
        """The limit as a count, from noisy numbers, or with noise that ``epsilon`` pays for."""


@dataclass(frozen=True)
class ShareOfRecords:
    """A fraction of the noisy number of records."""

    min_support: float
    share: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_support", check_fraction("min_support", self.min_support))

    @property
    def asked(self) -> dict[str, Any]:
        return {"min_support": self.min_support}

    def of(self, n_records: int) -> float:
        """The count, of a noisy number of records."""
        return self.min_support * max(n_records, 1)

    def count(self, lengths: Lengths, pool: Pool, *, granted: Composition, epsilon: float) -> float:
        return self.of(lengths.total)


MOST_K = 1 << 20
"""Itemsets that may be asked for by their number."""


@dataclass(frozen=True)
class KthSupport:
    """Three fifths of the k-th largest support of up to four items in the pool, noisy."""

    k: int
    share: float = 0.05

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_integer("k", self.k, least=1, most=MOST_K))

    @property
    def asked(self) -> dict[str, Any]:
        return {"k": self.k}

    def count(self, lengths: Lengths, pool: Pool, *, granted: Composition, epsilon: float) -> float:
        kth = kth_support(pool, self.k)
        return BELOW * float(granted.noisy([kth], epsilon=epsilon * _A_HAIR_LESS, sensitivity=1)[0])
