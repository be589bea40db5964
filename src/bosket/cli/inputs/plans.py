"""Small files that settle a plan: items, and the plan itself."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

from bosket.cli.inputs.rows import read_small, read_text
from bosket.data import Domain
from bosket.data.formats.csv_files import is_whole_number
from bosket.data.formats.sources import MAX_BYTES, file_source
from bosket.errors import DataError, ParameterError
from bosket.plan import Plan


def read_plan(path: Path, *, max_bytes: int | None = MAX_BYTES) -> Plan:
    """A plan from its JSON."""
    try:
        return Plan.from_json(read_small(path, max_bytes=max_bytes))
    except (DataError, ParameterError) as error:
        if isinstance(error, DataError) and error.path is not None:
            raise
        raise DataError(f"The plan in {path} cannot be used: {error}", path=path, hint=error.hint) from None


def read_classes(path: Path, domain: Domain, *, max_bytes: int | None = MAX_BYTES) -> dict[Hashable, float]:
    """Items that must be hidden better, each with its epsilon: CSV with columns item and epsilon."""
    source = file_source(path)
    lines = read_text(path, max_bytes=max_bytes).splitlines()
    known = {str(label): label for label in domain.labels}
    found: dict[Hashable, float] = {}
    for line, text in enumerate(lines, 1):
        item, comma, value = (part.strip() for part in text.rpartition(","))
        if line == 1 and (item, value) == ("item", "epsilon"):
            continue
        if not comma or item not in known:
            raise source.error("must hold an item of the study, a comma and an epsilon", line=line)
        try:
            found[known[item]] = float(value)
        except ValueError:
            raise source.error("must hold a number after the comma", line=line) from None
    return found


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
