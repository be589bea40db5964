"""Whether a mechanism keeps its word: every line of its card against the enumeration of what reports show.

Two records differ in one item where one of them has it and the other has not; on a table, where they have different
values of one attribute; where sizes are sent, where one item stands for another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations

from tests.contracts.cases import Case, Law

ROUNDING = 1e-12


def worst_log_ratio(pairs: Iterable[tuple[Law, Law]]) -> float:
    """The largest ln of what one law says of any report over what the other does; 0 of no pairs."""
    worst = 0.0
    for one, other in pairs:
        ratios = [chance / other[outcome] if other.get(outcome) else math.inf for outcome, chance in one.items()]
        worst = max(worst, math.log(max(ratios)))
    return worst


def broken_promises(case: Case) -> list[str]:
    """The lines of the card that promise more than is true, each with what is promised and what is true."""
    if case.unit is not None:
        return _broken_where_cut(case)
    laws = {record: case.law(record, case.population) for record in case.taken}
    sizes_show = case.mechanism.sends_sizes
    difference = 2 if case.is_table or sizes_show else 1
    broken = []
    for max_size in (None,) if case.is_table else (1, 2, 3):
        pairs = [
            (one, other)
            for one, other in permutations(case.taken, 2)
            if max_size is None or max(one.bit_count(), other.bit_count()) <= max_size
            if not sizes_show or one.bit_count() == other.bit_count()
        ]
        near = [(one, other) for one, other in pairs if (one ^ other).bit_count() == difference]
        item, record = (worst_log_ratio((laws[one], laws[other]) for one, other in some) for some in (near, pairs))
        once, twice = (case.mechanism.guarantee(case.domain, max_size=max_size, reports=times) for times in (1, 2))
        lines = {
            "item": (once.item, item),
            "record": (once.record, record),
            "person": (once.person, record),
            "person of two reports": (twice.person, 2 * record),
        }
        if max_size == case.plan.unit.max_size:
            lines["record by the plan"] = case.plan.guarantee.record, record
        broken += [
            f"{name}, max_size={max_size}: epsilon {promised.epsilon:.6g} is promised, {true:.6g} is true"
            for name, (promised, true) in lines.items()
            if true > promised.epsilon + ROUNDING
        ]
    return broken


def _broken_where_cut(case: Case) -> list[str]:
    """The same for records that are cut and state their size: only those are compared that state alike.

    Sizes as they are tell records apart that have more items than are kept; where the mechanism sends sizes, shorter
    ones too.  Records that differ in one item have different sizes, unless one item stands for another.
    """
    assert case.unit is not None
    limit, is_clear, sends_sizes = case.plan.max_size, case.unit.size_epsilon is None, case.mechanism.sends_sizes
    assert limit is not None
    laws = {record: case.law(record, case.population) for record in case.taken}
    pairs, near = [], []
    for one, other in permutations(case.taken, 2):
        sizes = {one.bit_count(), other.bit_count()}
        told_apart = len(sizes) == 2 and (
            (max(sizes) > limit and is_clear) or (sends_sizes and (is_clear or min(sizes) < limit))
        )
        if not told_apart:
            pairs.append((one, other))
            is_exchange = len(sizes) == 1 and (one ^ other).bit_count() == 2
            is_longer = min(sizes) > limit
            if is_exchange if sends_sizes or (is_clear and is_longer) else (one ^ other).bit_count() == 1:
                near.append((one, other))
    item, record = (worst_log_ratio((laws[one], laws[other]) for one, other in some) for some in (near, pairs))
    once, twice = (replace(case.plan, unit=replace(case.unit, reports=times)).guarantee for times in (1, 2))
    lines = {"item": (once.item, item), "record": (once.record, record), "person": (twice.person, 2 * record)}
    return [
        f"{name}: epsilon {promised.epsilon:.6g} is promised, {true:.6g} is true"
        for name, (promised, true) in lines.items()
        if true > promised.epsilon + ROUNDING
    ]
