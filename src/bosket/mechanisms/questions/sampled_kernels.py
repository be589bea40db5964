"""Compiled drawing of answers about baskets."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled, popcount
from bosket.mechanisms.questions.hash_kernels import bucket_of
from bosket.randomness.kernels import PRECISION, below

_SHIFT = 64 - PRECISION


@compiled
def held_keys(bits: Any, row: int, sets: Any, length: int, kept: Any, random: Any, used: int) -> tuple[int, int]:
    """Put ``length`` of the keys that a record holds, each choice equally likely, into ``kept``; all, if fewer.

    Keys are the rows of ``sets``, itemsets padded by -1; the items themselves where ``sets`` has no rows.  Returns how
    many were kept and the words used; -1 when these run out.  Reservoir sampling: the t-th key held takes the place of
    one of ``length`` with probability length / t.
    """
    number = 0
    one = np.uint64(1)
    if sets.shape[0] == 0:
        for w in range(bits.shape[1]):
            word = bits[row, w]
            while word != 0:
                lowest = word & (~word + one)
                word ^= lowest
                place = np.int64(number)
                if number >= length:
                    place, used = below(number + 1, random, used)
                    if place < 0:
                        return -1, used
                if place < length:
                    kept[place] = 64 * w + np.int64(popcount(lowest - one))
                number += 1
        return min(number, length), used
    for key in range(sets.shape[0]):
        holds = True
        for place in range(sets.shape[1]):
            item = sets[key, place]
            if item < 0:
                break
            holds &= (bits[row, item >> 6] >> np.uint64(item & 63)) & one != 0
        if holds:
            at = np.int64(number)
            if number >= length:
                at, used = below(number + 1, random, used)
                if at < 0:
                    return -1, used
            if at < length:
                kept[at] = key
            number += 1
    return min(number, length), used


@compiled
def put_value(values: Any, number: int, value: Any) -> int:
    """Put a value into the first ``number``, which rise, unless it is there; how many there are then."""
    at = number
    while at > 0 and values[at - 1] > value:
        at -= 1
    if at > 0 and values[at - 1] == value:
        return number
    for place in range(number, at, -1):
        values[place] = values[place - 1]
    values[at] = value
    return number + 1


@compiled
def sampled_block(
    bits: Any,
    sets: Any,
    length: int,
    threshold: int,
    n_values: int,
    n_keys: int,
    is_hashed: bool,
    done: int,
    random: Any,
    seed: Any,
    answer: Any,
) -> tuple[int, int]:
    """Draw the answer of every row from ``done`` on, until the random words run out; the words of whole rows count.

    A row takes a word more where one is rejected, which depends, by less than 2**-32, on the record and on the seed: so
    one that the words do not suffice for must be begun again with the same words.

    The values of a record are the buckets of the keys that it keeps, or these keys themselves and dummies, numbered
    from ``n_keys`` on, up to ``length``.  Each of them is answered when 53 random bits fall into its part of
    ``threshold`` of 2**53; when they fall into none, any other value is, all alike.
    """
    n_rows = bits.shape[0]
    kept = np.empty(length, np.int64)
    values = np.empty(length + 1, np.int64)
    used = whole = 0
    row = done
    while row < n_rows:
        number, used = held_keys(bits, row, sets, length, kept, random, used)
        if number < 0 or used + 2 > random.size:
            break
        named = random[used]
        coin = np.int64(random[used + 1] >> np.uint64(_SHIFT))
        used += 2
        n_own = 0
        if is_hashed:
            for at in range(number):
                n_own = put_value(values, n_own, bucket_of(named, kept[at], n_values))
        else:
            for at in range(number):
                n_own = put_value(values, n_own, kept[at])
            for dummy in range(length - number):
                n_own = put_value(values, n_own, np.int64(n_keys + dummy))
        other, used = below(n_values - n_own, random, used)
        if other < 0:
            break
        for at in range(n_own):
            other += np.int64(other >= values[at])
        part = coin // threshold
        seed[row] = named
        answer[row] = values[part] if part < n_own else other
        row += 1
        whole = used
    return row, whole
