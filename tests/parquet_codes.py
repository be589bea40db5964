"""Codes of Parquet files, changed behind the back of any library: what a hostile sender can do.

A column with a dictionary is written as runs of codes, places in the dictionary.  Of a column whose words come in turn
the bytes of these runs are known, and can be exchanged for others of the same length.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import parquet

N_CELLS = 256
N_WORDS = 5
_WIDTH = 3  # bits of a code of so many words
_WIDEST = 32


def in_turn(words: Sequence[Any]) -> list[Any]:
    """The cells that :func:`with_runs` finds in a file, the words one after another."""
    assert len(words) == N_WORDS
    return [words[at % N_WORDS] for at in range(N_CELLS)]


def written(table: pa.Table, *, packing: str = "none") -> bytes:
    """A file of text as codes, the words of which are in the order of their first appearance."""
    file = io.BytesIO()
    parquet.write_table(table, file, compression=packing, write_statistics=False)
    return file.getvalue()


def with_runs(content: bytes, runs: Sequence[tuple[int, int]], *, which: int = 0) -> bytes:
    """The file of which the ``which``-th column of words in turn has these runs of codes instead: (how many, code)."""
    assert sum(number for number, _ in runs) == N_CELLS
    old = _packed()
    new = bytes([_WIDEST]) + b"".join(_varint(number << 1) + _number(code) for number, code in runs)
    assert len(new) <= len(old), "there is room for fewer runs"
    at = -1
    for _ in range(which + 1):
        at = content.index(old, at + 1)
    return content[:at] + new.ljust(len(old), b"\0") + content[at + len(old) :]


def with_last(content: bytes, code: int, *, which: int = 0) -> bytes:
    """The file whose cells have the codes 0 and 1, but for the last one."""
    half = N_CELLS // 2
    return with_runs(content, [(half, 0), (N_CELLS - half - 1, 1), (1, code)], which=which)


def _packed() -> bytes:
    """The width of codes, and all codes in turn as one run that is packed."""
    codes = sum((at % N_WORDS) << (_WIDTH * at) for at in range(N_CELLS))
    return bytes([_WIDTH, N_CELLS // 8 << 1 | 1]) + codes.to_bytes(N_CELLS * _WIDTH // 8, "little")


def _number(code: int) -> bytes:
    return (code % (1 << _WIDEST)).to_bytes(_WIDEST // 8, "little")


def _varint(value: int) -> bytes:
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])
