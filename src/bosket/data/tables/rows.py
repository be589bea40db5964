"""The codes of a table, and the other ways to write records: mappings, packed bits, numbers of cells."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.data.baskets.kernels import pack_codes, unpack_codes
from bosket.data.baskets.rows import BitRows, frozen
from bosket.data.formats.columns import Columns
from bosket.data.formats.sources import Source
from bosket.data.tables.codings import declared
from bosket.data.tables.columns import Choices, to_codes
from bosket.data.tables.domain import Attribute, Codes, TableDomain, refused
from bosket.errors import DataError
from bosket.threads import parallel_map, slices

_RECORDS_A_PART = 1 << 18


def from_records(
    records: Iterable[Mapping[str, Hashable]], attributes: Iterable[Attribute] | TableDomain | None
) -> tuple[Codes, TableDomain]:
    """Codes from plain Python records; without attributes, they are those of the first record, with the values seen."""
    domain = attributes if isinstance(attributes, TableDomain) or attributes is None else TableDomain(attributes)
    cells: dict[str, list[Hashable]] = {} if domain is None else {name: [] for name in domain.names}
    for number, record in enumerate(records, 1):
        if not isinstance(record, Mapping):
            raise DataError(
                f"Record {number} must be a mapping from attribute to value, got {type(record).__name__}.",
                hint="For a data frame, call Table.from_frame.",
            )
        if not cells:
            cells = {name: [] for name in record}
        if record.keys() != cells.keys():
            raise DataError(f"Record {number} must have the {len(cells)} attributes of the table, and no others.")
        for name, column in cells.items():
            column.append(record[name])
    if not cells:
        raise DataError("A table without records must be told its attributes.")
    choices = Choices.of()
    columns = Columns(tuple(cells), tuple(cells.values()), Source("the records"))
    codes, seen = to_codes(columns, choices if domain is None else choices.over(domain))
    return codes, seen if domain is None else domain


def checked_domain(domain: object) -> TableDomain:
    if not isinstance(domain, TableDomain):
        raise refused("domain", "The domain of a table must be a TableDomain", domain)
    return domain


def checked_codes(codes: npt.ArrayLike, domain: TableDomain) -> Codes:
    """Codes from outside: refused if they do not fit the domain, and copied, since they could change."""
    sizes = checked_domain(domain).sizes
    given = np.asarray(codes)
    if given.ndim != 2 or given.shape[1] != sizes.size or given.dtype.kind not in "iu":
        raise DataError(f"The codes of a table must be rows of {sizes.size} whole numbers, one per attribute.")
    if ((given < 0) | (given >= sizes)).any():
        raise DataError("The codes of a table must be places among the values of their attribute, from 0.")
    return given.astype(domain.dtype, order="C")


def to_bits(codes: Codes, domain: TableDomain) -> BitRows:
    """A bit for the value of each attribute."""
    bits = np.zeros((len(codes), -(-domain.n_items // 64)), np.uint64)
    parts = list(slices(len(codes), _RECORDS_A_PART))
    parallel_map(lambda part: pack_codes(codes, domain.offsets, bits, *part), parts)
    return bits


def from_bits(bits: BitRows, domain: TableDomain) -> Codes:
    """The other way; every row must hold one value of each attribute."""
    n_items = checked_domain(domain).n_items
    words = -(-n_items // 64)
    bits = np.ascontiguousarray(bits)
    if bits.dtype != np.uint64 or bits.ndim != 2 or bits.shape[1] != words:
        raise DataError(f"Packed records of {n_items} items must be rows of {words} words of 64 bits.")
    if n_items % 64 and (bits[:, -1] >> np.uint64(n_items % 64)).any():
        raise DataError(f"Packed records must not set bits beyond their {n_items} items.")
    codes: Codes = np.empty((len(bits), domain.n_attributes), domain.dtype)
    source = frozen(bits.view())
    parts = list(slices(len(bits), _RECORDS_A_PART))
    faults = parallel_map(lambda part: unpack_codes(source, domain.groups, domain.offsets, codes, *part), parts)
    bad = next((fault for fault in faults if fault >= 0), None)
    if bad is not None:
        raise DataError(f"Packed records of a table must have one value of each attribute; record {bad + 1} does not.")
    return codes


def to_cells(codes: Codes, domain: TableDomain) -> npt.NDArray[np.int64]:
    """Mixed radix, the first attribute most significant."""
    domain.n_cells  # noqa: B018  # refuses what cannot be numbered
    cells = np.zeros(len(codes), np.int64)
    for at, size in enumerate(domain.sizes.tolist()):
        cells *= size
        cells += codes[:, at]
    return cells


def from_cells(cells: npt.ArrayLike, domain: TableDomain) -> Codes:
    """The other way."""
    n_cells = checked_domain(domain).n_cells
    given = np.asarray(cells)
    if given.size == 0:
        given = given.astype(np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise DataError("The cells of a table must be a one-dimensional array of whole numbers.")
    if given.size and (int(given.min()) < 0 or int(given.max()) >= n_cells):
        raise DataError(f"The cells of this table must be numbers from 0 to {n_cells - 1}.")
    rest = given.astype(np.int64)
    codes: Codes = np.empty((given.size, domain.n_attributes), domain.dtype)
    for at in range(domain.n_attributes - 1, -1, -1):
        rest, codes[:, at] = np.divmod(rest, domain.sizes[at])
    return codes


def to_frame(codes: Codes, domain: TableDomain) -> pd.DataFrame:
    """A categorical column per attribute."""
    columns = {}
    for at, attribute in enumerate(domain.attributes):
        categories = pd.Index(list(attribute.values), tupleize_cols=False)
        columns[attribute.name] = pd.Categorical.from_codes(codes[:, at].astype(np.int32), categories)
    return pd.DataFrame(columns)


def recoded(codes: Codes, old: TableDomain, new: TableDomain, *, show_values: bool) -> npt.NDArray[Any]:
    """The codes of the same values in another domain."""
    others = sorted(set(old.names) ^ set(checked_domain(new).names))
    if others:
        named = ", ".join(map(repr, others))
        raise DataError(f"The table and the given domain must have the same attributes, and differ in {named}.")
    result = np.empty(codes.shape, new.dtype)
    for at, attribute in enumerate(new.attributes):
        place = old.position(attribute.name)
        values = old.attributes[place].values
        code = declared(attribute.name, attribute.values).code
        known = np.array([code(value) for value in values], np.int64)
        lacking = np.flatnonzero((known < 0) & (np.bincount(codes[:, place], minlength=known.size) > 0))
        if lacking.size:
            count = "a value" if lacking.size == 1 else f"{lacking.size} different values"
            shown = f": {', '.join(repr(values[code]) for code in lacking.tolist())}" if show_values else ""
            raise DataError(
                f"The data hold {count} of attribute {attribute.name!r} that the given domain does not have{shown}.",
                hint=None if show_values else "Ask with show_values=True which.",
            )
        result[:, at] = known[codes[:, place]]
    return result
