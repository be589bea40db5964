"""What commands read and where they write."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket.cli.inputs.named import check_made_by
from bosket.cli.views.console import say
from bosket.data.formats.atomic import atomic_path
from bosket.errors import DataError, ParameterError
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    from bosket.collected import Collected
    from bosket.data import Baskets, Domain
    from bosket.data.formats.sources import Content
    from bosket.data.formats.vocabulary import Unknown
    from bosket.reports import Reports
    from bosket.tally import Tally

STANDARD_INPUT = "-"
_SHOWN_INPUT = Path("/dev/stdin")


def read_baskets(
    path: str, options: argparse.Namespace, *, items: Domain | None = None, unknown: Unknown = "refuse"
) -> Baskets:
    """Raw baskets from a file, or from standard input, as the options say; over ``items``, where they are declared."""
    from bosket.data import Baskets

    suffix = input_suffix(path, options, default="dat")
    return Baskets.read_from(
        content_of(path, options),
        suffix=suffix,
        layout=options.layout,
        record=options.record,
        item=options.item,
        items=items,
        unknown=unknown,
    )


def content_of(path: str, options: argparse.Namespace) -> Content:
    """The contents of a file, or of standard input, up to the cap that the options give."""
    from bosket.data.formats.sources import Content

    handle = sys.stdin.buffer if path == STANDARD_INPUT else None
    return Content(shown_path(path), options.max_bytes, handle)


def input_suffix(path: str, options: argparse.Namespace, *, default: str) -> str | None:
    """The format of a file, where it is told; standard input has one by ``default``."""
    told = options.input_format or (default if path == STANDARD_INPUT else None)
    return None if told is None else f".{told}"


def read_reports(path: str, options: argparse.Namespace) -> Reports:
    """Reports from a file, up to the cap, where the options give one."""
    from bosket.data.formats.sources import MAX_BYTES
    from bosket.reports import Reports

    cap: dict[str, Any] = {} if options.max_bytes == MAX_BYTES else {"max_bytes": options.max_bytes}
    reports = Reports.read(path, **cap)
    check_made_by(reports.plan.mechanism, options, of=f"The reports in {path} were")
    return reports


def read_collected(path: str, options: argparse.Namespace) -> Reports | Tally:
    """Reports, or a tally of them, up to the cap, where the options give one."""
    from bosket import tally
    from bosket.data.formats.sources import MAX_BYTES

    cap: dict[str, Any] = {} if options.max_bytes == MAX_BYTES else {"max_bytes": options.max_bytes}
    found = tally.read_collected(path, **cap)
    check_made_by(found.plan.mechanism, options, of=f"The reports in {path} were")
    return found


def shown_path(path: str) -> Path:
    """What messages call a file to read."""
    return _SHOWN_INPUT if path == STANDARD_INPUT else Path(path)


def domain_text(domain: Domain) -> str:
    """``20 items``, or of a table ``20 items of 5 attributes``."""
    attributes = "" if domain.groups is None else f" of {count_text(int(domain.groups[-1]) + 1, 'attribute')}"
    return f"{count_text(len(domain), 'item')}{attributes}"


def say_reports(reports: Collected, shown: str) -> None:
    """What was read, and what it promises to those who sent it."""
    say(
        f"{shown}: {count_text(reports.n_records, 'report')} over {domain_text(reports.domain)}, "
        f"{reports.plan.mechanism}, plan {reports.plan.digest[:12]}"
    )
    for what in reports.guarantee.reveals:
        say(f"  in the clear: {what}")
    for line in reports.guarantee.card().split("\n"):
        if line.split()[0] in ("item", "record"):
            say(f"  privacy of one {' '.join(line.split())}")
    limit = reports.plan.max_size
    if reports.plan.unit.longer == "sample" and limit is not None:
        stated = reports.plan.unit.state_sizes_to is not None
        of = "reports state their size, and supports are of whole records" if stated else "supports are of these"
        say(f"  longer records were sampled down to {count_text(limit, 'item')} first: {of}")
    if reports.is_simulation:
        say(f"  warning: the reports are {reports.randomness}")


def check_output(path: Path, *, suffixes: Collection[str] = (), inputs: Collection[str | Path | None] = ()) -> None:
    """Find out before the work begins whether its result could be written, and that it would not replace an input."""
    if suffixes and not path.name.lower().endswith(tuple(suffixes)):
        raise ParameterError(
            f"The output file must end in {', '.join(suffixes)}, got '{path.name}'.",
            parameter="output",
            value=str(path),
        )
    try:
        if not path.parent.is_dir():
            raise DataError(f"Cannot write {path}: there is no directory {path.parent}.", path=path)
        if path.is_dir():
            raise DataError(f"Cannot write {path}: it is a directory.", path=path)
        is_input = any(_is_same(path, Path(other)) for other in inputs if other is not None)
    except OSError as error:
        raise DataError(f"Cannot write {path}: {error.strerror}.", path=path) from None
    if is_input:
        raise ParameterError(
            f"The output file must not be another file of the same command, got '{path}'.",
            parameter="output",
            value=path,
        )


def _is_same(path: Path, other: Path) -> bool:
    return path.samefile(other) if path.exists() and other.exists() else path.absolute() == other.absolute()


def make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"Cannot make the directory {path}: {error.strerror}.", path=path) from None


def write_text(text: str, path: Path) -> None:
    """Write a file whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, "utf-8")


def write_json(value: dict[str, Any], path: Path) -> None:
    write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", path)
