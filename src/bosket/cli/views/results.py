"""Results in a file or on standard output, and what made them beside them."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket.cli.inputs.files import check_output
from bosket.cli.inputs.options import clash
from bosket.cli.views.console import say
from bosket.cli.views.tables import print_text
from bosket.errors import ParameterError
from bosket.reporting.export import NAMED, ResultKind, write_beside, write_file
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    import pandas as pd

    from bosket.collected import Collected


def check_result(options: argparse.Namespace, kind: ResultKind, *, inputs: Collection[str | Path]) -> None:
    """Refuse what could not be written before any work is done."""
    suffix = f".{options.format}" if options.output is None else options.output.suffix.lower()
    if kind.names != "bosket" and suffix not in NAMED:
        raise clash("names", f"be bosket unless CSV or JSON is written, got {kind.names}", options)
    if options.output is None:
        return
    check_output(options.output, suffixes=kind.suffixes, inputs=inputs)
    if options.format is not None and options.output.suffix.lower() != f".{options.format}":
        raise ParameterError(
            f"The '--format' option must agree with the suffix of the output file, got {options.format} for "
            f"'{options.output.name}'.",
            parameter="format",
            value=options.format,
        )


def is_table(options: argparse.Namespace) -> bool:
    """Whether the result is to be looked at rather than read by a program."""
    return options.output is None and options.format in (None, "table")


def write_result(frame: pd.DataFrame, kind: ResultKind, options: argparse.Namespace) -> None:
    """The rows in the file, or as text on standard output; CSV has no place for what made it, so that goes beside."""
    if options.output is None:
        print_text(frame, kind, options.format)
        if options.format == "csv":
            say(f"about: {_about_line(frame.attrs['about'])}")
        return
    written = write_file(frame, kind, options.output)
    say(f"wrote {count_text(written, 'row')} to {options.output}")
    if written < len(frame):
        say(
            f"note: left out {count_text(len(frame) - written, 'row')}: PMML has no place for a rule without confidence"
        )
    beside = write_beside(frame, options.output)
    if beside is not None:
        say(f"wrote what made them to {beside}")


def parameters_of(*phases: Collected) -> dict[str, Any]:
    """The mechanism in full, for what is said about a result; of several phases, those of each."""
    every = [{"name": phase.plan.mechanism.name, **phase.plan.mechanism.to_json()} for phase in phases]
    return every[0] if len(every) == 1 else {"name": every[0]["name"], "phases": every}


def _about_line(about: dict[str, Any]) -> str:
    left_out = ("guarantee", "stopped", "left_out", "hopeless", "noise", "parameters")  # long, or said above
    return ", ".join(f"{key} {value}" for key, value in about.items() if key not in left_out and value is not None)
