"""Compiled sums of weights over randomized records, from subset supports."""

from __future__ import annotations

from typing import Any

from bosket.compiling import compiled


@compiled
def to_cells(supports: Any) -> None:
    """Turn each row of subset supports into exclusive cell counts, in place.

    cells[f] = sum over g containing f of (-1)^(|g| - |f|) supports[g]: records showing exactly the pattern f.
    Whole numbers throughout, so nothing cancels.
    """
    n, size = supports.shape
    for r in range(n):
        row = supports[r]
        bit = 1
        while bit < size:
            for f in range(size):
                if f & bit == 0:
                    row[f] -= row[f | bit]
            bit <<= 1


@compiled
def add_moments(cells: Any, weights: Any, first: Any, second: Any) -> None:
    """Add to first[r] the sum of w over the records counted in cells[r], to second[r] that of w squared."""
    n, size = cells.shape
    for r in range(n):
        s1 = 0.0
        s2 = 0.0
        for f in range(size):
            w = weights[r, f]
            t = cells[r, f] * w
            s1 += t
            s2 += t * w
        first[r] += s1
        second[r] += s2
