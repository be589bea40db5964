"""Rows of long files, sorted on disk by record: a record's rows may stand anywhere in the file.

The name of a record is known by two numbers of 61 bits: polynomials of its bytes, modulo the prime 2^61 - 1, at two
points that are drawn anew for every pass (Carter and Wegman 1979).  Two different names of at most L bytes have the
same two with probability at most ((L + 1) / 2^61)^2, whatever they are: for 10^10 records with names of 100 bytes, a
chance below 10^-13 that any two of them are taken for one.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bosket.data.baskets.grouped import LongRecords
from bosket.data.baskets.rows import Csr
from bosket.data.domain import Domain, ItemIds
from bosket.data.formats.words import NumberedWords
from bosket.disk.records.kernels import PRIME, hash_words

_ROW = np.dtype([("key", "<u8", 2), ("code", "<i4")])
PARTS = 1 << 8
_NO_DOMAIN = Domain([])


class Spill:
    """Rows in files by the first bits of their record's number, each row 20 bytes."""

    def __init__(self, folder: Path, *, buffered: int) -> None:
        """``buffered`` rows are held at most before they are written."""
        self._folder, self._buffered = folder, max(1 << 12, buffered)
        folder.mkdir(parents=True)
        self._points = np.array([1 + secrets.randbelow(PRIME - 1) for _ in range(2)], np.uint64)
        self._held: list[npt.NDArray[np.void]] = []
        self._n_held = 0
        self.sizes = np.zeros(PARTS, np.int64)

    def append(self, keys: NumberedWords, records: ItemIds, codes: ItemIds) -> None:
        """Add rows: the number of the record of each among ``keys``, and its item."""
        names = hash_words(keys.letters, keys.offsets, len(keys), self._points)
        rows = np.empty(len(records), _ROW)
        rows["key"], rows["code"] = names[records], codes
        self._held.append(rows)
        self._n_held += len(rows)
        if self._n_held >= self._buffered:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        if not self._held:
            return
        rows = np.concatenate(self._held)
        self._held, self._n_held = [], 0
        part = (rows["key"][:, 0] >> np.uint64(53)).astype(np.uint8)  # of 61 bits
        order = np.argsort(part, kind="stable")
        numbers = np.bincount(part, minlength=PARTS)
        start = 0
        for at in np.flatnonzero(numbers).tolist():
            stop = start + int(numbers[at])
            with (self._folder / f"{at:03d}").open("ab") as file:
                rows[order[start:stop]].tofile(file)
            start = stop
        self.sizes += numbers

    def groups(self, most_rows: int) -> list[list[int]]:
        """Parts that are put together, in groups of about one size, up to a number of rows where no part is larger."""
        number = max(1, -(-int(self.sizes.sum()) // most_rows))
        share = np.cumsum(self.sizes) - self.sizes // 2  # the middle of each part among all rows
        group = np.minimum(share * number // max(1, int(self.sizes.sum())), number - 1)
        there = np.flatnonzero(self.sizes)
        return [there[group[there] == at].tolist() for at in np.unique(group[there]).tolist()]

    def records(self, parts: list[int], n_codes: int) -> Csr:
        """The records of some parts, as codes, each code once in a record."""
        keys, found = NumberedWords(), LongRecords()
        for at in parts:
            rows = np.fromfile(self._folder / f"{at:03d}", _ROW)
            names = np.ascontiguousarray(rows["key"]).view(np.uint8).reshape(-1)
            records = keys.number(names, 16 * np.arange(len(rows) + 1, dtype=np.int64))
            found.append(records, np.ascontiguousarray(rows["code"]))
        return found.csr(len(keys), np.arange(n_codes, dtype=np.int32), _NO_DOMAIN)
