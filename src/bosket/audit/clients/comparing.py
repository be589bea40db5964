"""Tests of a client: against the law, against another client, and of its reports against each other.

Every test compares two bounds of Clopper and Pearson that do not meet, so it is exact: with T tests, each bound failing
with failure / (4 T), honest clients are convicted with probability ``failure`` at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.audit.clients.showing import Truths
from bosket.audit.lower_bounds import clopper_pearson
from bosket.randomness import Seeded
from bosket.statistics.estimates import Floats

_STEPS = 4  # sums of bits by which a repetition is looked for


@dataclass(frozen=True)
class Difference:
    """The test whose bounds lie furthest apart, or come nearest to it."""

    is_found: bool
    place: tuple[int, ...]
    seen: float
    expected: float
    tests: int


def _furthest(gap: Floats, seen: Floats, expected: Floats) -> Difference:
    """``gap`` is above 0 where two bounds do not meet."""
    if not gap.size:
        return Difference(False, (), 0.0, 0.0, 0)
    place = np.unravel_index(int(np.argmax(gap)), gap.shape)
    at = tuple(int(part) for part in place)
    return Difference(bool(gap[at] > 0), at, float(seen[at]), float(expected[at]), int(gap.size))


def against_law(counts: npt.ArrayLike, trials: npt.ArrayLike, expected: Floats, failure: float) -> Difference:
    """Numbers of successes against the probabilities that they must have."""
    k = np.asarray(counts, float)
    low, high = clopper_pearson(k, trials, failure / (2 * max(1, k.size)))
    rounding = 1e-12
    return _furthest(np.maximum(low - expected, expected - high) - rounding, k / np.asarray(trials), expected)


def against_other(
    counts: npt.ArrayLike, trials: npt.ArrayLike, others: npt.ArrayLike, of: npt.ArrayLike, failure: float
) -> Difference:
    """Numbers of successes of two clients."""
    k, m = np.asarray(counts, float), np.asarray(others, float)
    each = failure / (4 * max(1, k.size))
    low, high = clopper_pearson(k, trials, each)
    other_low, other_high = clopper_pearson(m, of, each)
    gap = np.maximum(low - other_high, other_low - high)
    return _furthest(gap, k / np.maximum(np.asarray(trials), 1), m / np.maximum(np.asarray(of), 1))


def following(first: Truths, second: Truths, failure: float) -> Difference:
    """Whether a claim about a report depends on the same claim about the report before it; a row for each two.

    Of those whose first is true, and of those whose first is not, as many seconds must be true.
    """
    given, given_n = (first & second).sum(axis=0), first.sum(axis=0)
    otherwise, otherwise_n = (~first & second).sum(axis=0), (~first).sum(axis=0)
    return against_other(given, given_n, otherwise, otherwise_n, failure)


def repetition(bits: Truths, failure: float) -> tuple[Difference, int]:
    """Whether reports of one record come back after some number of others: that number is found on the first half.

    Sums of the bits with random signs are held against themselves at every distance (by Fourier); the distance of the
    largest product is then tested on the second half, where reports at that distance are paired without overlap.
    """
    half = len(bits) // 2
    varies = bits[:half].any(axis=0) & ~bits[:half].all(axis=0)
    if half < 8 or not varies.any():
        return Difference(False, (), 0.0, 0.0, 0), 0
    n_bits = int(varies.sum())
    signs = 2.0 * Seeded(1).integers(2, n_bits * _STEPS).reshape(n_bits, _STEPS) - 1  # of bits, not of people
    centred = bits[:half, varies] - bits[:half, varies].mean(axis=0)
    size = 1 << (2 * half - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred @ signs, size, axis=0)) ** 2
    products = np.fft.irfft(spectrum.sum(axis=1), size)[1 : half // 2]
    lag = int(np.argmax(np.abs(products) / np.sqrt(half - np.arange(1, half // 2)))) + 1
    rest = bits[half:]
    start = np.arange(len(rest) - lag)
    start = start[(start // lag) % 2 == 0]
    return following(rest[start], rest[start + lag], failure), lag
