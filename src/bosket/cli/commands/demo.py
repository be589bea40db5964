"""``bosket demo``: the whole walk on synthetic baskets, with the truth beside every estimate."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bosket.cli.inputs.files import make_directory, write_text
from bosket.cli.inputs.options import Commands, add_command, add_seed, whole
from bosket.cli.views.console import Work, say
from bosket.cli.views.tables import print_lines, print_table
from bosket.reporting.text import decimals_for, interval_text, number, rule_text

if TYPE_CHECKING:
    import pandas as pd

    from bosket.data import Baskets
    from bosket.mining import FrequentItemsets
    from bosket.plan import Plan
    from bosket.reporting.comparison import Comparison
    from bosket.reports import Reports

ITEMS = 500
PATTERNS = 200
MIN_SUPPORT = 0.01
LARGEST_RECORD = 40
"""What every record promises not to exceed; Quest records of ten items on average stay well below."""
SURE = 0.6
"""A rule is shown if the low end of its interval of confidence is at least this."""
RULES_A_SIZE = 4


class Sensitivity(NamedTuple):
    """A class of items that are kept alike; of every ten items, those that end in these digits."""

    name: str
    keep: float
    digits: tuple[int, ...]


CLASSES = (
    Sensitivity("sensitive", 0.7, (0,)),
    Sensitivity("ordinary", 0.8, (1, 2, 3)),
    Sensitivity("open", 0.9, (4, 5, 6, 7, 8, 9)),
)


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.add_argument(
        "--output", type=Path, default=Path("demo"), metavar="DIR", help="directory to write to (default demo)"
    )
    command.add_argument("--records", type=whole("records", 1), default=200_000, metavar="N", help="default 200,000")
    add_seed(command, default=7, help="of baskets and coins (default 7); a simulation, which protects nobody")


def run(options: argparse.Namespace) -> None:
    started = time.perf_counter()
    make_directory(options.output)
    work = Work(options)
    say("The first run on a machine compiles bosket's kernels, which takes most of its time.")
    baskets = _generate(options, work)
    plan = _plan(baskets)
    reports = _randomize(options, work, baskets, plan)
    found, truth = _mine(work, reports, baskets)
    with _told(work, "comparing with the truth"):
        from bosket.reporting.comparison import compare, true_rules

        comparison = compare(found, truth, reports=reports, baskets=baskets)
        rules = true_rules(found.rules(min_threshold=0.5), truth, baskets)
        shown = _strongest(rules)
    _show_sizes(comparison)
    _show_rules(shown)
    note = _about_rules(rules, shown)
    print_lines(f"{note}\n")
    print_lines(plan.guarantee.card())
    print_lines("  this run is a simulation with a seed: it shows the figures, and protects nobody")
    with _told(work, "drawing the page"):
        _write_page(options, plan, comparison, shown, note, found)
    seconds = time.perf_counter() - started
    print_lines(f"\nWrote {options.output / 'report.html'}, reports.parquet and plan.json in {seconds:.0f} seconds.")


@contextmanager
def _told(work: Work, text: str) -> Iterator[None]:
    """A step with a spinner, and a line with its time when it is over."""
    started = time.perf_counter()
    with work.step(text):
        yield
    say(f"  {text}: {time.perf_counter() - started:.1f} s")


def _generate(options: argparse.Namespace, work: Work) -> Baskets:
    with _told(work, f"generating {options.records:,} baskets over {ITEMS} items"):
        from bosket.data import quest

        return quest(records=options.records, items=ITEMS, patterns=PATTERNS, seed=options.seed)


def _plan(baskets: Baskets) -> Plan:
    from bosket.mechanisms import Flip
    from bosket.plan import Plan, PrivacyUnit

    of_digit = {digit: group.keep for group in CLASSES for digit in group.digits}
    keep: dict[Hashable, float] = {item: of_digit[item % 10] for item in range(ITEMS)}
    return Plan(baskets.domain, Flip(keep=keep), PrivacyUnit(max_size=LARGEST_RECORD))


def _randomize(options: argparse.Namespace, work: Work, baskets: Baskets, plan: Plan) -> Reports:
    """Randomize, write, and read back: what is mined is what a collector would hold."""
    from bosket.randomness import Seeded
    from bosket.reports import Reports

    path = options.output / "reports.parquet"
    with _told(work, f"randomizing them (with seed {options.seed}: a simulation, which protects nobody)"):
        plan.randomize(baskets, rng=Seeded(options.seed)).write(path)
    write_text(plan.json, options.output / "plan.json")
    return Reports.read(path, plan=plan)


def _mine(work: Work, reports: Reports, baskets: Baskets) -> tuple[FrequentItemsets, FrequentItemsets]:
    from bosket.mining import mine

    with _told(work, f"mining the reports at a support of {MIN_SUPPORT:g}"):
        found = mine(reports, min_support=MIN_SUPPORT)
    with _told(work, "mining the baskets themselves, for the truth"):
        return found, mine(baskets, min_support=MIN_SUPPORT)


def _strongest(rules: pd.DataFrame) -> pd.DataFrame:
    """The most frequent of the rules that surely hold often: a few of each size, no item twice within a size.

    Not those with the highest confidence: among thousands of estimates the highest are the luckiest, and their
    intervals miss the truth far more often than one in twenty.
    """
    sure = rules[rules["confidence_low"] >= SURE].sort_values("support", ascending=False, kind="stable")
    chosen: dict[int, list[int]] = {}
    taken: dict[int, set[object]] = {}
    for place, (antecedent, consequent) in enumerate(zip(sure["antecedents"], sure["consequents"], strict=True)):
        items = antecedent | consequent
        size = len(items)
        if len(chosen.setdefault(size, [])) < RULES_A_SIZE and not items & taken.setdefault(size, set()):
            chosen[size].append(place)
            taken[size] |= items
    return sure.iloc[[place for size in sorted(chosen)[:3] for place in chosen[size]]]


def _about_rules(rules: pd.DataFrame, shown: pd.DataFrame) -> str:
    share = rules["held"].mean() if len(rules) else 0.0
    return (
        f"Shown are the most frequent rules whose confidence is at least {SURE:g} at the low end of its interval, up "
        f"to {RULES_A_SIZE} of a size. The 95% intervals of {int(shown['held'].sum())} of these {len(shown)} rules "
        f"hold the true confidence, and so do those of {share:.1%} of all {len(rules):,} rules found. (Rules of the "
        "highest confidence would do worse: the highest of many estimates are the luckiest.)"
    )


def _show_sizes(comparison: Comparison) -> None:
    columns = ["size", "frequent", "found", "missed", "false", "covered"]
    rows = [[f"{row[name]:,}" for name in columns] for _, row in comparison.by_size().iterrows()]
    headings = ["items", "truly frequent", "found", "missed", "false", "95% intervals that hold, of truly frequent"]
    print_table("Frequent itemsets by size", headings, rows, text_columns=0)


def _show_rules(shown: pd.DataFrame) -> None:
    decimals = decimals_for(MIN_SUPPORT)
    rows = []
    for _, rule in shown.iterrows():
        rows.append(
            [
                rule_text(rule["antecedents"], rule["consequents"]),
                number(rule["support"], decimals),
                number(rule["confidence"]),
                interval_text(rule["confidence_low"], rule["confidence_high"]),
                number(rule["truth"]),
                "yes" if rule["held"] else "no",
            ]
        )
    print_table("Rules beside the truth", ["rule", "support", "confidence", "95% interval", "truth", "holds it"], rows)


def _write_page(
    options: argparse.Namespace,
    plan: Plan,
    comparison: Comparison,
    shown: pd.DataFrame,
    note: str,
    found: FrequentItemsets,
) -> None:
    from bosket.mechanisms import Flip
    from bosket.reporting.page import PageTable
    from bosket.reporting.study import simulation_page

    rows = [
        [
            group.name,
            f"{len(group.digits) * ITEMS // 10}",
            f"{group.keep:g}",
            f"{math.ceil(100 * Flip(keep=group.keep).guarantee([0]).item.epsilon) / 100:.2f}",
        ]
        for group in CLASSES
    ]
    classes = PageTable("Three classes of items", ["class", "items", "keep", "epsilon of one item"], rows)
    story = [
        f"{options.records:,} baskets over {ITEMS} items were generated as Agrawal and Srikant (1994) describe. Items "
        "fall into three classes by how sensitive they are: in each basket every item, present or absent, is "
        "reported as it is with the probability 'keep' of its class and the other way round otherwise, independently "
        "of all others.",
        f"Only the randomized reports were mined, at a minimum support of {MIN_SUPPORT:.0%}. The true figures come "
        "from the baskets themselves, which in a real study nobody has.",
    ]
    page = simulation_page(
        comparison,
        shown,
        story=story,
        rules_note=note,
        classes=classes,
        about=found.to_frame().attrs["about"],
        guarantee=plan.guarantee,
    )
    page.write(options.output / "report.html")
