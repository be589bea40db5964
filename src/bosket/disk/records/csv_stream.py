"""CSV files as streams: long, one-hot, and lists."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.data.baskets.rows import domain_of
from bosket.data.domain import Domain, ItemIds
from bosket.data.formats.csv_files import (
    LongRows,
    Rows,
    are_signs,
    header_and_rows,
    list_parts,
    one_hot_domain,
    one_hot_parts,
    whole_labels,
)
from bosket.data.formats.layouts import LONG_NAMES, Layout, two_of_signs
from bosket.data.formats.lines import whole_rows
from bosket.data.formats.parquet_streams import NumberedLabels
from bosket.data.formats.sources import Content
from bosket.data.formats.words import NumberedWords
from bosket.disk.records.streams import FileStream, KeyedRows, RecordPart, TellBytes, from_row

_TOGETHER = 1 << 21  # bytes of rows, of which many arrays are made


class CsvStream(FileStream):
    """A row for each record and item, or a column for each item, with a header; or a record a line, without one.

    A place is a number of records.
    """

    @cached_property
    def _layout(self) -> Layout:
        if self.told.layout is not None:
            return self.told.layout
        return "long" if len(self._header(self.content)[0]) == 2 else "one-hot"

    @property
    def is_long(self) -> bool:  # type: ignore[override]  # known once the header is read
        return self._layout == "long"

    @cached_property
    def columns(self) -> tuple[str, ...] | None:
        return self._header(self.content)[0] if self._layout == "one-hot" else None

    @property
    def long_columns(self) -> tuple[object, ...]:
        return self.told.columns or self._header(self.content)[0]

    def _header(self, content: Content) -> tuple[tuple[str, ...], Iterator[Rows]]:
        return header_and_rows(
            whole_rows(content, together=_TOGETHER), content.source, are_all_read=not self.told.columns
        )

    def parts(self, place: tuple[int, int], tell: TellBytes) -> Iterator[RecordPart]:
        content = replace(self.content, on_read=tell)
        if self._layout == "list":
            if self.labels is None:
                self.labels = NumberedLabels(self.check_labels)
            assert isinstance(self.labels, NumberedLabels)
            found = list_parts(
                whole_rows(content, together=_TOGETHER),
                content.source,
                self.labels.index,
                lambda _: self.check_labels(),
                most_cells=self.most_cells,
            )
        else:
            names, blocks = self._header(content)
            found = one_hot_parts(blocks, names)
        return from_row(found, place[0])

    def rows(self, tell: TellBytes) -> Iterator[KeyedRows]:
        content = replace(self.content, on_read=tell)
        names, blocks = self._header(content)
        self.may_be_signs = self.told.layout is None and set(names) != set(LONG_NAMES)
        assert isinstance(self.labels, NumberedWords)
        found = LongRows(blocks, names, content, self.told, self.labels)
        for keys, runs in found.parts():
            found.check_header(keys)
            self.may_be_signs = self.may_be_signs and are_signs(keys)
            yield KeyedRows(keys, runs.record_of_rows, runs.items)

    def check_rows(self) -> None:
        if self.may_be_signs and isinstance(self.labels, NumberedWords) and are_signs(self.labels):
            raise two_of_signs(self.content.source)

    def take_labels(self, labels: list[Hashable]) -> None:
        if self.is_long:
            self.labels = NumberedWords()
            texts = [str(label).encode() for label in labels]
            ends = np.cumsum([0, *map(len, texts)])
            self.labels.number(np.frombuffer(b"".join(texts), np.uint8), ends)
        elif self._layout == "list":
            self.labels = NumberedLabels.of(labels, self.check_labels)

    def domain(
        self, codes: npt.NDArray[np.int64], files: Sequence[FileStream]
    ) -> tuple[Domain, npt.NDArray[np.int64], ItemIds]:
        if self.columns is not None:
            domain = one_hot_domain(self.columns)
            return domain, np.arange(domain.n_items), np.arange(domain.n_items, dtype=np.int32)
        assert self.labels is not None
        texts = list(map(str, self.labels_from(0)))
        domain, rank = domain_of(whole_labels(texts))
        return domain, np.arange(len(texts)), rank
