"""The results of a task as plain values: itemsets and rules with intervals, how far they reach, and flags."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from bosket._version import __version__
from bosket.audit import implausible, poisoning, robust
from bosket.collection import Collection
from bosket.errors import BosketError
from bosket.evidence import pool
from bosket.mechanisms.payload import PackedBits
from bosket.mining import FrequentItemsets, mine
from bosket.progress import Progress
from bosket.reports import Reports
from bosket.service.settings import TaskSettings

SCHEMA = "bosket.results/1"
MOST_ROWS = 500
MOST_ROBUST = 50
MOST_CANDIDATES = 500_000
LEVEL = 0.95
FLAG_LEVEL = 1e-6
FRACTION = 0.01
_DEEPEST = 8
_USABLE = 1 / 3  # of the minimum support, the largest standard error with which itemsets are told from noise


def picture_of(
    settings: TaskSettings, collections: Sequence[Collection], *, is_final: bool, on_progress: Progress | None = None
) -> dict[str, Any]:
    """What is shown of all reports at present; ``on_progress`` may raise an error to end it."""
    those = [one for one in collections if one.n_records]
    n_reports = sum(one.n_records for one in those)
    simulated = [one.randomness for one in those if one.randomness != "secure"]
    picture: dict[str, Any] = {
        "schema": SCHEMA,
        "version": __version__,
        "task": settings.id,
        "title": settings.title,
        "phase": len(collections),
        "plans": [one.plan.digest for one in collections],
        "mechanism": str(collections[-1].plan.mechanism),
        "randomness": simulated[0] if simulated else "secure",
        "is_final": is_final,
        "n_reports": n_reports,
        "min_batch": settings.min_batch,
        "min_support": settings.min_support,
        "min_confidence": settings.min_confidence,
        "level": LEVEL,
        "deepest_size": _deepest(those[-1], settings.min_support, n_reports) if those else None,
        "flags": [_flag(one, phase) for phase, one in enumerate(collections, 1) if one.n_records >= settings.min_batch],
        "influence": _influence(collections[-1]),
        "itemsets": [],
        "rules": [],
        "problem": None,
    }
    try:
        found = mine(
            those[0] if len(those) == 1 else pool(*those),
            settings.min_support,
            max_candidates=MOST_CANDIDATES,
            on_progress=on_progress,
        )
        frame = found.to_frame(level=LEVEL).sort_values("support", ascending=False, kind="stable")
        picture |= _found(found, frame, settings)
        if len(those) == 1:
            _add_robust(picture, those[0], frame)
    except BosketError as problem:
        picture["problem"] = str(problem)
    return picture


def _found(found: FrequentItemsets, frame: pd.DataFrame, settings: TaskSettings) -> dict[str, Any]:
    rules = found.rules(metric="confidence", min_threshold=settings.min_confidence) if len(frame) else frame
    kept = {"confidence", "confidence_stderr", "confidence_low", "confidence_high", "lift", "lift_low", "lift_high"}
    sides = ("antecedents", "consequents")
    if "confidence" in rules:
        rules = rules.sort_values("confidence", ascending=False, kind="stable")
    return {
        "n_itemsets": len(frame),
        "n_rules": len(rules) if "confidence" in rules else 0,
        "sizes": {str(size): number for size, number in found.sizes.items()},
        "notes": [str(found.notes[name]) for name in ("stopped", "left_out", "hopeless") if name in found.notes],
        "itemsets": [
            {"items": _labels(row["itemsets"])} | _numbers(row, ("support", "stderr", "low", "high", "caution"))
            for _, row in frame.head(MOST_ROWS).iterrows()
        ],
        "rules": [
            {side: _labels(row[side]) for side in sides}
            | _numbers(row, ("support", "support_low", "support_high", *sorted(kept)))
            for _, row in (rules.head(MOST_ROWS).iterrows() if "confidence" in rules else ())
        ],
    }


def _add_robust(picture: dict[str, Any], collection: Collection, frame: pd.DataFrame) -> None:
    """Beside the first supports those that a hundredth of dishonest people cannot move out of their interval."""
    shown = picture["itemsets"][:MOST_ROBUST]
    if not shown or not isinstance(collection.plan.channel.payload, PackedBits):
        return
    reports = Reports(collection.plan, collection.batch, randomness=collection.randomness)
    medians = robust(reports, frame["itemsets"].head(MOST_ROBUST), dishonest=FRACTION, level=LEVEL)
    picture["robust"] = {"dishonest": FRACTION, "level": LEVEL, "groups": int(medians["groups"][0])}
    for row, (_, found) in zip(shown, medians.iterrows(), strict=True):
        numbers = _numbers(found, ("robust", "low", "high"))
        row |= {"robust": numbers["robust"], "robust_low": numbers["low"], "robust_high": numbers["high"]}


def _labels(items: Any) -> list[str | int]:
    return sorted((item if isinstance(item, int | str) else str(item) for item in items), key=str)


def _numbers(row: pd.Series[Any], names: Sequence[str]) -> dict[str, float | bool | None]:
    """Numbers of a row by name; None for one that JSON has no word for."""
    found: dict[str, float | bool | None] = {}
    for name in names:
        if name not in row.index:
            continue
        value = row[name]
        if name == "caution":
            found[name] = bool(value)
        else:
            found[name] = float(value) if math.isfinite(value) else None
    return found


def _deepest(collection: Collection, min_support: float, n_reports: int) -> int | None:
    """The largest itemsets that are told from noise: whose standard error is a third of the minimum support or less.

    The error is that of the itemset seen worst, foreseen by the plan; None where the plan foresees none.
    """
    plan = collection.plan
    deepest = None
    for size in range(1, min(_DEEPEST, len(plan.domain)) + 1):
        accuracy = plan.channel.accuracy(size, plan.unit.max_size)
        if accuracy is None:
            break
        if accuracy.stderr(n_reports)[1] > _USABLE * min_support:
            return deepest or 0
        deepest = size
    return deepest


def _flag(collection: Collection, phase: int) -> dict[str, Any]:
    """How many reports no record makes plausible; if all people are honest, any is marked with at most ``level``.

    None of a mechanism whose reports cannot be looked at so.
    """
    reports = Reports(collection.plan, collection.batch, randomness=collection.randomness)
    marked: int | None = None
    with contextlib.suppress(BosketError):
        marked = int(implausible(reports, level=FLAG_LEVEL).sum())
    return {"phase": phase, "implausible": marked, "level": FLAG_LEVEL, "of": collection.n_records}


def _influence(collection: Collection) -> list[dict[str, Any]]:
    """By size, how far a hundredth of the people can move a support if they pick their reports."""
    try:
        frame = poisoning(collection.plan, fraction=FRACTION)
    except BosketError:
        return []
    return [
        {"size": int(row["size"]), "fraction": FRACTION} | _numbers(row, ("shift", "up", "down"))
        for _, row in frame.iterrows()
    ]
