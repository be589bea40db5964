"""``bosket rules --without-parameters``: pairs of items that depend on each other, in reports as they are."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bosket.cli.inputs.options import clash
from bosket.cli.inputs.searching import check_options, deliver, read
from bosket.cli.views.console import Work, say
from bosket.cli.views.tables import print_table
from bosket.reporting.export import ResultKind
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    import pandas as pd

    from bosket.reporting.page import Page

PAIRS = ResultKind("pairs", ("antecedents", "consequents"))
_OTHERS = {
    "min_support": None, "metric": "confidence", "antecedent": None, "consequent": None, "antecedent_size": None,
    "consequent_size": None, "min_improvement": None, "bias": False, "fcr": False, "sampling": False, "max_size": None,
    "interval": "default", "report": None, "min_threshold": None, "alternative": "greater", "sort_by": "low",
    "names": "bosket", "model": "auto", "order": None,
}  # fmt: skip


def find_dependence(options: argparse.Namespace) -> None:
    """All pairs with the evidence; those with an adjusted p-value up to --alpha (0.05)."""
    from bosket.mining.dependence import dependent_pairs
    from bosket.mining.pair_tests import MEASURES

    for name, usual in _OTHERS.items():
        if getattr(options, name) != usual:
            raise clash(name, "not come with --without-parameters, which tests all pairs of items", options)
    check_options(options, PAIRS)
    work = Work(options)
    found = read(options, work)
    if isinstance(found, tuple) and len(found) > 1:
        raise clash("without_parameters", "come with reports of one plan", options)
    data = found[0] if isinstance(found, tuple) else found
    with work.levels("testing pairs") as on_progress:
        pairs = dependent_pairs(
            data,
            measures=options.measures or MEASURES,
            level=options.level,
            adjust=options.adjust or "by",
            max_p=0.05 if options.alpha is None else options.alpha,
            max_candidates=options.max_candidates,
            on_progress=on_progress,
        )
    about = pairs.attrs["about"]
    say(
        f"{count_text(len(pairs), 'dependent pair')} of {about['tests']:,}, adjusted p at most {about['max_p']:g} "
        f"({about['adjust']})"
    )
    say(f"claim: {about['claim']}")
    say(f"it rests on this: {about['rests_on']}")
    deliver(pairs, PAIRS, options, show=_show, page=_no_page, by=None, more="a higher --alpha")


def _no_page() -> Page:
    raise AssertionError("--report was refused above")


def _show(pairs: pd.DataFrame) -> None:
    from bosket.reporting.text import itemset_text, number

    measures = pairs.attrs["about"]["measures"]
    rows = [
        [
            itemset_text(pair["antecedents"]),
            itemset_text(pair["consequents"]),
            *(number(pair[name]) for name in measures),
            number(pair["correlation_at_least"]),
            f"{pair['p_adjusted']:.2g}",
        ]
        for _, pair in pairs.iterrows()
    ]
    headings = ["item", "item", *measures, "|correlation| at least", "adjusted p"]
    print_table("Dependent pairs, by the observed reports alone", headings, rows, text_columns=2)
