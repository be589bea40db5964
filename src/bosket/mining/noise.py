"""The warning that a limit is within the noise: many of the itemsets that pass it are chance."""

from __future__ import annotations

import math

from bosket.errors import NoiseWarning, warn
from bosket.mining.result import FrequentItemsets

_NOISE = 1 / 3  # of the minimum support: beyond it, itemsets that nobody has pass by chance, and there are many of them


def warn_of_noise(found: FrequentItemsets) -> None:
    """Warn, and note in ``about``, of sizes at which many itemsets are noise."""
    notes = []
    for size, error in found.typical_stderr.items():
        if error > found.min_support * _NOISE:
            sentence = (
                f"At size {size} the standard error is about {error:.2g}, and the minimum support "
                f"{found.min_support:g}: many of these itemsets are noise; four standard errors are "
                f"{_round_up(4 * error):g}."
            )
            warn(NoiseWarning(sentence, size=size, stderr=error))
            notes.append(sentence)
    if notes:
        found.notes["noise"] = notes


def _round_up(value: float) -> float:
    """To two digits."""
    step: float = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / step) * step
