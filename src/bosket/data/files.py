"""Read and write baskets, by the suffix of the file; ``.gz`` may follow any of them.

=============  ====================================================================================================
``.dat``       FIMI: a record a line, non-negative whole numbers with spaces between.  The domain is the numbers
               that occur, sorted, so items that no record holds are lost, as is any other kind of label.
``.csv``       with a header.  ``"long"`` (the default to write): columns ``record`` and ``item``, an empty item for
               an empty record.  ``"one-hot"``: a column of 0 and 1 per item.  ``"list"``, only when asked for: a record
               a line, no header.  Labels that are all whole numbers are read as such.
``.parquet``   ``"list"`` (the default to write): a column ``items`` of lists; also ``"long"`` and ``"one-hot"``.
               The domain travels in the metadata, so labels keep their types, and items that no record holds remain.
=============  ====================================================================================================

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
from bosket.data import csv_files, fimi, parquet_files
from bosket.data.atomic import atomic_path
from bosket.data.csr import Csr
from bosket.data.layouts import Layout
from bosket.data.sources import file_source, load


class _Format(NamedTuple):
    layouts: tuple[Layout, ...]
    """The first is the one to write by default."""
    read: Callable[[bytes, Path, Layout | None], Csr]
    write: Callable[[Csr, IO[bytes], Path, Layout], None]


FORMATS = {
    ".dat": _Format(("list",), fimi.read, fimi.write),
    ".csv": _Format(("long", "one-hot", "list"), csv_files.read, csv_files.write),
    ".parquet": _Format(("list", "long", "one-hot"), parquet_files.read, parquet_files.write),
}


def read(path: str | os.PathLike[str], *, layout: Layout | None = None) -> Csr:
    """The records of a file; ``layout`` settles what the columns alone leave open."""
    known = _format(path)
    if layout is not None:
        check_choice("layout", layout, known.layouts)
    return known.read(load(path), Path(path), layout)


def write(csr: Csr, path: str | os.PathLike[str], *, layout: Layout | None = None) -> None:
    """Write the records; an existing file is replaced whole, or left alone if anything fails."""
    known = _format(path)
    layout = layout or known.layouts[0]
    check_choice("layout", layout, known.layouts)
    with atomic_path(path) as temporary, _opened(temporary, compress=_suffixes(path)[-1] == ".gz") as file:
        known.write(csr, file, Path(path), layout)


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


def _format(path: str | os.PathLike[str]) -> _Format:
    suffixes = _suffixes(path)
    suffix = suffixes[-2] if suffixes[-1] == ".gz" and len(suffixes) > 1 else suffixes[-1]
    if suffix not in FORMATS:
        fault = f"has no suffix that bosket knows; known are {', '.join(FORMATS)}, each also with .gz"
        raise file_source(Path(path)).error(fault)
    return FORMATS[suffix]
