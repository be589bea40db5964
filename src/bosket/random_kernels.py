"""The compiled inner loop of :mod:`bosket.randomness`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

PRECISION = 53
EAGER = 7  # levels done for a whole run of words at once (vectorized); most words are decided soon after
RUN = 64  # words in a run
NEED = RUN * PRECISION  # random words a run may use


@njit(cache=True, nogil=True)
def xor_bernoulli_block(
    block: Any,
    done: int,
    set_planes: Any,
    clear_planes: Any,
    set_always: Any,
    clear_always: Any,
    lanes: Any,
    random: Any,
) -> int:
    """Flip the words of ``block`` from ``done`` on, until it ends or ``random`` might run out; return how far it came.

    Word i holds the lanes of column i mod n_columns; row ``level`` of the planes holds one bit of every threshold, the most
    significant first.  ``below`` collects the lanes with U < T: at the first level where U and T differ, T has the 1.
    """
    n_columns = lanes.size
    undecided = np.empty(RUN, np.uint64)
    below = np.empty(RUN, np.uint64)
    used = 0
    i = done
    while i < block.size and used + NEED <= random.size:
        first = i % n_columns
        n = min(RUN, n_columns - first, block.size - i)
        x = block[i : i + n]
        undecided[:n] = lanes[first : first + n]
        below[:n] = 0
        for level in range(EAGER):
            ones = set_planes[level, first : first + n]
            zeros = clear_planes[level, first : first + n]
            u = random[used : used + n]
            used += n
            for j in range(n):
                bit = (x[j] & ones[j]) | (~x[j] & zeros[j])
                differ = u[j] ^ bit
                below[j] |= undecided[j] & differ & bit
                undecided[j] &= ~differ
        for j in range(n):
            left = undecided[j]
            xj = x[j]
            bj = below[j]
            column = first + j
            level = EAGER
            while left != 0 and level < PRECISION:
                bit = (xj & set_planes[level, column]) | (~xj & clear_planes[level, column])
                differ = random[used] ^ bit
                used += 1
                bj |= left & differ & bit
                left &= ~differ
                level += 1
            bj |= (xj & set_always[column]) | (~xj & clear_always[column])
            x[j] = xj ^ (bj & lanes[column])
        i += n
    return i
