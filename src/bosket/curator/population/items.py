"""What rounds so far say about the supports of items, where many may be near all records.

Supports are shares of the records on an even grid, with one prior for all items, fitted by EM as for the sieve.  Every
round adds a likelihood: of a noisy sum for the item, or for records that lack it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bosket.curator.sieve.beliefs import posterior_of, prior_of
from bosket.curator.sieve.contributions import Bounding
from bosket.statistics.estimates import Floats

_POINTS = 401


class ItemBeliefs:
    """A posterior of the support of every item."""

    def __init__(self, bounding: Bounding, n_items: int, n_records: float) -> None:
        self._bounding = bounding
        self._n_records = n_records
        self.grid: Floats = np.linspace(0.0, 1.0, _POINTS)
        self._likelihood = np.zeros((n_items, _POINTS))

    def __len__(self) -> int:
        return len(self._likelihood)

    def observe(
        self,
        items: npt.NDArray[np.integer],
        values: Floats,
        scale: float,
        shares: Floats,
        complemented: npt.NDArray[np.bool_],
        doubt: float,
    ) -> None:
        """Noisy sums of bounded contributions, in records, that keep these shares on average, give or take ``doubt`` of
        what is expected.
        """
        expected = np.where(complemented[:, None], 1 - self.grid, self.grid) * shares[:, None] * self._n_records
        scales = np.hypot(scale, doubt * expected)
        self._likelihood[items] += self._bounding.log_density((values[:, None] - expected) / scales) - np.log(scales)

    @property
    def posterior(self) -> Floats:
        return posterior_of(self._likelihood, prior_of(self._likelihood, np.ones(len(self._likelihood))))

    def summary(self, limit: float) -> tuple[Floats, Floats, Floats]:
        """Of each item the mean, the standard deviation, and the probability of a support of at least ``limit``."""
        posterior = self.posterior
        mean = posterior @ self.grid
        deviation = np.sqrt(np.maximum(posterior @ self.grid**2 - mean**2, 1e-8))
        half = 0.5 / (_POINTS - 1)
        above = np.clip((self.grid + half - limit) / (2 * half), 0.0, 1.0)
        return mean, deviation, np.asarray(posterior @ above)
