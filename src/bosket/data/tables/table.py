"""Table: records with one value of each attribute."""

from __future__ import annotations

import operator
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer
from bosket.data.baskets.records import Baskets, Some
from bosket.data.baskets.rows import BitRows, canonical, frozen
from bosket.data.formats import declared_tables, table_files
from bosket.data.formats.csv_writing import Formulas
from bosket.data.formats.frames import columns_of
from bosket.data.formats.sources import MAX_BYTES, Content
from bosket.data.tables import rows as table_rows
from bosket.data.tables.codings import DeclaredValues
from bosket.data.tables.columns import Choices, to_codes
from bosket.data.tables.domain import Attribute, Codes, TableDomain
from bosket.threads import slices

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Table:
    """Immutable records, each with one value of every attribute of a domain.

    ``records`` is any iterable of mappings from attribute to value, all with the same attributes.  ``attributes``
    declares the domain, and a record with any other value is refused.  Without it the attributes are those of the
    first record, and the values those that occur, sorted.

    >>> table = Table([{"age": "child", "sex": "male"}, {"age": "adult", "sex": "female"}])
    >>> table
    Table(2 records, 2 attributes, 4 items)
    >>> table[0]
    {'age': 'child', 'sex': 'male'}
    >>> table.domain.labels
    ('age=adult', 'age=child', 'sex=female', 'sex=male')
    >>> table.cells().tolist()
    [3, 0]

    ``codes[r, j]`` is the place of the value of record r among those of attribute j; read-only, and unsigned.
    """

    codes: Codes
    domain: TableDomain

    def __init__(
        self, records: Iterable[Mapping[str, Hashable]], attributes: Iterable[Attribute] | TableDomain | None = None
    ) -> None:
        self._hold(*table_rows.from_records(records, attributes))

    def _hold(self, codes: npt.NDArray[Any], domain: TableDomain) -> None:
        object.__setattr__(self, "codes", frozen(np.ascontiguousarray(codes, domain.dtype)))
        object.__setattr__(self, "domain", domain)

    @classmethod
    def _of(cls, codes: npt.NDArray[Any], domain: TableDomain) -> Self:
        """Of codes that are known to be in range and that nobody else will change."""
        table = cls.__new__(cls)
        table._hold(codes, domain)
        return table

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        columns: Iterable[str] | None = None,
        bins: Mapping[str, Iterable[float]] | None = None,
        values: Mapping[str, DeclaredValues] | None = None,
        missing: str | Mapping[str, str] | None = None,
        show_values: bool = False,
        unknown: str | None = None,
    ) -> Self:
        """From a pandas, polars or Arrow frame.

        ``columns``: which, in that order; all of them if left out.

        ``bins={"age": [15, 35, 55, 75]}``: the lower ends of bins, as 64-bit floating-point numbers; the last bin is
        open above.  A number below the first end, infinity, or anything but a number is refused.

        ``values={"sex": ["Female", "Male"]}`` declares the values there can be, in order, and any other is refused.
        ``values={"country": {"US": ["United-States"], "Other": "*"}}`` groups cells, ``"*"`` being all others.  A cell
        stands for the declared value that equals it, or else for the one written alike.  The values of a column
        about which nothing is said are those that occur, sorted; the domain is then not declared.  The categories of a
        pandas Categorical, and of an Enum of polars, are its values, in their order, those that no row has too; but no
        declaration, since ``astype("category")`` makes them of what occurs.

        ``missing``: None, NaN, blank text and ``"?"`` are missing, unless declared in ``values``, and are refused.
        ``missing={"workclass": "unknown"}`` makes them a category, the last of the attribute, or one that it has
        already.  A single string does so for every column read, whether anything is missing there or not: which
        categories there are must not depend on the records.  No record is ever dropped, and ``"*"`` takes none.

        ``unknown="other"``: cells that stand for no declared value, and missing ones that ``missing`` says nothing of,
        are of this category, which every attribute then has.  Nothing in a record is refused, and each is read by
        itself, as a curator must read them; all columns must have ``values`` or ``bins``.

        Errors give the row and the attribute; the cell too with ``show_values=True``.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [34, 35, 80], "sex": ["F", "M", None]})
        >>> table = Table.from_frame(frame, bins={"age": [15, 35, 55]}, missing={"sex": "unknown"})
        >>> list(table)[2]
        {'age': '[55,inf)', 'sex': 'unknown'}
        """
        choices = Choices.of(columns, bins, values, missing, show_values, unknown)
        if choices.unknown is not None:
            return cls._of(*declared_tables.from_frame(frame, choices))
        return cls._of(*to_codes(columns_of(frame), choices))

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        columns: Iterable[str] | None = None,
        bins: Mapping[str, Iterable[float]] | None = None,
        values: Mapping[str, DeclaredValues] | None = None,
        missing: str | Mapping[str, str] | None = None,
        show_values: bool = False,
        unknown: str | None = None,
        max_bytes: int | None = MAX_BYTES,
    ) -> Self:
        """Read a ``.csv`` or ``.parquet`` file, each also with ``.gz``; the options are those of ``from_frame``.

        A CSV file starts with a header.  Its cells are text without the blanks around it, numbers too unless they are
        put into bins; errors give the line.  A Parquet file that ``write`` wrote has its domain with it; one that is
        packed once more (``.parquet.gz``) is refused with ``unknown``, under which one record must not use up the cap.

        ``max_bytes`` is the most that a file may hold once it is decompressed (8 GiB unless given; None for no cap).
        """
        choices = Choices.of(columns, bins, values, missing, show_values, unknown)
        return cls.read_from(Content(Path(path), max_bytes), choices)

    @classmethod
    def read_from(cls, content: Content, choices: Choices, *, suffix: str | None = None) -> Self:
        """The same of an open file such as standard input, or of one whose name does not tell its format."""
        return cls._of(*table_files.read(content, choices, suffix=suffix))

    def write(self, path: str | os.PathLike[str], *, formulas: Formulas = "refuse") -> None:
        """Write a file that ``read`` reads; an existing one is replaced whole or, if anything fails, not at all.

        CSV does not keep the domain: types, order, and values that no record holds; Parquet does.  Names and values
        that a spreadsheet program would take for formulas (they begin with ``=``, ``+``, ``-``, ``@``, and are no
        numbers) are not written to CSV, unless ``formulas="allow"``.
        """
        table_files.write(self.codes, self.domain, path, formulas=formulas)

    @classmethod
    def from_codes(cls, codes: npt.ArrayLike, domain: TableDomain) -> Self:
        """From the places of values among those of their attributes, a row per record."""
        return cls._of(table_rows.checked_codes(codes, domain), domain)

    @classmethod
    def from_bits(cls, bits: BitRows, domain: TableDomain) -> Self:
        """From packed bits, as ``to_bits`` makes them: exactly one value of each attribute in every row."""
        return cls._of(table_rows.from_bits(bits, domain), domain)

    @classmethod
    def from_cells(cls, cells: npt.ArrayLike, domain: TableDomain) -> Self:
        """From numbers of cells, as ``cells`` makes them."""
        return cls._of(table_rows.from_cells(cells, domain), domain)

    @property
    def n_records(self) -> int:
        return len(self.codes)

    @property
    def n_items(self) -> int:
        """How many values the attributes have together, seen or not."""
        return self.domain.n_items

    @property
    def n_attributes(self) -> int:
        return self.domain.n_attributes

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of items in each record: one of each attribute."""
        return np.full(self.n_records, self.n_attributes, np.int64)

    def item_counts(self) -> npt.NDArray[np.int64]:
        """The number of records that hold each item."""
        sizes = self.domain.sizes.tolist()
        counts = [np.bincount(self.codes[:, at], minlength=size) for at, size in enumerate(sizes)]
        return np.concatenate(counts).astype(np.int64, copy=False)

    def to_bits(self) -> BitRows:
        """A row of 64-bit words per record; item i is bit i % 64 of word i // 64."""
        return table_rows.to_bits(self.codes, self.domain)

    def cells(self) -> npt.NDArray[np.int64]:
        """The number of each record among all there can be, from 0 (FRAPP: from 1); the first attribute counts most."""
        return table_rows.to_cells(self.codes, self.domain)

    def to_baskets(self) -> Baskets:
        """The same records as sets of items, over the same domain."""
        indptr = np.arange(self.n_records + 1, dtype=np.int64) * self.n_attributes
        indices = self.codes + self.domain.offsets[:-1].astype(np.int32)
        return Baskets._of(canonical(indptr, indices.astype(np.int32, copy=False).ravel(), self.domain))

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame with a categorical column per attribute."""
        return table_rows.to_frame(self.codes, self.domain)

    def select(self, names: Iterable[str]) -> Self:
        """The same records with fewer attributes, in the order given."""
        domain = self.domain.select(names)
        return self._of(self.codes[:, [self.domain.position(name) for name in domain.names]], domain)

    def repeat(self, times: int) -> Self:
        """The data concatenated with themselves."""
        times = check_integer("times", times, least=1, of="repeat")
        return self._of(np.tile(self.codes, (times, 1)), self.domain)

    def with_domain(self, domain: TableDomain, *, show_values: bool = False) -> Self:
        """The same records over another domain with the same attributes, which must have every value that occurs.

        A value becomes the one that equals it there, or else the one written alike.
        """
        return self._of(table_rows.recoded(self.codes, self.domain, domain, show_values=show_values), domain)

    def __len__(self) -> int:
        return self.n_records

    @overload
    def __getitem__(self, record: int) -> dict[str, Hashable]: ...

    @overload
    def __getitem__(self, record: Some) -> Self: ...

    def __getitem__(self, record: int | Some) -> dict[str, Hashable] | Self:
        """The values of one record (numbers below 0 count from the end), or some: by slice, by truth, or by number."""
        if isinstance(record, slice | np.ndarray):
            chosen = self.codes[record if isinstance(record, slice) else np.arange(self.n_records)[record]]
            if chosen.ndim != 2:
                raise IndexError("Records are chosen by a number, a slice, or an array of one dimension.")
            return self._of(chosen, self.domain)
        number = operator.index(record)
        if not -self.n_records <= number < self.n_records:
            raise IndexError(f"There is no record {number} among {self.n_records}.")
        row = self.codes[number].tolist()
        return {one.name: one.values[code] for one, code in zip(self.domain.attributes, row, strict=True)}

    def __iter__(self) -> Iterator[dict[str, Hashable]]:
        names = self.domain.names
        values = [attribute.values for attribute in self.domain.attributes]
        for start, stop in slices(self.n_records, 10_000):  # plain lists are faster, but not all at once
            for row in self.codes[start:stop].tolist():
                yield {name: known[code] for name, known, code in zip(names, values, row, strict=True)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self.domain == other.domain and np.array_equal(self.codes, other.codes)

    def __repr__(self) -> str:
        return f"Table({self.n_records} records, {self.n_attributes} attributes, {self.n_items} items)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Through ``from_codes``, since a copied array would be writable again."""
        return type(self).from_codes, (self.codes, self.domain)
