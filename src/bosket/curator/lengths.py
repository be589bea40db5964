"""How long records are, privately, and where to cut them (Algorithm 1 of Zeng, Naughton and Cai 2012)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.curator.noise import Counts, noisy


@dataclass(frozen=True)
class Lengths:
    """Noisy numbers of records by length, 0 .. longest; the last also holds the longer ones.

    Not clipped, so sums of them are unbiased; one record more or less moves one of them by one.
    """

    counts: Counts

    @property
    def total(self) -> int:
        """The noisy number of records."""
        return int(self.counts.sum())

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """As weights, which cannot be negative."""
        return np.maximum(self.counts, 0).astype(float)

    def cut(self, share: float) -> int:
        """The smallest length that leaves at least this share of the records whole, by noisy numbers; not below 1."""
        enough = np.flatnonzero(np.cumsum(self.counts) >= share * self.total)
        return max(1, int(enough[0]) if len(enough) else len(self.counts) - 1)


def noisy_lengths(sizes: npt.NDArray[np.int64], *, epsilon: float, longest: int, per_person: int = 1) -> Lengths:
    """The distribution of lengths; ``longest`` is public, ``per_person`` records change between neighbours."""
    counts = np.bincount(np.minimum(sizes, longest), minlength=longest + 1)
    return Lengths(noisy(counts, epsilon=epsilon, sensitivity=per_person))
