"""How many of the active itemsets records hold, by size: one noisy histogram, and what it says without its noise.

A record that holds k of the active itemsets is in the bin of k, and its one unit there is divided among groups of
itemsets (those of one, two, three and more items) as its itemsets are.  All that a record adds is one record at most,
rounded down, whatever it holds: the groups cost nothing beside the histogram itself.

Bins of noise far from all records would outweigh them, and the records of few itemsets are lost in the noise.  So

    totals   are taken as they are where they are clear of the noise; elsewhere they follow the density whose logarithm
             is concave in log k that is nearest to all of them (tails of power laws and lighter ones)
    parts    of the groups in the totals are taken as they are in large bins; in others they are the mean of two fits,
             one that rises or falls with k by a logistic law, and one that rises or falls in any way (isotonic)

Once the sums of bounded contributions are measured, much more is known of what records hold: a record that holds k of
the itemsets adds k w(k) in all, so the noisy sums of a group of itemsets add up to

    kept = sum over bins of k w(k) (records of the bin) (part of the group)

within the noise of that sum, which is small beside it.  Long records that no bin shows are in it, so the fits are made
again with these sums beside the bins.

All but the first function is post-processing of noisy numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression, minimize

from bosket.curator.noise import Composition
from bosket.curator.sieve.contributions import RESOLUTION, Bounding, Units
from bosket.statistics.estimates import Floats

_SINGLE = 8
CLEAR = 5.0
"""Standard deviations of Laplace noise that one bin passes in 2400, and Gaussian noise hardly ever."""
_BEGUN = 3.0  # likewise, for where the fit starts from
_MISFIT = 0.02  # of a number of records: no law is followed closer than this
_MISFIT_OF_PARTS = 0.05  # of a bin: no fit to the parts of groups is trusted more than this
_LOWEST, _HIGHEST = -40.0, 40.0  # logarithms of densities
_TILT = 1.0  # deviation of the exponent by which the part of a group grows with k, before anything is known
_LEVEL = 3.0  # likewise of its logarithm


FitLimits = Sequence[tuple[float | None, float | None]]


@dataclass(frozen=True, eq=False)
class KeptSums:
    """What records add in all to the itemsets of each group, with noise."""

    added: Floats
    """By bin, what a record of it adds in all: k w(k)."""
    sums: Floats
    """By group."""
    deviations: Floats
    """Of the noise of these."""


@dataclass(frozen=True, eq=False)
class NoisyBins:
    """Noisy numbers of records by bin and group, as they were measured; those of none left out."""

    middles: Floats
    widths: Floats
    numbers: Floats
    deviation: float
    clear: float = CLEAR
    """Standard deviations of the noise, from which on a bin has records."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many records hold so many of the itemsets, by bin and group of itemsets, smoothed; those of none left out."""

    held: Floats
    """The middle of each bin."""
    numbers: Floats
    """Records by bin and group, in parts."""
    times: Floats | float = 1.0
    """What an itemset that is held counts for where contributions are bounded, by bin: above 1 for several records."""
    seen: NoisyBins | None = None
    """What it was made of, where that may be looked at again."""

    def knowing(self, weights: Floats, sums: Floats, deviations: Floats) -> Histogram:
        """The same once noisy sums of bounded contributions are known, by group; ``weights`` are those of records, by
        bin.
        """
        if self.seen is None:
            return self
        return smoothed(self.seen, KeptSums(self.held * weights, sums, deviations))

    @property
    def occurrences(self) -> Floats:
        """Of itemsets in records, by bin and group."""
        return np.asarray(self.held[:, None] * self.numbers)


def bins(most: int) -> Units:
    """The first numbers of bins for 0 .. most: single up to eight, then half as many more each.

    >>> bins(40).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 18, 27, 40]
    """
    starts = list(range(min(most, _SINGLE) + 1))
    while starts[-1] < most:
        starts.append(min(most, starts[-1] * 3 // 2))
    return np.array(starts, np.int64)


def divided(held: Units, starts: Units) -> Units:
    """By bin and group, the units of all records: RESOLUTION a record at most, divided as its itemsets are.

    ``held`` has a row per group, and a column per record.
    """
    total = held.sum(axis=0)
    which = np.searchsorted(starts, total, side="right") - 1
    units = RESOLUTION * held // np.maximum(total, 1)
    parts = [np.bincount(which, weights=part, minlength=len(starts)) for part in units]  # below 2^53: exact
    return np.stack(parts, axis=1).astype(np.int64)


class Divided(Protocol):
    """Records whose units, by bin and group of itemsets, can be told."""

    def divided(self, starts: Units, bounding: Bounding) -> Units:
        """The units of all records, before noise; ``starts`` are the first numbers of bins."""


def noisy_histogram(
    held: Divided, n_active: int, *, granted: Composition, amount: float, bounding: Bounding, per_person: int
) -> Histogram:
    """How many records hold 1, 2, ... of the itemsets, by group of these.

    A record adds RESOLUTION units at most, to one bin: where one is replaced, some go and some come.
    """
    starts = bins(n_active)
    exact = held.divided(starts, bounding)
    if len(starts) < 2:
        return Histogram(np.ones(0), np.zeros((0, exact.shape[1])))
    sensitivity = RESOLUTION * bounding.norm_of_ones(per_person)
    noisy = granted.noisy(exact, epsilon=amount, sensitivity=sensitivity) / RESOLUTION
    deviation = bounding.deviation(granted.scale_of(amount, sensitivity)) / RESOLUTION
    ends = np.append(starts[1:] - 1, starts[-1])
    middles = np.sqrt(starts[1:] * ends[1:])
    widths = np.asarray(ends[1:] - starts[1:] + 1, float)
    return smoothed(NoisyBins(middles, widths, noisy[1:], deviation, bounding.clear))


def smoothed(bins: NoisyBins, kept: KeptSums | None = None) -> Histogram:
    """Numbers of records by bin and group, from noisy ones: the totals, divided among the groups."""
    middles, noisy, deviation = bins.middles, bins.numbers, bins.deviation
    n_groups = noisy.shape[1]
    of_totals = deviation * float(np.sqrt(n_groups))
    totals = total_numbers(middles, bins.widths, noisy.sum(axis=1), of_totals, kept, bins.clear)
    if n_groups == 1:
        return Histogram(middles, totals[:, None], seen=bins)
    fitted = (_logistic(np.log(middles), totals, noisy, deviation, kept) + _isotonic(totals, noisy)) / 2
    trust = totals**2 / (totals**2 + (deviation / _MISFIT_OF_PARTS) ** 2)
    seen = np.clip(noisy / np.maximum(totals, 1e-9)[:, None], 0.0, 1.0)
    parts = trust[:, None] * seen + (1 - trust[:, None]) * fitted
    parts /= np.maximum(parts.sum(axis=1, keepdims=True), 1e-9)
    return Histogram(middles, totals[:, None] * parts, seen=bins)


def total_numbers(
    middles: Floats, widths: Floats, noisy: Floats, deviation: float, kept: KeptSums | None = None, clear: float = CLEAR
) -> Floats:
    """Numbers by bin that are not negative and end."""
    is_clear = noisy > clear * deviation
    if is_clear.all():
        return noisy
    fitted = _concave(np.log(middles), widths, noisy, deviation, _of_others(kept, is_clear, noisy, deviation))
    return np.where(is_clear, noisy, np.minimum(fitted, np.maximum(noisy, 0.0) + _BEGUN * deviation))


@dataclass(frozen=True, eq=False)
class _Added:
    """What records of some bins add in all, to which a fit is held; ``each`` is 0 for records of other bins."""

    each: Floats
    total: float
    precision: float
    """One over the variance."""


def _of_others(kept: KeptSums | None, is_clear: npt.NDArray[np.bool_], noisy: Floats, deviation: float) -> _Added:
    """What is left for the bins that are not clear of the noise."""
    if kept is None:
        return _Added(np.zeros(len(noisy)), 0.0, 0.0)
    of_clear = kept.added * is_clear
    variance = float((kept.deviations**2).sum() + ((deviation * of_clear) ** 2).sum())
    each = kept.added * ~is_clear
    total = float(kept.sums.sum() - of_clear @ noisy)
    return _Added(each, total, 1 / (variance + (_MISFIT * float(kept.sums.sum())) ** 2))


def _concave(x: Floats, widths: Floats, noisy: Floats, deviation: float, added: _Added) -> Floats:
    """The nearest numbers whose density has a logarithm that is concave in x: a line less hinges at each bin."""
    hinges = np.maximum(x[:, None] - x[None, 1:-1], 0.0)
    design = np.concatenate([np.ones((len(x), 1)), (x - x[0])[:, None], -hinges], axis=1)
    weights = 1 / (deviation**2 + (_MISFIT * np.maximum(noisy, 0.0)) ** 2)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        fitted = widths * np.exp(np.clip(design @ parameters, _LOWEST, _HIGHEST))
        errors = noisy - fitted
        left = added.total - float(added.each @ fitted)
        slope = (weights * errors + added.precision * left * added.each) * fitted
        return 0.5 * (float(weights @ errors**2) + added.precision * left**2), -design.T @ slope

    start = np.zeros(design.shape[1])
    begun = noisy > _BEGUN * deviation
    if begun.sum() >= 2:
        start[1::-1] = np.polyfit(x[begun] - x[0], np.log(noisy[begun] / widths[begun]), 1)
    else:
        peak = int(np.argmax(noisy))
        start[0] = np.log(max(float(noisy[peak]), deviation) / widths[peak])
    limits: FitLimits = [(None, None)] * 2 + [(0.0, None)] * (len(start) - 2)
    return np.asarray(widths * np.exp(np.clip(design @ _least(loss, start, limits), _LOWEST, _HIGHEST)))


def _logistic(x: Floats, totals: Floats, noisy: Floats, deviation: float, kept: KeptSums | None) -> Floats:
    """Parts of groups that are as exp(a + b x), by least squares."""
    n_groups = noisy.shape[1]
    x = x - (x @ totals) / max(float(totals.sum()), 1e-9)
    sums = np.maximum(noisy.sum(axis=0), deviation)
    levels = np.log(sums / sums.sum())
    if kept is None:
        kept = KeptSums(np.zeros(len(x)), np.zeros(n_groups), np.ones(n_groups))
    added, doubts = totals * kept.added, kept.deviations**2 + (_MISFIT * kept.sums) ** 2

    def parts(parameters: Floats) -> Floats:
        powers = parameters[:n_groups] + parameters[n_groups:] * x[:, None]
        shape = np.exp(powers - powers.max(axis=1, keepdims=True))
        return np.asarray(shape / shape.sum(axis=1, keepdims=True))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        part, away, tilts = parts(parameters), parameters[:n_groups] - levels, parameters[n_groups:]
        errors = (noisy - totals[:, None] * part) / deviation
        left = kept.sums - added @ part
        slope = -errors / deviation * totals[:, None] - added[:, None] * (left / doubts)
        slope = part * (slope - (slope * part).sum(axis=1, keepdims=True))
        gradient = [slope.sum(axis=0) + away / _LEVEL**2, slope.T @ x + tilts / _TILT**2]
        value = (errors**2).sum() + (left**2 / doubts).sum() + (away**2).sum() / _LEVEL**2 + (tilts**2).sum() / _TILT**2
        return 0.5 * float(value), np.concatenate(gradient)

    return parts(_least(loss, np.concatenate([levels, np.zeros(n_groups)])))


def _isotonic(totals: Floats, noisy: Floats) -> Floats:
    """Parts of groups that rise from bin to bin, or fall, whichever is nearer."""
    known = np.maximum(totals, 1e-9)
    columns = []
    for part in noisy.T / known:
        both = [isotonic_regression(part, weights=known**2, increasing=rising).x for rising in (True, False)]
        best = int(np.argmin([(known**2) @ (part - fit) ** 2 for fit in both]))
        columns.append(np.clip(both[best], 1e-6, 1.0))
    parts = np.stack(columns, axis=1)
    return np.asarray(parts / parts.sum(axis=1, keepdims=True))


def _least(
    loss: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    limits: FitLimits | None = None,
) -> Floats:
    return np.asarray(minimize(loss, start, jac=True, bounds=limits, method="L-BFGS-B").x, float)
