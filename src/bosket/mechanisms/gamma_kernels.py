"""Compiled perturbation of one-hot records by the gamma-diagonal matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiled import compiled
from bosket.random_kernels import PRECISION, below

_SHIFT = 64 - PRECISION


@compiled
def keep_or_replace_block(
    bits: Any, offsets: Any, keep: Any, spread: float, same: float, done: int, random: Any
) -> tuple[int, int]:
    """Perturb rows from ``done`` on until they end or the random words run out.

    A row keeps its record or takes on one drawn uniformly.  With spread 0 it keeps it when 53 random bits are below
    ``keep``; the record drawn may be the same.  Else (RAN-GD) a number r in [-spread, spread] is drawn first, the
    record is kept with probability same + r, and the one drawn is another.  Whatever the coin says, as much is drawn.
    """
    n_rows, n_words = bits.shape
    n_attributes = offsets.size - 1
    drawn = np.empty(n_words, np.uint64)
    used = 0
    row = done
    while row < n_rows:
        if used + 2 > random.size:
            break
        coin = random[used] >> np.uint64(_SHIFT)
        used += 1
        kept = coin < keep
        if spread > 0:
            r = ((np.float64(random[used] >> np.uint64(_SHIFT)) + 0.5) / 2.0**PRECISION * 2.0 - 1.0) * spread
            used += 1
            kept = np.float64(coin) < (same + r) * 2.0**PRECISION
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
            differs = spread == 0
            for w in range(n_words):
                differs |= drawn[w] != bits[row, w]
        if ran_out:
            break
        mask = np.uint64(0) - np.uint64(kept)
        for w in range(n_words):
            bits[row, w] = (bits[row, w] & mask) | (drawn[w] & ~mask)
        row += 1
    return row, used
