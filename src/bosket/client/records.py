"""Records as people give them, one by one, as data of a plan."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from bosket.data import Baskets, Table, TableDomain
from bosket.data.domain import label_from_json
from bosket.errors import DataError
from bosket.mechanisms.base import Records
from bosket.plan import Plan


def records_of(plan: Plan, records: Records | Iterable[Any]) -> Records:
    """Data over the plan's domain: baskets from lists of labels, a table from mappings of attributes to values.

    Labels that JSON cannot write, tuples, may stand in their JSON form, ``{"tuple": [...]}``.
    """
    if isinstance(records, Baskets | Table):
        return records
    if isinstance(plan.domain, TableDomain):
        rows = [_row(record, number) for number, record in enumerate(records, 1)]
        return Table(rows, plan.domain)
    baskets = [_basket(record, number) for number, record in enumerate(records, 1)]
    return Baskets(baskets, items=plan.domain.labels)


def _row(record: Any, number: int) -> dict[str, Hashable]:
    if not isinstance(record, Mapping):
        raise DataError(f"Record {number} must be a mapping from attribute to value.")
    return {name: _label(value) for name, value in record.items()}


def _basket(record: Any, number: int) -> list[Hashable]:
    if isinstance(record, str | Mapping) or not isinstance(record, Iterable):
        raise DataError(f"Record {number} must be a list of items.")
    return [_label(label) for label in record]


def _label(value: Any) -> Hashable:
    return label_from_json(value) if isinstance(value, dict) else value
