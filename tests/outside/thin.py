"""A mechanism of somebody else: items get lost, none is made up."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bosket.counting.base import Words
from bosket.data import Domain
from bosket.errors import ParameterError
from bosket.mechanisms import Mechanism, RecordChannel
from bosket.mechanisms.base import Floats, Records, Strata
from bosket.mechanisms.mappings import ByItem
from bosket.mechanisms.parameters import Probability, Real, Whole, parameter
from bosket.privacy import Amplification, LocalGuarantee
from bosket.randomness import Randomness, Thresholds


@dataclass(frozen=True, slots=True)
class Thin(Mechanism):
    """Report a present item if all of some coins say so, an absent one never."""

    name = "thin"

    keep: float | Mapping[Any, float] = field(
        metadata=parameter(ByItem(Probability()), "probability that one coin lets a present item stay, 50% and more")
    )
    coins: int = field(default=1, metadata=parameter(Whole(least=1, most=10), "how many coins an item must pass"))
    floor: float | None = field(
        default=None, metadata=parameter(Real(above=0, most=1), "least probability that an item stays")
    )

    def check_together(self) -> None:
        if self.floor is not None and isinstance(self.keep, float) and self.keep**self.coins < self.floor:
            raise ParameterError(
                f"The 'keep' parameter of Thin must keep items with at least {self.floor:g}.",
                parameter="keep",
                value=self.keep,
            )

    def channel(self, domain: Domain) -> ThinChannel:
        keeps = self.keep if isinstance(self.keep, Mapping) else dict.fromkeys(domain.labels, self.keep)
        return ThinChannel(domain, np.array([keeps[label] for label in domain.labels]) ** self.coins)

    def guarantee(
        self, domain: Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        worst = Amplification(math.inf, "any two records")
        influence = self.influence(domain)
        return LocalGuarantee(str(self), worst, worst, worst, reports=reports, influence=influence)


class ThinChannel(RecordChannel):
    """Thin on a domain."""

    items_apart = True

    def __init__(self, domain: Domain, keep: Floats) -> None:
        self.domain = domain
        self._lose = Thresholds(1.0 - keep)

    def randomize_bits(self, bits: Words, rng: Randomness) -> tuple[Words, Strata | None]:
        rng.xor_bernoulli(bits, when_set=self._lose, when_clear=Thresholds(np.zeros(len(self.domain))))
        return bits, None

    def transition(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats:
        matrix = np.ones((1, 1))
        for item in itemset:
            lost = self._lose.probability[item]
            matrix = np.kron(np.array([[1.0, 0.0], [lost, 1.0 - lost]]), matrix)
        return matrix
