"""Replace: every item stays, or makes room for one that the record does not have.

Section 2 of Evfimievski et al. (2004), "uniform randomization": the operator that their paper sets out to improve on.
Items in a report are mostly false when the probability is high, and still a set of several items that appears together
is almost surely true, since it hardly ever comes about by chance.  It is here to be compared with, not recommended.

The paper leaves open what the new items are.  Here the r items that go are replaced by r different ones, every choice
of r items outside the record being equally likely; so a report has as many items as the record, and records of more
than half the domain cannot be taken.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from bosket import strict_json
from bosket.checks import check_probability
from bosket.counting.base import Words
from bosket.data import Domain
from bosket.errors import DataError
from bosket.mechanisms.base import Mechanism, Records, Strata, as_domain
from bosket.mechanisms.exchangeable import ExchangeableChannel
from bosket.mechanisms.sizes import same_size_guarantee
from bosket.privacy import LocalGuarantee
from bosket.privacy.sized import amplification, exchange
from bosket.randomness import Randomness, Thresholds

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, slots=True)
class Replace(Mechanism):
    """Replace each item, with this ``probability``, by one that the record does not have."""

    name = "replace"

    probability: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", check_probability("probability", self.probability, of="Replace"))

    def channel(self, domain: Domain) -> ReplaceChannel:
        return ReplaceChannel(domain, self.probability)

    def guarantee(
        self, domain: Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        channel = self.channel(as_domain(domain))
        return same_size_guarantee(str(self), channel, channel.record_sizes, max_size=max_size, reports=reports)

    def to_json(self) -> dict[str, Any]:
        return {"probability": self.probability}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        known = strict_json.fields(value, of="replace", required=("probability",))
        return cls(probability=strict_json.real(known["probability"], "probability", of="replace"))

    def __str__(self) -> str:
        return f"Replace(probability={self.probability:g})"


class ReplaceChannel(ExchangeableChannel):
    """Replace on a domain."""

    hint = "A record may have at most half of the items there are: each item that goes needs another to come."

    def __init__(self, domain: Domain, probability: float) -> None:
        super().__init__(domain)
        self._probability = probability

    @cached_property
    def _lose(self) -> Thresholds:
        return Thresholds(np.full(len(self.domain), self._probability))

    @cached_property
    def probability(self) -> Fraction:
        """The realised probability that an item is replaced."""
        return Fraction(Thresholds(self._probability).probability[0])

    @property
    def record_sizes(self) -> range:
        """An item that goes needs one outside the record to come."""
        return range(len(self.domain) // 2 + 1)

    def outcome(self, size: int, true: int, shown: int, absent: int, inserted: int) -> Fraction:
        """Sum over the number j of items that stay in all: m - j others come, out of the n - m there are.

        No record lacks more than n - m items; 0 stands for what then cannot be.
        """
        p, others = self.probability, len(self.domain) - size
        if absent > others:
            return Fraction(0)
        return sum(
            (
                comb(size - true, j - shown)
                * (1 - p) ** j
                * p ** (size - j)
                * Fraction(comb(others - absent, size - j - inserted), comb(others, size - j))
                for j in range(shown, size - true + shown + 1)
                if size - j - inserted >= 0
            ),
            Fraction(0),
        )

    def check_reports(self, bits: Words, strata: Strata | None) -> None:
        """A report has as many items as the record."""
        if strata is not None and (np.bitwise_count(bits).sum(axis=1) != strata).any():
            raise DataError("A report does not have as many items as it says its record has.")

    def randomize_bits(self, bits: Words, rng: Randomness) -> tuple[Words, Strata | None]:
        sizes = self.sizes_of(bits)
        truth = bits.copy()
        rng.xor_bernoulli(bits, when_set=self._lose, when_clear=Thresholds(np.zeros(len(self.domain))))
        stayed = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
        rng.insert_lanes(bits, truth, sizes - stayed, len(self.domain))
        return bits, sizes

    def steps(self, size: int) -> int:
        return 2 * size

    def amplification(self, size: int) -> tuple[float, float]:
        """A report has m items; with a of them true its probability is (1 - p)^a p^(m - a) / C(n - m, m - a)."""
        if size == 0:
            return 0.0, 0.0
        p, others = float(self.probability), len(self.domain) - size
        if p in (0.0, 1.0):
            return math.inf, math.inf  # all items are true, or none is
        r = np.arange(size)
        log_choices = np.concatenate([[0.0], np.cumsum(np.log((others - r) / (r + 1)))])  # ln C(n - m, r)
        true = np.arange(size + 1)
        phi = true * math.log1p(-p) + (size - true) * math.log(p) - log_choices[::-1]
        return exchange(phi), amplification(phi, len(self.domain))
