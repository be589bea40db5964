"""``bosket plan``: which mechanism, which parameters, what will be seen, before anybody is asked."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bosket.cli.inputs.attributes import add_table
from bosket.cli.inputs.files import write_text
from bosket.cli.inputs.options import Commands, add_command, add_input, add_report
from bosket.cli.inputs.plans import read_classes
from bosket.cli.inputs.studies import domain_of, goal_of, pilot_of, sizes_of_study, study_of
from bosket.cli.inputs.study_options import add_goal, add_release, add_study, ask_if_bare, check_study
from bosket.cli.views.console import Work, say
from bosket.cli.views.plans import print_json, ranking_page, show_mistakes, show_other_way, show_ranking, wanted_text

if TYPE_CHECKING:
    from bosket.data import Baskets, Table
    from bosket.planning import Goal, Ranking, Study

_EXAMPLES = """examples:
  bosket plan --questions 16 --people 21000 --prior 5% --posterior 30% --pairs -o plan.json
  bosket plan --items 500 --mean-size 6 --people 50000 --epsilon 3 --pairs --min-support 0.02
  bosket plan --schema people.json --people 21000 --gamma 19 --report plan.html
  bosket plan --questions 16 --people 21000 --stderr 0.02         (which promise that allows)
  bosket plan --questions 16 --people 21000 --gamma 19 --stderr 0.01   (how many people that takes)
  bosket plan --pilot public.dat --people 50000 --epsilon 3 --min-support 0.02   (sizes and items of a public file)
  bosket plan --pilot public.dat --people 50000 --breach 50%      (no shown item is had by more than half)
  bosket plan --pilot public.dat --people 50000 --epsilon 8 --classes classes.csv   (item,epsilon: some hidden better)
  bosket plan --curator --pilot public.dat --people 50000 --epsilon 1 --delta 1e-6 --min-support 0.01   (a release)
  bosket plan                                                     (asks five questions)
"""


_RELEASES = 10  # that are rehearsed


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.usage = "%(prog)s [options] --questions N (or --items N, or attributes) --people N --gamma G"
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = _EXAMPLES
    add_goal(command)
    add_study(command)
    add_release(command)
    command.add_argument("--format", choices=("table", "json"), help="format on standard output (default table)")
    command.add_argument("-o", "--output", type=Path, metavar="PLAN", help="write the plan that wins to a .json file")
    add_report(command)
    add_table(command)
    add_input(command)
    command.set_defaults(raw=None)


def run(options: argparse.Namespace) -> None:
    ask_if_bare(options)
    check_study(options)
    pilot = pilot_of(options)
    if options.curator:
        _plan_release(options, pilot)
        return
    study, goal = study_of(options, pilot), goal_of(options)
    if options.stderr is not None:
        _other_way(options, study, goal)
    else:
        _plan_study(options, study, goal, pilot)


def _plan_study(options: argparse.Namespace, study: Study, goal: Goal | None, pilot: Baskets | Table | None) -> None:
    """The ranking, and the plan that wins."""
    work = Work(options)
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


def _ranked(study: Study, goal: Goal | None, pilot: Baskets | Table | None, options: argparse.Namespace) -> Ranking:
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


def _other_way(options: argparse.Namespace, study: Study, goal: Goal | None) -> None:
    """What an accuracy allows, or takes."""
    from bosket.planning import people_needed, privacy_for

    with Work(options).step("comparing mechanisms"):
        found = (
            privacy_for(study, stderr=options.stderr, unit=options.unit)
            if goal is None
            else people_needed(study, goal, stderr=options.stderr)
        )
    title = f"standard error {options.stderr:g} of {wanted_text(study)}"
    show_other_way(found, title if goal is None else f"{title}; {goal}")


def _plan_release(options: argparse.Namespace, pilot: Baskets | Table | None) -> None:
    """What a curator's release will say, by rehearsals on the pilot or on simulated baskets."""
    from bosket.cli.views.releases import print_release_json, show_least_epsilon, show_release
    from bosket.planning import Curator, epsilon_for, foresee

    asked = Curator(options.epsilon or 1.0, options.min_support, delta=options.delta or 0.0)
    domain = domain_of(options) if pilot is None else None
    sizes = None if pilot is not None else sizes_of_study(options, pilot)
    number = _RELEASES if options.releases is None else options.releases
    if pilot is None:
        say("note: baskets are simulated, from the number of items and sizes alone; a public --pilot tells more")
    with Work(options).levels("rehearsing") as tell:
        if options.min_f is None:
            seen = foresee(
                asked, domain, people=options.people, sizes=sizes, pilot=pilot, releases=number, on_progress=tell
            )
        else:
            least = epsilon_for(
                asked, domain, f=options.min_f, people=options.people, sizes=sizes, pilot=pilot, releases=number,
                on_progress=tell,
            )  # fmt: skip
    if options.min_f is not None:
        show_least_epsilon(asked, least, options.min_f, options.people)
    elif options.format == "json":
        print_release_json(seen)
    else:
        show_release(seen)
