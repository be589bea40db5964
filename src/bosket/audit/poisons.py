"""What dishonest people can do to estimates, and which reports no honest person would have sent.

A client that does not follow the protocol picks its report.  Cheu, Smith and Ullman (IEEE Security and Privacy 2021)
call these manipulation attacks, and show that local schemes are open to them, the more so the more private they are.
See docs/theory/poisoning.md for what can be noticed and what cannot.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.checks import check_between, check_integer, check_probability
from bosket.errors import DataError
from bosket.mechanisms.base import Channel
from bosket.plan import Plan
from bosket.reports import Reports
from bosket.statistics.estimates import Floats
from bosket.threads import slices

_LARGEST = 16  # items of an itemset, as for estimates
_NUMBERS = 1 << 12  # numbers of items in one step
_TILTS = np.geomspace(1e-3, 32, 64)
"""Every exponent gives a bound that holds; the best of these is near the best of all."""


def poisoning(study: Plan | Reports, *, fraction: float = 0.01, sizes: Iterable[int] = range(1, 6)) -> pd.DataFrame:
    """How far dishonest people, this ``fraction`` of all, can move a support: a row for each size of itemset.

    size          items of the itemset; sizes that cannot be estimated under the plan are left out
    low, high     the smallest and largest weight that a report can have
    record_size   the stated size of a record with the largest weight, where sizes are sent
    lie           the shift by people who lie about their record and then follow the protocol: at most the fraction
    up, down      the expected shift by people who pick their reports, against what honest ones would have sent
    shift         the same, whatever they would have sent: fraction times the largest difference of two weights

    Where people answer one question of many (``Ask``), a support is a ratio to how many were asked: weights are those
    for as many people per question as the plan expects, or, given reports, as there are; and ``up`` and ``down`` are
    ``shift``, since who leaves one question for another changes the ratio both ways.

    All of it is for sums of weights, ``model=None``.  Answers to ``Ask`` are read through a law unless told otherwise,
    and one report may decide between two laws that are about as likely: supports which the other law puts outside the
    interval then come with a ``caution``.

    >>> import bosket as bk
    >>> plan = bk.Plan(bk.Domain(range(20)), bk.Flip(keep=0.6))
    >>> bk.audit.poisoning(plan, fraction=0.01)[["size", "low", "high", "shift"]].round(2).values.tolist()[-1]
    [5.0, -162.0, 243.0, 4.05]
    """
    plan = study.plan if isinstance(study, Reports) else study
    if not isinstance(plan, Plan):
        raise DataError(f"A Plan or Reports can be poisoned, a {type(study).__name__} cannot.")
    f = check_probability("fraction", fraction)
    rows = []
    for k in sizes:
        size = check_integer("sizes", k, least=1, most=_LARGEST)
        if isinstance(study, Reports):
            found = plan.channel.influence_among(size, study.batch, plan.unit.max_size)
        else:
            found = plan.channel.influence(size, plan.unit.max_size)
        if found is not None:
            rows.append(
                {
                    "size": size,
                    "low": found.low,
                    "high": found.high,
                    "record_size": found.record_size,
                    "lie": f,
                    "up": found.up(f),
                    "down": found.down(f),
                    "shift": found.shift(f),
                }
            )
    columns = ["size", "low", "high", "record_size", "lie", "up", "down", "shift"]
    return pd.DataFrame(rows, columns=columns).astype({"record_size": "Int64"})


def implausible(reports: Reports, *, level: float = 1e-6) -> npt.NDArray[np.bool_]:
    """Which reports show so many items, or so few, that no record the plan allows makes it plausible.

    If all people are honest, whatever their records, any report at all is marked with probability at most ``level``;
    ``reports[~implausible(reports)]`` goes on without them.  Only the number of items is looked at: who adds the items
    that matter to a report which is drawn as it should be is not noticed.  No report of a mechanism that shows a fixed
    number of items is marked (one with another number is refused on reading).

    Of answers to questions (``Ask``) those are marked whose question came up more often than its share makes plausible,
    or which came up more often than any truth does; and all answers to a question one answer of which is too rare.
    Answers of one person, who may send as many as the plan counts, may be alike by a memo: they count as one.
    """
    if not isinstance(reports, Reports):
        raise DataError(f"Reports can be implausible, a {type(reports).__name__} cannot.")
    level = check_between("level", level, 0, 1)
    found = reports.channel.implausible(reports.batch, level, reports.plan.unit.reports)
    if found is not None:
        return found
    alpha = level / max(1, len(reports))
    shown = np.bitwise_count(reports.bits).sum(axis=1, dtype=np.int64)
    marked = np.zeros(len(reports), bool)
    strata = np.zeros(len(reports), np.int32) if reports.strata is None else reports.strata
    order = np.argsort(strata, kind="stable")
    names, starts = np.unique(strata[order], return_index=True)
    for stratum, rows in zip(names.tolist(), np.split(order, starts[1:]), strict=True):
        numbers, place = np.unique(shown[rows], return_inverse=True)
        chance = tail_bounds(reports.channel, stratum, numbers, reports.plan.unit.max_size)
        marked[rows] = chance[place] < math.log(alpha)
    return marked


def tail_bounds(channel: Channel, stratum: int, numbers: npt.NDArray[np.int64], max_size: int | None) -> Floats:
    """By number of items shown, ln of a bound on the probability of as many or more, or as few or fewer, doubled.

    Chernoff: Pr(T >= t) <= exp(K(u) - u t) for every u > 0, Pr(T <= t) likewise for u < 0, where K(u) is the largest
    ln E exp(u T) of any record.
    """
    tilts = np.concatenate([_TILTS, -_TILTS])
    found = [channel.log_moment(float(tilt), stratum, max_size) for tilt in tilts]
    moments = np.array([math.inf if moment is None else moment for moment in found])
    best = np.zeros(len(numbers))
    for start, stop in slices(len(numbers), _NUMBERS):
        bounds = moments[:, None] - tilts[:, None] * numbers[start:stop]
        best[start:stop] = np.minimum(best[start:stop], bounds.min(axis=0))
    result: Floats = best + math.log(2)
    return result
