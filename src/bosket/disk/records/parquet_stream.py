"""Parquet files as streams: lists, long and one-hot."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.data.baskets.grouped import sizes_of
from bosket.data.baskets.rows import domain_of
from bosket.data.domain import Domain, ItemIds
from bosket.data.formats import parquet_files
from bosket.data.formats.columns import Columns, is_boolean
from bosket.data.formats.layouts import Layout, one_hot
from bosket.data.formats.parquet_opening import Opened, opened, sound
from bosket.data.formats.parquet_streams import Lists, LongColumns, NumberedLabels, has_lists, layout_of, without_data
from bosket.data.formats.parquet_texts import PartLimits, parted_batches, table_schema
from bosket.data.formats.words import NumberedWords
from bosket.disk.records.streams import MOST_TOGETHER, FileStream, KeyedRows, RecordPart, TellBytes, from_row

_MOST_ROWS = 1 << 17
_TRUTH_VALUES = 4  # that take the room of an item: a batch of few rows takes as long as one of many


class ParquetStream(FileStream):
    """Lists, a row for each record and item, or a column for each item; a place is a number of rows."""

    @cached_property
    def _layout(self) -> Layout:
        with self._opened() as (_, columns, _):
            return self._layout_of(columns)

    @property
    def is_long(self) -> bool:  # type: ignore[override]  # known once the footer is read
        return self._layout == "long"

    @cached_property
    def columns(self) -> tuple[str, ...] | None:
        with self._opened() as (_, columns, _):
            return tuple(map(str, columns.names)) if self._layout == "one-hot" else None

    @property
    def long_columns(self) -> tuple[object, ...]:
        """Names, and what the names of records are: 1 as a number and "1" are written differently."""
        with self._opened() as (_, columns, _):
            record, item = LongColumns(columns, self.told.record, self.told.item).at
            kind = columns.values[record].type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            return columns.names[record], columns.names[item], str(kind).removeprefix("large_")

    @contextmanager
    def _opened(self) -> Iterator[tuple[Opened, Columns, list[str] | None]]:
        told, content = self.told, self.content
        with opened(content, is_claim_held=not told.columns, column_bytes=2 * self.label_bytes) as file:
            names = tuple(file.schema.names)
            if not told.columns and len(set(names)) != len(names):
                raise content.source.error("must not give two columns the same name")
            places = told.places(Columns(names, (), content.source)) or list(range(len(names)))
            wanted = [names[at] for at in places] if told.columns else None
            empty = without_data(sound(content, lambda: table_schema(file, wanted)))
            values: list[Any] = [None] * len(names)
            for at, column in zip(places, empty, strict=True):
                values[at] = column
            yield file, Columns(names, tuple(values), content.source, check_size=content.check_size), wanted

    def _layout_of(self, columns: Columns) -> Layout:
        """As :func:`bosket.data.formats.layouts.detect`, without a look at the cells."""
        layout = layout_of(columns, self.told.layout)
        if layout is None and (len(columns.names) not in (0, 2) or all(map(is_boolean, columns.values))):
            layout = "one-hot"
        if layout is None or (layout != "list" and has_lists(columns)):
            raise self.content.source.error(
                "must hold lists, or columns record and item, or others that are named, to be opened",
                hint="Name the columns with record= and item=, or read the file with Baskets.read.",
            )
        return layout

    def _batches(self, file: Opened, wanted: list[str] | None, tell: TellBytes) -> Iterator[Any]:
        metadata, size = file.file.metadata, self.path.stat().st_size
        n_rows = max(1, metadata.num_rows)
        cells = MOST_TOGETHER if self.columns is None else max(MOST_TOGETHER, _TRUTH_VALUES * self.most_cells)
        parts = PartLimits(rows=_MOST_ROWS, cells=cells, longest=self.most_cells, n_bytes=self.batch_bytes)
        batches, done = parted_batches(file, wanted, parts), 0
        while (batch := sound(file.content, lambda: next(batches, None))) is not None:
            done += batch.num_rows
            tell(size * done // n_rows)
            yield batch

    def parts(self, place: tuple[int, int], tell: TellBytes) -> Iterator[RecordPart]:
        with self._opened() as (file, columns, wanted):
            batches = self._batches(file, wanted, tell)
            found = self._marked(batches, columns) if self.columns is not None else self._listed(batches, columns)
            yield from from_row(found, place[0])

    def _listed(self, batches: Iterator[Any], columns: Columns) -> Iterator[tuple[ItemIds, ItemIds]]:
        lists = Lists(columns, self.told.item)
        if self.labels is None:
            self.labels = NumberedLabels(self.check_labels)
        assert isinstance(self.labels, NumberedLabels)
        lists.labels = self.labels
        at = 0 if self.told.columns else lists.at
        for batch in batches:
            yield from lists.add_in_parts(batch.column(at), together=MOST_TOGETHER, most_cells=self.most_cells)

    def _marked(self, batches: Iterator[Any], columns: Columns) -> Iterator[tuple[ItemIds, ItemIds]]:
        done = 0
        for batch in batches:
            here = replace(columns.source, first_row=done)
            csr = one_hot(replace(columns, values=tuple(batch.columns), source=here))
            done += batch.num_rows
            yield sizes_of(csr.indptr), csr.indices

    def rows(self, tell: TellBytes) -> Iterator[KeyedRows]:
        with self._opened() as (file, columns, wanted):
            long = LongColumns(columns, self.told.record, self.told.item)
            assert isinstance(self.labels, NumberedLabels)
            long.labels = self.labels
            at = [0, 1] if wanted is not None else list(long.at)
            for batch in self._batches(file, wanted, tell):
                keys = NumberedWords()
                found = long.add(batch.column(at[0]), batch.column(at[1]), keys)
                if found is None:
                    raise self.content.source.error(
                        "must name records by text or numbers to be opened", hint="Read the file with Baskets.read."
                    )
                yield KeyedRows(keys, found.record_of_rows, found.items)

    def take_labels(self, labels: list[Hashable]) -> None:
        if self.columns is None:
            self.labels = NumberedLabels.of(labels, self.check_labels)

    @cached_property
    def stored(self) -> bytes | None:
        """The domain in the footer."""
        with self._opened() as (file, _, _):
            return (file.schema.metadata or {}).get(parquet_files.DOMAIN_KEY)

    def domain(
        self, codes: npt.NDArray[np.int64], files: Sequence[FileStream]
    ) -> tuple[Domain, npt.NDArray[np.int64], ItemIds]:
        if self.columns is not None:
            domain = Domain(self.columns, is_declared=False)
            rank = np.arange(domain.n_items, dtype=np.int32)
        else:
            assert isinstance(self.labels, NumberedLabels)
            domain, rank = domain_of(self.labels.whole())
        stored = {file.stored: file.content.source for file in files if isinstance(file, ParquetStream)}
        if len(stored) > 1 and self.columns is None:
            domain, rank = parquet_files.joined_domain(domain, rank, stored)
        elif self.stored is not None and len(stored) == 1:
            domain, rank = parquet_files.restored_domain(domain, rank, self.stored, self.content.source)
        return domain, np.arange(len(rank)), rank
