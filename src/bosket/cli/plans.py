"""Small files that settle a plan: items, keeps, and the plan itself."""

from __future__ import annotations

import csv
import json
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bosket.checks import check_probability
from bosket.data import Domain
from bosket.data.sources import file_source, load
from bosket.errors import DataError, ParameterError
from bosket.mechanisms import Flip
from bosket.plan import Plan


def _text(path: Path) -> str:
    content = load(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    raise file_source(path).error("is not text in UTF-8", line=line)


def _has_whole_labels(domain: Domain) -> bool:
    return bool(domain.labels) and all(
        isinstance(label, int) and not isinstance(label, bool) for label in domain.labels
    )


def read_plan(path: Path) -> Plan:
    """A plan from its JSON."""
    try:
        return Plan.from_json(_text(path))
    except (DataError, ParameterError) as error:
        if isinstance(error, DataError) and error.path is not None:
            raise
        raise DataError(f"The plan in {path} cannot be used: {error}", path=path, hint=error.hint) from None


def read_items(path: Path, *, like: Domain) -> Domain:
    """A domain from a file with a label a line; whole numbers if the labels of ``like`` are."""
    source = file_source(path)
    is_whole = _has_whole_labels(like)
    labels: dict[Hashable, int] = {}
    for line, text in enumerate(_text(path).splitlines(), 1):
        label: Hashable = text
        if not text.strip():
            raise source.error("must hold an item", line=line)
        if is_whole:
            try:
                label = int(text)
            except ValueError:
                label = None
            if label is None:
                raise source.error("must hold a whole number, as the items of the baskets are", line=line)
        if labels.setdefault(label, line) != line:
            raise source.error(f"must not repeat line {labels[label]}", line=line)
    return Domain(labels)


class Row(NamedTuple):
    """A line of a keep file; JSON has no lines worth telling."""

    line: int | None
    item: str
    keep: Any
    keep_absent: Any


def read_keep(path: Path, domain: Domain, *, keep_absent: float | None, default: float | None) -> Flip:
    """The mechanism that a keep file describes, for items of this domain."""
    source = file_source(path)
    labels = _by_text(domain, path)
    is_whole = _has_whole_labels(domain)
    keeps: dict[Hashable, float] = {}
    absents: dict[Hashable, float] = {}
    for row in _keep_rows(path):
        text = row.item.strip().lstrip("+") if is_whole else row.item
        if text not in labels:
            raise source.error(f"names an item that the domain does not have, {row.item!r}", line=row.line)
        label = labels[text]
        if label in keeps:
            raise source.error(f"names the item {row.item!r} more than once", line=row.line)
        keeps[label] = _probability("keep", row.keep, row, path)
        if row.keep_absent not in (None, ""):
            absents[label] = _probability("keep_absent", row.keep_absent, row, path)
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


def _probability(name: str, value: Any, row: Row, path: Path) -> float:
    try:
        return check_probability(name, float(value) if isinstance(value, str) else value)
    except ValueError:  # a ParameterError is one too
        pass
    raise file_source(path).error(
        f"must give {name} of {row.item!r} as a number in [0, 1], got {value!r}", line=row.line
    )


def _keep_rows(path: Path) -> Iterator[Row]:
    if path.suffix.lower() == ".json":
        return _json_rows(path)
    if path.suffix.lower() == ".csv":
        return _csv_rows(path)
    raise ParameterError(
        f"The keep file must end in .csv or .json, got '{path.name}'.", parameter="keep_file", value=path
    )


def _csv_rows(path: Path) -> Iterator[Row]:
    source = file_source(path)
    reader = csv.reader(_text(path).splitlines(keepends=True), strict=True)
    fault = None
    try:
        header = [name.strip() for name in next(reader, [])]
        if header not in (["item", "keep"], ["item", "keep", "keep_absent"]):
            raise source.error("must begin with the header item,keep or item,keep,keep_absent", line=1)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise source.error(f"must have {len(header)} values", line=reader.line_num)
            yield Row(reader.line_num, cells[0], cells[1], cells[2] if len(cells) > 2 else None)
    except csv.Error:
        fault = "cannot be read as CSV"
    if fault is not None:
        raise source.error(fault, line=reader.line_num)


def _json_rows(path: Path) -> Iterator[Row]:
    """``{"milk": 0.9, "hiv": {"keep": 0.7, "keep_absent": 0.8}}``."""
    source = file_source(path)
    pairs: Any = None
    line = None
    try:
        pairs = json.loads(_text(path), object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        line = error.lineno
    if line is not None:
        raise source.error("cannot be read as JSON", line=line)
    if not isinstance(pairs, _Pairs):
        raise source.error("must be a JSON object from item to keep")
    for item, value in pairs:
        if not isinstance(value, _Pairs):
            yield Row(None, item, value, None)
            continue
        parts = dict(value)
        if not {"keep"} <= set(parts) <= {"keep", "keep_absent"}:
            raise source.error(f"must give keep, and may give keep_absent, of {item!r}")
        yield Row(None, item, parts["keep"], parts.get("keep_absent"))


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it stands, so that a key given twice is noticed."""
