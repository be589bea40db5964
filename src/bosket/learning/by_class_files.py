"""Reports by class on disk: one Parquet file.

Its columns are ``randomized`` (fixed-width binary, bit i of byte j is item 8 j + i), ``label`` (the number of the
class) and, where the mechanism has strata, ``stratum``; its metadata hold the plan and its digest, the label with its
classes, and how the chance came about.  The column is not called ``report``, as in a file of plain reports: read as
such, it would come with a guarantee that does not tell of the label.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bosket._version import __version__
from bosket.data import Attribute, Domain, TableDomain
from bosket.data.atomic import atomic_path
from bosket.errors import DataError, PlanMismatchError
from bosket.plan import Plan
from bosket.reports import Reports, _plan_of, _reading
from bosket.strict_json import parse

if TYPE_CHECKING:
    from bosket.learning.by_class import ByClassReports

_LABEL = "bosket.label"


def write(reports: ByClassReports, path: str | Path) -> None:
    """All classes one after the other; replaced whole or, if anything fails, not at all."""
    if Path(path).suffix.lower() != ".parquet":
        raise DataError(f"Reports are written as Parquet: {path} must end in .parquet.", path=path)
    parts = list(reports.reports.values())
    width = -(-len(reports.domain) // 8)
    bits = np.concatenate([part.bits for part in parts])
    rows = np.ascontiguousarray(bits.view(np.uint8).reshape(len(bits), 8 * bits.shape[1])[:, :width])
    codes = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
    columns = {
        "randomized": pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)]),
        "label": pa.array(codes),
    }
    strata = [part.strata for part in parts if part.strata is not None]
    if strata:
        columns["stratum"] = pa.array(np.concatenate(strata))
    metadata = {
        "bosket.plan": reports.plan.json,
        "bosket.digest": reports.plan.digest,
        "bosket.randomness": reports.randomness,
        "bosket.version": __version__,
        _LABEL: json.dumps(TableDomain([reports.label]).to_json()),
    }
    table = pa.table(columns).replace_schema_metadata(metadata)
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def read(path: str | Path, plan: Plan | None) -> tuple[Attribute, dict[Hashable, Reports]]:
    """The label and the reports of each class."""
    path = Path(path)
    with _reading(path):
        table = pq.read_table(path, page_checksum_verification=True)
    metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    found = _plan_of(metadata, path)
    if plan is not None and plan.digest != found.digest:
        raise PlanMismatchError(
            f"The reports in {path} were made under plan {found.digest[:12]}, not under {plan.digest[:12]}.", path=path
        )
    label = _label(metadata, path)
    width = -(-len(found.domain) // 8)
    kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
    if kinds.get("randomized") != pa.binary(width) or kinds.get("label") != pa.int32() or _has_gaps(table):
        raise DataError(f"The reports in {path} do not have the {len(found.domain)} bits of their plan.", path=path)
    bits = np.zeros((len(table), -(-len(found.domain) // 64)), np.uint64)
    rows = np.frombuffer(b"".join(table["randomized"].to_pylist()), np.uint8).reshape(len(table), width)
    bits.view(np.uint8).reshape(len(table), 8 * bits.shape[1])[:, :width] = rows
    if len(found.domain) % 64 and (bits[:, -1] >> np.uint64(len(found.domain) % 64)).any():
        raise DataError(f"A report in {path} has more than the {len(found.domain)} bits of its plan.", path=path)
    codes = table["label"].to_numpy()
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(label):
        raise DataError(f"A label in {path} is not the number of a class.", path=path)
    strata = table["stratum"].to_numpy() if "stratum" in kinds else None
    randomness = metadata.get("bosket.randomness", "unknown")
    parts = {}
    for code, value in enumerate(label.values):
        own = codes == code
        part = None if strata is None else strata[own]
        parts[value] = Reports(found, bits[own], strata=part, randomness=randomness)
    return label, parts


def _label(metadata: dict[str, str], path: Path) -> Attribute:
    if _LABEL not in metadata:
        hint = "Plain reports are read with bosket.Reports.read."
        raise DataError(f"{path} does not hold reports by class: it has no label.", path=path, hint=hint)
    try:
        domain: Any = Domain.from_json(parse(metadata[_LABEL], what="the label"))
    except DataError:
        domain = None
    if not isinstance(domain, TableDomain):
        raise DataError(f"The label that {path} names in its metadata cannot be read.", path=path)
    return domain.attributes[0]


def _has_gaps(table: Any) -> bool:
    return any(column.null_count for column in table.columns)
