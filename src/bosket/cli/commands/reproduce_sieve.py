"""``bosket reproduce sieve``: what it prints."""

from __future__ import annotations

import argparse
from typing import Any

from bosket.cli.views.console import Work, say
from bosket.cli.views.tables import print_table
from bosket.errors import DataError
from bosket.reporting.text import count_text

_FIGURES = ["F", "prototype", "goal", "announced", "covered, %", "by size, %", "error, %", "width, %", "s"]


def run(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.research.reproduce import sieve as study

    times = options.times or (2 if options.quick else 10)
    with Work(options).step("running the sieve and its rivals"):
        result = study.run(
            data=options.data,
            times=times,
            files=options.files,
            limits=options.limits,
            is_quick=bool(options.quick),
            only_ours=bool(options.ours),
            tell=say,
        )
    for sentence in result["missing"]:
        say(sentence)
    if not result["rows"] and not result["top_k"]:
        raise DataError("There is nothing to reproduce without the data.", hint="Name their folder with --data.")
    runs = f"{count_text(times, 'run')}; ± is their spread"
    title = f"Itemsets above a limit, epsilon {result['epsilon']:g}, {runs}"
    rows = [
        [_named(row, result), row["method"], f"{100 * row['limit']:g}%", str(row["true"]), *_figures(row)]
        for row in result["rows"]
    ]
    print_table(title, ["data", "method", "limit", "true", *_FIGURES], rows, text_columns=2)
    if result["top_k"]:
        rows = [[row["data"], row["method"], str(row["k"]), *_figures(row)] for row in result["top_k"]]
        print_table("The most frequent itemsets", ["data", "method", "k", *_FIGURES], rows, text_columns=2)
    say(f"* took no part in choosing settings. {result['remark']}")
    return result


def _named(row: dict[str, Any], result: dict[str, Any]) -> str:
    return f"{row['data']} *" if row["data"] in result["untouched"] else str(row["data"])


def _figures(row: dict[str, Any]) -> list[str]:
    by_size = " ".join(_percent(share) for share in row["coverage_by_size"].values())
    return [
        f"{row['f']:.3f} ± {row['spread']:.3f}",
        _score(row["prototype"]),
        _score(row["goal"]),
        _score(row["announced"]),
        _percent(row["coverage"]),
        by_size or "–",
        "–" if row["error"] is None else f"{100 * row['error']:.1f}",
        "–" if row["width"] is None else f"{100 * row['width']:.2f}",
        f"{row['seconds']:.1f}",
    ]


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f}"
