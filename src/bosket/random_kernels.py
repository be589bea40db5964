"""The compiled inner loop of :mod:`bosket.randomness`."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiled import compiled

PRECISION = 53
LEVELS = 54  # an even number, since levels are done in pairs: below the last bit a threshold goes on with a 0
EAGER = 8  # levels done for every word of a run, without a branch; one word in five is undecided after them
RUN = 128  # words in a run
NEED = RUN * LEVELS  # random words that a run can use at most


@compiled
def xor_bernoulli_block(
    block: Any,
    done: int,
    set_planes: Any,
    clear_planes: Any,
    set_always: Any,
    clear_always: Any,
    lanes: Any,
    random: Any,
    eager: int,
) -> tuple[int, int]:
    """Flip the words of ``block`` from ``done`` on, until it ends or ``random`` might run out.

    Returns how far it came and how many random words it used.  Word i holds the lanes of column i mod n_columns; row
    ``level`` of the planes holds one bit of every threshold, the most significant first.  ``below`` collects the lanes
    with U < T: at the first level where U and T differ, T has the 1.  ``eager`` levels, an even number, are done for
    every word.  The words still undecided then are listed and the list is thinned out level by level: no branch
    depends on a single random word, since it would be mispredicted half the time.
    """
    n_columns = lanes.size
    undecided = np.empty(RUN, np.uint64)
    below = np.empty(RUN, np.uint64)
    waiting = np.empty(RUN + 1, np.int64)
    used = 0
    i = done
    while i < block.size and used + NEED <= random.size:
        first = i % n_columns
        n = min(RUN, n_columns - first, block.size - i)
        x = block[i : i + n]
        lane = lanes[first : first + n]
        undecided[:n] = lane
        below[:n] = 0
        for level in range(0, eager, 2):  # two levels a pass: half the loads and stores
            ones, ones2 = set_planes[level, first : first + n], set_planes[level + 1, first : first + n]
            zeros, zeros2 = clear_planes[level, first : first + n], clear_planes[level + 1, first : first + n]
            u, u2 = random[used : used + n], random[used + n : used + 2 * n]
            used += 2 * n
            for j in range(n):
                left = undecided[j]
                bit = (x[j] & ones[j]) | (~x[j] & zeros[j])
                differ = u[j] ^ bit
                under = below[j] | (left & differ & bit)
                left &= ~differ
                bit = (x[j] & ones2[j]) | (~x[j] & zeros2[j])
                differ = u2[j] ^ bit
                below[j] = under | (left & differ & bit)
                undecided[j] = left & ~differ
        m = 0
        for j in range(n):
            waiting[m] = j
            m += undecided[j] != 0
        level = eager
        while m > 0 and level < LEVELS:
            ones, zeros = set_planes[level, first : first + n], clear_planes[level, first : first + n]
            still = 0
            for q in range(m):
                j = waiting[q]
                bit = (x[j] & ones[j]) | (~x[j] & zeros[j])
                differ = random[used + q] ^ bit
                left = undecided[j]
                below[j] |= left & differ & bit
                left &= ~differ
                undecided[j] = left
                waiting[still] = j
                still += left != 0
            used += m
            m = still
            level += 1
        ones, zeros = set_always[first : first + n], clear_always[first : first + n]
        for j in range(n):
            x[j] ^= (below[j] | (x[j] & ones[j]) | (~x[j] & zeros[j])) & lane[j]
        i += n
    return i, used
