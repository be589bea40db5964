"""``bosket bench``: ratios against peers and the machine's limit, one JSON out."""

from __future__ import annotations

import argparse
from pathlib import Path

from bosket.checks import check_choice
from bosket.cli.inputs.files import check_output, make_directory, write_json
from bosket.cli.inputs.options import Commands, add_command
from bosket.cli.views.console import Work, say
from bosket.cli.views.tables import print_table


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.add_argument(
        "--output", type=Path, default=Path("out/bench.json"), metavar="FILE", help="the JSON to write"
    )
    command.add_argument("--data", type=Path, metavar="DIR", help="directory of the benchmark files")
    command.add_argument("--only", nargs="+", default=[], metavar="NAME", help="run only these benchmarks")


def run(options: argparse.Namespace) -> None:
    from bosket.research.benchmarks import BENCHMARKS
    from bosket.research.benchmarks import run as measure

    for name in options.only:
        check_choice("only", name, BENCHMARKS)
    make_directory(options.output.parent)
    check_output(options.output, suffixes=(".json",))
    with Work(options).step("measuring"):
        result = measure(only=options.only, data=options.data, tell=say)
    write_json(result, options.output)
    rows = [[bar["name"], "yes" if bar["holds"] else "no", f"{bar['ratio']:.3f}", bar["bar"]] for bar in result["bars"]]
    print_table("Benchmarks", ["what", "holds", "ratio", "bar"], rows, text_columns=2)
    say(f"wrote {options.output}")
