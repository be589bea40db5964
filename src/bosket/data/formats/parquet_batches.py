"""Parquet files under a declaration, some rows at a time: how many are read at once follows from the pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from bosket.data.baskets.rows import taken
from bosket.data.formats import parquet_cells
from bosket.data.formats.cell_weights import weight
from bosket.data.formats.cut_lists import CutLists
from bosket.data.formats.flat_pages import FlatColumn
from bosket.data.formats.list_cells import CELL_BYTES
from bosket.data.formats.parquet_opening import Opened
from bosket.data.formats.parquet_pages import pages_of
from bosket.data.formats.parquet_texts import BYTES_A_BATCH, check_pages, group_batches, with_codes
from bosket.data.formats.sources import MAX_BYTES

_ROWS_A_BATCH = 1 << 16
_MOST_ROWS = 1 << 20
_BYTES_OF_LISTS = 1 << 24  # Arrow takes several times as much while it makes them


def coded_batches(file: Opened, columns: list[str], *, longest: int | None = None) -> Iterator[Any]:
    """The rows of some columns, some at a time, counted towards the cap; errors are Arrow's, for the caller to turn.

    The words of a row group count once.  A word, and the cells of one list, count for no more than a line of text may
    have, so that one record does not use up the cap.  Where no record may be refused, a row group of one column of
    lists comes as :class:`CutLists` if it has one of more than the ``longest`` cells, or words that are far more
    unpacked than the cap.
    """
    reader, most = with_codes(file, columns), _most_rows(file, columns)
    if file.is_strict:
        file.content.check_size(parquet_cells.n_bytes(file, columns))
    pages = check_pages(file, columns)
    total, in_lists = 0, _rows_of_lists(file, columns)
    for group in range(file.file.metadata.num_row_groups):
        words, n_rows = 0, file.file.metadata.row_group(group).num_rows
        if n_rows <= 0:
            continue
        sixteenth = n_rows // 16  # each batch comes with a copy of the words
        size = min(most, max(_ROWS_A_BATCH, sixteenth), in_lists.get(group, _MOST_ROWS))
        if longest is not None and not file.is_strict:
            size, cut = _without_long_lists(file, columns, group, size, pages[group].apart, longest)
            if cut is not None:
                file.content.check_size(total + cut.n_bytes)
                yield cut
                total += cut.n_bytes  # with the words that were read
                file.content.check_size(total)
                continue
        for batch in group_batches(file, reader, group, columns, size):
            weights = [weight(column) for column in batch.columns]
            total += sum(cells for cells, _ in weights)
            words = max(words, sum(known for _, known in weights))  # a batch comes with the words of those before
            file.content.check_size(total + words)
            yield batch
        total += words


def _without_long_lists(
    file: Opened, columns: list[str], group: int, size: int, apart: int, longest: int
) -> tuple[int, CutLists | None]:
    """So few rows for a batch that no few lists are more than a few of the longest; or else the lists, to be cut."""
    (chunk,), n_rows = parquet_cells.chunks_of(file, columns)[group], file.file.metadata.row_group(group).num_rows
    is_beyond = apart > (file.content.max_bytes or MAX_BYTES)
    if chunk.depth != 1 or (chunk.n_values - n_rows < longest and not is_beyond):
        return size, None
    file.content.check_size(taken(n_records=n_rows))  # before each of them is looked at
    found = pages_of(file.handle, chunk, n_rows=n_rows, check=lambda _: None)
    if found.row is None:
        raise file.content.source.error(
            "must have lists whose levels are runs, packed in a way that is known, where no record may be refused",
            hint="Write it again, with zstd.",
        )
    ((_, (leaf,)),) = parquet_cells.leaves_of(file, columns)
    kind = file.decoded.schema_arrow.field(columns[0]).type
    column = FlatColumn.of(leaf, may_be_missing=kind.value_field.nullable)
    if column is None or (found.longest <= longest and not is_beyond):
        return found.rows_within(size, 2 * longest), None
    return size, CutLists.of(file.handle, chunk, column, n_rows)


def _nested(file: Opened, columns: list[str]) -> list[str]:
    wanted = set(columns)
    return [field.name for field in file.schema if field.name in wanted and pa.types.is_nested(field.type)]


def _most_rows(file: Opened, columns: list[str]) -> int:
    """The most rows of a batch: fewer of lists, which may be long, and of rows that are wide by the schema."""
    bits = parquet_cells.bits_of_a_row(file, columns)
    most, room = (_ROWS_A_BATCH, _BYTES_OF_LISTS) if _nested(file, columns) else (_MOST_ROWS, BYTES_A_BATCH)
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
