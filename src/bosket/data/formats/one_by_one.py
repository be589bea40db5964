"""Cells of which one may make an error: the others are what they are without it."""

from __future__ import annotations

from typing import Any


def cells_in(values: Any) -> list[Any]:
    """The values of an array; None for one that makes an error when it is taken out."""
    try:
        return list(values)
    except Exception:  # noqa: BLE001  # bytes that are no text, a day beyond the calendar
        return [_cell(values, at) for at in range(len(values))]


def _cell(values: Any, at: int) -> Any:
    try:
        return values[at]
    except Exception:  # noqa: BLE001  # as above
        return None
