"""Answer channels: of the few answers that are true of a record, one is told, with ratio gamma between any two records.

A person holds at most ``length`` of n keys: items, or itemsets.  A report *shows* some keys: one that is held with
probability p, any other with q, so that (shown - q) / (p - q) is unbiased.  The channels are three.

Two of them turn keys into values, tell each value of the person with probability p, and any other, all alike, with what
is left.  With u of g values the person's own,

    Pr(y | record) = p where y is its own,   (1 - u p) / (g - u) elsewhere,    p = gamma / (gamma l + g - l)

The second is smallest where u is the length l, 1 / (gamma l + g - l); so two records are told apart by gamma at most,
and by gamma where one holds l keys and the other, also of l, does not hold the one that is told.

* Randomized response: the values are the keys and l dummies that fill up short records; then u = l, and a key that is
  not held is told with q = (1 - l p) / (g - l), g = n + l.
* Local hashing: a seed is drawn, and told; values are buckets of keys under the function that it names.  Two keys in
  one bucket are one value, which is told no more often for it: that keeps the ratio.  A key is shown where its bucket
  is told: q = 1/g exactly, its bucket being independent of those of the keys that are held.

The third is subset selection (Ye and Barg 2018 for l = 1; PrivSet, Wang and others, INFOCOM 2018): k of the n keys and
l dummies are told, gamma times as likely where one of them is the person's own.

The first two are padding and sampling (Wang, Li, Jha, S&P 2018) with what sampling one of l adds to privacy: telling
one sampled key by randomized response of ratio l (gamma - 1) + 1 is this law.  The paper has that for randomized
response, and samples before it hashes otherwise; here the record is hashed first.  The variance then grows as l and not
as l^2.

    Var of a share from n people, where nobody holds the key: q (1 - q) / ((p - q)^2 n)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from bosket.errors import ParameterError
from bosket.mechanisms.columns import Bits, Numbers, PayloadColumn
from bosket.mechanisms.questions.hash_kernels import MOST_BUCKETS
from bosket.randomness.kernels import PRECISION
from bosket.statistics.estimates import Floats

_ONE = 1 << PRECISION
MOST_VALUES = 1 << 12
"""Most values of which a subset is told: a report has a bit for each."""
MOST_LENGTH = MOST_BUCKETS // 2
"""Most keys of a record that are told of."""


@lru_cache(maxsize=1024)
def gamma_of(epsilon: float) -> Fraction:
    """A ratio that is e^epsilon or a trifle less, never more: e^epsilon - 1, rounded to a double, less 2**-50 of it.

    Worked out in decimals and rounded once, since exponentials of machines differ in the last place: whoever randomizes
    under a plan, in a browser too, has the same thresholds.
    """
    exact = Decimal(epsilon)
    context = Context(prec=60 + max(0, -exact.adjusted()), Emax=MAX_EMAX, Emin=MIN_EMIN)
    return 1 + Fraction(float(context.subtract(context.exp(exact), 1))) * (1 - Fraction(1, 1 << 50))


@dataclass(frozen=True)
class Response(ABC):
    """Tells of the keys of a record.

    n_keys   how many there are
    length   the most that a record holds
    epsilon  ln of the ratio
    """

    n_keys: int
    length: int
    epsilon: float

    name: ClassVar[str]

    @property
    @abstractmethod
    def n_values(self) -> int:
        """How many values can be told."""

    @property
    @abstractmethod
    def columns(self) -> tuple[PayloadColumn, ...]:
        """The columns of a report."""

    @property
    @abstractmethod
    def threshold(self) -> int:
        """The true probability of the draw as a multiple of 2**-53, rounded down: towards privacy."""

    @property
    @abstractmethod
    def exact_p(self) -> Fraction:
        """The probability that a key which is held is shown."""

    @property
    @abstractmethod
    def exact_q(self) -> Fraction:
        """The probability that a key which is not held is shown."""

    @property
    @abstractmethod
    def exact_ratio(self) -> Fraction:
        """The ratio as it is drawn: at most e^epsilon."""

    @property
    @abstractmethod
    def exact_both(self) -> tuple[Fraction, Fraction]:
        """The probability that two keys are shown together: where none of them is held, and where any is."""

    @cached_property
    def p(self) -> float:
        return float(self.exact_p)

    @cached_property
    def q(self) -> float:
        return float(self.exact_q)

    @cached_property
    def slope(self) -> float:
        """p - q: by how much a key that is held is shown more often."""
        return float(self.exact_p - self.exact_q)

    @property
    def variance(self) -> float:
        """Of a share, times the number of people, where nobody holds the key."""
        return self.q * (1 - self.q) / self.slope**2 if self.slope > 0 else math.inf

    def both(self, one: Floats, other: Floats, together: Floats) -> Floats:
        """The probability that two keys are shown by one report, from the shares that hold one, the other, and both."""
        none, some = map(float, self.exact_both)
        result: Floats = none + (some - none) * (one + other - together)
        return result

    def check(self, *, of: str) -> None:
        """Refuse an epsilon at which nothing is told: the coins have 53 bits."""
        if self.exact_p <= self.exact_q:
            raise ParameterError(
                f"The 'epsilon' parameter of {of} must be larger: at {self.epsilon:g} answers do not depend on the "
                "record, drawn by 53 bits.",
                parameter="epsilon",
                value=self.epsilon,
            )


class ValueResponse(Response):
    """Tells one value, each of the person's own with probability p."""

    @property
    def threshold(self) -> int:
        gamma = gamma_of(self.epsilon)
        return math.floor(gamma / (gamma * self.length + self.n_values - self.length) * _ONE)

    @property
    def exact_p(self) -> Fraction:
        return Fraction(self.threshold, _ONE)

    @property
    def exact_least(self) -> Fraction:
        """The smallest probability of any value."""
        return (1 - self.length * self.exact_p) / (self.n_values - self.length)

    @property
    def exact_ratio(self) -> Fraction:
        return self.exact_p / self.exact_least


@dataclass(frozen=True)
class RandomizedResponse(ValueResponse):
    """The keys themselves and a dummy for each that a record lacks."""

    name = "response"

    @property
    def n_values(self) -> int:
        return self.n_keys + self.length

    @property
    def exact_q(self) -> Fraction:
        return self.exact_least

    @property
    def exact_both(self) -> tuple[Fraction, Fraction]:
        """A report shows one key or none."""
        return Fraction(0), Fraction(0)

    @property
    def columns(self) -> tuple[PayloadColumn, ...]:
        return (Numbers("answer", self.n_values - 1, "one of the answers as its answer"),)


@dataclass(frozen=True)
class LocalHashing(ValueResponse):
    """Buckets of the keys under the function of a seed."""

    buckets: int

    name = "hashing"

    @property
    def n_values(self) -> int:
        return self.buckets

    @property
    def exact_q(self) -> Fraction:
        return Fraction(1, self.buckets)

    @property
    def exact_both(self) -> tuple[Fraction, Fraction]:
        """Of two keys one has a bucket of its own drawing, that of the other with probability q."""
        return self.exact_q**2, self.exact_q * self.exact_p

    @property
    def columns(self) -> tuple[PayloadColumn, ...]:
        return (
            Numbers("seed", (1 << 64) - 1, "the seed of a hash function as its seed", "uint64"),
            Numbers("value", self.buckets - 1, "one of the buckets as its value"),
        )


@dataclass(frozen=True)
class SubsetSelection(Response):
    """Some of the keys and dummies, gamma times as likely where one of them is the person's own.

    ``chosen`` of the n + l values are told.  Of all sets of so many, C(n, k) hold nothing of the person's; the others
    are told with probability gamma hits / (gamma hits + misses) in all, all alike.
    """

    chosen: int

    name = "subset"

    @property
    def n_values(self) -> int:
        return self.n_keys + self.length

    @cached_property
    def _misses(self) -> int:
        return math.comb(self.n_keys, self.chosen)

    @cached_property
    def _hits(self) -> int:
        return math.comb(self.n_values, self.chosen) - self._misses

    @cached_property
    def threshold(self) -> int:
        weight = gamma_of(self.epsilon) * self._hits
        return math.floor(weight / (weight + self._misses) * _ONE)

    @property
    def _hit(self) -> Fraction:
        """The probability of each set that holds something of the person's."""
        return Fraction(self.threshold, _ONE * self._hits)

    @property
    def _miss(self) -> Fraction:
        return Fraction(_ONE - self.threshold, _ONE * self._misses) if self._misses else Fraction(0)

    @property
    def exact_ratio(self) -> Fraction:
        return self._hit / self._miss

    def _together(self, keys: int) -> tuple[Fraction, Fraction]:
        """The probability that so many keys are told together: where none is held, and where any is."""
        every = self._with(self.n_values, keys)
        missing = self._with(self.n_keys, keys)
        return self._hit * (every - missing) + self._miss * missing, self._hit * every

    def _with(self, values: int, keys: int) -> int:
        """The sets, among so many values, that hold these keys."""
        return math.comb(values - keys, self.chosen - keys) if keys <= min(self.chosen, values) else 0

    @cached_property
    def exact_p(self) -> Fraction:
        return self._together(1)[1]

    @cached_property
    def exact_q(self) -> Fraction:
        return self._together(1)[0]

    @cached_property
    def exact_both(self) -> tuple[Fraction, Fraction]:
        return self._together(2)

    @property
    def columns(self) -> tuple[PayloadColumn, ...]:
        return (Bits("subset", self.n_values),)
