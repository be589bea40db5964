"""Compiled: rules that do not improve on a more general one."""

from __future__ import annotations

from typing import Any

from bosket.compiled import compiled


@compiled
def improving(values: Any, rows: Any, antecedents: Any, least: Any, result: Any) -> None:
    """result[i]: whether the confidence of rule i exceeds that of all its proper sub-rules by more than ``least``.

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
        result[i] = row[full] / row[antecedent] - best > least
