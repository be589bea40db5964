"""``bosket reproduce esag``: what it prints and draws."""

from __future__ import annotations

import argparse
from typing import Any

from bosket.cli.views.console import Work, say
from bosket.cli.views.drawing import check_folder, draw
from bosket.cli.views.tables import print_table


def run(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.research.reproduce import esag as paper

    check_folder(options.figures)
    with Work(options).step("reproducing ESAG"):
        result = paper.run(
            data=options.data,
            times=options.times or paper.TIMES,
            min_support=options.min_support or paper.MIN_SUPPORT,
            seed=options.seed,
            worst=bool(options.worst_itemset),
            tell=say,
        )
    if options.figures is not None:
        draw(result["figures"], options.figures)
    for table in result["tables"]:
        _show(table, result["planned_against"])
    for sentence in result["missing"]:
        say(sentence)
    return result


def _show(table: dict[str, Any], planned_against: str) -> None:
    """Tables 1 to 4 in the paper's own form, and what they were made with."""
    least = table["min_support"]
    name = f"{table['name']}, {table['n_records']:,} records ({table['times']} x the stream), at {least:.2%}"
    print_table(
        f"{name}: parameters at cutoff 7, planned against {planned_against}",
        ["record size", *map(str, table["parameters"])],
        [["rho, %", *(f"{100 * rho:.1f}" for rho in table["parameters"].values())]],
        text_columns=1,
    )
    rows = [
        [
            str(row["size"]),
            *(str(row[key]) for key in ("true", "true_positives", "false_drops", "false_positives")),
            _sigmas(table["sigmas"].get(row["size"])),
            f"{table['lowest_supports'][row['size']]:.3%}",
        ]
        for row in table["found"]
    ]
    headings = ["size", "true itemsets", "true positives", "false drops", "false positives", "sigma", "4 sigmas"]
    print_table(f"Table 1, {table['name']}: results", headings, rows, text_columns=0)
    bands = [f"< {least / 2:.3%}", f"to {0.75 * least:.3%}", f"to {least:.3%}", f">= {least:.3%}"]
    for number, key, what in (
        (2, "false_drops", "false drops: truly frequent itemsets by predicted support"),
        (3, "false_positives", "false positives: itemsets predicted to be frequent by true support"),
    ):
        rows = [
            [str(row["size"]), str(row["itemsets"]), *(str(row[f"band_{band}"]) for band in range(4))]
            for row in table[key]
        ]
        print_table(f"Table {number}, {table['name']}: {what}", ["size", "itemsets", *bands], rows, text_columns=0)
    cells = {
        title: [f"{row[f'{key}_size']}: {row[key]:.1%}" for row in table["breaches"]]
        for title, key in (("worst average", "worst_average"), ("worst of the worst", "worst"))
    }
    print_table(
        f"Table 4, {table['name']}: actual breaches by record size, on {table['breach_records']:,} records "
        f"({table['seconds']:.0f} s in all)",
        ["", *(str(row["record_size"]) for row in table["breaches"])],
        [[title, *values] for title, values in cells.items()],
        text_columns=1,
    )


def _sigmas(ends: tuple[float, float] | None) -> str:
    return "–" if ends is None else f"{ends[0]:.3%} to {ends[1]:.3%}"
