"""Files of designs: what ``bosket ask`` writes, and ``bosket randomize --design`` asks people."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket import strict_json
from bosket.cli.inputs.options import clash
from bosket.cli.inputs.rows import read_small
from bosket.errors import DataError, ParameterError

if TYPE_CHECKING:
    from bosket.mechanisms import Design


def read_design(path: Path, *, max_bytes: int | None) -> Design:
    """A design from its JSON, read as strictly as a plan."""
    from bosket.mechanisms import Design

    value = strict_json.parse(read_small(path, max_bytes=max_bytes), what=f"the design in {path}", path=path)
    try:
        return Design.from_json(value)
    except (DataError, ParameterError) as error:
        raise DataError(f"The design in {path} cannot be used: {error}", path=path, hint=_hint(value)) from None


def _hint(value: Any) -> str:
    if isinstance(value, dict) and "mechanism" in value:
        return "This seems to be a plan, which --plan takes; 'bosket ask' makes designs."
    return "'bosket ask' makes designs."


def add_design(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--design",
        type=Path,
        metavar="FILE",
        help="with --table and --gamma: ask each person one question of the design in this file, which 'bosket ask' "
        "makes; the short way for --mechanism ask --set design=@FILE --set gamma=G",
    )


def settle_design(options: argparse.Namespace, *, others: list[str]) -> None:
    """Put ``--design FILE --gamma G`` the long way; ``others`` are options of mechanisms that must not come with it."""
    if options.design is None:
        return
    for name in others:
        if name != "gamma" and getattr(options, name) not in (None, []):
            raise clash(name, "not come with --design, which says how to randomize", options)
    if not options.table:
        raise clash("design", "come with --table", options)
    if options.gamma is None:
        raise clash("design", "come with --gamma", options)
    from bosket.mechanisms import Ask

    read_design(
        options.design, max_bytes=options.max_bytes
    )  # a file that is none is refused before anything else is read
    options.mechanism = Ask
    options.set = [("design", f"@{options.design}"), ("gamma", repr(options.gamma))]
    options.gamma = None
