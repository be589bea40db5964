"""How many itemsets a search will miss and how many it will list by mistake, by a pilot of the same kind.

Estimates are taken for normal around the supports of the pilot, with the errors that people like those would have.  A
search lists an itemset whose estimate reaches the limit, if it gets there: each of its subsets must have been kept,
that is estimated no more than ``slack`` standard errors below the limit.  A subset that was kept is listed with what it
led to.  Errors of an itemset and of its subsets are taken for independent, which they nearly are where items are
randomized one by one; of whole records that are kept or replaced they are not, and are taken together
(:mod:`bosket.planning.joint_errors`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr

from bosket.checks import check_fraction, check_integer, check_not_negative
from bosket.counting.base import ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.counting.table import ItemsetIndex, count_subsets
from bosket.data import Baskets, Table
from bosket.errors import ParameterError, TooManyCandidatesError
from bosket.evidence.sums import cells_of
from bosket.mechanisms import Channel, ExchangeableChannel, RecordChannel
from bosket.mechanisms.flip import FlipChannel
from bosket.mechanisms.gamma_diagonal import GammaDiagonalChannel
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.foreseen import variances_of
from bosket.mining import mine
from bosket.mining.candidates import next_candidates
from bosket.planning.foresight import Foresight
from bosket.planning.joint_errors import Together, together
from bosket.statistics.estimates import Floats

_SELDOM = 1e-4  # itemsets that are less likely to be looked at are left out
_MOST = 2_000_000  # itemsets of one size
_TOGETHER = 4  # items of itemsets up to which errors are taken together with those of subsets
_PIECE = 50_000  # itemsets whose patterns are counted at once


@dataclass(frozen=True)
class _Level:
    """Itemsets of one size that a search may look at."""

    itemsets: ItemsetRows
    support: Floats
    looked_at: Floats
    """The probability that all subsets are kept."""
    reaches: Floats
    """The probability that the estimate reaches the limit."""
    kept: Floats
    """The probability that it is no more than the slack below."""


def expected_errors(
    foresight: Foresight, pilot: Baskets | Table, *, min_support: float, slack: float = 1.0, max_size: int = 3
) -> pd.DataFrame:
    """Expected false negatives and false positives of :func:`bosket.mine`, by size of itemset.

    ``frequent`` is the number of itemsets that reach the limit in the pilot; ``false_negatives`` how many of these are
    expected to be missed, ``false_positives`` how many others to be listed.  The pilot is raw data: it must be public,
    or of people who agreed to that.
    """
    limit = check_fraction("min_support", min_support)
    check_not_negative("slack", slack)
    max_size = check_integer("max_size", max_size, least=1, most=6)
    check_pilot(foresight, pilot)
    channel = foresight.channel
    strata = pilot.sizes.astype(np.int32) if isinstance(channel, ExchangeableChannel) else None
    counter = Bitmaps.from_rows(pilot.to_bits(), len(channel.domain), strata=strata)
    levels: list[_Level] = []
    for k in range(1, max_size + 1):
        itemsets = _first(channel) if k == 1 else _next(levels[-1], channel)
        if not len(itemsets) or foresight.spread(k) is None:
            break
        levels.append(_looked_at(foresight, counter, itemsets, levels, limit, slack, pilot.n_records))
    return _table(levels, limit, max_size, counter, pilot)


def check_pilot(foresight: Foresight, pilot: Baskets | Table) -> None:
    """Refuse records of another domain, and what has no plan that mining follows."""
    if not isinstance(foresight, Foresight):
        raise ParameterError(
            "The 'foresight' parameter must be that of a mechanism or a plan: reports of a matrix are not mined, and "
            "what is foreseen of a release has mistakes() of its own.",
            parameter="foresight",
            value=None,
        )
    if pilot.domain.labels != foresight.channel.domain.labels:
        raise ParameterError(
            "The 'pilot' parameter must have the domain of the plan, in its order.", parameter="pilot", value=None
        )


def _first(channel: Channel) -> ItemsetRows:
    return np.arange(len(channel.domain), dtype=np.int32)[:, None]


def _looked_at(
    foresight: Foresight,
    counter: Bitmaps,
    itemsets: ItemsetRows,
    before: list[_Level],
    limit: float,
    slack: float,
    n: int,
) -> _Level:
    channel, k = foresight.channel, itemsets.shape[1]
    support, variance = np.empty(len(itemsets)), np.empty(len(itemsets))
    parts: list[Together] = []
    for start in range(0, len(itemsets), _PIECE):
        part = slice(start, start + _PIECE)
        rows = np.ascontiguousarray(itemsets[part])
        cells = cells_of(count_subsets(counter, rows))
        support[part] = cells[:, :, -1].sum(axis=0) / n
        variance[part] = _variances(foresight, counter, rows, cells, n)
        if isinstance(channel, GammaDiagonalChannel) and 2 <= k <= _TOGETHER:
            parts.append(together(channel, rows, cells[0] / n, people=foresight.people, limit=limit, slack=slack))
    if parts:
        looked_at, reaches, kept = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("looked_at", "reaches", "kept")
        )
        return _Level(itemsets, support, looked_at, reaches, kept)
    kept_share = getattr(foresight.spread(itemsets.shape[1]), "kept", 1.0)
    error = np.sqrt(variance / foresight.people)
    away = (support * kept_share - limit) / np.maximum(error, 1e-300)
    return _Level(itemsets, support, _of_subsets(before, itemsets), ndtr(away), ndtr(away + slack))


def _of_subsets(before: list[_Level], itemsets: ItemsetRows) -> Floats:
    """The probability that all subsets are kept: those of one item less, each looked at itself."""
    k = itemsets.shape[1]
    looked_at = np.ones(len(itemsets))
    for level in before:
        size = level.itemsets.shape[1]
        index = ItemsetIndex(level.itemsets)
        for mask in range(1, (1 << k) - 1):
            if mask.bit_count() == size:
                positions = np.flatnonzero([mask >> at & 1 for at in range(k)])
                looked_at *= level.kept[index.find(itemsets, positions)]
    return looked_at


def _next(level: _Level, channel: Channel) -> ItemsetRows:
    """Itemsets of one item more, all of whose subsets may be kept; two values of one attribute do not go together.

    They are counted before they are made: a pilot of many items at a small support would have billions.
    """
    likely = level.itemsets[level.looked_at * level.kept > _SELDOM]
    if not len(likely):
        return np.empty((0, level.itemsets.shape[1] + 1), np.int32)
    try:
        return next_candidates(ItemsetIndex(likely), max_candidates=_MOST, groups=channel.domain.groups)
    except TooManyCandidatesError as problem:
        raise ParameterError(
            f"The 'min_support' parameter must be larger: more than {_MOST} itemsets of {problem.level} items may be "
            "looked at.",
            parameter="min_support",
            value=None,
        ) from None


def _variances(
    foresight: Foresight, counter: Bitmaps, rows: ItemsetRows, cells: npt.NDArray[np.int64], n: int
) -> Floats:
    """The variance that a person brings to each of these supports, if people are as in the pilot."""
    channel = foresight.channel
    shares = cells / n
    support = shares[:, :, -1].sum(axis=0)
    if isinstance(channel, AskChannel):
        return _not_negative(variances_of(channel, rows).at(support))
    if isinstance(channel, GammaDiagonalChannel):
        b, kappa = channel.chance(rows), channel.keep
        value: Floats = ((1 - support) * b * (1 - b) + support * (b + kappa) * (1 - b - kappa)) / kappa**2
        return value
    if isinstance(channel, FlipChannel):
        present, absent = channel.squares(rows)
        patterns = np.arange(1 << rows.shape[1])[:, None] >> np.arange(rows.shape[1]) & 1
        squares = np.where(patterns[None, :, :] == 1, present[:, None, :], absent[:, None, :]).prod(axis=2)
        return _not_negative((shares[0] * squares).sum(axis=1) - support)
    if isinstance(channel, ExchangeableChannel):
        ones = np.bitwise_count(np.arange(1 << rows.shape[1]))
        total = np.zeros(len(rows))
        for stratum, part in zip(counter.strata, shares, strict=True):
            if stratum >= rows.shape[1]:
                total += part @ channel.record_variances_by_overlap(rows.shape[1], stratum)[ones]
        return total
    if isinstance(channel, BasketChannel):
        spread = foresight.spread(rows.shape[1])
        assert spread is not None
        return np.array([spread.at(share) for share in support.tolist()])
    if isinstance(channel, RecordChannel):
        every = [channel.record_variances(tuple(row)) for row in rows.tolist()]
        return _not_negative((shares[0] * np.array(every)).sum(axis=1))
    raise ParameterError(
        "The 'mechanism' of expected_errors must randomize record by record.",
        parameter="mechanism",
        value=str(foresight.plan.mechanism),
    )


def _not_negative(variances: Floats) -> Floats:
    result: Floats = np.maximum(variances, 0.0)
    return result


def _table(levels: list[_Level], limit: float, max_size: int, counter: Bitmaps, pilot: Baskets | Table) -> pd.DataFrame:
    truth: dict[int, int] = {}
    for itemset, _ in mine(pilot, min_support=limit, max_size=max_size):
        truth[len(itemset)] = truth.get(len(itemset), 0) + 1
    listed = _listed(levels)
    rows = []
    for k in range(1, max_size + 1):
        frequent = truth.get(k, 0)
        hits = false = 0.0
        if k <= len(levels):
            is_frequent = levels[k - 1].support >= limit * (1 - 1e-12)
            hits, false = float(listed[k - 1][is_frequent].sum()), float(listed[k - 1][~is_frequent].sum())
        rows.append(
            {
                "size": k,
                "frequent": frequent,
                "false_negatives": max(0.0, frequent - hits),
                "false_positives": false,
            }
        )
    return pd.DataFrame(rows, columns=["size", "frequent", "false_negatives", "false_positives"])


def _listed(levels: list[_Level]) -> list[Floats]:
    """The probability that each itemset is listed: for itself, or with a larger one that it led to."""
    listed = [level.looked_at * level.reaches for level in levels]
    for at in range(len(levels) - 2, -1, -1):
        level, larger = levels[at], levels[at + 1]
        k = larger.itemsets.shape[1]
        index = ItemsetIndex(level.itemsets)
        none_listed = np.zeros(len(level.itemsets))  # ln of the probability that no larger one is
        for left_out in range(k):
            positions = np.array([place for place in range(k) if place != left_out])
            rows = index.find(larger.itemsets, positions)
            given = listed[at + 1] / np.maximum(level.looked_at[rows] * level.kept[rows], 1e-300)
            np.add.at(none_listed, rows, np.log1p(-np.minimum(given, 1 - 1e-12)))
        between = level.looked_at * (level.kept - level.reaches)
        listed[at] = listed[at] + between * -np.expm1(none_listed)
    return listed
