"""Whether supports estimated from reports of one record are what they must be: 1 of what it holds, 0 of all else.

E[w_A | t] = [A in t] for every mechanism that takes records one by one, so estimates from n reports of t are held
against 0 and 1.  Maurer and Pontil (2009), Theorem 4: with R the width of a weight, V its sample variance, the mean is
further from 0 or 1 than sqrt(2 V ln(2 / h) / n) + 7 R ln(2 / h) / (3 (n - 1)) to one side with probability h at most.
Answers to a design's questions are estimated as ratios, for which that holds nearly.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from bosket.audit.verdicts import ACQUITTED, CONVICTED, NOT_LOOKED, Finding
from bosket.errors import BosketError
from bosket.mechanisms.payload import Batch
from bosket.mining import estimate
from bosket.plan import Plan
from bosket.reports import Reports

_MOST_ITEMS = 8
_CHECK = "estimates from reports of one record are right"


def itemsets_of(plan: Plan, records: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Single items and pairs, of a few items of the records, that reports tell of."""
    held = [item for place in range(_MOST_ITEMS) for record in records for item in record[place : place + 1]]
    items = sorted(dict.fromkeys(held[:_MOST_ITEMS])) or [0]
    groups, found = plan.domain.groups, []
    for size in (1, 2):
        rows = [
            itemset
            for itemset in combinations(items, size)
            if size == 1 or groups is None or groups[itemset[0]] != groups[itemset[1]]
        ]
        if rows:
            covered = plan.channel.covers(np.array(rows, np.int32))
            found += [row for at, row in enumerate(rows) if covered is None or covered[at]]
    return found


def estimates_of(plan: Plan, records: Sequence[tuple[int, ...]], batch: Batch, failure: float) -> Finding:
    """Estimates of a few itemsets from the reports of each record."""
    if plan.mechanism.needs_curator:
        return Finding(_CHECK, NOT_LOOKED, "Reports are made of the records of several people.")
    limit = plan.max_size if plan.support_of == "cut records" else None
    itemsets = itemsets_of(plan, records)
    each = failure / max(1, 2 * len(itemsets) * len(records))
    worst: tuple[float, str, float, float] | None = None
    tests = 0
    for at, record in enumerate(records):
        if limit is not None and len(record) > limit:
            continue  # supports are those of what is left of it
        part = Reports(plan, batch.take(np.arange(at, len(batch), len(records))), randomness="an audit")
        for size in (1, 2):
            wanted = [itemset for itemset in itemsets if len(itemset) == size]
            found = _estimated(plan, part, wanted, record, each)
            tests += len(found)
            for one in found:
                worst = one if worst is None or one[0] > worst[0] else worst
    if worst is None:
        return Finding(_CHECK, NOT_LOOKED, "Nothing can be estimated from reports of one record.")
    excess, label, value, truth = worst
    if excess <= 0:
        return Finding(_CHECK, ACQUITTED, f"{tests:,} estimates lie within their errors.", tests, failure)
    words = f"The support of {label} is estimated at {value:.4f} where it is {truth:g}."
    return Finding(_CHECK, CONVICTED, words, tests, failure, {"estimate": value, "truth": truth})


def _estimated(
    plan: Plan, part: Reports, wanted: list[tuple[int, ...]], record: tuple[int, ...], failure: float
) -> list[tuple[float, str, float, float]]:
    """By how much each estimate is further from the truth than its error allows; with words, value and truth."""
    if not wanted:
        return []
    size, n = len(wanted[0]), len(part)
    try:
        influence = plan.channel.influence_among(size, part.batch, plan.unit.max_size)
        if influence is None or not math.isfinite(influence.width):
            return []
        labels = [[plan.domain.labels[item] for item in itemset] for itemset in wanted]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of one record, whatever it shows, few reports carry much
            found = estimate(part, labels, model=None)
    except BosketError:  # erased items, sizes that reports do not tell of
        return []
    log = math.log(2 / failure)
    reach = np.sqrt(2 * log) * found.stderr + 7 * influence.width * log / (3 * (n - 1))
    truths = [float(set(itemset) <= set(record)) for itemset in wanted]
    return [
        (abs(value - truth) - r, " and ".join(map(repr, label)), value, truth)
        for value, truth, r, label in zip(found.value.tolist(), truths, reach.tolist(), labels, strict=True)
    ]
