"""What commands read and where they write."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket.cli.console import say
from bosket.data.atomic import atomic_path
from bosket.errors import DataError, ParameterError
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    from bosket.data import Baskets, Domain
    from bosket.data.layouts import Layout
    from bosket.reports import Reports

STANDARD_INPUT = "-"
_SHOWN_INPUT = Path("/dev/stdin")


def read_baskets(path: str, *, input_format: str | None, layout: Layout | None) -> Baskets:
    """Raw baskets from a file, or from standard input."""
    from bosket.data import Baskets
    from bosket.data.files import FORMATS
    from bosket.data.sources import load

    if path == STANDARD_INPUT:
        csr = FORMATS[f".{input_format or 'dat'}"].read(read_standard_input(), _SHOWN_INPUT, layout)
    elif input_format is not None:
        csr = FORMATS[f".{input_format}"].read(load(path), Path(path), layout)
    else:
        return Baskets.read(path, layout=layout)
    return Baskets.from_csr(csr.indptr, csr.indices, csr.domain)


def read_standard_input() -> bytes:
    from bosket.data.sources import file_source

    content = sys.stdin.buffer.read()
    if not content:
        raise file_source(_SHOWN_INPUT).error("is empty")
    return content


def shown_path(path: str) -> Path:
    """What messages call a file to read."""
    return _SHOWN_INPUT if path == STANDARD_INPUT else Path(path)


def domain_text(domain: Domain) -> str:
    """``20 items``, or of a table ``20 items of 5 attributes``."""
    attributes = "" if domain.groups is None else f" of {count_text(int(domain.groups[-1]) + 1, 'attribute')}"
    return f"{count_text(len(domain), 'item')}{attributes}"


def say_reports(reports: Reports, shown: str) -> None:
    """What was read, and what it promises to those who sent it."""
    say(
        f"{shown}: {count_text(reports.n_records, 'report')} over {domain_text(reports.domain)}, "
        f"{reports.plan.mechanism}, plan {reports.plan.digest[:12]}"
    )
    for what in reports.guarantee.reveals:
        say(f"  in the clear: {what}")
    for line in reports.guarantee.card().splitlines():
        if line.split()[0] in ("item", "record"):
            say(f"  privacy of one {' '.join(line.split())}")
    limit = reports.plan.max_size
    if reports.plan.unit.longer == "sample" and limit is not None:
        say(f"  longer records were sampled down to {count_text(limit, 'item')} first: supports are of these")
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
