"""What the sieve decides without looking at the data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from bosket.checks import check_between, check_fraction, check_integer, check_not_negative
from bosket.curator.population.settings import PopulationSettings
from bosket.errors import ParameterError


@dataclass(frozen=True)
class SieveSettings:
    """What the sieve decides without looking at the data; every field is public, and stands in ``about``.

    Shares are of the budget: of epsilon, or of rho where there is a delta.
    """

    number: float = 0.01
    """Of the budget, for the number of records, which makes the limit a count: a fraction in (0, 1]."""
    histograms: float = 0.025
    """Of the budget, for each histogram of how many itemsets records hold, two in the first round and one in others: a
    fraction in (0, 1].  ``number`` and all histograms take no more than half of the budget."""
    rounds: tuple[float, ...] = (0.12, 0.10, 0.28, 0.26, 0.24)
    """Of the rest, for each round: all items, undecided items, then all that is undecided with candidates of two, three
    and any number of items.  At least three numbers above 0, of which only the ratios count; with n of them, new
    itemsets have up to n - 2 items before the last round, and any number of items in it."""
    ahead: float = 0.28
    """Of the shares of later rounds, the part that the third one gets beside its own where it has ``max_candidates``
    new itemsets and there is no delta: at least 0 and below 1.  Contributions are spread over all of them, so that its
    noise is several times that of later rounds, and triples of pairs that it does not find are never measured."""
    undecided: float = 0.03
    """An itemset is measured again while it is frequent with a probability above this and below one minus this, and a
    new one is measured if its prior probability is above this: between 0 and 0.5."""
    spread: float = 0.5
    """How far the shares that itemsets keep lie apart, over what is cut on average: at least 0.  A larger one cuts less
    from records, and makes posteriors wider."""
    max_candidates: int = 60_000
    """New itemsets that are measured in one round, and as many again that are undecided; fewer where these times the
    noisy number of records would pass 2^34."""
    largest: int = 12
    """No itemset has more items; ``max_size`` of a call may say fewer."""
    population: PopulationSettings | None = field(default_factory=PopulationSettings)
    """What is decided where records are dense, or None: rounds go on whatever records are.  A table's cells are not
    counted either."""

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
        if self.number + self.n_histograms * self.histograms > 0.5:
            raise ParameterError(
                "The 'histograms' parameter of SieveSettings must leave half of the budget for the rounds themselves.",
                parameter="histograms",
                value=self.histograms,
            )
        if check_not_negative("ahead", self.ahead, of="SieveSettings"):
            check_between("ahead", self.ahead, 0.0, 1.0, of="SieveSettings")
        check_between("undecided", self.undecided, 0.0, 0.5, of="SieveSettings")
        check_not_negative("spread", self.spread, of="SieveSettings")
        check_integer("max_candidates", self.max_candidates, least=1, of="SieveSettings")
        check_integer("largest", self.largest, least=1, of="SieveSettings")
        if self.population is not None and not isinstance(self.population, PopulationSettings):
            raise ParameterError(
                "The 'population' parameter of SieveSettings must be PopulationSettings, or None, got a "
                f"{type(self.population).__name__}.",
                parameter="population",
                value=self.population,
                hint="SieveSettings(population=bk.curator.PopulationSettings(...)).",
            )

    @property
    def n_histograms(self) -> int:
        return len(self.rounds) + 1

    def shares(self) -> tuple[float, ...]:
        """Of the whole budget, for each round without its histogram."""
        rest = (1 - self.number - self.n_histograms * self.histograms) / math.fsum(self.rounds)
        return tuple(rest * share for share in self.rounds)

    def shares_ahead(self) -> tuple[float, ...]:
        """The same where the third round gets more."""
        first, second, third, *later = self.shares()
        return (first, second, third + self.ahead * math.fsum(later), *((1 - self.ahead) * share for share in later))
