"""What reports of a plan can look like, whatever people's records are: the least and the most of every chance."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.audit.clients.pairs import sizes_of
from bosket.mechanisms import Channel, RecordChannel
from bosket.mechanisms.cut import StatingChannel
from bosket.mechanisms.flip import FlipChannel
from bosket.mechanisms.gamma_diagonal import GammaDiagonalChannel
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.responses import LocalHashing
from bosket.plan import Plan
from bosket.statistics.estimates import Floats

_FEW_STRATA = 64
_FEW = 6  # items by which the likeliest report is bounded where nothing better is known
_LOG_SEEDS = -64 * math.log(2)


@dataclass(frozen=True)
class Chances:
    """The least and the most probability, over all records, that a report shows some items."""

    least: float
    most: float


def chances_of(channel: Channel, itemset: tuple[int, ...], stratum: int | None) -> Chances | None:
    """For all items together; None where the mechanism does not state it."""
    if isinstance(channel, BasketChannel):
        if channel.candidates is not None or len(itemset) > 1:
            return None
        return Chances(channel.response.q, channel.response.p)
    if not isinstance(channel, RecordChannel) or isinstance(channel, StatingChannel):
        return None
    rows = channel.transition(itemset, stratum)
    full = rows[rows.sum(axis=1) > 0.5][:, -1]  # rows of zeros are of no record
    return Chances(float(full.min()), float(full.max())) if len(full) else None


def question_shares(channel: Channel) -> Floats | None:
    """The probability of each question, where people answer one."""
    return channel.shares if isinstance(channel, AskChannel) else None


def seeds_of(channel: Channel, batch: Batch) -> npt.NDArray[np.uint64] | None:
    """Seeds of hash functions, drawn whatever the record; None where reports have none."""
    if isinstance(channel, BasketChannel) and isinstance(channel.response, LocalHashing):
        return batch["seed"]
    if isinstance(channel, AskChannel) and channel.hashed.any():
        seeds: npt.NDArray[np.uint64] = batch["seed"][channel.hashed[batch["question"]]]
        return seeds
    return None


def log_largest(plan: Plan, strata: Iterable[int] | None = None) -> float | None:
    """ln of a bound on the probability of any one report of any record; None where none is known.

    Two reports that are drawn apart, of whatever records, are alike with this probability at most.  ``strata``: of
    records of these alone, where reports state it and others are not among them.
    """
    channel = plan.channel
    if isinstance(channel, AskChannel):
        single = channel.shares * (channel.keep + channel.by_chance)
        return float(np.max(np.log(np.minimum(single, 1.0)) + np.where(channel.hashed, _LOG_SEEDS, 0.0)))
    if isinstance(channel, BasketChannel):
        told = channel.response
        if isinstance(told, LocalHashing):
            return _LOG_SEEDS
        return math.log(min(1.0, max(told.p, told.q, 1 / told.n_values)))
    if isinstance(channel, StatingChannel):
        return None
    if isinstance(channel, FlipChannel):
        p, r = np.asarray(channel.present), np.asarray(channel.absent)
        return float(np.log(np.max([p, 1 - p, r, 1 - r], axis=0)).sum())
    if isinstance(channel, GammaDiagonalChannel):
        groups = np.asarray(channel.domain.groups)
        record = np.flatnonzero(np.diff(groups, prepend=-1)).astype(np.int32)[None, :]
        return math.log(min(1.0, float(channel.chance(record)[0]) + channel.keep))
    if isinstance(channel, RecordChannel) and plan.unit.longer == "refuse":
        return _by_few(
            channel, {channel.stratum_of(size) for size in sizes_of(plan)} if strata is None else set(strata)
        )
    return None


def _by_few(channel: RecordChannel, strata: Collection[int]) -> float:
    """A report is no likelier than what it shows of a few items; of one where there are many strata to go through."""
    items = tuple(range(min(_FEW if len(strata) <= _FEW_STRATA else 1, len(channel.domain))))
    return math.log(min(1.0, max(float(channel.transition(items, stratum).max()) for stratum in strata)))
