"""No CSV file that bosket writes is run by a spreadsheet program."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.data import Attribute, Baskets, Table, TableDomain
from bosket.data.formats.csv_writing import is_formula, whole_cells
from bosket.data.formats.layouts import Layout
from bosket.errors import DataError, ParameterError
from bosket.mining import mine
from bosket.reporting.export import ResultKind, write_file, write_itemsets, write_rules
from tests.data.leaks import said

FORMULAS = [
    "=1+1",
    "=HYPERLINK(1)",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1+1",
    "-milk",
    "+-1",
    "x;=1+1;y",
    "x\n=1+1;y",
    "x\r\n=1+1;y",
    "a| @SUM(1)",
]
HARMLESS = ["milk", "-5", "+3.5", "-1e9", "=", "-", "a=1", " =1", "'=1", "<=50K", "?", "", "5-3", "[15,35)"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_refused_unless_asked_for(tmp_path: Path, text: str) -> None:
    assert is_formula(text)
    baskets = Baskets([["Xq7", text], ["Xq7"]])
    table = Table([{"a": "x"}, {"a": "y"}], TableDomain([Attribute("a", ["x", "y", text])]))
    named = Table([{"n": "x"}, {"n": "y"}]).to_frame().rename(columns={"n": text})
    layouts: tuple[Layout, ...] = ("long", "one-hot", "list")
    writers: list[Callable[[Path], None]] = [partial(baskets.write, layout=layout) for layout in layouts]
    for write in (*writers, table.write, Table.from_frame(named).write):
        with pytest.raises(DataError) as caught:
            write(tmp_path / "x.csv")
        assert "Xq7" not in said(caught.value)
        assert not list(tmp_path.iterdir())
    with pytest.raises(DataError, match="formulas") as caught:
        baskets.write(tmp_path / "x.csv.gz")
    assert "formulas='allow'" in str(caught.value.hint)
    baskets.write(tmp_path / "x.csv", formulas="allow")
    assert Baskets.read(tmp_path / "x.csv") == baskets
    baskets.write(tmp_path / "x.parquet")
    assert Baskets.read(tmp_path / "x.parquet") == baskets
    with pytest.raises(ParameterError):
        baskets.write(tmp_path / "y.csv", formulas="maybe")  # type: ignore[arg-type]  # the point


def test_what_is_no_formula_is_written(tmp_path: Path) -> None:
    baskets = Baskets([HARMLESS])
    baskets.write(tmp_path / "x.csv")
    assert Baskets.read(tmp_path / "x.csv") == baskets
    numbers = Baskets([[-3, 5]])
    numbers.write(tmp_path / "x.csv")
    assert Baskets.read(tmp_path / "x.csv") == numbers


SIGNS = ";|\t\r\n"
OPENING = "=+-@\uff1d\uff0b\uff0d\uff20"


def parted(text: str) -> list[int]:
    """The signs before what would begin a cell, by walking on from each of them."""
    found = []
    for at, sign in enumerate(text):
        rest = text[at + 1 :].lstrip()
        rest = rest[1:] if rest[:1] in ('"', "'") and rest else rest
        if sign in SIGNS and rest[:1] and rest[0] in OPENING:
            found.append(at)
    return found


@given(st.text(alphabet=SIGNS + " \x0b\xa0\x1f\"'=-＠a1.", max_size=12))
def test_signs_that_part_cells_are_found_as_one_would_by_hand(text: str) -> None:
    signs = parted(text)
    closed = "".join(f"\\u{ord(sign):04x}" if at in signs else sign for at, sign in enumerate(text))
    assert whole_cells(text) == closed
    first = text[:1] in tuple(OPENING + "\t\r\n") and len(text) > 1 and text != ""
    is_number = re.fullmatch(r"[+-]?[0-9]+([.][0-9]+)?", text) is not None  # the alphabet has no exponents
    assert is_formula(text) == (bool(signs) or (first and not is_number))


@pytest.mark.parametrize("sign", ["\n", " ", ";", "; ", '\t"', "\n=", "'", "-"])
def test_many_signs_take_no_time_for_each_other(sign: str) -> None:
    """Two hundred thousand line ends were gone through two hundred thousand times: minutes."""
    text = sign * 200_000 + "a"
    assert is_formula(text) == (sign[0] in "\n\t-")
    assert whole_cells(text).replace("\\u000a", "\n") == text


def cells(path: Path) -> list[str]:
    with path.open(newline="") as file:
        return [cell for row in csv.reader(file) for cell in row]


def test_no_result_holds_a_cell_that_is_run(tmp_path: Path) -> None:
    """Itemsets and labels are JSON; so is any other text that would be run, and what looks like it."""
    found = mine(Baskets([FORMULAS[:4]] * 4 + [["x"]]), min_support=0.1)
    write_itemsets(found.to_frame(), tmp_path / "i.csv")
    write_rules(found.rules(), tmp_path / "r.csv")
    texts = [*FORMULAS, *HARMLESS, '"=1"', '"']
    frame = pd.DataFrame({"purpose": texts, "item": texts, "number": -1.5})
    frame.attrs["about"] = {"n_records": 1}
    write_file(frame, ResultKind("entries", (), ("item",)), tmp_path / "e.csv")
    for name in ("i", "r", "e"):
        assert not [cell for cell in cells(tmp_path / f"{name}.csv") if is_formula(cell)]
    again = pd.read_csv(tmp_path / "e.csv", keep_default_na=False)
    assert [read(cell) for cell in again["purpose"]] == texts
    assert list(map(json.loads, again["item"])) == texts


def read(cell: str) -> Any:
    return json.loads(cell) if cell.startswith('"') else cell
