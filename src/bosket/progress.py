"""How far a search is, and how long the stage at hand will take: what ``on_progress`` hears.

Between two reports lies about a second at most; the work of a stage is known before it begins, so a level that would
take hours says so at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from bosket.threads import n_threads

WORDS_A_SECOND = 5e8
"""Of bitmaps, counted on one core; a cautious figure."""

CELLS_A_SECOND = 3e6
"""Cells of 2^k tables, looked up and weighted on one core."""


@dataclass(frozen=True, slots=True)
class LevelProgress:
    """Where a search stands: ``done`` of ``total`` units of work on itemsets of this size (0: all sizes at once).

    Never counts from the data.
    """

    size: int
    done: float
    total: float
    stage: str = "counting"
    """What is being done to them: "joining", "counting" or "estimating"; then the next stage begins at 0."""
    seconds: float | None = None
    """Roughly how long the rest of the stage will take; None where that is not known."""


Progress = Callable[[LevelProgress], None]


class Meter:
    """Tells how far one stage is, from nothing to all of it."""

    def __init__(self, tell: Progress | None, size: int, stage: str, total: float, *, work: float = 0.0) -> None:
        """``work`` is how long the stage would take on one core, in seconds, as far as it can be foreseen."""
        self._tell = tell
        self._size, self._stage, self._total = size, stage, total
        self.expected = work / n_threads()
        self._started = time.perf_counter()
        self(0.0)

    def __call__(self, done: float) -> None:
        if self._tell is None:
            return
        seconds = self.expected
        if done > 0:
            seconds = (time.perf_counter() - self._started) * max(self._total - done, 0.0) / done
        self._tell(LevelProgress(self._size, done, self._total, self._stage, seconds))

    def finish(self) -> float:
        """Tell the end; the seconds it took."""
        self(self._total)
        return time.perf_counter() - self._started


def counting_work(candidates: int, n_records: int) -> float:
    """Seconds on one core to count this number of itemsets."""
    return candidates * (n_records / 64) / WORDS_A_SECOND


def estimating_work(candidates: int, size: int, strata: int) -> float:
    """Seconds on one core to estimate this number of itemsets: 2^size cells each, in every stratum."""
    return candidates * strata * 2.0**size / CELLS_A_SECOND
