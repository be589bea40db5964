"""``bosket plan``: which mechanism, which parameters, what will be seen, before anybody is asked."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket.cli.inputs.attributes import add_table
from bosket.cli.inputs.files import write_text
from bosket.cli.inputs.options import Commands, add_command, add_input, add_report
from bosket.cli.inputs.plans import read_classes
from bosket.cli.inputs.studies import domain_of, goal_of, pilot_of, sizes_of_study, study_of
from bosket.cli.inputs.study_options import add_goal, add_release, add_study, ask_if_bare, check_study
from bosket.cli.views.console import Work, say
from bosket.cli.views.plans import (
    TIMES,
    print_json,
    ranking_page,
    show_mistakes,
    show_other_way,
    show_ranking,
    wanted_text,
)

if TYPE_CHECKING:
    from bosket.cli.views.releases import Scores
    from bosket.data import Baskets, Table
    from bosket.planning import Goal, Ranking, ReleaseRanking, Study

_EXAMPLES = """examples:
  bosket plan --questions 16 --people 21000 --prior 5% --posterior 30% --pairs -o plan.json
  bosket plan --items 500 --mean-size 6 --people 50000 --epsilon 3 --pairs --min-support 0.02
  bosket plan --schema people.json --people 21000 --gamma 19 --report plan.html
  bosket plan --questions 16 --people 21000 --stderr 0.02         (which promise that allows)
  bosket plan --questions 16 --people 21000 --gamma 19 --stderr 0.01   (how many people that takes)
  bosket plan --pilot public.dat --people 50000 --epsilon 3 --min-support 0.02   (sizes and items of a public file)
  bosket plan --pilot public.dat --people 50000 --breach 50%      (what items shown together tell of one)
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
        if ranking.note:
            say(f"note: {ranking.note}")
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
    elif options.format != "json":
        say("next: the same with -o plan.json writes the plan of the best, for bosket randomize --plan")


def _ranked(study: Study, goal: Goal | None, pilot: Baskets | Table | None, options: argparse.Namespace) -> Ranking:
    """Every mechanism for the goal, of whichever kind it is."""
    from bosket.planning import compare, compare_breaches, compare_classes, maximal_supports

    if options.breach is not None:
        assert pilot is not None
        maximal = maximal_supports(pilot, max_size=study.max_size)
        return compare_breaches(study, maximal, level=options.breach)
    assert goal is not None
    if options.classes is None:
        return compare(study, goal)
    return compare_classes(study, goal, read_classes(options.classes, study.domain, max_bytes=options.max_bytes))


def _other_way(options: argparse.Namespace, study: Study, goal: Goal | None) -> None:
    """What an accuracy allows, or takes."""
    from bosket.planning import people_needed, privacy_for
    from bosket.planning.words import CLEAR_SIZES

    with Work(options).step("comparing mechanisms"):
        found = (
            privacy_for(study, stderr=options.stderr, unit=options.unit)
            if goal is None
            else people_needed(study, goal, stderr=options.stderr)
        )
    title = f"standard error {options.stderr:g} of {wanted_text(study)}"
    show_other_way(found, title if goal is None else f"{title}; {goal}")
    if not study.is_table and "CutAndPaste" in set(found["family"]):
        say(f"note: CutAndPaste: {CLEAR_SIZES}")


def _plan_release(options: argparse.Namespace, pilot: Baskets | Table | None) -> None:
    """What a curator's release will say, by rehearsals on the pilot or on simulated baskets."""
    from bosket.cli.views.releases import (
        curate_command,
        print_release_json,
        release_ranking_page,
        show_least_epsilon,
        show_release,
    )
    from bosket.planning import Curator, epsilon_for, rank_releases
    from bosket.planning.releases.ranking import requests_for

    asked = Curator(options.epsilon or 1.0, options.min_support, delta=options.delta or 0.0)
    number = _RELEASES if options.releases is None else options.releases
    among = {
        "domain": domain_of(options) if pilot is None else None,
        "people": options.people,
        "sizes": None if pilot is not None else sizes_of_study(options, pilot),
        "pilot": pilot,
    }
    if pilot is None:
        say("note: baskets are simulated, from the number of items and sizes alone; a public --pilot tells more")
    work = Work(options)
    if options.min_f is not None:
        with work.levels("rehearsing") as tell:
            least = epsilon_for(asked, f=options.min_f, releases=number, on_progress=tell, **among)
        show_least_epsilon(asked, least, options.min_f, options.people)
        return
    with work.levels("rehearsing") as tell:
        found = rank_releases(requests_for(asked), releases=number, on_progress=tell, **among)
    if options.format == "json":
        print_release_json(found)
    else:
        show_release(found)
    if options.report is not None:
        scores = _scores(found, work, number, among)
        with work.step("drawing"):
            release_ranking_page(found, scores).write(options.report)
        say(f"wrote a page to {options.report}")
    if found.best.guarantee is not None:
        say(f"next: {curate_command(found.best.curator)}")


def _scores(found: ReleaseRanking, work: Work, number: int, among: dict[str, Any]) -> Scores:
    """F of every way at other epsilons too, by fewer rehearsals."""
    from bosket.cli.views.releases import Scores, way_text
    from bosket.planning import rank_releases
    from bosket.planning.releases.asked import most_epsilon

    asked, few = found.best.curator.epsilon, max(2, number // 3)
    ways = [seen.curator for seen in found.options]
    most = min(most_epsilon(way.delta) for way in ways)
    epsilons = [asked * times for times in TIMES if asked * times <= most]
    by_way: dict[str, list[float | None]] = {way_text(way): [] for way in ways}
    for epsilon in epsilons:
        done = found
        if epsilon != asked:
            with work.levels(f"rehearsing at epsilon {epsilon:g}") as tell:
                requests = [replace(way, epsilon=epsilon) for way in ways]
                done = rank_releases(requests, releases=few, on_progress=tell, **among)
        for seen in done.options:
            by_way[way_text(seen.curator)].append(seen.f)
    return Scores(epsilons, by_way, few)
