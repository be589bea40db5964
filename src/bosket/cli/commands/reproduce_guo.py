"""``bosket reproduce guo``: what it prints and draws."""

from __future__ import annotations

import argparse
from typing import Any

from bosket.cli.views.console import Work, say
from bosket.cli.views.drawing import check_folder, draw
from bosket.cli.views.tables import print_table
from bosket.errors import DataError


def run(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.research.reproduce import guo as paper

    check_folder(options.figures)
    with Work(options).step("reproducing Guo"):
        result = paper.run(data=options.data, seed=options.seed, tell=say)
    if options.figures is not None:
        draw(result["figures"], options.figures)
    if result["codings"]:
        _show_codings(result)
    if "figure_3" in result:
        _show_ranges(result)
        _show_surfaces(result["figure_2"])
        _show_visible(result)
    for sentence in result["missing"]:
        say(sentence)
    if not result["codings"] and "figure_3" not in result:
        raise DataError("There is nothing to reproduce without the data.", hint="Name their folder with --data.")
    return result


def _show_codings(result: dict[str, Any]) -> None:
    rows = [
        [
            row["coding"],
            *(f"{row[name]:,}" for name in ("n_records", "items", "pairs", "original", "large_cells", "exact")),
            *(f"{row[name]:,.0f}" for name in ("visible", "visible_fair_coin")),
        ]
        for row in result["codings"]
    ]
    paper = result["paper"]
    rows.append(["the paper", "–", "–", "–", str(paper["original"]), "–", "–", f"about {paper['visible']}", "–"])
    headings = ["items", "records", "number", "pairs", "dependent", "cells >= 5", "exact", "p = 0.55", "p = 0.775"]
    title = f"How items may have been made: dependent pairs in the original and in reports (ours: {result['coding']})"
    print_table(title, headings, rows)


def _show_ranges(result: dict[str, Any]) -> None:
    rows = [
        [
            f"{row['keep']:.2f}",
            f"{row['estimate']:.3f}",
            *(f"{row[f'{kind}_low']:.3f} to {row[f'{kind}_high']:.3f}" for kind in ("normal", "chebyshev")),
        ]
        for row in result["figure_1"]
    ]
    title = f"Fig. 1, {result['rule']}: estimated support and its 95% ranges (truth {result['support']:.3f})"
    print_table(title, ["p", "estimate", "normal", "Chebyshev"], rows, text_columns=0)


def _show_surfaces(surface: dict[str, Any]) -> None:
    rows = []
    for name, title in (("chi_squared", "chi-square"), ("interest", "interest")):
        values = [value for row in surface[name] for value in row]
        own = surface["original"][name]
        above = sum(value > own * (1 + 1e-9) for value in values) / len(values)
        rows.append([title, f"{own:.3f}", f"{min(values):.3f}", f"{max(values):.3f}", f"{above:.0%}"])
    headings = ["", "original", "least", "largest", "above the original"]
    print_table("Fig. 2: randomized data over all p1, p2 in [0, 1], in the population", headings, rows)


def _show_visible(result: dict[str, Any]) -> None:
    rows = [
        [
            f"{row['keep']:.2f}",
            f"{row['found']:.0f} ± {row['spread']:.0f}",
            *(f"{row[name]:.0f}" for name in ("expected", "right", "wrong")),
            *(f"{row[name]:.1f}" for name in ("adjusted", "adjusted_wrong")),
        ]
        for row in result["figure_3"]
    ]
    paper = result["paper"]
    title = (
        f"Fig. 3: pairs found dependent without p, {result['seeds']} seeds; {result['original']} in the original "
        f"(the paper: {paper['original']}, and about {paper['visible']} found at p = {paper['keep']:g})"
    )
    headings = ["p", "found", "expected", "also in the original", "not in it", "adjusted", "adjusted, not in it"]
    print_table(title, headings, rows, text_columns=0)
    say(
        f"at p = {paper['keep']:g} no pair, be it the same item twice, is found with a probability of more than "
        f"{result['most_likely_seen']:.0%}; 5% are found by chance"
    )
