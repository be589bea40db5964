"""What the options of ``bosket plan`` stand for: a promise, a study, and a public file of the same kind."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bosket.cli.inputs.attributes import declared_domain
from bosket.cli.inputs.files import read_baskets
from bosket.cli.views.console import say
from bosket.errors import ParameterError

if TYPE_CHECKING:
    from bosket.data import Baskets, Domain, Table
    from bosket.planning import Goal, Study


def goal_of(options: argparse.Namespace) -> Goal | None:
    """The promise, where it is a gamma or an epsilon."""
    from bosket.planning import Goal

    if options.gamma is not None:
        return Goal.of_gamma(options.gamma, unit=options.unit)
    if options.epsilon is not None:
        return Goal(options.epsilon, options.unit)
    if options.prior is not None:
        return Goal.below(options.posterior, prior=options.prior, unit=options.unit)
    return None


def pilot_of(options: argparse.Namespace) -> Baskets | Table | None:
    """The records of a public file."""
    if options.pilot is None:
        return None
    say(f"note: what is planned is read off {options.pilot}, which must be public, or of people who agreed to it")
    if options.table:
        from bosket.cli.inputs.raw import read_table

        return read_table(options.pilot, options)
    baskets = read_baskets(options.pilot, options)
    if options.max_size is None or int(baskets.sizes.max(initial=0)) <= options.max_size:
        return baskets
    short: Baskets = baskets[baskets.sizes <= options.max_size]
    say(f"note: {baskets.n_records - short.n_records:,} baskets of more than {options.max_size} items are left out")
    return short


def sizes_of_study(options: argparse.Namespace, pilot: Baskets | Table | None) -> dict[int, float] | None:
    """Shares of baskets by size: those of the pilot, or geometric ones."""
    from bosket.planning import geometric_sizes
    from bosket.planning.foresight import sizes_of

    if options.items is None:
        return None if pilot is None else sizes_of(pilot)
    most = max(1, round(4 * options.mean_size)) if options.max_size is None else options.max_size
    return geometric_sizes(options.mean_size, most=min(most, options.items))


def study_of(options: argparse.Namespace, pilot: Baskets | Table | None) -> Study:
    from bosket.planning import Study

    return Study(
        domain_of(options) if pilot is None else pilot.domain,
        people=options.people,
        itemset_size=2 if options.itemset_size is None else options.itemset_size,
        support=options.min_support,
        sizes=sizes_of_study(options, pilot),
    )


def domain_of(options: argparse.Namespace) -> Domain:
    """Items, questions, or declared attributes."""
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
