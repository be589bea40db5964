"""What ``mine`` and ``rules`` have in common: read, say what was read, search, deliver."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from bosket.cli.inputs.attributes import check_table
from bosket.cli.inputs.files import STANDARD_INPUT, check_output, domain_text, say_reports
from bosket.cli.inputs.options import clash
from bosket.cli.inputs.raw import read_data
from bosket.cli.views.console import Work, say
from bosket.cli.views.results import check_result, is_table, parameters_of, write_result
from bosket.reporting.export import ResultKind
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    import pandas as pd

    from bosket.mechanisms.base import Records
    from bosket.mining import FrequentItemsets
    from bosket.privacy import LocalGuarantee
    from bosket.reporting.page import Page
    from bosket.reports import Reports
    from bosket.tally import Tally

ROWS_OF_A_TABLE = 20
_NOISE = 1 / 3  # of the minimum support: beyond it, itemsets that nobody has pass by chance, and there are many of them


def check_options(options: argparse.Namespace, kind: ResultKind) -> None:
    """Refuse what makes no sense, or could not be written, before any work is done."""
    check_table(options)
    inputs = [path for path in options.data if path != STANDARD_INPUT]
    inputs += [] if options.schema is None else [options.schema]
    check_result(options, kind, inputs=inputs)
    if options.report is not None:
        check_output(options.report, suffixes=(".html", ".htm"), inputs=[*inputs, options.output])


def read(options: argparse.Namespace, work: Work) -> Reports | Tally | Records:
    """The reports or raw records that the options name; what they are is said."""
    from bosket.collected import Collected

    shown = options.data[0] if len(options.data) == 1 else f"{len(options.data)} files"
    with work.step(f"reading {shown}"):
        data = read_data(options.data, options)
    if isinstance(data, Collected):
        say_reports(data, shown)
    else:
        if options.mechanism is not None:
            raise clash("mechanism", "come with reports: raw records were made by none", options)
        say(
            f"{shown}: {'a raw table' if options.table else 'raw baskets'}, {count_text(data.n_records, 'record')} "
            f"over {domain_text(data.domain)}"
            + ("" if getattr(options, "without_parameters", False) else "; the result is exact and protects nobody")
        )
    return data


def search(options: argparse.Namespace, work: Work) -> tuple[FrequentItemsets, LocalGuarantee | None]:
    """Mine what the options name."""
    from bosket.collected import Collected
    from bosket.mining import mine

    data = read(options, work)
    guarantee = data.guarantee if isinstance(data, Collected) else None
    with work.levels("mining") as on_progress:
        found = mine(
            data,
            min_support=options.min_support,
            max_size=options.max_size,
            slack=options.slack,
            max_candidates=options.max_candidates,
            on_progress=on_progress,
        )
    if isinstance(data, Collected):
        found.notes["parameters"] = parameters_of(data)
    sizes = ", ".join(f"{count:,} of size {size}" for size, count in found.sizes.items())
    say(f"{count_text(len(found), 'frequent itemset')}{f': {sizes}' if sizes else ''}")
    for size, error in found.typical_stderr.items() if isinstance(data, Collected) else ():
        if error > found.min_support * _NOISE:
            say(
                f"warning: at size {size} the standard error is about {error:.2g}, and the minimum support "
                f"{found.min_support:g}: many of these itemsets are noise; four standard errors are "
                f"{_round_up(4 * error):g}"
            )
    for name in ("stopped", "left_out"):
        if name in found.notes:
            say(f"note: {found.notes[name]}")
    return found, guarantee


def _round_up(value: float) -> float:
    """To two digits."""
    step: float = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / step) * step


def deliver(
    frame: pd.DataFrame,
    kind: ResultKind,
    options: argparse.Namespace,
    *,
    show: Callable[[pd.DataFrame], None],
    page: Callable[[], Page],
    by: str | None,
    more: str = "a lower --min-support",
) -> None:
    """The page, then the file or the text.

    ``by`` is the column that says which rows are best, None for the first; ``more`` is what lets more rows through.
    """
    if options.report is not None:
        page().write(options.report)
        say(f"wrote {options.report}")
    top = options.top or (ROWS_OF_A_TABLE if is_table(options) else None)
    chosen = frame if top is None else (frame if by is None else best(frame, by)).head(top)
    if is_table(options):
        show(chosen)
    else:
        write_result(chosen, kind, options)
    if not len(frame):
        say(f"hint: nothing passed; {more} lets more through.")
    if len(chosen) < len(frame):
        say(f"{len(frame) - len(chosen):,} more; --top N shows more of them, --format csv or -o FILE all")


def best(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    ordered = frame.sort_values(by, ascending=False, kind="stable")
    ordered.attrs = frame.attrs
    return ordered
