"""``audit``: the table of the paper on standard output, all rows in files, and a word on privacy each time."""

from __future__ import annotations

import inspect
import io
import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import bosket as bk
from bosket.audit import Breaches, breaches
from bosket.cli.app import parser
from bosket.reporting.export import BREACHES, write_file
from tests.cli.conftest import Run, Study
from tests.cli.test_mine import read_csv, same

NOT_PRIVATE = "counted in raw data and is not private"


@pytest.fixture(scope="session")
def truth(study: Study) -> Breaches:
    return breaches(bk.Baskets.read(study.baskets), bk.Reports.read(study.reports), max_size=3)


def test_the_table_of_the_paper(run: Run, study: Study, truth: Breaches) -> None:
    for options in ((), ("--format", "table")):
        result = run("audit", study.baskets, study.reports, "--max-size", 3, *options)
        assert result.code == 0
        assert result.out == f"{truth}\n"
        assert result.err.count(NOT_PRIVATE) == 1
        assert "3,000 reports over 20 items, Flip(keep=0.95)" in result.err


@pytest.mark.parametrize("to_file", [False, True])
def test_csv_and_json_parse_back(run: Run, study: Study, tmp_path: Path, truth: Breaches, to_file: bool) -> None:
    for format in ("csv", "json"):
        path = tmp_path / f"out.{format}"
        where = ("-o", path) if to_file else ("--format", format)
        result = run("audit", study.baskets, study.reports, "--max-size", 3, *where)
        assert result.code == 0
        assert (result.out == "") == to_file
        assert NOT_PRIVATE in result.err
        assert f"left out {truth.left_out:,} pairs" in result.err
        text = path.read_text() if to_file else result.out
        if format == "csv":
            same(read_csv(text), truth.table)
            if to_file:
                about_is_complete(json.loads((tmp_path / "out.csv.about.json").read_text()), truth)
            else:
                assert "about: version" in result.err
            continue
        value = json.loads(text)
        assert value["schema"] == "bosket.breaches/1"
        about_is_complete(value["about"], truth)
        same(pd.DataFrame(value["breaches"]), truth.table)


def about_is_complete(about: dict[str, object], truth: Breaches) -> None:
    for name, value in truth.about.items():
        assert about[name] == value
    assert about["parameters"] == {"name": "flip", "keep": 0.95, "keep_absent": None, "default": None}
    assert about["left_out"] == truth.left_out
    assert (about["max_size"], about["top"]) == (3, 10)
    assert "not private" in str(about["privacy"])


def test_parquet_parses_back(run: Run, study: Study, tmp_path: Path, truth: Breaches) -> None:
    path = tmp_path / "out.parquet"
    assert run("audit", study.baskets, study.reports, "--max-size", 3, "-o", path).code == 0
    table = pq.read_table(path)
    assert table.schema.metadata[b"bosket.schema"] == b"bosket.breaches/1"
    about_is_complete(json.loads(table.schema.metadata[b"bosket.about"]), truth)
    same(pd.DataFrame(table.to_pylist()), truth.table)


def test_options_reach_the_library(run: Run, study: Study) -> None:
    options = {"min_support": 0.4, "max_size": 4, "min_reports": 7, "top": 2}
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    value = json.loads(run("audit", study.baskets, study.reports, "--format", "json", *words).out)
    expected = breaches(bk.Baskets.read(study.baskets), bk.Reports.read(study.reports), **options)  # type: ignore[arg-type]
    assert len(expected.table)
    same(pd.DataFrame(value["breaches"]), expected.table)


def test_defaults_are_those_of_the_library() -> None:
    options = parser(["audit"]).parse_args(["audit", "b.dat", "r.parquet"])
    known = inspect.signature(breaches).parameters
    for name in ("min_support", "max_size", "min_reports", "top"):
        assert getattr(options, name) == known[name].default


def test_words_for_labels(run: Run, tmp_path: Path) -> None:
    raw, reports = tmp_path / "raw.csv", tmp_path / "r.parquet"
    bk.Baskets([["wine, red", "milk"], ["milk"], ["wine, red"]] * 100).write(raw)
    assert run("randomize", raw, "-o", reports, "--cutoff", 2, "--insert", 0.1, "--seed", 1).code == 0
    truth = breaches(bk.Baskets.read(raw), bk.Reports.read(reports)).table
    assert set(truth["item"]) == {"wine, red", "milk"}
    same(read_csv(run("audit", raw, reports, "--format", "csv").out), truth)
    assert run("audit", raw, reports, "-o", tmp_path / "out.parquet").code == 0
    same(pd.DataFrame(pq.read_table(tmp_path / "out.parquet").to_pylist()), truth)


def test_labels_of_several_kinds(tmp_path: Path) -> None:
    """7 and "7" are told apart where the format can; Parquet has text where no one type holds all."""
    raw = bk.Baskets([[("age", 3)], ["7"], [7]] * 40)
    table = breaches(raw, bk.Flip(keep=0.99).randomize(raw, rng=bk.Seeded(1))).table
    items = [7, "7", {"tuple": ["age", 3]}]
    for format in ("csv", "json", "parquet"):
        write_file(table, BREACHES, tmp_path / f"out.{format}")
    assert read_csv((tmp_path / "out.csv").read_text())["item"].tolist() == items
    assert [row["item"] for row in json.loads((tmp_path / "out.json").read_text())["breaches"]] == items
    assert pq.read_table(tmp_path / "out.parquet")["item"].to_pylist() == ["7", "7", "('age', 3)"]


def test_standard_input(
    run: Run, study: Study, truth: Breaches, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(study.baskets.read_bytes())))
    assert run("audit", "-", study.reports, "--max-size", 3).out == f"{truth}\n"
    path = tmp_path / "baskets.txt"
    path.write_bytes(study.baskets.read_bytes())
    assert run("audit", path, study.reports, "--max-size", 3, "--input-format", "dat").out == f"{truth}\n"


def test_too_few_reports_is_not_an_error(run: Run, study: Study, tmp_path: Path) -> None:
    options = ("--max-size", 2, "--min-reports", 100_000)
    result = run("audit", study.baskets, study.reports, *options)
    assert result.code == 0
    assert "No itemset is held by 100000 reports" in result.out
    for suffix in (".csv", ".json", ".parquet"):
        assert run("audit", study.baskets, study.reports, *options, "-o", tmp_path / f"none{suffix}").code == 0
    assert json.loads((tmp_path / "none.json").read_text())["breaches"] == []


def test_files_that_do_not_belong_together(run: Run, study: Study, tmp_path: Path) -> None:
    baskets = bk.Baskets.read(study.baskets)
    fewer, other, sized = tmp_path / "fewer.dat", tmp_path / "other.dat", tmp_path / "sized.parquet"
    baskets[:10].write(fewer)
    other.write_text("1 999983\n" * len(baskets))
    bk.CutAndPaste(cutoff=3, insert=0.1).randomize(baskets[::-1], rng=bk.Seeded(1)).write(sized)
    for raw, reports, said in (
        (fewer, study.reports, "must be of the same people"),
        (other, study.reports, "Line 1 of"),
        (study.baskets, sized, "must be the size of its raw record"),
        (study.reports, study.reports, "holds reports"),
        (study.baskets, study.baskets, "cannot be read as Parquet"),
        (study.baskets, tmp_path / "missing.parquet", "There is no file"),
    ):
        result = run("audit", raw, reports, "-o", tmp_path / "out.csv")
        assert (result.code, result.out) == (1, "")
        assert result.err.count("bosket: ") == 1
        assert said in result.err
        assert "999983" not in result.err
        assert not (tmp_path / "out.csv").exists()


def test_neither_input_is_replaced(run: Run, study: Study, tmp_path: Path) -> None:
    reports = tmp_path / "reports.parquet"
    reports.write_bytes(study.reports.read_bytes())
    assert run("audit", study.baskets, reports, "-o", reports).code == 2
    assert reports.read_bytes() == study.reports.read_bytes()
