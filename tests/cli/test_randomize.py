"""``randomize`` and ``generate``."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from tests.cli.conftest import Run, Study


@pytest.mark.parametrize("suffix", [".dat", ".csv.gz", ".parquet"])
def test_generate(run: Run, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"quest{suffix}"
    options = ("--records", 200, "--mean-size", 5, "--mean-pattern", 3, "--items", 30, "--patterns", 20, "--seed", 3)
    result = run("generate", path, *options)
    assert (result.code, result.out) == (0, "")
    expected = bk.quest(records=200, mean_size=5, mean_pattern=3, items=30, patterns=20, seed=3)
    assert list(bk.Baskets.read(path)) == list(expected)


def test_generate_with_progress(run: Run, tmp_path: Path) -> None:
    result = run("generate", tmp_path / "q.dat", "--records", 200, "--progress")
    assert result.code == 0
    assert "generating" in result.err


def test_secure_by_default(run: Run, study: Study, tmp_path: Path) -> None:
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in paths:
        result = run("randomize", study.baskets, "-o", path, "--keep", 0.9)
        assert (result.code, result.out) == (0, "")
        assert "protects nobody" not in result.err
        assert "Privacy of Flip(keep=0.9)" in result.err
        assert "--items declares it" in result.err
    first, second = map(bk.Reports.read, paths)
    assert not first.is_simulation
    assert first.plan == second.plan
    assert not np.array_equal(first.bits, second.bits)


def test_a_seed_announces_itself(run: Run, study: Study, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    result = run("randomize", study.baskets, "-o", path, "--keep", 0.9, "--keep-absent", 0.95, "--seed", 5)
    assert result.code == 0
    assert "protects nobody" in result.err
    baskets = bk.Baskets.read(study.baskets)
    expected = bk.Flip(keep=0.9, keep_absent=0.95).randomize(baskets, rng=bk.Seeded(5))
    assert bk.Reports.read(path) == expected
    assert bk.Reports.read(path).is_simulation


def test_a_plan_written_can_be_used(run: Run, study: Study, tmp_path: Path) -> None:
    plan, path, again = tmp_path / "plan.json", tmp_path / "r.parquet", tmp_path / "s.parquet"
    options = ("--keep", 0.8, "--max-size", 20, "--seed", 1)
    assert run("randomize", study.baskets, "-o", path, *options, "--write-plan", plan).code == 0
    assert bk.Plan.from_json(plan.read_text()).unit.max_size == 20
    result = run("randomize", study.baskets, "-o", again, "--plan", plan, "--seed", 1)
    assert result.code == 0
    assert "--items" not in result.err
    assert bk.Reports.read(path) == bk.Reports.read(again)


def test_an_item_that_the_plan_does_not_know(run: Run, study: Study, tmp_path: Path) -> None:
    path = tmp_path / "more.dat"
    path.write_text("1 2\n3 999983\n")
    result = run("randomize", path, "-o", tmp_path / "r.parquet", "--plan", study.plan)
    assert result.code == 1
    assert "999983" not in result.err
    assert not (tmp_path / "r.parquet").exists()


def test_a_record_longer_than_promised(run: Run, study: Study, tmp_path: Path) -> None:
    result = run("randomize", study.baskets, "-o", tmp_path / "r.parquet", "--keep", 0.9, "--max-size", 1)
    assert result.code == 1
    assert "more items than the 1" in result.err


def test_reports_are_not_randomized_twice(run: Run, study: Study, tmp_path: Path) -> None:
    result = run("randomize", study.reports, "-o", tmp_path / "r.parquet", "--keep", 0.9)
    assert result.code == 1
    assert "randomized already" in result.err
    assert "hint: " in result.err


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", "not json", '{"bosket_plan": 99}', '{"bosket_plan": 1, "mechanism": {"name": "magic"}}']
)
def test_a_file_that_is_no_plan(run: Run, study: Study, tmp_path: Path, text: str) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(text)
    result = run("randomize", study.baskets, "-o", tmp_path / "r.parquet", "--plan", plan)
    assert result.code == 1
    assert str(plan) in result.err


def test_a_plan_with_an_impossible_keep_is_a_data_error(run: Run, study: Study, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(study.plan.read_text().replace("0.95", "1.95"))
    result = run("randomize", study.baskets, "-o", tmp_path / "r.parquet", "--plan", plan)
    assert result.code == 1
    assert str(plan) in result.err


def test_declared_items(run: Run, groceries: Path, tmp_path: Path) -> None:
    labels = ["milk", "<script>alert(1)</script>", "$x$", "$y", "<b>&", "wine, red"]
    items = tmp_path / "items.txt"
    items.write_text("\n".join(labels) + "\n")
    result = run("randomize", groceries, "-o", tmp_path / "r.parquet", "--keep", 0.9, "--items", items)
    assert result.code == 0
    assert "--items" not in result.err
    assert bk.Reports.read(tmp_path / "r.parquet").domain.labels == tuple(labels)


@pytest.mark.parametrize(("text", "line"), [("1\n\n2\n", 2), ("1\n2\n1\n", 3), ("1\n\xff", None), ("", None)])
def test_a_bad_line_of_declared_items(run: Run, study: Study, tmp_path: Path, text: str, line: int | None) -> None:
    items = tmp_path / "items.txt"
    items.write_text(text, "latin-1")
    result = run("randomize", study.baskets, "-o", tmp_path / "r.parquet", "--keep", 0.9, "--items", items)
    assert result.code == 1
    assert str(items) in result.err
    assert line is None or f"Line {line} of" in result.err


def test_declared_items_are_numbers_where_those_of_the_baskets_are(run: Run, study: Study, tmp_path: Path) -> None:
    items = tmp_path / "items.txt"
    items.write_text("\n".join(map(str, range(40))))
    assert run("randomize", study.baskets, "-o", tmp_path / "r.parquet", "--keep", 0.9, "--items", items).code == 0
    assert bk.Reports.read(tmp_path / "r.parquet").domain.labels == tuple(range(40))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("keep.csv", "item,keep\n3,0.7\n4,0.8\n"),
        ("keep.json", '{"3": 0.7, "4": {"keep": 0.8}}'),
    ],
)
def test_keep_files(run: Run, study: Study, tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    options = ("--keep-file", path, "--default", 0.9, "--keep-absent", 0.95, "--seed", 1)
    assert run("randomize", study.baskets, "-o", tmp_path / "r.parquet", *options).code == 0
    mechanism = bk.Reports.read(tmp_path / "r.parquet").plan.mechanism
    assert mechanism == bk.Flip(keep={3: 0.7, 4: 0.8}, keep_absent=0.95, default=0.9)


def test_a_keep_file_with_keep_absent_and_words(run: Run, groceries: Path, tmp_path: Path) -> None:
    path = tmp_path / "keep.csv"
    path.write_text('item,keep,keep_absent\nmilk,0.7,0.9\n"$x$",0.8,\n')
    out = tmp_path / "r.parquet"
    assert run("randomize", groceries, "-o", out, "--keep-file", path, "--default", 0.9).code == 0
    expected = bk.Flip(keep={"milk": 0.7, "$x$": 0.8}, keep_absent={"milk": 0.9}, default=0.9)
    assert bk.Reports.read(out).plan.mechanism == expected
    assert run("randomize", groceries, "-o", out, "--keep-file", path, "--default", 0.9, "--keep-absent", 0.5).code == 2


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("keep.csv", "item,keep\n3,0.7\n77,0.8\n", "Line 3"),
        ("keep.csv", "item,keep\n3,1.3\n", "Line 2"),
        ("keep.csv", "item,keep\n3,much\n", "Line 2"),
        ("keep.csv", "item,keep\n3\n", "Line 2"),
        ("keep.csv", "item,keep\n3,0.7\n3,0.7\n", "more than once"),
        ("keep.csv", "what,keep\n3,0.7\n", "header"),
        ("keep.csv", "item,keep\n", "names no item"),
        ("keep.csv", 'item,keep\n"3,0.7\n', "Line 2"),
        ("keep.csv", "", "is empty"),
        ("keep.json", '{"77": 0.7}', "does not have"),
        ("keep.json", '{"3": 1.3}', "[0, 1]"),
        ("keep.json", '{"3": true}', "[0, 1]"),
        ("keep.json", '{"3": 0.7, "3": 0.8}', "more than once"),
        ("keep.json", '{"3": {"q": 0.8}}', "must give keep"),
        ("keep.json", '{"3": {"keep": 0.7, "keep": 0.8}}', "more than once"),
        ("keep.json", '{"3": 1' + 400 * "0" + "}", "[0, 1]"),
        ("keep.json", '{"3": 1' + 5000 * "0" + "}", "JSON"),
        ("keep.json", 100_000 * "[", "JSON"),
        ("keep.json", "[0.7]", "JSON object"),
        ("keep.json", '{"3": ', "Line 1"),
    ],
)
def test_bad_keep_files(run: Run, study: Study, tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    result = run("randomize", study.baskets, "-o", tmp_path / "r.parquet", "--keep-file", path, "--default", 0.9)
    assert result.code == 1
    assert said in result.err
    assert str(path) in result.err
    assert not (tmp_path / "r.parquet").exists()


def test_a_keep_file_must_name_every_item_or_come_with_a_default(run: Run, study: Study, tmp_path: Path) -> None:
    path = tmp_path / "keep.csv"
    path.write_text("item,keep\n3,0.7\n")
    result = run("randomize", study.baskets, "-o", tmp_path / "r.parquet", "--keep-file", path)
    assert result.code == 1
    assert "hint: Give the keep of the others with --default." in result.err
    labels = bk.Baskets.read(study.baskets).domain.labels
    path.write_text("item,keep\n" + "".join(f"{label},0.7\n" for label in labels))
    arguments = ("randomize", study.baskets, "-o", tmp_path / "r.parquet", "--keep-file", path)
    assert run(*arguments).code == 0
    assert run(*arguments, "--default", 0.9).code == 0  # not needed, and harmless


def test_baskets_from_standard_input(run: Run, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(study.baskets.read_bytes())))
    assert run("randomize", "-", "-o", tmp_path / "r.parquet", "--keep", 0.9, "--seed", 1).code == 0
    expected = bk.Flip(keep=0.9).randomize(bk.Baskets.read(study.baskets), rng=bk.Seeded(1))
    assert bk.Reports.read(tmp_path / "r.parquet") == expected


def test_records_without_any_item_need_a_declared_domain(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "blank.dat"
    path.write_text("\n\n\n")
    result = run("randomize", path, "-o", tmp_path / "r.parquet", "--keep", 0.9)
    assert result.code == 1
    assert "--items" in result.err


def test_keep_of_one_half_randomizes_and_cannot_be_mined(run: Run, study: Study, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    assert run("randomize", study.baskets, "-o", path, "--keep", 0.5).code == 0
    result = run("mine", path, "--min-support", 0.1)
    assert (result.code, result.out) == (1, "")
    assert "hint: " in result.err


def test_the_old_reports_stay_when_writing_fails(
    run: Run, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.parquet"
    assert run("randomize", study.baskets, "-o", path, "--keep", 0.9).code == 0
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    result = run("randomize", study.baskets, "-o", path, "--keep", 0.9)
    assert result.code == 1
    assert "No space left" in result.err
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["r.parquet"]


def test_plan_json_is_what_the_library_reads(run: Run, study: Study, tmp_path: Path) -> None:
    plan = tmp_path / "p.json"
    run("randomize", study.baskets, "-o", tmp_path / "r.parquet", "--keep", 0.9, "--write-plan", plan)
    assert json.loads(plan.read_text())["mechanism"]["keep"] == 0.9


def test_a_plan_settles_what_labels_are(run: Run, tmp_path: Path) -> None:
    """A FIMI file holds numbers, and the labels of the plan may be text all the same; they stay what the plan has."""
    items, plan, raw = tmp_path / "items.txt", tmp_path / "plan.json", tmp_path / "raw.dat"
    items.write_text("milk\n1\n2\n")
    raw.write_text("1 2\n2\n\n")
    first = run("randomize", raw, "-o", tmp_path / "a.parquet", "--keep", 1, "--items", items, "--write-plan", plan)
    second = run("randomize", raw, "-o", tmp_path / "b.parquet", "--plan", plan)
    assert (first.code, second.code) == (0, 0)
    for name in ("a", "b"):
        reports = bk.Reports.read(tmp_path / f"{name}.parquet")
        assert reports.domain.labels == ("milk", "1", "2")
        assert reports.bits[:, 0].tolist() == [0b110, 0b100, 0]
    raw.write_text("1 2\n3\n")
    result = run("randomize", raw, "-o", tmp_path / "c.parquet", "--plan", plan)
    assert result.code == 1
    assert "Line 2 of" in result.err
