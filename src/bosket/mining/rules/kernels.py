"""Compiled: rules that do not improve on a more general one."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled


@compiled
def improving(values: Any, rows: Any, antecedents: Any, least: Any, hair: Any, result: Any) -> None:
    """result[i]: by how rule i's confidence exceeds that of all its proper sub-rules: 1 if by more than ``least``,
    0 if not, -1 if that is a matter of less than ``hair``.

    ``values[row, pattern]`` are supports of subsets; a sub-rule has the same consequent and a part of the antecedent,
    the empty one included (its confidence is the support of the consequent).
    """
    full = values.shape[1] - 1
    for i in range(len(rows)):
        row = values[rows[i]]
        antecedent = antecedents[i]
        consequent = full ^ antecedent
        best = -1.0
        part = antecedent
        while part:
            part = (part - 1) & antecedent
            if row[part] > 0:
                confidence = row[part | consequent] / row[part]
                best = max(best, confidence)
        excess = row[full] / row[antecedent] - best - least
        result[i] = -1 if abs(excess) <= hair else int(excess > 0)


@compiled
def improving_at_all(values: Any, rows: Any, antecedents: Any, result: Any) -> None:
    """The same with ``least`` 0, by whole numbers below 2^31: x / a > y / b just if x b > y a."""
    full = values.shape[1] - 1
    for i in range(len(rows)):
        row = values[rows[i]]
        antecedent = antecedents[i]
        consequent = full ^ antecedent
        x, a = np.int64(row[full]), np.int64(row[antecedent])
        result[i] = 1
        part = antecedent
        while part:
            part = (part - 1) & antecedent
            y, b = np.int64(row[part | consequent]), np.int64(row[part])
            if b > 0 and x * b <= y * a:
                result[i] = 0
                break
