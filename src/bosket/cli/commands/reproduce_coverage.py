"""``bosket reproduce coverage``: how often the intervals of our measures hold the truth."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from bosket.cli.views.console import Work, say
from bosket.cli.views.tables import print_table


def run(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.research import coverage

    times = coverage.REPETITIONS if options.times is None else options.times
    with Work(options).step("simulating"):
        result = coverage.run(seed=options.seed, repetitions=times, tell=say)
    rows = [
        [
            row["measure"],
            row["interval"],
            *(_percent(row[name]) for name in ("coverage", "worst", "trusted", "coverage_of_all")),
            row["worst_in"] or "–",
        ]
        for row in result.rows()
    ]
    print_table(
        f"Intervals at {100 * coverage.LEVEL:g}% that held the truth, {times:,} repetitions of each setting",
        ["measure", "interval", "without caution", "worst setting", "share of rows", "all rows", "worst setting is"],
        rows,
        text_columns=2,
    )
    settings = {name: [asdict(setting) for setting in found] for name, found in result.settings.items()}
    return {"measures": result.rows(), "settings": settings, "repetitions": times, "seconds": result.seconds}


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%"
