"""Parquet files with their text as codes: a word that is repeated is held once, however long it is.

A column with a dictionary says a word of 100 kB in less than a byte a cell.  Decoded, such cells take gigabytes, and
more than Arrow's offsets of 32 bits reach.  So text is not decoded: Arrow hands out codes, and the words beside them.
A row group whose different words are more than 2 GiB together cannot be read so, nor can text in the encodings that
write a word as its difference from the one before; these are read as they are, few rows at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data.formats import lines, parquet_cells
from bosket.data.formats.arrow_cells import has_codes_beyond, without_codes_beyond
from bosket.data.formats.list_cells import CELL_BYTES
from bosket.data.formats.parquet_opening import Opened
from bosket.data.formats.parquet_pages import Chunk, ColumnPages, pages_of, plain_bytes
from bosket.data.formats.sources import MAX_BYTES, MORE_MEMORY
from bosket.threads import n_threads

_ROWS_A_BATCH = 1 << 16
_MOST_ROWS = 1 << 20
_FEW_ROWS = 1 << 6
_OFFSET_BYTES = 8  # of text that is not codes
_VIEW_BYTES = 16
_OF_WORDS = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_WORD_BYTES = 100  # of a different word, beside its letters, while Arrow tells it from others
_BATCHES_TOGETHER = 1 << 10
_BYTES_A_BATCH = 1 << 26
_BYTES_OF_LISTS = 1 << 24  # Arrow takes several times as much while it makes them
_BYTES_TOGETHER = 1 << 24
_ROWS_OF_A_TABLE = 1 << 24
_LONG_ROWS = 4  # as many as the longest that may be, at most, of a batch
_REPEATED = 64  # times that text which is read as it is may be larger than pages that repeat it


def coded_batches(file: Opened, columns: list[str]) -> Iterator[Any]:
    """The rows of some columns, some at a time, counted towards the cap; errors are Arrow's, for the caller to turn.

    The words of a row group count once.  A word, and the cells of one list, count for no more than a line of text may
    have, so that one record does not use up the cap.
    """
    reader, most = _with_codes(file, columns), _most_rows(file, columns)
    _check_differences(file, columns)
    total, in_lists = 0, _rows_of_lists(file, columns)
    for group in range(file.file.metadata.num_row_groups):
        words = 0
        sixteenth = file.file.metadata.row_group(group).num_rows // 16  # each batch comes with a copy of the words
        size = min(most, max(_ROWS_A_BATCH, sixteenth), in_lists.get(group, _MOST_ROWS))
        for batch in _group(file, reader, group, columns, size):
            weights = [_weight(column) for column in batch.columns]
            total += sum(cells for cells, _ in weights)
            words = max(words, sum(known for _, known in weights))  # a batch comes with the words of those before
            file.content.check_size(total + words)
            yield batch
        total += words


def coded_table(file: Opened, columns: list[str] | None = None) -> Any:
    """All rows, counted towards the cap twice: cells by what the footer says, before any is read, and all that comes.

    Of all columns, or of those of these names.  Errors are Arrow's, for the caller to turn.  A row group is read at
    once, so that its words are held once.
    """
    batches = list(table_batches(file, columns))
    return pa.Table.from_batches(batches, batches[0].schema if batches else table_schema(file, columns))


def table_schema(file: Opened, columns: list[str] | None = None) -> Any:
    """The types in which :func:`coded_table` reads columns: text comes as codes."""
    reader = _with_codes(file, file.schema.names if columns is None else columns)
    return reader.schema_arrow if columns is None else pa.schema(map(reader.schema_arrow.field, columns))


def table_batches(
    file: Opened, columns: list[str] | None = None, *, most_rows: int = _ROWS_OF_A_TABLE
) -> Iterator[Any]:
    """The rows of :func:`coded_table`, counted as there; columns without text come at most ``most_rows`` at a time."""
    metadata = file.file.metadata
    reader = _with_codes(file, file.schema.names if columns is None else columns)
    if columns is not None:
        file.content.check_size(parquet_cells.n_claimed(file, columns))
    file.content.check_size(parquet_cells.n_bytes(file, columns))
    _check_differences(file, columns)
    schema = reader.schema_arrow if columns is None else pa.schema(map(reader.schema_arrow.field, columns))
    most_rows = _ROWS_OF_A_TABLE if any(map(_has_codes, schema.types)) else most_rows
    total = 0
    for group in range(metadata.num_row_groups):
        size = max(1, min(metadata.row_group(group).num_rows, most_rows))
        for batch in _group(file, reader, group, columns, size):
            whole = _in_types(batch, schema)
            total += whole.nbytes
            file.content.check_size(total)
            yield whole


def _check_differences(file: Opened, columns: list[str] | None) -> None:
    """Refuse text beyond the cap that is written as differences: it counts as it would if it were written plainly.

    Where no record may be refused, pages are looked at all the same: they must be sound.
    """
    before = 0

    def check(n_bytes: int) -> None:
        if file.is_strict:
            file.content.check_size(before + n_bytes)

    for group in _chunks_of_words(file, columns):
        for chunk in group:
            before += plain_bytes(file.handle, chunk, check=check)


def _chunks_of_words(file: Opened, columns: list[str] | None) -> list[list[Chunk]]:
    """By row group, columns of the file whose words may be written as differences; the others need no look."""
    names = file.schema.names if columns is None else columns
    are_words = [
        leaf.physical_type in _OF_WORDS for _, leaves in parquet_cells.leaves_of(file, names) for leaf in leaves
    ]
    if not any(are_words):
        return [[] for _ in range(file.file.metadata.num_row_groups)]
    return [list(itertools.compress(group, are_words)) for group in parquet_cells.chunks_of(file, names)]


class PartLimits(NamedTuple):
    """How large batches may be that a caller does not keep.

    rows     of a batch, at most
    cells    of a batch, on the average
    longest  cells of a row: one that has more is refused, and no batch has a few times as many
    n_bytes  of the words of a batch; a page of more than twice as many is refused
    """

    rows: int
    cells: int
    longest: int
    n_bytes: int


def parted_batches(file: Opened, columns: list[str] | None, parts: PartLimits) -> Iterator[Any]:
    """The rows of :func:`coded_table`, for a caller that does not keep them: a batch of text is no row group either.

    What rows there is room for goes by the headers of all pages, which Arrow goes by as well.  Arrow copies the words
    so far for every batch: once they are more than there is room for, text is read as it is.
    """
    metadata, names = file.file.metadata, file.schema.names if columns is None else columns
    reader, schema, chunks = _with_codes(file, names), table_schema(file, columns), parquet_cells.chunks_of(file, names)
    before = 0
    for group in range(metadata.num_row_groups):
        n_rows = metadata.row_group(group).num_rows
        if n_rows <= 0:
            continue
        found = [_looked_at(file, chunk, n_rows, before, parts) for chunk in chunks[group]]
        number = max(
            1,
            -(-sum(pages.n_values for pages in found) // parts.cells),
            -(-sum(pages.n_bytes for pages in found) // parts.n_bytes),
        )
        size = max(1, min(parts.rows, n_rows // number))
        size = min((pages.rows_within(size, _LONG_ROWS * parts.longest) for pages in found), default=size)
        repeated = sum(pages.longest * pages.repeated for pages in found)
        room = _Room(parts.n_bytes, repeated, sum(pages.n_bytes for pages in found))
        for batch in _group(file, reader, group, columns, size, room):
            yield _in_types(batch, schema)
        before += n_rows


def _looked_at(file: Opened, chunk: Chunk, n_rows: int, before: int, parts: PartLimits) -> ColumnPages:
    """The pages of a column of a row group; refused where one, or one of its lists, is too large."""

    def check(n_bytes: int) -> None:
        if n_bytes > 2 * parts.n_bytes:
            raise file.content.source.error(
                f"must have pages of at most {2 * parts.n_bytes:,} bytes, unpacked, as there is memory for, and has "
                f"one of {n_bytes:,}",
                hint=MORE_MEMORY,
            )

    found = pages_of(file.handle, chunk, n_rows=n_rows, check=check)
    if found.longest > parts.longest:
        where = "one" if found.row is None else f"the one in row {before + found.row}"
        raise file.content.source.error(
            f"must have records of at most {parts.longest} items, as many as there is memory for, and {where} has "
            f"{found.longest}" + (" perhaps" if found.row is None else ""),
            hint=MORE_MEMORY,
        )
    return found


class _Room(NamedTuple):
    """What the words of a batch may take.

    repeated  what those of one row may take that stand once in the file, and come once for each cell where they are
              read as they are
    n_pages   bytes of all pages
    """

    n_bytes: int
    repeated: int
    n_pages: int

    @property
    def few_rows(self) -> int:
        """So many that all of them may have the longest word, in all their cells."""
        return max(1, min(_FEW_ROWS, self.n_bytes // max(1, self.repeated)))


def _in_types(batch: Any, schema: Any) -> Any:
    """A batch with text as codes, however it was read."""
    return pa.RecordBatch.from_arrays(list(map(_as_codes, batch.columns, schema.types)), names=batch.schema.names)


def _has_codes(kind: Any) -> bool:
    """Whether values, or those in lists, come as codes of words."""
    while pa.types.is_nested(kind) and kind.num_fields:
        kind = kind.field(0).type
    return bool(pa.types.is_dictionary(kind))


def _as_codes(column: Any, kind: Any) -> Any:
    """A column that was read as it is, as the codes that others are."""
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type):
        return column.cast(kind.value_type).dictionary_encode()
    return column if column.type == kind else column.cast(kind)


def _with_codes(file: Opened, columns: list[str]) -> Any:
    """A reader of the same file that gives the text of these columns as codes."""
    return file.coded(
        [
            leaf.path
            for _, leaves in parquet_cells.leaves_of(file, columns)
            for leaf in leaves
            if leaf.physical_type == "BYTE_ARRAY" and leaf.converted_type != "DECIMAL"
        ]
    )


def _nested(file: Opened, columns: list[str]) -> list[str]:
    wanted = set(columns)
    return [field.name for field in file.schema if field.name in wanted and pa.types.is_nested(field.type)]


def _most_rows(file: Opened, columns: list[str]) -> int:
    """The most rows of a batch: fewer of lists, which may be long, and of rows that are wide by the schema."""
    bits = parquet_cells.bits_of_a_row(file, columns)
    most, room = (_ROWS_A_BATCH, _BYTES_OF_LISTS) if _nested(file, columns) else (_MOST_ROWS, _BYTES_A_BATCH)
    return max(1, min(most, 8 * room // max(1, bits)))


def _rows_of_lists(file: Opened, columns: list[str]) -> dict[int, int]:
    """By row group, the most rows of lists for a batch, by how many cells the footer says there are to a row.

    There are no more batches than the cells of the group take room for, whichever of its rows has how many of them.
    """
    if not _nested(file, columns):
        return {}
    with suppress(ValueError):  # a footer that does not say so is not held to it
        n_cells = map(sum, parquet_cells.n_values(file, columns))
        n_rows = [file.file.metadata.row_group(at).num_rows for at in range(file.file.metadata.num_row_groups)]
        return {
            at: max(1, rows * _BYTES_OF_LISTS // max(1, CELL_BYTES * cells))
            for at, (rows, cells) in enumerate(zip(n_rows, n_cells, strict=True))
        }
    return {}


def _group(
    file: Opened, reader: Any, group: int, columns: list[str] | None, size: int, room: _Room | None = None
) -> Iterator[Any]:
    """The rows of a row group; where there cannot be codes, or no more of them, or no ``room``, the rest as it is."""
    done = 0
    try:
        for batch in reader.iter_batches(size, row_groups=[group], columns=columns, use_threads=n_threads() > 1):
            yield _with_words(_only(batch, columns), is_strict=file.is_strict)
            done += batch.num_rows
            if room is not None and sum(map(_n_word_bytes, batch.columns)) > room.n_bytes:
                del batch
                break
        else:
            return
    except pa.lib.ArrowCapacityError:
        pass
    except OSError as error:
        if "DictAccumulator" not in str(error):  # what Arrow says of an encoding that it makes no codes of
            raise
    yield from _as_it_is(file, group, columns, done, room)


def _n_word_bytes(column: Any) -> int:
    """Of the words that cells of a column, or of its lists, are codes of, as Arrow holds them to tell them apart."""
    while pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        column = column.values
    if not pa.types.is_dictionary(column.type):
        return 0
    return int(column.dictionary.nbytes) + _WORD_BYTES * len(column.dictionary)


def _only(batch: Any, columns: list[str] | None) -> Any:
    """The columns that were asked for: Arrow takes the name ``a.b`` for the values ``b`` within ``a`` too."""
    return batch if columns is None else batch.select(columns)


def _with_words(batch: Any, *, is_strict: bool) -> Any:
    """A batch in which every code has a word: those of the file come as they are, and Arrow does not look at them."""
    if not any(map(has_codes_beyond, batch.columns)):
        return batch
    if is_strict:
        raise pa.ArrowInvalid("A code has no word.")
    return pa.RecordBatch.from_arrays(list(map(without_codes_beyond, batch.columns)), names=batch.schema.names)


def _as_it_is(
    file: Opened, group: int, columns: list[str] | None, done: int, room: _Room | None = None
) -> Iterator[Any]:
    """The rows of a row group after the first ones, without codes.

    A word is no longer than the group, by what the footer says, nor are those of a row than all that are written as
    differences: so few rows are decoded at once that they are less than the cap, and then put together up to the size
    of a batch.  The footer may lie, and the words be as long as a page: so they are never more than ``_FEW_ROWS``.
    """
    claimed, together = max(1, file.file.metadata.row_group(group).total_byte_size), _BYTES_TOGETHER
    if room is None:
        words = _chunks_of_words(file, columns)[group]
        claimed = max(claimed, sum(plain_bytes(file.handle, chunk, check=lambda _: None) for chunk in words))
    size = max(1, min(_FEW_ROWS, (file.content.max_bytes or MAX_BYTES) // claimed))
    if room is not None:
        if room.repeated > _LONG_ROWS * room.n_bytes:
            raise file.content.source.error(
                f"must have records whose words take at most {_LONG_ROWS * room.n_bytes:,} bytes, as there is memory "
                "for, and one may take more",
                hint=MORE_MEMORY,
            )
        size, together = min(size, room.few_rows), min(together, room.n_bytes)
    held, n_bytes, total = [], 0, 0
    for batch in file.decoded.iter_batches(size, row_groups=[group], columns=columns):
        before = min(done, batch.num_rows)
        done -= before
        held.append(_typed(_only(batch, columns).slice(before), file.schema))
        n_bytes, total = n_bytes + held[-1].nbytes, total + held[-1].nbytes
        if room is not None and total > _REPEATED * room.n_pages + _BYTES_A_BATCH:
            raise file.content.source.error(
                f"must not repeat words so often that they take more than {_REPEATED} times as much as its pages",
                hint=MORE_MEMORY,
            )
        if n_bytes > together or len(held) >= _BATCHES_TOGETHER:
            yield from _together(held)
            held, n_bytes = [], 0
    if held:
        yield from _together(held)


def _typed(batch: Any, schema: Any) -> Any:
    """A batch with the types that the schema says, but for text, lists, codes and decimals: two row groups may be read
    two ways, and a time in seconds is to be that number in both.

    A decimal is the same number however wide its type is, and Arrow refuses to cast one of more digits than that says.
    """
    columns = [_cast(column, schema.field(name).type) for name, column in zip(batch.schema.names, batch, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _cast(column: Any, kind: Any) -> Any:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_left = pa.types.is_nested(kind) or pa.types.is_decimal(kind) or _is_text(column.type)
    return column if is_left or column.type == kind else column.cast(kind)


def _together(batches: list[Any]) -> list[Any]:
    whole: list[Any] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole


def _weight(column: Any) -> tuple[int, int]:
    """The bytes of the cells of a column, and those of the words that they are codes of."""
    if pa.types.is_nested(column.type):
        cells = pc.list_flatten(column)
        held, words = _weight(cells)
        width = max(CELL_BYTES, held // max(1, len(cells)))
        return _sum_of(pc.multiply(pc.cast(pc.list_value_length(column), pa.int64()), width)), words
    if pa.types.is_dictionary(column.type):
        words = column.dictionary
        return column.indices.nbytes, _sum_of(pc.binary_length(words)) + _WORD_BYTES * len(words)
    if _is_text(column.type):
        return _OFFSET_BYTES * len(column) + _sum_of(pc.binary_length(column)), 0
    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        return _VIEW_BYTES * len(column) + _sum_of(_lengths_of_views(column)), 0
    return column.nbytes, 0


def _is_text(kind: Any) -> bool:
    """Whether cells are text, or bytes, each with a length of its own."""
    types = pa.types
    return any(
        is_kind(kind) for is_kind in (types.is_string, types.is_binary, types.is_large_string, types.is_large_binary)
    )


def _lengths_of_views(column: Any) -> Any:
    """What ``pc.binary_length`` does not tell of them: a view begins with its length, and a missing one has none."""
    views = np.frombuffer(column.buffers()[1], np.int32)[:: _VIEW_BYTES // 4]
    return pc.if_else(column.is_valid(), pa.array(views[column.offset : column.offset + len(column)]), 0)


def _sum_of(sizes: Any) -> int:
    """The sum of sizes, of each of them no more than a line of text may have."""
    return pc.sum(pc.min_element_wise(sizes, lines.LONGEST, skip_nulls=False)).as_py() or 0
