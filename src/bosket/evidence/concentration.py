"""Whether a few reports carry an estimate: what a few dishonest people could have sent.

The variance of a support is made of squared weights.  A few carry it where more than half of their sum comes from

- one stratum with less than a hundredth of the reports, which together can move the support by a tenth of everybody:
  the estimate says what these few say, and its interval may be narrow around it;
- at most three reports, one of which alone moves the support by a tenth of everybody.  The standard error is then as
  large as the support, and says so; this says why.

Forged reports that state long records look like this, and so do honest long records where little is inserted
(cut-and-paste 10/.01 on groceries, of which intervals for four items cover 59%).  docs/theory/poisoning.md says where
honest data stay clear of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.evidence.sums import StratumCells
from bosket.mechanisms.base import Channel
from bosket.statistics.estimates import Floats
from bosket.threads import slices

HALF = 0.5
"""The share of the sum of squared weights that is too much for a few."""
FEW_REPORTS = 3
FEW = 0.01
"""The share of the reports, of those that have a weight at all, below which they are a few."""
LARGE_SHIFT = 0.1
"""The change of a support that is worth a word.  Below, those who carry an estimate may just be those who have it."""
_HAIR = 1 - 1e-9  # rounding decides nothing before the last look
_LARGE_WEIGHT = _HAIR * LARGE_SHIFT / FEW
"""A hundredth of the reports move a support by a tenth only if one of them counts for ten people or more."""
_CELLS = 1 << 20  # weights at a time


@dataclass(frozen=True, slots=True)
class Concentration:
    """``share`` of the sum of squared weights of an itemset comes from so many reports, of up to this ``weight``."""

    itemset: tuple[int, ...]
    reports: int
    of: int
    share: float
    weight: float
    record_size: int | None
    """The size that they state, where sizes are sent and they state one."""


def at_a_time(n_strata: int, size: int) -> int:
    """How many itemsets of a size to look at in one step."""
    return max(1, _CELLS // max(1, n_strata << size))


def worth_a_look(
    channel: Channel,
    strata: Sequence[int],
    stratum_records: npt.NDArray[np.int64],
    itemsets: ItemsetRows,
    observed: npt.NDArray[np.int64],
    second: Floats,
) -> npt.NDArray[np.bool_]:
    """All itemsets that are carried, and others, without counting patterns: by how many reports show all of an itemset.

    A stratum of n reports, c of which show all, has at most c w^2 + (n - c) v^2 of the squares, where w is the weight
    of these and v the largest other one.  Strata in which no weight is large enough are passed over.
    """
    n = int(stratum_records.sum())
    may = np.zeros(len(itemsets), np.bool_)
    for at, (stratum, records) in enumerate(zip(strata, stratum_records.tolist(), strict=True)):
        weights = np.abs(channel.weights(itemsets, stratum))
        full, rest = weights[:, -1], weights[:, :-1].max(axis=1)
        largest = np.maximum(full, rest)
        if records < FEW * n and records * float(largest.max(initial=0.0)) >= LARGE_SHIFT * n * _HAIR:
            squares = observed[at] * full**2 + (records - observed[at]) * rest**2
            may |= squares >= HALF * second * _HAIR
        may |= (largest >= LARGE_SHIFT * n * _HAIR) & (FEW_REPORTS * largest**2 >= HALF * second * _HAIR)
    return may


def concentrations(
    channel: Channel, strata: Sequence[int], itemsets: ItemsetRows, cells: StratumCells
) -> list[Concentration]:
    """Those of the itemsets that few reports carry.

    ``cells`` counts the reports of each stratum by pattern: shape (n_strata, n, 2**k).
    """
    found = []
    sizes = [channel.record_size(stratum) for stratum in strata]
    for start, stop in slices(len(itemsets), at_a_time(len(strata), itemsets.shape[1])):
        rows = np.ascontiguousarray(itemsets[start:stop])
        counts = np.ascontiguousarray(cells[:, start:stop])
        weights = np.stack([channel.weights(rows, stratum, counts[at]) for at, stratum in enumerate(strata)])
        for row in np.flatnonzero(_may_be_carried(weights, counts)).tolist():
            both = weights[:, row], counts[:, row]
            one = _in_one_stratum(*both, sizes) or _in_few_reports(*both, sizes)
            if one is not None:
                found.append(Concentration(tuple(rows[row].tolist()), *one))
    return found


def _may_be_carried(weights: Floats, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """All itemsets that are carried, and few others: what follows from either way to be, for all itemsets at once.

    One stratum must have more than half of the squares and less than a hundredth of the reports; or three times the
    largest square must be more than half of them, and its root at least a tenth of the reports.
    """
    squares = counts * weights**2
    by_stratum = squares.sum(axis=2)
    half, n_reports = HALF * by_stratum.sum(axis=0), counts.sum(axis=(0, 2))
    few = np.take_along_axis(counts.sum(axis=2), by_stratum.argmax(axis=0)[None], axis=0)[0]
    largest = np.where(counts > 0, np.abs(weights), 0.0).max(axis=(0, 2))
    in_one_stratum = (by_stratum.max(axis=0) >= half * _HAIR) & (few < FEW * n_reports) & (largest >= _LARGE_WEIGHT)
    in_few = (FEW_REPORTS * largest**2 >= half * _HAIR) & (largest >= LARGE_SHIFT * n_reports * _HAIR)
    may: npt.NDArray[np.bool_] = in_one_stratum | in_few
    return may


_Found = tuple[int, int, float, float, int | None]
_Sizes = Sequence[int | None]
"""The record size that reports state, by stratum."""


def _in_one_stratum(weights: Floats, counts: npt.NDArray[np.int64], sizes: _Sizes) -> _Found | None:
    """One stratum with few of the reports and most of the squares."""
    squares = (counts * weights**2).sum(axis=1)
    top = int(np.argmax(squares))
    few, of = int(counts[top].sum()), _with_a_say(weights, counts)
    share = _share(squares[top], squares.sum())
    weight = float(np.abs(weights[top][counts[top] > 0]).max(initial=0.0))
    if share <= HALF or not FEW_REPORTS < few < FEW * of or few * weight < LARGE_SHIFT * int(counts.sum()):
        return None
    return few, of, share, weight, sizes[top]


def _in_few_reports(weights: Floats, counts: npt.NDArray[np.int64], sizes: _Sizes) -> _Found | None:
    """The reports with the largest weights, as few as have most of the squares."""
    squares, numbers = (weights**2).ravel(), counts.ravel()
    order = np.argsort(-squares, kind="stable")
    order = order[numbers[order] > 0]
    few, carried, total = 0, 0.0, float((squares * numbers).sum())
    stated = set()
    for place in order[:FEW_REPORTS].tolist():
        taken = min(int(numbers[place]), FEW_REPORTS - few)
        while taken and carried <= HALF * total:
            few, carried, taken = few + 1, carried + float(squares[place]), taken - 1
            stated.add(sizes[place // weights.shape[1]])
    of = _with_a_say(weights, counts)
    if carried <= HALF * total or few >= FEW * of:
        return None
    weight = math.sqrt(squares[order[0]])
    if weight < LARGE_SHIFT * int(numbers.sum()):
        return None
    return few, of, _share(carried, total), weight, stated.pop() if len(stated) == 1 else None


def _with_a_say(weights: Floats, counts: npt.NDArray[np.int64]) -> int:
    """The reports of strata that have weights: records shorter than the itemset have none."""
    return int(counts[(weights != 0).any(axis=1)].sum())


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else 0.0
