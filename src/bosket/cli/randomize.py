"""``bosket randomize``: raw baskets in, reports out, with what they promise."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bosket.cli.console import Work, say
from bosket.cli.files import STANDARD_INPUT, check_output, read_baskets, write_text
from bosket.cli.options import Commands, add_command, add_input, add_seed, probability, whole
from bosket.errors import DataError, ParameterError
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    from bosket.data import Baskets, Domain
    from bosket.mechanisms import Flip
    from bosket.plan import Plan

_SET_BY_PLAN = ("keep_absent", "default", "items", "max_size")


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run, help="Randomize raw baskets into reports, and say what privacy that gives.")
    command.add_argument("baskets", metavar="BASKETS", help="a file of raw baskets; '-' for standard input")
    command.add_argument(
        "-o", "--output", type=Path, required=True, metavar="REPORTS", help="the .parquet file to write"
    )
    how = command.add_mutually_exclusive_group(required=True)
    how.add_argument("--keep", type=probability("keep"), metavar="P", help="probability that a present item stays")
    how.add_argument(
        "--keep-file",
        type=Path,
        metavar="FILE",
        help="a keep for each item: CSV with columns item,keep[,keep_absent], or JSON",
    )
    how.add_argument("--plan", type=Path, metavar="PLAN", help="everything from a plan that was written before")
    command.add_argument(
        "--keep-absent",
        type=probability("keep_absent"),
        metavar="Q",
        help="probability that an absent item stays absent",
    )
    command.add_argument(
        "--default", type=probability("default"), metavar="P", help="the keep of items that the keep file leaves out"
    )
    command.add_argument(
        "--items", type=Path, metavar="FILE", help="the declared domain, a label a line (else the items that occur)"
    )
    command.add_argument(
        "--max-size", type=whole("max_size", 1), metavar="M", help="promise, and refuse, records beyond M items"
    )
    command.add_argument("--write-plan", type=Path, metavar="PLAN", help="also write the plan, as JSON")
    add_input(command)
    add_seed(command, default=None, help="for simulation only: the output then protects nobody")


def run(options: argparse.Namespace) -> None:
    _check(options)
    work = Work(options)
    with work.step(f"reading {options.baskets}"):
        baskets = _read(options)
    plan = _plan(options, baskets)
    rng = None
    if options.seed is not None:
        from bosket.randomness import Seeded

        rng = Seeded(options.seed)
        say(f"warning: --seed {options.seed} makes this a simulation: the output protects nobody.")
    with work.step("randomizing"):
        reports = plan.randomize(baskets, rng=rng)
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
    if options.plan is not None:
        for name in (*_SET_BY_PLAN, "write_plan"):
            if getattr(options, name) is not None:
                raise _clash(name, "not come with --plan, which settles it", options)
    if options.default is not None and options.keep_file is None:
        raise _clash("default", "come with --keep-file", options)
    inputs = [options.keep_file, options.plan, options.items]
    if options.baskets != STANDARD_INPUT:
        inputs.append(options.baskets)
    check_output(options.output, suffixes=(".parquet",), inputs=inputs)
    if options.write_plan is not None:
        check_output(options.write_plan, suffixes=(".json",), inputs=inputs)


def _clash(name: str, must: str, options: argparse.Namespace) -> ParameterError:
    option = "--" + name.replace("_", "-")
    return ParameterError(f"The '{option}' option must {must}.", parameter=name, value=getattr(options, name))


def _read(options: argparse.Namespace) -> Baskets:
    from bosket.reports import is_report_file

    if options.baskets != STANDARD_INPUT and is_report_file(options.baskets):
        raise DataError(
            f"The file {options.baskets} holds reports, which are randomized already.",
            path=options.baskets,
            hint="Randomize raw baskets; mine reports with 'bosket mine'.",
        )
    return read_baskets(options.baskets, input_format=options.input_format, layout=options.layout)


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
    return Plan(domain, _mechanism(options, domain), PrivacyUnit(max_size=options.max_size))


def _mechanism(options: argparse.Namespace, domain: Domain) -> Flip:
    from bosket.cli.plans import read_keep
    from bosket.mechanisms import Flip

    if options.keep_file is None:
        return Flip(keep=options.keep, keep_absent=options.keep_absent)
    return read_keep(options.keep_file, domain, keep_absent=options.keep_absent, default=options.default)
