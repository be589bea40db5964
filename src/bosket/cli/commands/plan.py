"""``bosket plan``: which mechanism, which parameters, what will be seen, before anybody is asked."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bosket.cli.inputs.attributes import add_reading, check_schema, declared_domain
from bosket.cli.inputs.files import check_output, read_baskets, write_text
from bosket.cli.inputs.options import (
    Commands,
    above,
    add_command,
    add_input,
    add_report,
    clash,
    fraction,
    option,
    positive,
    share,
    whole,
)  # fmt: skip
from bosket.cli.inputs.plans import read_classes
from bosket.cli.inputs.study_questions import ask_about_study
from bosket.cli.views.console import Work, say
from bosket.cli.views.plans import print_json, ranking_page, show_mistakes, show_other_way, show_ranking, wanted_text
from bosket.errors import ParameterError

if TYPE_CHECKING:
    from bosket.data import Baskets, Domain
    from bosket.planning import Goal, Ranking, Study

_READING = ("columns", "bins", "values", "missing", "schema")
_EXAMPLES = """examples:
  bosket plan --questions 16 --people 21000 --prior 5% --posterior 30% --pairs -o plan.json
  bosket plan --items 500 --mean-size 6 --people 50000 --epsilon 3 --pairs --min-support 0.02
  bosket plan --schema people.json --people 21000 --gamma 19 --report plan.html
  bosket plan --questions 16 --people 21000 --stderr 0.02         (which promise that allows)
  bosket plan --questions 16 --people 21000 --gamma 19 --stderr 0.01   (how many people that takes)
  bosket plan --pilot public.dat --people 50000 --epsilon 3 --min-support 0.02   (sizes and items of a public file)
  bosket plan --pilot public.dat --people 50000 --breach 50%      (no shown item is had by more than half)
  bosket plan --pilot public.dat --people 50000 --epsilon 8 --classes classes.csv   (item,epsilon: some hidden better)
  bosket plan                                                     (asks five questions)
"""


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.usage = "%(prog)s [options] --questions N (or --items N, or attributes) --people N --gamma G"
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = _EXAMPLES
    _add_goal(command)
    _add_study(command)
    command.add_argument("--format", choices=("table", "json"), help="format on standard output (default table)")
    command.add_argument("-o", "--output", type=Path, metavar="PLAN", help="write the plan that wins to a .json file")
    add_report(command)
    group = command.add_argument_group("attributes", "instead of --questions; lists are parted by commas")
    add_reading(group)
    add_input(command)
    command.set_defaults(raw=None)


def _add_goal(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("what is promised", "one of the first two, or --prior and --posterior")
    group.add_argument("--gamma", type=above("gamma", 1), metavar="G", help="the most that a report multiplies odds")
    group.add_argument("--epsilon", type=positive("epsilon"), metavar="E", help="ln of that")
    group.add_argument("--prior", type=share("prior"), metavar="P", help="what somebody believes with P, as in 5%%")
    group.add_argument("--posterior", type=share("posterior"), metavar="P", help="must stay below P, as in 30%%")
    group.add_argument(
        "--breach",
        type=share("breach"),
        metavar="P",
        help="instead, with --pilot: below P of the reports that show an item are of people who have it, as in 50%%",
    )
    group.add_argument(
        "--classes",
        type=Path,
        metavar="FILE",
        help="items that must be hidden better, with --items or --pilot: CSV with columns item,epsilon",
    )
    group.add_argument(
        "--unit",
        choices=("record", "item"),
        default="record",
        help="between any two records (default), or two that differ in one item or attribute alone",
    )
    group.add_argument(
        "--stderr",
        type=positive("stderr"),
        metavar="E",
        help="the other way round: the promise that this error allows; with a promise, the people that it takes",
    )


def _add_study(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("what is asked, and whom")
    group.add_argument("--people", type=whole("people", 1), metavar="N", help="how many will answer")
    group.add_argument("--questions", type=whole("questions", 1), metavar="N", help="so many yes/no questions")
    group.add_argument("--items", type=whole("items", 2), metavar="N", help="baskets of so many different items")
    group.add_argument(
        "--pilot",
        metavar="FILE",
        help="a public file of baskets of the same kind: for items, sizes, and mistakes that a search will make",
    )
    group.add_argument("--mean-size", type=above("mean_size", 0), metavar="M", help="with --items: items in a basket")
    group.add_argument(
        "--max-size", type=whole("max_size", 1), metavar="L", help="with --items: the largest basket (default 4 M)"
    )
    size = group.add_mutually_exclusive_group()
    size.add_argument("--pairs", action="store_const", const=2, dest="itemset_size", help="look for pairs (default)")
    size.add_argument("--triples", action="store_const", const=3, dest="itemset_size", help="look for triples")
    size.add_argument("--size", type=whole("size", 1), dest="itemset_size", metavar="K", help="look for K together")
    group.add_argument(
        "--min-support",
        type=fraction("min_support"),
        default=0.1,
        metavar="S",
        help="the share of people who have what is looked for (default 0.1)",
    )


def run(options: argparse.Namespace) -> None:
    if _is_bare(options):
        _ask(options)
    _check(options)
    from bosket.planning import people_needed, privacy_for

    work = Work(options)
    pilot = _pilot(options)
    study, goal = _study(options, pilot), _goal(options)
    if options.stderr is not None:
        with work.step("comparing mechanisms"):
            found = (
                privacy_for(study, stderr=options.stderr, unit=options.unit)
                if goal is None
                else people_needed(study, goal, stderr=options.stderr)
            )
        title = f"standard error {options.stderr:g} of {wanted_text(study)}"
        show_other_way(found, title if goal is None else f"{title}; {goal}")
        return
    with work.step("comparing mechanisms"):
        ranking = _ranked(study, goal, pilot, options)
    if options.format == "json":
        print_json(ranking)
    else:
        show_ranking(ranking)
        if options.breach is not None:
            say("note: a breach level is kept from one who knows supports alone; epsilons say what others may learn")
        if pilot is not None:
            show_mistakes(ranking, pilot, options.min_support)
    if options.report is not None:
        with work.step("drawing"):
            ranking_page(ranking).write(options.report)
        say(f"wrote a page to {options.report}")
    if options.output is not None:
        write_text(ranking.best.seen.plan.json + "\n", options.output)
        say(f"wrote the plan of {ranking.best.mechanism} to {options.output}")
        table = " --table ..." if study.is_table else ""
        say(f"next: bosket randomize RAW{table} --plan {options.output} -o REPORTS")


def _is_bare(options: argparse.Namespace) -> bool:
    """Whether nothing was said of a study or a promise."""
    names = (
        *("gamma", "epsilon", "prior", "posterior", "stderr", "breach", "classes"),
        *("people", "questions", "items", "pilot", *_READING),
    )
    return all(getattr(options, name) is None for name in names)


def _ask(options: argparse.Namespace) -> None:
    """Five questions on a terminal; elsewhere the options must say it."""
    if not sys.stdin.isatty():
        raise ParameterError(
            "There must be a study and a promise, or a terminal to ask about them.",
            parameter="people",
            value=None,
            hint="bosket plan --questions 16 --people 21000 --prior 5% --posterior 30%",
        )
    for name, value in ask_about_study(sys.stdin).items():
        setattr(options, name, value)


def _check(options: argparse.Namespace) -> None:
    """Options that make no sense together, and files that could not be written."""
    check_schema(options)
    if options.people is None:
        raise ParameterError("The '--people' option must be given.", parameter="people", value=None)
    goals = [name for name in ("gamma", "epsilon", "prior", "breach") if getattr(options, name) is not None]
    if len(goals) > 1:
        raise clash(goals[1], f"not come with {option(goals[0])}", options)
    for name, other in (("prior", "posterior"), ("posterior", "prior")):
        if getattr(options, name) is not None and getattr(options, other) is None:
            raise clash(name, f"come with {option(other)}", options)
    if not goals and options.stderr is None:
        raise ParameterError(
            "The '--gamma' option must be given, or --epsilon, --prior and --posterior, --breach, or --stderr.",
            parameter="gamma",
            value=None,
            hint="--prior 5% --posterior 30% keeps a property that had 5% below 30%; --stderr 0.01 asks which promise "
            "an error allows.",
        )
    attributes = [name for name in _READING if getattr(options, name) is not None]
    kinds = [name for name in ("questions", "items", "pilot") if getattr(options, name) is not None] + attributes[:1]
    if len(kinds) > 1:
        raise clash(kinds[1], f"not come with {option(kinds[0])}", options)
    for name in ("mean_size", "max_size"):
        if getattr(options, name) is not None and options.items is None and (name == "mean_size" or not options.pilot):
            raise clash(name, "come with --items", options)
    if options.breach is not None and options.pilot is None:
        raise clash("breach", "come with --pilot, whose maximal supports it is about", options)
    if options.classes is not None and options.items is None and options.pilot is None:
        raise clash("classes", "come with --items or --pilot", options)
    for name in ("breach", "classes"):
        if getattr(options, name) is not None and options.stderr is not None:
            raise clash(name, "not come with --stderr", options)
    if options.breach is not None and options.classes is not None:
        raise clash("classes", "not come with --breach", options)
    if options.items is not None and options.mean_size is None:
        raise clash("items", "come with --mean-size", options)
    if options.stderr is not None:
        for name in ("output", "report", "format"):
            if getattr(options, name) is not None:
                raise clash(name, "not come with --stderr", options)
    if options.output is not None:
        check_output(options.output, suffixes=(".json",), inputs=[options.schema])
    if options.report is not None:
        check_output(options.report, suffixes=(".html",), inputs=[options.schema, options.output])


def _goal(options: argparse.Namespace) -> Goal | None:
    from bosket.planning import Goal

    if options.gamma is not None:
        return Goal.of_gamma(options.gamma, unit=options.unit)
    if options.epsilon is not None:
        return Goal(options.epsilon, options.unit)
    if options.prior is not None:
        return Goal.below(options.posterior, prior=options.prior, unit=options.unit)
    return None


def _pilot(options: argparse.Namespace) -> Baskets | None:
    """The baskets of a public file."""
    if options.pilot is None:
        return None
    say(f"note: what is planned is read off {options.pilot}, which must be public, or of people who agreed to it")
    baskets = read_baskets(options.pilot, options)
    if options.max_size is None or int(baskets.sizes.max(initial=0)) <= options.max_size:
        return baskets
    short: Baskets = baskets[baskets.sizes <= options.max_size]
    say(f"note: {baskets.n_records - short.n_records:,} baskets of more than {options.max_size} items are left out")
    return short


def _ranked(study: Study, goal: Goal | None, pilot: Baskets | None, options: argparse.Namespace) -> Ranking:
    """Every mechanism for the goal, of whichever kind it is."""
    from bosket.planning import compare, compare_breaches, compare_classes, maximal_supports

    if options.breach is not None:
        assert pilot is not None
        maximal = maximal_supports(pilot, max_itemset=study.itemset_size, max_size=study.max_size)
        return compare_breaches(study, maximal, level=options.breach)
    assert goal is not None
    if options.classes is None:
        return compare(study, goal)
    return compare_classes(study, goal, read_classes(options.classes, study.domain, max_bytes=options.max_bytes))


def _study(options: argparse.Namespace, pilot: Baskets | None) -> Study:
    from bosket.planning import Study, geometric_sizes
    from bosket.planning.foresight import sizes_of

    sizes = None if pilot is None else sizes_of(pilot)
    if options.items is not None:
        most = max(1, round(4 * options.mean_size)) if options.max_size is None else options.max_size
        sizes = geometric_sizes(options.mean_size, most=min(most, options.items))
    return Study(
        _domain(options) if pilot is None else pilot.domain,
        people=options.people,
        itemset_size=2 if options.itemset_size is None else options.itemset_size,
        support=options.min_support,
        sizes=sizes,
    )


def _domain(options: argparse.Namespace) -> Domain:
    from bosket.data import Attribute, Domain, TableDomain

    if options.items is not None:
        return Domain(range(1, options.items + 1))
    if options.questions is not None:
        return TableDomain([Attribute(f"question {at}", ["no", "yes"]) for at in range(1, options.questions + 1)])
    domain = declared_domain(options)
    if domain is None:
        raise ParameterError(
            "The '--questions' option must be given, or --items, --pilot, or declared values or bins of every column.",
            parameter="questions",
            value=None,
        )
    return domain
