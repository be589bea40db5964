"""One page of a column of lists, as a small Parquet file of its cells, which Arrow reads some at a time.

Arrow reads a list as a whole, and a few bytes may say a hundred million cells.  A page without the levels that say
where lists begin is one of a column without lists, as deep in groups that may be missing as the lists were: each cell
is a row of it, and so is each list without cells, as a missing one.  Fields are numbered as parquet.thrift has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from bosket.data.formats.arrow_cells import has_codes_beyond, without_codes_beyond
from bosket.data.formats.parquet_pages import BY_CODES, RUNS, FlatPage

_MAGIC = b"PAR1"
_INT, _LONG, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12  # kinds of Thrift's compact protocol
_REQUIRED, _OPTIONAL = 0, 1  # of FieldRepetitionType
_PHYSICAL = {"BOOLEAN": 0, "INT32": 1, "INT64": 2, "FLOAT": 4, "DOUBLE": 5, "BYTE_ARRAY": 6}
_FIXED = 7
_CONVERTED = {"NONE": None, "UTF8": 0, "ENUM": 4, "JSON": 19, "BSON": 20} | {
    f"{sign}INT_{8 << at}": first + at for sign, first in (("U", 11), ("", 15)) for at in range(4)
}
_Field = tuple[int, bytes]


class FlatColumn(NamedTuple):
    """The type of the cells of lists."""

    physical: int
    converted: int | None
    depth: int
    """Groups that they are in, each of which may be missing."""
    may_be_missing: bool
    is_half: bool = False
    """Whether they are numbers of 16 bits, which have a type that is told in another way."""

    @classmethod
    def of(cls, leaf: Any, *, may_be_missing: bool) -> FlatColumn | None:
        """That of a column of the file; None where it is one that is not made here."""
        depth = leaf.max_definition_level - int(may_be_missing)
        if leaf.logical_type.type == "FLOAT16":
            return cls(_FIXED, None, depth, may_be_missing, is_half=True)
        if leaf.physical_type not in _PHYSICAL or leaf.converted_type not in _CONVERTED:
            return None
        return cls(_PHYSICAL[leaf.physical_type], _CONVERTED[leaf.converted_type], depth, may_be_missing)


def cells_of(page: FlatPage, column: FlatColumn, size: int) -> Iterator[Any]:
    """The cells of a page, up to ``size`` at a time, text as codes where it is; codes without a word are missing."""
    path = ["g"] * column.depth + ["cells"]
    codes = [".".join(path)] if page.encoding in BY_CODES and column.physical == _PHYSICAL["BYTE_ARRAY"] else []
    with parquet.ParquetFile(
        pa.BufferReader(_file(page, column, path)), read_dictionary=codes, pre_buffer=False
    ) as file:
        for batch in file.iter_batches(size, use_threads=False):
            cells = batch.column(0)
            while pa.types.is_struct(cells.type):
                (cells,) = cells.flatten()
            yield without_codes_beyond(cells) if has_codes_beyond(cells) else cells


def _file(page: FlatPage, column: FlatColumn, path: list[str]) -> Any:
    own = _structure({1: _int(page.n_values), 2: _int(page.encoding), 3: _int(RUNS), 4: _int(RUNS)})
    data = _header(0, page.contents, {5: (_STRUCT, own)})
    words = b""
    if page.words is not None:
        own = _structure({1: _int(page.n_words), 2: _int(0)})
        words = _header(2, page.words, {7: (_STRUCT, own)}) + page.words.tobytes()
    size, first = len(words) + len(data) + page.contents.size, len(_MAGIC)
    meta = {
        1: _int(column.physical),
        2: _list(_INT, [_varint(page.encoding << 1)]),
        3: _list(_BINARY, [_text(name)[1] for name in path]),
        4: _int(0),
        5: _long(page.n_values),
        6: _long(size),
        7: _long(size),
        9: _long(first + len(words)),
    }
    if words:
        meta[11] = _long(first)
    chunk = _structure({2: _long(first), 3: (_STRUCT, _structure(meta))})
    group = _structure({1: _list(_STRUCT, [chunk]), 2: _long(size), 3: _long(page.n_values)})
    footer = _structure(
        {
            1: _int(1),
            2: _list(_STRUCT, _schema(column, path)),
            3: _long(page.n_values),
            4: _list(_STRUCT, [group]),
        }
    )
    end = footer + len(footer).to_bytes(4, "little") + _MAGIC
    return b"".join([_MAGIC, words, data, memoryview(page.contents), end])


def _schema(column: FlatColumn, path: list[str]) -> list[bytes]:
    groups = [_structure({3: _int(_OPTIONAL), 4: _text(name), 5: _int(1)}) for name in path[:-1]]
    cell = {1: _int(column.physical)} | ({2: _int(2)} if column.is_half else {})
    cell |= {3: _int(_OPTIONAL if column.may_be_missing else _REQUIRED), 4: _text(path[-1])}
    if column.converted is not None:
        cell[6] = _int(column.converted)
    if column.is_half:
        cell[10] = _STRUCT, _structure({15: (_STRUCT, _structure({}))})
    return [_structure({4: _text("schema"), 5: _int(1)}), *groups, _structure(cell)]


def _header(kind: int, contents: Any, own: dict[int, _Field]) -> bytes:
    return _structure({1: _int(kind), 2: _int(contents.size), 3: _int(contents.size), **own})


def _structure(fields: dict[int, _Field]) -> bytes:
    """A structure, from its fields in rising order, which are less than 16 apart."""
    parts, last = [], 0
    for field, (kind, value) in fields.items():
        parts.append(bytes([(field - last) << 4 | kind]) + value)
        last = field
    return b"".join(parts) + b"\0"


def _int(value: int) -> _Field:
    return _INT, _varint(value << 1)


def _long(value: int) -> _Field:
    return _LONG, _varint(value << 1)


def _text(value: str) -> _Field:
    return _BINARY, _varint(len(value)) + value.encode()


def _list(kind: int, values: list[bytes]) -> _Field:
    """Of more than 14 values the number stands apart."""
    n = len(values)
    head = bytes([n << 4 | kind]) if n < 15 else bytes([0xF0 | kind]) + _varint(n)
    return _LIST, head + b"".join(values)


def _varint(value: int) -> bytes:
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
