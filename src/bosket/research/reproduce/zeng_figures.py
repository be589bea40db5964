"""The pictures of Zeng, Naughton and Cai (2012), Figs. 2 to 7, from the rows of `bosket.research.reproduce.zeng`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bosket.research.reproduce.figures import Figure

BHASKAR = "Bhaskar et al."
PAIRS = ("ours", "as published", "naive")
"""Whose pairs Fig. 6 shows, beside those of Bhaskar et al."""
ABOVE = {
    "2": ("Itemsets above a limit", ("ours", "as published", "naive", "PrivBasis", "no truncation")),
    "4": ("Against sanitized records", ("ours", "DiffPart", "DiffPart, by count")),
    "5": ("The heuristics one by one", ("naive", "smart truncation alone", "double standards alone", "as published",
                                        "ours")),
}  # fmt: skip
"""By figure: what it shows and for which methods."""

FigureRows = list[dict[str, Any]]


def figures(
    *, thresholds: FigureRows, pairs: FigureRows, top_k: FigureRows, cuts: FigureRows, of_cuts: str
) -> list[Figure]:
    """A picture for each data set, lettered in their order, but for Fig. 7."""
    drawn: list[Figure] = []
    for letter, name in zip("abcd", dict.fromkeys(row["data"] for row in thresholds), strict=False):
        rows, of_pairs, top = ([row for row in table if row["data"] == name] for table in (thresholds, pairs, top_k))
        drawn += _above(letter, name, rows)
        drawn.append(_figure(f"3{letter}", f"The most frequent itemsets, {name}", top, x="k"))
        if of_pairs:
            title = f"Pairs above a limit, {name}"
            drawn += [
                _figure(f"6{letter}", title, of_pairs),
                _figure(f"6{letter}-precision", title, of_pairs, y="precision"),
                _figure(f"6{letter}-recall", title, of_pairs, y="recall"),
            ]
    if cuts:
        rows = [row | {"method": "single items"} for row in cuts]
        drawn.append(_figure("7", f"The cut, {of_cuts}", rows, x="cut"))
    return sorted(drawn, key=lambda figure: str(figure.number))


def _above(letter: str, name: str, rows: FigureRows) -> Iterator[Figure]:
    for number, (title, methods) in ABOVE.items():
        shown = [_labelled(row, rows) for method in methods for row in rows if row["method"] == method]
        yield _figure(f"{number}{letter}", f"{title}, {name}", shown)


def _labelled(row: dict[str, Any], rows: FigureRows) -> dict[str, Any]:
    """The row, with a method that says so where nothing came of it at any limit."""
    if all(other["note"] for other in rows if other["method"] == row["method"]):
        return row | {"method": f"{row['method']} (nothing comes out)"}
    return row


def _figure(number: str, title: str, rows: FigureRows, *, x: str = "limit", y: str = "f") -> Figure:
    """A curve for each method, in the order of the rows."""
    values = tuple(dict.fromkeys(row[x] for row in rows))
    curves: dict[str, tuple[float | None, ...]] = {}
    for method in dict.fromkeys(row["method"] for row in rows):
        scores = {row[x]: row[y] for row in rows if row["method"] == method}
        curves[method] = tuple(scores.get(value) for value in values)
    x_label = "records cut to" if x == "cut" else x
    y_label = "F-score" if y == "f" else y
    return Figure(number, title, x_label, y_label, values, x == "limit", curves, False)
