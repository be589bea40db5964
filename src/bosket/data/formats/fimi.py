"""The FIMI format: a record a line, non-negative whole numbers with spaces between."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bosket.data.baskets.grouped import ranked
from bosket.data.baskets.kernels import canonicalize, is_canonical
from bosket.data.baskets.rows import Csr, Items, Offsets, Sizes, canonical
from bosket.data.domain import Domain, ItemIds
from bosket.data.formats.arrangements import Arrangement
from bosket.data.formats.csv_writing import Formulas
from bosket.data.formats.fimi_kernels import count, parse, render
from bosket.data.formats.layouts import Layout
from bosket.data.formats.line_kernels import n_newlines
from bosket.data.formats.lines import whole_lines
from bosket.data.formats.sources import Content
from bosket.errors import DataError
from bosket.threads import slices

_LARGEST = 2**63 - 1


def read(content: Content, _told: Arrangement) -> Csr:
    """The records of a FIMI file; the domain is the numbers that occur, sorted."""
    sizes, items = Sizes(content.check_size), Items()
    for block in blocks(content):
        sizes.append(block.sizes, n_items=block.numbers.size)
        items.append(block.numbers)
    labels, indices = _ranked(items.together())
    sizes.check(n_labels=labels.size)
    return canonical(sizes.starts(), indices, Domain(labels.tolist(), is_declared=False))


class FimiBlock(NamedTuple):
    """Some records: their sizes, and the numbers of one after the other, increasing and each once in a record."""

    sizes: npt.NDArray[np.int64]
    numbers: npt.NDArray[Any]
    """In 32 bits where they fit."""
    n_bytes: int
    n_lines: int


def blocks(content: Content, *, before: int = 0) -> Iterator[FimiBlock]:
    """The records, some at a time; ``before`` are the lines before the place where the contents begin."""
    for block in whole_lines(content, is_strict=True):
        text = block.bytes
        if before + block.before == 0 and block.text.startswith(codecs.BOM_UTF8):
            text = text[len(codecs.BOM_UTF8) :]
        n_records, n_numbers = count(text)
        indptr = np.zeros(n_records + 1, np.int64)
        values: Any = np.empty(n_numbers, np.int64)
        bad = parse(text, indptr, values)
        if bad:
            must = "must hold whole numbers from 0, with spaces between"
            raise content.source.error(must, line=before + block.before + bad)
        if not is_canonical(indptr, values):
            values = values[: canonicalize(indptr, values)]
        narrow = values.astype(np.int32 if values.max(initial=0) < 1 << 31 else np.int64)
        yield FimiBlock(np.diff(indptr), narrow, len(block.text), n_newlines(block.bytes))


def _ranked(values: npt.NDArray[Any]) -> tuple[Offsets, ItemIds]:
    """The different values, sorted, and the rank of each; without sorting them all when a table is affordable."""
    largest = int(values.max(initial=0))
    if largest > 4 * values.size + 1_000_000:
        labels, inverse = np.unique(values, return_inverse=True)
        return labels, inverse.astype(np.int32)
    seen = np.zeros(largest + 1, np.bool_)
    seen[values] = True
    rank = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    if values.dtype != np.int32:
        return np.flatnonzero(seen), rank[values]
    return np.flatnonzero(seen), ranked(values, rank)


def write(csr: Csr, file: IO[bytes], path: Path, _layout: Layout, _formulas: Formulas) -> None:
    """Write records whose labels are numbers."""
    hint = "Write a .csv or .parquet file instead."
    if not all(
        isinstance(label, int) and not isinstance(label, bool) and 0 <= label <= _LARGEST for label in csr.domain.labels
    ):
        raise DataError(f"Cannot write {path}: a FIMI file holds whole numbers from 0 as items.", path=path, hint=hint)
    n_records = csr.indptr.size - 1
    if n_records == 0:
        raise DataError(f"Cannot write {path}: a FIMI file of no records would be empty.", path=path, hint=hint)
    labels = np.array(csr.domain.labels, np.int64)
    for start, stop in slices(n_records, 100_000):
        file.write(render(csr.indptr, csr.indices, labels, start, stop).data)
