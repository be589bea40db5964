"""``bosket audit``: does a client follow its plan, could reports be honest, and what do they give away?

With a plan, a client is run; with reports, the file is looked at; with raw records too, breaches are counted.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket.cli.inputs.attributes import add_table, check_table
from bosket.cli.inputs.files import STANDARD_INPUT, check_output, read_reports, say_reports
from bosket.cli.inputs.named import add_known, imported
from bosket.cli.inputs.options import (
    Commands,
    add_command,
    add_input,
    add_report,
    add_result,
    add_seed,
    clash,
    fraction,
    inside,
    whole,
)
from bosket.cli.inputs.raw import check_kind, read_raw
from bosket.cli.views.console import Work, say
from bosket.cli.views.results import check_result, is_table, parameters_of, write_result
from bosket.cli.views.tables import print_lines
from bosket.cli.views.verdicts import show_verdict
from bosket.errors import ParameterError
from bosket.reporting.export import BREACHES
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    from bosket.audit import Breaches, Verdict
    from bosket.randomness import Randomness

_EXAMPLES = """examples:
  bosket audit --plan plan.json                              (does this library's client follow the plan?)
  bosket audit --plan plan.json --command "node client.mjs"  (does that program? records go in, reports come out)
  bosket audit reports.parquet --report audit.html           (could these reports have come from honest people?)
  bosket audit raw.dat reports.parquet                       (how surely do reports tell what is in the records?)
"""
_OF_CLIENTS = ("client", "command", "trials", "studies", "people", "seed")
_TRIALS, _STUDIES, _FAILURE = 40_000, 200, 1e-6


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.usage = "%(prog)s [options] [RAW] REPORTS, or --plan PLAN"
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = _EXAMPLES
    command.add_argument(
        "raw",
        metavar="RAW",
        nargs="?",
        help="the file of raw baskets, or with --table of a raw table, that was randomized; '-' for standard input",
    )
    command.add_argument(
        "reports",
        metavar="REPORTS",
        nargs="?",
        help="a file of reports; after RAW that made from it, in the same order",
    )
    _add_clients(command)
    command.add_argument(
        "--min-support",
        type=fraction("min_support"),
        default=0.002,
        metavar="S",
        help="look at itemsets of at least this support in the raw records (default 0.002)",
    )
    command.add_argument(
        "--max-size",
        type=whole("max_size", 1),
        metavar="K",
        help="look no further than itemsets of K items (default that of the longest record, at most 10)",
    )
    command.add_argument(
        "--min-reports",
        type=whole("min_reports", 1),
        default=30,
        metavar="N",
        help="leave out itemsets that fewer reports of a record size hold (default 30)",
    )
    command.add_argument(
        "--top",
        type=whole("top", 1),
        default=10,
        metavar="N",
        help="of a size without frequent itemsets take the N commonest (default 10)",
    )
    add_known(command)
    add_input(command)
    add_result(command)
    add_table(command)


def _add_clients(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("clients and files of reports", "with --plan, or with REPORTS alone")
    group.add_argument(
        "--plan", type=Path, metavar="PLAN", help="the plan, as JSON, that clients and reports must follow"
    )
    one = group.add_mutually_exclusive_group()
    one.add_argument(
        "--client", metavar="MODULE:FUNCTION", help="a function from a record to the bytes of its report (default ours)"
    )
    one.add_argument(
        "--command", metavar="WORDS", help="a program: a record a line, as JSON; a report a line, in hexadecimal digits"
    )
    group.add_argument(
        "--trials", type=whole("trials", 100), metavar="N", help=f"reports of each record (default {_TRIALS})"
    )
    group.add_argument(
        "--studies",
        type=whole("studies", 0),
        metavar="N",
        help=f"simulated studies by which estimates are tested (default {_STUDIES}; 0 for none)",
    )
    group.add_argument(
        "--people",
        type=whole("people", 100),
        metavar="N",
        help="how many are asked in a simulated study (default 4000, or 50 for each question)",
    )
    group.add_argument(
        "--failure",
        type=inside("failure", 0, 1),
        metavar="P",
        help=f"convict the honest with this probability at most, in each part of the audit (default {_FAILURE:g})",
    )
    add_report(command)
    add_seed(command, default=None, help="with --plan: the chance of our own client and of studies, to repeat an audit")


def run(options: argparse.Namespace) -> None:
    if options.reports is None:
        options.raw, options.reports = None, options.raw
    if options.raw is None:
        _check_verdict(options)
        show_verdict(_of_plan(options) if options.reports is None else _of_file(options), options)
        return
    for name in ("plan", *_OF_CLIENTS, "failure", "report"):
        if getattr(options, name) is not None:
            raise clash(name, "not come with raw records", options)
    check_table(options)
    inputs = [options.reports] if options.raw == STANDARD_INPUT else [options.raw, options.reports]
    inputs += [] if options.schema is None else [options.schema]
    check_result(options, BREACHES, inputs=inputs)
    found = _breaches(options, Work(options))
    say("note: this is counted in raw data and is not private: keep it with whoever holds them.")
    if is_table(options):
        print_lines(str(found))
    else:
        write_result(found.table, BREACHES, options)
        pairs = count_text(found.left_out, "pair")
        say(f"left out {pairs} of record size and itemset with fewer than {options.min_reports} reports")


def _check_verdict(options: argparse.Namespace) -> None:
    """Options that make no sense together, and files that could not be written."""
    if options.plan is None and options.reports is None:
        raise ParameterError(
            "There must be a plan, or a file of reports, to audit.",
            parameter="plan",
            value=None,
            hint="bosket audit --plan plan.json, or bosket audit reports.parquet",
        )
    if options.reports is not None:
        for name in _OF_CLIENTS:
            if getattr(options, name) is not None:
                raise clash(name, "come with --plan alone", options)
        if not str(options.reports).endswith(".parquet"):
            raise ParameterError(
                f"The file of reports must end in .parquet, got '{options.reports}'.",
                parameter="reports",
                value=options.reports,
                hint="bosket audit RAW REPORTS takes raw records first, then the reports made from them.",
            )
    if options.format == "csv":
        raise clash("format", "be table or json where there are no raw records", options)
    inputs = [options.plan, options.reports]
    if options.output is not None:
        check_output(options.output, suffixes=(".json",), inputs=inputs)
    if options.report is not None:
        check_output(options.report, suffixes=(".html",), inputs=[*inputs, options.output])


def _of_file(options: argparse.Namespace) -> Verdict:
    from bosket.audit import collected
    from bosket.cli.inputs.plans import read_plan

    plan = None if options.plan is None else read_plan(options.plan, max_bytes=options.max_bytes)
    with Work(options).step("auditing"):
        return collected(options.reports, plan=plan, failure=options.failure or _FAILURE, max_bytes=options.max_bytes)


def _of_plan(options: argparse.Namespace) -> Verdict:
    """A client, and where it is this library's, the estimator too."""
    from bosket.audit import Command, client, estimator
    from bosket.audit.verdicts import together
    from bosket.cli.inputs.plans import read_plan
    from bosket.randomness import Seeded

    plan = read_plan(options.plan, max_bytes=options.max_bytes)
    chance: Randomness | None = None if options.seed is None else Seeded(options.seed)
    who: Any = None
    if options.command is not None:
        who = Command(tuple(shlex.split(options.command)))
    elif options.client is not None:
        who = imported(options.client, "client")
    failure = options.failure or _FAILURE
    work = Work(options)
    with work.step("running the client"):
        parts = [client(plan, who, trials=options.trials or _TRIALS, failure=failure, rng=chance)]
    studies = _STUDIES if options.studies is None else options.studies
    if studies:
        with work.step("running studies"):
            parts.append(estimator(plan, options.people, studies=studies, failure=failure, rng=chance))
    return together(f"the study of {plan.mechanism}" if len(parts) > 1 else parts[0].subject, parts)


def _breaches(options: argparse.Namespace, work: Work) -> Breaches:
    from bosket.audit import breaches
    from bosket.data import Table

    with work.step(f"reading {options.reports}"):
        reports = read_reports(options.reports, options)
    check_kind(reports.domain, options, of=f"the reports in {options.reports} are of")
    with work.step(f"reading {options.raw}"):
        raw = read_raw(
            options.raw,
            options,
            hint="Name the raw records first, then the reports made from them.",
            domain=reports.domain,
        )
    say_reports(reports, options.reports)
    with work.step("auditing"):
        found = breaches(
            raw.to_baskets() if isinstance(raw, Table) else raw,
            reports,
            min_support=options.min_support,
            max_size=options.max_size,
            min_reports=options.min_reports,
            top=options.top,
        )
    found.about.update(
        max_size=options.max_size, top=options.top, left_out=found.left_out, parameters=parameters_of(reports)
    )
    return found
