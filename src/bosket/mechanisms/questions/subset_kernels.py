"""Compiled drawing of subsets that hold something of a record, or nothing; and counting of what they show."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled
from bosket.mechanisms.questions.sampled_kernels import held_keys, put_value
from bosket.randomness.kernels import PRECISION, below

_SHIFT = 64 - PRECISION


@compiled
def _has(words: Any, value: Any) -> Any:
    return (words[value >> 6] >> np.uint64(value & 63)) & np.uint64(1) != 0


@compiled
def _draw(words: Any, number: int, chosen: int, avoid: Any, n_avoid: int, random: Any, used: int) -> int:
    """Set ``chosen`` of ``number`` values, those after ``avoid`` moved up, in ``words``; -1 when random words run out.

    Floyd's algorithm: step j draws t in [0, j] and takes it, or j itself if t is taken.  Returns the words used.
    """
    for j in range(number - chosen, number):
        t, used = below(j + 1, random, used)
        if t < 0:
            return -1
        value, last = t, np.int64(j)
        for at in range(n_avoid):
            value += np.int64(value >= avoid[at])
            last += np.int64(last >= avoid[at])
        if _has(words, value):
            value = last
        words[value >> 6] |= np.uint64(1) << np.uint64(value & 63)
    return used


@compiled
def _draw_holding(
    words: Any, n_values: int, chosen: int, own: Any, n_own: int, avoid: Any, random: Any, used: int
) -> int:
    """Set ``chosen`` of all values, one of the row's own or more among them; -1 when random words run out.

    One of its values, and of all others chosen - 1; taken with probability one over how many it holds of the row's,
    since it is drawn in so many ways.  Returns the words used.
    """
    is_taken = False
    while not is_taken:
        words[:] = 0
        place, used = below(n_own, random, used)
        if place < 0:
            return -1
        avoid[0] = own[place]
        words[avoid[0] >> 6] |= np.uint64(1) << np.uint64(avoid[0] & 63)
        used = _draw(words, n_values - 1, chosen - 1, avoid, 1, random, used)
        if used < 0:
            return -1
        hits = np.int64(0)
        for at in range(n_own):
            hits += np.int64(_has(words, own[at]))
        ways, used = below(hits, random, used)
        if ways < 0:
            return -1
        is_taken = ways == 0
    return used


@compiled
def subset_block(
    bits: Any,
    sets: Any,
    length: int,
    threshold: int,
    n_keys: int,
    chosen: int,
    draws_both: bool,
    done: int,
    random: Any,
    subset: Any,
) -> tuple[int, int]:
    """Draw the subset of every row from ``done`` on, until the random words run out; the words of whole rows count.

    A row takes more words where it holds something of its own, so that one which the words do not suffice for must
    be begun again with the same words: with others, such rows would be fewer at the end of every buffer.

    When 53 random bits are below the threshold it is one that holds something of the row's.  Else it is any of the
    values that are not the row's.  With ``draws_both`` either is drawn and one is taken, so that how long it takes does
    not tell which: how often a subset is drawn until one is taken does not depend on that one.
    """
    n_rows = bits.shape[0]
    n_values = n_keys + length
    kept = np.empty(length, np.int64)
    own = np.empty(length + 1, np.int64)
    avoid = np.empty(1, np.int64)
    without = np.zeros(subset.shape[1], np.uint64)
    holding = np.zeros(subset.shape[1], np.uint64)
    used = whole = 0
    row = done
    while row < n_rows:
        number, used = held_keys(bits, row, sets, length, kept, random, used)
        if number < 0 or used >= random.size:
            break
        coin = np.int64(random[used] >> np.uint64(_SHIFT))
        used += 1
        n_own = 0
        for at in range(number):
            n_own = put_value(own, n_own, kept[at])
        for dummy in range(length - number):
            n_own = put_value(own, n_own, np.int64(n_keys + dummy))
        holds = coin < threshold
        if draws_both or not holds:
            without[:] = 0
            used = _draw(without, n_keys, chosen, own, n_own, random, used)
            if used < 0:
                break
        if draws_both or holds:
            used = _draw_holding(holding, n_values, chosen, own, n_own, avoid, random, used)
            if used < 0:
                break
        mask = np.uint64(0) - np.uint64(holds)
        for w in range(subset.shape[1]):
            subset[row, w] = (holding[w] & mask) | (without[w] & ~mask)
        row += 1
        whole = used
    return row, whole


@compiled
def count_subsets(words: Any, counts: Any, n_sets: int, sets: Any, found: Any) -> None:
    """found[j] += how many reports hold every key in row j of ``sets``; ``n_sets`` are all rows."""
    for report in range(words.shape[0]):
        number = counts[report]
        for row in range(sets.shape[0]):
            shows = np.uint64(1)
            for place in range(sets.shape[1]):
                key = sets[row, place]
                shows &= words[report, key >> 6] >> np.uint64(key & 63)
            found[row] += number * np.int64(shows)
