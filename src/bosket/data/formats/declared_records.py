"""Records in memory under a declaration: each is read by itself.

With ``unknown="drop"`` a record is its own values that stand for declared items, whatever else it holds and whatever it
is: nothing in it makes an error, or changes how another one is read.  What is no list of items (a string, a number, an
array of truth values, nothing at all) is an empty record.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import narwhals as nw
import numpy as np

from bosket.data.baskets.rows import Csr, canonical, fault_of, labels_of, record_error
from bosket.data.domain import Domain
from bosket.data.formats.list_cells import most_cells
from bosket.data.formats.lookup import Lookup
from bosket.data.formats.vocabulary import Unknown
from bosket.errors import DataError, telling_no_sizes
from bosket.threads import slices

UNDECLARED = "holds an item that is not in the declared domain"
_VALUES_A_PIECE = 1 << 15


@telling_no_sizes("read these records")
def read(records: Iterable[Iterable[Hashable]], domain: Domain, unknown: Unknown) -> Csr:
    """The records over the declared domain."""
    if unknown == "refuse":
        return _rows(records, domain, _Strict(domain))
    _check_container(records)
    return kept(records, Lookup.of(domain))


def kept(records: Iterable[Any], lookup: Lookup) -> Csr:
    """What of each record stands for a declared item."""
    starts, items = array("q", [0]), array("i")
    for record in records:
        items.extend(_items(record, lookup))
        starts.append(len(items))
    return canonical(np.array(starts, np.int64), np.array(items, np.int32), lookup.domain)


def refused(records: Iterable[Any], lookup: Lookup) -> Csr:
    """The same, where a value that stands for no declared item is an error."""
    return _rows(records, lookup.domain, _Strict(lookup.domain, lookup))


def _items(record: Any, lookup: Lookup) -> array[int]:
    """The items of a record, none of what is no list of them; as many values are looked at as of a list in a file."""
    items = array("i")
    try:
        values = iter(()) if fault_of(record) is not None else islice(_plain(record), most_cells())
        while piece := list(islice(values, _VALUES_A_PIECE)):
            items.extend([item for item in lookup.items(piece) if item >= 0])
    except Exception:  # noqa: BLE001  # somebody else's object, which only says that it is iterable
        return array("i")
    return items


def _plain(record: Any) -> Iterator[Any]:
    """The values of a record; those of an array as Python's where these are equal, since they are looked up faster."""
    if type(record) is np.ndarray and record.ndim == 1 and record.dtype.kind in "iuU":
        return (value for start, stop in slices(len(record), _VALUES_A_PIECE) for value in record[start:stop].tolist())
    return iter(record)


def _check_container(records: object) -> None:
    """Refuse what holds no records, or not as lists, by its type alone."""
    if isinstance(records, str | bytes):
        raise DataError("The records must be lists of items, got a string.")
    if isinstance(records, np.ndarray) and (records.dtype.kind == "b" or records.ndim < 1):
        raise DataError(
            "The records must be lists of items, got an array of truth values or of none.",
            hint="Baskets.from_frame(pandas.DataFrame(array, columns=items), layout='one-hot', items=items) reads it.",
        )
    is_frame = nw.from_native(records, pass_through=True) is not records
    if is_frame or hasattr(records, "tocsr"):
        call = "from_frame" if is_frame else "from_scipy"
        raise DataError(f"The records must be lists of items, got a {type(records).__name__}.", hint=f"Call {call}.")


class _Strict:
    """The ids of the items of a record, by equality first, by writing where nothing is equal."""

    def __init__(self, domain: Domain, lookup: Lookup | None = None) -> None:
        self._domain = domain
        self._given = lookup

    @cached_property
    def _lookup(self) -> Lookup:
        return self._given or Lookup.where_clear(self._domain)

    def __call__(self, labels: list[Hashable]) -> list[int]:
        """Raises a KeyError for a label that stands for no item."""
        index = self._domain.index
        try:
            return [index[label] for label in labels]
        except KeyError:
            pass
        found = [self._lookup.item(label) if label not in index else index[label] for label in labels]
        if min(found) < 0:
            raise KeyError
        return found


def _rows(records: Iterable[Iterable[Hashable]], domain: Domain, find: _Strict) -> Csr:
    starts, items = array("q", [0]), array("i")
    for number, record in enumerate(records, 1):
        fault = fault_of(record)
        if fault is None:
            try:
                items.extend(find(labels_of(record)))
            except KeyError:
                fault = UNDECLARED
            except Exception:  # noqa: BLE001  # of somebody else's object, and of NumPy's times that no calendar has
                fault = "holds an item that cannot be hashed"
        if fault is not None:  # raised outside the handlers: a KeyError would show the item
            raise record_error(number, record, fault)
        starts.append(len(items))
    return canonical(np.array(starts, np.int64), np.array(items, np.int32), domain)
