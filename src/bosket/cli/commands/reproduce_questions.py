"""``bosket reproduce questions``: what it prints."""

from __future__ import annotations

import argparse
from typing import Any

from bosket.cli.views.console import Work, say
from bosket.cli.views.tables import print_table
from bosket.errors import DataError
from bosket.reporting.text import count_text

_FAR = 2.0  # standard errors, beyond which a row is said to be behind the prototype
_MEASURES = {"error": "the error is above the prototype's", "f": "F is below the prototype's"}


def run(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.research.reproduce import questions as study

    quick: dict[str, Any] = {"names": ("CENSUS",), "gammas": study.GAMMAS[:1]} if options.quick else {}
    repetitions = options.repetitions or (2 if options.quick else study.REPETITIONS)
    with Work(options).step("asking questions"):
        result = study.run(data=options.data, repetitions=repetitions, seed=options.seed, tell=say, **quick)
    for sentence in result["missing"]:
        say(sentence)
    if not result["tables"]:
        raise DataError("There is nothing to reproduce without the data.", hint="Name their folder with --data.")
    for table in result["tables"]:
        show(table, result["min_support"])
    return result


def show(table: dict[str, Any], min_support: float) -> None:
    """Ours, and the prototype's in the last columns."""
    rows = [
        [
            row["name"],
            str(row["itemsets"]),
            _percent(row["error"]),
            _mean(row["f"], 3),
            "–" if row["coverage"] is None else _percent(row["coverage"]),
            *(["–"] * 2 if row["prototype"] is None else _figures(row["prototype"]["error"], row["prototype"]["f"])),
        ]
        for row in table["rows"]
    ]
    if table["goal"] is not None:
        rows.append(["goal", "", "", "", "", *_figures(*table["goal"])])
    headings = ["one report each", "itemsets", "error, %", "F", "covered, %", "prototype: error, %", "F"]
    title = (
        f"{table['data']} at gamma {table['gamma']:.4g}, itemsets from {min_support:.0%}, {table['n_records']:,} "
        f"people, {count_text(table['repetitions'], 'repetition')} ({table['seconds']:.0f} s)"
    )
    print_table(title, headings, rows)
    say(f"{table['data']}: {table['what']}")
    for row in table["rows"]:
        for measure, value in (row["behind"] or {}).items():
            if value is not None and value > _FAR:
                say(f"{table['data']}, {row['name']}: {_MEASURES[measure]} by {value:.1f} standard errors")


def _figures(error: float, f: float) -> list[str]:
    return [f"{100 * error:.1f}", f"{f:.3f}"]


def _percent(value: dict[str, float | None]) -> str:
    return _mean({name: None if part is None else 100 * part for name, part in value.items()}, 1)


def _mean(value: dict[str, float | None], decimals: int) -> str:
    mean, error = value["mean"], value["stderr"]
    return f"{mean:.{decimals}f}" + ("" if error is None else f" ± {error:.{decimals}f}")
