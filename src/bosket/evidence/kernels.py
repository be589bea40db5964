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
def _fewest(each: Any, records: Any, order: Any, goal: float) -> int:
    """The least number of reports, those of the first strata first, whose values add up to ``goal``; -1 if none do.

    Each report of stratum s counts for each[s].
    """
    total = 0.0
    taken = 0
    for s in order:
        if each[s] <= 0.0:
            break
        if total + records[s] * each[s] >= goal:
            return taken + min(records[s], max(1, int(np.ceil((goal - total) / each[s]))))
        total += records[s] * each[s]
        taken += records[s]
    return -1


@compiled
def few_strata(
    squares: Any, largest: Any, records: Any, limit: float, half: Any, shift: float, found: Any, numbers: Any
) -> None:
    """Fewer than ``limit`` reports that have more than half[r] of the squares, and a reach of ``shift``.

    Only strata with fewer reports than that take part.  In them every report counts for the mean square of its stratum,
    and reaches as far as the largest |w| there; the reports that have most squares, and those that reach furthest, are
    taken one by one.  All reports of one stratum come first, where they are enough: that names the stratum.
    numbers[r] becomes the number of reports, 0 where these are too many, and numbers[r, 1] their stratum, -1 for
    several; found[r] their share of the squares, times 2 half[r], and the largest |w|.
    """
    n_strata, n = squares.shape
    mean = np.empty(n_strata)
    reach = np.empty(n_strata)
    for r in range(n):
        numbers[r, 0] = 0
        alone = -1
        part = 0.0
        far = 0.0
        for s in range(n_strata):
            mean[s] = 0.0
            reach[s] = 0.0
            if 0 < records[s] < limit:
                mean[s] = squares[s, r] / records[s]
                reach[s] = largest[s, r]
                part += squares[s, r]
                far += records[s] * reach[s]
                if squares[s, r] > half[r] and records[s] * reach[s] >= shift:
                    alone = s
        if alone >= 0:
            numbers[r, 0] = records[alone]
            numbers[r, 1] = alone
            found[r, 0] = squares[alone, r]
            found[r, 1] = largest[alone, r]
            continue
        if part <= half[r] or far < shift:
            continue
        order = np.argsort(-mean)
        goal = np.nextafter(half[r], np.inf)
        by_squares = _fewest(mean, records, order, goal)
        by_reach = _fewest(reach, records, np.argsort(-reach), shift)
        number = max(by_squares, by_reach)
        if min(by_squares, by_reach) < 0 or number >= limit:
            continue
        numbers[r, 0] = number
        numbers[r, 1] = -1
        found[r, 0] = 0.0
        found[r, 1] = 0.0
        left = number
        for s in order:
            if left == 0:
                break
            found[r, 0] += min(left, records[s]) * mean[s]
            found[r, 1] = max(found[r, 1], reach[s])
            left -= min(left, records[s])


@compiled
def few_in_lists(
    firsts: Any, squares: Any, largest: Any, records: Any, limit: float, half: Any, shift: float, found: Any,
    numbers: Any,
) -> None:  # fmt: skip
    """``few_strata`` where every row r has strata of its own, from firsts[r] on."""
    for r in range(firsts.size - 1):
        own = slice(firsts[r], firsts[r + 1])
        few_strata(
            squares[own].reshape((-1, 1)), largest[own].reshape((-1, 1)), records[own], limit, half[r : r + 1], shift,
            found[r : r + 1], numbers[r : r + 1],
        )  # fmt: skip


@compiled
def top_in_lists(firsts: Any, weights: Any, counts: Any, top: Any, where: Any) -> None:
    """The largest weights of any reports of each row, which has strata of its own, from firsts[r] on.

    weights[s, i] is a weight, without its sign, that counts[s, i] reports of a stratum have.
    """
    room = top.shape[1]
    for r in range(firsts.size - 1):
        for s in range(firsts[r], firsts[r + 1]):
            for i in range(weights.shape[1]):
                w = weights[s, i]
                for _ in range(min(counts[s, i], room)):
                    if w <= top[r, room - 1]:
                        break
                    j = room - 1
                    while j > 0 and w > top[r, j - 1]:
                        top[r, j] = top[r, j - 1]
                        where[r, j] = where[r, j - 1]
                        j -= 1
                    top[r, j] = w
                    where[r, j] = s - firsts[r]
