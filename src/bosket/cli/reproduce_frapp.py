"""``bosket reproduce frapp``: what it prints and draws."""

from __future__ import annotations

import argparse
from typing import Any

from bosket.cli.console import Work, say
from bosket.cli.drawing import check_folder, draw
from bosket.cli.tables import print_table


def run(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.reproduce import frapp as paper

    check_folder(options.figures)
    with Work(options).step("reproducing FRAPP"):
        result = paper.run(data=options.data, versions=(options.versions or 50, 1), seed=options.seed, tell=say)
    if options.figures is not None:
        draw(result["figures"], options.figures)
    rows = []
    for name, ours in result["table_3"]["ours"].items():
        theirs = result["table_3"]["paper"][name]
        rows.append([name, *(f"{a} ({b})" for a, b in zip([*ours, 0], theirs, strict=False))])
    if rows:
        lengths = [str(length) for length in range(1, max(map(len, rows)))]
        rows = [row + [""] * (len(lengths) + 1 - len(row)) for row in rows]
        print_table("Table 3: frequent itemsets at 2% by length (the paper's)", ["", *lengths], rows)
    for part in result["accuracy"]:
        _show(part)
    if result.get("table_5"):
        _show_table_5(result["table_5"], result["paper_table_5"])
    for sentence in result["missing"]:
        say(sentence)
    return result


def _show(part: dict[str, Any]) -> None:
    """One line a mechanism and measure, the lengths side by side, in percent."""
    times = part["versions"]
    title = (
        f"Fig. {part['figure']}, {part['data']} at gamma {part['gamma']:g}, {times} version{'s' if times > 1 else ''}: "
        "support error, false negatives, false positives, in percent"
    )
    rows = []
    for label, qualities in part["qualities"].items():
        for field, sign in (("mu", "mu"), ("missed", "sigma-"), ("false", "sigma+")):
            rows.append([label, sign, *("–" if row[field] is None else f"{100 * row[field]:.1f}" for row in qualities)])
    lengths = [str(row["length"]) for row in next(iter(part["qualities"].values()))]
    print_table(title, ["", "", *lengths], rows, text_columns=2)


def _show_table_5(ours: dict[str, Any], paper: dict[str, float]) -> None:
    rows = [
        [name, f"{100 * ours[name]['mean']:.2f}", f"{100 * ours[name]['spread']:.2f}", f"{value:.2f}"]
        for name, value in paper.items()
        if name in ours
    ]
    print_table("Table 5: labelled correctly, in percent", ["", "ours", "spread over seeds", "the paper"], rows)
