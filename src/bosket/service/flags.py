"""What dishonest people can do to what is shown, and what of it is noticed: influence, robust supports, flags.

Every flag states how often honest people would raise it.  What no flag can notice, reports that some honest people
might have sent, is bounded by the ``shift`` beside each figure.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from bosket.audit import collected, contradictions, implausible, poisoning, robust
from bosket.audit.cells import LARGEST
from bosket.audit.medians import MOST_DISHONEST
from bosket.audit.received import CHANCE
from bosket.collection import Collection
from bosket.errors import BosketError
from bosket.mechanisms.payload import PackedBits
from bosket.plan import Plan
from bosket.randomness import Secure
from bosket.reports import Reports
from bosket.service.numbers import labels_of, numbers_of

MOST_ROBUST = 50
FLAG_LEVEL = 1e-6
FRACTION = 0.01
MOST_AUDITED = 50_000
"""Reports that are audited, at random where there are more: as many as are needed to see what is to be seen."""
_PAIRED = 20  # items whose pairs are looked at, found frequent or not

Shifts = dict[int, float]
"""By size of an itemset, the most that a hundredth of the people can move its support by."""


def share_of_reports(plan: Plan) -> float:
    """Of all reports, the most that a hundredth of the people send: each as many as the plan counts, others one."""
    sent = FRACTION * plan.unit.reports
    return sent / (1 - FRACTION + sent)


def reports_in(collection: Collection) -> Reports:
    return Reports(collection.plan, collection.batch, randomness=collection.randomness)


def flag(collection: Collection, phase: int, found: pd.DataFrame | None) -> dict[str, Any]:
    """What no honest people would have sent, each with the probability at most with which they would.

    implausible     reports that no record makes plausible; None of a mechanism whose reports cannot be looked at so
    contradictions  shares of people that are estimated far below 0, around the itemsets that were ``found``
    audit           what an audit of the reports says that convicts them
    """
    reports = reports_in(collection)
    marked: int | None = None
    with contextlib.suppress(BosketError):
        marked = int(implausible(reports, level=FLAG_LEVEL).sum())
    value: dict[str, Any] = {"phase": phase, "implausible": marked, "level": FLAG_LEVEL, "of": collection.n_records}
    value["contradictions"] = _contradictions(reports, [] if found is None else found["itemsets"])
    value["audit"] = _audit(reports)
    return value


def _contradictions(reports: Reports, found: Iterable[Iterable[Hashable]]) -> dict[str, Any] | None:
    """Of the first itemsets and of all pairs of the first items: itemsets that poison made vanish are seen there."""
    first = [frozenset(itemset) for itemset in list(found)[:MOST_ROBUST]]
    labels = reports.domain.labels
    seen = dict.fromkeys(label for itemset in first for label in itemset)
    items = [*seen, *(label for label in labels[:_PAIRED] if label not in seen)][:_PAIRED]
    wanted = dict.fromkeys([*(one for one in first if len(one) <= LARGEST), *map(frozenset, combinations(items, 2))])
    groups = reports.domain.groups
    if groups is not None:
        wanted = dict.fromkeys(one for one in wanted if _is_of_a_record(reports, one))
    frame = _looked_at(reports, sorted(wanted, key=len))
    if frame is None:
        return None
    flagged = frame[frame["is_flagged"].astype(bool)]
    flagged = flagged.iloc[np.argsort((flagged["share"] / flagged["stderr"]).to_numpy(float), kind="stable")]
    return {
        "looked_at": len(frame),
        "flagged": len(flagged),
        "worst": [
            {name: labels_of(row[name]) for name in ("present", "absent")} | numbers_of(row, ("share", "chance"))
            for _, row in flagged.head(MOST_ROBUST).iterrows()
        ],
    }


def _looked_at(reports: Reports, wanted: list[frozenset[Hashable]]) -> pd.DataFrame | None:
    """Without itemsets that reports do not tell of, as those of an erased item; None where there are no others.

    By halves, so that others are still looked at together, which takes less.
    """
    with contextlib.suppress(BosketError):
        return contradictions(reports, wanted, level=FLAG_LEVEL)
    half = len(wanted) // 2
    parts = [_looked_at(reports, part) for part in (wanted[:half], wanted[half:])] if half else []
    found = [part for part in parts if part is not None]
    return pd.concat(found, ignore_index=True) if found else None


def _is_of_a_record(reports: Reports, itemset: Iterable[Hashable]) -> bool:
    """Whether the items are of different attributes."""
    ids = reports.domain.itemset(itemset)
    assert reports.domain.groups is not None
    return len({int(reports.domain.groups[item]) for item in ids}) == len(ids)


def _audit(reports: Reports) -> list[dict[str, str]]:
    """The findings of an audit that convict, of at most so many reports."""
    if len(reports) > MOST_AUDITED:
        reports = reports[np.sort(np.argsort(Secure().stream().words(len(reports)))[:MOST_AUDITED])]
    return [
        {"check": one.check, "words": one.words}
        for one in collected(reports, failure=FLAG_LEVEL).findings
        if one.is_convicted and one.check != CHANCE  # which the results say in words of their own
    ]


def influence(collection: Collection) -> list[dict[str, Any]]:
    """By size, how far a hundredth of the people, and one of them, can move a support if they pick their reports."""
    try:
        share = share_of_reports(collection.plan)
        frame = poisoning(collection.plan, fraction=share)
    except BosketError:
        return []
    of_one = collection.plan.unit.reports / max(1, collection.n_records)
    return [
        {"size": int(row["size"]), "fraction": FRACTION}
        | numbers_of(row, ("shift", "up", "down"))
        | {"shift_by_one": float(row["shift"]) / share * of_one}
        for _, row in frame.iterrows()
    ]


def shifts(collection: Collection, sizes: Iterable[int]) -> Shifts:
    """For sums of weights; no size where supports are read through a law, which a report may move further."""
    plan = collection.plan
    if not isinstance(plan.channel.payload, PackedBits):
        return {}
    known = {size: plan.channel.influence(size, plan.unit.max_size) for size in sizes}
    share = share_of_reports(plan)
    return {size: one.shift(share) for size, one in known.items() if one is not None}


def add_shifts(picture: dict[str, Any], rules: pd.DataFrame, by_size: Shifts) -> None:
    """Beside each support, confidence and lift, the most that a hundredth of the people can move it by."""
    for row in picture["itemsets"]:
        row["shift"] = by_size.get(len(row["items"]))
    for shown, (_, rule) in zip(picture["rules"], rules.iterrows(), strict=False):
        sides = [len(rule["antecedents"]), len(rule["consequents"])]
        moved = [by_size.get(size) for size in (sum(sides), *sides)]
        whole = float(rule["support"])
        parts = [float(rule[name]) for name in ("antecedent support", "consequent support")]
        shown["confidence_shift"] = ratio_shift((whole, *parts[:1]), moved[:2])
        shown["lift_shift"] = ratio_shift((whole, *parts), moved)


def ratio_shift(values: Sequence[float], moved: Sequence[float | None]) -> float | None:
    """How far the first value over the others moves at most, if each moves by so much; None where that has no bound.

    In each value the ratio is monotone while the others stay, so the furthest is at a corner.
    """
    if any(one is None or not np.isfinite(one) for one in moved) or not np.isfinite(values).all():
        return None
    steps = [float(one) for one in moved if one is not None]
    if any(value <= step for value, step in zip(values[1:], steps[1:], strict=True)):
        return None
    middle = values[0] / float(np.prod(values[1:]))
    ends = product(*((value - step, value + step) for value, step in zip(values, steps, strict=True)))
    return max(abs(corner[0] / float(np.prod(corner[1:])) - middle) for corner in ends)


def add_robust(picture: dict[str, Any], collection: Collection, frame: pd.DataFrame, level: float) -> None:
    """Beside the first supports those that a hundredth of dishonest people cannot move out of their interval."""
    shown, share = picture["itemsets"][:MOST_ROBUST], share_of_reports(collection.plan)
    if not shown or not isinstance(collection.plan.channel.payload, PackedBits):
        return
    if share > MOST_DISHONEST:
        of_one = collection.plan.unit.reports
        picture["notes"].append(
            f"One person may send {of_one} reports, so that a hundredth of the people may send {share:.0%} of all: no "
            "robust supports are told."
        )
        return
    medians = robust(reports_in(collection), frame["itemsets"].head(MOST_ROBUST), dishonest=share, level=level)
    picture["robust"] = {"dishonest": FRACTION, "level": level, "groups": int(medians["groups"][0])}
    for row, (_, found) in zip(shown, medians.iterrows(), strict=True):
        numbers = numbers_of(found, ("robust", "low", "high"))
        row |= {"robust": numbers["robust"], "robust_low": numbers["low"], "robust_high": numbers["high"]}
