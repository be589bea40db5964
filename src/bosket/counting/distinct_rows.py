"""Distinct rows of bytes, in order, with numbers that add: what tallies of reports are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.threads import slices

ByteRows = npt.NDArray[np.uint8]
"""The bytes of reports, a row each."""
Multiplicities = npt.NDArray[np.int64]
"""How often each row stands there."""

RowColumns = Sequence[npt.NDArray[Any]]
"""Values of rows, column by column."""
Join = Callable[[RowColumns, Multiplicities], tuple[RowColumns, Multiplicities]]
"""Makes the different rows of some, and adds up the numbers of those that are alike."""

_WORD = 8
_AT_A_TIME = 1 << 15
AT_ONCE = 1 << 18
"""Rows that are joined, or counted, at a time: some ten megabytes."""


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


def joined_by_order(columns: RowColumns, numbers: Multiplicities) -> tuple[RowColumns, Multiplicities]:
    """The different rows in the order of their values, column by column, and the sum of the numbers of each."""
    order = np.lexsort(tuple(reversed(columns)))
    is_first = np.zeros(len(order), bool)
    is_first[:1] = True
    for column in columns:
        values = column[order]
        is_first[1:] |= values[1:] != values[:-1]
    first = np.flatnonzero(is_first)
    return [column[order[first]] for column in columns], np.add.reduceat(numbers[order], first)


def joined_by_bytes(columns: RowColumns, numbers: Multiplicities) -> tuple[RowColumns, Multiplicities]:
    """The same of one column of rows of words, in the order of their bytes."""
    (words,) = columns
    rows, sums = distinct(np.ascontiguousarray(words).view(np.uint8).reshape(len(words), -1), numbers)
    return [rows.view(words.dtype)], sums


def alike_together(
    columns: RowColumns, numbers: Multiplicities | None, join: Join, *, most: int, at_once: int = AT_ONCE
) -> tuple[RowColumns, Multiplicities] | None:
    """Different rows, ``at_once`` rows being joined at a time; None where there are more than ``most``.

    ``numbers`` says how often each row stands there: once, unless given.  Beside the rows, up to twice ``most`` and
    ``at_once`` of them are held, and copied once when they are put together; that is done when as many wait for it as
    have been found before, so that few are joined often.
    """
    found: list[tuple[RowColumns, Multiplicities]] = []
    n = len(columns[0])
    for start, stop in slices(n, at_once):
        times = np.ones(stop - start, np.int64) if numbers is None else numbers[start:stop]
        found.append(join([column[start:stop] for column in columns], times))
        waiting = sum(len(sums) for _, sums in found[1:])
        if waiting and (stop == n or waiting >= max(at_once, len(found[0][1]))):
            _put_together(found, join)
        if len(found[0][1]) > most:
            return None
    return found[0] if found else (columns, np.zeros(0, np.int64))


def _put_together(found: list[tuple[RowColumns, Multiplicities]], join: Join) -> None:
    """All parts as one; they are let go of before they are joined."""
    columns = [np.concatenate([part[at] for part, _ in found]) for at in range(len(found[0][0]))]
    numbers = np.concatenate([sums for _, sums in found])
    found.clear()
    found.append(join(columns, numbers))


def added(places: npt.NDArray[np.integer[Any]], numbers: Multiplicities | None, n: int) -> Multiplicities:
    """How often each of ``n`` places stands there, or the sum of its numbers; a few places are looked at at a time."""
    sums = np.zeros(n, np.int64)
    for start, stop in slices(len(places), max(AT_ONCE, n)):
        if numbers is None:
            sums += np.bincount(places[start:stop], minlength=n)
        else:
            np.add.at(sums, places[start:stop], numbers[start:stop])
    return sums


def _keys(rows: ByteRows) -> npt.NDArray[Any]:
    """A value for each row, in the order of the bytes: a word where one holds it, else the bytes themselves."""
    n, width = rows.shape
    if width > _WORD:
        return np.ascontiguousarray(rows).view(np.dtype((np.void, width))).ravel()
    words = np.zeros((n, _WORD), np.uint8)
    words[:, :width] = rows
    return words.view(">u8").ravel().astype(np.uint64)
