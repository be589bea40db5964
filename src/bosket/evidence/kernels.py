"""Compiled sums of weights over randomized records, from subset supports."""

from __future__ import annotations

from typing import Any

import numpy as np

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
def sum_weights(
    cells: Any, weights: Any, value: Any, second: Any, squares: Any, largest: Any, top: Any, where: Any
) -> None:
    """Add to value[r] the sum of w over the records counted in cells[:, r], to second[r] that of w squared.

    ``weights`` has one row in each stratum, or a row for each itemset.  squares[s, r] becomes the sum of w squared of
    stratum s, largest[s, r] the largest |w| that a report of it has.  top[r] becomes the largest |w| of any reports, as
    many as it has room for, and where[r] the strata of these.
    """
    n_strata, n, size = cells.shape
    room = top.shape[1]
    for s in range(n_strata):
        for r in range(n):
            row = r if weights.shape[1] > 1 else 0
            s1 = 0.0
            s2 = 0.0
            most = 0.0
            for f in range(size):
                w = weights[s, row, f]
                t = cells[s, r, f] * w
                s1 += t
                s2 += t * w
                if cells[s, r, f] > 0 and abs(w) > most:
                    most = abs(w)
            value[r] += s1
            second[r] += s2
            squares[s, r] = s2
            largest[s, r] = most
            if most <= top[r, room - 1]:
                continue
            for f in range(size):
                w = abs(weights[s, row, f])
                for _ in range(min(cells[s, r, f], room)):
                    if w <= top[r, room - 1]:
                        break
                    j = room - 1
                    while j > 0 and w > top[r, j - 1]:
                        top[r, j] = top[r, j - 1]
                        where[r, j] = where[r, j - 1]
                        j -= 1
                    top[r, j] = w
                    where[r, j] = s


@compiled
def few_strata(
    squares: Any, largest: Any, records: Any, limit: float, half: Any, shift: float, found: Any, numbers: Any
) -> None:
    """Strata with fewer than ``limit`` reports together, more than half[r] of the squares, and a reach of ``shift``.

    The reach of a stratum is its number of reports times the largest |w| of them.  Tried are every stratum alone, and
    strata by their mean square, the largest first, leaving out what does not fit, until they are enough.
    numbers[r] becomes the number of reports, 0 where there are no such strata, and numbers[r, 1] their stratum, -1 for
    several; found[r] their share of the squares, times 2 half[r], and the largest |w|.
    """
    n_strata, n = squares.shape
    mean = np.empty(n_strata)
    for r in range(n):
        part = 0.0
        reach = 0.0
        alone = -1
        for s in range(n_strata):
            mean[s] = -1.0
            if 0 < records[s] < limit:
                mean[s] = squares[s, r] / records[s]
                part += squares[s, r]
                reach += records[s] * largest[s, r]
                if squares[s, r] > half[r] and records[s] * largest[s, r] >= shift:
                    alone = s
        numbers[r, 0] = 0
        if alone >= 0:
            numbers[r, 0] = records[alone]
            numbers[r, 1] = alone
            found[r, 0] = squares[alone, r]
            found[r, 1] = largest[alone, r]
            continue
        if part <= half[r] or reach < shift:
            continue
        part = 0.0
        reach = 0.0
        taken = 0
        most = 0.0
        for s in np.argsort(-mean):
            if mean[s] < 0:
                break
            if taken + records[s] >= limit:
                continue
            taken += records[s]
            part += squares[s, r]
            reach += records[s] * largest[s, r]
            most = max(most, largest[s, r])
            if part > half[r] and reach >= shift:
                numbers[r, 0] = taken
                numbers[r, 1] = -1
                found[r, 0] = part
                found[r, 1] = most
                break
