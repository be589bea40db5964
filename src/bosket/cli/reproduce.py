"""``bosket reproduce``: the tables of the papers, run again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bosket.cli.console import Work, say
from bosket.cli.files import check_output, write_json
from bosket.cli.options import Commands, add_command, add_seed, not_negative, whole
from bosket.cli.tables import print_table


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run, help="Run the experiments of a paper again, beside its figures.")
    command.add_argument("paper", choices=("re",), help="re: Xia, Yang, Chi and Muntz 2004, Tables 2 and 3")
    command.add_argument("--data", type=Path, metavar="DIR", help="directory of the benchmark files")
    command.add_argument(
        "--records", type=whole("records", 1), default=1_000_000, metavar="N", help="default 1,000,000"
    )
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="also write the figures to a .json file")
    command.add_argument(
        "--slack", type=not_negative("slack"), default=0.0, metavar="X", help="default 0, which the paper seems to use"
    )
    add_seed(command, default=7, help="of baskets and coins (default 7); a simulation, which protects nobody")


def run(options: argparse.Namespace) -> None:
    if options.output is not None:
        check_output(options.output, suffixes=(".json",))
    from bosket.reproduce import re as paper

    with Work(options).step("reproducing RE"):
        result = paper.run(data=options.data, records=options.records, seed=options.seed, slack=options.slack, tell=say)
    for table in result["tables"]:
        _show(table, result["paper"][table["data"]])
    if result["missing"]:
        say(result["missing"])
    if options.output is not None:
        write_json(result, options.output)
        say(f"wrote {options.output}")


def _show(table: dict[str, Any], paper: dict[int, tuple[float | None, ...]]) -> None:
    """Ours, and the paper's figure in brackets."""
    settings = list(table["qualities"])
    rows = []
    for place, first in enumerate(table["qualities"][settings[0]]):
        size = first["size"]
        theirs = list(paper.get(size, ()))
        row = [str(size) if size else "all", _beside(first["true"], theirs[:1])]
        for at, setting in enumerate(settings):
            ours = table["qualities"][setting][place]
            names = ("false_positives", "false_negatives", "deviation")
            row += [_beside(ours[name], theirs[1 + 3 * at + k : 2 + 3 * at + k]) for k, name in enumerate(names)]
        rows.append(row)
    measures = [f"{setting} {name}" for setting in settings for name in ("FP", "FN", "DEV%")]
    title = f"{table['title']}; the paper's figures in brackets ({table['seconds']:.0f} s)"
    print_table(title, ["items", "true", *measures], rows, text_columns=0)


def _beside(ours: float | None, theirs: list[float | None]) -> str:
    return _figure(ours) + (f" ({_figure(theirs[0])})" if theirs else "")


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
