"""What a client says of the size of a record that is cut: the law of it, and the factors that undo the cutting.

A record of m > l items is cut to l of them, each choice equally likely.  k given items survive together with
probability

    C(m - k, l - k) / C(m, l) = (l)_k / (m)_k,    (x)_k = x (x - 1) ... of k factors

so that a weight of the record as cut, times v_k(m) = (m)_k / (l)_k, is unbiased for the record as it was.  The client
states max(m, l), as it is, or by randomized response over the d = L - l + 1 sizes from l to the largest one L: the true
one with probability p, any other with q = (1 - p) / (d - 1).  A factor phi_k(s) of what is stated must then have

    sum over s of Pr(s | m) phi_k(s) = v_k(m),    so    phi_k(s) = (v_k(s) - q sum of v_k) / (p - q)

Size and items are drawn by coins of their own, so the product of factor and weight is unbiased for every record; what
is stated as it is has p = 1 and q = 0.  See docs/theory/cutting.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.errors import ParameterError
from bosket.mechanisms.questions.responses import gamma_of
from bosket.randomness import Randomness
from bosket.randomness.kernels import PRECISION
from bosket.statistics.estimates import Floats

_ONE = 1 << PRECISION


@dataclass(frozen=True)
class StatedSizes:
    """The sizes from ``limit``, which stands for all that are not cut, to ``longest``.

    epsilon  ln of the ratio between the laws of any two sizes; None where the size is stated as it is
    """

    limit: int
    longest: int
    epsilon: float | None = None

    def __post_init__(self) -> None:
        assert 1 <= self.limit < self.longest
        if self.p <= self.q:
            raise ParameterError(
                f"The 'size_epsilon' parameter of PrivacyUnit must be large enough that one of {self.n_sizes} sizes "
                f"leaves a trace in what is stated, got {self.epsilon}.",
                parameter="size_epsilon",
                value=self.epsilon,
            )

    @property
    def n_sizes(self) -> int:
        """d: how many sizes can be stated."""
        return self.longest - self.limit + 1

    @property
    def is_clear(self) -> bool:
        """Whether sizes are stated as they are."""
        return self.epsilon is None

    @cached_property
    def threshold(self) -> int:
        """p as a multiple of 2**-53, rounded down: towards privacy."""
        if self.epsilon is None:
            return _ONE
        gamma = gamma_of(self.epsilon)
        return math.floor(gamma / (gamma + self.n_sizes - 1) * _ONE)

    @cached_property
    def p(self) -> Fraction:
        """The probability that the true size is stated."""
        return Fraction(self.threshold, _ONE)

    @cached_property
    def q(self) -> Fraction:
        """The probability of any other size."""
        return (1 - self.p) / (self.n_sizes - 1)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """All sizes that can be stated."""
        return np.arange(self.limit, self.longest + 1)

    @cached_property
    def _factors(self) -> dict[int, Floats]:
        return {}

    def growth(self, k: int) -> Floats:
        """v_k by size: one over the probability that k given items survive."""
        result = np.ones(self.n_sizes)
        for i in range(k):
            result *= (self.sizes - i) / (self.limit - i)
        return result

    def factors(self, k: int) -> Floats:
        """phi_k by stated size, from ``limit`` on."""
        if k not in self._factors:
            growth = self.growth(k)
            if not self.is_clear:
                growth = (growth - float(self.q) * growth.sum()) / float(self.p - self.q)
            self._factors[k] = growth if k else np.ones(self.n_sizes)
        return self._factors[k]

    def squares(self, k: int) -> Floats:
        """E[phi_k^2] by true size: v_k^2 where sizes are stated as they are."""
        squares = self.factors(k) ** 2
        return squares if self.is_clear else float(self.p - self.q) * squares + float(self.q) * float(squares.sum())

    def state(self, sizes: npt.NDArray[np.integer[Any]], rng: Randomness) -> npt.NDArray[np.int64]:
        """What is stated of records of these sizes, none of them beyond ``longest``."""
        at: npt.NDArray[np.int64] = np.maximum(sizes, self.limit).astype(np.int64) - self.limit
        if not self.is_clear:
            law = np.array([self.threshold, _ONE], np.uint64)
            is_other = rng.choose(law, len(at))
            other = 1 + rng.integers(self.n_sizes - 1, len(at))  # for all alike: time does not tell who needs it
            at = (at + is_other * other) % self.n_sizes
        result: npt.NDArray[np.int64] = at + self.limit
        return result
