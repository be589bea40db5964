"""``bosket randomize``: raw baskets in, reports out, with what they promise."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bosket.cli.console import Work, say
from bosket.cli.files import STANDARD_INPUT, check_output, read_raw, write_text
from bosket.cli.mechanisms import add_mechanism, check_mechanism, make_mechanism, settled
from bosket.cli.options import Commands, add_command, add_input, add_seed, whole
from bosket.errors import DataError
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    from bosket.data import Baskets
    from bosket.plan import Plan

_SET_BY_PLAN = ("items", "max_size", "longer", "write_plan")


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run, help="Randomize raw baskets into reports, and say what privacy that gives.")
    command.add_argument("baskets", metavar="BASKETS", help="a file of raw baskets; '-' for standard input")
    command.add_argument(
        "-o", "--output", type=Path, required=True, metavar="REPORTS", help="the .parquet file to write"
    )
    add_mechanism(command)
    command.add_argument(
        "--items", type=Path, metavar="FILE", help="the declared domain, a label a line (else the items that occur)"
    )
    command.add_argument(
        "--max-size", type=whole("max_size", 1), metavar="M", help="promise records of at most M items"
    )
    command.add_argument(
        "--longer",
        choices=("refuse", "sample"),
        help="records beyond --max-size, or beyond the sizes file: refuse them (default), or sample so many of their "
        "items first",
    )
    command.add_argument("--write-plan", type=Path, metavar="PLAN", help="also write the plan, as JSON")
    add_input(command)
    add_seed(command, default=None, help="for simulation only: the output then protects nobody")


def run(options: argparse.Namespace) -> None:
    _check(options)
    work = Work(options)
    with work.step(f"reading {options.baskets}"):
        baskets = read_raw(
            options.baskets,
            input_format=options.input_format,
            layout=options.layout,
            hint="Randomize raw baskets; mine reports with 'bosket mine'.",
        )
    plan = _plan(options, baskets)
    if plan.mechanism.needs_curator:
        say("note: this mechanism needs a curator who sees raw records: people cannot randomize their own.")
    rng = None
    if options.seed is not None:
        from bosket.randomness import Seeded

        rng = Seeded(options.seed)
        say(f"warning: --seed {options.seed} makes this a simulation: the output protects nobody.")
    with work.step("randomizing"):
        reports = plan.randomize(baskets, rng=rng)
    _say_sampled(baskets, plan)
    if options.write_plan is not None:
        write_text(plan.json, options.write_plan)
        say(f"wrote the plan {plan.digest[:12]} to {options.write_plan}")
    with work.step(f"writing {options.output}"):
        reports.write(options.output)
    reports_and_items = f"{count_text(reports.n_records, 'report')} over {count_text(len(plan.domain), 'item')}"
    say(f"wrote {reports_and_items} to {options.output}")
    say(plan.guarantee.card())


def _check(options: argparse.Namespace) -> None:
    """Options that make no sense together, and files that could not be written."""
    check_mechanism(options)
    if options.plan is not None:
        for name in _SET_BY_PLAN:
            if getattr(options, name) is not None:
                raise settled(name, options)
    inputs = [options.keep_file, options.sizes_file, options.plan, options.items]
    if options.baskets != STANDARD_INPUT:
        inputs.append(options.baskets)
    check_output(options.output, suffixes=(".parquet",), inputs=inputs)
    if options.write_plan is not None:
        check_output(options.write_plan, suffixes=(".json",), inputs=inputs)


def _plan(options: argparse.Namespace, baskets: Baskets) -> Plan:
    from bosket.cli.plans import read_items, read_plan
    from bosket.plan import Plan, PrivacyUnit

    if options.plan is not None:
        return read_plan(options.plan)
    if options.items is None:
        say("note: the domain is the items that occur, so the plan tells which do; --items declares it beforehand.")
        domain = baskets.domain
    else:
        domain = read_items(options.items, like=baskets.domain)
    if not len(domain):
        raise DataError(
            "There are no items to randomize: all records are empty.", hint="Declare the domain with --items."
        )
    unit = PrivacyUnit(max_size=options.max_size, longer=options.longer or "refuse")
    return Plan(domain, make_mechanism(options, domain), unit)


def _say_sampled(baskets: Baskets, plan: Plan) -> None:
    """How many records were too long: a count of raw data, for this side alone."""
    limit = plan.max_size
    if plan.unit.longer == "sample" and limit is not None:
        sampled = count_text(int((baskets.sizes > limit).sum()), "record")
        say(
            f"sampled {sampled} of more than {count_text(limit, 'item')} down to {limit}; "
            "that number is about raw data, and is not in the file"
        )
