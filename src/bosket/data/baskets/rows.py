"""Records in compressed rows, and the ways to make them canonical.

Every reader ends here: it delivers rows of item ids and a domain, and gets back a ``Csr`` whose ids increase within
each record, without repeats, in read-only arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable
from decimal import InvalidOperation
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.data.baskets.kernels import canonicalize, group_pairs, is_canonical
from bosket.data.domain import Domain, ItemIds, check_hashes
from bosket.errors import DataError
from bosket.threads import parallel_map, slices

Offsets = npt.NDArray[np.int64]
"""Where each record starts in the list of all item ids; one entry more than there are records."""

BitRows = npt.NDArray[np.uint64]
"""A row of 64-bit words per record; item i is bit i % 64 of word i // 64."""

_MARKS = (
    "Say Baskets.from_frame(pandas.DataFrame(array, columns=items), layout='one-hot'), or Baskets.from_scipy of a "
    "sparse matrix; if 0 and 1 are items, declare them with items=[0, 1]."
)

_TIMES = frozenset({np.datetime64, np.timedelta64})

_RECORD_BYTES = 8  # what the start of a record takes
_ITEM_BYTES = 4
_LABEL_BYTES = 300  # an object, and its places in the tables and lists that a domain is made with
_NARROW = 1 << 31  # numbers that four bytes hold
_RECORDS_A_PART = 1 << 18
_FREE_BYTES = 1 << 24  # of records: in small files the text is what counts

Values = TypeVar("Values", bound=npt.NDArray[Any])


class Csr(NamedTuple):
    """Canonical rows: record r holds ``indices[indptr[r]:indptr[r + 1]]``."""

    indptr: Offsets
    indices: ItemIds
    domain: Domain


def frozen(values: Values) -> Values:
    """The array itself, from now on read-only."""
    values.flags.writeable = False
    return values


def canonical(indptr: Offsets, indices: ItemIds, domain: Domain) -> Csr:
    """Rows known to be in range, sorted and freed of repeats where they need it; takes possession of the arrays.

    They are sorted in their place: memory does not depend on whether a record is out of order.  What repeats leave
    behind is given back once it is half of the whole, so that a copy is never large.
    """
    if not _is_canonical(indptr, indices):
        indptr, indices = _writeable(indptr), _writeable(indices)
        written = canonicalize(indptr, indices)
        indices = indices[:written] if 2 * written > indices.size else indices[:written].copy()
    return Csr(frozen(indptr), frozen(indices), domain)


def _is_canonical(indptr: Offsets, indices: ItemIds) -> bool:
    items, parts = frozen(indices.view()), list(slices(indptr.size - 1, _RECORDS_A_PART))
    return all(parallel_map(lambda part: is_canonical(frozen(indptr[part[0] : part[1] + 1]), items), parts))


def _writeable(values: Values) -> Values:
    return values if values.flags.writeable else values.copy()


def checked(indptr: npt.ArrayLike, indices: npt.ArrayLike, domain: Domain) -> Csr:
    """Rows from outside: refused if they do not fit together or with the domain, and copied if they could change."""
    starts, items = np.asarray(indptr), np.asarray(indices)
    if items.size == 0:
        items = items.astype(np.int32)
    for name, values in (("indptr", starts), ("indices", items)):
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise DataError(f"The {name} of baskets must be a one-dimensional array of whole numbers.")
    if starts.size == 0 or starts[0] != 0 or starts[-1] != items.size or (starts[1:] < starts[:-1]).any():
        raise DataError(f"The indptr of baskets must rise from 0 to the number of indices, {items.size}.")
    if items.size and (int(items.min()) < 0 or int(items.max()) >= domain.n_items):
        raise DataError(f"The indices of baskets must be item ids from 0 to {domain.n_items - 1}.")
    return canonical(_owned(starts, np.int64), _owned(items, np.int32), domain)


def _owned(values: npt.NDArray[Any], dtype: type[np.int64 | np.int32]) -> npt.NDArray[Any]:
    return values.astype(dtype, order="C")  # always a copy: a read-only view may have a base that is not


def taken(*, n_records: int = 0, n_items: int = 0, n_labels: int = 0) -> int:
    """The bytes of records and of their items that count towards the cap of a file, beside its own.

    ``n_labels`` are the different labels, and the different names of records where these are held as objects: a few
    letters in the file, and some hundred bytes once they are read.
    """
    return _RECORD_BYTES * n_records + _ITEM_BYTES * n_items + _LABEL_BYTES * n_labels - _FREE_BYTES


class Sizes:
    """The sizes of records as they are read, some at a time, in four bytes each; lines without items are records too.

    What they take is held to the cap of the file too: a small one that unpacks to line ends has millions of records.
    So is what their items take, where cells of the file may be smaller.
    """

    def __init__(self, check_size: Callable[[int], None]) -> None:
        self._parts: list[npt.NDArray[np.int32]] = []
        self._check_size = check_size
        self.n_records = 0
        self._n_items = 0

    def check(self, n_records: int = 0, n_items: int = 0, *, n_labels: int = 0) -> None:
        """Refuse this many more beyond the cap; ``n_labels`` are the different labels of all."""
        n_records, n_items = self.n_records + n_records, self._n_items + n_items
        self._check_size(taken(n_records=n_records, n_items=n_items, n_labels=n_labels))

    def append(self, sizes: npt.NDArray[np.integer[Any]], *, n_items: int = 0) -> None:
        """Add records; ``n_items`` of their items count."""
        self.check(sizes.size, n_items)
        self.n_records += sizes.size
        self._n_items += n_items
        self._parts.append(sizes.astype(np.int32, copy=False))

    def starts(self) -> Offsets:
        """Where each record begins, and where the last ends; what was kept is let go."""
        indptr = np.zeros(self.n_records + 1, np.int64)
        done = 0
        for at, part in enumerate(self._parts):
            self._parts[at] = part[:0]
            np.cumsum(part, dtype=np.int64, out=indptr[done + 1 : done + 1 + part.size])
            indptr[done + 1 : done + 1 + part.size] += indptr[done]
            done += part.size
        return indptr


class Items:
    """Item ids as they are read, some at a time, in one array that grows in its place, so that none is held twice."""

    def __init__(self, dtype: npt.DTypeLike = np.int32) -> None:
        self._values: npt.NDArray[Any] = np.empty(0, dtype)
        self._n_items = 0

    def more(self, n_items: int) -> npt.NDArray[Any]:
        """Room for more items, which the caller fills at once: it is gone when more is asked for."""
        start, self._n_items = self._n_items, self._n_items + n_items
        if self._n_items > self._values.size:
            self._values.resize(self._n_items + self._n_items // 8, refcheck=False)  # nobody looks at the array
        return self._values[start : self._n_items]

    def append(self, items: npt.NDArray[np.integer[Any]]) -> None:
        """Add items, which are copied; numbers beyond 32 bits make all of them wider."""
        if items.dtype.itemsize > self._values.itemsize:
            self._values = self._values.astype(items.dtype)
        self.more(items.size)[:] = items

    def last(self) -> npt.NDArray[Any]:
        """The last one, to be changed at once."""
        return self._values[self._n_items - 1 : self._n_items]

    def together(self) -> npt.NDArray[Any]:
        """All of them; what was kept is let go."""
        items, self._values = self._values, self._values[:0].copy()
        items.resize(self._n_items, refcheck=False)
        self._n_items = 0
        return items


class RecordItems:
    """Pairs of a record and an item as they are read, some at a time, in eight bytes each."""

    def __init__(self) -> None:
        self._records, self._items = Items(), Items()

    def append(self, records: Offsets, items: ItemIds) -> None:
        is_narrow = not records.size or int(records.max()) < _NARROW
        self._records.append(records.astype(np.int32) if is_narrow else records)
        self._items.append(items)

    def together(self) -> tuple[npt.NDArray[Any], ItemIds]:
        """The records and the items of all; what was kept is let go."""
        return self._records.together(), self._items.together()


def from_pairs(records: Offsets, items: ItemIds, n_records: int, domain: Domain) -> Csr:
    """Rows from (record, item) pairs in any order; an item of -1 only says that the record exists."""
    indptr, indices = group_pairs(frozen(records), frozen(items), n_records)
    return canonical(indptr, indices, domain)


def from_records(records: Iterable[Iterable[Hashable]]) -> Csr:
    """Rows from plain Python records; the domain is the items seen."""
    index: dict[Hashable, int] = {}
    starts, items = array("q", [0]), array("i")
    for number, record in enumerate(records, 1):
        fault = fault_of(record)
        if fault is None:
            try:
                items.extend([index.setdefault(label, len(index)) for label in labels_of(record)])
            except (TypeError, ValueError):  # the latter of NumPy's times that are none of a calendar's
                fault = "holds an item that cannot be hashed"
        if fault is not None:  # raised outside the handlers: an error of the item's own would show it
            raise record_error(number, record, fault)
        starts.append(len(items))
    indptr, indices = np.array(starts, np.int64), np.array(items, np.int32)
    missing = [code for code, label in enumerate(index) if is_missing(label)]
    if missing:
        first = np.flatnonzero(np.isin(indices, missing))[0]
        raise DataError(f"Record {np.searchsorted(indptr, first, side='right')} holds a missing item (None or NaN).")
    seen, rank = domain_of(index)
    return canonical(indptr, rank[indices], seen)


def labels_of(values: Iterable[Hashable]) -> list[Hashable]:
    """The labels, with NumPy's times as those of pandas, so that it does not matter which of two equal ones is first.

    Of NumPy's it does: a day equals its first second, that equals Python's, and Python's does not equal the day.
    """
    labels = list(values)
    if _TIMES.isdisjoint(map(type, labels)):
        return labels
    labels = list(map(plain, labels))
    if not _TIMES.isdisjoint(map(type, labels)):
        raise ValueError("times that no calendar has")
    return labels


def record_error(number: int, record: object, fault: str) -> DataError:
    """Of a record that is refused, by its number, with no word of what it holds."""
    hint = "For a data frame, call Baskets.from_frame." if isinstance(record, str) else None
    hint = _MARKS if isinstance(record, np.ndarray) and record.dtype.kind == "b" else hint
    return DataError(f"Record {number} {fault}.", hint=hint)


def check_not_marks(records: object) -> None:
    """Refuse an array of 0 and 1, or of truth values: it has a column per item, and is no list of items."""
    if isinstance(records, np.ndarray) and records.ndim == 2 and records.size and _are_marks(records):
        raise DataError(
            "The records must be lists of items, got an array of 0 and 1 or of truth values, as one-hot data are.",
            hint=_MARKS,
        )


def _are_marks(values: npt.NDArray[Any]) -> bool:
    if values.dtype.kind == "O":
        return all(isinstance(value, bool | np.bool_) for value in values.flat)
    return values.dtype.kind == "b" or (values.dtype.kind in "iuf" and bool(((values == 0) | (values == 1)).all()))


def fault_of(record: object) -> str | None:
    """Why something is no record at all, if so."""
    if isinstance(record, str | bytes):
        return "must be a list of items, got a string, each letter of which would be an item"
    if isinstance(record, np.ndarray) and record.dtype.kind == "b":
        return "must be a list of items, got an array of truth values, as one-hot data are"
    return None if isinstance(record, Iterable) else f"must be a list of items, got a single {type(record).__name__}"


def is_missing(label: object) -> bool:
    """None, NaN, NaT, pandas.NA."""
    try:
        return label is None or bool(label != label)  # only missing values differ from themselves
    except (TypeError, InvalidOperation):  # pandas.NA will not say, and a decimal that signals raises
        return True


def domain_of(labels: Iterable[Hashable]) -> tuple[Domain, ItemIds]:
    """The domain of some labels, each given once, sorted, and the item id of each label given.

    Never in order of first appearance: the domain is published, and its first label would be in the first record.
    """
    given = [plain(label) for label in labels]
    check_hashes(given)
    distinct = list(set(given))
    try:
        distinct.sort()  # type: ignore[call-arg]  # refused by labels that cannot be compared
    except (TypeError, ValueError, OverflowError):
        distinct.sort(key=_shown)
    domain = Domain(distinct, is_declared=False)
    return domain, np.array([domain.index[label] for label in given], np.int32)


def _shown(label: Hashable) -> tuple[str, str]:
    """By type and representation; a number that Python does not write out for its length goes by its bits."""
    try:
        return type(label).__name__, repr(label)
    except ValueError:
        return type(label).__name__, hex(label) if isinstance(label, int) else str(hash(label))


def plain(label: Hashable) -> Hashable:
    """NumPy's scalars as Python's, and its times as those of pandas, which Python's equal.

    Times that pandas does not have (months, years beyond its calendar) stay as they are.
    """
    if isinstance(label, np.datetime64 | np.timedelta64):
        try:
            return pd.Timestamp(label) if isinstance(label, np.datetime64) else pd.Timedelta(label)
        except (ValueError, OverflowError):
            return label
    return label.item() if isinstance(label, np.bool_ | np.integer | np.floating | np.character) else label


def over(csr: Csr, domain: Domain) -> Csr:
    """The same records over another domain."""
    known = np.array([domain.index.get(label, -1) for label in csr.domain.labels], np.int32)
    unknown = np.count_nonzero((known < 0) & (np.bincount(csr.indices, minlength=known.size) > 0))
    if unknown:
        items = "1 item" if unknown == 1 else f"{unknown} different items"
        raise DataError(f"The data hold {items} that the given domain does not have.")
    return canonical(csr.indptr, known[csr.indices], domain)
