"""What the sieve decides without looking at the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bosket.checks import check_between, check_fraction, check_integer, check_not_negative
from bosket.errors import ParameterError


@dataclass(frozen=True)
class SieveSettings:
    """What the sieve decides without looking at the data."""

    number: float = 0.01
    """Of the budget, for the number of records."""
    histograms: float = 0.015
    """Of the budget, for each histogram of how many itemsets records hold: one a round."""
    rounds: tuple[float, ...] = (0.12, 0.10, 0.28, 0.26, 0.24)
    """Of the rest, for each round: all items, undecided items, then all that is undecided with candidates of two, three
    and any number of items."""
    undecided: float = 0.03
    """An itemset is measured again while it is frequent with a probability above this and below one minus this."""
    spread: float = 0.5
    """How far the shares that itemsets keep lie apart, over what is cut on average."""
    max_candidates: int = 60_000
    """Itemsets that are measured in one round."""
    largest: int = 12
    """No itemset has more items."""

    def __post_init__(self) -> None:
        check_fraction("number", self.number, of="SieveSettings")
        check_fraction("histograms", self.histograms, of="SieveSettings")
        if not isinstance(self.rounds, tuple) or len(self.rounds) < 3:
            raise ParameterError(
                f"The 'rounds' parameter of SieveSettings must be a tuple of at least 3 shares, got {self.rounds!r}.",
                parameter="rounds",
                value=self.rounds,
            )
        for share in self.rounds:
            check_between("rounds", share, 1e-6, 1e6, of="SieveSettings")
        if self.number + len(self.rounds) * self.histograms > 0.5:
            raise ParameterError(
                "The 'histograms' parameter of SieveSettings must leave half of the budget for the rounds themselves.",
                parameter="histograms",
                value=self.histograms,
            )
        check_between("undecided", self.undecided, 0.0, 0.5, of="SieveSettings")
        check_not_negative("spread", self.spread, of="SieveSettings")
        check_integer("max_candidates", self.max_candidates, least=1, of="SieveSettings")
        check_integer("largest", self.largest, least=1, of="SieveSettings")

    def shares(self) -> tuple[float, ...]:
        """Of the whole budget, for each round without its histogram."""
        rest = (1 - self.number - len(self.rounds) * self.histograms) / math.fsum(self.rounds)
        return tuple(rest * share for share in self.rounds)
