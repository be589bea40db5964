"""Rules that improve on every more general one: by whole numbers on exact data, beyond a hair on estimates."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from bosket.evidence import Family
from bosket.evidence.kept import Places
from bosket.limits import hair
from bosket.mining.rules.kernels import improving, improving_at_all


def improvements(family: Family, rows: Places, antecedents: Places, least: float) -> npt.NDArray[np.bool_]:
    """Which splits have a confidence that exceeds that of all their proper sub-rules by more than ``least``."""
    result = np.empty(len(rows), np.int8)
    improving(family.values, rows, antecedents, least, float(hair(least)), result)
    if family.evidence.is_exact:
        near = np.flatnonzero(result < 0)
        result[near] = _exactly(family, rows[near], antecedents[near], least)
    return result > 0


def _exactly(family: Family, rows: Places, antecedents: Places, least: float) -> npt.NDArray[np.int8]:
    """By whole numbers: an improvement exceeds the limit when the float nearest to it does."""
    result = np.empty(len(rows), np.int8)
    if least == 0:
        improving_at_all(family.values, rows, antecedents, result)
        return result
    for place, (row, antecedent) in enumerate(zip(rows.tolist(), antecedents.tolist(), strict=True)):
        values = [int(value) for value in family.values[row].tolist()]
        consequent = family.full ^ antecedent
        confidence = Fraction(values[family.full], values[antecedent])
        parts = [part for part in range(antecedent) if part & ~antecedent == 0 and values[part] > 0]
        best = max(Fraction(values[part | consequent], values[part]) for part in parts)
        result[place] = float(confidence - best) > least
    return result
