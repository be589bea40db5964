"""What ``mine`` and ``rules`` have in common: read, say what was read, search, deliver."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bosket.cli.inputs.attributes import check_table
from bosket.cli.inputs.files import STANDARD_INPUT, check_output, domain_text, say_reports
from bosket.cli.inputs.options import clash
from bosket.cli.inputs.raw import follows, read_data
from bosket.cli.inputs.remote import fetched
from bosket.cli.inputs.spark_data import read_spark
from bosket.cli.views.console import Work, say
from bosket.cli.views.results import check_result, is_table, parameters_of, write_result
from bosket.reporting.export import ResultKind
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    import pandas as pd

    from bosket.cli.inputs.raw import ReportsOfPhases
    from bosket.evidence import EvidenceSource
    from bosket.evidence.of import Model
    from bosket.mechanisms.base import Records
    from bosket.mining import FrequentItemsets
    from bosket.privacy import LocalGuarantee
    from bosket.reporting.page import Page

ROWS_OF_A_TABLE = 20


def check_options(options: argparse.Namespace, kind: ResultKind) -> None:
    """Refuse what makes no sense, or could not be written, before any work is done."""
    check_table(options)
    if options.order is not None and options.model != "log-linear":
        raise clash("order", "come with --model log-linear", options)
    inputs = [path for path in options.data if path != STANDARD_INPUT]
    inputs += [] if options.schema is None else [options.schema]
    check_result(options, kind, inputs=inputs)
    if options.report is not None:
        check_output(options.report, suffixes=(".html", ".htm"), inputs=[*inputs, options.output])


def read(options: argparse.Namespace, work: Work) -> Any:
    """The reports or raw records that the options name; what they are is said."""
    shown = options.data[0] if len(options.data) == 1 else f"{len(options.data)} files"
    with work.step(f"reading {shown}"), fetched(options.data, options) as paths:
        data: Any = read_data(paths, options) if getattr(options, "spark", None) is None else read_spark(options)
    if isinstance(data, tuple):
        for number, phase in enumerate(data, 1):
            say_reports(phase, shown if len(data) == 1 else f"phase {number} of {len(data)}")
        _say_phases(data)
    else:
        if options.mechanism is not None:
            raise clash("mechanism", "come with reports: raw records were made by none", options)
        if options.model == "log-linear":
            raise clash("model", "be auto or none where raw records are given: they are counted", options)
        say(
            f"{shown}: {'a raw table' if options.table else 'raw baskets'}, {count_text(data.n_records, 'record')} "
            f"over {domain_text(data.domain)}"
            + ("" if getattr(options, "without_parameters", False) else "; the result is exact and protects nobody")
        )
    return data


def _say_phases(phases: ReportsOfPhases) -> None:
    """What the phases rest on, and a word where the answers that questions were made by are not at hand."""
    if len(phases) > 1:
        say("note: all phases are read together; the guarantee is for people who answered in one of them alone")
        return
    first = follows(phases[0].plan.mechanism)
    if first is not None:
        say(f"note: these questions follow the answers of plan {first[:12]}; name their file too to read both")


def search(options: argparse.Namespace, work: Work) -> tuple[FrequentItemsets, LocalGuarantee | None]:
    """Mine what the options name."""
    from bosket.mining import mine
    from bosket.privacy import CentralGuarantee

    data = read(options, work)
    is_reports = isinstance(data, tuple)
    if isinstance(data, tuple):
        _refuse_law(data, options)
    model = _model(options)
    if isinstance(data, tuple) and _is_fitted(data, model):
        say("fitting a law to the answers, which takes minutes where attributes are many; -v tells of each order")
    with work.step("fitting a law to all phases") if is_reports and len(data) > 1 else contextlib.nullcontext():
        source, how = _source(data, model)
    with work.levels("mining") as on_progress:
        found = mine(
            source,
            min_support=options.min_support,
            max_size=options.max_size,
            slack=options.slack,
            max_candidates=options.max_candidates,
            model=how,
            on_progress=on_progress,
        )
    if isinstance(data, tuple):
        found.notes["parameters"] = parameters_of(*data)
    _say_found(found)
    promise = found.provenance.guarantee
    return found, None if isinstance(promise, CentralGuarantee) else promise


def _model(options: argparse.Namespace) -> Model:
    """What is fitted to reports, as ``mine`` takes it."""
    if options.model == "none":
        return None
    if options.order is None:
        chosen: str = options.model
        return chosen
    from bosket.models.loglinear import LogLinear

    return LogLinear(options.order)


def _is_fitted(phases: ReportsOfPhases, model: Model) -> bool:
    """Whether a law is fitted before anything is counted: to answers about a table, and on request."""
    from bosket.mechanisms import Ask

    return model is not None and (model != "auto" or isinstance(phases[0].plan.mechanism, Ask))


def _refuse_law(phases: ReportsOfPhases, options: argparse.Namespace) -> None:
    """ReportsOfPhases of baskets are read together without a law, which is one of a table."""
    if options.model == "log-linear" and len(phases) > 1 and phases[0].domain.groups is None:
        raise clash("model", "be auto or none for phases of baskets: no law is fitted to them", options)


def _source(data: ReportsOfPhases | Records, model: Model) -> tuple[EvidenceSource, Model]:
    """What is mined, and the model that is still to be fitted to it."""
    from bosket.evidence import pool

    if not isinstance(data, tuple):
        return data, "auto"
    return (data[0], model) if len(data) == 1 else (pool(*data, model=model), "auto")


def _say_found(found: FrequentItemsets) -> None:
    sizes = ", ".join(f"{count:,} of size {size}" for size, count in found.sizes.items())
    say(f"{count_text(len(found), 'frequent itemset')}{f': {sizes}' if sizes else ''}")
    for name in ("stopped", "left_out", "hopeless", "repeats"):
        if name in found.notes:
            say(f"note: {found.notes[name]}")
    if found.provenance.model is not None:
        say(f"model: {found.provenance.model}")
    if found.provenance.support_of is not None:
        say(f"note: supports are those of {found.provenance.support_of} (the column support_of in files)")


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
