"""What single reports show: the bits that travel, and which items each of them speaks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.compiling import compiled
from bosket.evidence.kept import Truths as Truths
from bosket.mechanisms import Channel
from bosket.mechanisms.payload import Batch, PackedBits
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.hash_kernels import bucket_of
from bosket.mechanisms.questions.hashing import KeyNumbers as KeyNumbers
from bosket.mechanisms.questions.responses import LocalHashing, SubsetSelection

Record = tuple[int, ...]
"""The ids of its items."""
ReportNames = npt.NDArray[np.uint64]
"""A number for each report, alike for those that are alike."""

_MOST_APART = 4096  # different reports of a payload from outside that are looked at one by one
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def wire_bits(channel: Channel, batch: Batch, places: KeyNumbers) -> Truths:
    """Some of the bits of each report as it travels: shape (n, places)."""
    rows = channel.payload.to_rows(batch)
    found = np.empty((len(rows), len(places)), bool)
    for column, at in enumerate(places.tolist()):
        found[:, column] = rows[:, at // 8] >> (at % 8) & 1
    return found


def n_set(channel: Channel, batch: Batch) -> npt.NDArray[np.int64]:
    """How many bits of each report are set as it travels."""
    numbers: npt.NDArray[np.int64] = np.bitwise_count(channel.payload.to_rows(batch)).sum(axis=1, dtype=np.int64)
    return numbers


def names_of(channel: Channel, batch: Batch) -> ReportNames:
    """The bytes of each report as one number; two reports that differ share it with 2^-64, as far as anybody knows."""
    rows = channel.payload.to_rows(batch)
    name = np.full(len(rows), 0x243F6A8885A308D3, np.uint64)
    for at in range(rows.shape[1]):
        name = (name ^ rows[:, at].astype(np.uint64)) * _MULTIPLIER
        name ^= name >> np.uint64(29)
    return name


def keys_of(channel: Channel, record: Record) -> list[int]:
    """What of a record reports may show: its items, or the itemsets that are asked about and that it holds."""
    if isinstance(channel, BasketChannel) and channel.candidates is not None:
        held = set(record)
        return [at for at, itemset in enumerate(channel.candidates) if held.issuperset(itemset)]
    return list(record)


def shown_keys(channel: Channel, batch: Batch, items: KeyNumbers) -> Truths:
    """Which of these keys, items as a rule, each report shows: shape (n, keys)."""
    if isinstance(channel.payload, PackedBits):
        return _packed(batch["report"], items)
    if isinstance(channel, AskChannel):
        return _answered(channel, batch, items)
    if isinstance(channel, BasketChannel):
        return _told(channel, batch, items)
    return _one_by_one(channel, batch, items)


def _packed(bits: Any, items: KeyNumbers) -> Truths:
    found = np.empty((len(bits), len(items)), bool)
    for column, item in enumerate(items.tolist()):  # all at once would take eight bytes for each bit, several times
        found[:, column] = bits[:, item // 64] >> np.uint64(item % 64) & np.uint64(1)
    return found


def _answered(channel: AskChannel, batch: Batch, items: KeyNumbers) -> Truths:
    """An answer shows the values that it stands for, a bucket the answers that fall into it."""
    groups, offsets = channel.domain.groups, channel.domain.offsets
    found = np.zeros((len(batch), len(items)), bool)
    for at in np.unique(batch["question"]).tolist():
        rows = np.flatnonzero(batch["question"] == at)
        asked, told = channel.asked[at], batch["answer"][rows].astype(np.int64)
        place = np.arange(len(asked.answers))
        for column, item in enumerate(items.tolist()):
            attribute = int(groups[item])
            if attribute not in asked.attributes:
                continue
            j = list(asked.attributes).index(attribute)
            value = place // int(asked.strides[j]) % int(asked.shape[j])
            answers = np.unique(asked.answers[value == item - int(offsets[attribute])]).astype(np.int64)
            if channel.hashed[at]:
                seeds = np.ascontiguousarray(batch["seed"][rows])
                found[rows, column] = _in_buckets(seeds, told, answers, int(channel.n_values[at])).any(axis=1)
            else:
                found[rows, column] = np.isin(told, answers)
    return found


def _told(channel: BasketChannel, batch: Batch, items: KeyNumbers) -> Truths:
    told = channel.response
    if isinstance(told, LocalHashing):
        values = batch["value"].astype(np.int64)
        return _in_buckets(np.ascontiguousarray(batch["seed"]), values, items, told.n_values)
    if isinstance(told, SubsetSelection):
        return _packed(batch["subset"], items)
    answered: Truths = batch["answer"][:, None].astype(np.int64) == items[None, :]
    return answered


def _one_by_one(channel: Channel, batch: Batch, items: KeyNumbers) -> Truths:
    """By a counter for each report that is not like another; none are shown where too many differ."""
    _, first, which = np.unique(names_of(channel, batch), return_index=True, return_inverse=True)
    found = np.zeros((len(batch), len(items)), bool)
    if len(first) > _MOST_APART:
        return found
    rows = items.astype(np.int32)[:, None]
    shown = [channel.payload.counter(batch.take(np.array([at]))).supports(rows).sum(axis=0) > 0 for at in first]
    return np.array(shown)[which.ravel()]


@compiled
def _buckets(seeds: Any, values: Any, keys: Any, buckets: int, found: Any) -> None:
    for report in range(seeds.size):
        for at in range(keys.size):
            found[report, at] = bucket_of(seeds[report], keys[at], buckets) == values[report]


def _in_buckets(seeds: npt.NDArray[np.uint64], values: KeyNumbers, keys: KeyNumbers, buckets: int) -> Truths:
    """Whether each key falls into the bucket that a report tells."""
    found = np.zeros((len(seeds), len(keys)), bool)
    _buckets(seeds, values, keys, buckets, found)
    return found
