"""Reports by class on disk: one Parquet file.

Its columns are ``randomized`` (fixed-width binary, bit i of byte j is item 8 j + i), ``label`` (the number of the
class) and, where the mechanism has strata, ``stratum``; its metadata hold the plan and its digest, the label with its
classes, and how the chance came about.  The column is not called ``report``, as in a file of plain reports: read as
such, it would come with a guarantee that does not tell of the label.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bosket.data import Attribute, Domain, TableDomain
from bosket.data.atomic import atomic_path
from bosket.errors import DataError
from bosket.plan import Plan
from bosket.report_files import (
    NumberColumn,
    as_bytes,
    check_options,
    metadata_of,
    notes_of,
    opened,
    plan_of,
    randomness_of,
    read_rows,
)
from bosket.reports import Reports
from bosket.strict_json import parse

if TYPE_CHECKING:
    from bosket.learning.by_class import ByClassReports

MOST_CLASSES = 10_000
"""Most classes of a label in a file."""

_LABEL = "label"


def write(reports: ByClassReports, path: str | Path) -> None:
    """All classes one after the other; replaced whole or, if anything fails, not at all."""
    if Path(path).suffix.lower() != ".parquet":
        raise DataError(f"Reports are written as Parquet: {path} must end in .parquet.", path=path)
    parts = list(reports.reports.values())
    width = -(-len(reports.domain) // 8)
    bits = np.concatenate([part.bits for part in parts])
    rows = np.ascontiguousarray(as_bytes(bits)[:, :width])
    codes = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
    columns = {
        "randomized": pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)]),
        "label": pa.array(codes),
    }
    strata = [part.strata for part in parts if part.strata is not None]
    if strata:
        columns["stratum"] = pa.array(np.concatenate(strata))
    metadata = metadata_of(reports.plan, reports.randomness, path)
    metadata[f"bosket.{_LABEL}"] = json.dumps(TableDomain([reports.label]).to_json())
    table = pa.table(columns).replace_schema_metadata(metadata)
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def read(path: str | Path, plan: Plan | None, max_bytes: int | None) -> tuple[Attribute, dict[Hashable, Reports]]:
    """The label and the reports of each class."""
    path = Path(path)
    check_options(plan, max_bytes)
    with opened(path) as file:
        notes = notes_of(file)
        found = plan_of(notes, path, expected=plan)
        label = _label(notes, found, path)
        if "label" not in file.schema_arrow.names:
            raise DataError(f"The reports in {path} do not have the column 'label'.", path=path)
        columns = [
            NumberColumn("label", len(label) - 1, "the number of a class as its label"),
            NumberColumn("stratum", len(found.domain), "the size of a record as its stratum"),
        ]
        bits, numbers = read_rows(file, path, plan=found, bits="randomized", numbers=columns, max_bytes=max_bytes)
    strata = numbers.get("stratum")
    randomness = randomness_of(notes)
    order = np.argsort(numbers["label"], kind="stable")
    ends = np.cumsum(np.bincount(numbers["label"], minlength=len(label)))
    parts: dict[Hashable, Reports] = {}
    try:
        for value, own in zip(label.values, np.split(order, ends[:-1]), strict=True):
            part = None if strata is None else strata[own]
            parts[value] = Reports(found, bits[own], strata=part, randomness=randomness)
    except DataError as problem:
        raise DataError(f"The reports in {path} cannot be of their plan: {problem}", path=path) from None
    return label, parts


def _label(notes: Mapping[str, bytes], plan: Plan, path: Path) -> Attribute:
    """The attribute that is sent in the clear, which must fit the plan of the others."""
    if _LABEL not in notes:
        hint = "Plain reports are read with bosket.Reports.read."
        raise DataError(f"{path} does not hold reports by class: it has no label.", path=path, hint=hint)
    try:
        domain: Any = Domain.from_json(parse(notes[_LABEL], what="the label"))
    except DataError:
        domain = None
    if not isinstance(domain, TableDomain) or domain.n_attributes != 1:
        raise DataError(f"The label that {path} names in its metadata cannot be read.", path=path)
    label = domain.attributes[0]
    if len(label) > MOST_CLASSES:
        raise DataError(f"The label in {path} must have at most {MOST_CLASSES} classes, got {len(label)}.", path=path)
    if not isinstance(plan.domain, TableDomain) or label.name in plan.domain.names:
        raise DataError(
            f"The label that {path} names does not fit its plan, which must be of other attributes.", path=path
        )
    return label
