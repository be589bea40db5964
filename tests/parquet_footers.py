"""Footers of Parquet files, changed behind the back of any library: what a hostile sender can do."""

from __future__ import annotations


def varint(value: int) -> bytes:
    """A 64-bit number as Thrift's compact protocol writes it: zigzag, seven bits to a byte."""
    left = (value << 1 ^ value >> 63) & (1 << 64) - 1
    result = bytearray()
    while left > 0x7F:
        result.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*result, left])


def split(data: bytes) -> tuple[bytes, bytes]:
    """What stands before the footer, and the footer."""
    length = int.from_bytes(data[-8:-4], "little")
    return data[: -8 - length], data[-8 - length : -8]


def joined(body: bytes, footer: bytes) -> bytes:
    return body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def places(footer: bytes, count: int) -> list[int]:
    """Where the i64 fields of this value are."""
    value = varint(count)
    return [at for at in range(1, len(footer)) if footer.startswith(value, at) and footer[at - 1] & 0x0F == 6]


def with_count(data: bytes, count: int, to: int, *, which: int = 0) -> bytes:
    """The file whose ``which``-th i64 field of value ``count`` says ``to``: 0 is the file's number of rows.

    The others, in the order of the footer, are the numbers of values of each column and the rows of the row group.
    """
    body, footer = split(data)
    old = varint(count)
    at = places(footer, count)[which]
    return joined(body, footer[:at] + varint(to) + footer[at + len(old) :])
