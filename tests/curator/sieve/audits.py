"""How the sieve is audited: a run is noted, and played again on a neighbour, led by the answers of the first.

All that a sound program lets out follows from its answers.  Led by the same answers it asks a neighbour the same, so
the likelihood of the answers under both data sets is known, and so is the privacy loss of the run: no statistic tells
neighbours apart better (Neyman and Pearson).  A program that asks something else has looked at the data without paying.

    moved   the most that this course of a run can lose: sum of |x - x'|_1 / scale, or of |x - x'|_2^2 / (2 scale^2)
    ratio   the log-likelihood ratio of its answers; infinite where the neighbour was asked something else
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.audit.divergences import gaussian_ratio
from bosket.audit.lower_bounds import laplace_ratio
from bosket.counting.base import Counts
from bosket.curator.noise import GAUSSIAN, LAPLACE, Composition, NoiseLaw, NoisyCounts
from bosket.curator.sieve.contributions import CONCENTRATED, PURE, Bounding
from bosket.curator.sieve.rounds import Sieve
from bosket.curator.sieve.settings import SieveSettings
from bosket.data import Baskets

APART = 1e9
"""The ratio of answers that the neighbour was not asked for, in front of all others."""

Program = Callable[[Baskets, Composition], Any]


class EnoughMeasuredError(Exception):
    """The run is over where the stage that is looked at ends."""


class AskedOtherwiseError(Exception):
    """A program asked a neighbour something else, though it was answered the same."""


@dataclass(frozen=True, eq=False)
class Measured:
    """One measurement: what was counted, what was asked for, and the answer."""

    exact: Counts
    asked: tuple[float, float]
    scale: float
    answer: NoisyCounts


@dataclass(frozen=True, eq=False)
class Claim:
    """A kind of privacy, and how much of it: an epsilon, or a rho."""

    law: NoiseLaw
    amount: float

    @property
    def bounding(self) -> Bounding:
        return PURE if self.law is LAPLACE else CONCENTRATED

    def ratio(self, one: Measured, other: Measured) -> float:
        compared = laplace_ratio if self.law is LAPLACE else gaussian_ratio
        return compared(one.answer, one.exact, other.exact, one.scale)

    def moved(self, one: Measured, other: Measured) -> float:
        difference = (one.exact - other.exact).astype(float) / one.scale
        return float(np.abs(difference).sum() if self.law is LAPLACE else (difference**2).sum() / 2)


class Noting(Composition):
    """Notes what is measured, with noise as everywhere, or with the answers of another run.

    Nobody adds up what it costs, as OpenDP's filter takes most of the time; tests of rounds and noise have the filter.
    """

    def __init__(self, claim: Claim, *, most: int | None = None, lead: Sequence[Measured] | None = None) -> None:
        self.law, self.epsilon, self.left = claim.law, claim.amount, claim.amount
        self.noted: list[Measured] = []
        self._numbers = 0
        self._most, self._lead = most, lead

    def noisy(self, counts: npt.ArrayLike, *, epsilon: float, sensitivity: float) -> NoisyCounts:
        exact = np.array(counts, np.int64)
        if exact.size:
            self.noted.append(Measured(exact, (epsilon, sensitivity), *self._answer_to(exact, epsilon, sensitivity)))
        if len(self.noted) == self._most:
            raise EnoughMeasuredError
        return self.noted[-1].answer if exact.size else exact

    def _answer_to(self, exact: Counts, amount: float, sensitivity: float) -> tuple[float, NoisyCounts]:
        scale = self.scale_of(amount, sensitivity)
        if self._lead is None:
            return scale, self.drawn(exact, amount, sensitivity)
        at = len(self.noted)
        same = at < len(self._lead) and self._lead[at].asked == (amount, sensitivity)
        if not same or self._lead[at].exact.shape != exact.shape:
            raise AskedOtherwiseError
        return scale, self._lead[at].answer

    def drawn(self, exact: Counts, amount: float, sensitivity: float) -> NoisyCounts:
        return Composition.noisy(self, exact, epsilon=amount, sensitivity=sensitivity)

    def _answer(self, counts: Counts, measurement: Any, sensitivity: float) -> Any:
        return measurement(counts)


class Unmoved(Noting):
    """Answers without noise, which noise may well give: what lies at the limit is undecided to the end."""

    def drawn(self, exact: Counts, amount: float, sensitivity: float) -> NoisyCounts:
        return exact


@dataclass(frozen=True)
class Rounds:
    """All rounds of the sieve, for a share of the records, with what each of them tells."""

    share: float = 0.5
    per_person: int = 1
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, baskets: Baskets, granted: Composition) -> Any:
        bounding = PURE if granted.law is LAPLACE else CONCENTRATED
        program = Sieve(baskets, bounding, granted, SieveSettings(**self.options), self.per_person)
        number = program.number()
        return program.run(self.share * number, number)


def noted(program: Program, baskets: Baskets, granted: Noting) -> list[Measured]:
    """What a program measures, to its end or to that of the stage."""
    with suppress(EnoughMeasuredError):
        program(baskets, granted)
    return granted.noted


@dataclass(frozen=True)
class Audit:
    """Two neighbours and a claim; ``most`` measurements of a run are looked at."""

    program: Program
    one: Baskets
    other: Baskets
    claim: Claim
    most: int | None = None
    grant: type[Noting] = Noting

    def run(self, *, swapped: bool = False) -> tuple[float, float]:
        """The ratio of one run, one against other, and the most that its course can lose."""
        first, second = (self.other, self.one) if swapped else (self.one, self.other)
        made = noted(self.program, first, self.grant(self.claim, most=self.most))
        try:
            led = noted(self.program, second, self.grant(self.claim, most=self.most, lead=made))
        except AskedOtherwiseError:
            led = []
        if len(led) != len(made):
            return (-APART if swapped else APART), np.inf
        pairs = list(zip(made, led, strict=True))
        ratio = sum(self.claim.ratio(a, b) for a, b in pairs)
        return (-ratio if swapped else ratio), sum(self.claim.moved(a, b) for a, b in pairs)

    def ratios(self, trials: int) -> tuple[list[float], list[float], float]:
        """Of so many runs on the one data set and on the other, and the most that any course of them can lose."""
        parts = [[self.run(swapped=swapped) for _ in range(trials)] for swapped in (False, True)]
        one, other = ([ratio for ratio, _ in part] for part in parts)
        return one, other, max(most for part in parts for _, most in part)


def of(records: Iterable[Iterable[int]], *, n_items: int) -> Baskets:
    return Baskets([sorted(record) for record in records], items=range(n_items))


PURE_CLAIM = Claim(LAPLACE, 1.0)
RHO_CLAIM = Claim(GAUSSIAN, 0.5)
