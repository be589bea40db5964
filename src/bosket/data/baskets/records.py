"""Baskets: records that are sets of items."""

from __future__ import annotations

import operator
import os
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from bosket.checks import check_choice, check_integer
from bosket.data.baskets.kernels import pack, unpack
from bosket.data.baskets.rows import (
    BitRows,
    Csr,
    Offsets,
    canonical,
    check_not_marks,
    checked,
    from_records,
    frozen,
    over,
    plain,
)
from bosket.data.domain import Domain, ItemIds
from bosket.data.formats import basket_files as files
from bosket.data.formats import declared_frames, declared_records
from bosket.data.formats.arrangements import Arrangement
from bosket.data.formats.csv_writing import Formulas
from bosket.data.formats.frames import columns_of
from bosket.data.formats.layouts import Layout, to_csr
from bosket.data.formats.lookup import Lookup
from bosket.data.formats.one_hot_frames import truth_values
from bosket.data.formats.sources import MAX_BYTES, Content
from bosket.data.formats.vocabulary import UNKNOWNS, Unknown, Vocabulary
from bosket.errors import DataError, ParameterError, telling_no_sizes
from bosket.threads import parallel_map, slices

if TYPE_CHECKING:
    from typing import Self

    from bosket.disk.records.opened import OpenBaskets
    from bosket.progress import Progress

_WORDS_A_PART = 1 << 20


Some = slice | npt.NDArray[np.bool_] | npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Baskets:
    """Immutable records, each a set of items, over a domain.

    ``records`` is any iterable of iterables of labels.  Repeated items in a record count once; an empty record is a
    record.  Without ``items`` the domain is the items seen, sorted (by type and representation where they cannot be
    compared); an array of 0 and 1, or of truth values, is then refused: it is one-hot, and ``from_frame`` reads it.

    ``items`` declares the domain, and the result has just that one.  A value stands for the item that it equals, or
    whose writing it is: 3, 3.0 and "3" for 3 and for "3", "01" for "01" alone.  ``unknown="refuse"``: a record with any
    other value is refused.  ``unknown="drop"`` leaves such values out, and then nothing in a record makes an error, or
    changes how another one is read, whatever it is: a string or None in the place of a record is an empty one.  No two
    items may then be written alike.

    >>> baskets = Baskets([["milk", "bread"], ["beer"], []])
    >>> baskets
    Baskets(3 records, 3 items)
    >>> baskets[0]
    ('bread', 'milk')

    Record r is ``indices[indptr[r]:indptr[r + 1]]``: item ids, increasing, in read-only arrays.
    """

    indptr: Offsets
    indices: ItemIds
    domain: Domain

    def __init__(
        self,
        records: Iterable[Iterable[Hashable]],
        *,
        items: Iterable[Hashable] | Domain | None = None,
        unknown: Unknown = "refuse",
    ) -> None:
        domain = _declared(items, unknown)
        if domain is None:
            check_not_marks(records)
        self._hold(from_records(records) if domain is None else declared_records.read(records, domain, unknown))

    def _hold(self, csr: Csr) -> None:
        object.__setattr__(self, "indptr", csr.indptr)
        object.__setattr__(self, "indices", csr.indices)
        object.__setattr__(self, "domain", csr.domain)

    @classmethod
    def _of(cls, csr: Csr) -> Self:
        baskets = cls.__new__(cls)
        baskets._hold(csr)
        return baskets

    @classmethod
    def from_csr(cls, indptr: npt.ArrayLike, indices: npt.ArrayLike, domain: Iterable[Hashable] | Domain) -> Self:
        """From compressed rows of item ids; rows need not be sorted nor free of repeats."""
        return cls._of(checked(indptr, indices, _domain(domain)))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        layout: Layout | None = None,
        record: Hashable | None = None,
        item: Hashable | None = None,
        items: Iterable[Hashable] | Domain | None = None,
        unknown: Unknown = "refuse",
    ) -> Self:
        """From a pandas, polars or Arrow frame.

        ``"one-hot"``: a column per item, holding 0 and 1, booleans, or the words false and true; the column names
        are the domain, in their order, and a missing value is 0.  ``"long"``: a row per record and item, in the
        columns ``record`` and ``item`` (by default the first and second of two); a missing item only says that the
        record exists, and records keep their order of first appearance.  ``"list"``: a list of items in each row of
        one column (``item`` names it when there are several); a missing list is an empty record.

        The categories of a pandas Categorical of items, and of an Enum of polars, are a declared domain, in their
        order, those that no row has too.  ``astype("category")`` makes them of what occurs; declare them with
        ``pandas.CategoricalDtype``.  Dictionaries of Arrow and the Categorical of polars declare nothing.

        Without ``layout``: a frame with a column of lists is read as lists, one with two columns as long, any other
        as one-hot.  Two columns of booleans are one-hot; two columns of 0 and 1 could be either and are refused,
        unless they are called ``record`` and ``item``.

        ``items`` declares the domain, and the result has just that one.  Reading then follows the declaration, and
        names and types of columns, and never the cells: a cell stands for the item that it equals, or whose writing it
        is.  Where names and types leave the layout open, it must be given: a pandas column of objects may hold lists or
        items.  What is read must be text, numbers, truth values, categories, lists of these, or Python objects.

        ``unknown="refuse"``: a cell that stands for no declared item is an error with its row.  ``unknown="drop"``
        leaves such cells out, and columns of items that are not declared; then nothing in a row makes an error, or
        changes how another one is read.  A row more is one record more (list and one-hot), or at most one item of one
        record (long).  In a column of numbers no cell is "007": have such items read as text, ``dtype=str``.  A lazy
        frame is refused then, since one cell may decide whether it can be collected.
        """
        domain = _declared(items, unknown)
        if domain is not None:
            lookup = Lookup.of(domain)
            return cls._of(declared_frames.read(frame, layout, lookup, unknown, record=record, item=item))
        if layout in (None, "one-hot") and record is None and item is None:
            quickly = truth_values(frame)
            if quickly is not None:
                return cls._of(quickly)
        return cls._of(to_csr(columns_of(frame), layout, record=record, item=item))

    @classmethod
    @telling_no_sizes("read these records")
    def from_scipy(
        cls, matrix: Any, items: Iterable[Hashable] | Domain | None = None, *, unknown: Unknown = "refuse"
    ) -> Self:
        """From a sparse matrix of numbers, a row per record; an item is present where the value is not zero.

        Without ``items`` the labels are the column numbers.  A missing value (NaN) is refused; with declared ``items``
        and ``unknown="drop"`` it says nothing.
        """
        _declared(items, unknown)
        from scipy import sparse  # slow to import, and few need it

        is_sparse: bool = sparse.issparse(matrix)
        if not is_sparse or matrix.ndim != 2:
            raise DataError(f"A sparse matrix with two dimensions is needed, got {type(matrix).__name__}.")
        domain = Domain(range(matrix.shape[1]), is_declared=False) if items is None else _domain(items)
        if domain.n_items != matrix.shape[1]:
            raise DataError(f"The matrix has {matrix.shape[1]} columns, but {domain.n_items} items were named.")
        rows: Any = sparse.csr_array(matrix, copy=True)
        if rows.dtype.kind not in "biufc":
            raise DataError(f"The matrix must hold numbers, got values of type {rows.dtype}.")
        rows.sum_duplicates()
        if rows.dtype.kind in "fc" and np.isnan(rows.data).any():
            if unknown == "refuse":
                raise DataError("The matrix holds missing values (NaN).")
            rows.data[np.isnan(rows.data)] = 0
        rows.eliminate_zeros()
        return cls._of(checked(rows.indptr, rows.indices, domain))

    @classmethod
    def from_bits(cls, bits: BitRows, domain: Iterable[Hashable] | Domain) -> Self:
        """From packed bits, as ``to_bits`` makes them."""
        known = _domain(domain)
        words = -(-known.n_items // 64)
        bits = np.ascontiguousarray(bits)
        if bits.dtype != np.uint64 or bits.ndim != 2 or bits.shape[1] != words:
            raise DataError(f"Packed records of {known.n_items} items must be rows of {words} words of 64 bits.")
        spare = known.n_items % 64
        if spare and (bits[:, -1] >> np.uint64(spare)).any():
            raise DataError(f"Packed records must not set bits beyond their {known.n_items} items.")
        indptr = np.zeros(len(bits) + 1, np.int64)
        np.cumsum(np.bitwise_count(bits).sum(axis=1, dtype=np.int64), out=indptr[1:])
        indices = np.empty(indptr[-1], np.int32)
        source = frozen(bits.view())
        frozen(indptr)
        parallel_map(lambda part: unpack(source, indptr, indices, *part), _parts(len(bits), words))
        return cls._of(canonical(indptr, indices, known))

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        layout: Layout | None = None,
        record: str | None = None,
        item: str | None = None,
        items: Iterable[Hashable] | Domain | None = None,
        unknown: Unknown = "refuse",
        max_bytes: int | None = MAX_BYTES,
    ) -> Self:
        """Read a ``.dat`` (FIMI), ``.csv`` or ``.parquet`` file, each also with ``.gz``; see
        ``bosket.data.formats.basket_files``.

        ``record`` and ``item`` name the columns of a long CSV or Parquet file, as in ``from_frame``; without them they
        must be called so, or be the only two.  ``item`` alone names a column of lists in Parquet.  Other columns of the
        file are not looked at, and may hold anything.

        ``items`` declares the domain, and the result has just that one.  Reading then follows the declaration and
        never the data.  A cell stands for the item that is written as it is: 3 for 3 and "3", and in Parquet 3.0 too;
        "01" for "01" alone.  No two items may be written alike, and in text files none may hold a line end.  The layout
        follows from the names of the columns; where they leave it open, ``layout`` must be given.

        ``unknown="refuse"``: a cell that is no declared item is an error with its line.  ``unknown="drop"`` leaves such
        cells out, and then nothing in a record makes an error, or changes how another one is read, whatever its bytes.
        After the header, changing a line changes one record, and adding a line adds one record (list and one-hot) or
        at most one item to one record (long).  A row with cells too few or too many, or a sign other than 1 or true
        in a one-hot column, says nothing; of a list in Parquet as many cells are read as a line of 16 MiB has room for.
        A Parquet file that is packed once more (``.parquet.gz``) is refused then.

        ``max_bytes`` is the most that a file may hold once it is decompressed (8 GiB unless given; None for no cap).
        """
        content, told = Content(Path(path), max_bytes), Arrangement(layout, record, item)
        return cls._of(files.read(content, told=told, vocabulary=_vocabulary(items, unknown)))

    @classmethod
    def open(
        cls,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        memory: int | str = "2GiB",
        scratch: str | os.PathLike[str] | None = None,
        layout: Layout | None = None,
        record: str | None = None,
        item: str | None = None,
        items: Iterable[Hashable] | Domain | None = None,
        across_files: bool | None = None,
        on_progress: Progress | None = None,
    ) -> OpenBaskets:
        """Baskets in files that need not fit in memory, for :func:`bosket.mine` and :func:`bosket.estimate`.

        paths        a file of any format and layout that :meth:`read` knows; or a folder of ``.parquet`` files, a
                     pattern, or several of one format and layout, whose records are put together
        memory       the most that the process may take: a number of bytes, or text such as ``"2GiB"``
        scratch      a folder for the records as numbers, some four bytes an item; what is finished in it is found again
                     when the same files are opened with it.  A temporary one, unless given
        layout, record, item   as in :meth:`read`
        items        declares the domain: items that no record holds are in it, and any other item is refused, with how
                     many there are.  Files are read as without it
        across_files  of several long files: True if a name means the same record in all of them, whose rows may be
                     anywhere, False if each file has records of its own.  It must be said: nothing in the files tells
        on_progress  hears how many bytes of the files are read, in the first pass, as the stage "reading"

        Results are those of the records in memory, to the last digit.  Records of a long file may have their rows
        anywhere in it.

        >>> import bosket as bk, tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "some.dat"
        ...     _ = path.write_text("1 2 3\\n2 3\\n1 3\\n")
        ...     with bk.Baskets.open(path) as baskets:
        ...         found = bk.mine(baskets, min_support=0.6).to_frame()
        ...     found.equals(bk.mine(bk.Baskets.read(path), min_support=0.6).to_frame())
        True
        """
        from bosket.disk.records.opened import open_baskets  # a doorway up the house: docs/decisions/0010

        told = Arrangement(layout, record, item)
        return open_baskets(
            paths,
            told,
            memory=memory,
            scratch=scratch,
            on_progress=on_progress,
            across_files=across_files,
            vocabulary=_vocabulary(items, "refuse"),
        )

    @classmethod
    def read_from(
        cls,
        content: Content,
        *,
        suffix: str | None = None,
        layout: Layout | None = None,
        record: str | None = None,
        item: str | None = None,
        items: Iterable[Hashable] | Domain | None = None,
        unknown: Unknown = "refuse",
    ) -> Self:
        """The same of an open file such as standard input, or of one whose name does not tell its format."""
        told = Arrangement(layout, record, item)
        return cls._of(files.read(content, told=told, vocabulary=_vocabulary(items, unknown), suffix=suffix))

    def write(
        self, path: str | os.PathLike[str], *, layout: Layout | None = None, formulas: Formulas = "refuse"
    ) -> None:
        """Write a file that ``read`` reads; an existing one is replaced whole or, if anything fails, not at all.

        A label that a spreadsheet program would take for a formula (it begins with ``=``, ``+``, ``-``, ``@``, and is
        no number) is not written to CSV, unless ``formulas="allow"``.
        """
        files.write(Csr(self.indptr, self.indices, self.domain), path, layout=layout, formulas=formulas)

    @property
    def n_records(self) -> int:
        return self.indptr.size - 1

    @property
    def n_items(self) -> int:
        """How many items the domain has, seen or not."""
        return self.domain.n_items

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of items in each record."""
        return np.diff(self.indptr)

    def item_counts(self) -> npt.NDArray[np.int64]:
        """The number of records that hold each item."""
        return np.bincount(self.indices, minlength=self.n_items).astype(np.int64, copy=False)

    def repeat(self, times: int) -> Self:
        """The data concatenated with themselves."""
        times = check_integer("times", times, least=1, of="repeat")
        indptr = np.append(np.int64(0), np.tile(self.sizes, times).cumsum())
        return self._of(canonical(indptr, np.tile(self.indices, times), self.domain))

    def with_domain(self, domain: Iterable[Hashable] | Domain) -> Self:
        """The same records over another domain, which must have every item that occurs in them."""
        return self._of(over(Csr(self.indptr, self.indices, self.domain), _domain(domain)))

    def to_bits(self) -> BitRows:
        """A row of 64-bit words per record; item i is bit i % 64 of word i // 64."""
        words = -(-self.n_items // 64)
        bits = np.zeros((self.n_records, words), np.uint64)
        parallel_map(lambda part: pack(self.indptr, self.indices, bits, *part), _parts(self.n_records, words))
        return bits

    def __len__(self) -> int:
        return self.n_records

    @overload
    def __getitem__(self, record: int) -> tuple[Hashable, ...]: ...

    @overload
    def __getitem__(self, record: Some) -> Self: ...

    def __getitem__(self, record: int | Some) -> tuple[Hashable, ...] | Self:
        """The labels of one record (numbers below 0 count from the end), or some records: by slice, by truth values,
        or by numbers.
        """
        if isinstance(record, slice | np.ndarray):
            chosen = np.arange(self.n_records)[record]
            sizes = self.sizes[chosen]
            indptr = np.concatenate([[0], np.cumsum(sizes)])
            places = np.repeat(self.indptr[:-1][chosen] - indptr[:-1], sizes) + np.arange(indptr[-1])
            return self._of(canonical(indptr.astype(np.int64), self.indices[places], self.domain))
        number = operator.index(record)
        at = number + self.n_records if number < 0 else number
        if not 0 <= at < self.n_records:
            raise IndexError(f"There is no record {number} among {self.n_records}.")
        labels = self.domain.labels
        return tuple(labels[item] for item in self.indices[self.indptr[at] : self.indptr[at + 1]].tolist())

    def __iter__(self) -> Iterator[tuple[Hashable, ...]]:
        labels = self.domain.labels
        for start, stop in slices(self.n_records, 10_000):  # plain lists are faster, but not all at once
            ends = self.indptr[start : stop + 1].tolist()
            items = self.indices[ends[0] : ends[-1]].tolist()
            for first, last in pairwise(ends):
                yield tuple(labels[item] for item in items[first - ends[0] : last - ends[0]])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Baskets):
            return NotImplemented
        return (
            self.domain == other.domain
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
        )

    def __repr__(self) -> str:
        return f"Baskets({self.n_records} records, {self.n_items} items)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Through ``from_csr``, since a copied array would be writable again."""
        return type(self).from_csr, (self.indptr, self.indices, self.domain)


def _domain(items: Iterable[Hashable] | Domain) -> Domain:
    if isinstance(items, str | bytes):
        must = "The 'items' parameter must be a list of labels, got a string, each letter of which would be an item."
        raise ParameterError(must, parameter="items", value=items)
    return items if isinstance(items, Domain) else Domain(map(plain, items))


def _declared(items: Iterable[Hashable] | Domain | None, unknown: Unknown) -> Domain | None:
    """The declared domain, if one is."""
    check_choice("unknown", unknown, UNKNOWNS)
    if items is not None:
        return _domain(items)
    if unknown != "refuse":
        must = "The 'unknown' parameter must be 'refuse' unless items are declared, since no other cell is unknown"
        raise ParameterError(f"{must}, got {unknown!r}.", parameter="unknown", value=unknown)
    return None


def _vocabulary(items: Iterable[Hashable] | Domain | None, unknown: Unknown) -> Vocabulary | None:
    domain = _declared(items, unknown)
    return None if domain is None else Vocabulary(domain, unknown)


def _parts(n_records: int, words: int) -> list[tuple[int, int]]:
    return list(slices(n_records, max(1, _WORDS_A_PART // max(1, words))))
