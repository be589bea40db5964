"""Small files that settle a plan: items, keeps, and the plan itself."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path

from bosket.checks import check_probability
from bosket.cli.rows import Row, read_rows, read_text
from bosket.data import Domain
from bosket.data.csv_files import is_whole_number
from bosket.data.sources import MAX_BYTES, file_source
from bosket.errors import DataError, ParameterError
from bosket.mechanisms import Flip
from bosket.plan import Plan

_KEEP_HEADERS = (("item", "keep"), ("item", "keep", "keep_absent"))


def _has_whole_labels(domain: Domain) -> bool:
    return bool(domain.labels) and all(
        isinstance(label, int) and not isinstance(label, bool) for label in domain.labels
    )


def read_plan(path: Path) -> Plan:
    """A plan from its JSON."""
    try:
        return Plan.from_json(read_text(path))
    except (DataError, ParameterError) as error:
        if isinstance(error, DataError) and error.path is not None:
            raise
        raise DataError(f"The plan in {path} cannot be used: {error}", path=path, hint=error.hint) from None


def read_items(path: Path, *, max_bytes: int | None = MAX_BYTES) -> Domain:
    """A domain from a file with a label a line; whole numbers if all of them are."""
    source = file_source(path)
    lines = read_text(path, max_bytes=max_bytes).splitlines()
    is_whole = all(map(is_whole_number, lines))
    labels: dict[Hashable, int] = {}
    for line, text in enumerate(lines, 1):
        label: Hashable = int(text) if is_whole else text
        if not text.strip():
            raise source.error("must hold an item", line=line)
        if labels.setdefault(label, line) != line:
            raise source.error(f"must not repeat line {labels[label]}", line=line)
    return Domain(labels)


def read_keep(path: Path, domain: Domain, *, keep_absent: float | None, default: float | None) -> Flip:
    """The mechanism that a keep file describes, for items of this domain."""
    source = file_source(path)
    labels = _by_text(domain, path)
    is_whole = _has_whole_labels(domain)
    keeps: dict[Hashable, float] = {}
    absents: dict[Hashable, float] = {}
    for row in map(_with_fields, read_rows(path, parameter="keep_file", headers=_KEEP_HEADERS)):
        text = row.name.strip().lstrip("+") if is_whole else row.name
        if text not in labels:
            raise row.error(f"names an item that the domain does not have, {row.name!r}")
        label = labels[text]
        if label in keeps:
            raise row.error(f"names the item {row.name!r} more than once")
        keeps[label] = _probability("keep", row)
        if row.content.get("keep_absent") not in (None, ""):
            absents[label] = _probability("keep_absent", row)
    if not keeps:
        raise source.error("names no item")
    if absents and keep_absent is not None:
        raise ParameterError(
            "The '--keep-absent' option must not come with a keep file that has keep_absent.",
            parameter="keep_absent",
            value=keep_absent,
        )
    if default is None and len(keeps) < len(domain):
        raise source.error(
            f"names {len(keeps)} of the {len(domain)} items", hint="Give the keep of the others with --default."
        )
    return Flip(keep=keeps, keep_absent=absents or keep_absent, default=default if len(keeps) < len(domain) else None)


def _by_text(domain: Domain, path: Path) -> dict[str, Hashable]:
    labels = {str(label): label for label in domain.labels}
    if len(labels) < len(domain):
        raise DataError(f"The items cannot be told apart by their text, so {path} cannot name them.", path=path)
    return labels


def _with_fields(row: Row) -> Row:
    """JSON may be as short as ``{"milk": 0.9, "hiv": {"keep": 0.7, "keep_absent": 0.8}}``."""
    fields = row.content if isinstance(row.content, dict) else {"keep": row.content}
    if not {"keep"} <= set(fields) <= {"keep", "keep_absent"}:
        raise row.error(f"must give keep, and may give keep_absent, of {row.name!r}")
    return replace(row, content=fields)


def _probability(name: str, row: Row) -> float:
    return row.field(name, check_probability, of=repr(row.name), must="a number in [0, 1]")
