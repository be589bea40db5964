"""``bosket reproduce frapp``: what it prints and draws."""

from __future__ import annotations

import argparse
from typing import Any

from bosket.cli.views.console import Work, say
from bosket.cli.views.drawing import check_folder, draw
from bosket.cli.views.tables import print_table

_WHO = ("FRAPP", "DIRECT", "MAJORITY")


def run(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.research.reproduce import frapp as paper

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
        _show_table_5(result["table_5"])
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


def _show_table_5(ours: dict[str, Any]) -> None:
    """Correctly labelled, mean and spread over seeds, with what always naming the commonest class gives."""
    rows = []
    for name, result in ours.items():
        both = result["BOTH"]
        cells = [f"{result[who]['correct']['mean']:.2f} ± {result[who]['correct']['sd']:.2f}" for who in _WHO]
        rows.append([name, *cells, f"{both['correct']['mean']:.2f} / {both['incorrect']['mean']:.2f}"])
    rows.append(["the paper", "72.88", "75.34", "–", "71.34 / 23.12"])
    headings = ["classifier", *(who if who != "MAJORITY" else "commonest class" for who in _WHO), "both right / wrong"]
    print_table("Table 5: labelled correctly at gamma 19, in percent", headings, rows)
