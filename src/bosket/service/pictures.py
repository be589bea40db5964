"""The results of a task as plain values: itemsets and rules with intervals, how far they reach, and flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bosket._version import __version__
from bosket.collection import Collection
from bosket.errors import BosketError
from bosket.evidence import pool
from bosket.mining import FrequentItemsets, mine
from bosket.progress import Progress
from bosket.service.flags import add_robust, add_shifts, flag, influence, shifts
from bosket.service.numbers import labels_of, numbers_of
from bosket.service.repeats import most_alike, widened, words_of
from bosket.service.settings import TaskSettings

SCHEMA = "bosket.results/1"
MOST_ROWS = 500
MOST_CANDIDATES = 500_000
LEVEL = 0.95
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
        "deepest_size": _deepest(those[-1], settings.min_support, n_reports / most_alike(settings, those))
        if those
        else None,
        "flags": [],
        "influence": influence(collections[-1]),
        "itemsets": [],
        "rules": [],
        "problem": None,
    }
    frame: pd.DataFrame | None = None
    try:
        found = mine(
            those[0] if len(those) == 1 else pool(*those),
            settings.min_support,
            max_candidates=MOST_CANDIDATES,
            on_progress=on_progress,
        )
        times = most_alike(settings, those)
        exact = found.to_frame(level=LEVEL).sort_values("support", ascending=False, kind="stable")
        frame, rules = widened(exact, times), widened(_rules(found, exact, settings), times)
        picture |= _found(found, frame, rules, words_of(times))
        if len(those) == 1:
            add_shifts(picture, rules, shifts(those[0], found.sizes))
            add_robust(picture, those[0], frame, LEVEL)
    except BosketError as problem:
        picture["problem"] = str(problem)
    picture["flags"] = [
        flag(one, phase, frame) for phase, one in enumerate(collections, 1) if one.n_records >= settings.min_batch
    ]
    return picture


def _rules(found: FrequentItemsets, frame: pd.DataFrame, settings: TaskSettings) -> pd.DataFrame:
    """The surest first; none where there are no itemsets."""
    rules = found.rules(metric="confidence", min_threshold=settings.min_confidence) if len(frame) else frame
    return rules.sort_values("confidence", ascending=False, kind="stable") if "confidence" in rules else rules.head(0)


def _found(found: FrequentItemsets, frame: pd.DataFrame, rules: pd.DataFrame, words: list[str]) -> dict[str, Any]:
    kept = {"confidence", "confidence_stderr", "confidence_low", "confidence_high", "lift", "lift_low", "lift_high"}
    sides = ("antecedents", "consequents")
    return {
        "n_itemsets": len(frame),
        "n_rules": len(rules),
        "sizes": {str(size): number for size, number in found.sizes.items()},
        "notes": words
        + [str(found.notes[name]) for name in ("stopped", "left_out", "hopeless") if name in found.notes],
        "itemsets": [
            {"items": labels_of(row["itemsets"])} | numbers_of(row, ("support", "stderr", "low", "high", "caution"))
            for _, row in frame.head(MOST_ROWS).iterrows()
        ],
        "rules": [
            {side: labels_of(row[side]) for side in sides}
            | numbers_of(row, ("support", "support_low", "support_high", *sorted(kept)))
            | {"caution": "confidence" in str(row.get("caution", "")).split(", ")}
            for _, row in rules.head(MOST_ROWS).iterrows()
        ],
    }


def _deepest(collection: Collection, min_support: float, n_reports: float) -> int | None:
    """The largest itemsets that are told from noise: whose standard error is a third of the minimum support or less.

    The error is that of the itemset seen worst, foreseen by the plan; None where the plan foresees none.
    """
    plan = collection.plan
    deepest = None
    for size in range(1, min(_DEEPEST, len(plan.domain)) + 1):
        accuracy = plan.channel.accuracy(size, plan.unit.max_size)
        if accuracy is None:
            break
        if accuracy.stderr(max(1, int(n_reports)))[1] > _USABLE * min_support:
            return deepest or 0
        deepest = size
    return deepest
