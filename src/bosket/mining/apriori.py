"""Level-wise Apriori over estimates, written once for every mechanism and every counter.

A candidate is extended while its estimate is at least min_support - slack standard errors, and reported at min_support
(Evfimievski et al. 2004, section 4.5).  What is reported therefore has all its subsets among the extended itemsets,
with their counts: rules never miss one.

Slack lowers the risk that noise in a subset hides a frequent superset, and does not remove it: a subset that sits just
at min_support is lost with probability 16% at slack 1, 2.3% at slack 2, and an itemset of size 3 has six subsets.  Most
frequent itemsets have subsets well above the limit, for which the risk is nil.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.counting.table import SupportTable
from bosket.errors import TooManyCandidatesError
from bosket.estimates import Floats, standard_error, variance
from bosket.limits import reaches
from bosket.mechanisms.base import Channel
from bosket.mining.candidates import next_candidates
from bosket.mining.support import Moments, cells_of, least_variances, moments
from bosket.threads import parallel_map, slices

log = logging.getLogger(__name__)

_CELLS = 1 << 17  # cells estimated in one piece: a MiB for each array of them

Progress = Callable[["LevelProgress"], None]


@dataclass(frozen=True, slots=True)
class LevelProgress:
    """Where a search stands: ``done`` of ``total`` units of work of itemsets of this size.  Never counts from the
    data.
    """

    size: int
    done: float
    total: float


@dataclass(frozen=True, slots=True)
class Level:
    """The itemsets of one size that were kept, with what was observed and estimated."""

    items: ItemsetRows
    observed: Counts
    value: Floats | npt.NDArray[np.int64]
    second: Floats | npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for and when to give up."""

    min_support: float
    slack: float = 1.0
    max_size: int | None = None
    max_candidates: int = 10_000_000
    items: tuple[int, ...] | None = None
    """Look at these only."""
    on_progress: Progress | None = None


def levelwise(counter: Counter, channel: Channel, search: Search) -> list[Level]:
    """The itemsets to extend, size by size; those at or above min_support are the frequent ones."""
    table = SupportTable(counter.supports(np.empty((1, 0), np.int32)))
    items = range(len(channel.domain)) if search.items is None else search.items
    candidates: ItemsetRows = np.array(items, np.int32)[:, None]
    levels: list[Level] = []
    while len(candidates):
        size = candidates.shape[1]
        started = time.perf_counter()
        observed = counter.supports(candidates, on_progress=_at_size(search.on_progress, size, len(candidates)))
        counted = time.perf_counter()
        estimate, error = _estimate(channel, counter, candidates, observed, table)
        keep = reaches(estimate.value + search.slack * error, search.min_support * counter.n_records)
        level = Level(candidates[keep], observed[:, keep], estimate.value[keep], estimate.second[keep])
        log.info(
            "size %d: %d candidates, %d kept, %.2f s counting, %.2f s estimating",
            size, len(candidates), len(level), counted - started, time.perf_counter() - counted,
        )  # fmt: skip
        if not len(level):
            break
        levels.append(level)
        table.add(level.items, level.observed)
        if size == search.max_size or not channel.recovers(size + 1, counter.strata):
            break
        try:
            candidates = next_candidates(table.index(size), max_candidates=search.max_candidates)
            if size == 1 and channel.domain.groups is not None:  # a record has one value of each attribute
                kind = channel.domain.groups[candidates]
                candidates = np.ascontiguousarray(candidates[kind[:, 0] != kind[:, 1]])
        except TooManyCandidatesError as problem:
            typical = float(np.median(error)) / counter.n_records
            problem.hint = f"{problem.hint} Supports at size {size} have a standard error of about {typical:.2g} here."
            raise
    return levels


def _at_size(tell: Progress | None, size: int, total: int) -> Callable[[int], None] | None:
    return None if tell is None else lambda done: tell(LevelProgress(size, done, total))


def _estimate(
    channel: Channel, counter: Counter, itemsets: ItemsetRows, observed: Counts, table: SupportTable
) -> tuple[Moments, Floats]:
    """Estimates of all candidates of one size and their standard errors, in pieces on all cores."""
    n, k = itemsets.shape
    records = table.empty[:, 0]
    value, second, error = (np.empty(n) for _ in range(3))

    def piece(part: tuple[int, int]) -> None:
        start, stop = part
        rows = itemsets[start:stop]
        cells = cells_of(table.subset_supports(rows, own=observed[:, start:stop]))
        found = moments(channel, counter.strata, rows, cells)
        noise = variance(found.value, found.second, counter.n_records, own=channel.own)
        least = least_variances(channel, counter.strata, records, rows)
        value[start:stop], second[start:stop] = found.value, found.second
        error[start:stop] = standard_error(noise, least)

    parallel_map(piece, list(slices(n, max(1, (_CELLS >> k) // len(counter.strata)))))
    return Moments(value, second), error
