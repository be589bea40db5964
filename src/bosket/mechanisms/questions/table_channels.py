"""How a question about a table is answered: by randomized response, or through a hash function that a report names.

A question has d answers, of which exactly one is true.  A report *shows* answers: the true one with probability p, any
other with q, so that of an answer a person has with probability f, q + kappa f of the reports show it, kappa = p - q.

* Randomized response tells an answer, the true one gamma times as often as any other, and shows that one alone.
  q = 1 / (gamma + d - 1), kappa = (gamma - 1) / (gamma + d - 1).
* Local hashing tells a seed and a bucket of g: that of the true answer with probability p = gamma / (gamma + g - 1),
  any other, all alike, else.  It shows all answers of that bucket.  The bucket of an answer that is not the true one is
  independent of what is told, whence q = 1/g for a function drawn at random.  The ratio is gamma under *every*
  function: privacy does not rest on the hash.

Where nobody has the answer, the variance of its share, times the number of people, is

    (gamma + d - 2) / (gamma - 1)^2   by response,    (gamma + g - 1)^2 / ((g - 1) (gamma - 1)^2)   by hashing

The second is 4 gamma / (gamma - 1)^2 at g = gamma + 1, whatever d is; g is the power of two for which it is least.  So
hashing has the smaller one where d > gamma^2 / (g - 1) + gamma + g + 1, which is 3 gamma + 2 or a little more: from 61
answers on at gamma 19, from 27 at 8.14.

p and kappa are multiples of 2**-53, rounded down so that gamma is not exceeded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from bosket.mechanisms.questions.hash_kernels import MOST_BUCKETS
from bosket.randomness.kernels import PRECISION

AUTO, RESPONSE, HASHING = "auto", "response", "hashing"
TABLE_CHANNELS = (AUTO, RESPONSE, HASHING)
"""How the questions of a design may be answered; by "auto", each by what has the smaller variance."""
_ONE = 1 << PRECISION


@dataclass(frozen=True)
class Telling:
    """How a question is answered.

    n_answers  d
    n_values   what may be told: the answers, or the buckets of a hash
    threshold  53 random bits below it tell the truth; else any answer is told, or any other bucket
    """

    n_answers: int
    n_values: int
    threshold: int
    is_hashed: bool

    @cached_property
    def exact_keep(self) -> Fraction:
        """kappa: by how much more often an answer is shown where it is the true one."""
        told = Fraction(self.threshold, _ONE)
        return told - Fraction(1, self.n_values) if self.is_hashed else told

    @cached_property
    def keep(self) -> float:
        return float(self.exact_keep)

    @cached_property
    def by_chance(self) -> float:
        """q: the probability that an answer is shown which is not the true one."""
        if self.is_hashed:
            return 1.0 / self.n_values
        return (1.0 - self.keep) / self.n_answers  # 1 - keep is exact: a multiple of 2**-53

    @cached_property
    def excess(self) -> Fraction:
        """The realised ratio, less 1."""
        if self.is_hashed:
            told = Fraction(self.threshold, _ONE)
            return told * (self.n_values - 1) / (1 - told) - 1
        return self.exact_keep * self.n_answers / (1 - self.exact_keep)


@lru_cache(maxsize=1024)
def told(channel: str, gamma: float, n_answers: int) -> Telling:
    """How a question of so many answers is answered with ratio gamma."""
    exact = Fraction(gamma)
    if channel == HASHING or (channel == AUTO and hashing_is_better(gamma, n_answers)):
        g = best_buckets(gamma)
        return Telling(n_answers, g, math.floor(exact / (exact + g - 1) * _ONE), True)
    threshold = min(math.floor((exact - 1) / (exact + n_answers - 1) * _ONE), _ONE - 1)
    return Telling(n_answers, n_answers, threshold, False)


@lru_cache(maxsize=1024)
def best_buckets(gamma: float) -> int:
    """The power of two for which hashing has the smallest variance, about gamma + 1."""
    sizes = [1 << power for power in range(1, MOST_BUCKETS.bit_length())]
    return min(sizes, key=lambda g: _hashing(gamma, g))


def hashing_is_better(gamma: float, n_answers: int) -> bool:
    """Whether it has the smaller variance; in whole numbers and fractions, alike on every machine."""
    return Fraction(gamma) + n_answers - 2 > _hashing(gamma, best_buckets(gamma))


def _hashing(gamma: float, g: int) -> Fraction:
    """The variance of hashing to g buckets, times (gamma - 1)^2."""
    return (Fraction(gamma) + g - 1) ** 2 / (g - 1)
