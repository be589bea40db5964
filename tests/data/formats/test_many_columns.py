"""Time follows the number of columns, not its square."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import bosket as bk
from bosket.cli import main
from bosket.data import Attribute, Baskets, Table, TableDomain
from bosket.data.formats.arrangements import UNTOLD
from bosket.data.formats.columns import Columns
from bosket.data.formats.parquet_footers import n_elements
from bosket.data.formats.sources import Source
from bosket.data.tables.columns import Choices
from bosket.disk.records.opened import OpenBaskets
from bosket.learning.by_class import split_domain
from bosket.report_files import has_plan
from tests.effort import effort_within
from tests.parquet_footers import joined, split
from tests.parquet_pages import Structure, leb128

N = 8_000
NAMES = tuple(f"c{at:07d}" for at in range(N))
DOMAIN = TableDomain([Attribute(name, ("a", "b")) for name in NAMES])
TABLE = Table.from_codes(np.zeros((2, N), np.uint8), DOMAIN)


CALLS: dict[str, Callable[[], Any]] = {
    "select attributes": lambda: DOMAIN.select(NAMES[::-1]),
    "select columns": lambda: TABLE.select(NAMES[::-1]),
    "another domain": lambda: TABLE.with_domain(DOMAIN.select(NAMES[::-1])),
    "label": lambda: split_domain(DOMAIN, NAMES[0]),
    "places": lambda: Choices.of().positions(Columns(NAMES, (None,) * N, Source("x"))),
}


@pytest.mark.parametrize("name", CALLS)
def test_attributes_are_found_by_their_names(name: str) -> None:
    """Each of these looked through all names for each name: seconds."""
    with effort_within(1):
        CALLS[name]()


def test_a_name_that_is_none() -> None:
    for name in ("x", 3, ["c0000000"]):
        with pytest.raises(ValueError, match="must be that of an attribute"):
            DOMAIN.position(name)  # type: ignore[arg-type]


@pytest.mark.slow
def test_one_hot_columns_under_declared_items(tmp_path: Path) -> None:
    """The schema was asked for all names and types at each column."""
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table([pa.array([True])] * 4000, names=NAMES[:4000]), path, write_statistics=False)
    with effort_within(4):
        assert Baskets.read(path, items=NAMES).sizes.tolist() == [4000]


def of_columns(path: Path, n: int) -> Path:
    """A file whose schema has so many columns, all of one name, and which has no rows; eight bytes each."""
    element = Structure().number(1, 0).number(3, 1).text(4, b"c").done
    schema = Structure().text(4, b"s").number(5, n).done + n * element
    footer = Structure().number(1, 1).add(2, 9, b"\xfc" + leb128(n + 1) + schema).number(3, 0, 6).add(4, 9, b"\x0c")
    path.write_bytes(joined(b"PAR1", footer.done))
    return path


def ending(path: Path, end: bytes) -> Path:
    """The same file, whose footer ends in this way."""
    body, footer = split(path.read_bytes())
    path.write_bytes(joined(body, footer[:-1] + end))
    return path


def not_opened(*_: Any, **__: Any) -> None:
    pytest.fail("Arrow has opened it")


@pytest.mark.parametrize("end", [b"\0", b"\x10"])  # what has no kind is an end, whatever number it has beside
@pytest.mark.parametrize(
    "reader",
    [
        lambda path: Baskets.read(path, max_bytes=4_000_000),
        lambda path: Baskets.read(path, items=["c"], unknown="drop", max_bytes=4_000_000),
        lambda path: Baskets.read(path, record="c", item="d", max_bytes=4_000_000),
        lambda path: Table.read(path, max_bytes=4_000_000),
        lambda path: OpenBaskets([path], UNTOLD, memory=4_000_000).n_records,
        lambda path: bk.Reports.read(path),
        lambda path: bk.open(path),
    ],
)
def test_columns_count_before_arrow_opens_a_file(
    reader: Callable[[Path], Any], end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow takes kilobytes for each, whatever is in them: 10^5 of them took 1.3 GB under a cap of 100 MB."""
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.__init__", not_opened)
    with pytest.raises(bk.DataError, match=r"at most (4,000,000 bytes|1,268 columns|1024 columns)"):
        reader(ending(of_columns(tmp_path / "x.parquet", 1500), end))


@pytest.mark.parametrize("end", [b"\x1e\0", b"\x18\xff\xff\x03", 70 * b"\x1c"])
def test_a_footer_that_is_not_understood_is_not_opened(
    end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose columns could not be counted was taken for one of none, and Arrow was asked what is wrong with it."""
    path = ending(of_columns(tmp_path / "x.parquet", 1500), end)
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.__init__", not_opened)
    for read in (Baskets.read, Table.read, bk.Reports.read):
        with pytest.raises(bk.DataError, match=r"not a sound Parquet file|cannot be read as Parquet"):
            read(path)
    assert not has_plan(path)


def test_columns_count_on_the_command_line_before_a_file_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether it holds a table was asked of Arrow, before they were counted."""
    path = of_columns(tmp_path / "x.parquet", 1500)
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.__init__", not_opened)
    assert main(["mine", str(path), "--min-support", "0.5", "--max-bytes", "4000000"]) != 0
    assert "must hold at most 4,000,000 bytes" in " ".join(capsys.readouterr().err.split())


def test_a_schema_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    """Arrow takes the last, whichever of the two is counted."""
    path = of_columns(tmp_path / "x.parquet", 1500)
    body, footer = split(path.read_bytes())
    again = Structure().add(2, 9, b"\x1c" + Structure().text(4, b"s").number(5, 0).done).content
    for twice in (again + b"\x05\x02" + footer[1:], footer[:-1] + b"\x09\x04" + again[1:] + b"\0"):
        path.write_bytes(joined(body, twice))
        with pa.OSFile(str(path)) as handle, pytest.raises(ValueError, match="twice"):
            n_elements(handle)


def test_a_file_of_many_columns_is_no_file_of_reports(tmp_path: Path) -> None:
    assert not has_plan(of_columns(tmp_path / "x.parquet", 1500))
