"""What ``mine`` and ``rules`` have in common: read, say what was read, search, deliver."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bosket.cli.console import Work, say
from bosket.cli.files import STANDARD_INPUT, check_output, read_data, write_json
from bosket.cli.tables import SUFFIXES, Kind, print_text, write_file
from bosket.errors import ParameterError
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    import pandas as pd

    from bosket.mining import FrequentItemsets
    from bosket.privacy import LocalGuarantee
    from bosket.reporting.page import Page

_ROWS_OF_A_TABLE = 20


def check_outputs(options: argparse.Namespace) -> None:
    """Refuse what could not be written before any work is done."""
    inputs = [path for path in options.data if path != STANDARD_INPUT]
    if options.output is not None:
        check_output(options.output, suffixes=SUFFIXES, inputs=inputs)
        if options.format is not None and options.output.suffix.lower() != f".{options.format}":
            raise ParameterError(
                f"The '--format' option must agree with the suffix of the output file, got {options.format} for "
                f"'{options.output.name}'.",
                parameter="format",
                value=options.format,
            )
    if options.report is not None:
        check_output(options.report, suffixes=(".html", ".htm"), inputs=[*inputs, options.output])


def search(options: argparse.Namespace, work: Work) -> tuple[FrequentItemsets, LocalGuarantee | None]:
    """Mine what the options name."""
    from bosket.mining import mine
    from bosket.reports import Reports

    shown = options.data[0] if len(options.data) == 1 else f"{len(options.data)} files"
    with work.step(f"reading {shown}"):
        data = read_data(options.data, input_format=options.input_format, layout=options.layout)
    guarantee = data.guarantee if isinstance(data, Reports) else None
    if isinstance(data, Reports):
        say(
            f"{shown}: {count_text(data.n_records, 'report')} over {count_text(len(data.domain), 'item')}, "
            f"{data.plan.mechanism}, plan {data.plan.digest[:12]}"
        )
        for line in data.guarantee.card().splitlines():
            if line.split()[0] in ("item", "record"):
                say(f"  privacy of one {' '.join(line.split())}")
        if data.is_simulation:
            say(f"  warning: the reports are {data.randomness}")
    else:
        say(
            f"{shown}: raw baskets, {count_text(data.n_records, 'record')} over "
            f"{count_text(data.n_items, 'item')}; the result is exact and protects nobody"
        )
    with work.levels("mining") as on_progress:
        found = mine(
            data,
            min_support=options.min_support,
            max_size=options.max_size,
            slack=options.slack,
            max_candidates=options.max_candidates,
            on_progress=on_progress,
        )
    if isinstance(data, Reports):
        mechanism = data.plan.mechanism
        found.about["parameters"] = {"name": mechanism.name, **mechanism.to_json()}
    sizes = ", ".join(f"{count:,} of size {size}" for size, count in found.sizes.items())
    say(f"{count_text(len(found), 'frequent itemset')}{f': {sizes}' if sizes else ''}")
    return found, guarantee


def deliver(
    frame: pd.DataFrame,
    kind: Kind,
    options: argparse.Namespace,
    *,
    show: Callable[[pd.DataFrame], None],
    page: Callable[[], Page],
    by: str,
) -> None:
    """The page, then the file or the text; ``by`` is the column that says which rows are best."""
    if options.report is not None:
        page().write(options.report)
        say(f"wrote {options.report}")
    is_table = options.output is None and options.format in (None, "table")
    top = options.top or (_ROWS_OF_A_TABLE if is_table else None)
    chosen = frame if top is None else best(frame, by).head(top)
    if options.output is not None:
        write_file(chosen, kind, options.output)
        say(f"wrote {count_text(len(chosen), 'row')} to {options.output}")
        if _is_csv(options):  # CSV has no place for what made it
            beside = options.output.with_name(f"{options.output.name}.about.json")
            write_json(frame.attrs["about"], beside)
            say(f"wrote what made them to {beside}")
    elif is_table:
        show(chosen)
    else:
        print_text(chosen, kind, options.format)
    if not len(frame):
        say("hint: nothing passed; a lower --min-support, or for rules a lower --min-threshold, lets more through.")
    if len(chosen) < len(frame):
        say(f"{len(frame) - len(chosen):,} more; --top N shows more of them, --format csv or -o FILE all")
    if options.output is None and _is_csv(options):
        say(f"about: {_about_line(frame.attrs['about'])}")


def best(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    ordered = frame.sort_values(by, ascending=False, kind="stable")
    ordered.attrs = frame.attrs
    return ordered


def _is_csv(options: argparse.Namespace) -> bool:
    return bool(options.format == "csv" if options.output is None else options.output.suffix.lower() == ".csv")


def _about_line(about: dict[str, Any]) -> str:
    left_out = ("guarantee", "parameters")  # the first was said above, the second may be long
    return ", ".join(f"{key} {value}" for key, value in about.items() if key not in left_out and value is not None)
