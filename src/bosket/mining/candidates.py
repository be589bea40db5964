"""Candidates of the next size: Apriori's join and prune (Agrawal and Srikant, VLDB 1994, section 2.1.1).

They are counted before they are made.  A count stops as soon as it passes the limit, so that a level which is too large
is refused before anything of its size is allocated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.counting.kernels import group_starts
from bosket.counting.table import ItemsetIndex
from bosket.data.domain import ItemIds
from bosket.errors import TooManyCandidatesError
from bosket.mining.candidate_kernels import join
from bosket.threads import parallel_map, slices

_STEPS = 1 << 24  # of the walk through lists in one piece, at most; some tens of milliseconds
_LOOK_UP = 64  # steps that take as long as finding a list
_ROUND = 16  # pieces counted until the total is looked at

ItemGroups = npt.NDArray[np.integer[Any]]
Told = Callable[[float], None]
"""Hears which part of the work is done."""


def count_candidates(index: ItemsetIndex, *, on_done: Told | None = None) -> int:
    """How many itemsets one larger have all their subsets in ``index`` (of itemsets of two items or more)."""
    return sum(_Join(index).counts(limit=1 << 62, on_done=on_done))


def next_candidates(
    index: ItemsetIndex, *, max_candidates: int, groups: ItemGroups | None = None, on_done: Told | None = None
) -> ItemsetRows:
    """All itemsets one larger whose subsets are all in ``index``, sorted; its rows must be sorted too.

    ``groups`` are the attributes of a table's items: a record has one value of each, so no pair is of one attribute.
    ``on_done`` hears which part of the work is done.
    """
    size = index.rows.shape[1] + 1
    if size == 2:
        items = index.rows[:, 0]
        number = number_of_pairs(items, groups)
        if number > max_candidates:
            raise too_many(size, number, max_candidates)
        left, right = pairs_of(items, groups)
        return np.stack([items[left], items[right]], axis=1)
    work = _Join(index)
    numbers = work.counts(limit=max_candidates, on_done=_part_of(on_done, 0.0, 0.5))
    if sum(numbers) > max_candidates:
        raise too_many(size, sum(numbers), max_candidates)
    return work.fill(numbers, on_done=_part_of(on_done, 0.5, 1.0))


class _Join:
    """The join of one level, cut into pieces of bounded work."""

    def __init__(self, index: ItemsetIndex) -> None:
        self.rows = index.rows
        self.lasts = np.ascontiguousarray(self.rows[:, -1])
        self.groups = group_starts(self.rows)
        self.heads = ItemsetIndex(self.rows[self.groups[:-1], :-1])
        self.longest = int(np.diff(self.groups).max(initial=1))
        steps = self.rows.shape[1] * (self.longest + _LOOK_UP)  # for one row, at most
        self.parts = list(slices(len(self.rows), max(1, _STEPS // steps)))

    def _run(self, part: tuple[int, int], limit: int, out: ItemsetRows) -> int:
        heads, current = self.heads, np.empty(self.longest, np.int32)
        return int(join(self.rows, self.lasts, self.groups, heads.rows, heads.slots, current, *part, limit, out))

    def counts(self, *, limit: int, on_done: Told | None = None) -> list[int]:
        """Candidates of each piece; not of all pieces, if there are more than ``limit`` before."""
        nothing = np.empty((0, self.rows.shape[1] + 1), np.int32)
        numbers: list[int] = []
        for start, stop in slices(len(self.parts), _ROUND):
            numbers += parallel_map(lambda part: self._run(part, limit, nothing), self.parts[start:stop])
            if on_done is not None:
                on_done(stop / len(self.parts))
            if sum(numbers) > limit:
                break
        return numbers

    def fill(self, numbers: list[int], *, on_done: Told | None = None) -> ItemsetRows:
        """The candidates themselves, from the numbers of each piece."""
        candidates = np.empty((sum(numbers), self.rows.shape[1] + 1), np.int32)
        starts = np.cumsum([0, *numbers])

        def fill(work: tuple[tuple[int, int], int, int]) -> None:
            part, start, stop = work
            self._run(part, 1 << 62, candidates[start:stop])

        pieces = list(zip(self.parts, starts[:-1].tolist(), starts[1:].tolist(), strict=True))
        tell = None if on_done is None else lambda done: on_done(done / len(pieces))
        parallel_map(fill, pieces, on_done=tell)
        return candidates


def _part_of(tell: Told | None, begin: float, end: float) -> Told | None:
    return None if tell is None else partial(_scaled, tell, begin, end)


def _scaled(tell: Told, begin: float, end: float, done: float) -> None:
    tell(begin + (end - begin) * done)


def number_of_pairs(items: ItemIds, groups: ItemGroups | None) -> int:
    """How many pairs of these items there are; of a table, pairs of values of different attributes."""
    number = len(items) * (len(items) - 1) // 2
    if groups is not None:
        sizes = np.bincount(groups[items]).astype(object)  # whole numbers without end
        number -= int((sizes * (sizes - 1) // 2).sum())
    return number


def pairs_of(items: ItemIds, groups: ItemGroups | None) -> tuple[ItemGroups, ItemGroups]:
    """The places of the two items of every such pair, in order; ``items`` increase, and so do their groups."""
    places = np.arange(len(items))
    first = places + 1 if groups is None else np.searchsorted(groups[items], groups[items], side="right")
    numbers = len(items) - first
    left = np.repeat(places, numbers)
    begins = np.concatenate([[0], np.cumsum(numbers)[:-1]]) if len(items) else numbers
    right = np.arange(len(left)) + np.repeat(first - begins, numbers)
    return left, right


def too_many(level: int, number: int, limit: int) -> TooManyCandidatesError:
    """The refusal to search on, with what to do about it."""
    return TooManyCandidatesError(
        f"There are at least {number:,} candidate itemsets of size {level}, more than max_candidates = {limit:,}.",
        level=level,
        number=number,
        limit=limit,
        hint="Raise min_support, lower slack, set max_size below this size, or raise max_candidates.",
    )
