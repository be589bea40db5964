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
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb, perm
from typing import ClassVar

import numpy as np

from bosket.counting.base import Words
from bosket.data import Domain
from bosket.errors import DataError
from bosket.mechanisms.base import Floats, Mechanism, Records, Strata, as_domain
from bosket.mechanisms.exchangeable import ExchangeableChannel
from bosket.mechanisms.parameters import Option, Probability, parameter
from bosket.mechanisms.sizes import same_size_guarantee
from bosket.privacy import LocalGuarantee
from bosket.privacy.sized import amplification, exchange
from bosket.randomness import Randomness, Thresholds

_FEW = 16  # record sizes whose weights are computed exactly


@dataclass(frozen=True, slots=True)
class Replace(Mechanism):
    """Replace each item, with this ``probability``, by one that the record does not have."""

    name = "replace"
    sends_sizes: ClassVar[bool] = True

    probability: float = field(
        metadata=parameter(
            Probability(),
            "probability that an item is replaced by one that the record does not have",
            Option("replace", "P", help="replace each item, with probability P, by one that the record does not have"),
        )
    )

    def channel(self, domain: Domain) -> ReplaceChannel:
        return ReplaceChannel(domain, self.probability)

    def guarantee(
        self, domain: Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        channel = self.channel(as_domain(domain))
        return same_size_guarantee(str(self), channel, channel.record_sizes, max_size=max_size, reports=reports)


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
        """By inclusion and exclusion of those that are not shown, over the closed form for some that all are.

        No record lacks more than n - m items; 0 stands for what then cannot be.
        """
        if absent > len(self.domain) - size:
            return Fraction(0)
        more = product(range(true - shown + 1), range(absent - inserted + 1))
        return sum(
            (
                (-1) ** (u + v)
                * comb(true - shown, u)
                * comb(absent - inserted, v)
                * self._all_shown(size, shown + u + inserted + v, shown + u)
                for u, v in more
            ),
            Fraction(0),
        )

    def _all_shown(self, size: int, among: int, true: int) -> Fraction:
        """E of (r)_a / (n - m)_a, where r of the other m - l items go and a items that come are given."""
        p, absent, others = self.probability, among - true, len(self.domain) - size
        if absent > others:
            return Fraction(0)
        return (1 - p) ** true * p**absent * Fraction(perm(size - true, absent), perm(others, absent))

    def showable(self, k: int, size: int) -> range:
        """A report has as many items as its record."""
        return self.possible(k, size)

    def telling_sizes(self, k: int, sizes: Sequence[int]) -> Sequence[int]:
        """The sizes with the largest weights by a quick look at all: exact fractions for each would take long.

        Weights may be largest anywhere: at sizes near n (1 - p) reports hardly depend on the truth.
        """
        if len(sizes) <= _FEW:
            return sizes
        found = _largest_weights(k, np.array(sizes, float), len(self.domain), float(self.probability))
        return sorted(sizes[place] for place in np.argsort(-found, kind="stable")[:_FEW].tolist())

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


def _largest_weights(k: int, sizes: Floats, n_items: int, p: float) -> Floats:
    """The largest |weight| of k items by record size m, in floating point: M w = e_k solved for all sizes at once.

    With (x)_a = x (x - 1) ... of a factors, l true and a absent items are all shown with probability
    (1 - p)^l p^a (m - l)_a / (n - m)_a; that of showing just some of them follows by inclusion and exclusion.
    """
    shown = np.empty((k + 1, k + 1, len(sizes)))
    for l, a in product(range(k + 1), repeat=2):
        ratio = [(sizes - l - i) / (n_items - sizes - i) for i in range(a)]
        shown[l, a] = (1 - p) ** l * p**a * np.prod(ratio, axis=0) if a else (1 - p) ** l
    matrix = np.zeros((len(sizes), k + 1, k + 1))
    for l, q in product(range(k + 1), repeat=2):
        for b in range(k - l + 1):
            if q <= l:
                for u, v in product(range(l - q + 1), range(k - l - b + 1)):
                    ways = comb(l, q) * comb(k - l, b) * comb(l - q, u) * comb(k - l - b, v)
                    matrix[:, l, q + b] += (-1) ** (u + v) * ways * shown[q + u, b + v]
    full = np.zeros((len(sizes), k + 1, 1))
    full[:, k] = 1.0
    try:
        solved = np.linalg.solve(matrix, full)
    except np.linalg.LinAlgError:  # some sizes tell nothing, and were left out unless rounding hid it
        solved = np.linalg.pinv(matrix) @ full
    result: Floats = np.abs(solved[:, :, 0]).max(axis=1)
    return result
