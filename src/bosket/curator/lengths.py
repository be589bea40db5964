"""How long records are, privately, and where to cut them (Algorithm 1 of Zeng, Naughton and Cai 2012)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.curator.noise import Counts, noisy

_OF_TOTAL = 0.4


@dataclass(frozen=True)
class Lengths:
    """Noisy numbers of records by length, 0 .. longest; the last also holds the longer ones.

    Not clipped, so sums of them are unbiased; one record more or less moves one of them by one.
    """

    counts: Counts
    total: int
    """The noisy number of records, measured by itself: the sum of ``counts`` has the noise of all of them."""

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """As weights, which cannot be negative."""
        return np.maximum(self.counts, 0).astype(float)

    def cut(self, share: float) -> int:
        """The smallest length that leaves at least this share of the records whole, by noisy numbers; not below 1."""
        enough = np.flatnonzero(np.cumsum(self.counts) >= share * self.counts.sum())
        return max(1, int(enough[0]) if len(enough) else len(self.counts) - 1)


def parts(epsilon: float) -> tuple[float, float]:
    """What of an epsilon is for the lengths, and what for the number of records."""
    return (1 - _OF_TOTAL) * epsilon, _OF_TOTAL * epsilon


def noisy_lengths(sizes: npt.NDArray[np.int64], *, epsilon: float, longest: int, per_person: int = 1) -> Lengths:
    """The distribution of lengths and the number of records; ``longest`` is public, ``per_person`` records change
    between neighbours.

    The number itself changes by at most one: a record in place of another does not move it.
    """
    counts = np.bincount(np.minimum(sizes, longest), minlength=longest + 1)
    of_lengths, of_total = parts(epsilon)
    total = noisy(np.array([len(sizes)]), epsilon=of_total, sensitivity=1)
    return Lengths(noisy(counts, epsilon=of_lengths, sensitivity=per_person), int(total[0]))
