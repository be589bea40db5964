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
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.counting.table import SupportTable
from bosket.errors import TooManyCandidatesError
from bosket.estimates import Floats, standard_error, variance
from bosket.limits import reaches
from bosket.mechanisms.base import Channel
from bosket.mining.candidates import next_candidates, too_many
from bosket.mining.progress import Meter, Progress, counting_work, estimating_work
from bosket.mining.support import Moments, cells_of, least_variances, moments
from bosket.threads import n_threads, parallel_map, slices

log = logging.getLogger(__name__)

_CELLS = 1 << 17  # cells estimated in one piece: a MiB for each array of them


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
    if len(items) > search.max_candidates:
        raise too_many(1, len(items), search.max_candidates)
    candidates: ItemsetRows = np.array(items, np.int32)[:, None]
    levels: list[Level] = []
    while len(candidates):
        size = candidates.shape[1]
        level, typical = _kept(channel, counter, candidates, table, search)
        if not len(level):
            break
        levels.append(level)
        if size == search.max_size or not channel.recovers(size + 1, counter.strata):
            break
        joining = Meter(search.on_progress, size + 1, "joining", 1.0)
        table.add(level.items, level.observed)
        joining(0.0)
        try:
            candidates = next_candidates(
                table.index(size),
                max_candidates=search.max_candidates,
                groups=channel.domain.groups,
                on_progress=joining,
            )
        except TooManyCandidatesError as problem:
            problem.hint = f"{problem.hint} Supports at size {size} have a standard error of about {typical:.2g} here."
            raise
        joining.finish()
    return levels


def _kept(
    channel: Channel, counter: Counter, candidates: ItemsetRows, table: SupportTable, search: Search
) -> tuple[Level, float]:
    """The candidates to extend, counted and estimated; and the standard error that is typical of all, a fraction."""
    n, size = candidates.shape
    works = counting_work(n, counter.n_records), estimating_work(n, size, len(counter.strata))
    log.info("size %d: %d candidates, about %.2g s ahead", size, n, sum(works) / n_threads())
    counting = Meter(search.on_progress, size, "counting", n, work=works[0])
    observed = counter.supports(candidates, on_progress=counting)
    counted = counting.finish()
    estimating = Meter(search.on_progress, size, "estimating", n, work=works[1])
    estimate, error = _estimate(channel, counter, candidates, observed, table, estimating)
    keep = reaches(estimate.value + search.slack * error, search.min_support * counter.n_records)
    level = Level(candidates[keep], observed[:, keep], estimate.value[keep], estimate.second[keep])
    log.info(
        "size %d: %d candidates, %d kept, %.2f s counting, %.2f s estimating",
        size, n, len(level), counted, estimating.finish(),
    )  # fmt: skip
    return level, float(np.median(error)) / counter.n_records


def _estimate(
    channel: Channel, counter: Counter, itemsets: ItemsetRows, observed: Counts, table: SupportTable, tell: Meter
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

    parts = list(slices(n, max(1, (_CELLS >> k) // len(counter.strata))))
    parallel_map(piece, parts, on_done=lambda number: tell(parts[number - 1][1]))
    return Moments(value, second), error
