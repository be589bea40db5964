"""``mine`` and ``rules``: what comes out parses back, and is what the library says."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import bosket as bk
from tests.cli.conftest import Run, Study


@pytest.fixture
def itemsets(study: Study) -> pd.DataFrame:
    return bk.mine(bk.Reports.read(study.reports), min_support=0.1).to_frame()


@pytest.fixture
def rules(study: Study) -> pd.DataFrame:
    return bk.mine(bk.Reports.read(study.reports), min_support=0.1).rules()


def same(found: pd.DataFrame, truth: pd.DataFrame) -> None:
    """Equal but for how itemsets are held, and for infinities, which JSON does not know."""
    for name in truth.columns:
        if name in ("itemsets", "antecedents", "consequents"):
            assert [frozenset(value) for value in found[name]] == list(truth[name])
            assert all(list(value) == sorted(value) for value in found[name])
        elif truth[name].dtype.kind in "fiu":
            for ours, theirs in zip(found[name].astype(float), truth[name].astype(float), strict=True):
                assert ours == theirs or not (math.isfinite(ours) or math.isfinite(theirs))
        else:
            assert found[name].tolist() == truth[name].tolist()
    assert list(found.columns) == list(truth.columns)


TRUTHS = ("true", "false")


def read_csv(text: str) -> pd.DataFrame:
    """Itemsets and labels are JSON, and so are most numbers; cautions of rules are text."""

    def value(cell: str) -> Any:
        return float(cell or "nan") if cell in ("", "inf", "-inf") else json.loads(cell)

    rows = csv.DictReader(io.StringIO(text))
    return pd.DataFrame(
        [
            {name: cell if name == "caution" and cell not in TRUTHS else value(cell) for name, cell in row.items()}
            for row in rows
        ]
    )


@pytest.mark.parametrize(("command", "kind"), [("mine", "itemsets"), ("rules", "rules")])
@pytest.mark.parametrize("to_file", [False, True])
def test_csv_and_json_parse_back(
    run: Run, study: Study, tmp_path: Path, command: str, kind: str, to_file: bool, request: pytest.FixtureRequest
) -> None:
    truth: pd.DataFrame = request.getfixturevalue(kind)
    for format in ("csv", "json"):
        path = tmp_path / f"out.{format}"
        where = ("-o", path) if to_file else ("--format", format)
        result = run(command, study.reports, "--min-support", 0.1, *where)
        assert result.code == 0
        assert (result.out == "") == to_file
        text = path.read_text() if to_file else result.out
        if format == "csv":
            same(read_csv(text), truth)
            if to_file:
                about_is_complete(json.loads((tmp_path / "out.csv.about.json").read_text()), study)
            else:
                assert "about: version" in result.err
            continue
        value = json.loads(text)
        assert value["schema"] == f"bosket.{kind}/1"
        about_is_complete(value["about"], study)
        same(pd.DataFrame(value[kind]), truth)


def about_is_complete(about: dict[str, object], study: Study) -> None:
    reports = bk.Reports.read(study.reports)
    assert about["version"] == bk.__version__
    assert about["n_records"] == 3000
    assert about["mechanism"] == "Flip(keep=0.95)"
    assert about["parameters"] == {"name": "flip", "keep": 0.95, "keep_absent": None, "default": None}
    assert about["plan"] == reports.plan.digest
    assert about["guarantee"] == reports.guarantee.to_json()
    assert "protects nobody" in str(about["randomness"])
    assert about["level"] == 0.95
    assert about["stderr"] == "coins alone"


@pytest.mark.parametrize(("command", "kind"), [("mine", "itemsets"), ("rules", "rules")])
def test_parquet_parses_back(
    run: Run, study: Study, tmp_path: Path, command: str, kind: str, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "out.parquet"
    assert run(command, study.reports, "--min-support", 0.1, "-o", path).code == 0
    table = pq.read_table(path)
    assert table.schema.metadata[b"bosket.schema"] == f"bosket.{kind}/1".encode()
    about_is_complete(json.loads(table.schema.metadata[b"bosket.about"]), study)
    same(pd.DataFrame(table.to_pylist()), request.getfixturevalue(kind))


def test_an_old_result_is_replaced(run: Run, study: Study, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")
    assert run("mine", study.reports, "--min-support", 0.1, "-o", path).code == 0
    assert json.loads(path.read_text())["itemsets"]
    assert list(tmp_path.iterdir()) == [path]


def test_it_says_which_kind_of_data_it_got(run: Run, study: Study) -> None:
    reports = run("mine", study.reports, "--min-support", 0.1)
    assert "3,000 reports over 20 items" in reports.err
    assert "privacy of one item epsilon" in reports.err
    assert "privacy of one record epsilon" in reports.err
    assert "protects nobody" in reports.err  # they were seeded
    raw = run("mine", study.baskets, "--min-support", 0.1)
    assert "raw baskets" in raw.err
    assert "exact and protects nobody" in raw.err
    assert "privacy" not in raw.err


def test_reports_are_known_by_their_contents(run: Run, study: Study, tmp_path: Path) -> None:
    path = tmp_path / "anything.dat"
    path.write_bytes(study.reports.read_bytes())
    assert run("mine", path, "--min-support", 0.1).out == run("mine", study.reports, "--min-support", 0.1).out


def test_options_reach_the_library(run: Run, study: Study) -> None:
    options = ["--max-size", 2, "--slack", 0, "--level", 0.5, "--sampling"]
    value = json.loads(run("mine", study.reports, "--min-support", 0.1, "--format", "json", *options).out)
    found = bk.mine(bk.Reports.read(study.reports), min_support=0.1, max_size=2, slack=0)
    same(pd.DataFrame(value["itemsets"]), found.to_frame(level=0.5, sampling=True))
    options = ["--metric", "lift", "--min-threshold", 2]
    value = json.loads(run("rules", study.baskets, "--min-support", 0.1, "--format", "json", *options).out)
    same(
        pd.DataFrame(value["rules"]),
        bk.mine(bk.Baskets.read(study.baskets), min_support=0.1).rules(metric="lift", min_threshold=2),
    )
    assert value["about"]["guarantee"] is None


def test_the_table_shows_twenty_and_says_how_many_more(run: Run, study: Study, itemsets: pd.DataFrame) -> None:
    def rows(out: str) -> int:
        return sum(line.strip()[:1].isdigit() for line in out.splitlines())

    result = run("mine", study.reports, "--min-support", 0.1)
    assert rows(result.out) == 20
    assert f"{len(itemsets) - 20:,} more" in result.err
    assert rows(run("mine", study.reports, "--min-support", 0.1, "--top", 3).out) == 3
    best = json.loads(run("mine", study.reports, "--min-support", 0.1, "--top", 3, "--format", "json").out)
    supports = [row["support"] for row in best["itemsets"]]
    assert supports == itemsets["support"].nlargest(3).tolist()


def test_nothing_found_is_not_an_error(run: Run, study: Study, tmp_path: Path) -> None:
    for command, kind in (("mine", "itemsets"), ("rules", "rules")):
        for data in (study.baskets, study.reports):
            result = run(command, data, "--min-support", 1, "--format", "json", "--report", tmp_path / "page.html")
            assert result.code == 0
            assert json.loads(result.out)[kind] == []
            assert run(command, data, "--min-support", 1).code == 0
            assert run(command, data, "--min-support", 1, "-o", tmp_path / "none.parquet").code == 0


def test_standard_input(run: Run, study: Study, groceries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def given(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    given(study.baskets.read_bytes())
    assert run("mine", "-", "--min-support", 0.1).out == run("mine", study.baskets, "--min-support", 0.1).out
    given(groceries.read_bytes())
    result = run("mine", "-", "--min-support", 0.1, "--input-format", "csv", "--layout", "long")
    assert result.out == run("mine", groceries, "--min-support", 0.1).out
    given(b"")
    assert "is empty" in run("mine", "-", "--min-support", 0.1).err
    given(b"1 2\nmilk\n")
    result = run("mine", "-", "--min-support", 0.1)
    assert result.code == 1
    assert "Line 2 of the file /dev/stdin" in result.err


def test_input_format_overrules_the_suffix(run: Run, study: Study, tmp_path: Path) -> None:
    path = tmp_path / "baskets.txt"
    path.write_bytes(study.baskets.read_bytes())
    result = run("mine", path, "--min-support", 0.1, "--input-format", "dat")
    assert result.out == run("mine", study.baskets, "--min-support", 0.1).out


@pytest.mark.parametrize("command", ["mine", "rules"])
def test_labels_of_any_kind(run: Run, tmp_path: Path, command: str) -> None:
    """Escape codes do not reach the terminal."""
    odd = ("a\x1b[31m", "b\x9b0m", "żółw", "=1+1")
    reports = bk.Flip(keep=0.99).randomize(bk.Baskets([odd, odd[:2]] * 50), rng=bk.Seeded(1))
    reports.write(tmp_path / "r.parquet")
    result = run(command, tmp_path / "r.parquet", "--min-support", 0.2)
    assert result.code == 0
    assert not {"\x1b", "\x9b"} & set(result.out)
    assert "żółw" in result.out


def test_mixed_labels_in_every_format(run: Run, tmp_path: Path) -> None:
    baskets = bk.Baskets([[("age", 3), "milk", 7]] * 40)
    path = tmp_path / "r.parquet"
    bk.Flip(keep=0.99).randomize(baskets, rng=bk.Seeded(1)).write(path)
    value = json.loads(run("mine", path, "--min-support", 0.9, "--format", "json").out)
    everything = [row["itemsets"] for row in value["itemsets"] if row["size"] == 3]
    assert everything == [[7, "milk", {"tuple": ["age", 3]}]]
    assert run("mine", path, "--min-support", 0.9, "-o", tmp_path / "o.parquet").code == 0
    rows = pq.read_table(tmp_path / "o.parquet").to_pylist()
    assert ["7", "milk", "('age', 3)"] in [row["itemsets"] for row in rows]
    assert run("mine", path, "--min-support", 0.9).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", ["mine", "rules"])
def test_report_pages(run: Run, study: Study, groceries: Path, tmp_path: Path, command: str) -> None:
    page = tmp_path / "page.html"
    assert run(command, study.reports, "--min-support", 0.1, "--report", page).code == 0
    text = page.read_text()
    assert text.count("<svg") >= 1
    assert "epsilon" in text
    assert "protects nobody" in text
    threshold = ["--min-threshold", 0.1] if command == "rules" else []
    result = run(command, groceries, "--min-support", 0.1, "--report", page, *threshold)
    assert result.code == 0
    text = page.read_text()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "$x$" in text
    assert "exact" in text


def test_several_files_of_one_plan(run: Run, study: Study, tmp_path: Path) -> None:
    reports = bk.Reports.read(study.reports)
    half = len(reports) // 2
    reports[:half].write(tmp_path / "one.parquet")
    reports[half:].write(tmp_path / "two.parquet")
    result = run("mine", tmp_path / "one.parquet", tmp_path / "two.parquet", "--min-support", 0.1, "--format", "csv")
    assert result.code == 0
    assert result.out == run("mine", study.reports, "--min-support", 0.1, "--format", "csv").out
    assert run("mine", study.reports, study.baskets, "--min-support", 0.1).code == 1


def test_nothing_found_says_what_to_do(run: Run, study: Study) -> None:
    result = run("rules", study.reports, "--min-support", 0.9, "--min-threshold", 0.99)
    assert result.code == 0
    assert "lower --min-support" in result.err


@pytest.mark.slow
def test_the_hint_names_what_kept_the_rules_back(run: Run, study: Study) -> None:
    """Where rules pass the threshold and none is significant, alpha must go up; it is no matter of support."""
    few = ("rules", study.reports, "--min-support", 0.05, "--metric", "lift")
    result = run(*few, "--alpha", 1e-300)
    assert "hint: nothing passed; a higher --alpha lets more through." in result.err
    assert "lower" not in result.err.split("hint:")[1]
    assert "a lower --min-threshold lets more" in run(*few, "--alpha", 1e-300, "--min-threshold", 1e9).err
    assert "a higher --alpha" not in run(*few, "--min-threshold", 1e9).err
    assert "a lower --min-improvement" in run(*few, "--min-threshold", 1.0, "--min-improvement", 1.0).err
    alone = run("rules", study.reports, "--min-support", 0.05, "--max-size", 1)
    assert "hint: nothing passed; a lower --min-support lets more through." in alone.err
    pairs = run("rules", study.reports, "--without-parameters", "--alpha", 1e-300)
    assert "hint: nothing passed; a higher --alpha lets more through." in pairs.err


def test_itemsets_that_few_reports_show_are_marked(run: Run, study: Study, tmp_path: Path) -> None:
    few = tmp_path / "few.parquet"
    bk.Reports.read(study.reports)[:60].write(few)
    result = run("mine", few, "--min-support", 0.1)
    assert "note: of " in result.err
    assert "the interval should not be trusted" in result.err
    assert re.search(r"\d \?$", result.out, re.MULTILINE)
    assert "interval should not be trusted" not in run("mine", study.reports, "--min-support", 0.3).err
