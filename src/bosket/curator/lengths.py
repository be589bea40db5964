"""How long records are, privately, and where to cut them (Algorithm 1 of Zeng, Naughton and Cai 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.curator.noise import Counts, noisy
from bosket.estimates import Floats

_OF_TOTAL = 0.4
_GROWTH = 5, 4  # a bin starts a quarter beyond the one before: long records are few, and each bin has noise of its own


@dataclass(frozen=True)
class Lengths:
    """Noisy numbers of records by length; one record more or less moves one of ``counts``, by one, and ``total``."""

    counts: Counts
    """By bin; the last also holds the records that are longer.  Not clipped."""
    total: int
    """The noisy number of records, measured by itself: the sum of ``counts`` has the noise of all of them."""
    starts: npt.NDArray[np.int64]
    """The shortest length in each bin."""

    @cached_property
    def weights(self) -> Floats:
        """Numbers for lengths 0, 1, 2, ... that are not negative and add up to the noisy number of records.

        The nearest to ``counts`` that are (a projection on the simplex), even within a bin.  To set negative numbers to
        0 and leave the others would make long records out of noise.
        """
        total = max(self.total, 1)
        falling = -np.sort(-self.counts.astype(float))
        excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
        nearest = np.maximum(self.counts - excess[np.flatnonzero(falling > excess)[-1]], 0.0)
        widths = np.diff(self.starts, append=self.starts[-1] + 1)
        return np.asarray(np.repeat(nearest / widths, widths))

    def cut(self, share: float) -> int:
        """The smallest length that leaves at least this share of the records whole, by noisy numbers; not below 1."""
        up_to = np.cumsum(self.weights)
        return max(1, int(np.searchsorted(up_to, share * up_to[-1] * (1 - 1e-12))))


def bins(longest: int) -> npt.NDArray[np.int64]:
    """The first lengths of bins for 0 .. longest, single lengths where these are short.

    >>> bins(40).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 40]
    """
    starts = [0]
    while starts[-1] < longest:
        starts.append(min(longest, max(starts[-1] + 1, starts[-1] * _GROWTH[0] // _GROWTH[1])))
    return np.array(starts, np.int64)


def binned(sizes: npt.NDArray[np.int64], longest: int) -> Counts:
    """How many records are in each bin.  Exact: for whoever adds noise to it."""
    starts = bins(longest)
    return np.bincount(np.searchsorted(starts, sizes, side="right") - 1, minlength=len(starts))


def parts(epsilon: float) -> tuple[float, float]:
    """What of an epsilon is for the lengths, and what for the number of records."""
    return (1 - _OF_TOTAL) * epsilon, _OF_TOTAL * epsilon


def noisy_lengths(sizes: npt.NDArray[np.int64], *, epsilon: float, longest: int, per_person: int = 1) -> Lengths:
    """The distribution of lengths and the number of records; ``longest`` is public, ``per_person`` records change
    between neighbours.

    The number itself changes by at most one: a record in place of another does not move it.
    """
    of_lengths, of_total = parts(epsilon)
    total = noisy(np.array([len(sizes)]), epsilon=of_total, sensitivity=1)
    counts = noisy(binned(sizes, longest), epsilon=of_lengths, sensitivity=per_person)
    return Lengths(counts, int(total[0]), bins(longest))
