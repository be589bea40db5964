"""Long CSV without quotes, numbered by a kernel."""

from __future__ import annotations

import numpy as np

from bosket.data.domain import ItemIds
from bosket.data.formats.word_kernels import CROWDED, DONE, FULL_ITEMS, FULL_RECORDS, NOT_PLAIN, long_rows
from bosket.data.formats.words import NumberedWords, crowded


def plain_rows(
    text: bytes, n_headers: int, n_columns: int, at: tuple[int, int], keys: NumberedWords, labels: NumberedWords
) -> tuple[ItemIds, ItemIds] | None:
    """The numbers of the records and of the items of all rows, -1 where a cell is empty; None unless rows are plain.

    ``at`` are the columns of records and of items.  Words that rows before one that is not plain have are entered: it
    is for another reader to enter them again, in the same order.
    """
    start = text.find(b"\n") + 1 if n_headers else 0
    if (n_headers and (not start or b'"' in text[:start] or b"\r" in text[: start - 2])) or not _is_utf8(text):
        return None
    if not text.endswith(b"\n"):
        text += b"\n"
    n_rows = text.count(b"\n", start)
    records, items = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    state, whole = np.array([start, 0, len(keys), len(labels)], np.int64), np.frombuffer(text, np.uint8)
    while True:
        status = long_rows(
            whole,
            state,
            n_columns,
            *at,
            keys.letters,
            keys.offsets,
            keys.table,
            labels.letters,
            labels.offsets,
            labels.table,
            keys.seed,
            records,
            items,
        )
        keys.n_known, labels.n_known = int(state[2]), int(state[3])
        if status == DONE:
            n_rows = int(state[1])
            return records[:n_rows], items[:n_rows]
        if status == NOT_PLAIN:
            return None
        if status == CROWDED:
            raise crowded()
        row = text.index(b"\n", int(state[0])) - int(state[0])  # no word of it is longer
        if status == FULL_RECORDS:
            keys.grow(row)
        if status == FULL_ITEMS:
            labels.grow(row)


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
