"""The warning that a limit is within the noise: many of the itemsets that pass it are chance."""

from __future__ import annotations

import math
import warnings

from bosket.errors import NoiseWarning
from bosket.mining.result import FrequentItemsets

_NOISE = 1 / 3  # of the minimum support: beyond it, itemsets that nobody has pass by chance, and there are many of them


def warn_of_noise(found: FrequentItemsets, *, frames: int = 1) -> None:
    """Warn, and note in ``about``, of sizes at which many itemsets are noise; the public call is ``frames`` up."""
    notes = []
    for size, error in found.typical_stderr.items():
        if error > found.min_support * _NOISE:
            sentence = (
                f"At size {size} the standard error is about {error:.2g}, and the minimum support "
                f"{found.min_support:g}: many of these itemsets are noise; four standard errors are "
                f"{_round_up(4 * error):g}."
            )
            warnings.warn(NoiseWarning(sentence, size=size, stderr=error), stacklevel=frames + 2)
            notes.append(sentence)
    if notes:
        found.notes["noise"] = notes


def _round_up(value: float) -> float:
    """To two digits."""
    step: float = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / step) * step
