"""Intervals where one person's reports may be alike: a memo gives the same report to the same record.

Estimates take each report for the draw of another person.  Of r copies of one report the mean has r times the variance
of r draws, so that no error is more than sqrt(r) times the one that is stated, whatever share of people sends copies.
Errors and intervals about their estimate are widened by that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from bosket.plan import Plan
from bosket.service.settings import TaskSettings

_WITHIN = {"confidence": (0.0, 1.0), "lift": (0.0, math.inf)}


def most_alike(settings: TaskSettings, plans: Iterable[Plan]) -> int:
    """How many reports of one person may be copies: all of them, or in unlinked periods those of one."""
    periods = settings.periods
    if periods is not None and not periods.is_linked:
        return periods.reports
    return max((plan.unit.reports for plan in plans), default=1)


def widened(frame: pd.DataFrame, times: int) -> pd.DataFrame:
    """Errors and intervals of supports and measures, where ``times`` reports may be alike."""
    if times == 1 or not len(frame):
        return frame
    result, root = frame.copy(), math.sqrt(times)
    for name in frame.columns:
        about, _, what = str(name).rpartition("_")
        if what == "stderr":
            result[name] = root * frame[name]
        elif what in ("low", "high") and (about or "support") in frame.columns:
            estimate = frame[about or "support"]
            least, most = _WITHIN.get(about, (-math.inf, math.inf))
            result[name] = (estimate + root * (frame[name] - estimate)).clip(least, most)
    return result


def words_of(times: int) -> list[str]:
    if times == 1:
        return []
    return [
        f"One person may send {times} reports that are alike: intervals are wider by the root of that than if each "
        "were of another person."
    ]
