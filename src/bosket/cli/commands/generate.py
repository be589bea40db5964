"""``bosket generate``: the synthetic baskets of the papers."""

from __future__ import annotations

import argparse
from pathlib import Path

from bosket.cli.inputs.files import check_output
from bosket.cli.inputs.options import Commands, add_command, add_seed, inside, whole
from bosket.cli.views.console import Work, say


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.add_argument("output", type=Path, metavar="OUT", help="a .dat, .csv or .parquet file, each also with .gz")
    command.add_argument("--records", type=whole("records", 1), default=100_000, metavar="N", help="default 100,000")
    command.add_argument(
        "--mean-size",
        type=inside("mean_size", 0, 1e9),
        default=10.0,
        metavar="T",
        help="items in a record (default 10)",
    )
    command.add_argument(
        "--mean-pattern",
        type=inside("mean_pattern", 0, 1e9),
        default=4.0,
        metavar="I",
        help="items in a pattern (default 4)",
    )
    command.add_argument("--items", type=whole("items", 1), default=1000, metavar="N", help="default 1000")
    command.add_argument("--patterns", type=whole("patterns", 1), default=2000, metavar="L", help="default 2000")
    add_seed(command, default=7, help="the same seed gives the same baskets (default 7)")


def run(options: argparse.Namespace) -> None:
    from bosket.data import quest
    from bosket.data.formats.basket_files import FORMATS

    check_output(options.output, suffixes=[suffix + end for suffix in FORMATS for end in ("", ".gz")])
    work = Work(options)
    with work.levels("generating") as on_progress:
        baskets = quest(
            records=options.records,
            mean_size=options.mean_size,
            mean_pattern=options.mean_pattern,
            items=options.items,
            patterns=options.patterns,
            seed=options.seed,
            on_progress=on_progress,
        )
    with work.step(f"writing {options.output}"):
        baskets.write(options.output)
    say(
        f"wrote {baskets.n_records:,} records over {baskets.n_items:,} items to {options.output} "
        f"(Quest T{options.mean_size:g}.I{options.mean_pattern:g}, {options.patterns:,} patterns, seed {options.seed})"
    )
