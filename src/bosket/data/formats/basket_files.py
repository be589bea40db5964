"""Read and write baskets, by the suffix of the file; ``.gz`` may follow any of them.

=============  ====================================================================================================
``.dat``       FIMI: a record a line, non-negative whole numbers with spaces between.  The domain is the numbers
               that occur, sorted, so items that no record holds are lost, as is any other kind of label.
``.csv``       with a header.  ``"long"`` (the default to write): columns ``record`` and ``item``, an empty item for
               an empty record.  ``"one-hot"``: a column of 0 and 1 per item.  ``"list"``, only when asked for: a record
               a line, no header.  Labels that are all whole numbers are read as such.  Columns of a long file that have
               other names are named with ``record`` and ``item``; then there may be more columns, which are not looked
               at: they may hold any bytes, and have any names.
``.parquet``   ``"list"`` (the default to write): a column ``items`` of lists; also ``"long"`` and ``"one-hot"``.
               The domain travels in the metadata, so labels keep their types, and items that no record holds remain.
               Columns of other names are named as in ``.csv``, a column of lists with ``item`` alone; no other column
               is read, or counts towards the cap.
=============  ====================================================================================================

Where the items are declared, all this follows from the declaration and the names of the columns, and never from what
the records hold: ``declared_lines`` and ``declared_parquet`` say what is promised.

What cannot be read is a ``DataError`` with the path, and the line where there are lines; never with contents.
"""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from bosket.checks import check_choice
from bosket.data.baskets.rows import Csr
from bosket.data.formats import csv_files, csv_writing, declared_lines, declared_parquet, fimi, parquet_files
from bosket.data.formats.arrangements import UNTOLD, Arrangement, Names
from bosket.data.formats.atomic import atomic_path
from bosket.data.formats.csv_writing import Formulas
from bosket.data.formats.layouts import Layout
from bosket.data.formats.sources import Content, file_source
from bosket.data.formats.vocabulary import Vocabulary


class Format(NamedTuple):
    layouts: tuple[Layout, ...]
    """The first is the one to write by default."""
    names: Names
    read: Callable[[Content, Arrangement], Csr]
    read_declared: Callable[[Content, Arrangement, Vocabulary], Csr]
    write: Callable[[Csr, IO[bytes], Path, Layout, Formulas], None]


FORMATS = {
    ".dat": Format(("list",), "none", fimi.read, declared_lines.read_fimi, fimi.write),
    ".csv": Format(("long", "one-hot", "list"), "both", csv_files.read, declared_lines.read_csv, csv_writing.write),
    ".parquet": Format(
        ("list", "long", "one-hot"), "both or item", parquet_files.read, declared_parquet.read, parquet_files.write
    ),
}


def read(
    content: Content,
    *,
    told: Arrangement = UNTOLD,
    vocabulary: Vocabulary | None = None,
    suffix: str | None = None,
) -> Csr:
    """The records of a file; what is ``told`` settles what the columns leave open, ``suffix`` overrides its own."""
    suffix = suffix or suffix_of(content.path)
    known = FORMATS[suffix]
    told = told.settled(known.layouts, known.names, suffix=suffix)
    return known.read(content, told) if vocabulary is None else known.read_declared(content, told, vocabulary)


def write(
    csr: Csr, path: str | os.PathLike[str], *, layout: Layout | None = None, formulas: Formulas = "refuse"
) -> None:
    """Write the records; an existing file is replaced whole, or left alone if anything fails."""
    known = FORMATS[suffix_of(path)]
    layout = layout or known.layouts[0]
    check_choice("layout", layout, known.layouts)
    check_choice("formulas", formulas, ("refuse", "allow"))
    with atomic_path(path) as temporary, _opened(temporary, compress=_suffixes(path)[-1] == ".gz") as file:
        known.write(csr, file, Path(path), layout, formulas)


@contextlib.contextmanager
def _opened(path: Path, *, compress: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as file:
        if not compress:
            yield file
            return
        with gzip.GzipFile(
            filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0
        ) as packed:  # same data, same bytes
            yield packed  # type: ignore[misc]  # GzipFile is a binary file in all but its declared type


def _suffixes(path: str | os.PathLike[str]) -> list[str]:
    return [suffix.lower() for suffix in Path(path).suffixes[-2:]] or [""]


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The suffix that tells the format of a file."""
    suffixes = _suffixes(path)
    suffix = suffixes[-2] if suffixes[-1] == ".gz" and len(suffixes) > 1 else suffixes[-1]
    if suffix not in FORMATS:
        fault = f"has no suffix that bosket knows; known are {', '.join(FORMATS)}, each also with .gz"
        raise file_source(Path(path)).error(fault)
    return suffix
