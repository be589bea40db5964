"""Compiled marks of reports: a number for each, alike where reports are."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled

STEP = np.uint64(0x9E3779B97F4A7C15)
MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@compiled
def _mixed(state: Any) -> Any:
    """SplitMix64's finish: every bit of a word depends on all of them."""
    state = (state ^ (state >> np.uint64(30))) * MIX[0]
    state = (state ^ (state >> np.uint64(27))) * MIX[1]
    return state ^ (state >> np.uint64(31))


@compiled
def mark_rows(rows: Any, strata: Any, marks: Any) -> None:
    """marks[r] becomes a mix of the words of row r, and of its stratum where there are any."""
    for r in range(marks.size):
        state = STEP
        for word in rows[r]:
            state = _mixed(state ^ word) + STEP  # wraps round, as it should
        if strata.size:
            state = _mixed(state ^ np.uint64(strata[r])) + STEP
        marks[r] = _mixed(state)
