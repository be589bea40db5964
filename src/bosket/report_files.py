"""The codec of report files: one writer and one reader for plain reports, reports by class and tallies.

A file has the columns of the plan's payload and those that its :class:`Layout` declares beside them.  Anyone may have
written it: what is counted is what was read, and nothing else is believed.  A footer's number of rows decides nothing
but a refusal: rows are read in batches, counted as they come, and room is made for those that came.  Columns must be
the ones that such a file has, of their types; numbers are checked before they are stored in fewer bits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bosket.checks import shown
from bosket.data.formats.atomic import atomic_path
from bosket.data.formats.parquet_footers import codecs, first_pages, n_elements, numbers_of_values, packed_bytes
from bosket.data.formats.parquet_pages import Chunk, pages_of
from bosket.errors import BosketError, DataError
from bosket.mechanisms.columns import Bits, ColumnValues, PayloadColumn
from bosket.mechanisms.payload import Batch, Payload
from bosket.plan import Plan
from bosket.report_notes import check_options, metadata_of, notes_of, plan_of, randomness_of
from bosket.threads import slices

MAX_BYTES = 8 << 30
"""Most memory that reports take when read, unless told otherwise: 8 GiB."""
MOST_ROW_GROUPS = 1 << 16

_BATCH_BYTES = 1 << 24
_BATCH_ROWS = 1 << 15
_PAGE_BYTES, _PAGE_ROWS = 1 << 24, 1 << 11  # writers end a page at a megabyte, and look once in a thousand rows
_MOST_COLUMNS = 1 << 10
_FEW_REPORTS, _REPORTS_A_BYTE = 1 << 26, 1 << 10  # that a file of any size may have, and for each of its bytes
_FOREIGN = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError)
"""What opening and reading a broken file may raise."""


@dataclass(frozen=True)
class FileLayout:
    """A kind of report file.

    beside     columns that stand beside those of the payload, after the first of them
    names      other names for columns of the payload, so that another reader does not take the file for its own
    row_group  reports in a row group
    nullable   whether the schema says that values may be missing; a missing one is refused in any case
    """

    beside: tuple[PayloadColumn, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    row_group: int = _BATCH_ROWS
    nullable: bool = False

    def columns(self, payload: Payload) -> list[PayloadColumn]:
        """All columns, by their names in the file."""
        own = [replace(column, name=self.names.get(column.name, column.name)) for column in payload.columns]
        result: list[PayloadColumn] = [own[0], *self.beside, *own[1:]]
        names = [column.name for column in result]
        if len(set(names)) < len(names):
            raise DataError(f"Reports with the columns {', '.join(names)} cannot be written: a name stands twice.")
        return result

    def batch(self, payload: Payload, found: Mapping[str, ColumnValues]) -> Batch:
        """The columns of the payload, by their own names."""
        return Batch({column.name: found[self.names.get(column.name, column.name)] for column in payload.columns})


PLAIN = FileLayout()


def write(
    path: str | Path,
    *,
    plan: Plan,
    batch: Batch,
    randomness: str,
    layout: FileLayout = PLAIN,
    beside: Mapping[str, ColumnValues] | None = None,
    notes: Mapping[str, str] | None = None,
) -> None:
    """Write reports as Parquet, whole or not at all; ``beside`` has the values of the layout's own columns."""
    if Path(path).suffix.lower() != ".parquet":
        raise DataError(f"Reports are written as Parquet: {path} must end in .parquet.", path=path)
    values = {layout.names.get(name, name): column for name, column in batch.columns.items()} | dict(beside or {})
    columns = layout.columns(plan.channel.payload)
    metadata = metadata_of(plan, randomness, path) | {f"bosket.{name}": note for name, note in (notes or {}).items()}
    fields = [pa.field(column.name, column.arrow_type(), nullable=layout.nullable) for column in columns]
    schema = pa.schema(fields, metadata=metadata)
    with (
        atomic_path(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        for start, stop in slices(max(1, len(batch)), layout.row_group):
            arrays = [column.to_arrow(values[column.name][start:stop]) for column in columns]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


class BeyondCapError(DataError):
    """Reports that would take more memory than the cap allows: whether they are sound was not looked at."""


@contextmanager
def opened(path: str | Path, *, plan: Plan | None, max_bytes: int | None) -> Iterator[ReportFile]:
    """A report file, with ``plan`` one of that plan; whatever is wrong with it is said without quoting it."""
    path = Path(path)
    check_options(plan, max_bytes)
    fault = None
    try:
        # pre_buffer would keep all that was read of the file, beside the reports, until it is closed
        if _has_many_columns(path):
            raise DataError(f"A file of reports must have at most {_MOST_COLUMNS} columns, {path} has more.", path=path)
        with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file:
            notes = notes_of(file)
            yield ReportFile(path, file, notes, plan_of(notes, path, expected=plan), max_bytes)
    except BosketError:
        raise
    except FileNotFoundError:
        fault = f"There is no file {path}."
    except _FOREIGN as problem:
        name = type(problem).__name__
        fault = f"{path} cannot be read as Parquet: it is not, or it was cut short ({name})."
    if fault is not None:
        raise DataError(fault, path=path)


def has_plan(path: str | Path) -> bool:
    """Whether a file is Parquet with a bosket plan in it."""
    try:
        if _has_many_columns(path):
            return False
        with pq.ParquetFile(path) as file:
            return b"bosket.plan" in (file.schema_arrow.metadata or {})
    except _FOREIGN:
        return False


def _has_many_columns(path: str | Path) -> bool:
    """Whether a file has more columns than reports, which Arrow would take kilobytes for, each."""
    with pa.OSFile(str(path)) as handle:
        return n_elements(handle) > _MOST_COLUMNS


@dataclass(frozen=True)
class ReportFile:
    """An open file of reports: what it says of itself, and its rows."""

    path: Path
    parquet: Any
    notes: Mapping[str, bytes]
    plan: Plan
    max_bytes: int | None
    """The most memory that reports may take, by what the footer claims and by what is read; None for no cap."""

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        names: list[str] = self.parquet.schema_arrow.names
        return names

    @property
    def randomness(self) -> str:
        """How the chance came about, as the file says."""
        return randomness_of(self.notes)

    def read(self, layout: FileLayout = PLAIN) -> tuple[Batch, dict[str, ColumnValues]]:
        """The reports, sound column by column, and the layout's own columns beside them."""
        payload = self.plan.channel.payload
        columns = self.checked_columns(layout)
        store = _Store(self.path, columns, self.claimed, self.max_bytes)
        for batch in self._arrow_batches(columns):
            store.add(batch)
        found = store.finished()
        return layout.batch(payload, found), {column.name: found[column.name] for column in layout.beside}

    def checked_columns(self, layout: FileLayout = PLAIN) -> list[PayloadColumn]:
        """The columns that such a file has; refused where this one has others."""
        columns = layout.columns(self.plan.channel.payload)
        _check_columns(self.parquet.schema_arrow, self.path, columns)
        return columns

    @property
    def claimed(self) -> int:
        """How many reports the footer claims there are."""
        return _claimed(self.parquet.metadata, self.path)

    def _arrow_batches(self, columns: Sequence[PayloadColumn], first_group: int = 0) -> Iterator[Any]:
        names = [column.name for column in columns]
        size = max(1, min(_BATCH_ROWS, _BATCH_BYTES // sum(column.width for column in columns)))
        groups = range(first_group, self.parquet.metadata.num_row_groups)
        self._check_pages(first_group, _PAGE_BYTES + _PAGE_ROWS * max(column.width for column in columns))
        for batch in self.parquet.iter_batches(batch_size=size, row_groups=groups, columns=names, use_threads=False):
            batch.validate()
            yield batch

    def _check_pages(self, first_group: int, most: int) -> None:
        """Refuse pages that no writer of reports makes: Arrow unpacks them whole, whatever the footer claims.

        So are more reports than a file of its bytes has: runs say 10^9 equal ones in a few hundred bytes.
        """
        most_reports = _FEW_REPORTS + _REPORTS_A_BYTE * self.path.stat().st_size
        if self.claimed > most_reports:
            raise DataError(
                f"{self.path} must have at most {most_reports} reports, as a file of its bytes may, and has "
                f"{self.claimed}.",
                path=self.path,
            )

        def check(n_bytes: int) -> None:
            if n_bytes > most:
                raise DataError(
                    f"The pages of {self.path} must have at most {most} bytes, unpacked, and one has {n_bytes}.",
                    path=self.path,
                    hint="Write it again with smaller ones.",
                )

        with pa.OSFile(str(self.path)) as handle:
            schema = self.parquet.schema
            missing = [schema.column(at).max_definition_level > 0 for at in range(len(schema))]
            wanted = (first_pages, numbers_of_values, codecs, packed_bytes)
            numbers = (read(handle)[first_group:] for read in wanted)
            for group in zip(*numbers, strict=True):
                for first, n_values, codec, n_packed, may_be_missing in zip(*group, missing, strict=True):
                    chunk = Chunk(first, n_values, codec, n_packed, 0, is_text=False, may_be_missing=may_be_missing)
                    pages_of(handle, chunk, n_rows=0, check=check)

    def parts(self, start: int = 0) -> Iterator[dict[str, ColumnValues]]:
        """The reports from a row on, some thousands at a time, sound column by column."""
        columns, claimed = self.checked_columns(), self.claimed
        sizes = [
            self.parquet.metadata.row_group(group).num_rows for group in range(self.parquet.metadata.num_row_groups)
        ]
        ends = list(accumulate(sizes))
        first = bisect_right(ends, start) if start else 0
        at = ends[first - 1] if first else 0
        for batch in self._arrow_batches(columns, first):
            skipped = min(batch.num_rows, max(0, start - at))
            at += batch.num_rows
            if at > claimed:
                raise _miscounted(self.path)
            if skipped < batch.num_rows:
                yield {column.name: self._values(column, batch)[skipped:] for column in columns}
        if at != claimed:
            raise _miscounted(self.path)

    def _values(self, column: PayloadColumn, batch: Any) -> ColumnValues:
        values = column.from_arrow(batch.column(column.name))
        if values is None:
            raise DataError(f"A report in {self.path} must have {column.must}.", path=self.path)
        return values

    def refused(self, problem: DataError) -> DataError:
        """The error for reports that are sound column by column, and yet none of their plan."""
        return DataError(f"The reports in {self.path} cannot be of their plan: {problem}", path=self.path)


def _check_columns(schema: Any, path: Path, columns: Sequence[PayloadColumn]) -> None:
    """Refuse a file that lacks a column, or has one that does not belong there."""
    names = schema.names
    for column in columns:
        if isinstance(column, Bits) and (names.count(column.name) != 1 or not _takes(column, schema)):
            raise DataError(
                f"The reports in {path} do not have the {column.n_bits} bits of their plan, in one column "
                f"'{column.name}'.",
                path=path,
            )
    known = [column.name for column in columns]
    for name in names:
        if name not in known or names.count(name) != 1:
            raise DataError(
                f"A file of such reports must have the columns {', '.join(known)}, each once, and no other; {path} "
                f"has {shown(name)}.",
                path=path,
            )
    for column in columns:
        if column.name not in names:
            raise DataError(f"The reports in {path} do not have the column '{column.name}'.", path=path)
        if not _takes(column, schema):
            raise DataError(f"The column '{column.name}' of {path} must hold {column.kind}.", path=path)


def _takes(column: PayloadColumn, schema: Any) -> bool:
    return column.takes(schema.field(column.name).type)


def _claimed(metadata: Any, path: Path) -> int:
    """How many reports the footer claims there are; its row groups must agree on it.

    Counts of single columns are left to the reader: asking pyarrow for them can end the process, where they are broken.
    A footer that agrees with itself on fewer reports hides the others, as does leaving them out.
    """
    if metadata.num_row_groups > MOST_ROW_GROUPS:
        raise DataError(
            f"A file of reports must have at most {MOST_ROW_GROUPS} row groups, {path} has {metadata.num_row_groups}.",
            path=path,
            hint="Write it again with larger ones.",
        )
    groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    claimed = int(metadata.num_rows)
    if min(groups, default=0) < 0 or sum(groups) != claimed:
        raise _miscounted(path)
    return claimed


def _miscounted(path: Path) -> DataError:
    return DataError(f"The footer of {path} claims another number of reports than the file holds.", path=path)


class _Store:
    """Room for reports, which grows with those that have been read and not with those that are claimed."""

    def __init__(self, path: Path, columns: Sequence[PayloadColumn], claimed: int, cap: int | None) -> None:
        self.path, self.columns, self.claimed, self.cap = path, columns, claimed, cap
        self._values = {column.name: column.room(0) for column in columns}
        self._n = self._room = 0
        self._check_cap(claimed)

    def _check_cap(self, rows: int) -> None:
        needed = rows * sum(column.memory for column in self.columns)
        if self.cap is not None and needed > self.cap:
            raise BeyondCapError(
                f"The reports in {self.path} would take {needed} bytes of memory, more than the cap of {self.cap}.",
                path=self.path,
                hint="Raise it with max_bytes=..., or take it away with max_bytes=None.",
            )

    def add(self, batch: Any) -> None:
        """Store the rows of a batch, whose columns are checked."""
        start, stop = self._n, self._n + batch.num_rows
        if stop > self.claimed:
            raise _miscounted(self.path)
        if start == stop:
            return
        self._check_cap(stop)
        self._make_room(stop)
        for column in self.columns:
            values = column.from_arrow(batch.column(column.name))
            if values is None:
                raise DataError(f"A report in {self.path} must have {column.must}.", path=self.path)
            self._values[column.name][start:stop] = values
        self._n = stop

    def _make_room(self, rows: int) -> None:
        """At most twice what has been read, and no more than is claimed."""
        if rows <= self._room:
            return
        self._room = max(rows, min(2 * self._room, self.claimed))
        for values in self._values.values():  # in place where the system can: no second copy
            values.resize((self._room, *values.shape[1:]), refcheck=False)

    def finished(self) -> dict[str, ColumnValues]:
        if self._n != self.claimed:
            raise _miscounted(self.path)
        return self._values
