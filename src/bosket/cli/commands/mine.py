"""``bosket mine``: frequent itemsets of reports, or of raw records exactly."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bosket.cli.inputs.attributes import add_table
from bosket.cli.inputs.options import Commands, add_command, add_search
from bosket.cli.inputs.searching import check_options, deliver, search
from bosket.cli.views.console import Work, say
from bosket.cli.views.tables import print_table
from bosket.reporting.export import ITEMSETS
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    import pandas as pd

    from bosket.reporting.page import Page


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    add_search(command)
    add_table(command)


def run(options: argparse.Namespace) -> None:
    check_options(options, ITEMSETS)
    work = Work(options)
    found, guarantee = search(options, work)
    with work.levels("listing") as on_progress:
        frame = found.to_frame(level=options.level, sampling=options.sampling, on_progress=on_progress)

    doubtful = int(frame["caution"].sum()) if "caution" in frame else 0
    if doubtful:
        say(
            f"note: of {count_text(doubtful, 'itemset')} the interval should not be trusted (a ? in the table, the "
            "column caution in files): "
            + (
                "fewer than twenty reports show the itemset, or coins seldom change an item of it"
                if found.provenance.model is None
                else "what answers say of it by themselves lies far from what the fitted law says"
            )
        )

    def page() -> Page:
        from bosket.reporting.study import itemsets_page

        return itemsets_page(frame, sizes=found.sizes, guarantee=guarantee)

    deliver(frame, ITEMSETS, options, show=_show, page=page, by="support")


def _show(frame: pd.DataFrame) -> None:
    from bosket.reporting.text import decimals_for, interval_text, itemset_text, number

    about = frame.attrs["about"]
    decimals = decimals_for(about["min_support"])
    is_exact = "stderr" not in frame
    rows = []
    for _, row in frame.iterrows():
        cells = [itemset_text(row["itemsets"]), number(row["support"], decimals)]
        if not is_exact:
            doubt = " ?" if row.get("caution", False) else ""
            cells += [number(row["stderr"], decimals + 1), interval_text(row["low"], row["high"], decimals) + doubt]
        rows.append(cells)
    errors = [] if is_exact else ["stderr", f"{100 * about['level']:g}% interval"]
    print_table("Frequent itemsets", ["itemset", "support", *errors], rows)
