"""What is decided about dense records without looking at the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bosket.checks import check_between, check_fraction, check_integer
from bosket.curator.population.leaves import MOST_LEAVES
from bosket.curator.population.literals import MOST_LITERALS
from bosket.errors import ParameterError

_MORE = 4 / 3  # of what is asked for without a delta


@dataclass(frozen=True)
class PopulationSettings:
    """What is decided about dense records without looking at the data; shares are of what the first round left."""

    dense: float = 0.2
    """Records are dense if the items that are likely frequent have at least this mean support, a share."""
    literals: tuple[float, ...] = (0.15, 0.1)
    """For each round of literals alone; after the first, nothing where all items are decided."""
    numbers: float = 0.15
    """For how many records hold how many literals, at most.  What is left is for literals and their pairs."""
    precision: float = 0.004
    """Of the records: numbers need not be known better."""
    undecided: float = 0.01
    """An item is asked about again while it is frequent with a probability above this and below one minus this."""
    likely: float = 0.1
    """An item is in the population if its probability of being frequent is above this."""
    patterns: float = 0.03
    """Of what is left for pairs, the share for how many patterns of literals there are."""
    repeated: float = 10.0
    """Records have few patterns if each has at least this many of them, on average."""
    leaves: float = 0.4
    """Of the rest, the share for numbers of records by leaf, where patterns are few."""
    most_leaves: int = 4096
    """Of the tree, at most."""
    most_told: int = 300
    """Leaves that have a coefficient, at most."""
    refits: int = 4
    """Fits of what would be measured of the population itself, by which its bias is told: two a draw of noise."""
    kept: float = 0.6
    """Of all that records could add to literals and pairs, the share that the bound lets them."""
    asked: float = 0.3
    """For itemsets that the fitted population leaves undecided."""
    asked_with_delta: float | None = None
    """The same where there is a delta, a third more unless said: the noise of several questions grows with the root of
    their number then."""
    most_asked: int = 128
    """Itemsets that are asked about, at most."""
    most_literals: int = 40
    """Items in the population."""
    most_itemsets: int = 100_000
    """Itemsets that are looked at."""
    misfit: float = 0.014
    """Standard deviation of what pairs do not tell of larger itemsets, over that of a record's own holding one."""

    def __post_init__(self) -> None:
        fractions = ("dense", "numbers", "precision", "undecided", "likely", "kept", "misfit")
        for name in fractions:
            check_fraction(name, getattr(self, name), of="PopulationSettings")
        for name in ("leaves", "patterns"):
            check_between(name, getattr(self, name), 0.0, 0.9, of="PopulationSettings")
        if self.asked != 0.0:  # nobody is asked, otherwise
            check_between("asked", self.asked, 0.0, 0.9, of="PopulationSettings")
        if self.asked_with_delta is not None and self.asked_with_delta != 0.0:
            check_between("asked_with_delta", self.asked_with_delta, 0.0, 0.9, of="PopulationSettings")
        check_between("repeated", self.repeated, 1.0, 1e9, of="PopulationSettings")
        if not isinstance(self.literals, tuple) or not self.literals:
            raise ParameterError(
                f"The 'literals' parameter of PopulationSettings must be a tuple of shares, got {self.literals!r}.",
                parameter="literals",
                value=self.literals,
            )
        for share in self.literals:
            check_between("literals", share, 0.0, 1.0, of="PopulationSettings")
        if self.pairs < 0.1 - 1e-9:
            raise ParameterError(
                "The 'numbers' parameter of PopulationSettings must leave a tenth for pairs, beside 'literals', "
                f"'asked' and 'asked_with_delta', got {self.numbers!r}.",
                parameter="numbers",
                value=self.numbers,
            )
        check_integer("most_asked", self.most_asked, least=1, of="PopulationSettings")
        check_integer("most_literals", self.most_literals, least=1, most=MOST_LITERALS, of="PopulationSettings")
        check_integer("most_leaves", self.most_leaves, least=1, most=MOST_LEAVES, of="PopulationSettings")
        check_integer("most_told", self.most_told, least=1, most=MOST_LEAVES, of="PopulationSettings")
        check_integer("refits", self.refits, least=0, most=64, of="PopulationSettings")
        check_integer("most_itemsets", self.most_itemsets, least=1, of="PopulationSettings")

    @property
    def pairs(self) -> float:
        """The share for literals and their pairs, at least."""
        return 1 - math.fsum(self.literals) - self.numbers - max(self.asked, self.asked_of(is_with_delta=True))

    def asked_of(self, *, is_with_delta: bool) -> float:
        """The share for undecided itemsets."""
        if not is_with_delta:
            return self.asked
        return _MORE * self.asked if self.asked_with_delta is None else self.asked_with_delta

    def costs(self, whole: float, asked: float) -> tuple[tuple[str, float], ...]:
        """What each part is to cost of an amount, with this share for undecided itemsets: what rounds of literals do
        not need goes to the pairs as well, and what is for undecided itemsets is not used where there are none.
        """
        of_literals = math.fsum(self.literals)
        parts = (("literals", of_literals * whole), ("pairs", (1 - of_literals - asked) * whole))
        return (*parts, ("undecided", asked * whole)) if asked else parts
