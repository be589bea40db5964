"""Figures as values: what to draw, before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """Curves over a common x; a missing y is what cannot be discovered."""

    number: int | str
    title: str
    x_label: str
    y_label: str
    x: tuple[float, ...]
    x_is_share: bool
    curves: dict[str, tuple[float | None, ...]]
    y_is_log: bool = True
    y_is_share: bool = True
