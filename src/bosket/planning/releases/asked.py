"""What a curator will be asked for, as a value: known before any record is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bosket.budget.accounts import RELATIONS
from bosket.checks import check_choice, check_fraction, check_limits
from bosket.data import Baskets, Domain, Table
from bosket.privacy.guarantee import rounded_up

if TYPE_CHECKING:
    from bosket.curator import Release, Settings, SieveSettings


@dataclass(frozen=True)
class Curator:
    """A request to :func:`bosket.curator.mine`, with its arguments: everything that is public about a release.

    >>> print(Curator(epsilon=1.0, min_support=0.01, delta=1e-6))
    sieve, epsilon 1, delta 1e-06, supports from 0.01 on
    """

    epsilon: float
    min_support: float
    delta: float = 0.0
    method: str = "sieve"
    max_size: int | None = None
    neighbours: str = "add-remove"
    settings: Settings | SieveSettings | None = None

    def __post_init__(self) -> None:
        from bosket.curator.method import MethodOptions

        MethodOptions(self.method, self.delta, self.max_size, self.settings)
        check_limits("epsilon", self.epsilon, above=0.0, most=most_epsilon(self.delta), of="Curator")
        check_fraction("min_support", self.min_support, of="Curator")
        check_choice("neighbours", self.neighbours, RELATIONS, of="Curator")

    def release(self, records: Baskets | Table, vocabulary: Domain) -> Release:
        """A release of records that are public or simulated: a budget in memory pays, and nobody is protected."""
        from bosket.curator import mine

        return mine(
            records, self.epsilon, self.min_support, delta=self.delta, method=self.method,
            vocabulary=None if isinstance(records, Table) else vocabulary, neighbours=self.neighbours,
            max_size=self.max_size, settings=self.settings,
        )  # fmt: skip

    def __str__(self) -> str:
        delta = f", delta {rounded_up(self.delta, 6)}" if self.delta else ""
        size = "" if self.max_size is None else f" of up to {self.max_size} items"
        return (
            f"{self.method}, epsilon {rounded_up(self.epsilon, 6)}{delta}, supports{size} from {self.min_support:g} on"
        )


def most_epsilon(delta: float) -> float:
    """The largest epsilon that a release takes, with this delta beside it."""
    from bosket.curator.declared import MOST_EPSILON, MOST_WITH_DELTA

    return MOST_WITH_DELTA if delta else MOST_EPSILON
