"""``bosket reproduce sieve``: the pieces, on made-up files; the whole takes hours."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import bosket as bk
from bosket.cli import main
from bosket.research.reproduce import sieve, sieve_cells
from bosket.research.reproduce.sieve_cells import DENSE, RANKS, SPARSE, UNTOUCHED, LimitCell, RankCell

pytest.importorskip("opendp")

RECORDS = [[i % 25] for i in range(1500)] + [[1, 2, 3]] * 700 + [[4, 5]] * 600 + [[6, 7, 8, 9]] * 500
TINY = LimitCell("bms_webview1", 0.1, (0.9, 0.95), (0.95, 0.98), 0.5)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = "".join(" ".join(map(str, record)) + "\n" for record in RECORDS)
    (tmp_path / "bms_webview1.dat.gz").write_bytes(gzip.compress(lines.encode()))
    monkeypatch.setattr(sieve, "SPARSE", (TINY, LimitCell("retail", 0.1)))
    monkeypatch.setattr(sieve, "DENSE", ())
    monkeypatch.setattr(sieve, "RANKS", (RankCell("bms_webview1", 3, (0.98, None), (1.0, None)),))
    monkeypatch.setattr(sieve, "QUICK", (TINY,))
    return tmp_path


@pytest.mark.slow
def test_the_table_has_all_methods_and_the_figures_beside(folder: Path) -> None:
    result = sieve.run(data=folder, times=1)
    rows = {row["method"]: row for row in result["rows"]}
    rivals = {"truncation", "as published", "PrivBasis", "DiffPart", "no truncation", "Bhaskar et al."}
    assert set(rows) == {*sieve.OURS, *rivals}
    assert len(result["missing"]) == 1
    pure, delta = (rows[name] for name in sieve.OURS)
    assert (pure["prototype"], pure["goal"]) == (0.9, 0.95)
    assert (delta["prototype"], delta["goal"]) == (0.95, 0.98)
    assert rows["PrivBasis"]["prototype"] == 0.5
    for row in (pure, delta):
        assert row["f"] > 0.5
        assert 0 <= row["announced"] <= 1
        assert set(row["coverage_by_size"]) >= {"1", "2"}
        assert sum(row["intervals_by_size"].values()) > 5
        assert row["error"] < 0.5
        assert 0 < row["width"] < 1
    assert {row["method"] for row in result["top_k"]} >= {"truncation", "PrivBasis", "Bhaskar et al."}
    json.dumps(result)


def test_figures_of_a_release_by_hand() -> None:
    """A release without noise: every interval holds, and no support is far off."""
    baskets = bk.Baskets(RECORDS, items=range(25))
    release = bk.curator.mine(baskets, 1e4, 0.1, method="sieve")
    found = list(sieve._intervals(release, baskets))
    assert len(found) == len(release.names)
    assert all(is_held and error < 0.2 and width < 0.2 for _, is_held, error, width in found)
    answers = iter([sieve.Attempted({(1,)}, release), sieve.Attempted(set(), note="refused")])
    row = sieve._measured(lambda: next(answers), baskets, {(1,), (2,)}, 2)
    assert row["f"] == pytest.approx((2 / 3 + 0) / 2)
    assert row["coverage"] == 1.0
    assert row["note"] == "refused"
    assert row["announced"] == pytest.approx(release.about["announced"]["f"])


@pytest.mark.slow
def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "out.json"
    arguments = ["reproduce", "sieve", "--data", str(folder), "--quick", "--ours", "-o", str(path)]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "epsilon 1, 2 runs" in out
    assert "sieve, delta 1e-6" in out
    assert sieve.REMARK in err
    assert json.loads(path.read_text())["schema"] == "bosket.reproduce.sieve/1"
    assert main(["reproduce", "sieve", "--data", str(folder), "--files", "nothing"]) == 1
    assert main(["reproduce", "zeng", "--limits", "0.1"]) == 2


@pytest.mark.parametrize(
    ("chosen", "cells"),
    [
        ({"files": ["chess"]}, 3),
        ({"limits": [0.01]}, 6),
        ({"files": ["retail"], "limits": [0.005]}, 1),
        ({"is_quick": True}, 1),
        ({}, len(SPARSE + DENSE)),
    ],
)
def test_cells_are_chosen(chosen: dict[str, Any], cells: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sieve, "_above", lambda cell, *rest: [cell])
    monkeypatch.setattr(sieve, "_ranked", lambda cell, *rest: [])
    monkeypatch.setattr(sieve, "find", lambda name, data: tmp_path)
    monkeypatch.setattr(bk.Baskets, "read", lambda path: bk.Baskets([[1]], items=[1]))
    monkeypatch.setattr(sieve, "TABLES", ())
    assert len(sieve.run(**chosen)["rows"]) == cells


def test_records_of_a_table_hold_its_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sieve, "TABLES", ("people",))
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(b"sex,age\n1,04\n2,NA\n1,4\n"))
    found = sieve._records("people", tmp_path)
    assert [set(record) for record in found] == [{"sex=1", "age=04"}, {"sex=2"}, {"sex=1", "age=4"}]


def test_cells_are_sound() -> None:
    """Every goal is a share, and no cell is there twice."""
    every = SPARSE + DENSE
    assert len({(cell.data, cell.limit) for cell in every}) == len(every)
    for cell in every + RANKS:
        assert all(value is None or 0 < value <= 1 for value in (*cell.prototype, *cell.goal))
    assert set(UNTOUCHED) <= {cell.data for cell in every}
    assert sieve_cells.QUICK[0] in SPARSE
