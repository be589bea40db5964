"""Parquet files with their text as codes: a word that is repeated is held once, however long it is.

A column with a dictionary says a word of 100 kB in less than a byte a cell.  Decoded, such cells take gigabytes, and
more than Arrow's offsets of 32 bits reach.  So text is not decoded: Arrow hands out codes, and the words beside them.
A row group whose different words are more than 2 GiB together cannot be read so, nor can text in the encodings that
write a word as its difference from the one before; these are read as they are, few rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa

from bosket.data.formats import lines, parquet_cells
from bosket.data.formats.arrow_cells import has_codes_beyond, without_codes_beyond
from bosket.data.formats.cell_weights import WORD_BYTES, is_text
from bosket.data.formats.leaf_counts import value_counts
from bosket.data.formats.parquet_opening import Opened
from bosket.data.formats.parquet_pages import Chunk, ColumnPages, bytes_of, pages_of, plain_bytes
from bosket.data.formats.sources import MAX_BYTES, MORE_MEMORY
from bosket.threads import n_threads

_FEW_ROWS = 1 << 6
_BATCHES_TOGETHER = 1 << 10
BYTES_A_BATCH = 1 << 26
_BYTES_TOGETHER = 1 << 24
_MOST_LENGTHS = 1 << 28  # of words of a page; elsewhere they count
_ROWS_OF_A_PART = 1 << 16
_ROWS_OF_A_TABLE = 1 << 24
_LONG_COLUMNS = 2  # of a file that has a row for each record and item
_LONG_ROWS = 4  # as many as the longest that may be, at most, of a batch
_WIDE = 8  # words of 64 bits, of cells that are taken for long ones
_PAGES_TOGETHER = 16  # times as many as the words of a batch
_FEW_VALUES = 1 << 26  # that a file of any size may have, where they do not count towards a cap
_VALUES_A_BYTE, _MARKS_A_BYTE = 1 << 10, 1 << 14  # and for each of its bytes; marks are those of one-hot columns
_REPEATED = 64  # times that text which is read as it is may be larger than pages that repeat it


def coded_table(file: Opened, columns: list[str] | None = None) -> Any:
    """All rows, counted towards the cap twice: cells by what the footer says, before any is read, and all that comes.

    Of all columns, or of those of these names.  Errors are Arrow's, for the caller to turn.  A row group is read at
    once, so that its words are held once.
    """
    batches = list(table_batches(file, columns))
    return pa.Table.from_batches(batches, batches[0].schema if batches else table_schema(file, columns))


def table_schema(file: Opened, columns: list[str] | None = None) -> Any:
    """The types in which :func:`coded_table` reads columns: text comes as codes."""
    reader = with_codes(file, file.schema.names if columns is None else columns)
    return reader.schema_arrow if columns is None else pa.schema(map(reader.schema_arrow.field, columns))


def table_batches(
    file: Opened, columns: list[str] | None = None, *, most_rows: int = _ROWS_OF_A_TABLE
) -> Iterator[Any]:
    """The rows of :func:`coded_table`, counted as there; columns without text come at most ``most_rows`` at a time."""
    metadata = file.file.metadata
    reader = with_codes(file, file.schema.names if columns is None else columns)
    if columns is not None:
        file.content.check_size(parquet_cells.n_claimed(file, columns))
    file.content.check_size(parquet_cells.n_bytes(file, columns))
    pages = check_pages(file, columns)
    schema = reader.schema_arrow if columns is None else pa.schema(map(reader.schema_arrow.field, columns))
    most_rows = _ROWS_OF_A_TABLE if any(map(_has_codes, schema.types)) else most_rows
    total = 0
    for group in range(metadata.num_row_groups):
        size = max(1, min(metadata.row_group(group).num_rows, most_rows))
        _check_words(file, reader, group, columns, pages[group].n_plain)
        for batch in group_batches(file, reader, group, columns, size):
            whole = _in_types(batch, schema)
            total += whole.nbytes
            file.content.check_size(total)
            yield whole


class GroupBytes(NamedTuple):
    """What the pages of a row group take: words that are written as differences, and words that no dictionary lists."""

    apart: int = 0
    n_plain: int = 0


def check_pages(file: Opened, columns: list[str] | None) -> list[GroupBytes]:
    """Refuse pages beyond the cap, by their headers: what they unpack to counts, whatever the footer says, and text
    that is written as differences counts as it would if it were written plainly.

    Where no record may be refused, pages are looked at all the same: they must be sound, have as many values as the
    footer says, by which batches are cut, and not take hours, as differences may.  Words of a dictionary count for what
    Arrow takes to tell them apart, row group by row group.  What there is in row groups comes back.
    """
    groups, before = [], 0
    most = _REPEATED * max(file.content.max_bytes or MAX_BYTES, 16 * lines.LONGEST)

    def check(n_bytes: int) -> None:
        if file.is_strict:
            file.content.check_size(before + n_bytes)
        elif is_apart and before + n_bytes > most:
            raise file.content.source.error(f"must not repeat words so often that they take more than {most:,} bytes")

    for group in parquet_cells.chunks_of(file, file.schema.names if columns is None else columns):
        apart = n_words = n_plain = 0
        for chunk in group:
            is_apart = False
            found, here = bytes_of(file.handle, chunk, check=check), 0
            if found.n_lengths > _MOST_LENGTHS and not file.is_strict:
                raise file.content.source.error(
                    f"must have at most {_MOST_LENGTHS:,} words in a page, where they are written as differences",
                    hint="Write it with smaller pages, or with a dictionary.",
                )
            if found.n_lengths:
                is_apart = True
                here = plain_bytes(file.handle, chunk, check=check)
            before += max(found.n_bytes, here) if file.is_strict else here
            apart, n_words, n_plain = apart + here, n_words + found.n_words, n_plain + found.n_plain
            file.content.check_size(WORD_BYTES * n_words)
        groups.append(GroupBytes(apart, n_plain))
    return groups


def _check_words(file: Opened, reader: Any, group: int, columns: list[str] | None, n_plain: int) -> None:
    """Refuse more different words than there is room for, which Arrow would have to tell apart.

    Whether words that no dictionary lists are different is not known: where they may be too many, rows are read in
    parts, and once more as a whole.
    """
    if WORD_BYTES * n_plain <= (file.content.max_bytes or WORD_BYTES * n_plain):
        return
    size = max(_ROWS_OF_A_PART, file.file.metadata.row_group(group).num_rows // 16)  # words are copied each time
    for batch in group_batches(file, reader, group, columns, size):
        file.content.check_size(sum(map(_n_word_bytes, batch.columns)))


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
    reader, schema, chunks = with_codes(file, names), table_schema(file, columns), parquet_cells.chunks_of(file, names)
    _check_values(file, chunks)
    before, widths = 0, parquet_cells.words_of(file, names)
    for group in range(metadata.num_row_groups):
        n_rows = metadata.row_group(group).num_rows
        if n_rows <= 0:
            continue
        found = [
            _looked_at(file, chunk, n_rows, before, parts._replace(longest=parts.longest // max(width)))
            for chunk, width in zip(chunks[group], widths, strict=True)
        ]
        _check_together(file, found, parts)
        cells = [
            max(pages.n_values * by_value, n_rows * by_row)
            for pages, (by_value, by_row) in zip(found, widths, strict=True)
        ]
        wide = sum(8 * n_words for n_words, width in zip(cells, widths, strict=True) if max(width) > _WIDE)
        _check_repeated(file, wide, sum(pages.n_bytes for pages in found))
        number = max(
            1,
            -(-sum(cells) // parts.cells),
            -(-sum(pages.n_bytes for pages in found) // parts.n_bytes),
        )
        size = max(1, min(parts.rows, n_rows // number))
        for pages, width in zip(found, widths, strict=True):
            size = min(size, pages.rows_within(size, _LONG_ROWS * parts.longest // max(width)))
        repeated = sum(pages.longest * pages.repeated for pages in found)
        room = _Room(parts.n_bytes, repeated, sum(pages.n_bytes for pages in found))
        for batch in group_batches(file, reader, group, columns, size, room):
            yield _in_types(batch, schema)
        before += n_rows


def _check_values(file: Opened, chunks: list[list[Chunk]]) -> None:
    """Refuse more values than a file of so many bytes has, unless somebody means harm.

    Runs say 10^9 records in a few hundred bytes, each of which would take time, and room in a scratch folder.
    """
    are_marks = any(len(group) > _LONG_COLUMNS for group in chunks)
    most = _FEW_VALUES + (_MARKS_A_BYTE if are_marks else _VALUES_A_BYTE) * file.handle.size()
    n_values = sum(chunk.n_values for group in chunks for chunk in group)
    if n_values > most:
        raise file.content.source.error(
            f"must hold at most {most:,} values, as a file of its bytes may, and holds {n_values:,}",
            hint="Baskets.read takes it if it fits in memory.",
        )


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


def _check_together(file: Opened, found: list[ColumnPages], parts: PartLimits) -> None:
    """Refuse columns whose largest pages are too many bytes: Arrow holds one of each column at once."""
    n_bytes = sum(pages.largest for pages in found)
    if n_bytes > _PAGES_TOGETHER * parts.n_bytes:
        raise file.content.source.error(
            f"must have columns whose largest pages have at most {_PAGES_TOGETHER * parts.n_bytes:,} bytes together, "
            f"unpacked, as there is memory for, and they have {n_bytes:,}",
            hint=MORE_MEMORY,
        )


def _check_repeated(file: Opened, n_bytes: int, n_pages: int) -> None:
    """Refuse cells that take far more than the pages in which they stand: a file of bytes would take hours."""
    if n_bytes > _REPEATED * n_pages + BYTES_A_BATCH:
        raise file.content.source.error(
            f"must not repeat words so often that they take more than {_REPEATED} times as much as its pages",
            hint=MORE_MEMORY,
        )


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


def with_codes(file: Opened, columns: list[str]) -> Any:
    """A reader of the same file that gives the text of these columns as codes."""
    return file.coded(
        [
            leaf.path
            for _, leaves in parquet_cells.leaves_of(file, columns)
            for leaf in leaves
            if leaf.physical_type == "BYTE_ARRAY" and leaf.converted_type != "DECIMAL"
        ]
    )


def group_batches(
    file: Opened, reader: Any, group: int, columns: list[str] | None, size: int, room: _Room | None = None
) -> Iterator[Any]:
    """The rows of a row group, as many as the footer says, with all values of their lists; else ``ArrowInvalid``.

    Of a column in which Arrow finds no row, and of lists beyond the rows, it says nothing: it gives no rows at all, or
    leaves these lists out.
    """
    names = file.schema.names if columns is None else columns
    chunks = parquet_cells.chunks_of(file, names)[group]
    n_claimed = [chunk.n_values for chunk in chunks]
    has_lists = any(chunk.depth for chunk in chunks)  # where there are none, there is a value for each row
    seen, n_values = 0, [0] * len(chunks)
    for batch in _batches_of_group(file, reader, group, columns, size, room):
        seen += batch.num_rows
        if has_lists:
            n_values = [before + here for before, here in zip(n_values, _n_values(file, batch, columns), strict=True)]
        yield batch
    if seen != file.file.metadata.row_group(group).num_rows or (has_lists and n_values != n_claimed):
        raise pa.ArrowInvalid("The pages of a row group do not have its rows.")


def _n_values(file: Opened, batch: Any, columns: list[str] | None) -> Iterator[int]:
    """How many values the pages of each column of the file have that a batch is made of, in the order of the file."""
    read = batch.columns
    if columns is not None:
        wanted = set(columns)
        read = [batch.column(name) for name in file.schema.names if name in wanted]
    return chain.from_iterable(map(value_counts, read))


def _batches_of_group(
    file: Opened, reader: Any, group: int, columns: list[str] | None, size: int, room: _Room | None
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
    return int(column.dictionary.nbytes) + WORD_BYTES * len(column.dictionary)


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

    A word is no longer than a page, nor than the group, by what the footer says, and those of a row are not more than
    all that are written as differences: so few rows are decoded at once that they are less than the cap, and then put
    together up to the size of a batch.  The footer may lie: so they are never more than ``_FEW_ROWS``.
    """
    claimed, together = max(1, file.file.metadata.row_group(group).total_byte_size), _BYTES_TOGETHER
    if room is None:
        chunks = parquet_cells.chunks_of(file, file.schema.names if columns is None else columns)[group]
        plain = sum(plain_bytes(file.handle, chunk, check=lambda _: None) for chunk in chunks)
        n_rows = file.file.metadata.row_group(group).num_rows
        pages = [pages_of(file.handle, chunk, n_rows=n_rows, check=lambda _: None) for chunk in chunks]
        claimed = min(max(claimed, plain), max(1, sum(one.longest * one.largest for one in pages)))
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
        if room is not None:
            _check_repeated(file, total, room.n_pages)
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
    is_left = pa.types.is_nested(kind) or pa.types.is_decimal(kind) or is_text(column.type)
    return column if is_left or column.type == kind else column.cast(kind)


def _together(batches: list[Any]) -> list[Any]:
    whole: list[Any] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole
