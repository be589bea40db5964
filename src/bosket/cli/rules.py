"""``bosket rules``: association rules with standard errors and intervals."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bosket.checks import check_choice
from bosket.cli.attributes import add_table
from bosket.cli.console import Work, say
from bosket.cli.options import Commands, add_command, add_search, real
from bosket.cli.searching import best, check_options, deliver, search
from bosket.cli.tables import RULES, print_table
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    import pandas as pd

    from bosket.reporting.page import Page


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run, help="Find association rules in reports, or in raw records exactly.")
    add_search(command)
    command.add_argument(
        "--metric", default="confidence", help="the measure to select and order by (default confidence)"
    )
    command.add_argument(
        "--min-threshold", type=real("min_threshold"), default=0.8, metavar="T", help="its least value (default 0.8)"
    )
    add_table(command)


def run(options: argparse.Namespace) -> None:
    from bosket.mining.rules import MEASURES

    check_choice("metric", options.metric, MEASURES)
    check_options(options)
    work = Work(options)
    found, guarantee = search(options, work)
    with work.step("making rules"):
        rules = found.rules(
            metric=options.metric, min_threshold=options.min_threshold, level=options.level, sampling=options.sampling
        )
    say(f"{count_text(len(rules), 'rule')} with {options.metric} of at least {options.min_threshold:g}")
    order = f"{options.metric}_low"  # by the low end of the interval: the largest estimates are the luckiest ones

    def page() -> Page:
        from bosket.reporting.study import rules_page

        return rules_page(best(rules, order), guarantee=guarantee)

    deliver(rules, RULES, options, show=_show, page=page, by=order)


def _show(rules: pd.DataFrame) -> None:
    from bosket.reporting.text import decimals_for, interval_text, itemset_text, number

    about = rules.attrs["about"]
    decimals = decimals_for(about["min_support"])
    is_exact = not rules[["support_stderr", "confidence_stderr", "lift_stderr"]].fillna(0).to_numpy().any()
    interval = f"{100 * about['level']:g}% interval"
    rows = []
    for _, rule in rules.iterrows():
        row = [itemset_text(rule["antecedents"]), itemset_text(rule["consequents"]), number(rule["support"], decimals)]
        for measure in ("confidence", "lift"):
            row.append(number(rule[measure]))
            if not is_exact:
                row.append(interval_text(rule[f"{measure}_low"], rule[f"{measure}_high"]))
        rows.append(row)
    measures = [heading for name in ("confidence", "lift") for heading in ([name] if is_exact else [name, interval])]
    title = "Association rules" + ("" if is_exact else f", by the low end of the interval of {about['metric']}")
    print_table(title, ["antecedents", "consequents", "support", *measures], rows, text_columns=2)
