"""What the cells of a Parquet file take once they are read, by its schema and its footer.

A missing cell takes as much as any other.  Where the stored schema says that lists have a fixed size, Arrow fills up a
missing one to that size: some hundred bytes of a file would take gigabytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from bosket.data.formats import lines
from bosket.data.formats.parquet_footers import codecs, first_pages, numbers_of_bytes, numbers_of_values, packed_bytes
from bosket.data.formats.parquet_opening import Opened
from bosket.data.formats.parquet_pages import Chunk
from bosket.data.formats.sources import Source

_DEEPEST = 100
_BITS = {"BOOLEAN": 1, "INT32": 32, "INT64": 64, "INT96": 64, "FLOAT": 32, "DOUBLE": 64, "BYTE_ARRAY": 32}
"""Bits that a cell takes, by its type in the file; text takes a code."""


class _Width(NamedTuple):
    """The bits of a column of the file: a number for each row, and one for each value that its footer tells of.

    What stands within lists of any length comes once for each value at most; everything else by rows.
    """

    by_row: int = 0
    by_value: int = 0

    def times(self, number: int) -> _Width:
        return _Width(self.by_row * number, self.by_value * number)

    def plus(self, other: _Width) -> _Width:
        return _Width(self.by_row + other.by_row, self.by_value + other.by_value)


def n_bytes(file: Opened, columns: Iterable[str] | None = None) -> int:
    """The bytes of all cells, without words, by how many rows and values the footer says there are.

    Of all columns, or of those of these names.
    """
    metadata = file.file.metadata
    wanted = file.schema.names if columns is None else list(columns)
    widths = [width for column in _widths(file, wanted) for width in column]
    n_rows = [max(0, metadata.row_group(at).num_rows) for at in range(metadata.num_row_groups)]
    total = sum(width.by_row for width in widths) * sum(n_rows)
    if any(width.by_value for width in widths):
        for rows, group in zip(n_rows, n_values(file, wanted), strict=True):
            total += sum(width.by_value * max(rows, values) for width, values in zip(widths, group, strict=True))
    return int(total // 8)


def n_claimed(file: Opened, columns: Iterable[str]) -> int:
    """The size of these columns, uncompressed, by what the footer says."""
    return sum(map(sum, _of_leaves(file, columns, numbers_of_bytes(file.handle))))


def chunks_of(file: Opened, columns: list[str]) -> list[list[Chunk]]:
    """The columns of the file that these are made of, in each row group; each has a value for each row, or more where
    it is within lists.
    """
    key = "chunks", *columns
    if key not in file.known:
        file.known[key] = _chunks_of(file, columns)
    known: list[list[Chunk]] = file.known[key]
    return known


def _chunks_of(file: Opened, columns: list[str]) -> list[list[Chunk]]:
    leaves = [leaf for _, own in leaves_of(file, columns) for leaf in own]
    kinds = [
        [leaf.max_repetition_level for leaf in leaves],
        [leaf.physical_type == "BYTE_ARRAY" for leaf in leaves],
        [leaf.max_definition_level > 0 for leaf in leaves],
    ]
    wanted = (first_pages, numbers_of_values, codecs, packed_bytes)
    found = (_of_leaves(file, columns, read(file.handle)) for read in wanted)
    groups = [list(map(Chunk, *group, *kinds)) for group in zip(*found, strict=True)]
    for at, group in enumerate(groups):
        n_rows = file.file.metadata.row_group(at).num_rows
        if n_rows < 0 or any(
            chunk.n_values < n_rows or (chunk.n_values > n_rows and not (chunk.depth and n_rows)) for chunk in group
        ):
            raise ValueError("a column has another number of values than there are rows")
    return groups


def n_values(file: Opened, columns: Iterable[str]) -> list[list[int]]:
    """How many values these columns have in each row group, by what the footer says; those of nested ones apart."""
    return _of_leaves(file, columns, numbers_of_values(file.handle))


def _of_leaves(file: Opened, columns: Iterable[str], numbers: list[list[int]]) -> list[list[int]]:
    """The numbers of these columns, from those of all columns of each row group."""
    places: list[int] = []
    at, wanted = 0, set(columns)
    for field in file.schema:
        end = at + _n_leaves(field.type, 0)
        places += range(at, end) if field.name in wanted else ()
        at = end
    if [len(group) for group in numbers] != [at] * file.file.metadata.num_row_groups:
        raise ValueError("the footer must give the numbers of each column")
    return [[group[place] for place in places] for group in numbers]


def bits_of_a_row(file: Opened, columns: Iterable[str]) -> int:
    """The bits of some cells of one row, without words and without what is within lists of any length.

    A row that no line of text could hold is refused, by the schema.
    """
    bits = sum(width.by_row for column in _widths(file, columns) for width in column)
    if bits > 8 * lines.LONGEST:
        raise file.content.source.error(f"must have rows of at most {lines.LONGEST:,} bytes, and its schema has longer")
    return bits


def words_of(file: Opened, columns: Iterable[str]) -> list[tuple[int, int]]:
    """Words of 64 bits that each of the columns of the file takes that these are made of, by value and by row; text
    takes a code.
    """
    widths = (width for column in _widths(file, columns) for width in column)
    return [(max(1, -(-width.by_value // 64)), -(-width.by_row // 64)) for width in widths]


def leaves_of(file: Opened, columns: Iterable[str]) -> Iterator[tuple[Any, list[Any]]]:
    """The type of each of these columns, and the columns of the file that it is made of."""
    wanted, leaves = set(columns), iter(file.leaves)
    for field in file.schema:
        own = list(itertools.islice(leaves, _n_leaves(field.type, 0)))
        if field.name in wanted:
            yield field.type, own


def _n_leaves(kind: Any, depth: int) -> int:
    if depth > _DEEPEST:
        raise ValueError("the schema is nested too deeply")
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    if not pa.types.is_nested(kind):
        return 1
    return sum(_n_leaves(kind.field(at).type, depth + 1) for at in range(kind.num_fields))


def _widths(file: Opened, columns: Iterable[str]) -> Iterator[list[_Width]]:
    for kind, leaves in leaves_of(file, columns):
        yield list(_within(kind, iter(leaves), _Width(by_row=1), file.content.source))


def _within(kind: Any, leaves: Iterator[Any], slots: _Width, source: Source) -> Iterator[_Width]:
    """The widths of a type of which there are so many ``slots``; lists and structures count with their first column."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if not pa.types.is_nested(kind):
        yield slots.times(_bits(next(leaves, None), kind))
        return
    own, inner = slots, slots
    if pa.types.is_fixed_size_list(kind):
        if slots.by_value:
            raise source.error("must not have lists of a fixed size within other lists")
        inner = slots.times(kind.list_size)
    elif not pa.types.is_struct(kind):
        own, inner = slots.times(64 if pa.types.is_large_list(kind) else 32), _Width(by_value=1)
    for at in range(kind.num_fields):
        for width in _within(kind.field(at).type, leaves, inner, source):
            yield width.plus(own)
            own = _Width()


def _bits(leaf: Any, kind: Any) -> int:
    """Of one cell: as Arrow holds it, or as the file says, whichever is more; text takes a code."""
    if leaf is None:
        raise ValueError("the stored schema has more columns than the file")
    try:
        held = int(kind.bit_width)
    except ValueError:  # text, and what else has no one width
        held = 0
    return max(held, int(_BITS.get(leaf.physical_type, 0) or 8 * max(1, leaf.length)))
