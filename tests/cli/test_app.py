"""Exit codes, and what is said when something is wrong."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bosket as bk
from bosket.cli import main
from bosket.cli.app import parser
from bosket.cli.names import COMMANDS
from bosket.errors import DataError
from tests.cli.conftest import Run, Study

SECRET = "quinine"
"""What stands in bad records, and must never be said."""


def test_help_lists_the_commands(run: Run) -> None:
    result = run("--help")
    assert result.code == 0
    for command in COMMANDS:
        assert command in result.out
        assert run(command, "--help").code == 0


def test_research_has_the_commands_that_it_stands_for(run: Run) -> None:
    for command in ("reproduce", "bench"):
        (_, ours, _), (_, theirs, _) = run("research", command, "--help"), run(command, "--help")
        assert ours.replace("bosket research ", "bosket ").split() == theirs.split()
    assert run("research").code == 2
    assert run("research", "reproduce", "frapp", "--quick") == run("reproduce", "frapp", "--quick")
    assert "must come with questions or sieve, not with frapp" in run("research", "reproduce", "frapp", "--quick").err
    assert run("research", "bench", "--only", "nothing").code == 2


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"bosket {bk.__version__}\n", "")


def test_the_console_script_is_the_program() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"bosket": "bosket.cli:program"}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dig"],
        ["mine"],
        ["mine", "{baskets}"],
        ["mine", "{baskets}", "--min-support", "0"],
        ["mine", "{baskets}", "--min-support", "1.5"],
        ["mine", "{baskets}", "--min-support", "nan"],
        ["mine", "{baskets}", "--min-support", "much"],
        ["mine", "{baskets}", "--min-support", "0.1", "--max-size", "0"],
        ["mine", "{baskets}", "--min-support", "0.1", "--slack", "-1"],
        ["mine", "{baskets}", "--min-support", "0.1", "--level", "1"],
        ["mine", "{baskets}", "--min-support", "0.1", "--max-candidates", "0"],
        ["mine", "{baskets}", "--min-support", "0.1", "--format", "xml"],
        ["mine", "{baskets}", "--min-support", "0.1", "-o", "out.xml"],
        ["mine", "{baskets}", "--min-support", "0.1", "-o", "out.csv", "--format", "json"],
        ["mine", "{baskets}", "--min-support", "0.1", "--report", "page.pdf"],
        ["mine", "{baskets}", "--min-support", "0.1", "--top", "0"],
        ["rules", "{baskets}", "--min-support", "0.1", "--metric", "beauty"],
        ["rules", "{baskets}", "--min-support", "0.1", "--min-threshold", "inf"],
        ["randomize", "{baskets}", "-o", "r.parquet"],
        ["randomize", "{baskets}", "--keep", "0.9"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--keep", "1.3"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--keep", "0.9", "--keep-absent", "-0.1"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--keep", "0.9", "--default", "0.9"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--keep", "0.9", "--plan", "{plan}"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--plan", "{plan}", "--max-size", "3"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--plan", "{plan}", "--write-plan", "q.json"],
        ["randomize", "{baskets}", "-o", "r.csv", "--keep", "0.9"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--keep", "0.9", "--seed", "-1"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--keep-file", "{plan}.txt"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--cutoff", "0", "--insert", "0.2"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--cutoff", "3", "--insert", "1.2"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--replace", "2"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--mix", "0", "--mix-keep", "0.5"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--mix", "2", "--mix-keep", "1.5"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--keep", "0.9", "--longer", "drop"],
        ["randomize", "{baskets}", "-o", "r.parquet", "--sizes-file", "{plan}.txt"],
        ["audit", "{baskets}"],
        ["audit", "{baskets}", "{reports}", "--min-support", "0"],
        ["audit", "{baskets}", "{reports}", "--max-size", "0"],
        ["audit", "{baskets}", "{reports}", "--min-reports", "0"],
        ["audit", "{baskets}", "{reports}", "--top", "0"],
        ["audit", "{baskets}", "{reports}", "--format", "xml"],
        ["audit", "{baskets}", "{reports}", "-o", "out.txt"],
        ["audit", "{baskets}", "{reports}", "-o", "out.csv", "--format", "json"],
        ["generate", "out.xml"],
        ["generate", "out.dat", "--records", "0"],
        ["reproduce", "nothing"],
        ["bench", "--only", "nothing"],
    ],
)
def test_usage_errors_exit_2(
    run: Run, study: Study, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*(argument.format(**{k: str(v) for k, v in study._asdict().items()}) for argument in arguments))
    assert result.code == 2
    assert result.out == ""
    assert result.err.count("bosket: ") == 1
    assert "Traceback" not in result.err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("command", ["mine", "rules", "randomize", "audit"])
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.dat", None, "does not exist"),
        ("empty.dat", b"", "is empty"),
        ("binary.dat", bytes(range(256)), "Line 1"),
        ("words.dat", f"1 2\n3 4\n5 {SECRET}\n".encode(), "Line 3"),
        ("ragged.csv", f"record,item\n1,1\n2,{SECRET},{SECRET}\n".encode(), "Line 3"),
        ("latin.csv", b"record,item\n1,1\n2,quinine\xff\n", "Line 3"),
        ("cut.parquet", b"PAR1" + SECRET.encode(), "not a sound Parquet file"),
        ("cut.dat.gz", b"\x1f\x8b" + SECRET.encode(), "gzip"),
        ("notes.txt", SECRET.encode(), "suffix"),
        ("sub", "directory", "suffix"),
        ("sub.dat", "directory", "is a directory"),
    ],
)
def test_bad_files_exit_1_and_are_not_quoted(
    run: Run, study: Study, tmp_path: Path, command: str, name: str, content: bytes | str | None, said: str
) -> None:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "directory":
        path.mkdir()
    more: dict[str, list[object]] = {
        "randomize": ["-o", tmp_path / "r.parquet", "--keep", 0.9],
        "audit": [study.reports],
    }
    result = run(command, path, *more.get(command, ["--min-support", 0.1]))
    assert result.code == 1
    assert said.lower() in result.err.lower()
    assert str(path) in result.err
    assert SECRET not in result.err
    assert result.out == ""
    assert not (tmp_path / "r.parquet").exists()


def test_no_records(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    bk.Baskets([], items=["milk"]).write(path)
    result = run("mine", path, "--min-support", 0.1)
    assert (result.code, result.out) == (1, "")
    assert "no records" in result.err


def test_too_many_candidates_says_what_to_change(run: Run, study: Study) -> None:
    result = run("mine", study.reports, "--min-support", 0.001, "--max-candidates", 10)
    assert (result.code, result.out) == (1, "")
    assert "hint: " in result.err


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_output_into_a_missing_directory_is_refused_before_any_work(
    run: Run, study: Study, tmp_path: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bosket.mining.mine", lambda *_, **__: pytest.fail("it has begun to work"))
    path = tmp_path / "missing" / ("x.csv" if option == "-o" else "x.html")
    result = run("mine", study.baskets, "--min-support", 0.1, option, path)
    assert result.code == 1
    assert "there is no directory" in result.err


def test_no_command_replaces_its_own_input(run: Run, study: Study, tmp_path: Path) -> None:
    raw = tmp_path / "raw.parquet"
    bk.Baskets.read(study.baskets).write(raw)
    before = raw.read_bytes()
    (tmp_path / "link.parquet").symlink_to(raw)
    for path in (raw, tmp_path / "link.parquet"):
        assert run("randomize", raw, "-o", path, "--keep", 0.9).code == 2
        assert run("mine", raw, "--min-support", 0.5, "-o", path).code == 2
        assert run("audit", raw, study.reports, "-o", path).code == 2
    assert raw.read_bytes() == before


def test_ctrl_c_is_one_line_and_keeps_the_old_file(
    run: Run, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    old = tmp_path / "old.csv"
    old.write_text("precious")
    with monkeypatch.context() as patch:
        patch.setattr("bosket.mining.mine", interrupted)
        result = run("mine", study.reports, "--min-support", 0.1, "-o", old)
    assert result.code == 130
    assert result.err.endswith("bosket: interrupted\n")
    assert "Traceback" not in result.err
    with monkeypatch.context() as patch:
        patch.setattr("bosket.reporting.export.write_text", interrupted)
        assert run("mine", study.reports, "--min-support", 0.1, "-o", old).code == 130
    assert old.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [old]


def test_a_bug_keeps_its_traceback(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("bosket.mining.mine", broken)
    with pytest.raises(ZeroDivisionError):
        main(["mine", str(study.baskets), "--min-support", "0.1"])


DRIVER = """
import os, signal, sys
import bosket.mining
from bosket.cli import main
from bosket.cli.app import parser
from bosket.cli.names import COMMANDS
from bosket.errors import DataError

mine = bosket.mining.mine

def interrupted(data, **options):
    options["on_progress"] = lambda state: os.kill(os.getpid(), signal.SIGINT)
    return mine(data, **options)

bosket.mining.mine = interrupted
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_real_sigint_in_the_middle_of_mining(study: Study) -> None:
    command = [sys.executable, "-c", DRIVER, "mine", str(study.reports), "--min-support", "0.01", "--progress"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 128 + signal.SIGINT
    assert "Traceback" not in done.stderr
    assert done.stderr.rstrip().endswith("bosket: interrupted")
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_that_is_full_or_closed(study: Study) -> None:
    command = [sys.executable, "-m", "bosket.cli", "mine", str(study.baskets), "--min-support", "0.1"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "bosket: Cannot write to standard output: No space left" in done.stderr
    assert "Traceback" not in done.stderr
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 141
    assert "bosket: " not in done.stderr
    assert "Traceback" not in done.stderr


def test_progress_and_logs_go_to_standard_error_when_asked(run: Run, study: Study) -> None:
    quiet = run("mine", study.reports, "--min-support", 0.1, "--format", "csv")
    assert "\x1b" not in quiet.err
    assert "candidates" not in quiet.err
    loud = run("mine", study.reports, "--min-support", 0.1, "--format", "csv", "-v", "--progress")
    assert "mining" in loud.err
    assert "bosket.mining.apriori: size 1: 20 candidates" in loud.err
    assert loud.out == quiet.out
    assert "candidates" not in run("mine", study.reports, "--min-support", 0.1).err


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 80, 120, 250])
def test_narrow_terminals_lose_whole_columns_and_no_digit(study: Study, columns: int) -> None:
    """Items and the first number stay; what does not fit is left out, and that is said."""
    import pty

    program = [sys.executable, "-m", "bosket.cli", "rules", str(study.reports), "--min-support", "0.1", "--top", "3"]
    options = ["--measures", "odds ratio,phi,PS", "--adjust", "by"]
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "LINES": "25", "TERM": "dumb"}
    done = subprocess.run([*program, *options], stdout=child, stderr=subprocess.PIPE, env=environment, check=True)
    os.close(child)
    shown = b""
    with contextlib.suppress(OSError):
        while part := os.read(parent, 1 << 16):
            shown += part
    os.close(parent)
    text = shown.decode()
    assert "antecedents" in text
    assert "support" in text
    assert max(map(len, text.splitlines())) <= columns
    assert (b"left out for want of width" in done.stderr) == (columns < 250)


def test_every_input_has_the_cap(
    run: Run, study: Study, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, standard input, tables and their schema; reports are asked for with it."""
    schema = tmp_path / "schema.json"
    schema.write_text('{"columns": ["sex"], "values": {"sex": ["Female", "Male"]}}' + " " * 200)
    for call, path in (
        (("mine", study.baskets), study.baskets),
        (("rules", study.baskets), study.baskets),
        (("mine", "-"), "/dev/stdin"),
        (("mine", people, "--table", "--columns", "sex"), people),
        (("mine", people, "--table", "--schema", schema), schema),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(study.baskets.read_bytes())))
        result = run(*call, "--min-support", 0.1, "--max-bytes", 200)
        assert (result.code, result.out) == (1, "")
        assert f"{path} must hold at most 200 bytes" in result.err
        assert "--max-bytes" in result.err
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(study.baskets.read_bytes())))
        assert run(*call, "--min-support", 0.1, "--max-bytes", "1MiB").code == 0
    asked: list[dict[str, object]] = []

    def noted(_: object, **options: object) -> None:
        asked.append(options)
        raise DataError("Enough.")

    monkeypatch.setattr(bk.Reports, "read", noted)
    for options in ((), ("--max-bytes", "1k")):
        assert run("mine", study.reports, "--min-support", 0.1, *options).code == 1
    assert [options["max_bytes"] for options in asked] == [8 << 30, 1000]


def test_help_and_version_load_nothing_heavy() -> None:
    heavy = "numpy, pandas, numba, pyarrow, scipy, sklearn, matplotlib"
    for command in ("--help", "--version"):
        program = (
            "import sys\nfrom bosket.cli import main\n"
            f"assert main([{command!r}]) == 0\n"
            f"print(sorted(set({heavy.split(', ')!r}) & set(sys.modules)), file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stderr == "[]\n", done.stderr


def test_every_command_has_its_module_and_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    listed = capsys.readouterr().out
    for name, sentence in COMMANDS.items():
        assert name in listed
        with pytest.raises(SystemExit) as stop:
            parser([name]).parse_args([name, "--help"])
        assert stop.value.code == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert sentence in shown, f"make the parser of {name} by add_command of cli/inputs/options.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_reference_lists_every_command(command: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference.md").read_text()
    assert f"| `bosket {command}" in page, f"add a row for {command} to the table under 'Command line'"


def test_an_interruption_while_a_command_is_loaded_shows_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bosket.cli.app.import_module", interrupted)
    assert main(["mine", "x.dat"]) == 130
    assert capsys.readouterr().err == "bosket: interrupted\n"


def test_an_interruption_while_a_class_is_made_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python, up to 3.11, makes a RuntimeError of it; any other is a bug, and raised."""

    def interrupted(name: str) -> None:
        raise RuntimeError("Error calling __set_name__ on 'property' instance 'x' in 'Made'") from KeyboardInterrupt()

    def broken(name: str) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("bosket.cli.app.import_module", interrupted)
    assert main(["mine", "x"]) == 130
    assert capsys.readouterr().err == "bosket: interrupted\n"
    monkeypatch.setattr("bosket.cli.app.import_module", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["mine", "x"])
