"""Parquet files with their text as codes: a word that is repeated is held once, however long it is.

A column with a dictionary says a word of 100 kB in less than a byte a cell.  Decoded, such cells take gigabytes, and
more than Arrow's offsets of 32 bits reach.  So text is not decoded: Arrow hands out codes, and the words beside them.
A row group whose different words are more than 2 GiB together cannot be read so; it is read as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from bosket.data import lines
from bosket.data.parquet_files import ROWS_A_BATCH, Opened

_MOST_ROWS = 1 << 20
_FEW_ROWS = 1 << 12


def coded_batches(file: Opened, columns: list[str]) -> Iterator[Any]:
    """The rows of some columns, some at a time, counted towards the cap; errors are Arrow's, for the caller to turn.

    The words of a row group count once.  A word, and the cells of one list, count for no more than a line of text may
    have, so that one record does not use up the cap.
    """
    wanted = set(columns)
    nested = [field.name for field in file.schema if field.name in wanted and pa.types.is_nested(field.type)]
    reader = _with_codes(file, columns, nested)
    most, total = ROWS_A_BATCH if nested or len(columns) > 2 else _MOST_ROWS, 0
    for group in range(file.file.metadata.num_row_groups):
        words = 0
        for batch in _group(file, reader, group, columns, most):
            weights = [_weight(column) for column in batch.columns]
            total += sum(cells for cells, _ in weights)
            words = max(words, sum(known for _, known in weights))  # a batch comes with the words of those before
            file.content.check_size(total + words)
            yield batch
        total += words


def _with_codes(file: Opened, columns: list[str], nested: list[str]) -> Any:
    """A reader of the same file that gives the text of these columns as codes."""
    metadata = file.file.metadata
    leaves = [file.file.schema.column(at) for at in range(metadata.num_columns)]
    texts = {leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and leaf.converted_type != "DECIMAL"}
    heads = tuple(f"{name}." for name in nested)
    paths = [path for path in texts if path.startswith(heads)] + list(texts.intersection(columns))
    return parquet.ParquetFile(file.handle, metadata=metadata, read_dictionary=paths, pre_buffer=False)


def _group(file: Opened, reader: Any, group: int, columns: list[str], most: int) -> Iterator[Any]:
    """The rows of a row group; where its words become too many for codes, the rest as it is, few rows at a time."""
    size = min(most, max(ROWS_A_BATCH, file.file.metadata.row_group(group).num_rows // 16))  # each copies the words
    done = 0
    try:
        for batch in reader.iter_batches(size, row_groups=[group], columns=columns):
            yield batch
            done += batch.num_rows
    except pa.lib.ArrowCapacityError:
        rest = file.file.iter_batches(_FEW_ROWS, row_groups=[group], columns=columns)
    else:
        return
    for batch in rest:
        before = min(done, batch.num_rows)
        done -= before
        yield batch.slice(before)


def _weight(column: Any) -> tuple[int, int]:
    """The bytes of the cells of a column, and those of the words that they are codes of."""
    if pa.types.is_nested(column.type):
        cells = pc.list_flatten(column)
        held, words = _weight(cells)
        lists = pc.multiply(pc.cast(pc.list_value_length(column), pa.int64()), max(1, held // max(1, len(cells))))
        return _sum_of(lists), words
    if pa.types.is_dictionary(column.type):
        return column.indices.nbytes, _sum_of(pc.binary_length(column.dictionary))
    return column.nbytes, 0


def _sum_of(sizes: Any) -> int:
    """The sum of sizes, of each of them no more than a line of text may have."""
    return pc.sum(pc.min_element_wise(sizes, lines.LONGEST, skip_nulls=False)).as_py() or 0
