"""Reports by class on disk: one Parquet file, written and read by the codec of all report files.

It has the columns of the mechanism's payload and ``label``, the number of the class; its metadata hold the label with
its classes beside the plan.  Packed bits are called ``randomized`` and not ``report``, as in a file of plain reports:
read as such, it would come with a guarantee that does not tell of the label.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bosket import report_files
from bosket.data import Attribute, Domain, TableDomain
from bosket.errors import DataError
from bosket.mechanisms.columns import Numbers
from bosket.mechanisms.payload import Batch
from bosket.plan import Plan
from bosket.reports import Reports
from bosket.strict_json import parse

if TYPE_CHECKING:
    from bosket.learning.by_class import ByClassReports

MOST_CLASSES = 10_000
"""Most classes of a label in a file."""

_LABEL = "label"


def _layout(label: Attribute) -> report_files.FileLayout:
    """The columns of a file, whose groups are larger than those of plain reports and whose schema allows nulls."""
    classes = Numbers(_LABEL, max(0, len(label) - 1), "the number of a class as its label")
    return report_files.FileLayout((classes,), {"report": "randomized"}, row_group=1 << 20, nullable=True)


def write(reports: ByClassReports, path: str | Path) -> None:
    """All classes one after the other; replaced whole or, if anything fails, not at all."""
    parts = list(reports.reports.values())
    report_files.write(
        path,
        plan=reports.plan,
        batch=Batch.concat(part.batch for part in parts),
        randomness=reports.randomness,
        layout=_layout(reports.label),
        beside={_LABEL: np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])},
        notes={_LABEL: json.dumps(TableDomain([reports.label]).to_json())},
    )


def read(path: str | Path, plan: Plan | None, max_bytes: int | None) -> tuple[Attribute, dict[Hashable, Reports]]:
    """The label and the reports of each class."""
    with report_files.opened(path, plan=plan, max_bytes=max_bytes) as file:
        label = _label(file.notes, file.plan, file.path)
        batch, beside = file.read(_layout(label))
    classes = beside[_LABEL]
    order = np.argsort(classes, kind="stable")
    ends = np.cumsum(np.bincount(classes, minlength=len(label)))
    parts: dict[Hashable, Reports] = {}
    try:
        for value, own in zip(label.values, np.split(order, ends[:-1]), strict=True):
            parts[value] = Reports(file.plan, batch.take(own), randomness=file.randomness)
    except DataError as problem:
        raise file.refused(problem) from None
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
