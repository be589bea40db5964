"""Level-wise Apriori over estimates, written once for every mechanism and every counter.

A candidate is extended while its estimate is at least min_support - slack standard errors, and reported at min_support
(Evfimievski et al. 2004, section 4.5).  What is reported therefore has all its subsets among the extended itemsets,
with their counts: rules never miss one.

What is off by more than any support could be is neither reported nor extended: an estimate above 2, or a standard error
above 1, as fractions.  Nor does the search go on to a size of which nothing can be seen
(:mod:`bosket.privacy.accuracy`).

Slack lowers the risk that noise in a subset hides a frequent superset, and does not remove it: a subset that sits just
at min_support is lost with probability 16% at slack 1, 2.3% at slack 2, and an itemset of size 3 has six subsets.  Most
frequent itemsets have subsets well above the limit, for which the risk is nil.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

import numpy as np

from bosket.counting.base import ItemsetRows
from bosket.errors import TooManyCandidatesError
from bosket.evidence import Evidence, Kept, Level
from bosket.evidence.carried import Carried
from bosket.evidence.counts import COUNTS_A_CANDIDATE, too_many_counts
from bosket.evidence.kept import Truths
from bosket.limits import reaches
from bosket.mining.candidates import next_candidates, too_many
from bosket.progress import Meter, Progress
from bosket.statistics.estimates import Floats

log = logging.getLogger(__name__)


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
    keep_hopeless: bool = False
    """List and extend also what cannot be seen, as papers do that are reproduced."""

    @property
    def max_counts(self) -> int:
        """The counts that may be kept of one size: one of each candidate in each stratum of the reports."""
        return COUNTS_A_CANDIDATE * self.max_candidates


def levelwise(evidence: Evidence, search: Search) -> Kept:
    """The itemsets to extend, size by size; those at or above min_support are the frequent ones."""
    items = range(len(evidence.domain)) if search.items is None else search.items
    if len(items) > search.max_candidates:
        raise too_many(1, len(items), search.max_candidates)
    if len(items) * evidence.n_strata > search.max_counts:
        raise too_many_counts("single items", len(items), evidence.n_strata, search.max_counts, level=1)
    limit = min(search.max_candidates, search.max_counts // evidence.n_strata)
    candidates: ItemsetRows = np.array(items, np.int32)[:, None]
    kept = evidence.nothing_kept()
    while len(candidates := _covered(evidence, candidates, kept)):
        size = candidates.shape[1]
        level, errors = _extended(evidence, candidates, kept, search)
        kept.carried = Carried.together([kept.carried, level.carried])
        if not len(level):
            break
        kept.levels.append(level)
        if size == search.max_size or not evidence.sees(size + 1):
            break
        if not search.keep_hopeless and evidence.is_hopeless(size + 1):
            break
        joining = Meter(search.on_progress, size + 1, "joining", 1.0)
        index = level.index
        joining(0.0)
        try:
            candidates = next_candidates(index, max_candidates=limit, groups=evidence.domain.groups, on_done=joining)
        except TooManyCandidatesError as problem:
            if limit < search.max_candidates:
                what, most = f"itemsets of {size + 1} items", search.max_counts
                problem = too_many_counts(what, problem.number, evidence.n_strata, most, level=size + 1)
            typical = float(np.median(errors)) / evidence.n_records
            problem.hint = f"{problem.hint} Supports at size {size} have a standard error of about {typical:.2g} here."
            raise problem from None
        joining.finish()
    return kept


def _off_by_more_than_all(level: Level, n_records: int) -> Truths:
    """Itemsets whose support is off by more than any support could be: for sure, or by its standard error."""
    off: Truths = (level.stderr > n_records) | (level.value > 2 * n_records)
    return off


def _covered(evidence: Evidence, candidates: ItemsetRows, kept: Kept) -> ItemsetRows:
    """The candidates that can be estimated; how many cannot is noted in ``kept``."""
    covered = evidence.covers(candidates)
    if covered is None or covered.all():
        return candidates
    kept.n_not_covered += int((~covered).sum())
    return np.ascontiguousarray(candidates[covered])


def _extended(evidence: Evidence, candidates: ItemsetRows, kept: Kept, search: Search) -> tuple[Level, Floats]:
    """The candidates to extend; and the standard errors of the support counts of all candidates."""
    n, size = candidates.shape
    log.info("size %d: %d candidates, about %.2g s ahead", size, n, evidence.seconds(n, size))
    started = time.perf_counter()
    level = evidence.supports(candidates, kept=kept, on_progress=search.on_progress)
    error = level.stderr
    keep = reaches(level.value + search.slack * error, search.min_support * evidence.n_records)
    if not (evidence.is_exact or search.keep_hopeless):
        off = keep & _off_by_more_than_all(level, evidence.n_records)
        kept.n_hopeless += int(off.sum())
        keep &= ~off
    result = level.take(keep)
    log.info("size %d: %d candidates, %d kept, %.2f s", size, n, len(result), time.perf_counter() - started)
    return result, error
