"""What a study promises, asks and whom: the options of ``bosket plan``, and which of them go together."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bosket.cli.inputs.attributes import check_schema
from bosket.cli.inputs.files import check_output
from bosket.cli.inputs.options import above, clash, fraction, inside, option, positive, share, whole
from bosket.cli.inputs.study_questions import ask_about_study
from bosket.errors import ParameterError

_READING = ("columns", "bins", "values", "missing", "schema")
_GOALS = ("gamma", "epsilon", "prior", "breach")
MOST_ITEMS = 100_000
"""Different items of a study: the work grows with their number, and what is foreseen hardly does."""


def add_goal(command: argparse.ArgumentParser) -> None:
    """What is promised."""
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


def add_study(command: argparse.ArgumentParser) -> None:
    """What is asked, and whom."""
    group = command.add_argument_group("what is asked, and whom")
    group.add_argument("--people", type=whole("people", 1), metavar="N", help="how many will answer")
    group.add_argument("--questions", type=whole("questions", 1), metavar="N", help="so many yes/no questions")
    group.add_argument("--items", type=whole("items", 2), metavar="N", help="baskets of so many different items")
    group.add_argument(
        "--pilot",
        metavar="FILE",
        help="a public file of the same kind, of baskets or with --table of a table: for items, sizes, and mistakes "
        "that a search will make",
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
        help="the share of people who have what is looked for, as in 0.02 or 2%% (default 0.1)",
    )


def add_release(command: argparse.ArgumentParser) -> None:
    """What a curator is asked for, instead of each person."""
    group = command.add_argument_group(
        "a curator", "who holds raw records and releases itemsets under --epsilon; foreseen by rehearsals"
    )
    group.add_argument("--curator", action="store_true", help="plan a release of 'bosket curate', not a collection")
    group.add_argument("--delta", type=inside("delta", 0, 1), metavar="D", help="beside --epsilon, as in 1e-6")
    group.add_argument(
        "--min-f",
        type=inside("min_f", 0, 1),
        metavar="F",
        help="the other way round, without --epsilon: the least epsilon whose releases have this F",
    )
    group.add_argument("--releases", type=whole("releases", 2), metavar="R", help="how many are rehearsed (default 10)")


def ask_if_bare(options: argparse.Namespace) -> None:
    """Five questions on a terminal where no option says anything of a study; elsewhere options must."""
    of_goal = (*_GOALS, "posterior", "stderr", "classes", "delta", "min_f", "releases")
    names = (*of_goal, "people", "questions", "items", "pilot", *_READING)
    if options.curator or any(getattr(options, name) is not None for name in names):
        return
    if not sys.stdin.isatty():
        raise ParameterError(
            "There must be a study and a promise, or a terminal to ask about them.",
            parameter="people",
            value=None,
            hint="bosket plan --questions 16 --people 21000 --prior 5% --posterior 30%",
        )
    for name, value in ask_about_study(sys.stdin).items():
        setattr(options, name, value)


def check_study(options: argparse.Namespace) -> None:
    """Options that make no sense together, and files that could not be written."""
    check_schema(options)
    if options.people is None:
        raise ParameterError("The '--people' option must be given.", parameter="people", value=None)
    _check_kinds(options)
    if options.curator:
        _check_release(options)
    else:
        for name in ("delta", "min_f", "releases"):
            if getattr(options, name) is not None:
                raise clash(name, "come with --curator", options)
        _check_goal(options)
    if options.output is not None:
        check_output(options.output, suffixes=(".json",), inputs=[options.schema])
    if options.report is not None:
        check_output(options.report, suffixes=(".html",), inputs=[options.schema, options.output])


def _check_kinds(options: argparse.Namespace) -> None:
    """One kind of study: questions, items, a pilot, or attributes; those of a pilot that is a table beside it."""
    attributes = [name for name in _READING if getattr(options, name) is not None]
    if options.table and options.pilot is None:
        raise clash("table", "come with --pilot, which is one", options)
    if options.pilot is not None and attributes and not options.table:
        raise clash(attributes[0], "come with --table where there is a --pilot", options)
    kinds = [name for name in ("questions", "items", "pilot") if getattr(options, name) is not None]
    kinds += [] if options.table else attributes[:1]
    if len(kinds) > 1:
        raise clash(kinds[1], f"not come with {option(kinds[0])}", options)
    for name in ("mean_size", "max_size"):
        is_pilot = options.pilot is not None and not options.table and name == "max_size"
        if getattr(options, name) is not None and options.items is None and not is_pilot:
            raise clash(name, "come with --items", options)
    if options.items is not None and options.mean_size is None:
        raise clash("items", "come with --mean-size", options)
    if options.items is not None and options.items > MOST_ITEMS:
        raise clash("items", f"be at most {MOST_ITEMS:,}; leave out those that hardly anybody has", options)


def _check_goal(options: argparse.Namespace) -> None:
    """One promise, or an error that is wanted."""
    goals = [name for name in _GOALS if getattr(options, name) is not None]
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
    if options.breach is not None and options.pilot is None:
        raise clash("breach", "come with --pilot, whose maximal supports it is about", options)
    if options.classes is not None and options.items is None and options.pilot is None:
        raise clash("classes", "come with --items or --pilot", options)
    if options.classes is not None and options.table:
        raise clash("classes", "not come with --table: an answer to a question hides all attributes alike", options)
    if options.breach is not None and options.classes is not None:
        raise clash("classes", "not come with --breach", options)
    if options.stderr is not None:
        for name in ("breach", "classes", "output", "report", "format"):
            if getattr(options, name) is not None:
                raise clash(name, "not come with --stderr", options)


def _check_release(options: argparse.Namespace) -> None:
    """An epsilon or an F, and records to rehearse on; nothing that is for reports."""
    for name in ("gamma", "prior", "posterior", "breach", "classes", "stderr", "output", "itemset_size"):
        if getattr(options, name) is not None:
            raise clash(name, "not come with --curator", options)
    if options.unit != "record":
        raise clash("unit", "be record with --curator: one record more or less", options)
    if (options.epsilon is None) == (options.min_f is None):
        raise clash(
            "epsilon" if options.min_f is not None else "curator", "come with one of --epsilon and --min-f", options
        )
    for name in ("format", "report"):
        if options.min_f is not None and getattr(options, name) is not None:
            raise clash(name, "not come with --min-f", options)
    if options.items is None and options.pilot is None:
        raise clash("curator", "come with --items and --mean-size, or with a public --pilot to rehearse on", options)
