"""``bosket curate``: pays from the ledger, writes the release, says nothing exact."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from bosket.curator import curate
from bosket.errors import DataError
from tests.cli.conftest import Run


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = tmp_path / "raw.dat"
    path.write_text("1 2\n" * 3007 + "1 3\n" * 1503 + "4\n" * 211)
    return path


def truncating(raw: Path, epsilon: object, min_support: float) -> tuple[object, ...]:
    """The start of a command that curates a file by truncation, which is quicker than the sieve."""
    return ("curate", raw, "--method", "truncation", "--epsilon", epsilon, "--min-support", min_support)


def test_a_release_from_a_ledger(run: Run, raw: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    assert run("budget", "create", ledger, "--name", "shop", "--epsilon", 1.5).code == 0
    out = tmp_path / "release.json"
    call = (*truncating(raw, 1, 0.1), "--items-are-public", "--ledger", ledger)
    result = run(*call, "--budget", "shop", "-o", out)
    assert result.code == 0
    assert "entries 1, 2" in result.err
    value = json.loads(out.read_text())
    assert {frozenset(row["itemsets"]) for row in value["release"]} >= {frozenset([1]), frozenset([1, 2])}
    assert value["about"]["epsilon"] == 1
    again = run(*call, "--budget", "shop")
    assert again.code == 1
    assert "left" in again.err
    shown = run("budget", "show", ledger, "--name", "shop")
    assert "0.5" in shown.out


@pytest.mark.slow
def test_the_sieve_with_a_delta_from_a_ledger(run: Run, raw: Path, tmp_path: Path) -> None:
    ledger, out = tmp_path / "ledger.sqlite", tmp_path / "release.json"
    assert run("budget", "create", ledger, "--name", "shop", "--epsilon", 9, "--delta", 1e-5).code == 0
    call = (*truncating(raw, 8, 0.1), "--items-are-public", "--ledger", ledger)
    result = run(*call, "--budget", "shop", "--method", "sieve", "--delta", 1e-6, "-o", out)
    assert result.code == 0
    assert "entry 1; " in result.err
    assert "epsilon 8, delta 1e-06" in result.err
    assert "epsilon 1.0, delta 9e-06 is left" in result.err
    assert "expected to be frequent" in result.err
    value = json.loads(out.read_text())
    assert {frozenset(row["itemsets"]) for row in value["release"]} >= {frozenset([1]), frozenset([1, 2])}
    assert value["about"]["guarantee"]["delta"] == 1e-6
    assert all(0 <= row["probability"] <= 1 for row in value["release"])


@pytest.mark.slow
def test_a_delta_of_which_nothing_is_left_is_said(run: Run, raw: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    run("budget", "create", ledger, "--name", "shop", "--epsilon", 9, "--delta", 1e-6)
    call = (*truncating(raw, 8, 0.1), "--items-are-public", "--ledger", ledger)
    result = run(*call, "--budget", "shop", "--method", "sieve", "--delta", 1e-6)
    assert "epsilon 1.0, delta 0.0 is left" in result.err


@pytest.mark.parametrize(
    ("epsilon", "method"),
    [("1e6", ("--method", "sieve", "--delta", "1e-6")), ("1e300", ("--method", "sieve")), ("1e300", ())],
    ids=["sieve with a delta", "sieve", "truncation"],
)
def test_an_epsilon_without_end_is_refused_before_it_is_paid(
    run: Run, raw: Path, tmp_path: Path, epsilon: str, method: tuple[str, ...]
) -> None:
    ledger = tmp_path / "ledger.sqlite"
    assert run("budget", "create", ledger, "--name", "shop", "--epsilon", "1e301", "--delta", "1e-5").code == 0
    call = (*truncating(raw, epsilon, 0.1), "--items-are-public", "--ledger", ledger)
    result = run(*call, "--budget", "shop", *method)
    assert result.code in (1, 2)
    assert "must be at most" in result.err
    assert json.loads(run("budget", "show", ledger, "--name", "shop", "--format", "json").out)["entries"] == []


@pytest.mark.parametrize("method", ["sieve", "truncation"])
def test_the_most_frequent_of_a_size_with_a_page(run: Run, raw: Path, tmp_path: Path, method: str) -> None:
    page = tmp_path / "page.html"
    call = ("curate", raw, "--epsilon", 50, "--top-k", 2, "--max-size", 1, "--items-are-public", "--method", method)
    result = run(*call, "--report", page)
    assert result.code == 0
    html = page.read_text()
    assert html.count("<svg") == 1
    assert "50-differential privacy for one record" in html
    assert "for the 2 most frequent" in html
    assert "3007" not in html
    assert "read off the records" in html
    assert ("those of a posterior: they hold as far as its assumptions do" in html) == (method == "sieve")
    assert ("rounds of bounded contributions (the sieve) with discrete Laplace noise</td>" in html) == (
        method == "sieve"
    )
    assert "was read off the records as known to everybody, and is not protected" in result.err
    assert ("expected to be among the 2 most frequent" in result.err) == (method == "sieve")


@pytest.mark.parametrize("asked", [("--min-support", 0.1), ("--top-k", 2, "--delta", 1e-6)])
def test_the_sieve_is_the_default(run: Run, raw: Path, asked: tuple[object, ...]) -> None:
    result = run("curate", raw, "--epsilon", 50, *asked, "--items-are-public", "--format", "json")
    assert result.code == 0
    assert json.loads(result.out)["about"]["method"] == "sieve"


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_every_file_has_the_guarantee_in_a_sentence(run: Run, raw: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"release.{suffix}"
    call = ("curate", raw, "--epsilon", 8, "--min-support", 0.1, "--items-are-public", "--method", "sieve")
    result = run(*call, "--delta", 1e-6, "-o", out)
    assert result.code == 0
    sentence = "(8, 1e-06)-differential privacy for one record: any set of outcomes has at most exp(8) times"
    assert sentence in result.err
    if suffix == "parquet":
        about = json.loads(parquet.read_schema(out).metadata[b"bosket.about"])
    else:
        text = (out if suffix == "json" else tmp_path / "release.csv.about.json").read_text()
        about = json.loads(text)["about"] if suffix == "json" else json.loads(text)
    assert about["guarantee"]["sentence"].startswith(sentence)


@pytest.mark.parametrize(
    "wrong", [["--delta", "1"], ["--delta", "nan"], ["--max-size", "0"], ["--report", "page.pdf"], ["--top-k", "0"]]
)
def test_options_that_are_refused_cost_nothing(run: Run, raw: Path, tmp_path: Path, wrong: list[str]) -> None:
    ledger = tmp_path / "ledger.sqlite"
    run("budget", "create", ledger, "--name", "shop", "--epsilon", 1, "--delta", 1e-3)
    asked = [] if "--top-k" in wrong else ["--min-support", 0.1]
    call = (
        "curate",
        raw,
        "--method",
        "truncation",
        "--epsilon",
        1,
        *asked,
        "--items-are-public",
        "--ledger",
        ledger,
        "--budget",
        "shop",
    )
    assert run(*call, "--method", "sieve", *wrong).code in (1, 2)
    assert "left epsilon 1.0" in " ".join(run("budget", "show", ledger, "--name", "shop").out.split())


def test_a_release_is_written_though_the_ledger_cannot_be_read_any_more(
    run: Run, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is paid for, and cannot be had again."""
    from bosket import curator

    ledger, out, real = tmp_path / "ledger.sqlite", tmp_path / "release.json", curator.mine
    run("budget", "create", ledger, "--name", "shop", "--epsilon", 1.5)

    def mine(*args: Any, **options: Any) -> Any:
        release = real(*args, **options)
        ledger.rename(tmp_path / "away.sqlite")
        return release

    monkeypatch.setattr(curator, "mine", mine)
    call = (*truncating(raw, 1, 0.1), "--items-are-public", "--ledger", ledger)
    result = run(*call, "--budget", "shop", "-o", out)
    assert (result.code, out.exists()) == (0, True)
    assert "what is left cannot be read: " in result.err


def test_nothing_is_paid_for_what_cannot_be_written(run: Run, raw: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    run("budget", "create", ledger, "--name", "shop", "--epsilon", 1)
    taken = tmp_path / "out.json"
    taken.mkdir()
    call = (*truncating(raw, 1, 0.1), "--items-are-public", "--ledger", ledger)
    assert run(*call, "--budget", "shop", "-o", taken).code != 0
    assert "left epsilon 1.0" in " ".join(run("budget", "show", ledger, "--name", "shop").out.split())


def test_what_cannot_be_written_after_all_is_printed(
    run: Run, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is paid for: a disk that fills up meanwhile must not swallow it."""

    def full(*_: object) -> None:
        raise DataError("No space left.")

    monkeypatch.setattr("bosket.cli.commands.curate.write_result", full)
    call = (*truncating(raw, 2, 0.1), "--items-are-public", "-o", tmp_path / "out.csv")
    result = run(*call)
    assert result.code == 1
    assert json.loads(result.out)["release"]


def test_nothing_exact_is_said(run: Run, raw: Path) -> None:
    """No exact number of records or of an item's records is said every time; a noisy one may be right by chance.

    The noise is 0 in one case of fifty, so a sound command fails here once in 1e10.
    """
    said = []
    for _ in range(6):
        result = run("curate", raw, "--method", "truncation", "--epsilon", 2, "--top-k", 3, "--items-are-public", "-v")
        assert result.code == 0
        said.append({int(number.replace(",", "")) for number in re.findall(r"\b\d[\d,]*\b", result.err)})
    for exact in (4721, 4510, 3007, 1503, 211):
        assert not all(exact in numbers for numbers in said)


def test_items_file(run: Run, raw: Path, tmp_path: Path) -> None:
    items = tmp_path / "items.txt"
    items.write_text("1\n2\n3\n4\n5\n")
    assert run(*truncating(raw, 2, 0.1), "--items", items).code == 0
    items.write_text("1\n2\n")  # others occur, and are left out without a word: that they do would be told
    result = run(*truncating(raw, 2, 0.1), "--items", items, "--format", "json")
    assert result.code == 0
    assert {label for row in json.loads(result.out)["release"] for label in row["itemsets"]} <= {1, 2}


def test_one_record_does_not_decide_what_labels_are(run: Run, tmp_path: Path) -> None:
    """A file of numbers, and the same with one record of a word, which is declared: both are curated alike."""
    items = tmp_path / "items.txt"
    items.write_text("milk\n1\n2\n")
    for name, last in (("numbers.csv", ""), ("words.csv", "9999,milk\n")):
        raw = tmp_path / name
        raw.write_text("record,item\n" + "".join(f"{at},1\n{at},2\n" for at in range(3000)) + last)
        result = run(*truncating(raw, 2, 0.5), "--items", items, "--format", "json")
        assert result.code == 0
        assert {tuple(sorted(row["itemsets"])) for row in json.loads(result.out)["release"]} >= {("1",), ("2",)}


@pytest.mark.parametrize(
    "options",
    [
        ("--epsilon", 0, "--min-support", 0.1, "--items-are-public"),
        ("--epsilon", "nan", "--min-support", 0.1, "--items-are-public"),
        ("--epsilon", 1, "--items-are-public"),
        ("--epsilon", 1, "--min-support", 0.1),
        ("--epsilon", 1, "--top-k", 0, "--items-are-public"),
        ("--epsilon", 1, "--top-k", 5, "--items-are-public", "--budget", "x"),
        ("--epsilon", 1, "--top-k", 5, "--items-are-public", "--method", "truncation", "--delta", 1e-6),
    ],
)
def test_usage(run: Run, raw: Path, options: tuple[object, ...]) -> None:
    assert run("curate", raw, *options).code == 2


def test_hopeless(run: Run, tmp_path: Path) -> None:
    """A limit of two records, where noise has a scale of a hundred."""
    raw = tmp_path / "few.dat"
    raw.write_text("1 2\n" * 2000)
    result = run(*truncating(raw, 0.1, 0.001), "--items-are-public")
    assert result.code == 1
    assert "within the noise" in result.err
    assert "hint" in result.err


def test_a_release_of_nothing_says_how_likely_nothing_is_frequent(run: Run, tmp_path: Path) -> None:
    raw, items, page = tmp_path / "few.dat", tmp_path / "items.txt", tmp_path / "page.html"
    raw.write_text("1 2\n" * 3000)
    items.write_text("3\n4\n")
    result = run("curate", raw, "--epsilon", 1, "--min-support", 0.5, "--items", items, "--report", page)
    assert result.code == 0
    assert "note: nothing is frequent, with a probability of about 100%" in result.err
    assert "of these are expected" not in result.err + page.read_text()
    assert "is how likely nothing is frequent" in page.read_text()


def outcomes(run: Run, raws: list[Path], items: Path) -> list[tuple[int, set[object]]]:
    """The exit code of curating each file, and which single items the release names."""
    found = []
    for raw in raws:
        call = (*truncating(raw, 2, 0.5), "--items", items, "--format", "json")
        result = run(*call)
        rows = json.loads(result.out)["release"] if result.code == 0 else []
        found.append((result.code, {label for row in rows for label in row["itemsets"]}))
    return found


def test_one_record_does_not_decide_whether_there_is_a_release(run: Run, tmp_path: Path) -> None:
    """Two files that differ in one record, which used to turn a release into an error."""
    items = tmp_path / "items.txt"
    items.write_text("1\n2\n3\nitem\n")
    rows = [(at, item) for at in range(3000) for item in (1, 2)]
    raws = []
    for name, last in (("a", (9999, "3")), ("b", (9999, "item")), ("c", (9999, "?")), ("d", (9999, '"'))):
        raws.append(tmp_path / f"{name}.csv")
        raws[-1].write_text("record,item\n" + "".join(f"{at},{item}\n" for at, item in [*rows, last]))
    raws += [tmp_path / "whole.parquet", tmp_path / "half.parquet", tmp_path / "a.dat", tmp_path / "b.dat"]
    for raw, last_item in ((raws[4], 3.0), (raws[5], 2.5)):
        columns = {"record": [at for at, _ in rows] + [9999], "item": [float(item) for _, item in rows] + [last_item]}
        parquet.write_table(pa.table(columns), raw)
    raws[6].write_text("1 2\n" * 3000 + "3\n")
    raws[7].write_bytes(b"1 2\n" * 3000 + b"three \xff\0\n")
    assert outcomes(run, raws, items) == [(0, {"1", "2"})] * len(raws)


def test_a_cap_on_what_is_read(run: Run, tmp_path: Path) -> None:
    raw, items = tmp_path / "x.dat.gz", tmp_path / "items.txt"
    raw.write_bytes(gzip.compress(b"1 2\n" * 3000))
    items.write_text("1\n2\n3\n")
    call = (*truncating(raw, 2, 0.5), "--items", items)
    for cap, code in (("12kB", 0), ("11.5 KiB", 1), ("5", 1), ("none", 0), ("2GiB", 0)):
        result = run(*call, "--max-bytes", cap)
        assert result.code == code
        assert ("--max-bytes" in result.err) == (code == 1)
    assert str(items) in run(*call, "--max-bytes", 5).err  # the items file has the cap too, and is read first
    for cap in ("0", "-1", "lots", "1XB", "1e400", "nan", ""):
        assert run(*call, "--max-bytes", cap).code == 2


def test_a_record_that_ends_like_a_file_of_reports(run: Run, tmp_path: Path) -> None:
    """Parquet is known by how a file ends: the last record of a text made the whole of it a file of another kind."""
    items = tmp_path / "items.txt"
    items.write_text("1\n2\n3\nitem\n")
    raws = []
    for name, key in (("plain", None), ("reports", "bosket.plan"), ("table", "bosket.table")):
        raws.append(tmp_path / f"{name}.dat")
        parquet.write_table(pa.table({"x": [1]}).replace_schema_metadata({key: "{}"} if key else None), raws[-1])
        last = raws[-1].read_bytes() if key else b"3"
        raws[-1].write_bytes(b"1 2\n" * 3000 + last)
    assert outcomes(run, raws, items) == [(0, {"1", "2"})] * len(raws)


@pytest.mark.parametrize(
    "step, paid", [("bosket.cli.commands.curate._read", False), ("bosket.curator.curate.look_first", True)]
)
def test_an_interruption_says_what_was_paid(
    run: Run, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, paid: bool
) -> None:
    """Before the first look nothing is; from then on all of it is, and stays spent."""

    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    ledger = tmp_path / "ledger.sqlite"
    run("budget", "create", ledger, "--name", "shop", "--epsilon", 2)
    curate._compiled()
    monkeypatch.setattr(step, interrupted)
    call = (*truncating(raw, 0.5, 0.1), "--items-are-public", "--ledger", ledger)
    result = run(*call, "--budget", "shop")
    assert result.code == 130
    assert ("entries 1, 2 were paid and stay spent; epsilon 1.5 is left" in result.err) == paid
    assert ("nothing was paid" in result.err) == (not paid)
    rows = json.loads(run("budget", "show", ledger, "--name", "shop", "--format", "json").out)["entries"]
    assert [row["epsilon"] for row in rows] == ([0.075, 0.425] if paid else [])


TABLE = ("--table", "--columns", "age,sex", "--bins", "age=15,35", "--values", "sex=F,M")


def table_file(path: Path, *more: bytes) -> Path:
    lines = [b"age,sex,name\n", *([b"20,F,x\n"] * 1800), *([b"50,M,y\n"] * 1200), *more]
    path.write_bytes(b"".join(lines))
    return path


def test_a_table(run: Run, tmp_path: Path) -> None:
    raw = table_file(tmp_path / "people.csv")
    result = run(*truncating(raw, 2, 0.2), *TABLE, "--format", "json")
    assert result.code == 0
    found = {frozenset(row["itemsets"]) for row in json.loads(result.out)["release"]}
    assert found >= {frozenset(["sex=F"]), frozenset(["age=[15,35)", "sex=F"])}
    assert "unknown" in result.err
    assert "were not looked for" not in result.err  # a record has two items
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"columns": ["age", "sex"], "bins": {"age": [15, 35]}, "values": {"sex": ["F", "M"]}}))
    by_schema = run(
        "curate",
        raw,
        "--method",
        "truncation",
        "--epsilon",
        2,
        "--top-k",
        3,
        "--table",
        "--schema",
        schema,
        "--format",
        "csv",
    )
    assert by_schema.code == 0
    assert len(by_schema.out.splitlines()) >= 4


@pytest.mark.parametrize("line", [b"-3,F,x\n", b"old,?\n", b"\n", b'20,"F,x\n', b"20,\xff\0,x\n", b"20,X,x\n"])
def test_one_line_of_a_table_does_not_decide_whether_there_is_a_release(run: Run, tmp_path: Path, line: bytes) -> None:
    for more in ((), (line,)):
        raw = table_file(tmp_path / "people.csv", *more)
        result = run(*truncating(raw, 100, 0.2), *TABLE, "--format", "json")
        assert result.code == 0
        assert {label for row in json.loads(result.out)["release"] for label in row["itemsets"]} == {
            "age=[15,35)", "age=[35,inf)", "sex=F", "sex=M"
        }  # fmt: skip


def test_columns_of_a_table_must_be_declared(run: Run, tmp_path: Path) -> None:
    raw = table_file(tmp_path / "people.csv")
    ledger = tmp_path / "ledger.sqlite"
    run("budget", "create", ledger, "--name", "all", "--epsilon", 5)
    paid = ("--ledger", ledger, "--budget", "all")
    result = run(*truncating(raw, 2, 0.2), "--table", "--values", "sex=F,M", *paid)
    assert result.code == 2
    assert "'age' has none" in result.err
    assert "--bins" in result.err
    assert "left epsilon 5.0" in " ".join(run("budget", "show", ledger, "--name", "all").out.split())
    public = ("--table", "--columns", "sex", "--items-are-public")
    assert run(*truncating(raw, 2, 0.2), *public).code == 0


@pytest.mark.parametrize(
    "options",
    [
        (*TABLE, "--items", "items.txt"),
        ("--items-are-public", "--values", "sex=F,M"),
        (*TABLE, "--layout", "long"),
        ("--columns", "age"),
    ],
)
def test_options_of_tables_that_do_not_belong_together(run: Run, raw: Path, options: tuple[object, ...]) -> None:
    assert run("curate", raw, "--epsilon", 1, "--min-support", 0.1, *options).code == 2


def test_hints_about_ledgers_are_in_the_words_of_the_command_line(run: Run, raw: Path, tmp_path: Path) -> None:
    call = (*truncating(raw, 1, 0.1), "--items-are-public", "--budget", "shop")
    missing = run(*call, "--ledger", tmp_path / "none.ledger")
    assert missing.code == 1
    assert "'bosket budget create' makes one" in missing.err
    ledger = tmp_path / "ledger.sqlite"
    run("budget", "create", ledger, "--name", "shop", "--epsilon", 1)
    again = run("budget", "create", ledger, "--name", "shop", "--epsilon", 1)
    assert "'bosket curate --budget' uses it" in again.err


def _of_persons(path: Path, *, extra: str = "") -> Path:
    """A row per item; 900 persons with two records each, both of which are called 1 and 2."""
    rows = ["shopper,record,item"]
    for person in range(900):
        rows += [f"p{person},1,milk", f"p{person},1,bread", f"p{person},2,milk"]
    path.write_text("\n".join(rows) + "\n" + extra)
    return path


def test_records_of_persons_are_protected_together(run: Run, tmp_path: Path) -> None:
    raw, items, out = _of_persons(tmp_path / "raw.csv"), tmp_path / "items.txt", tmp_path / "release.json"
    items.write_text("milk\nbread\n")
    call = ("curate", raw, "--epsilon", 9, "--min-support", 0.2, "--person", "shopper")
    known = ("--record", "record", "--item", "item", "--items", items, "-o", out)
    result = run(*call, "--max-records-per-person", 2, *known)
    assert result.code == 0, result.err
    about = json.loads(out.read_text())["about"]
    assert about["max_records_per_person"] == 2
    assert about["n_records"] == pytest.approx(1800, abs=300), "records of two persons with one name are two"
    assert run(*call, *known).code == 2, "how many records of each is part of the claim"
    assert run("curate", raw, "--epsilon", 9, "--min-support", 0.2, "--max-records-per-person", 2, *known).code == 2
    assert run(*call, "--max-records-per-person", 2, "--method", "truncation", *known).code == 2
    no_such = ("curate", raw, "--epsilon", 9, "--min-support", 0.2, "--person", "buyer", "--max-records-per-person", 2)
    assert run(*no_such, *known).code == 2


def test_persons_are_paid_for_by_a_budget_for_persons(run: Run, tmp_path: Path) -> None:
    raw, items, ledger = _of_persons(tmp_path / "raw.csv"), tmp_path / "items.txt", tmp_path / "shop.ledger"
    items.write_text("milk\nbread\n")
    call = (
        "curate",
        raw,
        "--epsilon",
        9,
        "--min-support",
        0.2,
        "--max-size",
        1,
        "--record",
        "record",
        "--item",
        "item",
    )
    known = (*call, "--person", "shopper", "--max-records-per-person", 2, "--items", items, "--ledger", ledger)
    assert run("budget", "create", ledger, "--name", "records", "--epsilon", 9).code == 0
    made = run("budget", "create", ledger, "--name", "people", "--epsilon", 9, "--neighbours", "add-remove-persons")
    assert "one person, added or removed with all their records" in made.err
    refused = run(*known, "--budget", "records")
    assert refused.code != 0
    assert "must be one for persons" in refused.err
    assert json.loads(run("budget", "show", ledger, "--name", "records", "--format", "json").out)["entries"] == []
    paid = run(*known, "--budget", "people")
    assert paid.code == 0, paid.err
    assert "epsilon 0.0 is left" in paid.err


def test_rows_of_a_person_decide_nothing_but_its_own_records(tmp_path: Path) -> None:
    """Rows with the record of another person, without a person, with cells too many, or with an unknown item."""
    from bosket.data import Domain
    from bosket.data.formats.declared_persons import read_csv_of_persons
    from bosket.data.formats.sources import Content

    domain = Domain(["milk", "bread"])

    def read(path: Path) -> list[tuple[bytes, list[int]]]:
        csr, persons = read_csv_of_persons(Content(path), domain, person="shopper", record="record", item="item")
        ends = csr.indptr.tolist()
        return [(one, csr.indices[a:b].tolist()) for one, a, b in zip(persons, ends, ends[1:], strict=False)]

    before = read(_of_persons(tmp_path / "one.csv"))
    added = 'mallory,1,bread\nmallory,1,gin\n,1,bread\np0,1\n"p1",2,bread,4\nmallory,9,"\n'
    after = read(_of_persons(tmp_path / "other.csv", extra=added))
    assert len(before) == 1800
    assert after[:1800] == before
    assert {person for person, _ in after[1800:]} == {b"mallory"}
    assert after[1800] == (b"mallory", [domain.itemset(["bread"])[0]])
