"""Baskets of persons from CSV with a row per item, under a declaration: whose each record is stands in a column.

A record is what rows of one person say of one record: rows of two persons with one and the same record are two
records.  So what a person's rows are decides that person's records and nothing else, and taking all rows of a person
away takes its records away and leaves all others as they were.  As in :mod:`bosket.data.formats.declared_lines` no row
makes an error: one without a person or a record, or with cells too few or too many, says nothing, and an item that is
not declared leaves its record as it is.
"""

from __future__ import annotations

import numpy as np

from bosket.data.baskets.rows import Csr, RecordItems, from_pairs, taken
from bosket.data.domain import Domain
from bosket.data.formats.column_names import position
from bosket.data.formats.columns import Columns
from bosket.data.formats.declared_lines import cells_of_lines, header_of
from bosket.data.formats.layouts import long_columns
from bosket.data.formats.lines import whole_lines
from bosket.data.formats.sources import Content
from bosket.data.formats.vocabulary import Vocabulary
from bosket.errors import DataError, telling_no_sizes

_ENDS = "\n\r"


@telling_no_sizes("read these records")
def read_csv_of_persons(
    content: Content, domain: Domain, *, person: str, record: str | None = None, item: str | None = None
) -> tuple[Csr, list[bytes]]:
    """The records, and of each the letters of its person."""
    index = Vocabulary(domain, "drop").index(no=_ENDS, of="a CSV file")
    names, blocks = header_of(whole_lines(content, is_strict=False), content.source)
    columns = Columns(names, (), content.source)
    at_person = position(columns, "person", person)
    at_record, at_item = long_columns(columns, record, item)
    if len({at_person, at_record, at_item}) < 3:
        raise DataError("Persons, records and items must be in three columns.", path=content.source.path)
    keys: dict[tuple[bytes, bytes], int] = {}
    pairs, n_rows = RecordItems(), 0
    for block in blocks:
        rows = cells_of_lines(block, index, len(names))
        at = rows.starts[np.flatnonzero(np.diff(rows.starts) == len(names))]
        both = list(zip(rows.texts(at + at_person), rows.texts(at + at_record), strict=True))
        is_named = np.fromiter((bool(one and other) for one, other in both), np.bool_, len(both))
        records = np.fromiter((keys.setdefault(key, len(keys)) for key in both if key[0] and key[1]), np.int64)
        n_rows += at.size
        content.check_size(taken(n_records=n_rows, n_items=n_rows, n_labels=2 * len(keys)))
        pairs.append(records, np.maximum(rows.labels[at + at_item][is_named], np.int32(-1)))
    return from_pairs(*pairs.together(), len(keys), domain), [one for one, _ in keys]
