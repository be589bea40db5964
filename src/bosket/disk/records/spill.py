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
from bosket.data.formats.sources import MORE_MEMORY
from bosket.data.formats.words import NumberedWords
from bosket.disk.folders import asked
from bosket.disk.records.kernels import PRIME, hash_words
from bosket.errors import DataError
from bosket.threads import slices

_ROW = np.dtype([("key", "<u8", 2), ("code", "<i4")])
PARTS = 1 << 8
_FIRST = 53  # of 61 bits, where the first eight begin
_NO_DOMAIN = Domain([])


class Spill:
    """Rows in files by the first bits of their record's number, each row 20 bytes."""

    def __init__(self, folder: Path, *, buffered: int) -> None:
        """``buffered`` rows are held at most before they are written."""
        self._folder, self._buffered = folder, max(1 << 12, buffered)
        asked(folder, "make", lambda: folder.mkdir(mode=0o700, parents=True))
        self.rename()
        self._held: list[npt.NDArray[np.void]] = []
        self._n_held = 0
        self.sizes: dict[str, int] = {}
        """Rows of each part, by the name of its file."""

    def rename(self) -> None:
        """From now on names are those of other records: with points drawn anew they have other numbers, as surely as
        two different names have.
        """
        self._points = np.array([1 + secrets.randbelow(PRIME - 1) for _ in range(2)], np.uint64)

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
        self._deal(rows, _FIRST, "")

    def _deal(self, rows: npt.NDArray[np.void], bits: int, before: str) -> None:
        """Append rows to the parts that eight bits of their record's number name, behind the name ``before``."""
        part = (rows["key"][:, 0] >> np.uint64(bits)).astype(np.uint8)
        order = np.argsort(part, kind="stable")
        numbers = np.bincount(part, minlength=PARTS)
        start = 0
        for at in np.flatnonzero(numbers).tolist():
            stop, name = start + int(numbers[at]), f"{before}{at:03d}"
            self._append(self._folder / name, rows[order[start:stop]])
            self.sizes[name] = self.sizes.get(name, 0) + int(numbers[at])
            start = stop

    def _append(self, path: Path, rows: npt.NDArray[np.void]) -> None:
        def append() -> None:
            with path.open("ab") as file:
                file.write(rows.tobytes())

        asked(path, "write", append)

    def groups(self, most_rows: int) -> list[list[str]]:
        """Parts that are put together, in groups of about one size, up to a number of rows where no part is larger.

        One that is larger is dealt out once more, by further bits: there are more rows than so many parts have room
        for, or few records have most of them.
        """
        for name in [name for name, size in self.sizes.items() if size > most_rows]:
            self._check(name)
            for start, stop in slices(self.sizes.pop(name), most_rows):
                self._deal(self._rows(name, start, stop - start), _FIRST - 8, f"{name}-")
            asked(self._folder / name, "remove", (self._folder / name).unlink)
        names = sorted(self.sizes)
        sizes = np.array([self.sizes[name] for name in names], np.int64)
        total = int(sizes.sum())
        number = max(1, -(-total // most_rows))
        share = np.cumsum(sizes) - sizes // 2  # the middle of each part among all rows
        group = np.minimum(share * number // max(1, total), number - 1)
        found: dict[int, list[str]] = {}
        for name, at in zip(names, group.tolist(), strict=True):
            found.setdefault(at, []).append(name)
        return list(found.values())

    def records(self, parts: list[str], n_codes: int, most_rows: int) -> Csr:
        """The records of some parts, as codes, each code once in a record.

        A part of more than ``most_rows`` is one of few records, since their numbers are drawn and it was dealt out
        again: rows that say the same are put together as it is read.
        """
        keys, found = NumberedWords(), LongRecords()
        for name in parts:
            self._check(name)
            n_rows = self.sizes[name]
            rows = self._rows(name, 0, n_rows) if n_rows <= most_rows else self._different_rows(name, most_rows)
            names = np.ascontiguousarray(rows["key"]).view(np.uint8).reshape(-1)
            records = keys.number(names, 16 * np.arange(len(rows) + 1, dtype=np.int64))
            found.append(records, np.ascontiguousarray(rows["code"]))
        return found.csr(len(keys), np.arange(n_codes, dtype=np.int32), _NO_DOMAIN)

    def _rows(self, name: str, first: int, number: int) -> npt.NDArray[np.void]:
        path = self._folder / name
        return asked(path, "read", lambda: np.fromfile(path, _ROW, number, offset=first * _ROW.itemsize))

    def _check(self, name: str) -> None:
        """Refuse a part that has not the rows that were written to it."""
        path = self._folder / name
        if asked(path, "look at", path.stat).st_size != self.sizes[name] * _ROW.itemsize:
            raise DataError(
                f"The file {path} is not as it was written.",
                path=path,
                hint="Give each program that runs at the same time a scratch folder of its own.",
            )

    def _different_rows(self, name: str, most_rows: int) -> npt.NDArray[np.void]:
        held = np.empty(0, _ROW)
        for start, stop in slices(self.sizes[name], most_rows):
            both = np.concatenate([held, self._rows(name, start, stop - start)])
            both = both[np.lexsort((both["code"], both["key"][:, 1], both["key"][:, 0]))]
            is_new = np.append(True, both[1:] != both[:-1])
            held = both[is_new]
            if len(held) > most_rows:
                raise DataError(
                    f"A few records of the file have more than {most_rows} items, which do not fit in the memory.",
                    hint=MORE_MEMORY,
                )
        return held
