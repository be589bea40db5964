"""``bosket budget``."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import bosket as bk
from bosket.budget.accounts import Part
from bosket.budget.budgets import Budget
from tests.cli.conftest import Run


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "study.ledger"
    budget = Budget.create(path, "retail, été", epsilon=1.0)
    for purpose in ("top 10 pairs", "supports of 5 itemsets", "again"):
        budget.spend(0.1, purpose=purpose)
    Budget.create(path, "people", epsilon=0.5, delta=1e-6, neighbours="replace").spend(
        0.25, delta=1e-7, purpose="top 3"
    )
    return path


def test_help(run: Run) -> None:
    assert "budget" in run("--help").out
    assert "create" in run("budget", "--help").out
    for action, option in (("create", "--epsilon"), ("show", "--format")):
        result = run("budget", action, "--help")
        assert result.code == 0
        assert option in result.out


def test_create_then_show(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "new.ledger"
    made = run("budget", "create", path, "--name", "my data", "--epsilon", "0.3", "--delta", "1e-6")
    assert (made.code, made.out) == (0, "")
    assert "'my data'" in made.err
    assert "epsilon 0.3, delta 1e-06" in made.err
    assert "one record, added or removed" in made.err
    budget = Budget.open(path, "my data")
    assert (budget.epsilon, budget.delta, budget.neighbours) == (0.3, 1e-6, "add-remove")
    other = run("budget", "create", path, "--name", "other", "--epsilon", 2, "--neighbours", "replace", "-v")
    assert (other.code, Budget.open(path, "other").neighbours) == (0, "replace")
    shown = run("budget", "show", path)
    assert (shown.code, shown.err) == (0, "")
    assert "2 budgets" in shown.out
    assert "my data" in shown.out


def test_the_table_of_budgets(run: Run, ledger: Path) -> None:
    rows = [line.split("   ") for line in run("budget", "show", ledger).out.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert ["retail, été", "add-remove", "1.0", "0.3", "0.7", "0.0", "0.0", "0.0", "3"] in cells
    assert ["people", "replace", "0.5", "0.25", "0.25", "1e-06", "1e-07", "9e-07", "1"] in cells


def test_the_table_of_entries(run: Run, ledger: Path) -> None:
    result = run("budget", "show", ledger, "--name", "retail, été")
    assert result.code == 0
    assert "epsilon 1.0; left epsilon 0.7" in result.out
    assert "delta" not in result.out, "where it is not used it is not shown"
    assert result.out.index("top 10 pairs") < result.out.index("supports of 5 itemsets")
    result = run("budget", "show", ledger, "--name", "people")
    assert "epsilon 0.5, delta 1e-06; left epsilon 0.25, delta 9e-07" in " ".join(result.out.split())
    assert "1e-07" in result.out


def test_returns_are_shown_in_plain_words(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "study.ledger"
    budget = Budget.create(path, "people", epsilon=1.0, delta=1e-6)
    first, rest = budget.spend_together([(0.1, "lengths"), Part(0.4, "counts", delta=1e-7)])
    budget.give_back(rest)
    shown = run("budget", "show", path, "--name", "people").out
    assert "left epsilon 0.9, delta 1e-06" in " ".join(shown.split())
    (line,) = [line.split() for line in shown.splitlines() if "returned" in line]
    assert line[:5] == ["returned", "unused,", "entry", "2:", "counts"]
    assert line[-3:] == ["3", "-0.4", "-1e-07"]
    assert " 0.9 " in run("budget", "show", path).out
    rows = json.loads(run("budget", "show", path, "--name", "people", "--format", "json").out)["entries"]
    assert [(row["epsilon"], row["returns"]) for row in rows] == [(0.1, None), (0.4, None), (-0.4, 2)]
    table = run("budget", "show", path, "--name", "people", "--format", "csv").out
    assert [row["returns"] for row in csv.DictReader(io.StringIO(table))] == ["", "", "2"]
    out = tmp_path / "entries.parquet"
    assert run("budget", "show", path, "--name", "people", "-o", out).code == 0
    assert pq.read_table(out).column("returns").to_pylist() == [None, None, 2]
    assert first.time == rest.time


def test_a_budget_of_which_nothing_is_spent(run: Run, tmp_path: Path) -> None:
    Budget.create(tmp_path / "l", "new", epsilon=1.0)
    for format in ("table", "csv", "json"):
        result = run("budget", "show", tmp_path / "l", "--name", "new", "--format", format)
        assert result.code == 0
        assert "purpose" in result.out or format == "json"


def test_json(run: Run, ledger: Path) -> None:
    listed = json.loads(run("budget", "show", ledger, "--format", "json").out)
    assert listed["schema"] == "bosket.budgets/1"
    assert listed["about"] == {"ledger": str(ledger), "version": bk.__version__}
    first = listed["budgets"][0]
    budget = Budget.open(ledger, "retail, été")
    assert (first["name"], first["spent"], first["remaining"], first["entries"]) == ("retail, été", 0.3, 0.7, 3)
    assert first["digest"] == budget.account.head
    one = json.loads(run("budget", "show", ledger, "--name", "retail, été", "--format", "json").out)
    assert one["schema"] == "bosket.entries/1"
    assert one["about"]["remaining"] == 0.7
    for row, entry in zip(one["entries"], budget.entries(), strict=True):
        assert row == {name: getattr(entry, name) for name in row}
        assert len(row) == 8


def test_csv(run: Run, ledger: Path) -> None:
    listed = run("budget", "show", ledger, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(listed.out)))
    assert [(row["name"], row["remaining"], row["remaining_delta"]) for row in rows] == [
        ("retail, été", "0.7", "0.0"),
        ("people", "0.25", "9e-07"),
    ]
    assert "version" in listed.err
    entries = run("budget", "show", ledger, "--name", "people", "--format", "csv")
    assert [row["purpose"] for row in csv.DictReader(io.StringIO(entries.out))] == ["top 3"]


def test_into_a_file(run: Run, ledger: Path, tmp_path: Path) -> None:
    out = tmp_path / "entries.parquet"
    assert run("budget", "show", ledger, "--name", "people", "-o", out).code == 0
    assert pq.read_table(out).column("epsilon").to_pylist() == [0.25]
    before = ledger.read_bytes()
    (tmp_path / "link.csv").symlink_to(ledger)
    assert run("budget", "show", ledger, "-o", tmp_path / "link.csv").code == 2
    assert ledger.read_bytes() == before


def test_options_may_stand_before_the_action(run: Run, ledger: Path) -> None:
    for words in (("budget", "-v", "show", ledger), ("budget", "show", ledger, "-v", "--no-progress")):
        assert run(*words) == run("budget", "show", ledger)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["spend", "{ledger}"],
        ["create", "{new}"],
        ["create", "{new}", "--name", "x"],
        ["create", "{new}", "--epsilon", "1"],
        ["create", "--name", "x", "--epsilon", "1"],
        *(["create", "{new}", "--name", "x", "--epsilon", text] for text in ("0", "-1", "nan", "inf", "1e999", "much")),
        *(["create", "{new}", "--name", "x", "--epsilon", "1", "--delta", text] for text in ("-1", "1", "nan", "few")),
        ["create", "{new}", "--name", "x", "--epsilon", "1", "--neighbours", "bounded"],
        ["create", "{new}", "--name", "", "--epsilon", "1"],
        ["create", "{new}", "--name", "two\nlines", "--epsilon", "1"],
        ["show"],
        ["show", "{ledger}", "--format", "xml"],
        ["show", "{ledger}", "-o", "out.pmml"],
        ["show", "{ledger}", "--name", ""],
    ],
)
def test_usage_errors_exit_2(run: Run, ledger: Path, tmp_path: Path, arguments: list[str]) -> None:
    new = tmp_path / "new.ledger"
    result = run("budget", *(argument.format(ledger=ledger, new=new) for argument in arguments))
    assert (result.code, result.out) == (2, "")
    assert result.err.count("bosket: ") == 1
    assert not new.exists()


def test_a_name_that_is_taken_exits_1(run: Run, ledger: Path) -> None:
    before = ledger.read_bytes()
    result = run("budget", "create", ledger, "--name", "people", "--epsilon", 100)
    assert (result.code, result.out) == (1, "")
    assert str(ledger) in result.err
    assert "hint: " in result.err
    assert ledger.read_bytes() == before


def test_a_name_that_is_unknown_exits_1(run: Run, ledger: Path) -> None:
    result = run("budget", "show", ledger, "--name", "nobody")
    assert (result.code, result.out) == (1, "")
    assert "hint: It has 'retail, été', 'people'." in result.err


@pytest.mark.parametrize(
    ("content", "said"), [(None, "does not exist"), (b"", "truncated"), (b"text\n", "not a ledger")]
)
def test_bad_files_exit_1(run: Run, tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "bad"
    if content is not None:
        path.write_bytes(content)
    result = run("budget", "show", path)
    assert (result.code, result.out) == (1, "")
    assert said in result.err
    assert str(path) in result.err
    assert path.exists() == (content is not None)


def test_what_is_shown_as_left_is_never_too_much(run: Run, tmp_path: Path) -> None:
    budget = Budget.create(tmp_path / "l", "data", epsilon=1.0)
    budget.spend(1e-30, purpose="next to nothing")
    shown = json.loads(run("budget", "show", tmp_path / "l", "--format", "json").out)["budgets"][0]
    assert shown["remaining"] == math.nextafter(1.0, 0.0)
    assert shown["spent"] == 1e-30
