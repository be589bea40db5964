"""How long records are, privately, and where to cut them (Algorithm 1 of Zeng, Naughton and Cai 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts
from bosket.curator.noise import Composition, scale_of
from bosket.statistics.estimates import Floats

_OF_TOTAL = 0.4
_GROWTH = 7, 6  # a bin starts a sixth beyond the one before: long records are few, and each bin has noise of its own
_FAR = 2  # and a bin beyond the longest that are told apart starts at twice the one before
_CLEAR = 3.0  # standard deviations
_CLEAR_FAR = 6.0  # likewise beyond the lengths told apart: noise there would outweigh all records


@dataclass(frozen=True)
class Lengths:
    """Noisy numbers of records by length; one record more or less moves one of ``counts``, by one, and ``total``."""

    counts: Counts
    """By bin.  Not clipped."""
    total: int
    """The noisy number of records, measured by itself: the sum of ``counts`` has the noise of all of them."""
    starts: npt.NDArray[np.int64]
    """The shortest length in each bin; the last also holds all that are longer."""
    scale: float
    """Of the noise of ``counts``."""
    n_near: int | None = None
    """How many of the bins hold lengths that are told apart; the others double in width.  None: all."""
    scale_of_total: float = 0.0
    """Of the noise of ``total``."""

    @cached_property
    def weights(self) -> Floats:
        """How many records have 0, 1, 2, ... items, as far as can be told; at least the shortest.

        Lengths from the first on where all that follow together are within the noise are taken not to occur: a few
        hundred records of ninety items, made of noise, would outweigh the items of all others.
        """
        return self._spread(self._n_told)

    @cached_property
    def longest_likely(self) -> Floats:
        """The same with all lengths that are told apart, noise or not: conservative for long records."""
        return self._spread(max(self.n_near or len(self.counts), self._n_told))

    @cached_property
    def _n_told(self) -> int:
        """The number of bins up to the last from which on the records are clear of the noise; at least 1."""
        after = np.cumsum(self.counts[::-1])[::-1]
        noise = self.scale * np.sqrt(2 * np.arange(len(self.counts), 0, -1))
        is_far = np.arange(len(self.counts)) >= (self.n_near or len(self.counts))
        told = np.flatnonzero(after > np.where(is_far, _CLEAR_FAR, _CLEAR) * noise)
        return int(told[-1]) + 1 if len(told) else 1

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


def bins(longest: int, most: int | None = None) -> npt.NDArray[np.int64]:
    """The first lengths of bins for 0 .. longest, single lengths where these are short, and wider ones up to ``most``.

    >>> bins(40).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 21, 24, 28, 32, 37, 40]
    >>> bins(4, 25).tolist()
    [0, 1, 2, 3, 4, 8, 16, 25]
    """
    starts = [0]
    while starts[-1] < longest:
        starts.append(min(longest, max(starts[-1] + 1, starts[-1] * _GROWTH[0] // _GROWTH[1])))
    while starts[-1] < (longest if most is None else most):
        starts.append(min(int(most or longest), max(starts[-1] + 1, _FAR * starts[-1])))
    return np.array(starts, np.int64)


def binned(sizes: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]) -> Counts:
    """How many records are in each bin.  Exact: the caller adds noise."""
    return np.bincount(np.searchsorted(starts, sizes, side="right") - 1, minlength=len(starts))


def parts(epsilon: float) -> tuple[float, float]:
    """What of an epsilon is for the lengths, and what for the number of records."""
    return (1 - _OF_TOTAL) * epsilon, _OF_TOTAL * epsilon


def noisy_number(n_records: int, length: int, *, granted: Composition, epsilon: float) -> Lengths:
    """The number of records alone, where all of them have ``length`` items and everybody knows it: those of a table."""
    total = int(granted.noisy([n_records], epsilon=epsilon, sensitivity=1)[0])
    counts = np.zeros(length + 1, np.int64)
    counts[length] = total
    return Lengths(counts, total, np.arange(length + 1), 0.0, None, scale_of(epsilon, 1))


def noisy_lengths(
    sizes: npt.NDArray[np.int64],
    *,
    granted: Composition,
    epsilon: float,
    longest: int,
    most: int | None = None,
    per_person: int = 1,
) -> Lengths:
    """The distribution of lengths and the number of records, for ``epsilon`` of what was granted.

    longest     the longest length that is told apart, and ``most`` the longest there can be; both are public
    per_person  how many records change between neighbours

    The number itself changes by at most one: a record in place of another does not move it.
    """
    of_lengths, of_total = parts(epsilon)
    starts = bins(longest, most)
    total = granted.noisy([len(sizes)], epsilon=of_total, sensitivity=1)
    counts = granted.noisy(binned(sizes, starts), epsilon=of_lengths, sensitivity=per_person)
    scales = scale_of(of_lengths, per_person), scale_of(of_total, 1)
    return Lengths(counts, int(total[0]), starts, scales[0], len(bins(longest)), scales[1])
