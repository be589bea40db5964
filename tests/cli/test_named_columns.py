"""``--record`` and ``--item``: raw baskets in files whose columns have other names."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import bosket as bk
from tests.cli.conftest import Run, Study

RECORDS: list[list[str | None]] = [["milk", "bread"], ["milk"], ["beer", "milk"], []] * 50
NAMES = ("--record", "InvoiceNo", "--item", "StockCode")
LIST = ("--item", "products")


@pytest.fixture
def sales(tmp_path: Path) -> dict[str, Path]:
    """The same records: as sales with other columns, as a file of ours, and as lists among other columns."""
    rows = [(at, item) for at, record in enumerate(RECORDS) for item in record or [None]]
    table = pa.table(
        {
            "Description": ["word, word"] * len(rows),
            "InvoiceNo": [f"A{at}" for at, _ in rows],
            "Quantity": [1] * len(rows),
            "StockCode": [item for _, item in rows],
        }
    )
    paths = {
        name: tmp_path / f"{name}.{'csv' if name != 'lists' else 'parquet'}" for name in ("sales", "ours", "lists")
    }
    table.to_pandas().to_csv(paths["sales"], index=False)
    paths["parquet"] = tmp_path / "sales.parquet"
    parquet.write_table(table, paths["parquet"])
    parquet.write_table(pa.table({"tags": [["x"]] * len(RECORDS), "products": RECORDS}), paths["lists"])
    bk.Baskets(RECORDS).write(paths["ours"])
    return paths


SAME = [("sales", NAMES), ("parquet", NAMES), ("lists", LIST)]


@pytest.mark.parametrize("command", ["mine", "rules"])
def test_exact_results_are_those_of_a_file_of_ours(run: Run, sales: dict[str, Path], command: str) -> None:
    call = (command, "--min-support", 0.1, "--format", "csv")
    wanted = run(*call, sales["ours"])
    assert wanted.code == 0
    assert "bread" in wanted.out
    for name, options in SAME:
        assert run(*call, sales[name], *options).out == wanted.out


def test_reports_are_those_of_a_file_of_ours(run: Run, sales: dict[str, Path], tmp_path: Path) -> None:
    made = []
    for name, options in [("ours", ()), *SAME]:
        path = tmp_path / f"{name}.reports.parquet"
        done = run("randomize", sales[name], "-o", path, "--keep", 0.9, "--max-size", 3, "--seed", 1, *options)
        assert done.code == 0, done.err
        made.append(bk.Reports.read(path).to_bytes())
    assert len(set(made)) == 1


def test_curate_and_audit(run: Run, sales: dict[str, Path], tmp_path: Path) -> None:
    items, reports = tmp_path / "items.txt", tmp_path / "r.parquet"
    items.write_text("milk\nbread\nbeer\nwine\n")
    declared = ("--items", items)
    for name, options in SAME:
        pytest.importorskip("opendp")
        result = run(
            "curate",
            sales[name],
            "--method",
            "truncation",
            "--epsilon",
            1e6,
            "--min-support",
            0.2,
            "--format",
            "json",
            *declared,
            *options,
        )
        assert result.code == 0, result.err
        found = {tuple(sorted(row["itemsets"])) for row in json.loads(result.out)["release"]}
        assert found == {("milk",), ("bread",), ("beer",), ("bread", "milk"), ("beer", "milk")}
        made = run("randomize", sales[name], "-o", reports, "--keep", 0.9, "--max-size", 3, *declared, *options)
        assert made.code == 0, made.err
        assert run("audit", sales[name], reports, "--min-support", 0.2, *options).code == 0


def test_standard_input(run: Run, sales: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    content = sales["sales"].read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    result = run("mine", "-", "--input-format", "csv", "--min-support", 0.1, "--format", "csv", *NAMES)
    assert result.code == 0
    assert result.out == run("mine", sales["ours"], "--min-support", 0.1, "--format", "csv").out


def test_without_names_the_hint_tells_of_them(run: Run, sales: dict[str, Path]) -> None:
    result = run("mine", sales["sales"], "--min-support", 0.1)
    assert result.code == 1
    assert "--record" in result.err
    assert "--item" in result.err


@pytest.mark.parametrize(
    "name, options, told",
    [
        ("sales", ("--record", "InvoiceNo"), "'--record' option must come with --item"),
        ("sales", ("--item", "StockCode"), "'record'"),
        ("sales", ("--record", "InvoiceNo", "--item", "Product"), "'StockCode'"),
        ("sales", ("--record", "InvoiceNo", "--item", "InvoiceNo"), "differ"),
        ("sales", (*NAMES, "--layout", "one-hot"), "one-hot"),
        ("sales", (*NAMES, "--input-format", "dat"), ".dat"),
        ("sales", (*NAMES, "--table"), "'--record' option must not come with --table"),
        ("lists", (*LIST, "--table"), "'--item' option must not come with --table"),
    ],
)
def test_usage(run: Run, sales: dict[str, Path], name: str, options: tuple[str, ...], told: str) -> None:
    result = run("mine", sales[name], "--min-support", 0.1, *options)
    assert result.code == 2
    assert told in result.err


@pytest.mark.parametrize("several", [False, True])
def test_reports_have_no_such_columns(run: Run, study: Study, several: bool) -> None:
    result = run("mine", *[study.reports] * (1 + several), "--min-support", 0.1, "--allow-duplicates", *NAMES)
    assert result.code == 2
    assert "'--record' option must" in result.err
