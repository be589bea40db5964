"""Candidates of the next size: Apriori's join and prune (Agrawal and Srikant, VLDB 1994, section 2.1.1)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.counting.kernels import group_starts
from bosket.counting.table import ItemsetIndex
from bosket.errors import TooManyCandidatesError
from bosket.mining.candidate_kernels import join
from bosket.threads import parallel_map

_PAIRS = 1 << 20  # pairs of itemsets joined in one piece, some tens of milliseconds


def count_candidates(index: ItemsetIndex) -> int:
    """How many itemsets one larger have all their subsets in ``index`` (of itemsets of two items or more)."""
    rows = index.rows
    groups = group_starts(rows)
    nothing = np.empty((0, rows.shape[1] + 1), np.int32)
    limit = 1 << 62
    return sum(parallel_map(lambda part: int(join(rows, index.slots, groups, *part, limit, nothing)), _parts(groups)))


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

    parts = _parts(groups)
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


def _parts(groups: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut the groups into ranges of about equal work; a group of g itemsets has g (g - 1) / 2 pairs to join."""
    sizes = np.diff(groups)
    work = np.cumsum(sizes * (sizes - 1) // 2)
    cuts = np.unique(np.searchsorted(work, np.arange(_PAIRS, int(work[-1]) if len(work) else 0, _PAIRS)) + 1)
    return list(pairwise([0, *cuts[cuts < len(sizes)].tolist(), len(sizes)]))


def too_many(level: int, number: int, limit: int) -> TooManyCandidatesError:
    """The refusal to search on, with what to do about it."""
    return TooManyCandidatesError(
        f"There are at least {number:,} candidate itemsets of size {level}, more than max_candidates = {limit:,}.",
        level=level,
        number=number,
        limit=limit,
        hint="Raise min_support, lower slack, set max_size below this size, or raise max_candidates.",
    )
