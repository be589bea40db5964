"""Rows of frames as JSON has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd


def labels_of(items: Any) -> list[str | int]:
    """Labels of items, sorted; those that JSON has no word for as text."""
    return sorted((item if isinstance(item, int | str) else str(item) for item in items), key=str)


def numbers_of(row: pd.Series[Any], names: Sequence[str]) -> dict[str, float | bool | None]:
    """Numbers of a row by name; None for one that JSON has no word for."""
    found: dict[str, float | bool | None] = {}
    for name in names:
        if name not in row.index:
            continue
        value = row[name]
        if name == "caution":
            found[name] = bool(value)
        else:
            found[name] = float(value) if math.isfinite(value) else None
    return found
