"""Compiled loops of the Quest generator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bosket.compiling import compiled

IDLE_LIMIT = 100
"""A transaction ends when so many patterns in a row had nothing new to add to it."""


class Patterns(NamedTuple):
    """The potentially large itemsets: pattern p is ``members[offsets[p]:offsets[p + 1]]``."""

    offsets: npt.NDArray[np.int64]
    members: npt.NDArray[np.int32]
    cumulative: npt.NDArray[np.float64]
    corruption: npt.NDArray[np.float64]


class State(NamedTuple):
    """What passes from one transaction to the next."""

    held: npt.NDArray[np.int32]
    """What is left of the pattern on hand."""
    n_held: npt.NDArray[np.int64]
    """One number: how much of it waits for the next transaction."""
    stamps: npt.NDArray[np.int64]
    """The last transaction, counted from 1, that took each item."""


@compiled
def draw_members(
    rng: np.random.Generator, offsets: npt.NDArray[np.int64], n_items: int, correlation: float
) -> npt.NDArray[np.int32]:
    """The items of each pattern: a fraction of them from the pattern before, the rest at random."""
    members = np.empty(offsets[-1], np.int32)
    stamps = np.zeros(n_items, np.int64)
    before = 0
    for pattern in range(offsets.size - 1):
        start, stop = offsets[pattern], offsets[pattern + 1]
        common = 0
        if pattern > 0:
            fraction = min(1.0, rng.exponential(correlation))
            common = min(int(fraction * (stop - start) + 0.5), start - before)
        for k in range(common):  # shuffles the pattern before as far as needed; its order means nothing
            j = before + k + int(rng.random() * (start - before - k))
            members[before + k], members[j] = members[j], members[before + k]
            members[start + k] = members[before + k]
            stamps[members[start + k]] = pattern + 1
        at = start + common
        while at < stop:
            item = np.int32(rng.random() * n_items)
            if stamps[item] != pattern + 1:
                stamps[item] = pattern + 1
                members[at] = item
                at += 1
        before = start
    return members


@compiled
def fill(
    rng: np.random.Generator,
    patterns: Patterns,
    state: State,
    mean_size: float,
    first: int,
    ends: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
) -> int:
    """Write transactions to ``items`` and where each ends to ``ends``, until either is full; return how many."""
    held, stamps = state.held, state.stamps
    n_items = stamps.size
    n_held = state.n_held[0]
    written = 0
    for transaction in range(ends.size):
        if written + n_items > items.size:
            state.n_held[0] = n_held
            return transaction
        mark = first + transaction + 1
        size = min(max(1, rng.poisson(mean_size)), n_items)
        start, idle = written, 0
        while written - start < size and idle < IDLE_LIMIT:
            if n_held == 0:
                n_held = corrupted(rng, patterns, held)
            new = 0
            for k in range(n_held):
                new += stamps[held[k]] != mark
            does_not_fit = new > size - (written - start)
            if does_not_fit and written > start and rng.random() < 0.5:
                break  # it waits for the next transaction
            for k in range(n_held):
                item = held[k]
                if stamps[item] != mark:
                    stamps[item] = mark
                    items[written] = item
                    written += 1
            idle = 0 if new else idle + 1
            n_held = 0
        ends[transaction] = written
    state.n_held[0] = n_held
    return ends.size


@compiled
def corrupted(rng: np.random.Generator, patterns: Patterns, held: npt.NDArray[np.int32]) -> int:
    """Draw a pattern by weight and put into ``held`` what corruption leaves of it."""
    pattern = np.searchsorted(patterns.cumulative, rng.random(), side="right")
    start = patterns.offsets[pattern]
    n_held = patterns.offsets[pattern + 1] - start
    for k in range(n_held):
        held[k] = patterns.members[start + k]
    while n_held > 0 and rng.random() < patterns.corruption[pattern]:
        n_held -= 1
        held[int(rng.random() * (n_held + 1))] = held[n_held]
    return int(n_held)
