"""Candidates of the next size: Apriori's join and prune (Agrawal and Srikant, VLDB 1994, section 2.1.1)."""

from __future__ import annotations

import numpy as np

from bosket.counting.base import ItemsetRows
from bosket.counting.kernels import group_starts
from bosket.counting.table import ItemsetIndex
from bosket.errors import TooManyCandidatesError
from bosket.mining.candidate_kernels import join
from bosket.threads import parallel_map, slices

_GROUPS = 256  # groups joined in one piece


def next_candidates(index: ItemsetIndex, *, max_candidates: int) -> ItemsetRows:
    """All itemsets one larger whose subsets are all in ``index``, sorted; its rows must be sorted too."""
    rows = index.rows
    size = rows.shape[1] + 1
    if size == 2:
        items = rows[:, 0]
        number = len(items) * (len(items) - 1) // 2
        if number > max_candidates:
            raise too_many(size, number, max_candidates)
        left, right = np.triu_indices(len(items), 1)
        return np.stack([items[left], items[right]], axis=1)
    groups = group_starts(rows)
    nothing = np.empty((0, size), np.int32)

    def count(part: tuple[int, int]) -> int:
        return int(join(rows, index.slots, groups, *part, max_candidates, nothing))

    parts = list(slices(len(groups) - 1, _GROUPS))
    numbers = parallel_map(count, parts)
    total = sum(numbers)
    if total > max_candidates:
        raise too_many(size, total, max_candidates)
    candidates = np.empty((total, size), np.int32)
    starts = np.cumsum([0, *numbers])

    def fill(work: tuple[tuple[int, int], int, int]) -> None:
        part, start, stop = work
        join(rows, index.slots, groups, *part, max_candidates, candidates[start:stop])

    parallel_map(fill, list(zip(parts, starts[:-1], starts[1:], strict=True)))
    return candidates


def too_many(level: int, number: int, limit: int) -> TooManyCandidatesError:
    """The refusal to search on, with what to do about it."""
    return TooManyCandidatesError(
        f"There are at least {number:,} candidate itemsets of size {level}, more than max_candidates = {limit:,}.",
        level=level,
        number=number,
        limit=limit,
        hint="Raise min_support, lower slack, set max_size below this size, or raise max_candidates.",
    )
