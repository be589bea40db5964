"""Goals of other kinds: items that must be hidden better than others, and a breach level with maximal supports."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from bosket.checks import check_between, check_positive
from bosket.errors import ParameterError
from bosket.mechanisms import CutAndPaste, Flip
from bosket.planning.comparison import PHASED, Prospect, Ranking, best_of, compare
from bosket.planning.cutting import CutAndPasteChoice, cut_and_paste, smallest_insert
from bosket.planning.families import FAMILIES
from bosket.planning.foresight import Foresight
from bosket.planning.goals import Goal, Study
from bosket.planning.item_factors import optimal_keeps
from bosket.planning.maximal import Maximal, check_maximal
from bosket.planning.words import SHOWN_ALONE, SIZES_UNKNOWN, numbers_text
from bosket.privacy.breaches import worst_level
from bosket.privacy.guarantee import percent_down, percent_up, rounded_up

BY_ITEM = "Flip, a keep for each item"
BY_BREACH = "CutAndPaste, by breach level"
_MOST_SHOWN = 7  # items of an itemset that are looked at where all supports are known, as many as pilots are asked for
_STEPS = 10  # by which what records that differ in few items leave over is found


def compare_classes(study: Study, goal: Goal, classes: Mapping[Any, float]) -> Ranking:
    """As :func:`compare`, where some items have an epsilon of their own that one who knows all others must not exceed.

    classes  items of a class that must be hidden better, each with its epsilon; for baskets

    Flip with a keep for each item spends the goal where items may be told of; every other family hides all items as
    well as the one that must be hidden best.  Cut-and-paste is none of them: with the size of a record in the clear,
    who knows all other items knows the last one.

    >>> import bosket as bk
    >>> study = Study(bk.Domain(["bread", "milk", "test"]), people=50_000, itemset_size=1, max_size=2)
    >>> found = compare_classes(study, Goal(3.0), {"test": 0.3})
    >>> found.best.family
    'Flip, a keep for each item'
    """
    if study.is_table:
        raise ParameterError(
            "The 'classes' parameter is for baskets: an answer to a question hides all attributes alike.",
            parameter="classes",
            value=None,
        )
    unknown = [item for item in classes if item not in set(study.domain.labels)]
    if unknown or not classes:
        raise ParameterError(
            "The 'classes' parameter must name items of the study, each with an epsilon.",
            parameter="classes",
            value=unknown[0] if unknown else None,
        )
    limits = {item: check_positive(f"classes[{item!r}]", value) for item, value in classes.items()}
    lowest = min(limits.values())
    options = [_by_item(study, goal, limits)]
    for family in [*FAMILIES, PHASED]:
        for tried in (goal, Goal(lowest, "item"), Goal(min(goal.epsilon, lowest))):
            option = best_of(family, study, tried)
            if option is not None and all(one.is_met(option.guarantee) for one in (goal, Goal(lowest, "item"))):
                options.append(option)
                break
    return Ranking(study, goal, tuple(sorted(options, key=lambda option: (option.error, option.family))))


def _by_item(study: Study, goal: Goal, limits: Mapping[Hashable, float]) -> Prospect:
    """The keeps that spend the goal, where the worst two records may differ in a few items alone."""
    weights = dict.fromkeys(study.domain.labels, 1.0)

    def meets(total: float) -> Flip | None:
        found = optimal_keeps(weights, epsilon=min(total, 600.0), most=limits).mechanism
        return found if goal.is_met(study.plan(found).guarantee) else None

    low, high = goal.epsilon, goal.epsilon * len(weights)
    best = meets(low)
    assert best is not None, "two records that differ in all items are within the goal"
    for _ in range(_STEPS):
        middle = (low * high) ** 0.5
        found = meets(middle)
        low, high, best = (middle, high, found) if found is not None else (low, middle, best)
    return Prospect(BY_ITEM, study, Foresight(study.plan(best), study.people, study.sizes))


def compare_breaches(study: Study, maximal: Maximal, *, level: float = 0.5) -> Ranking:
    """As :func:`compare`, where P[item in the record | a report shows an itemset with it] must stay below ``level``.

    maximal  s_max(k, m) by record size (:func:`maximal_supports` of a public file of the same kind); cut-and-paste is
             held to the level for itemsets of as many items as the lists have, seven where they are of all that a
             record holds, and no larger ones

    Cut-and-paste is planned by the breach level itself (Evfimievski et al. 2004, section 4.4), of the worst itemset
    there can be: where the paper's most challenging one stays below the level, others may pass it.  Those with more
    items than a record count too: the more items are shown that an item comes with, the likelier it is there.  So there
    is always a number of items up to which the level is kept, and the words of the goal say it, with the epsilon that
    the mechanism has.  Items that a report does not show are no part of a level, and tell too: of five items of 20%, in
    records of one, an item comes to 50% where it is shown, to 80% where the others are looked at and not shown.  So the
    words say how far all of a report may take the commonest item.  Any other mechanism meets the level where a property
    with the prior of the commonest item stays below it, whatever a report is.
    """
    bound = check_between("level", level, 0, 1)
    values = check_maximal(maximal)
    prior = max(row[0] for row in values.values())
    if prior >= bound:
        raise ParameterError(
            f"The 'level' parameter must be above the share of records that have the commonest item, {prior:.1%}.",
            parameter="level",
            value=level,
        )
    words = (
        f"an item that up to {percent_down(prior)} of records have stays below {percent_up(bound)} where it is shown"
    )
    goal = Goal(Goal.below(bound, prior=prior).epsilon, words=words)
    found = compare(study, goal)
    sizes = {size: share for size, share in (study.sizes or {}).items() if size > 0}
    unknown = sorted(size for size in sizes if size not in values)
    if unknown:
        return replace(found, note=SIZES_UNKNOWN.format(numbers_text(unknown)))
    if study.is_table or not sizes:
        return found
    records = {size: max(1, round(share * study.people)) for size, share in sizes.items()}
    known = {size: values[size] for size in sizes}
    choice = cut_and_paste(known, records=records, level=bound, itemset_size=study.itemset_size)
    most = _most_shown(known)
    plan = study.plan(_for_worst(choice, {size: _lengthened(row, size, most) for size, row in known.items()}))
    option = Prospect(BY_BREACH, study, Foresight(plan, study.people, study.sizes))
    promise = plan.guarantee.record
    words += (
        f" ({BY_BREACH}: in an itemset of up to {most}, by its being shown alone; by all that a report shows and does "
        f"not show, up to {percent_up(promise.posterior(prior))}, at epsilon {rounded_up(promise.epsilon)} for the "
        "whole record); any other: by all that a report shows and does not show,"
    )
    options = sorted([*found.options, option], key=lambda one: (one.error, one.family))
    return Ranking(study, replace(goal, words=words), tuple(options), SHOWN_ALONE)


def _most_shown(known: Mapping[int, tuple[float, ...]]) -> int:
    """Items of an itemset up to which all supports are known: of more than a record has they are 0."""
    unknown = [len(row) for size, row in known.items() if len(row) < size]
    return min(unknown) if unknown else max(_MOST_SHOWN, *map(len, known.values()))


def _lengthened(row: tuple[float, ...], size: int, most: int) -> tuple[float, ...]:
    """With the supports of itemsets that no record of this size holds."""
    return row if len(row) < size else row + (0.0,) * (most - len(row))


def _for_worst(choice: CutAndPasteChoice, maximal: Mapping[int, tuple[float, ...]]) -> CutAndPaste:
    """The same cutoffs, with inserts that keep the worst itemset there can be below the level."""
    cutoffs = {one.record_size: one.cutoff for one in choice.choices}
    inserts = {
        size: smallest_insert(cutoff, size, maximal[size], level=choice.level, measure=worst_level)
        for size, cutoff in cutoffs.items()
    }
    smallest = min(cutoffs)  # whose parameters empty records have
    return CutAndPaste({0: cutoffs[smallest], **cutoffs}, {0: inserts[smallest], **inserts})
