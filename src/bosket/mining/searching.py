"""The two calls of an analyst: mine frequent itemsets, or estimate the supports of given ones."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bosket.checks import check_fraction, check_integer, check_not_negative, check_not_text
from bosket.counting.base import ItemsetRows
from bosket.data import Baskets
from bosket.data.domain import ItemIds
from bosket.errors import ParameterError
from bosket.evidence import Evidence, EvidenceSource, Family, Kept, Level, Model, as_source, evidence_of
from bosket.evidence.base import add_sampling
from bosket.evidence.carried import Carried
from bosket.evidence.cautions import FEW_REPORTS
from bosket.evidence.hopeless import refuse_hopeless, warn_of_hopeless
from bosket.evidence.kept import Truths
from bosket.evidence.of import exact_without_reports
from bosket.evidence.raw import ExactLevels, RawRecords, Sought
from bosket.limits import least_count
from bosket.mining.apriori import Search, levelwise
from bosket.mining.exact import exact_itemsets
from bosket.mining.influence import warn_of
from bosket.mining.noise import warn_of_noise
from bosket.mining.result import FrequentItemsets
from bosket.models.room import NoLawError
from bosket.progress import LevelProgress, Progress
from bosket.statistics.estimates import Estimates, Floats

_LARGEST_UNION = 16


def mine(
    data: EvidenceSource,
    min_support: float,
    *,
    max_size: int | None = None,
    slack: float = 1.0,
    max_candidates: int = 10_000_000,
    items: Iterable[Hashable] | None = None,
    model: Model = "auto",
    on_progress: Progress | None = None,
) -> FrequentItemsets:
    """Frequent itemsets of randomized reports, or of raw records exactly, the most frequent first.

    data            reports; baskets, a table, or a frame of baskets (pandas, polars or Arrow); files of either that
                    were opened, of any size; a frame of a Spark session, of raw records or of reports; evidence of any
                    kind
    min_support     report itemsets whose estimated support, a fraction, is at least this, and their subsets
    max_size        look no further than itemsets of this size
    slack           extend itemsets down to min_support - slack standard errors
    max_candidates  refuse to go on when one size has more candidates (for raw baskets: more frequent itemsets), or more
                    than ten times as many counts: one for each candidate in each stratum of the reports
    items           look at these items only (all, if not given)
    model           "log-linear", or a LogLinear with its order: a law of the whole table is fitted to all reports, and
                    supports are its margins; None: unbiased estimates, each by itself; "auto": a law for reports of
                    Ask, which are made to be read together, and none for others, or where it would be too large
    on_progress     called with a LevelProgress about every second or more often; its ``seconds`` say how long the stage
                    at hand will take, before it begins, and what the callable raises ends the search

    **Time and memory.**  Candidates are counted before they are made: a size that has more than ``max_candidates`` is
    refused before anything of it is allocated.  One of size k takes about 60 + 4 k bytes and 8 for each stratum of the
    reports, such as a size of records that is stated: 10 million pairs or triples in one stratum, or 1 million in a
    hundred, about 1 GB.  Counting it takes n_records / 64 steps, estimating it 2^k.  Ctrl-C
    is answered within a second.

    A :class:`HopelessError` refuses reports in which no single item can be seen, before anything is looked for: by the
    plan and the number of reports alone.  A :class:`NoiseWarning` says where many of the itemsets found are chance,
    and ``notes`` what was left out.

    An :class:`InfluenceWarning` says where a few reports, which a few dishonest people could have sent, carry a
    support: of all itemsets that were counted, since a few reports may also make a frequent one vanish.

    Of many noisy estimates those above a limit are the luckier ones: among reported itemsets near min_support,
    estimates are too high on average and intervals cover less often than they say.  :func:`estimate` on itemsets named
    in advance has no such bias.

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["milk", "bread"], ["milk"], ["bread", "milk", "beer"]])
    >>> for itemset, support in bk.mine(baskets, min_support=0.6):
    ...     print(sorted(itemset), round(support, 3))
    ['milk'] 1.0
    ['bread'] 0.667
    ['bread', 'milk'] 0.667
    """
    search = Search(
        min_support=check_fraction("min_support", min_support),
        slack=check_not_negative("slack", slack),
        max_size=None if max_size is None else check_integer("max_size", max_size, least=1),
        max_candidates=check_integer("max_candidates", max_candidates, least=1),
        on_progress=on_progress,
    )
    of_all = Sought(search.min_support, search.max_size, search.max_candidates)
    data = as_source(data, to="mine", sought=of_all if items is None else None)
    if items is not None:
        search = replace(search, items=data.domain.itemset(items))
    if isinstance(data, Baskets | RawRecords):
        return _mine_exactly(data, search)
    try:
        found = _mine_reports(data, search, model)
    except NoLawError:  # of a block that only a later size asked for
        if model != "auto":
            raise
        found = _mine_reports(data, search, None)
    _tell_of_few(found)
    warn_of_noise(found)
    return found


def _mine_reports(data: EvidenceSource, search: Search, model: Model) -> FrequentItemsets:
    looked_at = None if search.items is None else np.array(search.items, np.int32)
    evidence = evidence_of(data, looked_at, max_counts=search.max_counts, model=model)
    refuse_hopeless(evidence)
    return mine_evidence(evidence, search)


def _tell_of_few(found: FrequentItemsets) -> None:
    """Warn, and note in ``about``, where a few reports carry supports, of all itemsets that were counted."""
    note = warn_of(found.kept.carried, found.domain)
    if note is not None:
        found.notes["influence"] = note


def mine_evidence(evidence: Evidence, search: Search) -> FrequentItemsets:
    """Mine evidence of any kind: the engine behind :func:`mine`."""
    kept = levelwise(evidence, search)
    reached = len(kept.levels)
    notes: dict[str, Any] = {}
    if reached and reached != search.max_size and not evidence.sees(reached + 1):
        notes["stopped"] = f"itemsets of more than {reached} items cannot be estimated from these reports"
    elif reached and reached != search.max_size and not search.keep_hopeless and evidence.is_hopeless(reached + 1):
        notes["stopped"] = (
            f"itemsets of {reached + 1} items cannot be seen in these reports: no support of theirs can be as large as "
            "its standard error"
        )
    if kept.n_hopeless:
        which = "1 itemset" if kept.n_hopeless == 1 else f"{kept.n_hopeless} itemsets"
        notes["hopeless"] = (
            f"{which} left out: an estimate above 2, or a standard error above 1, is off by more than all"
        )
    if kept.n_not_covered:
        left = "1 itemset" if kept.n_not_covered == 1 else f"{kept.n_not_covered} itemsets"
        notes["left_out"] = f"{left} of frequent items left out: no report tells of all the items together"
    unit = evidence.provenance.unit
    if unit is not None and unit.reports > 1:
        notes["repeats"] = (
            f"one person may send {unit.reports} reports: where these are alike, as by a memo, errors are up to "
            f"{math.sqrt(unit.reports):.1f} times those stated"
        )
    return FrequentItemsets(evidence.without_reports(), kept, search, notes=notes)


def _mine_exactly(records: Baskets | RawRecords, search: Search) -> FrequentItemsets:
    tell, n = search.on_progress, records.n_records
    find = partial(_itemsets_here, records) if isinstance(records, Baskets) else records.frequent_itemsets
    levels = find(
        min_count=least_count(search.min_support, n),
        max_size=search.max_size,
        max_itemsets=search.max_candidates,
        items=None if search.items is None else np.array(search.items, np.int32),
        on_done=None if tell is None else lambda done: tell(LevelProgress(0, done, 1.0, "searching")),
    )
    kept = Kept(np.array([n]), [Level.exact(items, counts) for items, counts in levels])
    return FrequentItemsets(exact_without_reports(records.domain, n), kept, search)


def _itemsets_here(baskets: Baskets, *, items: ItemIds | None, **search: Any) -> ExactLevels:
    """The frequent itemsets of records in memory, as :meth:`RawRecords.frequent_itemsets` gives them."""
    indptr, indices = baskets.indptr, baskets.indices
    if items is not None:
        chosen = np.isin(indices, items)
        indptr, indices = np.concatenate([[0], np.cumsum(chosen)])[indptr], indices[chosen]
    return exact_itemsets(indptr, indices, baskets.n_items, **search)


def estimate(
    data: EvidenceSource, itemsets: Iterable[Iterable[Hashable]], *, sampling: bool = False, model: Model = "auto"
) -> Estimates:
    """Estimated supports of these itemsets, with standard errors, intervals and, on request, their covariance.

    ``sampling=False``: the error of the coins alone, for this very data set.  ``sampling=True``: that of drawing
    people too.  ``model`` is that of :func:`mine`.  An :class:`InfluenceWarning` says where a few reports carry a
    support, a :class:`HopelessPlanWarning` where no single item can be seen, so that :func:`mine` would refuse the
    reports.
    """
    data = as_source(data)
    wanted = [data.domain.itemset(check_not_text(itemset)) for itemset in itemsets]
    largest = max((len(itemset) for itemset in wanted), default=0)
    if largest > _LARGEST_UNION:
        raise ParameterError(
            f"The 'itemsets' parameter must hold itemsets of at most {_LARGEST_UNION} items, got one of {largest}.",
            parameter="itemsets",
            value=largest,
        )
    items = np.array(sorted({item for itemset in wanted for item in itemset}), np.int32)
    try:
        return _estimates(evidence_of(data, items, model=model), wanted, sampling)
    except NoLawError:  # of a block that only these itemsets ask for
        if model != "auto":
            raise
    return _estimates(evidence_of(data, items, model=None), wanted, sampling)


def _estimates(evidence: Evidence, wanted: list[tuple[int, ...]], sampling: bool) -> Estimates:
    n = evidence.n_records
    value, variance, least = (np.empty(len(wanted)) for _ in range(3))
    caution = np.zeros(len(wanted), bool)
    carried = []
    warn_of_hopeless(evidence)
    for size in {len(itemset) for itemset in wanted}:
        places = [place for place, itemset in enumerate(wanted) if len(itemset) == size]
        rows: ItemsetRows = np.array([wanted[place] for place in places], np.int32).reshape(len(places), size)
        family = evidence.family(rows)
        level = family.whole
        value[places], variance[places], least[places] = level.value, level.variance, level.least
        if size:
            caution[places] = _doubtful(family, level, sampling)
            carried.append(level.carried)
    warn_of(Carried.together(carried), evidence.domain)
    if sampling:
        variance = add_sampling(variance, value, value, value, n)

    def covariance() -> Floats:
        """Pair by pair: the product of two weights is a function of what a report shows of the union."""
        matrix = np.empty((len(wanted), len(wanted)))
        for i, first in enumerate(wanted):
            for j, other in enumerate(wanted[: i + 1]):
                matrix[i, j] = matrix[j, i] = _covariance(evidence, first, other, sampling) / n**2
        return matrix

    return Estimates(
        value=value / n,
        variance=variance / n**2,
        least_variance=least / n**2,
        n_records=n,
        sampling=sampling,
        randomness=evidence.provenance.randomness,
        covariance_of=covariance,
        caution=caution,
        support_of=evidence.provenance.support_of,
    )


def _doubtful(family: Family, level: Level, sampling: bool) -> Truths:
    """Itemsets whose interval should not be trusted."""
    if family.evidence.is_exact:
        return level.shown < FEW_REPORTS if sampling else np.zeros(len(level), bool)
    return family.doubtful if sampling else family.doubtful | family.rare_moves


def _covariance(evidence: Evidence, first: tuple[int, ...], other: tuple[int, ...], sampling: bool) -> float:
    """Of two support counts."""
    union = tuple(sorted({*first, *other}))
    if len(union) > _LARGEST_UNION:
        raise ParameterError(
            f"The union of two itemsets must have at most {_LARGEST_UNION} items for their covariance, got "
            f"{len(union)}.",
            parameter="itemsets",
            value=len(union),
        )
    family = evidence.family(np.array([union], np.int32))
    masks = [sum(1 << union.index(item) for item in part) for part in (first, other)]
    result = family.covariance(masks)[:, 0, 1]
    if sampling:
        both, a, b = (family.value(mask) for mask in (family.full, *masks))
        result = add_sampling(result, both, a, b, evidence.n_records)
    return float(result[0])
