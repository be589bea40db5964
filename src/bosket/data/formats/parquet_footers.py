"""How many values each column of a Parquet file has, and how many bytes, by its footer; and where it keeps a schema.

A list may have millions of values in a few bytes, and nothing but this number says so before they are read.  Arrow
knows it too, but asking Arrow for the metadata of a column ends the process where its statistics are damaged.  So the
footer is walked here: a structure of Thrift's compact protocol, whose fields are numbered as parquet.thrift has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bosket.data.formats.stored_schemas import check_stored

_Shape = dict[int, Any]
_DEEPEST = 64
_TRUE, _FALSE, _BYTE, _SHORT, _INT, _LONG, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = range(1, 14)
_SIZES = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8, _UUID: 16}
_SCHEMA, _GROUPS, _COLUMNS, _META = 2, 4, 1, 3  # of FileMetaData, RowGroup and ColumnChunk
_CODEC, _NUM_VALUES, _UNCOMPRESSED, _PACKED, _DATA_PAGE, _WORDS_PAGE = 4, 5, 6, 7, 9, 11  # of ColumnMetaData
_PAIRS, _KEY, _VALUE = 5, 1, 2  # of FileMetaData and KeyValue
_NAME, _CHILDREN = 4, 5  # of SchemaElement
_PATHS, _FEW_BYTES = 8, 1 << 20  # names of groups stand in a footer for each column of a row group too
_HEADER, _LONGEST_HEADER = 1 << 8, 1 << 24  # bytes of a page before its contents: most have few, Arrow reads so many
_MAGIC, _STORED = b"PAR1", b"ARROW:schema"
_WHOLE = (_SHORT, _INT, _LONG)  # which are written alike
_COLUMN_META: _Shape = {2: [_INT], 3: [_BINARY], 8: [{}], 13: [{}], 16: {2: [_LONG], 3: [_LONG]}, 17: {2: [_INT]}}
_COLUMN: _Shape = {_META: _COLUMN_META, 8: {2: {1: [_BINARY]}}}
_FILE: _Shape = {_GROUPS: [{_COLUMNS: [_COLUMN], 4: [{}]}], _PAIRS: [{}], 7: [{}]}
"""The lists of a footer but its schema by their fields, those of structures within it too, and what each is of."""


def numbers_of_values(handle: Any) -> list[list[int]]:
    """The number of values of each column of each row group; ``ValueError`` where the footer does not say."""
    return _numbers(handle, _NUM_VALUES)


def numbers_of_bytes(handle: Any) -> list[list[int]]:
    """The size of each column of each row group, uncompressed; ``ValueError`` where the footer does not say."""
    return _numbers(handle, _UNCOMPRESSED)


def n_elements(handle: Any) -> int:
    """How many columns the schema has, with those that others are within; ``ValueError`` where that cannot be told.

    Arrow takes some kilobytes for each of them when it opens a file, before anything can be asked: so it must see none
    that is not understood here.  Nor a list that says it is of something else than parquet.thrift has it of: Arrow does
    not look at that and reads what it expects, so that it would see another footer than is walked here.  Nor a field
    that a structure has twice, of which it takes the last.  Nor a stored schema of more than these columns.  Nor a long
    name of a group of many columns, which Arrow writes before each.
    """
    footer = _footer(handle)
    found = _Footer(footer, 0).n_elements()
    for text in _Footer(footer, 0).values(_STORED):
        check_stored(text, n_columns=found)
    return found


def has_key(handle: Any, key: bytes) -> bool:
    """Whether a file has this key among what was stored with it, whatever columns it has; False where it is none."""
    try:
        is_parquet = bytes(handle.read_at(len(_MAGIC), max(0, handle.size() - len(_MAGIC)))) == _MAGIC
        return is_parquet and bool(_Footer(_footer(handle), 0).keys(key))
    except ValueError:
        return False


def packed_bytes(handle: Any) -> list[list[int]]:
    """The bytes of each column of each row group in the file, headers of pages included.

    ``ValueError`` where the footer does not say, or where they are more than the file has: columns that share bytes
    would have its pages looked at once for each of them, without end.
    """
    found = _numbers(handle, _PACKED)
    if sum(map(sum, found)) > handle.size():
        raise ValueError("columns have more bytes than the file")
    return found


def first_pages(handle: Any) -> list[list[int]]:
    """Where each column of each row group begins; ``ValueError`` where the footer does not say."""
    footer = _footer(handle)
    data, words = _Footer(footer, _DATA_PAGE).groups(), _Footer(footer, _WORDS_PAGE, default=0).groups()
    return [
        [word if 0 < word < first else first for first, word in zip(*group, strict=True)]
        for group in zip(data, words, strict=True)
    ]


def codecs(handle: Any) -> list[list[int]]:
    """How the pages of each column of each row group are packed, a number of parquet.thrift's."""
    return _Footer(_footer(handle), _CODEC, kind=_INT).groups()


def structure_at(handle: Any, at: int) -> tuple[dict[int, Any], int]:
    """The structure that begins there, and its bytes: numbers of 32 bits, truth values and structures by their fields.

    ``ValueError`` where there is none, or where a field is given twice.
    """
    size = _HEADER
    while True:
        content = bytes(handle.read_at(size, at))
        found = _Footer(content, 0)
        try:
            return found.structure(), found.n_read
        except IndexError:
            if len(content) < size or size >= _LONGEST_HEADER:
                raise ValueError("a page has no header") from None
        size *= 4


def without_schema(handle: Any) -> bytes:
    """A Parquet file of a footer alone, that of ``handle`` with the schema that Arrow stored called by another name."""
    footer = _footer(handle)
    for at in _Footer(footer, 0).keys(_STORED):
        footer = footer[:at] + _STORED.swapcase() + footer[at + len(_STORED) :]
    return _MAGIC + footer + len(footer).to_bytes(4, "little") + _MAGIC


def _numbers(handle: Any, field: int) -> list[list[int]]:
    return _Footer(_footer(handle), field).groups()


def _footer(handle: Any) -> bytes:
    end = handle.size() - 8
    size = int.from_bytes(handle.read_at(4, max(0, end)), "little")
    if size > end:
        raise ValueError("the footer is longer than the file")
    return bytes(handle.read_at(size, end - size))


class _Footer:
    """A footer, the number that is wanted of each column, and the place up to which it was read."""

    def __init__(self, content: bytes, wanted: int, *, kind: int = _LONG, default: int | None = None) -> None:
        self._content = content
        self._wanted = wanted
        self._kind = kind
        self._default = default
        self._at = 0

    def groups(self) -> list[list[int]]:
        try:
            return [self._group() for _ in self._elements_of(_GROUPS)]
        except IndexError:
            raise ValueError("the footer ends early") from None

    def n_elements(self) -> int:
        """How many elements the schema has, with the rest of the footer looked at too."""
        found = 0
        try:
            for field, kind in self._fields():
                if (field, kind) == (_SCHEMA, _LIST):
                    found = self._elements()
                else:
                    self._walk(kind, _FILE.get(field))
        except IndexError:
            raise ValueError("the footer ends early") from None
        return found

    def _elements(self) -> int:
        """How many elements the schema has that comes next, where their names with those of the groups that each is
        within, which Arrow holds several times, are not much more than the footer.
        """
        kind, size = self._list()
        if size and kind != _STRUCT:
            raise ValueError("the footer has a list of something else")
        bytes_left = _PATHS * len(self._content) + _FEW_BYTES
        within: list[tuple[int, int]] = []  # elements that are still to come, and bytes of the name with all before it
        for number in range(size):
            own, n_children = self._element()
            before = 0
            if within:
                n_left, before = within.pop()
                within += [(n_left - 1, before)] * (n_left > 1)
            path = before + own if number else 0  # the name of the first, which has all others, is left out
            bytes_left -= path
            if bytes_left < 0:
                raise ValueError("the footer has too long names for groups of so many columns")
            within += [(n_children, path)] * (n_children > 0)
        return size

    def _element(self) -> tuple[int, int]:
        """The bytes of the name of an element, with a dot, and how many are within it."""
        name = n_children = 0
        for field, kind in self._fields():
            if (field, kind) == (_NAME, _BINARY):
                name = self._varint()
                self._at += name
            elif (field, kind) == (_CHILDREN, _INT):
                low = self._varint() % (1 << 32)  # Arrow takes these bits alone
                n_children = low >> 1 ^ -(low & 1)
            else:
                self._skip(kind, 0)
        return name + 1, n_children

    def _walk(self, kind: int, shape: _Shape | list[Any] | None) -> None:
        """Read what is of this kind and should have this shape."""
        if kind == _STRUCT and isinstance(shape, dict):
            for field, inner in self._fields():
                self._walk(inner, shape.get(field))
        elif kind == _LIST and isinstance(shape, list):
            (own,) = shape
            wanted = _STRUCT if isinstance(own, dict) else own
            element, size = self._list()
            if size and element not in (_WHOLE if wanted in _WHOLE else (wanted,)):
                raise ValueError("the footer has a list of something else")
            for _ in range(size):
                if isinstance(own, dict):
                    self._walk(_STRUCT, own)
                else:
                    self._skip_element(element, 1)
        else:
            self._skip(kind, 0)

    def keys(self, wanted: bytes) -> list[int]:
        """Where the key-value pairs of the file have this key."""
        try:
            return [at for _ in self._elements_of(_PAIRS) for at in self._keys(wanted)]
        except IndexError:
            raise ValueError("the footer ends early") from None

    def values(self, wanted: bytes) -> list[bytes]:
        """What the key-value pairs of the file say for this key."""
        try:
            pairs = [dict(self._texts()) for _ in self._elements_of(_PAIRS)]
        except IndexError:
            raise ValueError("the footer ends early") from None
        return [pair[_VALUE] for pair in pairs if pair.get(_KEY) == wanted and _VALUE in pair]

    def structure(self, depth: int = 0) -> dict[int, Any]:
        """The structure that is the content: by field numbers of 32 bits, truth values and structures, else None."""
        found: dict[int, Any] = {}
        for field, kind in self._fields():
            if depth > _DEEPEST:
                raise ValueError("a structure is nested too deeply")
            found[field] = None
            if kind == _INT:
                found[field] = self._number()
            elif kind in (_TRUE, _FALSE):
                found[field] = kind == _TRUE
            elif kind == _STRUCT:
                found[field] = self.structure(depth + 1)
            else:
                self._skip(kind, depth)
        return found

    @property
    def n_read(self) -> int:
        """Bytes that were read so far."""
        return self._at

    def _texts(self) -> Iterator[tuple[int, bytes]]:
        for field, kind in self._fields():
            if kind != _BINARY:
                self._skip(kind, 0)
                continue
            size = self._varint()
            self._at += size
            yield field, self._content[self._at - size : self._at]

    def _keys(self, wanted: bytes) -> Iterator[int]:
        for _ in self._field(_KEY, _BINARY):
            size = self._varint()
            self._at += size
            if self._content[self._at - size : self._at] == wanted:
                yield self._at - size

    def _group(self) -> list[int]:
        return [self._column() for _ in self._elements_of(_COLUMNS)]

    def _column(self) -> int:
        found = [self._number() for _ in self._field(_META, _STRUCT) for _ in self._field(self._wanted, self._kind)]
        if not found and self._default is not None:
            return self._default
        if len(found) != 1 or found[0] < 0:
            raise ValueError("a column does not say how many values or bytes it has, or where")
        return found[0]

    def _fields(self) -> Iterator[tuple[int, int]]:
        """The fields of a structure and their kinds, each for the caller to read; numbers of fields have 16 bits.

        What has no kind is the end, whatever number it has beside.  ``ValueError`` where a field is given twice: no
        writer does that, and of the two Arrow takes the last.
        """
        field = 0
        seen = set()
        while (head := self._byte()) & 15:
            field = field + (head >> 4) if head >> 4 else self._number()
            field = (field + (1 << 15)) % (1 << 16) - (1 << 15)
            if field in seen:
                raise ValueError("a structure has a field twice")
            seen.add(field)
            yield field, head & 15

    def _field(self, wanted: int, kind: int) -> Iterator[int]:
        """Read a structure; stop at the field that is wanted, for the caller to read."""
        for found in self._fields():
            if found == (wanted, kind):
                yield wanted
            else:
                self._skip(found[1], 0)

    def _elements_of(self, wanted: int) -> Iterator[int]:
        """The same for each structure of a list in that field."""
        for _ in self._field(wanted, _LIST):
            element, size = self._list()
            if size and element != _STRUCT:
                raise ValueError("the footer has a list of something else")
            yield from range(size)

    def _skip(self, kind: int, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("the footer is nested too deeply")
        if kind in (_SHORT, _INT, _LONG):
            self._varint()
        elif kind == _BINARY:
            size = self._varint()
            self._at += size
        elif kind in (_LIST, _SET):
            element, size = self._list()
            for _ in range(size):
                self._skip_element(element, depth + 1)
        elif kind == _MAP:
            self._skip_map(depth + 1)
        elif kind == _STRUCT:
            for _, inner in self._fields():
                self._skip(inner, depth + 1)
        elif kind in _SIZES:
            self._at += _SIZES[kind]
        else:
            raise ValueError("the footer has a field of no known kind")

    def _skip_element(self, kind: int, depth: int) -> None:
        """Truth values take a byte in lists and maps, and none in structures."""
        if self._at > len(self._content):
            raise IndexError
        self._skip(_BYTE if kind in (_TRUE, _FALSE) else kind, depth)

    def _skip_map(self, depth: int) -> None:
        size = self._varint()
        kinds = self._byte() if size else 0
        for _ in range(size):
            self._skip_element(kinds >> 4, depth)
            self._skip_element(kinds & 15, depth)

    def _list(self) -> tuple[int, int]:
        head = self._byte()
        return head & 15, head >> 4 if head >> 4 < 15 else self._varint()

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("the footer has a number that is too long")
        return (value | byte << shift) % (1 << 64)

    def _number(self) -> int:
        """A signed number: 0, -1, 1, -2 and so on are written as 0, 1, 2, 3."""
        value = self._varint()
        return value >> 1 ^ -(value & 1)
