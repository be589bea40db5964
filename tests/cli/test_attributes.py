"""How a table is read: options, schema files, and what is said when something is wrong."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import bosket as bk
from tests.cli.conftest import AGES, WORK, Run, Study

SECRET = "quinine"
"""What stands in bad cells, and must not be said unless it is asked for."""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Four records, with a comma in a value and the secret in line 4."""
    path = tmp_path / "small.csv"
    path.write_text(f'city,sex,age\n"York, New",F,20\nBath,M,30\n{SECRET},F,40\nBath,?,50\n')
    return path


def labels(run: Run, path: Path | str, *options: object) -> list[str]:
    """The items of a table in the order of its domain, by way of a plan."""
    plan = Path(path).with_name("labels.json")
    output = plan.with_suffix(".parquet")
    result = run("randomize", path, "--table", "-o", output, "--keep", 0.9, "--write-plan", plan, *options)
    assert result.code == 0, result.err
    return list(map(str, bk.Plan.from_json(plan.read_text()).domain.labels))


def mined(run: Run, path: Path, *options: object) -> dict[str, float]:
    result = run("mine", path, "--table", "--min-support", 1e-9, "--max-size", 1, "--format", "json", *options)
    assert result.code == 0, result.err
    return {row["itemsets"][0]: row["support"] for row in json.loads(result.out)["itemsets"]}


class TestOptions:
    def test_columns_choose_and_order(self, run: Run, small: Path) -> None:
        ages = ["age=20", "age=30", "age=40", "age=50"]
        assert labels(run, small, "--columns", "age, city") == [
            *ages,
            "city=Bath",
            "city=York, New",
            f"city={SECRET}",
        ]

    def test_values_declare_and_order(self, run: Run, small: Path) -> None:
        options = ("--columns", "city,age", "--bins", "age=15.5,35", "--values", f'city={SECRET},Rome,"York, New",Bath')
        assert labels(run, small, *options) == [
            f"city={SECRET}",
            "city=Rome",
            "city=York, New",
            "city=Bath",
            "age=[15.5,35)",
            "age=[35,inf)",
        ]

    def test_bins_and_values_may_be_given_for_several_columns(self, run: Run, small: Path) -> None:
        options = ("--columns", "sex,age", "--values", "sex=F,M,?", "--values", "age=20,30,40,50")
        assert mined(run, small, *options)["sex=?"] == 0.25
        assert mined(run, small, "--columns", "age", "--bins", "age=-5,+30,4e1") == {
            "age=[-5,30)": 0.25,
            "age=[30,40)": 0.25,
            "age=[40,inf)": 0.5,
        }

    def test_a_declared_domain_is_told_from_one_that_was_seen(self, run: Run, small: Path, tmp_path: Path) -> None:
        for more, is_declared in (((), False), (("--values", "sex=F,M"), True)):
            options = ("--columns", "sex,age", "--bins", "age=15,35", "--missing", "sex=none", *more)
            result = run("randomize", small, "--table", "-o", tmp_path / "r.parquet", "--keep", 0.9, *options)
            assert result.code == 0
            assert ("--values, --bins or --schema declare them" in result.err) != is_declared
            assert bk.Reports.read(tmp_path / "r.parquet").domain.is_declared == is_declared

    def test_missing_is_refused_or_a_category(self, run: Run, small: Path) -> None:
        result = run("mine", small, "--table", "--min-support", 0.1)
        assert (result.code, result.out) == (1, "")
        assert (
            f"Attribute 'sex' must hold a value, and nothing or '?' is none; line 5 of the file {small}" in result.err
        )
        assert "--missing sex=unknown" in result.err
        named = labels(run, small, "--columns", "sex,age", "--bins", "age=15,35", "--missing", "sex=not said")
        assert named == ["sex=F", "sex=M", "sex=not said", "age=[15,35)", "age=[35,inf)"]
        everywhere = labels(run, small, "--columns", "sex,age", "--bins", "age=15,35", "--missing", "none")
        assert everywhere == ["sex=F", "sex=M", "sex=none", "age=[15,35)", "age=[35,inf)", "age=none"]
        per_column = ("--missing", "sex=x", "--missing", "age=y=z")
        assert labels(run, small, "--columns", "sex,age", "--bins", "age=15", *per_column) == [
            "sex=F",
            "sex=M",
            "sex=x",
            "age=[15,inf)",
            "age=y=z",
        ]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--bins", "age"), "must be COLUMN=NUMBERS"),
            (("--bins", "=15,35"), "must be COLUMN=NUMBERS"),
            (("--bins", "age="), "no empty one"),
            (("--bins", "age=15,,35"), "no empty one"),
            (("--bins", "age=15,many"), "must be numbers"),
            (("--bins", "age=15,inf"), "must be numbers"),
            (("--bins", "age=15,1_000"), "must be numbers"),
            (("--bins", "age=35,15"), "increasing"),
            (("--bins", "age=15,35", "--bins", "age=15"), "once for each column, got 'age' again"),
            (("--bins", "age=15,35", "--values", "age=1,2"), "not both"),
            (("--bins", "years=15,35"), "must name columns that are read, got 'years'"),
            (("--values", "sex"), "must be COLUMN=VALUES"),
            (("--values", "sex=F,,M"), "no empty one"),
            (("--values", "sex=F\nM"), "no empty one"),
            (("--values", "sex=F"), "must be at least two"),
            (("--values", "sex=F,M,F"), "must all differ"),
            (("--values", "sex=F,M", "--values", "sex=M,F"), "once for each column, got 'sex' again"),
            (("--columns", "sex,"), "no empty one"),
            (("--columns", ""), "no empty one"),
            (("--columns", "sex,sex"), "different names"),
            (("--columns", "sex,gender"), "must be columns of the file"),
            (("--columns", "age", "--bins", "age=15,35", "--values", "sex=F,M"), "must name columns that are read"),
            (("--missing", ""), "must be NAME or COLUMN=NAME"),
            (("--missing", "sex="), "must be NAME or COLUMN=NAME"),
            (("--missing", "=none"), "must be NAME or COLUMN=NAME"),
            (("--missing", "none", "--missing", "sex=x"), "COLUMN=NAME throughout"),
            (("--missing", "none", "--missing", "nothing"), "COLUMN=NAME throughout"),
            (("--missing", "sex=x", "--missing", "sex=y"), "once for each column, got 'sex' again"),
            (("--missing", "gender=x"), "must name columns that are read, got 'gender'"),
            (("--layout", "long"), "must not come with --table"),
            (("--input-format", "dat"), "must be csv or parquet with --table"),
        ],
    )
    def test_usage_errors(self, run: Run, small: Path, options: tuple[object, ...], said: str) -> None:
        for command, more in (("mine", ("--min-support", 0.1)), ("randomize", ("-o", "r.parquet", "--keep", 0.9))):
            result = run(command, small, "--table", *more, *options)
            assert (result.code, result.out) == (2, "")
            assert said in result.err
            assert result.err.count("bosket: ") == 1
            assert SECRET not in result.err

    @pytest.mark.parametrize(
        "options",
        [
            ("--columns", "sex"),
            ("--bins", "age=15,35"),
            ("--values", "sex=F,M"),
            ("--missing", "none"),
            ("--schema", "s.json"),
            ("--show-values",),
        ],
    )
    def test_none_of_them_comes_without_table(self, run: Run, study: Study, options: tuple[str, ...]) -> None:
        for command in (
            ("mine", study.baskets, "--min-support", 0.1),
            ("rules", study.baskets, "--min-support", 0.1),
            ("audit", study.baskets, study.reports),
            ("randomize", study.baskets, "-o", "r.parquet", "--keep", 0.9),
        ):
            result = run(*command, *options)
            assert (result.code, result.out) == (2, "")
            assert f"The '{options[0]}' option must come with --table." in result.err


class TestCells:
    """Cells that cannot be: the line and the attribute are said, and the value only if that is asked for."""

    @pytest.mark.parametrize(
        ("options", "line", "attribute", "shown"),
        [
            (("--columns", "age", "--bins", "age=25,35"), 2, "age", "'20'"),
            (("--columns", "city", "--bins", "city=15,35"), 2, "city", "'York, New'"),
            (("--columns", "city", "--values", 'city="York, New",Bath'), 4, "city", f"'{SECRET}'"),
        ],
    )
    def test_the_place_is_said_and_the_value_on_request(
        self, run: Run, small: Path, options: tuple[str, ...], line: int, attribute: str, shown: str
    ) -> None:
        for command in (("mine", small, "--min-support", 0.1), ("randomize", small, "-o", "r.parquet", "--keep", 0.9)):
            result = run(*command, "--table", *options)
            assert (result.code, result.out) == (1, "")
            assert f"Attribute '{attribute}' must hold" in result.err
            assert f"line {line} of the file {small}" in result.err
            assert shown not in result.err
            asked = run(*command, "--table", *options, "--show-values")
            assert asked.code == 1
            assert shown in asked.err

    def test_a_column_with_one_value(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "one.csv"
        path.write_text(f"sex,city\nF,{SECRET}\nM,{SECRET}\n")
        result = run("mine", path, "--table", "--min-support", 0.1)
        assert (result.code, result.out) == (1, "")
        assert f"Attribute 'city' of the file {path} holds no two different values." in result.err
        assert "Leave it out with --columns, or declare what there can be with --values." in result.err
        assert SECRET not in result.err
        assert run("mine", path, "--table", "--min-support", 0.1, "--columns", "sex").code == 0
        assert run("mine", path, "--table", "--min-support", 0.1, "--values", f"city={SECRET},Bath").code == 0

    def test_names_that_clash_once_written_as_items(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "clash.csv"
        path.write_text(f"a,a=b\nb={SECRET},{SECRET}\nx,y\n")
        result = run("mine", path, "--table", "--min-support", 0.1)
        assert result.code == 1
        assert str(path) in result.err
        assert SECRET not in result.err

    def test_advice_is_in_the_words_of_the_command_line(self, run: Run, small: Path, tmp_path: Path) -> None:
        headless = tmp_path / "headless.csv"
        headless.write_text("1,F\n1,M\n2,F\n")
        unnamed = tmp_path / "unnamed.csv"
        unnamed.write_text("sex,\nF,1\nM,2\n")
        for path, options, advice in (
            (small, ("--missing", "none", "--values", "sex=F,X"), "--schema file"),
            (headless, (), "--columns"),
            (unnamed, (), "--columns"),
        ):
            result = run("mine", path, "--table", "--min-support", 0.1, *options)
            assert result.code == 1
            hint = result.err.split("hint: ")[1]
            assert advice in hint
            assert not [word for word in ("=[", "={", "pandas", "True") if word in hint]

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("missing.csv", None, "does not exist"),
            ("empty.csv", b"", "is empty"),
            ("ragged.csv", f"a,b\n1,2\n{SECRET}\n".encode(), "line 3"),
            ("cut.parquet", b"PAR1" + SECRET.encode(), "not a sound Parquet file"),
            ("notes.txt", SECRET.encode(), "suffix"),
            ("records.dat", SECRET.encode(), "suffix"),
            ("twice.csv", b"a,a\n1,2\n3,4\n", "the same name"),
        ],
    )
    def test_bad_files(self, run: Run, tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        result = run("mine", path, "--table", "--min-support", 0.1)
        assert (result.code, result.out) == (1, "")
        assert said in result.err
        assert str(path) in result.err
        assert SECRET not in result.err


class TestSchema:
    def test_it_says_what_the_options_say(self, run: Run, people: Path, tmp_path: Path) -> None:
        schema = tmp_path / "schema.json"
        schema.write_text(
            json.dumps({"columns": ["work", "age"], "bins": {"age": [15, 35, 55]}, "missing": {"work": "unknown"}})
        )
        expected = mined(run, people, "--columns", "work,age", *AGES, *WORK)
        assert mined(run, people, "--schema", schema) == expected

    def test_values_may_be_grouped(self, run: Run, small: Path, tmp_path: Path) -> None:
        schema = tmp_path / "schema.json"
        groups = {"city": {"north": ["York, New"], "elsewhere": "*"}, "sex": ["M", "F"], "age": [20, 30, 40, 50]}
        schema.write_text(json.dumps({"values": groups, "missing": "none"}))
        found = mined(run, small, "--schema", schema)
        assert found["city=elsewhere"] == 0.75
        assert found["sex=none"] == 0.25
        assert found["age=30"] == 0.25

    def test_an_empty_one_says_nothing(self, run: Run, people: Path, tmp_path: Path) -> None:
        schema = tmp_path / "schema.json"
        schema.write_text('{"missing": "unknown"}')
        assert mined(run, people, "--schema", schema) == mined(run, people, "--missing", "unknown")
        schema.write_text("{}")
        assert run("mine", people, "--table", "--min-support", 0.1, "--schema", schema).code == 1  # '?' in line 4

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "is empty"),
            ("[]", "must be a JSON object"),
            ('{"bins":\n', "Line 2"),
            ('{"colums": ["sex"]}', "nothing else, got 'colums'"),
            ('{"columns": ["sex"], "columns": ["age"]}', "'columns' more than once"),
            ('{"bins": {"age": [15], "age": [20]}}', "'age' more than once"),
            ('{"columns": "sex"}', "list of names"),
            ('{"columns": [["sex"]]}', "list of names"),
            ('{"columns": {"sex": 1}}', "list of names"),
            ('{"columns": []}', "different names"),
            ('{"columns": ["gender"]}', "must be columns of the file"),
            ('{"bins": [15, 35]}', "must give bins as an object, by column"),
            ('{"values": null}', "must give values as an object, by column"),
            ('{"bins": {"age": 15}}', "list of finite numbers"),
            ('{"bins": {"age": ["15", "35"]}}', "list of finite numbers"),
            ('{"bins": {"age": [15, NaN]}}', "JSON, which does not know the number NaN"),
            ('{"bins": {"age": [35, 15]}}', "increasing"),
            ('{"bins": {"years": [15, 35]}}', "got 'years'"),
            ('{"values": {"sex": "FM"}}', "must be a list"),
            ('{"values": {"sex": ["F", null]}}', "not be missing"),
            ('{"values": {"sex": ["F", ["M"]]}}', "hashable"),
            ('{"values": {"sex": ["F"]}}', "at least two"),
            ('{"values": {"sex": {"F": "*", "M": "*"}}}', "for one group '*'"),
            ('{"values": {"age": [1, 2]}, "bins": {"age": [15]}}', "not both"),
            ('{"missing": 5}', "name of a category"),
            ('{"missing": {"sex": ""}}', "name of a category"),
            ('{"missing": {"gender": "x"}}', "got 'gender'"),
            ("\xff", "UTF-8"),
            (5000 * "[", "JSON"),
        ],
    )
    def test_bad_files(self, run: Run, small: Path, tmp_path: Path, text: str, said: str) -> None:
        schema = tmp_path / "schema.json"
        schema.write_text(text, "latin-1")
        result = run("mine", small, "--table", "--min-support", 0.1, "--schema", schema)
        assert (result.code, result.out) == (1, "")
        assert said in result.err
        assert str(schema) in result.err
        assert result.err.count("bosket: ") == 1
        assert SECRET not in result.err

    def test_a_cell_that_it_has_no_place_for_is_a_fault_of_the_data(
        self, run: Run, small: Path, tmp_path: Path
    ) -> None:
        schema = tmp_path / "schema.json"
        schema.write_text('{"columns": ["city"], "values": {"city": ["Bath", "York, New"]}}')
        result = run("mine", small, "--table", "--min-support", 0.1, "--schema", schema)
        assert result.code == 1
        assert f"line 4 of the file {small}" in result.err
        assert SECRET not in result.err
        assert SECRET in run("mine", small, "--table", "--min-support", 0.1, "--schema", schema, "--show-values").err

    @pytest.mark.parametrize(
        "options", [("--columns", "sex"), ("--bins", "age=15,35"), ("--values", "sex=F,M"), ("--missing", "none")]
    )
    def test_it_does_not_come_with_single_options(self, run: Run, people: Path, options: tuple[str, ...]) -> None:
        result = run("mine", people, "--table", "--min-support", 0.1, "--schema", "s.json", *options)
        assert (result.code, result.out) == (2, "")
        assert f"The '{options[0]}' option must not come with --schema" in result.err

    def test_no_command_replaces_it(self, run: Run, people: Path, tmp_path: Path) -> None:
        schema = tmp_path / "schema.json"
        schema.write_text('{"missing": "unknown"}')
        options = ("--table", "--schema", schema)
        assert run("mine", people, "--min-support", 0.5, "-o", schema, *options).code == 2
        assert run("audit", people, people, "-o", schema, *options).code == 2
        written = ("-o", tmp_path / "r.parquet", "--write-plan", schema)
        assert run("randomize", people, "--keep", 0.9, *written, *options).code == 2
        assert schema.read_text() == '{"missing": "unknown"}'


class TestFormats:
    def test_standard_input(self, run: Run, people: Path, table: bk.Table, monkeypatch: pytest.MonkeyPatch) -> None:
        def given(content: bytes) -> None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

        options = ("--table", "--min-support", 0.1, *AGES, *WORK)
        expected = run("mine", people, *options).out
        given(people.read_bytes())
        assert run("mine", "-", *options).out == expected
        parquet = io.BytesIO()
        table.to_frame().to_parquet(parquet)
        given(parquet.getvalue())
        assert run("mine", "-", "--table", "--min-support", 0.1, "--input-format", "parquet").out == expected
        given(b"age,sex\n20,F\nten,M\n")
        result = run("mine", "-", "--table", "--min-support", 0.1, *AGES)
        assert result.code == 1
        assert "line 3 of the file /dev/stdin" in result.err
        given(b"")
        assert "is empty" in run("mine", "-", *options).err

    def test_parquet_and_gzip(self, run: Run, people: Path, table: bk.Table, tmp_path: Path) -> None:
        expected = run("mine", people, "--table", "--min-support", 0.1, *AGES, *WORK).out
        for suffix in (".parquet", ".csv.gz", ".csv"):
            path = tmp_path / f"table{suffix}"
            table.write(path)
            assert run("mine", path, "--table", "--min-support", 0.1).out == expected
        other = (tmp_path / "table.csv").rename(tmp_path / "table.txt")
        assert run("mine", other, "--table", "--min-support", 0.1, "--input-format", "csv").out == expected

    def test_a_table_is_not_taken_for_baskets(self, run: Run, people: Path, table: bk.Table, tmp_path: Path) -> None:
        result = run("mine", people, "--min-support", 0.1)
        assert result.code == 1
        assert "A table of attributes is read with --table." in result.err
        path = tmp_path / "two.parquet"
        table.select(["age", "sex"]).write(path)  # as baskets, columns of records and items
        for command in (("mine", path, "--min-support", 0.1), ("randomize", path, "-o", "r.parquet", "--keep", 0.9)):
            result = run(*command)
            assert result.code == 1
            assert "hint: Say --table." in result.err
