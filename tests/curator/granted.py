"""Compositions for tests that draw thousands of times, where OpenDP's filter would take most of the time."""

from __future__ import annotations

import numpy.typing as npt

from bosket.counting.base import Counts
from bosket.curator.noise import LAPLACE, Composition, noisy


class Uncounted(Composition):
    """The same noise, and nobody adds up what it costs; ``tests/curator/test_noise.py`` has both."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = self.left = epsilon
        self.law = LAPLACE

    def noisy(self, counts: npt.ArrayLike, *, epsilon: float, sensitivity: float) -> Counts:
        return noisy(counts, epsilon=epsilon, sensitivity=int(sensitivity))
