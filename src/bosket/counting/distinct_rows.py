"""Distinct rows of bytes, in order, with numbers that add: what tallies of reports are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.threads import slices

ByteRows = npt.NDArray[np.uint8]
"""The bytes of reports, a row each."""
Multiplicities = npt.NDArray[np.int64]
"""How often each row stands there."""

_WORD = 8
_AT_A_TIME = 1 << 15


def distinct(rows: ByteRows, numbers: Multiplicities | None = None) -> tuple[ByteRows, Multiplicities]:
    """The different rows in the order of their bytes, and the sum of the numbers of each (how often it stands there).

    Takes the memory of two copies of the rows at most: they are sorted by number, and copied once or twice.
    """
    if not len(rows):
        return rows, np.zeros(0, np.int64)
    order = np.argsort(_keys(rows), kind="stable")
    rows = rows[order]
    keys = _keys(rows)
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    sums = np.diff(first, append=len(rows)) if numbers is None else np.add.reduceat(numbers[order], first)
    return rows if len(first) == len(rows) else rows[first], sums.astype(np.int64)


def are_distinct(rows: ByteRows) -> bool:
    """Whether rows are all different and in the order of their bytes."""
    for start, stop in slices(max(0, len(rows) - 1), _AT_A_TIME):
        before, after = rows[start:stop], rows[start + 1 : stop + 1]
        first = (before != after).argmax(axis=1)[:, None]  # the byte that decides
        if not (np.take_along_axis(after, first, axis=1) > np.take_along_axis(before, first, axis=1)).all():
            return False
    return True


def _keys(rows: ByteRows) -> npt.NDArray[Any]:
    """A value for each row, in the order of the bytes: a word where one holds it, else the bytes themselves."""
    n, width = rows.shape
    if width > _WORD:
        return np.ascontiguousarray(rows).view(np.dtype((np.void, width))).ravel()
    words = np.zeros((n, _WORD), np.uint8)
    words[:, :width] = rows
    return words.view(">u8").ravel().astype(np.uint64)
