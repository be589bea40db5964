"""How long records are, privately, and where to cut them (Algorithm 1 of Zeng, Naughton and Cai 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.curator.noise import Counts, noisy, scale_of
from bosket.estimates import Floats

_OF_TOTAL = 0.4
_GROWTH = 7, 6  # a bin starts a sixth beyond the one before: long records are few, and each bin has noise of its own
_CLEAR = 3.0  # standard deviations


@dataclass(frozen=True)
class Lengths:
    """Noisy numbers of records by length; one record more or less moves one of ``counts``, by one, and ``total``."""

    counts: Counts
    """By bin; the last also holds the records that are longer.  Not clipped."""
    total: int
    """The noisy number of records, measured by itself: the sum of ``counts`` has the noise of all of them."""
    starts: npt.NDArray[np.int64]
    """The shortest length in each bin."""
    scale: float
    """Of the noise of ``counts``."""

    @cached_property
    def weights(self) -> Floats:
        """How many records have 0, 1, 2, ... items, as far as can be told; at least the shortest.

        Lengths from the first on where all that follow together are within the noise are taken not to occur: a few
        hundred records of ninety items, made of noise, would outweigh the items of all others.
        """
        after = np.cumsum(self.counts[::-1])[::-1]
        noise = self.scale * np.sqrt(2 * np.arange(len(self.counts), 0, -1))
        told = np.flatnonzero(after > _CLEAR * noise)
        return self._spread(int(told[-1]) + 1 if len(told) else 1)

    @cached_property
    def longest_likely(self) -> Floats:
        """The same with every length that may occur, for whoever wants to be sure of long records rather than right."""
        return self._spread(len(self.counts))

    def _spread(self, n_bins: int) -> Floats:
        """The first bins as numbers for each length that are not negative and add up to the noisy number of records.

        The nearest to ``counts`` that do (a projection on the simplex), even within a bin: to set negative numbers to 0
        and leave the others would make records out of noise.
        """
        counts = self.counts[:n_bins].astype(float)
        falling = -np.sort(-counts)
        excess = (np.cumsum(falling) - max(self.total, 1)) / np.arange(1, n_bins + 1)
        nearest = np.zeros(len(self.counts))
        nearest[:n_bins] = np.maximum(counts - excess[np.flatnonzero(falling > excess)[-1]], 0.0)
        widths = np.diff(self.starts, append=self.starts[-1] + 1)
        return np.asarray(np.repeat(nearest / widths, widths))

    def cut(self, share: float) -> int:
        """The smallest length that leaves at least this share of the records whole, by noisy numbers; not below 1."""
        up_to = np.cumsum(self.weights)
        return max(1, int(np.searchsorted(up_to, share * up_to[-1] * (1 - 1e-12))))


def bins(longest: int) -> npt.NDArray[np.int64]:
    """The first lengths of bins for 0 .. longest, single lengths where these are short.

    >>> bins(40).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 21, 24, 28, 32, 37, 40]
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
    return Lengths(counts, int(total[0]), bins(longest), scale_of(of_lengths, per_person))
