"""``bosket audit``: what reports give away about the very records they were made from."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bosket.cli.inputs.attributes import add_table, check_table
from bosket.cli.inputs.files import STANDARD_INPUT, read_reports, say_reports
from bosket.cli.inputs.named import add_known
from bosket.cli.inputs.options import Commands, add_command, add_input, add_result, fraction, whole
from bosket.cli.inputs.raw import check_kind, read_raw
from bosket.cli.views.console import Work, say
from bosket.cli.views.results import check_result, is_table, parameters_of, write_result
from bosket.cli.views.tables import print_lines
from bosket.reporting.export import BREACHES
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    from bosket.audit import Breaches


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.usage = "%(prog)s [options] RAW REPORTS"
    command.add_argument(
        "raw",
        metavar="RAW",
        help="the file of raw baskets, or with --table of a raw table, that was randomized; '-' for standard input",
    )
    command.add_argument("reports", metavar="REPORTS", help="the file of reports made from it, in the same order")
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


def run(options: argparse.Namespace) -> None:
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
