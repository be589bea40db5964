"""Tables in CSV, and wide one-hot files: time and memory follow the text and the records, not rows times columns."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.data import Baskets, Table
from bosket.data.formats import table_kernels, table_lines
from bosket.errors import DataError
from tests.data.formats.test_caps import write_repeated
from tests.effort import effort_within
from tests.memory import memory_within

MIB = 1 << 20
WIDE = 20_000


@pytest.fixture(scope="module", autouse=True)
def _warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Kernels compile now."""
    path = tmp_path_factory.mktemp("warm") / "x.csv"
    path.write_bytes(b'a,b\n1,"0"\n0,1\n')
    Table.read(path)
    Baskets.read(path, layout="one-hot")
    Baskets.read(path, layout="long")


def wide(path: Path, names: list[str], cells: list[bytes], times: int) -> None:
    """Rows of as many cells as there are names, of one word each."""
    rows = b"".join(b",".join([cell] * len(names)) + b"\n" for cell in cells)
    write_repeated(path, ",".join(names).encode() + b"\n", rows, times)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["one-hot", "long", "table"])
def test_many_columns_take_no_time_for_each_block(tmp_path: Path, layout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's columns were made anew for each block, ten kilobytes and some ten microseconds for each."""
    path = tmp_path / "x.csv.gz"
    names = [f"i{at}" for at in range(WIDE)]
    wide(path, ["record", "item", *names[2:]] if layout == "long" else names, [b"0", b"1"], 25)
    monkeypatch.setattr("bosket.data.formats.lines._ROWS", 4 * WIDE)  # two rows a block
    with effort_within(4), memory_within(96 * MIB):
        data = Table.read(path) if layout == "table" else Baskets.read(path, layout=layout)
    assert data.n_records == (2 if layout == "long" else 50)
    if layout == "table":
        assert data.item_counts().tolist() == [25] * (2 * WIDE)
    if layout == "one-hot":
        assert data.sizes.tolist() == [0, WIDE] * 25


@pytest.mark.slow
@pytest.mark.parametrize("row, limit", [(b"x,y\nz,w\n", 160), (b"x\ny\n", 160)], ids=["two", "one"])
def test_a_long_table_is_not_held_as_text(tmp_path: Path, row: bytes, limit: int) -> None:
    """Fifty bytes a row: 96 MiB of text took 1.3 GB in two columns, and 20 s in one."""
    path = tmp_path / "x.csv.gz"
    write_repeated(path, b"a,b\n" if b"," in row else b"a\n", row * (MIB // len(row)), 48)
    with effort_within(6), memory_within(limit * MIB):
        table = Table.read(path)
    assert table.n_records == 48 * (MIB // len(row)) * 2
    assert table.codes.dtype == np.uint8


@pytest.mark.slow
def test_rows_beyond_the_cap_are_refused_as_they_come(tmp_path: Path) -> None:
    """They were counted once all of them were read, and blank lines looked for."""
    path = tmp_path / "x.csv.gz"
    write_repeated(path, b"a\n", b"x\ny\n" * (MIB // 4), 256)
    with effort_within(6), memory_within(192 * MIB), pytest.raises(DataError, match="at most 300,000,000 bytes"):
        Table.read(path, max_bytes=300_000_000)  # nine bytes a row


@pytest.mark.slow
def test_the_name_of_a_column_counts_for_each_of_its_values(tmp_path: Path) -> None:
    """It is in the name of every item."""
    path = tmp_path / "x.csv"
    path.write_text("n" * 100_000 + "\n" + "".join(f"v{at}\n" for at in range(1000)))
    with memory_within(64 * MIB), pytest.raises(DataError, match="at most 50,000,000 bytes"):
        Table.read(path, max_bytes=50_000_000)


@pytest.mark.slow
def test_different_words_count_for_what_they_take(tmp_path: Path) -> None:
    """Four letters of text are an object of Python's in the end."""
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "".join(f"{at:06x}\n" for at in range(600_000)))
    with memory_within(128 * MIB), pytest.raises(DataError, match="at most 20,000,000 bytes"):
        Table.read(path, max_bytes=20_000_000)


# ------------------------------------------------------------------------------------------ the rows themselves


PARTS = [
    "a",
    "b",
    " a",
    "?",
    "",
    '"a"',
    '"b,c"',
    '"x\ny"',
    '"x\r\ny"',
    '"x\ry"',
    '"q""q"',
    '""',
    '"a"b',
    'a"b',
    "é",
    "1",
]
ENDS = ["\n", "\r\n", "\r", "\n\n", "\n\r\n"]


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[list[str]], list[int]]:
    """A CSV file of up to three columns, its rows and the line where each ends, by Python's csv module."""
    n_columns = draw(st.integers(1, 3))
    cell = st.sampled_from([part for part in PARTS if n_columns > 1 or part])
    ends = ENDS if n_columns > 1 else ENDS[:3]
    text = ",".join("xyz"[:n_columns]) + "\n"
    for _ in range(draw(st.integers(1, 8))):
        text += ",".join(draw(cell) for _ in range(n_columns)) + draw(st.sampled_from(ends))
    reader = csv.reader(io.StringIO(text, newline=""))
    rows = [(row, reader.line_num) for row in reader if row][1:]
    return text, [row for row, _ in rows], [line for _, line in rows]


@given(files(), st.integers(1, 40))
def test_cells_are_those_of_the_csv_module(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[str, list[list[str]], list[int]], size: int
) -> None:
    """Whatever the blocks are, and an error has the line of its row."""
    text, rows, lines = case
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    path.write_bytes(text.encode())
    words = sorted({cell.strip() for row in rows for cell in row} | {"other", "another"})
    values: Any = {name: [word for word in words if word not in ("", "?")] for name in "xyz"[: len(rows[0])]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bosket.data.formats.lines._ROWS", size)
        patch.setattr("bosket.data.formats.sources.BLOCK", 7)
        patch.setattr("bosket.data.formats.table_lines._SLOTS", 2)
        table = Table.read(path, values=values, missing="missing")
        expected = [["missing" if cell.strip() in ("", "?") else cell.strip() for cell in row] for row in rows]
        assert [list(record.values()) for record in table] == expected
        for at, (row, line) in enumerate(zip(rows, lines, strict=True)):
            if row[0].strip() not in ("", "?") and row[0].strip() not in [row[0].strip() for row in rows[:at]]:
                values["x"].remove(row[0].strip())
                with pytest.raises(DataError, match="'x' must hold one of its") as caught:
                    Table.read(path, values=values, missing="missing")
                assert caught.value.line == line
                break


MARKS = [
    "0",
    "1",
    "",
    "true",
    "FALSE",
    "1.0",
    "0.0",
    '"1"',
    '"0"',
    '"tr""ue"',
    '""',
    "2",
    " 1",
    "11",
    '"1',
    "é",
    "True",
]


@given(
    st.integers(1, 3),
    st.lists(st.sampled_from(MARKS), min_size=1, max_size=9),
    st.sampled_from(ENDS),
    st.integers(1, 40),
)
def test_one_hot_rows_are_those_of_the_definition(
    tmp_path_factory: pytest.TempPathFactory, n_columns: int, cells: list[str], end: str, size: int
) -> None:
    """In blocks of any size; a cell that is no sign is refused, with its column and its line."""
    cells = [
        "0" if n_columns == 1 and not cell else cell.replace('"1', '"1"') if cell == '"1' else cell for cell in cells
    ]
    rows = [cells[at : at + n_columns] for at in range(0, len(cells) - len(cells) % n_columns, n_columns)]
    path = tmp_path_factory.getbasetemp() / "marks.csv"
    path.write_bytes((",".join("xyz"[:n_columns]) + "\n" + "".join(",".join(row) + end for row in rows)).encode())
    meanings = {"0": 0, "0.0": 0, "false": 0, "": 0, "1": 1, "1.0": 1, "true": 1}
    bad = [
        [cell == '""' or cell.replace('"', "").lower() not in meanings or '""' in cell for cell in row] for row in rows
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bosket.data.formats.lines._ROWS", size)
        patch.setattr("bosket.data.formats.sources.BLOCK", 7)
        if not any(map(any, bad)):
            data = Baskets.read(path, layout="one-hot")
            truth = [
                tuple("xyz"[at] for at, cell in enumerate(row) if meanings[cell.strip('"').lower()]) for row in rows
            ]
            assert list(data) == truth
            return
        with pytest.raises(DataError, match=r"Column \d must hold 0 or 1, false or true, or nothing") as caught:
            Baskets.read(path, layout="one-hot")
    if end in ("\n", "\r\n") and caught.value.line is not None:
        column = int(str(caught.value).split()[1]) - 1
        assert bad[caught.value.line - 2][column]


def test_one_hot_faults_in_a_block_come_by_column(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n0,2\n3,1\n4,1\n")
    with pytest.raises(DataError, match="Column 1 must hold 0 or 1") as caught:
        Baskets.read(path, layout="one-hot")
    assert caught.value.line == 3
    path.write_text("a,b\n0,2\n3,1\n4\n")
    with pytest.raises(DataError, match="Every row must have 2 values") as caught:
        Baskets.read(path, layout="one-hot")
    assert caught.value.line == 4


@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_a_blank_line_of_one_column_wherever_blocks_end(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also beside a cell beyond what Python's csv module reads, where it was passed over."""
    monkeypatch.setattr("bosket.data.formats.lines._ROWS", size)
    monkeypatch.setattr("bosket.data.formats.sources.BLOCK", 3)
    path = tmp_path / "x.csv"
    for text, line in (("x\na\n\n\nb\n", 4), ("\n\nx\na\n\nb\n\nc\n", 5), ("x\n\na\nb\n", 2)):
        path.write_text(text)
        with pytest.raises(DataError, match="is blank, and may be a record") as caught:
            Table.read(path)
        assert caught.value.line == line
    path.write_text("\nx\na\nb\n\n\n")
    assert Table.read(path).n_records == 2
    monkeypatch.undo()
    path.write_text("x\na\n" + "b" * 200_000 + "\n\na\n")
    with pytest.raises(DataError, match="is blank"):
        Table.read(path)


def test_blank_lines_before_the_header_fill_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.data.formats.lines._ROWS", 4)
    monkeypatch.setattr("bosket.data.formats.sources.BLOCK", 4)
    path = tmp_path / "x.csv"
    path.write_bytes(b"\n" * 20 + b"record,item\n1,2\n1,3\n")
    assert list(Baskets.read(path)) == [(2, 3)]
    path.write_bytes(b"\n" * 20 + b"x,y\n1,2\n1,3\n2,\n")
    with pytest.raises(DataError, match="'y' must hold a value") as caught:
        Table.read(path)
    assert caught.value.line == 24
    path.write_bytes(b"\r\n\r\nx,y\n1,2\n1,\xff\n")
    with pytest.raises(DataError, match="not text") as caught:
        Table.read(path)
    assert caught.value.line == 5


def test_words_that_crowd_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words chosen for their hash would be looked up in a time like the square of their number."""
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "".join(f"{at}\n" for at in range(5000)))
    assert Table.read(path, columns=["x"]).n_items == 5000
    monkeypatch.setattr("bosket.data.formats.table_lines.rehash", lambda *_: False)
    with pytest.raises(DataError, match="one hash value"):
        Table.read(path, columns=["x"])


@pytest.mark.parametrize("before", range(1, 20))
def test_a_row_that_is_read_again_has_room_for_its_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """Where the words outgrow their table in the middle of a row, its quoted cells are copied once more."""
    path = tmp_path / "room.csv"
    rows = [*((f"x{at}", f"y{at}") for at in range(before)), ("x0", "new"), ("Z" * 5000, "last")]
    path.write_text("a,b\n" + "".join(f'"{one}","{other}"\n' for one, other in rows))

    def checked(text: Any, wanted: Any, seed: Any, words: Any, known: Any, state: Any, *rest: Any) -> Any:
        used = int(words.offsets[state[table_kernels.N_WORDS]])
        assert words.letters.size >= used + len(text) - int(state[table_kernels.AT])
        return code_rows(text, wanted, seed, words, known, state, *rest)

    code_rows = table_kernels.code_rows
    monkeypatch.setattr(table_lines, "code_rows", checked)
    monkeypatch.setattr(table_lines, "_SLOTS", 2)
    assert [tuple(record.values()) for record in Table.read(path)] == rows
