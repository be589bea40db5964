"""``bosket ask``: make a design, and show what it will see before anybody answers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bosket.cli.inputs.attributes import add_reading, check_schema, declared_domain
from bosket.cli.inputs.files import STANDARD_INPUT, check_output, write_text
from bosket.cli.inputs.options import (
    Commands,
    above,
    add_command,
    add_max_bytes,
    clash,
    fraction,
    option,
    share,
    whole,
)  # fmt: skip
from bosket.cli.views.console import Work, say
from bosket.cli.views.designs import design_text, show_design
from bosket.errors import ParameterError
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    from bosket.data import TableDomain
    from bosket.mechanisms import Ask, Design
    from bosket.reports import Reports
    from bosket.tally import Tally

_READING = ("columns", "bins", "values", "missing", "schema", "input_format")
_EXAMPLES = """examples:
  bosket ask --schema people.json --pairs --prior 5% --posterior 30% --people 21000 -o design.json
  bosket ask --values sex=Female,Male --bins age=15,35,55 --pairs --gamma 19
  bosket ask people.csv --covering 4 --times 2 --gamma 19
  bosket ask --refine first.parquet --people 18000 --min-support 0.02 -o second.json
"""


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.usage = "%(prog)s [options] [TABLE] --pairs (or another design) --gamma G [-o DESIGN]"
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = _EXAMPLES
    command.add_argument(
        "raw",
        nargs="?",
        metavar="TABLE",
        help="a raw table, of which the attributes are taken and nothing else; not needed where the options below "
        "declare all of them",
    )
    command.add_argument("-o", "--output", type=Path, metavar="DESIGN", help="the .json file to write")
    _add_designs(command)
    _add_goals(command)
    group = command.add_argument_group("attributes", "what people have one value each of; lists are parted by commas")
    add_reading(group)
    group.add_argument("--input-format", choices=("csv", "parquet"), help="of the table (by default the suffix)")
    add_max_bytes(command)
    command.set_defaults(mechanism=None, allow_duplicates=False)


def _add_designs(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("what is asked", "one of these down to --pilot")
    how = group.add_mutually_exclusive_group(required=True)
    how.add_argument("--pairs", action="store_true", help="every pair of attributes, all equally often")
    how.add_argument("--triples", action="store_true", help="every three attributes, all equally often")
    how.add_argument("--size", type=whole("size", 1), metavar="K", help="every K attributes, all equally often")
    how.add_argument(
        "--covering",
        type=whole("covering", 1),
        metavar="SIZE",
        help="few questions about SIZE attributes each, so that every pair is asked about --times times or more",
    )
    how.add_argument(
        "--refine",
        nargs="+",
        metavar="REPORTS",
        help="the best questions for the people to come, by the answers of the first ones; 'bosket mine' reads both "
        "together",
    )
    how.add_argument(
        "--pilot",
        metavar="TABLE",
        help="the best questions by a raw table of other people, which the design does not protect",
    )
    group.add_argument("--times", type=whole("times", 1), metavar="T", help="with --covering (default 1)")
    group.add_argument(
        "--min-support",
        type=fraction("min_support"),
        metavar="S",
        help="with --refine or --pilot: supports that matter",
    )


def _add_goals(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("how it is answered", "--gamma, or --prior and --posterior")
    group.add_argument(
        "--gamma",
        type=above("gamma", 1),
        metavar="G",
        help="how many times as likely the true answer is as any given other",
    )
    group.add_argument(
        "--prior",
        type=share("prior"),
        metavar="P",
        help="a property of a record that somebody believes with P, as in 5%%",
    )
    group.add_argument(
        "--posterior", type=share("posterior"), metavar="P", help="with --prior: must stay below P, as in 30%%"
    )
    group.add_argument(
        "--people", type=whole("people", 1), metavar="N", help="how many will answer; of --refine, how many are to come"
    )


def run(options: argparse.Namespace) -> None:
    _check(options)
    work = Work(options)
    if options.refine is not None:
        design, domain, gamma = _refined(options, work)
    else:
        gamma = _gamma(options)
        design, domain = _made(options, gamma, work)
    from bosket.planning import preview

    found = preview(design, domain, gamma=gamma)
    show_design(design, found, prior=0.05 if options.prior is None else options.prior, people=options.people)
    if options.output is None:
        say("note: nothing was written; -o FILE keeps the design")
        return
    write_text(design_text(design), options.output)
    say(f"wrote {design} to {options.output}")
    written = repr(gamma).removesuffix(".0")  # the very gamma, so that the plan is the same wherever it is made
    say(f"next: bosket randomize RAW --table ... --design {options.output} --gamma {written} -o REPORTS")


def _check(options: argparse.Namespace) -> None:
    """Options that make no sense together, and a file that could not be written."""
    check_schema(options)
    if options.times is not None and options.covering is None:
        raise clash("times", "come with --covering", options)
    _check_goals(options)
    by_answers = "refine" if options.refine is not None else "pilot" if options.pilot is not None else None
    if by_answers is None and options.min_support is not None:
        raise clash("min_support", "come with --refine or --pilot", options)
    for name in ("people", "min_support") if by_answers is not None else ():
        if getattr(options, name) is None:
            raise clash(by_answers or "", f"come with {option(name)}", options)
    if by_answers is not None and options.raw is not None:
        raise ParameterError(
            f"The TABLE must not come with --{by_answers}, which says what the attributes are.",
            parameter="raw",
            value=options.raw,
        )
    for name in _READING if options.refine is not None else ():
        if getattr(options, name) is not None:
            raise clash(name, "not come with --refine: reports say what they are of", options)
    if options.output is not None:
        inputs = [options.schema, options.pilot, *(options.refine or [])]
        inputs += [options.raw] if options.raw != STANDARD_INPUT else []
        check_output(options.output, suffixes=(".json",), inputs=inputs)


def _check_goals(options: argparse.Namespace) -> None:
    for name, other in (("prior", "posterior"), ("posterior", "prior")):
        if getattr(options, name) is not None:
            if options.refine is not None:
                raise clash(name, "not come with --refine: the plan of the reports settles gamma", options)
            if options.gamma is not None:
                raise clash(name, "not come with --gamma", options)
            if getattr(options, other) is None:
                raise clash(name, f"come with {option(other)}", options)
    if options.refine is not None and options.gamma is not None:
        raise clash("gamma", "not come with --refine: the plan of the reports settles it", options)
    if options.refine is None and options.gamma is None and options.prior is None:
        raise ParameterError(
            "The '--gamma' option must be given, or --prior and --posterior.",
            parameter="gamma",
            value=None,
            hint="--prior 5% --posterior 30% keeps a property that had 5% below 30%; --gamma 19 keeps it below 50%.",
        )


def _gamma(options: argparse.Namespace) -> float:
    from bosket.planning import gamma_from

    gamma: float = options.gamma or gamma_from(options.prior, options.posterior)
    return gamma


def _made(options: argparse.Namespace, gamma: float, work: Work) -> tuple[Design, TableDomain]:
    """The design of these options, by the attributes alone or by a pilot."""
    from bosket.cli.inputs.raw import read_table
    from bosket.mechanisms import Design

    if options.pilot is not None:
        with work.step(f"reading {options.pilot}"):
            pilot = read_table(options.pilot, options)
        say(
            f"note: the design is made by {count_text(pilot.n_records, 'raw record')}, and tells which combinations "
            "are rare among them: the pilot must be public, or of people who agreed to that"
        )
        with work.step("choosing questions"):
            best = Design.optimal(pilot, gamma=gamma, people=options.people, min_support=options.min_support)
        return best, pilot.domain
    domain = _attributes(options, work)
    if options.covering is not None:
        times = 1 if options.times is None else options.times
        return Design.covering(domain, size=options.covering, times=times), domain
    return Design.of_size(domain, 2 if options.pairs else 3 if options.triples else options.size), domain


def _attributes(options: argparse.Namespace, work: Work) -> TableDomain:
    """What the options declare; of a table that is needed for the rest, the attributes and nothing else."""
    from bosket.cli.inputs.raw import read_table

    domain = declared_domain(options)
    if domain is not None:
        return domain
    if options.raw is None:
        raise ParameterError(
            "There must be a TABLE, or declared values or bins of every column.",
            parameter="raw",
            value=None,
            hint="Say --values or --bins of each, or name a --schema file that has them.",
        )
    with work.step(f"reading {options.raw}"):
        domain = read_table(options.raw, options).domain
    if not domain.is_declared:
        say(
            "note: some attributes have the values that occur, so that what is shown here, and a plan made so, tell "
            "which do; --values, --bins or --schema declare them beforehand."
        )
    return domain


def _refined(options: argparse.Namespace, work: Work) -> tuple[Design, TableDomain, float]:
    """The design for those who come after the senders of the reports."""
    from bosket.cli.inputs.raw import read_phases
    from bosket.data import TableDomain

    with work.step("reading the answers"):
        phases = read_phases(options.refine, options)
    reports: Reports | Tally = phases[-1]
    mechanism = _ask_of(reports, options)
    if len(phases) > 1:
        raise clash("refine", "name answers of one plan", options)
    with work.step("choosing questions"):
        best = mechanism.design.refine(reports, people=options.people, min_support=options.min_support)
    say(
        f"note: the design follows the answers of plan {reports.plan.digest[:12]}; 'bosket mine' takes the files of "
        "both phases. What is shown is of the second alone."
    )
    assert isinstance(reports.domain, TableDomain)
    return best, reports.domain, mechanism.gamma


def _ask_of(reports: Reports | Tally, options: argparse.Namespace) -> Ask:
    from bosket.mechanisms import Ask

    mechanism = reports.plan.mechanism
    if not isinstance(mechanism, Ask):
        raise clash("refine", f"name answers to questions; these reports are of {mechanism}", options)
    return mechanism
