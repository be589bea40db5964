"""What the machine can do at best: the denominators of the ratios."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled, popcount


@compiled
def and_popcount(a: Any, b: Any, times: int) -> Any:
    """AND and count two rows that stay in the first-level cache, again and again."""
    total = np.uint64(0)
    for turn in range(times):
        a[0] ^= np.uint64(turn)  # so that no turn can be saved
        count = np.uint64(0)
        for w in range(a.size):
            count += popcount(a[w] & b[w])
        total += count
    return total
