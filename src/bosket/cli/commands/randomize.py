"""``bosket randomize``: raw records in, reports out, with what they promise."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bosket.cli.inputs.attributes import add_table, check_table
from bosket.cli.inputs.files import STANDARD_INPUT, check_output, domain_text, write_text
from bosket.cli.inputs.mechanisms import add_mechanism, check_mechanism, make_mechanism, mechanism_files, settled
from bosket.cli.inputs.named import check_made_by
from bosket.cli.inputs.options import Commands, add_command, add_input, add_seed, clash, positive, whole
from bosket.cli.inputs.raw import check_kind, check_respondent, read_raw, read_respondents
from bosket.cli.views.console import Work, say, say_lines
from bosket.errors import DataError
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    from bosket.data import Domain
    from bosket.mechanisms.base import Records
    from bosket.plan import Plan

_UNIT = ("max_size", "longer", "state_sizes_to", "size_epsilon")
_SET_BY_PLAN = ("items", *_UNIT, "write_plan")
_OF_BASKETS = ("items", *_UNIT)


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.usage = "%(prog)s [options] RAW -o REPORTS --keep P (or another way to randomize)"
    command.add_argument(
        "raw", metavar="RAW", help="a file of raw baskets, or with --table of a raw table; '-' for standard input"
    )
    command.add_argument(
        "-o", "--output", type=Path, required=True, metavar="REPORTS", help="the .parquet file to write"
    )
    command.add_argument("--write-plan", type=Path, metavar="PLAN", help="also write the plan, as JSON")
    add_seed(command, default=None, help="for simulation only: the output then protects nobody")
    add_input(command)
    add_mechanism(command)
    group = command.add_argument_group("baskets", "raw records that are sets of items")
    group.add_argument(
        "--items", type=Path, metavar="FILE", help="the declared domain, a label a line (else the items that occur)"
    )
    group.add_argument("--max-size", type=whole("max_size", 1), metavar="M", help="promise records of at most M items")
    group.add_argument(
        "--longer",
        choices=("refuse", "sample"),
        help="records beyond --max-size, or beyond the sizes file: refuse them (default), or sample so many of their "
        "items first; supports are then of records as sampled, unless --state-sizes-to is given",
    )
    group.add_argument(
        "--state-sizes-to",
        type=whole("state_sizes_to", 2),
        metavar="L",
        help="with --longer sample: reports state the size of a sampled record, in the clear, so that supports are of "
        "whole records; those of more than L items are refused",
    )
    group.add_argument(
        "--size-epsilon",
        type=positive("size_epsilon"),
        metavar="E",
        help="randomize that size first, with this epsilon, which adds to that of the record",
    )
    add_table(command)
    command.add_argument(
        "--respondent",
        metavar="COLUMN",
        help="with --table: the column of a token for each person, which goes into the reports in the clear, so that "
        "nobody is counted more often than the plan allows",
    )


def run(options: argparse.Namespace) -> None:
    from bosket.respondents import naming

    _check(options)
    work = Work(options)
    settled_plan = _read_plan(options)
    domain = _declared(options) if settled_plan is None else settled_plan.domain
    check_respondent(options, domain)
    with work.step(f"reading {options.raw}"):
        hint = "Randomize raw records; mine reports with 'bosket mine'."
        raw = read_raw(options.raw, options, hint=hint, domain=domain)
        people = read_respondents(options.raw, options)
    plan = settled_plan or _make_plan(options, raw)
    promise = plan.guarantee.among(max(1, raw.n_records))
    card = (promise if people is None else naming(promise)).card()  # before anything is written: nothing goes without
    if plan.mechanism.needs_curator:
        say("note: this mechanism needs a curator who sees raw records: people cannot randomize their own.")
    rng = None
    if options.seed is not None:
        from bosket.randomness import Seeded

        rng = Seeded(options.seed)
        say(f"warning: --seed {options.seed} makes this a simulation: the output protects nobody.")
    with work.step("randomizing"):
        reports = plan.randomize(raw, rng=rng, respondents=people)
    _say_sampled(raw, plan)
    if options.write_plan is not None:
        write_text(plan.json, options.write_plan)
        say(f"wrote the plan {plan.digest[:12]} to {options.write_plan}")
    with work.step(f"writing {options.output}"):
        reports.write(options.output)
    say(f"wrote {count_text(reports.n_records, 'report')} over {domain_text(plan.domain)} to {options.output}")
    say_lines(card)


def _check(options: argparse.Namespace) -> None:
    """Options that make no sense together, and files that could not be written."""
    check_table(options)
    check_mechanism(options)
    if options.table:
        for name in _OF_BASKETS:
            if getattr(options, name) is not None:
                raise clash(name, "not come with --table: it is for baskets", options)
    if options.plan is not None:
        for name in _SET_BY_PLAN:
            if getattr(options, name) is not None:
                raise settled(name, options)
    inputs = [*mechanism_files(options), options.plan, options.items, options.schema]
    if options.raw != STANDARD_INPUT:
        inputs.append(options.raw)
    check_output(options.output, suffixes=(".parquet",), inputs=inputs)
    if options.write_plan is not None:
        check_output(options.write_plan, suffixes=(".json",), inputs=inputs)


def _read_plan(options: argparse.Namespace) -> Plan | None:
    """The plan that was written before, if there is one; it settles how a table is read."""
    from bosket.cli.inputs.plans import read_plan

    if options.plan is None:
        return None
    plan = read_plan(options.plan, max_bytes=options.max_bytes)
    check_made_by(plan.mechanism, options, of=f"The plan in {options.plan} is for reports")
    check_kind(plan.domain, options, of=f"the plan in {options.plan} is for")
    return plan


def _declared(options: argparse.Namespace) -> Domain | None:
    """The domain in the items file, if there is one; it settles what the items of the baskets are."""
    from bosket.cli.inputs.plans import read_items

    return None if options.items is None else read_items(options.items, max_bytes=options.max_bytes)


def _make_plan(options: argparse.Namespace, raw: Records) -> Plan:
    from bosket.plan import Plan, unit_for

    domain = raw.domain
    if options.table and not domain.is_declared:
        say(
            "note: some attributes have the values that occur, so the plan tells which do; --values, --bins or "
            "--schema declare them beforehand."
        )
    elif not options.table and options.items is None:
        say("note: the domain is the items that occur, so the plan tells which do; --items declares it beforehand.")
    if not len(domain):
        raise DataError(
            "There are no items to randomize: all records are empty.", hint="Declare the domain with --items."
        )
    mechanism = make_mechanism(options, domain)
    unit = unit_for(
        mechanism,
        domain,
        raw,
        max_size=options.max_size,
        longer=options.longer or "refuse",
        state_sizes_to=options.state_sizes_to,
        size_epsilon=options.size_epsilon,
    )
    if not unit.is_declared:
        say(
            f"note: reports state the size of their record; the largest, {count_text(unit.max_size or 0, 'item')}, was "
            "read off the data: --max-size declares it beforehand."
        )
    return Plan(domain, mechanism, unit)


def _say_sampled(raw: Records, plan: Plan) -> None:
    """How many records were too long: a count of raw data, for this side alone."""
    limit = plan.max_size
    if plan.unit.longer == "sample" and limit is not None:
        sampled = count_text(int((raw.sizes > limit).sum()), "record")
        say(
            f"sampled {sampled} of more than {count_text(limit, 'item')} down to {limit}; "
            "that number is about raw data, and is not in the file"
        )
