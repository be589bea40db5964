"""A file of parameters by record size, and the mechanism it describes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bosket.checks import check_integer, check_probability
from bosket.cli.rows import Row, read_rows
from bosket.data.sources import file_source
from bosket.errors import ParameterError
from bosket.mechanisms import CutAndPaste, SelectASize

_HEADERS = (("size", "cutoff", "insert"),)


def read_sizes(path: Path) -> CutAndPaste | SelectASize:
    """CSV with a row per record size, or JSON: ``{"1": {"cutoff": 7, "insert": 0.047}}``, or with kept for cutoff."""
    cutoffs: dict[int, int] = {}
    kepts: dict[int, list[float]] = {}
    inserts: dict[int, float] = {}
    for row in read_rows(path, parameter="sizes_file", headers=_HEADERS):
        size = _size(row)
        if size in inserts:
            raise row.error(f"names the record size {size} more than once")
        fields = set(row.content) if isinstance(row.content, dict) else set()
        if fields not in ({"cutoff", "insert"}, {"kept", "insert"}):
            raise row.error(f"must give cutoff and insert, or kept and insert, of size {size}")
        inserts[size] = row.field("insert", check_probability, of=f"size {size}", must="a number in [0, 1]")
        if "cutoff" in fields:
            cutoffs[size] = row.field("cutoff", _check_cutoff, of=f"size {size}", must="a whole number, at least 1")
        else:
            kepts[size] = _kept(row, size)
        if cutoffs and kepts:
            raise row.error("must give cutoff of all sizes, or kept of all sizes")
    if not inserts:
        raise file_source(path).error("names no record size")
    return SelectASize(kept=kepts, insert=inserts) if kepts else CutAndPaste(cutoff=cutoffs, insert=inserts)


def _size(row: Row) -> int:
    try:
        return check_integer("size", int(row.name), least=0)
    except ValueError:  # a ParameterError is one too
        pass
    raise row.error(f"must name a record size, a whole number, got {row.name!r}")


def _check_cutoff(name: str, value: Any) -> int:
    return check_integer(name, value, least=1)


def _kept(row: Row, size: int) -> list[float]:
    kept: list[float] = row.content["kept"]
    try:
        SelectASize(kept={size: kept}, insert=0.0)  # the one place that knows what a law must be
    except (ParameterError, OverflowError):
        pass
    else:
        return kept
    raise row.error(f"must give kept of size {size} as {size + 1} probabilities that sum to 1")
