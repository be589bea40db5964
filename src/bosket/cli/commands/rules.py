"""``bosket rules``: association rules with standard errors and intervals."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from bosket.cli.commands.dependence import find_dependence
from bosket.cli.inputs.attributes import add_table
from bosket.cli.inputs.options import Commands, add_command, add_search, clash, inside, not_negative, real
from bosket.cli.inputs.searching import ROWS_OF_A_TABLE, check_options, deliver, search
from bosket.cli.views.console import Work, say
from bosket.cli.views.results import is_table
from bosket.cli.views.tables import print_table
from bosket.errors import ParameterError
from bosket.reporting.export import NAMES, RULES
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    import pandas as pd

    from bosket.data import Domain
    from bosket.mining import FrequentItemsets, LevelProgress, RuleTemplate
    from bosket.reporting.page import Page

RATIOS = ("lift", "conviction", "odds_ratio", "relative_risk", "collective_strength", "sebag")
"""Measures that are 1 where the sides have nothing to do with each other."""

ALWAYS = ("support", "confidence", "lift")
"""The measures that pages, PMML and the table on the terminal need."""


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    add_search(command, needs_support=False)
    add_table(command)
    _add_wanted(command.add_argument_group("which rules"))
    _add_told(command.add_argument_group("what is said of them"))
    _add_tested(command.add_argument_group("are they more than chance"))


def _add_wanted(wanted: argparse._ArgumentGroup) -> None:
    wanted.add_argument(
        "--metric", default="confidence", help="the measure to select and order by (default confidence)"
    )
    wanted.add_argument(
        "--min-threshold",
        type=real("min_threshold"),
        metavar="T",
        help="its least value (default 0.8 for confidence, 1 for ratios such as lift, else 0)",
    )
    for side in ("antecedent", "consequent"):
        wanted.add_argument(
            f"--{side}",
            action="append",
            metavar="ITEM",
            help=f"only rules with this item, or others so named, as {side}; may be repeated",
        )
        wanted.add_argument(f"--{side}-size", type=_sizes, metavar="N|N-M", help=f"how many items the {side} has")
    wanted.add_argument(
        "--min-improvement",
        type=not_negative("min_improvement"),
        metavar="D",
        help="leave out rules whose confidence exceeds that of a more general one by no more than D",
    )
    wanted.add_argument(
        "--sort-by",
        choices=("low", "estimate"),
        default="low",
        help="order by the low end of the interval, or not (default low)",
    )


def _add_told(told: argparse._ArgumentGroup) -> None:
    told.add_argument("--measures", metavar="NAMES", help="measures to give, separated by commas, or 'all'")
    told.add_argument("--list-measures", action=_List, help="list the measures by all their names, and stop")
    told.add_argument(
        "--interval",
        choices=("default", "normal", "chebyshev"),
        default="default",
        help="how intervals are made: each measure on its own scale (default), or all alike",
    )
    told.add_argument(
        "--fcr",
        action="store_true",
        help="widen intervals for selection: at most 1 - level of those shown are expected to miss the truth",
    )
    told.add_argument("--bias", action="store_true", help="give the second-order bias of every measure")
    told.add_argument("--names", choices=NAMES, default="bosket", help="whose names the columns of CSV and JSON have")


def _add_tested(tested: argparse._ArgumentGroup) -> None:
    tested.add_argument(
        "--adjust",
        choices=("by", "bh", "holm", "bonferroni", "none"),
        help="give p-values, adjusted for all rules looked at: Benjamini-Yekutieli or -Hochberg, Holm, Bonferroni",
    )
    tested.add_argument(
        "--alpha", type=inside("alpha", 0, 1), help="keep rules with an adjusted p-value up to this (method: by)"
    )
    tested.add_argument(
        "--alternative",
        choices=("greater", "less", "two-sided"),
        default="greater",
        help="against which p-values are made: together more often than by chance (default), less often, either",
    )
    tested.add_argument(
        "--without-parameters",
        action="store_true",
        help="use no parameters of the mechanism: pairs of items that depend on each other, found in randomized "
        "records as they are",
    )


def run(options: argparse.Namespace) -> None:
    if options.without_parameters:
        find_dependence(options)
        return
    if options.min_support is None:
        raise ParameterError("The '--min-support' option must be given.", parameter="min_support", value=None)
    from bosket.measures import measure

    metric = measure(options.metric)
    if options.min_threshold is None:
        options.min_threshold = 0.8 if metric.name == "confidence" else 1.0 if metric.name in RATIOS else 0.0
    measures = _measures(options.measures)
    kind = RULES._replace(names=options.names)
    check_options(options, kind)
    work = Work(options)
    found, guarantee = search(options, work)
    template = _template(options, found.domain)
    with work.levels("rules") as on_progress:
        rules = _make(found, options, measures, template, on_progress)
    _say(rules, options)

    def page() -> Page:
        from bosket.reporting.study import rules_page

        return rules_page(rules, guarantee=guarantee)

    more = _lets_more_through(found, rules, options)
    deliver(rules, kind, options, show=lambda frame: _show(frame, metric.name, measures), page=page, by=None, more=more)


def _lets_more_through(found: FrequentItemsets, rules: pd.DataFrame, options: argparse.Namespace) -> str:
    """What to ask for where nothing passed, by what kept it back."""
    if options.alpha is not None and rules.attrs["about"]["passed"]:
        return "a higher --alpha"
    if max(found.sizes, default=0) < 2:
        return "a lower --min-support"
    improvement = ", a lower --min-improvement" if options.min_improvement is not None else ""
    return f"a lower --min-support{improvement} or a lower --min-threshold"


def _say(rules: pd.DataFrame, options: argparse.Namespace) -> None:
    about = rules.attrs["about"]
    say(f"{count_text(about['passed'], 'rule')} with {about['metric']} of at least {options.min_threshold:g}")
    if "adjust" in about:
        kept = (
            ""
            if options.alpha is None
            else f"; {count_text(about['significant'], 'rule')} with at most {options.alpha:g}"
        )
        say(f"p-values are adjusted for {about['tests']:,} rules looked at, by the method '{about['adjust']}'{kept}")
    if "level_of_each" in about:
        say(
            f"intervals are widened for selection, to a level of {100 * about['level_of_each']:.7g}% each: rules are "
            f"chosen from {about['tests']:,} looked at"
        )
    doubtful = int((rules["caution"] != "").sum()) if "caution" in rules else 0
    if doubtful:
        say(
            f"note: in {count_text(doubtful, 'rule')} the interval of some measure should not be trusted (a ? in the "
            "table, the column caution in files): it rests on a cell that is hardly above 0, or on few reports"
        )


def _make(
    found: FrequentItemsets,
    options: argparse.Namespace,
    measures: list[str],
    template: RuleTemplate,
    on_progress: Callable[[LevelProgress], None] | None,
) -> pd.DataFrame:
    return found.rules(
        metric=options.metric,
        min_threshold=options.min_threshold,
        measures=[*ALWAYS, *measures] if measures else None,
        template=template,
        top=options.top or (ROWS_OF_A_TABLE if options.fcr and is_table(options) else None),
        sort_by=options.sort_by,
        min_improvement=options.min_improvement,
        interval=options.interval,
        level=options.level,
        sampling=options.sampling,
        bias=options.bias,
        fcr=options.fcr,
        adjust=options.adjust,
        alpha=options.alpha,
        alternative=options.alternative,
        on_progress=on_progress,
    )


def _measures(text: str | None) -> list[str]:
    """Canonical names of the measures asked for; none for the usual ones."""
    from bosket.measures import measures

    return [] if text is None else [record.name for record in measures(text)]


def _sizes(text: str) -> int | tuple[int, int | None]:
    """``2``, ``1-3`` or ``2-``."""
    try:
        least, dash, most = text.partition("-")
        return (int(least), int(most) if most else None) if dash else int(least)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number or a range such as 1-3, got {text!r}") from None


def _template(options: argparse.Namespace, domain: Domain) -> RuleTemplate:
    from bosket.mining import RuleTemplate

    return RuleTemplate(
        antecedents=_labels("antecedent", options, domain),
        consequents=_labels("consequent", options, domain),
        antecedent_size=options.antecedent_size,
        consequent_size=options.consequent_size,
    )


def _labels(side: str, options: argparse.Namespace, domain: Domain) -> list[Hashable] | None:
    """Items as the data have them: text, or a whole number."""
    texts: list[str] | None = getattr(options, side)
    if texts is None:
        return None
    labels: list[Hashable] = []
    for text in texts:
        options_for_it: list[Hashable] = [text, *([int(text)] if text.lstrip("-").isdigit() else [])]
        known = [label for label in options_for_it if label in domain]
        if not known:
            raise clash(side, f"name items of the data, and {text!r} is none", options)
        labels += known
    return labels


def _show(rules: pd.DataFrame, metric: str, measures: Sequence[str]) -> None:
    from bosket.reporting.text import decimals_for, interval_text, itemset_text, number

    about = rules.attrs["about"]
    decimals = decimals_for(about["min_support"])
    shown = [name for name in dict.fromkeys([metric, *(measures or ("confidence", "lift"))]) if name != "support"]
    is_exact = "caution" not in rules
    interval = f"{100 * about['level']:g}% interval{', widened' if 'level_of_each' in about else ''}"
    rows = []
    for _, rule in rules.iterrows():
        row = [itemset_text(rule["antecedents"]), itemset_text(rule["consequents"]), number(rule["support"], decimals)]
        doubtful = [] if is_exact else str(rule["caution"]).split(", ")
        for measure in shown:
            row.append(_figures(rule[measure]))
            if not is_exact:
                low, high = rule[f"{measure}_low"], rule[f"{measure}_high"]
                row.append(interval_text(low, high) + (" ?" if measure in doubtful else ""))
        if "p_adjusted" in rules:
            row.append(f"{rule['p_adjusted']:.2g}")
        rows.append(row)
    headings = [heading for name in shown for heading in ([name] if is_exact else [name, interval])]
    headings += ["adjusted p"] if "p_adjusted" in rules else []
    order = f"by the low end of the interval of {metric}" if not is_exact and about.get("sort_by") != "estimate" else ""
    title = "Association rules" + (f", {order}" if order else "")
    print_table(title, ["antecedents", "consequents", "support", *headings], rows, text_columns=2)


def _figures(value: float) -> str:
    """Three decimals, or as many figures of a large or small number."""
    from bosket.reporting.text import number

    return number(value) if value != value or 1e-2 <= abs(value) < 1e5 or value == 0 else f"{value:.3g}"


class _List(argparse.Action):
    """Print the catalogue and stop, like --help."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from bosket.measures import CATALOGUE
        from bosket.measures.catalogue import names

        rows = [[record.name, ", ".join(names(record)[1:]), record.formula] for record in CATALOGUE.values()]
        with contextlib.suppress(BrokenPipeError):
            print_table("Measures of a rule A => C", ["measure", "other names", "formula"], rows, text_columns=3)
        parser.exit()
