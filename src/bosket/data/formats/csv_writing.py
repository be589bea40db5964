"""CSV files written: long, one-hot and lists, and no formulas among the labels.

A spreadsheet program takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula and runs it, quotes or
not.  No way to write such a label is both harmless there and the same label when read back, so it is refused unless
asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import IO, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from bosket.checks import check_choice
from bosket.data.baskets.rows import Csr
from bosket.data.domain import is_text
from bosket.data.formats.layouts import Layout, long_rows
from bosket.errors import DataError
from bosket.threads import slices

Formulas: TypeAlias = Literal["refuse", "allow"]
"""What becomes of text that a spreadsheet program would run."""

_BLOCK = 1 << 26
_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20].", re.DOTALL)
_OPENING = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20]")
_GAP = re.compile(r"(?:[;|]\s*+|\s++)(?P<formula>[\"']?[=+\-@\uff1d\uff0b\uff0d\uff20])?+")
"""All blanks in a row, with the sign before them that parts cells in some languages, and the beginning of a formula.

Whether a formula follows or not, a gap is passed over at once, so that many line ends take no time for each other.
"""
_PARTING = re.compile(r"[;\t|\r\n]")
"""A sign that parts cells in some languages."""
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)


def is_formula(text: str) -> bool:
    """Whether a spreadsheet program may take text, or what is behind a sign that parts cells, for a formula.

    A number is none, whatever its sign.
    """
    if _OPENING.search(text) is None:
        return _FORMULA.match(text) is not None  # behind a control sign
    if any(gap["formula"] and _PARTING.search(gap[0]) for gap in _GAP.finditer(text)):
        return True
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def whole_cells(json_text: str) -> str:
    """JSON text that means the same and that no program takes apart before what looks like a formula."""
    return _GAP.sub(_closed, json_text)


def _closed(gap: re.Match[str]) -> str:
    """A gap, without signs that part cells where a formula follows."""
    return _PARTING.sub(lambda sign: f"\\u{ord(sign[0]):04x}", gap[0]) if gap["formula"] else gap[0]


def check_formulas(texts: Iterable[str], formulas: Formulas, path: Path) -> None:
    """Refuse to write formulas into a CSV file, unless that was asked for."""
    check_choice("formulas", formulas, ("refuse", "allow"))
    if formulas == "refuse" and any(map(is_formula, texts)):
        raise DataError(
            f"Cannot write {path}: a spreadsheet program would take some of its labels or values for formulas, since "
            "they begin with '=', '+', '-', '@' or a control sign.",
            path=path,
            hint="Write a .parquet file, or pass formulas='allow' if no spreadsheet program will open this one.",
        )


def write(csr: Csr, file: IO[bytes], path: Path, layout: Layout, formulas: Formulas) -> None:
    """Write records whose labels are all strings or all whole numbers."""
    labels = csr.domain.labels
    are_texts = all(isinstance(label, str) and "\0" not in label and is_text(label) for label in labels)
    if not are_texts and not all(isinstance(label, int) and not isinstance(label, bool) for label in labels):
        raise DataError(
            f"Cannot write {path}: the items of a CSV file must be all strings or all whole numbers.",
            path=path,
            hint="Use plain strings as labels.",
        )
    names = [str(label) for label in labels]
    check_formulas(names, formulas, path)
    if layout == "one-hot":
        _write_one_hot(csr, names, file, path)
    elif layout == "list":
        _write_lists(csr, names, file, path)
    else:
        _write_long(csr, names, file, quote=are_texts)


def quoted(names: list[str]) -> list[str]:
    return ['"' + name.replace('"', '""') + '"' for name in names]


def _write_long(csr: Csr, names: list[str], file: IO[bytes], *, quote: bool) -> None:
    labels = pa.array(names, pa.string())
    options = arrow_csv.WriteOptions(include_header=False, quoting_style="needed" if quote else "none")
    file.write(b"record,item\n")
    for start, stop in slices(csr.indptr.size - 1, 100_000):
        indptr = csr.indptr[start : stop + 1]
        records, items = long_rows(indptr, csr.indices[indptr[0] : indptr[-1]], start + 1)
        table = pa.table({"record": records, "item": labels.take(items)})
        arrow_csv.write_csv(table, file, options)


def _write_lists(csr: Csr, names: list[str], file: IO[bytes], path: Path) -> None:
    if "" in names:
        raise DataError(f"Cannot write {path}: an empty label would be nothing in a list.", path=path)
    texts = np.array(quoted(names), object)
    for start, stop in pairwise(csr.indptr.tolist()):
        file.write(",".join(texts[csr.indices[start:stop]]).encode() + b"\n")


def _write_one_hot(csr: Csr, names: list[str], file: IO[bytes], path: Path) -> None:
    if not names:
        raise DataError(f"Cannot write {path}: one-hot columns need at least one item.", path=path)
    file.write(",".join(quoted(names)).encode() + b"\n")
    blank = np.frombuffer(b"0," * (len(names) - 1) + b"0\n", np.uint8)
    for start, stop in slices(csr.indptr.size - 1, max(1, _BLOCK // blank.size)):
        rows = np.repeat(np.arange(stop - start), np.diff(csr.indptr[start : stop + 1]))
        text = np.tile(blank, (stop - start, 1))
        text[rows, 2 * csr.indices[csr.indptr[start] : csr.indptr[stop]]] = ord("1")
        file.write(text.data)
