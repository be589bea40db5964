"""Signs that a terminal obeys, or that turn the direction of writing, in names and labels that come from others."""

from __future__ import annotations

import ast
import csv
import io
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import bosket as bk
import bosket.cli
from bosket.budget.budgets import Budget
from tests.cli.conftest import Result, Run

RED = "\x1b[31m"
CLEAR = "\x1b]0;owned\x07\x9b2J"
TURNED = "\u202eklim\u200b"
BAD = f"{RED}{TURNED}"


def hidden(text: str) -> set[str]:
    """Signs that are not seen; a line feed ends a line."""
    return {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}


def check_plain(result: Result, code: int, said: str) -> None:
    assert result.code == code
    assert not hidden(result.out + result.err)
    assert said in (result.out + result.err).replace("\n", ""), "titles are broken into lines"


@pytest.fixture
def baskets(tmp_path: Path) -> Path:
    """Baskets whose labels would colour and turn what comes after them."""
    path = tmp_path / "baskets.csv"
    bk.Baskets([[f"milk{BAD}", "bread"], [f"milk{BAD}", "bread"], ["bread"], [f"{CLEAR}beer"]] * 20).write(path)
    return path


def test_tables_show_what_is_hidden_in_labels(run: Run, baskets: Path) -> None:
    for command in ("mine", "rules"):
        result = run(command, baskets, "--min-support", 0.2)
        check_plain(result, 0, r"milk\x1b[31m\u202eklim\u200b")


def test_files_and_data_on_standard_output_keep_labels_as_they_are(run: Run, baskets: Path, tmp_path: Path) -> None:
    label = f"milk{BAD}"
    found = json.loads(run("mine", baskets, "--min-support", 0.2, "--format", "json").out)
    assert label in {item for row in found["itemsets"] for item in row["itemsets"]}
    rows = csv.DictReader(io.StringIO(run("mine", baskets, "--min-support", 0.2, "--format", "csv").out))
    assert label in {item for row in rows for item in json.loads(row["itemsets"])}
    out = tmp_path / "found.parquet"
    check_plain(run("mine", baskets, "--min-support", 0.2, "-o", out), 0, "wrote")
    assert label in {item for itemset in pq.read_table(out).column("itemsets").to_pylist() for item in itemset}


def test_pages_show_what_is_hidden_in_labels(run: Run, baskets: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("mine", baskets, "--min-support", 0.2, "--report", page).code == 0
    written = page.read_text()
    assert not hidden(written) - {"\t"}
    assert r"milk\x1b[31m\u202eklim\u200b" in written


def test_what_a_report_file_says_of_itself(run: Run, study: object, tmp_path: Path) -> None:
    """The plan's labels, and the note on the randomness, are whatever who sent the file wrote."""
    source = tmp_path / "reports.parquet"
    data = bk.Baskets(
        [[f"milk{BAD}", "bread"], ["bread"], [f"{CLEAR}beer"]] * 200, items=[f"milk{BAD}", "bread", f"{CLEAR}beer"]
    )
    bk.Plan(data.domain, bk.Flip(keep={f"milk{BAD}": 0.9}, default=0.95)).randomize(data, rng=bk.Seeded(1)).write(
        source
    )
    table = pq.read_table(source)
    metadata = {
        key: value.replace(b"a simulation", f"a {BAD} simulation".encode()) if b"randomness" in key else value
        for key, value in table.schema.metadata.items()
    }
    assert metadata != table.schema.metadata
    pq.write_table(table.replace_schema_metadata(metadata), source)
    for command in ("mine", "rules"):
        result = run(command, source, "--min-support", 0.1, "-v")
        assert not hidden(result.out + result.err)
        assert r"\x1b[31m" in result.out + result.err


def test_names_and_purposes_of_budgets(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "study.ledger"
    check_plain(run("budget", "create", path, "--name", TURNED, "--epsilon", "1"), 0, r"\u202eklim\u200b")
    Budget.open(path, TURNED).spend(0.1, purpose=f"look {TURNED}")
    check_plain(run("budget", "show", path), 0, r"\u202eklim")
    check_plain(run("budget", "show", path, "--name", TURNED), 0, r"look \u202eklim")
    check_plain(run("budget", "create", path, "--name", TURNED, "--epsilon", "1"), 1, r"\u202eklim")
    check_plain(run("budget", "show", path, "--name", f"no {TURNED}"), 1, r"\u202eklim")


def test_paths(run: Run, tmp_path: Path, baskets: Path) -> None:
    check_plain(run("mine", tmp_path / f"{BAD}.dat", "--min-support", 0.1), 1, r"\x1b[31m")
    check_plain(run("mine", tmp_path / "two\nlines.dat", "--min-support", 0.1), 1, r"two\x0alines")
    named = baskets.rename(tmp_path / f"{BAD}.csv")
    check_plain(run("mine", named, "--min-support", 0.1, "-v"), 0, r"\x1b[31m")
    check_plain(run("budget", "create", tmp_path / f"{BAD}.ledger", "--name", "x", "--epsilon", "1"), 0, r"\x1b[31m")
    check_plain(run("budget", "show", tmp_path / f"{BAD}.ledger"), 0, r"\x1b[31m")


def test_arguments(run: Run, baskets: Path) -> None:
    for arguments in (
        ("mine", baskets, "--min-support", f"0.1{BAD}"),
        ("mine", baskets, "--min-support", 0.1, f"--{BAD}"),
        (f"mine{BAD}",),
        ("rules", baskets, "--min-support", 0.1, "--metric", BAD),
        ("budget", "show", f"{BAD}{CLEAR}"),
    ):
        result = run(*arguments)
        assert result.code in (1, 2)
        assert not hidden(result.out + result.err)
        assert r"\x1b[31m" in result.err


def test_headers_of_tables(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"age{BAD},age{BAD}\n1,2\n")
    result = run("mine", "--table", path, "--min-support", 0.1)
    assert result.code in (1, 2)
    assert not hidden(result.out + result.err)
    path.write_text(f"age{BAD},sex\n" + "old,f\nyoung,m\n" * 50)
    check_plain(run("mine", "--table", path, "--min-support", 0.1), 0, r"age\x1b[31m")


def test_progress(run: Run, tmp_path: Path, baskets: Path) -> None:
    """The bar itself is drawn with signs for the terminal; what it is called is not obeyed."""
    named = baskets.rename(tmp_path / f"{CLEAR}.csv")
    result = run("mine", named, "--min-support", 0.1, "--progress", "-v")
    assert result.code == 0
    assert CLEAR not in result.err
    assert "\x1b]0;" not in result.err


@pytest.mark.slow
def test_a_bug_shows_what_is_hidden_in_its_message() -> None:
    driver = (
        "import sys, bosket.mining\n"
        "from bosket.cli import program\n"
        "def broken(*a, **k): raise RuntimeError('\\x1b[31m\\u202e in a label')\n"
        "bosket.mining.mine = broken\n"
        "import tempfile, pathlib\n"
        "path = pathlib.Path(tempfile.mkdtemp()) / 'x.dat'\n"
        "path.write_text('1 2\\n')\n"
        "sys.argv = ['bosket', 'mine', str(path), '--min-support', '0.1']\n"
        "sys.exit(program())\n"
    )
    done = subprocess.run([sys.executable, "-c", driver], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert r"RuntimeError: \x1b[31m\u202e in a label" in done.stderr
    assert not hidden(done.stderr)


def test_there_is_one_way_to_a_terminal() -> None:
    """Whatever is printed goes through two modules, which make it visible."""
    folder = Path(bosket.cli.__file__).parent
    for path in sorted(folder.glob("*.py")):
        names = {
            getattr(node.func, "id", "") for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        }
        assert "print" not in names or path.name == "console.py", path.name
        assert "standard_output" not in names or path.name == "tables.py", path.name
