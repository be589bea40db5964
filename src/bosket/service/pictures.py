"""The results of a task as plain values: itemsets and rules with intervals, how far they reach, and flags."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pandas as pd

from bosket._version import __version__
from bosket.collection import Collection
from bosket.errors import BosketError, TooManyCandidatesError
from bosket.evidence import EvidenceSource, pool
from bosket.mining import FrequentItemsets, RuleTemplate, mine
from bosket.progress import LevelProgress, Progress
from bosket.service.flags import add_robust, add_shifts, flag, influence, shifts
from bosket.service.numbers import labels_of, numbers_of
from bosket.service.repeats import most_alike, widened, words_of
from bosket.service.settings import TaskSettings
from bosket.threads import n_threads

SCHEMA = "bosket.results/1"
MOST_ROWS = 500
MOST_CANDIDATES = 500_000
MOST_SPLITS = 1 << 22
"""Ways of dividing itemsets into two sides that are looked at.  Of k items that some who agree send together there are
3^k: of 14 these took all memory, at every start again."""
MOST_SECONDS = 60.0
"""Of one core, by the fixed figures of :mod:`bosket.progress`, for estimating itemsets.  Of k items that are sent
together there are 2^k, with 3^k subsets in all: of 20 these took more than six minutes."""
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
        "deepest_size": _deepest(
            those[-1], settings.min_support, n_reports / most_alike(settings, [one.plan for one in those])
        )
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
        found, left_out = _mined(those[0] if len(those) == 1 else pool(*those), settings.min_support, on_progress)
        times = most_alike(settings, [one.plan for one in those])
        exact = found.to_frame(level=LEVEL).sort_values("support", ascending=False, kind="stable")
        rules, n_rules, words = _rules(found, settings, on_progress)
        frame, rules = widened(exact, times), widened(rules, times)
        picture |= _found(found, frame, rules, words_of(times) + left_out + words) | {"n_rules": n_rules}
        if len(those) == 1:
            add_shifts(picture, rules, shifts(those[0], found.sizes))
            add_robust(picture, those[0], frame, LEVEL)
    except BosketError as problem:
        picture["problem"] = str(problem)
    picture["flags"] = [
        flag(one, phase, frame) for phase, one in enumerate(collections, 1) if one.n_records >= settings.min_batch
    ]
    return picture


class _TooDeepError(Exception):
    """Itemsets of this size would take too long."""

    def __init__(self, level: int) -> None:
        self.level = level


class _Depth:
    """Hears how far a search is, and ends it before a size that would take too long, with those before it."""

    def __init__(self, tell: Progress | None) -> None:
        self._tell = tell
        self._seconds: dict[int, float] = {}  # by size

    def __call__(self, told: LevelProgress) -> None:
        if self._tell is not None:
            self._tell(told)
        if told.stage == "estimating" and told.done == 0 and told.seconds is not None:
            self._seconds[told.size] = told.seconds * n_threads()
            if told.size > 1 and sum(self._seconds.values()) > MOST_SECONDS:
                raise _TooDeepError(told.size)


def _mined(
    data: EvidenceSource, min_support: float, on_progress: Progress | None
) -> tuple[FrequentItemsets, list[str]]:
    """The itemsets of all sizes that there is room for, and in words what was not looked for."""
    try:
        return mine(data, min_support, max_candidates=MOST_CANDIDATES, on_progress=_Depth(on_progress)), []
    except (TooManyCandidatesError, _TooDeepError) as problem:
        if problem.level < 2:
            raise
        most = problem.level - 1
    found = mine(data, min_support, max_size=most, max_candidates=MOST_CANDIDATES, on_progress=on_progress)
    items = "1 item" if most == 1 else f"{most} items"
    return found, [f"Itemsets are too many: those of more than {items} are not looked for."]


def _rules(
    found: FrequentItemsets, settings: TaskSettings, on_progress: Progress | None
) -> tuple[pd.DataFrame, int, list[str]]:
    """Those of the largest confidence, how many there are, and in words what was not looked at."""
    if not len(found):
        return pd.DataFrame(), 0, []
    template, words = None, []
    whole = _largest_divided(found.sizes)
    if whole < max(found.sizes):
        template = RuleTemplate(antecedent_size=(1, whole - 1), consequent_size=1)
        words = [f"Itemsets are too many: rules are those of up to {whole} items, with one consequent."]
    rules = found.rules(
        metric="confidence", min_threshold=settings.min_confidence, template=template, top=MOST_ROWS,
        sort_by="estimate", on_progress=on_progress,
    )  # fmt: skip
    return rules, int(rules.attrs["about"]["passed"]), words


def _largest_divided(sizes: dict[int, int]) -> int:
    """The largest size up to which all itemsets are divided, for what that may cost; pairs are never too many."""
    splits = accumulate(2**size * sizes[size] for size in sorted(sizes))
    return max([2, *(size for size, total in zip(sorted(sizes), splits, strict=True) if total <= MOST_SPLITS)])


def _found(found: FrequentItemsets, frame: pd.DataFrame, rules: pd.DataFrame, words: list[str]) -> dict[str, Any]:
    kept = {"confidence", "confidence_stderr", "confidence_low", "confidence_high", "lift", "lift_low", "lift_high"}
    sides = ("antecedents", "consequents")
    return {
        "n_itemsets": len(frame),
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
