"""Compiled perturbation of one-hot records by the gamma-diagonal matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled
from bosket.randomness.kernels import PRECISION, below

_SHIFT = 64 - PRECISION


@compiled
def keep_or_replace_block(
    bits: Any, offsets: Any, threshold: int, reach: int, is_other: bool, done: int, random: Any
) -> tuple[int, int]:
    """Perturb rows from ``done`` on until they end or the random words run out.

    A row keeps its record when 53 random bits are below ``threshold``, and else takes on one drawn uniformly: from all
    records, or with ``is_other`` from all others.  RAN-GD first moves the threshold by a whole number drawn uniformly
    from -reach .. reach, so that its mean is the threshold, exactly.  Whatever the coin says, as much is drawn.
    """
    n_rows, n_words = bits.shape
    n_attributes = offsets.size - 1
    drawn = np.empty(n_words, np.uint64)
    used = 0
    row = done
    while row < n_rows:
        if used >= random.size:
            break
        coin = np.int64(random[used] >> np.uint64(_SHIFT))
        used += 1
        moved = np.int64(0)
        if reach > 0:
            moved, used = below(2 * reach + 1, random, used)
            if moved < 0:
                break
            moved -= reach
        kept = coin < threshold + moved
        ran_out = False
        differs = False
        while not differs and not ran_out:
            drawn[:] = 0
            for j in range(n_attributes):
                value, used = below(offsets[j + 1] - offsets[j], random, used)
                if value < 0:
                    ran_out = True
                    break
                lane = offsets[j] + value
                drawn[lane >> 6] |= np.uint64(1) << np.uint64(lane & 63)
            differs = not is_other
            for w in range(n_words):
                differs |= drawn[w] != bits[row, w]
        if ran_out:
            break
        mask = np.uint64(0) - np.uint64(kept)
        for w in range(n_words):
            bits[row, w] = (bits[row, w] & mask) | (drawn[w] & ~mask)
        row += 1
    return row, used
