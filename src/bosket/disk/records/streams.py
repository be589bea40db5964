"""Files of baskets as streams of whole records, or of rows that say which record an item belongs to.

Items are codes here: the numbers of a FIMI file as they are, or numbers of labels in order of first appearance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bosket.data.baskets.grouped import sizes_of
from bosket.data.baskets.kernels import canonicalize, is_canonical
from bosket.data.baskets.rows import domain_of, frozen
from bosket.data.domain import Domain, ItemIds
from bosket.data.formats import basket_files, fimi, parquet_cells, parquet_files
from bosket.data.formats.arrangements import Arrangement
from bosket.data.formats.columns import Columns
from bosket.data.formats.csv_files import LongRows, are_signs, header_and_rows, whole_labels
from bosket.data.formats.layouts import LONG_NAMES, two_of_signs
from bosket.data.formats.lines import whole_rows
from bosket.data.formats.parquet_opening import Opened, opened, sound
from bosket.data.formats.parquet_streams import Lists, LongColumns, NumberedLabels, has_lists, layout_of, without_data
from bosket.data.formats.parquet_texts import table_batches, table_schema
from bosket.data.formats.sources import Content
from bosket.data.formats.words import NumberedWords
from bosket.errors import DataError

TellBytes = Callable[[int], None]
MOST_TOGETHER = 1 << 18
"""Items of records that are read together, on the average."""
_MOST_ROWS = 1 << 17


class RecordPart(NamedTuple):
    """Some whole records, and where the next ones begin: what they are counted by, and a second number."""

    sizes: npt.NDArray[np.integer[Any]]
    codes: npt.NDArray[np.integer[Any]]
    place: tuple[int, int]


class KeyedRows(NamedTuple):
    """Some rows of a long file: the number of the record of each among ``keys``, and the code of its item or -1."""

    keys: NumberedWords
    records: ItemIds
    codes: ItemIds


@dataclass
class FileStream:
    """One file.  ``codes`` stand for numbers unless there are ``labels``."""

    content: Content
    told: Arrangement
    most_cells: int | None = None
    """Items of the records that are read together, at most; where there are more, a record is too long."""

    is_long = False
    labels: NumberedLabels | NumberedWords | None = None

    @property
    def path(self) -> Path:
        return self.content.path

    def parts(self, place: tuple[int, int], tell: TellBytes) -> Iterator[RecordPart]:
        raise NotImplementedError

    def rows(self, tell: TellBytes) -> Iterator[KeyedRows]:
        raise NotImplementedError

    def labels_from(self, start: int) -> list[Hashable]:
        """The labels of the codes from ``start`` on; none where codes stand for themselves."""
        if isinstance(self.labels, NumberedWords):
            return list(self.labels.texts(start))
        return [] if self.labels is None else list(islice(self.labels.index, start, None))

    @property
    def n_held(self) -> tuple[int, int]:
        """How many labels are held, and the letters of them; numbers that stand for themselves are counted later."""
        return (0, 0) if self.labels is None else (len(self.labels), self.labels.n_letters)

    def take_labels(self, labels: list[Hashable]) -> None:
        """Go on with the labels of a pass before."""

    def domain(self, codes: npt.NDArray[np.int64]) -> tuple[Domain, npt.NDArray[np.int64], ItemIds]:
        """The domain, the codes that occur, sorted, and the item id of each."""
        raise NotImplementedError


class FimiStream(FileStream):
    """A record a line; a place is a byte of the contents and the lines before it."""

    def parts(self, place: tuple[int, int], tell: TellBytes) -> Iterator[RecordPart]:
        at, line = place
        content = replace(self.content, start=at, on_read=tell)
        for block in fimi.blocks(content, before=line):
            at, line = at + block.n_bytes, line + block.n_lines
            yield RecordPart(block.sizes, block.numbers, (at, line))

    def domain(self, codes: npt.NDArray[np.int64]) -> tuple[Domain, npt.NDArray[np.int64], ItemIds]:
        return Domain(codes.tolist(), is_declared=False), codes, np.arange(codes.size, dtype=np.int32)


class CsvStream(FileStream):
    """A row for each record and item, with a header."""

    is_long = True

    def rows(self, tell: TellBytes) -> Iterator[KeyedRows]:
        content = replace(self.content, on_read=tell)
        names, blocks = header_and_rows(whole_rows(content), content.source, are_all_read=not self.told.columns)
        if self.told.layout not in (None, "long") or (self.told.layout is None and len(names) != 2):
            raise content.source.error(
                "must be long to be opened, with columns record and item, or others that are named",
                hint="Name the columns with record= and item=, or read the file with Baskets.read.",
            )
        may_be_signs = self.told.layout is None and set(names) != set(LONG_NAMES)
        found = LongRows(blocks, names, content, self.told)
        self.labels = found.labels
        for keys, records, codes in found.parts():
            found.check_header(keys)
            may_be_signs = may_be_signs and are_signs(keys)
            yield KeyedRows(keys, records, codes)
        if may_be_signs and are_signs(found.labels):
            raise two_of_signs(content.source)

    def take_labels(self, labels: list[Hashable]) -> None:
        self.labels = NumberedWords()
        texts = [str(label).encode() for label in labels]
        ends = np.cumsum([0, *map(len, texts)])
        self.labels.number(np.frombuffer(b"".join(texts), np.uint8), ends)

    def domain(self, codes: npt.NDArray[np.int64]) -> tuple[Domain, npt.NDArray[np.int64], ItemIds]:
        assert isinstance(self.labels, NumberedWords)
        domain, rank = domain_of(whole_labels(self.labels.texts()))
        return domain, np.arange(len(self.labels)), rank


class ParquetStream(FileStream):
    """Lists, or a row for each record and item; a place is a number of rows."""

    stored: bytes | None = None

    @property
    def is_long(self) -> bool:  # type: ignore[override]  # known once the footer is read
        with self._opened() as (_, columns, _):
            return self._layout(columns) == "long"

    @contextmanager
    def _opened(self) -> Iterator[tuple[Opened, Columns, list[str] | None]]:
        told, content = self.told, self.content
        with opened(content, is_claim_held=not told.columns) as file:
            names = tuple(file.schema.names)
            if not told.columns and len(set(names)) != len(names):
                raise content.source.error("must not give two columns the same name")
            places = told.places(Columns(names, (), content.source)) or list(range(len(names)))
            wanted = [names[at] for at in places] if told.columns else None
            self.stored = (file.schema.metadata or {}).get(parquet_files.DOMAIN_KEY)
            empty = without_data(sound(content, lambda: table_schema(file, wanted)))
            values: list[Any] = [None] * len(names)
            for at, column in zip(places, empty, strict=True):
                values[at] = column
            yield file, Columns(names, tuple(values), content.source, check_size=content.check_size), wanted

    def _layout(self, columns: Columns) -> str:
        layout = layout_of(columns, self.told.layout)
        if layout not in ("list", "long") or (layout == "long" and has_lists(columns)):
            raise self.content.source.error(
                "must hold lists, or columns record and item, or others that are named, to be opened",
                hint="Name the columns with record= and item=, or read the file with Baskets.read.",
            )
        return layout

    def _batches(self, file: Opened, wanted: list[str] | None, tell: TellBytes) -> Iterator[Any]:
        metadata, size = file.file.metadata, self.path.stat().st_size
        n_rows = max(1, metadata.num_rows)
        n_cells = sum(map(sum, parquet_cells.n_values(file, wanted or file.schema.names)))
        most = max(1, min(_MOST_ROWS, MOST_TOGETHER * n_rows // max(1, n_cells)))
        batches, done = table_batches(file, wanted, most_rows=most), 0
        while (batch := sound(file.content, lambda: next(batches, None))) is not None:
            done += batch.num_rows
            tell(size * done // n_rows)
            yield batch

    def parts(self, place: tuple[int, int], tell: TellBytes) -> Iterator[RecordPart]:
        with self._opened() as (file, columns, wanted):
            lists = Lists(columns, self.told.item, most_cells=self.most_cells)
            if self.labels is None:
                self.labels = lists.labels
            assert isinstance(self.labels, NumberedLabels)
            lists.labels = self.labels
            done, before = 0, place[0]
            for batch in self._batches(file, wanted, tell):
                skipped = min(max(before - done, 0), batch.num_rows)
                done += batch.num_rows
                if skipped < batch.num_rows:
                    lists.n_rows = done - batch.num_rows + skipped
                    at = 0 if wanted is not None else lists.at
                    yield RecordPart(*_each_once(*lists.add(batch.column(at).slice(skipped))), (done, 0))

    def rows(self, tell: TellBytes) -> Iterator[KeyedRows]:
        with self._opened() as (file, columns, wanted):
            long = LongColumns(columns, self.told.record, self.told.item)
            self.labels = long.labels
            at = [0, 1] if wanted is not None else list(long.at)
            for batch in self._batches(file, wanted, tell):
                keys = NumberedWords()
                found = long.add(batch.column(at[0]), batch.column(at[1]), keys)
                if found is None:
                    raise self.content.source.error(
                        "must name records by text or numbers to be opened", hint="Read the file with Baskets.read."
                    )
                yield KeyedRows(keys, *found)

    def take_labels(self, labels: list[Hashable]) -> None:
        self.labels = NumberedLabels(self.content.check_size)
        self.labels.enter(labels)

    def domain(self, codes: npt.NDArray[np.int64]) -> tuple[Domain, npt.NDArray[np.int64], ItemIds]:
        with self._opened():  # for what its footer stores
            pass
        assert isinstance(self.labels, NumberedLabels)
        domain, rank = domain_of(self.labels.whole())
        if self.stored is not None:
            domain, rank = parquet_files.restored_domain(domain, rank, self.stored, self.content.source)
        return domain, np.arange(len(self.labels.index)), rank


def _each_once(sizes: npt.NDArray[np.int32], codes: ItemIds) -> tuple[npt.NDArray[np.int32], ItemIds]:
    """The same records with each item once, increasing."""
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    if is_canonical(frozen(indptr.view()), frozen(codes.view())):
        return sizes, codes
    written = canonicalize(indptr, codes)
    return sizes_of(indptr), codes[:written]


_KINDS = {".dat": FimiStream, ".csv": CsvStream, ".parquet": ParquetStream}


def stream_of(path: Path, told: Arrangement, *, most_cells: int | None = None) -> FileStream:
    """The file as a stream, by its suffix."""
    suffix = basket_files.suffix_of(path)
    known = basket_files.FORMATS[suffix]
    content = Content(path, None)
    stream = _KINDS[suffix](content, told.settled(known.layouts, known.names, suffix=suffix), most_cells)
    if suffix == ".parquet" and content.is_packed:
        raise content.source.error("must not be packed once more to be opened", hint="Unpack it with gunzip.")
    return stream


def check_alike(streams: Sequence[FileStream]) -> None:
    """Refuse files of several kinds, and several long files: a name may mean another record in each of them."""
    if len({type(stream) for stream in streams}) > 1:
        raise DataError("Files of baskets that are opened together must be of one format.")
    if len(streams) > 1 and any(stream.is_long for stream in streams):
        raise DataError(
            "Long files cannot be opened together: a name of a record may mean another one in each of them.",
            hint="Put them into one file, or write lists.",
        )
