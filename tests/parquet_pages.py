"""Parquet files written page by page: what a hostile sender can say in headers, and no library writes.

Thrift's compact protocol, fields as parquet.thrift numbers them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from tests.parquet_footers import joined, varint

PLAIN, RUNS, BY_LENGTHS, BY_PREFIXES, BY_CODES = 0, 3, 6, 7, 8
_TEXT, _ZSTD = 6, 6
_INT, _LONG, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


class Structure:
    """A structure, field by field."""

    def __init__(self) -> None:
        self.content, self._last = b"", 0

    def add(self, field: int, kind: int, value: bytes) -> Structure:
        step = field - self._last
        self.content += (bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + varint(field)) + value
        self._last = field
        return self

    def number(self, field: int, value: int, kind: int = _INT) -> Structure:
        return self.add(field, kind, varint(value))

    def text(self, field: int, value: bytes) -> Structure:
        return self.add(field, _BINARY, leb128(len(value)) + value)

    def structure(self, field: int, value: Structure) -> Structure:
        return self.add(field, _STRUCT, value.done)

    def many(self, field: int, kind: int, values: list[bytes]) -> Structure:
        return self.add(field, _LIST, bytes([len(values) << 4 | kind]) + b"".join(values))

    @property
    def done(self) -> bytes:
        return self.content + b"\0"


def bytes_of_length(length: int) -> Structure:
    """An element of the schema: cells of so many bytes, as numbers of 64 bits where these are eight."""
    kind = Structure().number(1, 2) if length == 8 else Structure().number(1, 7).number(2, length)
    return kind.number(3, 1).text(4, b"element")


def leb128(value: int) -> bytes:
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def run(value: int, count: int) -> bytes:
    """A number of at most eight bits, many times."""
    return leb128(count << 1) + bytes([value])


def levels(*runs: bytes) -> bytes:
    return len(b"".join(runs)).to_bytes(4, "little") + b"".join(runs)


def of_lists(*lengths: tuple[int, int]) -> bytes:
    """The levels of lists: of how many, one after the other, how many items each has; no list is empty."""
    starts = [run(0, 1) + run(1, size - 1) if size > 1 else b"" for _, size in lengths]
    repeated = [start * many if start else run(0, many) for start, (many, _) in zip(starts, lengths, strict=True)]
    return levels(*repeated) + levels(run(3, sum(many * size for many, size in lengths)))


def words(*texts: bytes) -> bytes:
    return b"".join(len(text).to_bytes(4, "little") + text for text in texts)


def equal_lengths(count: int, length: int) -> bytes:
    """The lengths of so many words, all equal: differences that take no bits, in one block."""
    content = leb128(1 << 31) + leb128(1) + leb128(count) + leb128(length << 1)
    return content + (leb128(0) + b"\0" if count > 1 else b"")


def by_zstd(contents: bytes) -> bytes:
    packed: bytes = pa.compress(contents, codec="zstd", asbytes=True)
    return packed


def _page(
    header: Structure, contents: bytes, field: int, own: Structure, pack: Callable[[bytes], bytes] = by_zstd
) -> bytes:
    packed = pack(contents)
    return header.number(3, len(packed)).structure(field, own).done + packed


def dictionary(*texts: bytes, says_first: int | None = None, has_lengths: bool = True) -> bytes:
    """A dictionary page; ``says_first`` is a size that its header gives before the true one."""
    contents, header = words(*texts) if has_lengths else b"".join(texts), Structure().number(1, 2)
    if says_first is not None:
        header.number(2, says_first)
    header.number(2, len(contents))
    return _page(header, contents, 7, Structure().number(1, len(texts)).number(2, PLAIN))


def data(n_values: int, contents: bytes, encoding: int, pack: Callable[[bytes], bytes] = by_zstd) -> bytes:
    own = Structure().number(1, n_values).number(2, encoding).number(3, RUNS).number(4, RUNS)
    return _page(Structure().number(1, 0).number(2, len(contents)), contents, 5, own, pack)


def coded(n_values: int, of: bytes) -> bytes:
    """A page of the first word of the dictionary, many times."""
    return data(n_values, of + b"\1" + run(0, n_values), BY_CODES)


def write_lists(
    path: Path,
    n_rows: int,
    pages: list[bytes],
    *,
    n_values: int,
    dictionary_field: int = 11,
    codec: int = _ZSTD,
    element: Structure | None = None,
    n_groups: int = 1,
    n_packed: int | None = None,
) -> Path:
    """A file of one column of lists, with a footer that claims so many rows and values; the first page is a dictionary.

    Lists are of text, unless an ``element`` of the schema says else.  All row groups have the same pages, of
    ``n_packed`` bytes by the footer.
    """
    if element is None:
        element = Structure().number(1, _TEXT).number(3, 1).text(4, b"element").number(6, 0)
    kind = element.content[1] >> 1
    schema = [
        Structure().text(4, b"schema").number(5, 1).done,
        Structure().number(3, 1).text(4, b"items").number(5, 1).number(6, 3).done,
        Structure().number(3, 2).text(4, b"list").number(5, 1).done,
        element.done,
    ]
    names = [leb128(len(name)) + name for name in (b"items", b"list", b"element")]
    size = sum(map(len, pages)) if n_packed is None else n_packed
    column = Structure().number(1, kind).many(2, _INT, [varint(PLAIN), varint(BY_CODES)]).many(3, _BINARY, names)
    column.number(4, codec).number(5, n_values, _LONG).number(6, 1000, _LONG).number(7, size, _LONG)
    column.number(9, 4 + len(pages[0]), _LONG).number(dictionary_field, 4, _LONG)
    group = Structure().many(1, _STRUCT, [Structure().number(2, 4, _LONG).structure(3, column).done])
    group.number(2, 1000, _LONG).number(3, n_rows, _LONG)
    footer = Structure().number(1, 1).many(2, _STRUCT, schema).number(3, n_rows * n_groups, _LONG)
    footer.many(4, _STRUCT, [group.done] * n_groups)
    path.write_bytes(joined(b"PAR1" + b"".join(pages), footer.done))
    return path
