"""``bosket reproduce zeng``: what it prints and draws."""

from __future__ import annotations

import argparse
from typing import Any

from bosket.cli.console import Work, say
from bosket.cli.drawing import check_folder, draw
from bosket.cli.tables import print_table
from bosket.errors import DataError


def run(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.reproduce import zeng as paper

    check_folder(options.figures)
    times = 10 if options.times is None else options.times
    with Work(options).step("reproducing Zeng"):
        result = paper.run(data=options.data, times=times, tell=say)
    for sentence in result["missing"]:
        say(sentence)
    if not result["thresholds"]:
        raise DataError("There is nothing to reproduce without the data.", hint="Name their folder with --data.")
    rows = [
        [row["data"], row["method"], f"{100 * row['limit']:g}%", str(row["true"]), _mean(row),
         f"{row['precision']:.3f}", f"{row['recall']:.3f}", f"{row['pairs_f']:.3f}"]
        for row in result["thresholds"]
    ]  # fmt: skip
    headings = ["data", "method", "limit", "true", "F", "precision", "recall", "F of pairs"]
    print_table(f"Itemsets above a limit, epsilon 1, {times} runs (Figs. 2, 4, 5, 6)", headings, rows, text_columns=2)
    rows = [[row["data"], row["method"], str(row["k"]), _mean(row)] for row in result["top_k"]]
    print_table("The most frequent itemsets (Fig. 3)", ["data", "method", "k", "F"], rows, text_columns=2)
    rows = [[str(row["cut"]), _mean(row), f"{row['precision']:.3f}", f"{row['recall']:.3f}"] for row in result["cuts"]]
    print_table("Single items by the cut (Fig. 7)", ["cut", "F", "precision", "recall"], rows, text_columns=0)
    if options.figures is not None:
        draw(result["figures"], options.figures)
    return result


def _mean(row: dict[str, Any]) -> str:
    return f"{row['f']:.3f} ± {row['spread']:.3f}"
