"""Lists and long rows of Parquet files, batch by batch: what is held is the result, and one batch.

Files whose layout their names and types leave open are read whole, by :mod:`bosket.data.formats.parquet_files`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data.baskets.grouped import LongRecords, RecordRuns, ranked
from bosket.data.baskets.rows import Csr, Items, Sizes, canonical, domain_of, taken
from bosket.data.domain import Domain, ItemIds, check_hashes
from bosket.data.formats.column_names import position
from bosket.data.formats.columns import Columns, check_different, encoded, guarded, is_boolean, is_list, whole
from bosket.data.formats.layouts import LONG_NAMES, NAME_LISTS, NAME_RECORDS, Layout, long_columns
from bosket.data.formats.sources import MORE_MEMORY, Source
from bosket.data.formats.words import NumberedWords, letters_of
from bosket.threads import slices

_LABELS_A_PIECE = 1 << 16


class _NumberTable(NamedTuple):
    """The numbers of labels that are whole numbers from ``least`` on, -1 where one is not known."""

    least: int
    numbers: ItemIds

    def over(self, least: int, largest: int) -> ItemIds:
        """The same for labels from ``least`` to ``largest``."""
        table = np.full(largest - least + 1, -1, np.int32)
        start, stop = max(least, self.least), min(largest + 1, self.least + self.numbers.size)
        if start < stop:
            table[start - least : stop - least] = self.numbers[start - self.least : stop - self.least]
        return table


class NumberedLabels:
    """The labels of the items of a column, numbered as they appear, batch by batch."""

    def __init__(self, check_size: Callable[[int], None]) -> None:
        self.index: dict[Hashable, int] = {}
        self._n_letters = self._n_counted = 0
        self._n_checked = 1 << 12  # labels among which few have one hash value
        self._check_size = check_size
        self._last_numbers = _NumberTable(0, np.empty(0, np.int32))

    def __len__(self) -> int:
        return len(self.index)

    @property
    def n_letters(self) -> int:
        """Of all labels that are text, whoever entered them."""
        new = islice(reversed(self.index), len(self.index) - self._n_counted)
        self._n_letters += sum(len(label) for label in new if isinstance(label, str | bytes))
        self._n_counted = len(self.index)
        return self._n_letters

    @classmethod
    def of(cls, labels: Iterable[Hashable], check_size: Callable[[int], None]) -> NumberedLabels:
        """Labels that were numbered before."""
        made = cls(check_size)
        made.enter(labels)
        return made

    def number(self, column: Any, source: Source) -> ItemIds:
        """The number of each cell, -1 where missing."""
        check_different(column, self._check)
        quickly = self._of_whole_numbers(column)
        if quickly is not None:
            return quickly
        codes, words = guarded(lambda: encoded(column), source)
        used = np.flatnonzero(np.bincount(codes + 1, minlength=len(words) + 1)[1:])  # a dictionary may list more
        self._check(len(used))
        known = np.full(len(words) + 1, -1, np.int32)  # code -1, missing, picks the last entry
        for start, stop in slices(len(used), _LABELS_A_PIECE):
            some = pa.array(used[start:stop])
            known[used[start:stop]] = guarded(partial(self._numbers, words, some), source)
            self._check(len(self.index))
        numbers: ItemIds = known[codes]
        return numbers

    def _of_whole_numbers(self, column: Any) -> ItemIds | None:
        """The same by a table of all numbers from the least to the largest; None where these are too far apart."""
        if not pa.types.is_integer(column.type) or column.null_count or not len(column):
            return None
        least, largest = (bound.as_py() for bound in pc.min_max(column).values())
        if largest - least >= 2 * len(column) or largest >= 1 << 63:
            return None
        places = np.subtract(column.to_numpy(), least, dtype=np.int64, casting="unsafe")
        used = np.bincount(places) > 0
        self._check(int(np.count_nonzero(used)))
        table = self._last_numbers.over(least, largest)
        new = np.flatnonzero(used & (table < 0))
        table[new] = self.enter((new + least).tolist())
        self._last_numbers = _NumberTable(least, table)
        self._check(len(self.index))
        numbers: ItemIds = table[places]
        return numbers

    def _numbers(self, words: Any, places: Any) -> list[int]:
        labels = words.take(places).to_pylist()
        if pa.types.is_decimal(words.type):  # whose hash values can be chosen, as those of numbers of 64 bits cannot
            check_hashes(labels)
            if len(self.index) > 2 * self._n_checked:
                check_hashes(list(self.index))
                self._n_checked = len(self.index)
        return self.enter(labels)

    def enter(self, labels: Iterable[Hashable]) -> list[int]:
        """The numbers of labels, none of which is given twice."""
        index = self.index
        return [index.setdefault(label, len(index)) for label in labels]

    def _check(self, n_labels: int) -> None:
        self._check_size(taken(n_labels=n_labels))

    def whole(self) -> list[Hashable]:
        """All labels in the order of their numbers, whole numbers as such."""
        return whole(list(self.index))


def has_lists(columns: Columns) -> bool:
    """Whether a column that is read holds lists."""
    return any(is_list(column) for column in columns.values if column is not None)


def layout_of(columns: Columns, layout: Layout | None) -> Layout | None:
    """The layout, where it is told, or names and types tell it; the values of ``columns`` need not be there."""
    if layout is not None:
        return layout
    if has_lists(columns):
        return "list"
    is_long = set(columns.names) == set(LONG_NAMES) and not all(map(is_boolean, columns.values))
    return "long" if is_long else None


class Lists:
    """The column of lists, batch by batch."""

    def __init__(self, columns: Columns, item: Hashable | None) -> None:
        places = [at for at, column in enumerate(columns.values) if column is not None and is_list(column)]
        places = places if item is None else [position(columns, "item", item)]
        if len(places) != 1:
            raise columns.source.error(f"must have one column of lists, got {len(places)}", hint=NAME_LISTS)
        self.at, self._columns = places[0], columns
        if not is_list(columns.values[self.at]):
            raise columns.source.error(f"must hold lists in {columns.called(self.at)}", hint=NAME_RECORDS)
        self.labels = NumberedLabels(columns.check_size)
        self.n_rows = self._n_cells = 0

    def add(self, column: Any) -> tuple[npt.NDArray[np.int32], ItemIds]:
        """The sizes of the lists of a batch, and the numbers of their items."""
        check_size, n_rows = self._columns.check_size, self.n_rows + len(column)
        check_size(taken(n_records=n_rows, n_items=self._n_cells))
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        n_here = int(lengths.sum(dtype=np.int64))
        self._n_cells += n_here
        check_size(taken(n_records=n_rows, n_items=self._n_cells))  # before any of them is numbered
        numbers = self.labels.number(pc.list_flatten(column), self._columns.source)
        if numbers.size and numbers.min() < 0:
            row = int(np.searchsorted(np.cumsum(lengths), np.argmin(numbers), side="right"))
            must = f"C{self._columns.called(self.at)[1:]} must hold lists of items, none of them missing"
            raise self._columns.source.row_error(must, self.n_rows + row)
        self.n_rows += len(lengths)
        return lengths.astype(np.int32), numbers

    def add_in_parts(
        self, column: Any, *, together: int, most_cells: int
    ) -> Iterator[tuple[npt.NDArray[np.int32], ItemIds]]:
        """The same of some lists at a time, which have so many items ``together`` or are one; none has more than
        ``most_cells``.
        """
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        if len(lengths) and lengths.max() > most_cells:
            at = int(np.argmax(lengths > most_cells))
            raise self._columns.source.error(
                f"must have records of at most {most_cells} items, as many as there is memory for, and the one in row "
                f"{self.n_rows + at + 1} has {lengths[at]}",
                hint=MORE_MEMORY,
            )
        ends, start = np.cumsum(lengths, dtype=np.int64), 0
        while start < len(ends):
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + together, side="right")))
            yield self.add(column.slice(start, stop - start))
            start = stop


class LongColumns:
    """The columns of records and items, batch by batch."""

    def __init__(self, columns: Columns, record: Hashable | None, item: Hashable | None) -> None:
        self.at, self._columns = long_columns(columns, record, item), columns
        self.labels = NumberedLabels(columns.check_size)
        self.n_rows = 0

    def add(self, records: Any, items: Any, keys: NumberedWords) -> RecordRuns | None:
        """The rows of a batch, with the numbers that ``keys`` gives records; None of keys without letters."""
        columns, n_rows = self._columns, self.n_rows + len(records)
        columns.check_size(taken(n_records=n_rows, n_items=n_rows))
        starts = _starts(records)
        if starts is None:
            numbers, n_each = self._numbered(records, keys), None
        else:
            letters = letters_of(records.take(pa.array(starts)))
            numbers = None if letters is None else keys.number(*letters)
            n_each = np.diff(starts, append=len(records)).astype(np.int32)
        if numbers is None:
            return None
        columns.check_size(taken(n_labels=len(keys) // 2))
        found = RecordRuns(numbers, n_each, self.labels.number(items, columns.source))
        self.n_rows = n_rows
        return found

    def _numbered(self, records: Any, keys: NumberedWords) -> ItemIds | None:
        """The numbers of the records of all rows."""
        source = self._columns.source
        codes, words = guarded(lambda: _names(records), source)
        if codes.size and codes.min() < 0:
            must = f"C{self._columns.called(self.at[0])[1:]} must say which record the item belongs to"
            raise source.row_error(must, self.n_rows + int(np.argmin(codes)))
        letters = letters_of(words)
        if letters is None:
            return None
        return _in_order(words, codes, keys) if pa.types.is_dictionary(records.type) else keys.number(*letters)[codes]


def _in_order(words: Any, codes: npt.NDArray[np.int64], keys: NumberedWords) -> ItemIds:
    """Numbers in order of first appearance in the rows, which is not the order of a dictionary in the file."""
    first = np.full(len(words), codes.size, np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < codes.size)]
    letters = letters_of(words.take(pa.array(order)))
    assert letters is not None, "they were there before"
    known = np.full(len(words), -1, np.int32)
    known[order] = keys.number(*letters)
    numbers: ItemIds = known[codes]
    return numbers


def _starts(column: Any) -> npt.NDArray[np.int64] | None:
    """Where the rows of each record begin, if records are whole numbers that increase; None if they are not."""
    if not pa.types.is_integer(column.type) or column.null_count or not len(column):
        return None
    values = column.to_numpy(zero_copy_only=False)
    if (values[1:] < values[:-1]).any():
        return None
    return np.concatenate([np.zeros(1, np.int64), np.flatnonzero(values[1:] != values[:-1]) + 1])


def _names(column: Any) -> tuple[npt.NDArray[np.int64], Any]:
    """Codes of the names of records, and the names; text must be UTF-8."""
    codes, words = encoded(column)
    words.validate(full=True)
    return codes, words


Restore = Callable[[Domain, ItemIds], tuple[Domain, ItemIds]]
"""The domain that a file stores in place of the labels that occur, and the item id of each label there."""


def read_lists(batches: Iterator[Any], lists: Lists, columns: Columns, restore: Restore) -> Csr:
    """The records of a column of lists."""
    sizes, items = Sizes(columns.check_size), Items()
    for batch in batches:
        lengths, numbers = lists.add(batch)
        sizes.append(lengths, n_items=numbers.size)
        items.append(numbers)
    domain, rank = restore(*domain_of(lists.labels.whole()))
    return canonical(sizes.starts(), ranked(items.together(), rank), domain)


def read_long(batches: Iterator[tuple[Any, Any]], long: LongColumns, restore: Restore) -> Csr | None:
    """The records of a long file; None where names of records are values that have no letters."""
    keys, found = NumberedWords(), LongRecords()
    for records, items in batches:
        runs = long.add(records, items, keys)
        if runs is None:
            return None
        found.append_runs(runs)
    n_records = len(keys)
    del keys
    domain, rank = restore(*domain_of(long.labels.whole()))
    return found.csr(n_records, rank, domain)


def without_data(schema: Any) -> list[Any]:
    """Empty columns of the types of a schema."""
    columns = []
    for field in schema:
        with suppress(pa.ArrowNotImplementedError):
            columns.append(pa.chunked_array([], field.type))
            continue
        columns.append(pa.nulls(0))
    return columns
