"""The schema that Arrow stores in a Parquet file: what Arrow would make of it, before it does.

It is a message of Arrow's, in base64: tables of FlatBuffers, which say where others stand, so that thousands may name
the same long text, and Arrow copies it for each.  A few hundred kilobytes took gigabytes when the file was opened.
Fields are numbered as Arrow's Message.fbs and Schema.fbs have them.
"""

from __future__ import annotations

import base64
import re
import struct

_LETTERS = re.compile(rb"[A-Za-z0-9+/]*")  # Arrow has read up to the first that is none
_MARK = b"\xff\xff\xff\xff"
_HEADER_KIND, _HEADER, _NOTES = 1, 2, 4  # of Message
_SCHEMA = 1  # of MessageHeader
_FIELDS, _SCHEMA_NOTES = 1, 2  # of Schema
_NAME, _TYPE_KIND, _TYPE, _CHILDREN, _FIELD_NOTES = 0, 2, 3, 5, 6  # of Field
_KEY, _VALUE = 0, 1  # of KeyValue
_TABLE = 12  # bytes of one that has two fields
_TIMESTAMP, _UNION = 10, 14  # of Type: a zone is text, and numbers of types a list
_ZONE = _NUMBERS = 1
_FIELDS_A_COLUMN, _FEW_FIELDS = 4, 1 << 13  # who takes columns out of a file may leave the schema as it was
_TIMES, _FEW_BYTES = 4, 1 << 16  # what is named several times, which no writer does


def check_stored(text: bytes, *, n_columns: int) -> None:
    """``ValueError`` where there are more fields than a file of so many columns has, or where text is read so often
    that it is much more than all the bytes, or where that cannot be told.
    """
    letters = _LETTERS.match(text)
    assert letters is not None
    packed = letters[0][: len(letters[0]) - (len(letters[0]) % 4 == 1)]
    content = base64.b64decode(packed + b"=" * (-len(packed) % 4))
    start = 8 if content.startswith(_MARK) else 4
    try:
        _Message(content[start:], _FIELDS_A_COLUMN * n_columns + _FEW_FIELDS).check()
    except struct.error:
        raise ValueError("the stored schema ends early") from None


class _Message:
    """A message, and how many fields and bytes Arrow may still read of it, whatever it reads twice."""

    def __init__(self, content: bytes, n_fields: int) -> None:
        self._content = content
        self._fields_left, self._bytes_left = n_fields, _TIMES * len(content) + _FEW_BYTES

    def check(self) -> None:
        message = self._target(0)
        self._notes(message, _NOTES)
        schema = self._inner(message, _HEADER)
        if self._kind(message, _HEADER_KIND) != _SCHEMA or schema is None:
            return  # Arrow wants one
        self._notes(schema, _SCHEMA_NOTES)
        waiting = self._elements(schema, _FIELDS)
        while waiting:
            waiting += self._field(waiting.pop())

    def _field(self, field: int) -> list[int]:
        """Count a field, and give those within it."""
        self._text(field, _NAME)
        self._notes(field, _FIELD_NOTES)
        kind, own = self._kind(field, _TYPE_KIND), self._inner(field, _TYPE)
        if own is not None and kind == _TIMESTAMP:
            self._text(own, _ZONE)
        elif own is not None and kind == _UNION:
            self._vector(own, _NUMBERS, 4)
        return self._elements(field, _CHILDREN)

    def _notes(self, table: int, slot: int) -> None:
        """Count pairs of keys and values."""
        for pair in self._vector(table, slot, 4):
            self._count(_TABLE)
            self._text(self._target(pair), _KEY)
            self._text(self._target(pair), _VALUE)

    def _elements(self, table: int, slot: int) -> list[int]:
        places = self._vector(table, slot, 4)
        self._fields_left -= len(places)
        if self._fields_left < 0:
            raise ValueError("the stored schema has more fields than the file")
        return [self._target(at) for at in places]

    def _text(self, table: int, slot: int) -> None:
        self._vector(table, slot, 1)

    def _vector(self, table: int, slot: int, size: int) -> range:
        """The places of the elements of a list, or the letters of a text, which count."""
        at = self._inner(table, slot)
        n = 0 if at is None else self._number("<I", at)
        self._count(4 + size * n)
        return range(0) if at is None else range(at + 4, at + 4 + size * n, size)

    def _count(self, n_bytes: int) -> None:
        self._bytes_left -= n_bytes
        if self._bytes_left < 0:
            raise ValueError("the stored schema says the same again and again")

    def _kind(self, table: int, slot: int) -> int:
        at = self._place(table, slot)
        return 0 if at is None else self._number("<B", at)

    def _inner(self, table: int, slot: int) -> int | None:
        at = self._place(table, slot)
        return None if at is None else self._target(at)

    def _place(self, table: int, slot: int) -> int | None:
        """Where a table has one of its fields; None where it has it not."""
        known = table - self._number("<i", table)
        if 2 * slot + 6 > self._number("<H", known):
            return None
        return table + offset if (offset := self._number("<H", known + 2 * slot + 4)) else None

    def _target(self, at: int) -> int:
        return at + self._number("<I", at)

    def _number(self, kind: str, at: int) -> int:
        if at < 0:
            raise ValueError("the stored schema points before its beginning")
        (found,) = struct.unpack_from(kind, self._content, at)
        return int(found)
