"""``bosket reproduce zeng``: what it prints and draws."""

from __future__ import annotations

import argparse
from typing import Any

from bosket.cli.views.console import Work, say
from bosket.cli.views.drawing import check_folder, draw
from bosket.cli.views.tables import print_table
from bosket.errors import DataError


def run(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.research.reproduce import zeng as paper

    check_folder(options.figures)
    times = 10 if options.times is None else options.times
    with Work(options).step("reproducing Zeng"):
        result = paper.run(data=options.data, times=times, tell=say)
    for sentence in result["missing"]:
        say(sentence)
    if not result["thresholds"]:
        raise DataError("There is nothing to reproduce without the data.", hint="Name their folder with --data.")
    headings = ["data", "method", "limit", "true", "F", "precision", "recall"]
    title = f"Itemsets above a limit, epsilon 1, {times} runs (Figs. 2, 4 and 5)"
    print_table(title, headings, [_above(row) for row in result["thresholds"]], text_columns=2)
    _print_notes(result["thresholds"])
    rows = [_above(row) for row in result["pairs"]]
    print_table("Pairs above a limit (Fig. 6)", headings, rows, text_columns=2)
    rows = [[row["data"], row["method"], str(row["k"]), *_scores(row)] for row in result["top_k"]]
    headings = ["data", "method", "k", "F", "precision", "recall"]
    print_table("The most frequent itemsets (Fig. 3)", headings, rows, text_columns=2)
    if result["cuts"]:
        rows = [[str(row["cut"]), *_scores(row)] for row in result["cuts"]]
        print_table("Single items by the cut (Fig. 7)", ["cut", "F", "precision", "recall"], rows, text_columns=0)
    say(result["remark"])
    if options.figures is not None:
        draw(result["figures"], options.figures)
    return result


def _print_notes(rows: list[dict[str, Any]]) -> None:
    """Why an F is 0 where that is no matter of accuracy."""
    notes: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        if row["note"]:
            notes.setdefault((row["data"], row["method"], row["note"]), []).append(_percent(row["limit"]))
    if notes:
        lines = [[data, method, note, ", ".join(limits)] for (data, method, note), limits in notes.items()]
        print_table("Where nothing comes out", ["data", "method", "why", "limits"], lines, text_columns=4)


def _above(row: dict[str, Any]) -> list[str]:
    return [row["data"], row["method"], _percent(row["limit"]), str(row["true"]), *_scores(row)]


def _percent(limit: float) -> str:
    return f"{100 * limit:g}%"


def _scores(row: dict[str, Any]) -> list[str]:
    """Means and spreads over the runs."""
    spreads = {"f": "spread", "precision": "precision_spread", "recall": "recall_spread"}
    return [f"{row[key]:.3f} ± {row[spread]:.3f}" for key, spread in spreads.items()]
