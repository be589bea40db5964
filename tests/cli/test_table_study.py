"""Tables from end to end: ``randomize``, ``mine``, ``rules`` and ``audit``, and plans for tables."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import bosket as bk
from bosket.audit import breaches
from tests.cli.conftest import AGES, WORK, Run, Study
from tests.cli.test_mine import same

READING = ("--table", *AGES, *WORK)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "r.parquet"


@pytest.fixture
def plan(table: bk.Table, tmp_path: Path) -> Path:
    """A plan for the attributes of the table."""
    path = tmp_path / "plan.json"
    path.write_text(bk.Plan(table.domain, bk.GammaDiagonal(gamma=19)).json)
    return path


class TestRandomize:
    @pytest.mark.parametrize(
        ("options", "mechanism"),
        [
            (("--gamma", 19), bk.GammaDiagonal(gamma=19)),
            (("--gamma", 19.5, "--spread", 0.5), bk.GammaDiagonal(gamma=19.5, spread=0.5)),
            (("--gamma", 19, "--spread", 0), bk.GammaDiagonal(gamma=19)),
            (("--keep", 0.9, "--keep-absent", 0.8), bk.Flip(keep=0.9, keep_absent=0.8)),
            (("--cutoff", 2, "--insert", 0.1), bk.CutAndPaste(cutoff=2, insert=0.1)),
            (("--replace", 0.3), bk.Replace(probability=0.3)),
            (("--mix", 2, "--mix-keep", 0.6), bk.Mixing(others=2, keep=0.6)),
        ],
    )
    def test_every_mechanism(
        self, run: Run, people: Path, table: bk.Table, out: Path, options: tuple[object, ...], mechanism: bk.Mechanism
    ) -> None:
        result = run("randomize", people, *READING, *options, "--seed", 5, "-o", out)
        assert (result.code, result.out) == (0, "")
        assert f"Privacy of {mechanism}" in result.err
        assert "wrote 1,800 reports over 8 items of 3 attributes" in result.err
        reports = bk.Reports.read(out)
        assert reports == mechanism.randomize(table, rng=bk.Seeded(5))
        assert reports.domain == table.domain

    def test_files_of_keeps_and_sizes(self, run: Run, people: Path, table: bk.Table, out: Path, tmp_path: Path) -> None:
        keeps, sizes = tmp_path / "keep.csv", tmp_path / "sizes.csv"
        keeps.write_text('item,keep\nsex=Female,0.7\n"age=[15,35)",0.8\n')
        assert run("randomize", people, *READING, "--keep-file", keeps, "--default", 0.9, "-o", out).code == 0
        expected = bk.Flip(keep={"sex=Female": 0.7, "age=[15,35)": 0.8}, default=0.9)
        assert bk.Reports.read(out).plan.mechanism == expected
        sizes.write_text("size,cutoff,insert\n3,2,0.1\n")
        assert run("randomize", people, *READING, "--sizes-file", sizes, "-o", out).code == 0
        assert bk.Reports.read(out).plan.mechanism == bk.CutAndPaste(cutoff={3: 2}, insert={3: 0.1})

    def test_a_seed_settles_everything_and_secure_chance_nothing(self, run: Run, people: Path, tmp_path: Path) -> None:
        options = (*READING, "--gamma", 19, "--spread", 0.8)
        contents = []
        for name, seed in (("a", ("--seed", 3)), ("b", ("--seed", 3)), ("c", ("--seed", 4)), ("d", ()), ("e", ())):
            path = tmp_path / f"{name}.parquet"
            result = run("randomize", people, *options, *seed, "-o", path)
            assert result.code == 0
            assert ("protects nobody" in result.err) == bool(seed)
            contents.append(path.read_bytes())
        assert contents[0] == contents[1]
        assert len(set(contents)) == 4

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--gamma", 1), "--gamma"),
            (("--gamma", 0.5), "--gamma"),
            (("--gamma", "nan"), "--gamma"),
            (("--gamma", "inf"), "--gamma"),
            (("--gamma", "much"), "--gamma"),
            (("--gamma", 19, "--spread", 1.1), "--spread"),
            (("--gamma", 19, "--spread", -0.1), "--spread"),
            (("--keep", 0.9, "--spread", 0.5), "The '--spread' option must come with --gamma."),
            (("--gamma", 19, "--keep", 0.9), "not allowed with argument"),
            (("--gamma", 19, "--keep-absent", 0.9), "must come with --keep or --keep-file."),
            (("--gamma", 19, "--max-size", 3), "The '--max-size' option must not come with --table"),
            (("--keep", 0.9, "--longer", "sample"), "The '--longer' option must not come with --table"),
            (("--keep", 0.9, "--items", "i.txt"), "The '--items' option must not come with --table"),
            (("--plan", "p.json", "--spread", 0.5), "The '--spread' option must not come with --plan"),
        ],
    )
    def test_usage_errors(self, run: Run, people: Path, out: Path, options: tuple[object, ...], said: str) -> None:
        result = run("randomize", people, *READING, "-o", out, *options)
        assert (result.code, result.out) == (2, "")
        assert said in result.err
        assert result.err.count("bosket: ") == 1
        assert not out.exists()

    def test_gamma_is_for_tables(self, run: Run, study: Study, out: Path) -> None:
        result = run("randomize", study.baskets, "--gamma", 19, "-o", out)
        assert (result.code, result.out) == (2, "")
        assert "The '--gamma' option must come with --table." in result.err

    def test_reports_are_not_randomized_twice(self, run: Run, people: Path, out: Path, tmp_path: Path) -> None:
        assert run("randomize", people, *READING, "--gamma", 19, "-o", out).code == 0
        result = run("randomize", out, "--table", "--gamma", 19, "-o", tmp_path / "again.parquet")
        assert result.code == 1
        assert "randomized already" in result.err

    def test_more_records_than_can_be_numbered(self, run: Run, out: Path, tmp_path: Path) -> None:
        path = tmp_path / "wide.csv"
        names = [f"c{at}" for at in range(63)]
        path.write_text("\n".join([",".join(names), ",".join("0" * 63), ",".join("1" * 63)]))
        result = run("randomize", path, "--table", "--gamma", 19, "-o", out)
        assert result.code == 2
        assert "Choose fewer attributes" in result.err
        assert run("randomize", path, "--table", "--keep", 0.9, "-o", out).code == 0

    def test_help_has_its_groups(self, run: Run) -> None:
        text = run("randomize", "--help").out
        places = [text.index(f"\n{group}:\n") for group in ("options", "how to randomize", "baskets", "tables")]
        assert places == sorted(places)
        assert len(text.splitlines()[0]) <= 100
        for command in ("mine", "rules", "audit"):
            assert "\ntables:\n" in run(command, "--help").out


class TestPlans:
    def test_a_plan_written_can_be_used(self, run: Run, people: Path, tmp_path: Path) -> None:
        plan, first, again = tmp_path / "p.json", tmp_path / "a.parquet", tmp_path / "b.parquet"
        options = ("--gamma", 19, "--spread", 0.5, "--write-plan", plan)
        assert run("randomize", people, *READING, *options, "--seed", 1, "-o", first).code == 0
        result = run("randomize", people, *READING, "--plan", plan, "--seed", 1, "-o", again)
        assert result.code == 0
        assert "declare" not in result.err.split("Privacy of")[0]
        assert bk.Reports.read(first) == bk.Reports.read(again)
        assert first.read_bytes() == again.read_bytes()

    def test_one_person_under_a_plan(self, run: Run, plan: Path, out: Path, tmp_path: Path) -> None:
        """Columns in any order, others beside them, and a single value in each."""
        path = tmp_path / "me.csv"
        path.write_text("name,work,sex,age\nquinine,farm,Male,40\n")
        result = run("randomize", path, "--table", *AGES, "--plan", plan, "-o", out)
        assert result.code == 0
        reports = bk.Reports.read(out)
        assert (len(reports), reports.plan) == (1, bk.Plan.from_json(plan.read_text()))

    @pytest.mark.parametrize("options", [(), ("--bins", "age=15,35"), ("--bins", "age=15,35,55,75")])
    def test_bins_must_be_those_of_the_plan(
        self, run: Run, people: Path, plan: Path, out: Path, options: tuple[str, ...]
    ) -> None:
        result = run("randomize", people, "--table", *WORK, *options, "--plan", plan, "-o", out)
        assert (result.code, result.out) == (2, "")
        assert "The bins of 'age' must be those of the plan, 15,35,55" in result.err
        assert "--bins age=15,35,55, or give them in a --schema file" in result.err
        assert not out.exists()

    def test_bins_of_an_attribute_that_has_none(self, run: Run, people: Path, plan: Path, out: Path) -> None:
        result = run("randomize", people, *READING, "--bins", "sex=1,2", "--plan", plan, "-o", out)
        assert result.code == 2
        assert "The bins of 'sex' must be those of the plan, which has none." in result.err

    def test_bins_in_a_schema(self, run: Run, people: Path, plan: Path, out: Path, tmp_path: Path) -> None:
        schema = tmp_path / "schema.json"
        options = ("--table", "--schema", schema, "--plan", plan, "-o", out)
        schema.write_text('{"bins": {"age": [15, 35, 55]}, "missing": {"work": "unknown"}}')
        assert run("randomize", people, *options).code == 0
        schema.write_text('{"missing": {"work": "unknown"}}')
        result = run("randomize", people, *options)
        assert result.code == 1
        assert str(schema) in result.err
        assert "The bins of 'age' must be those of the plan" in result.err

    def test_one_category_for_missing_in_every_column(self, run: Run, people: Path, plan: Path, out: Path) -> None:
        """The plan has it in one column, and nothing is missing in the others."""
        assert run("randomize", people, "--table", *AGES, "--missing", "unknown", "--plan", plan, "-o", out).code == 0
        assert run("randomize", people, "--table", *AGES, "--missing", "none", "--plan", plan, "-o", out).code == 1

    def test_a_file_that_holds_the_bins_themselves(
        self, run: Run, table: bk.Table, plan: Path, out: Path, tmp_path: Path
    ) -> None:
        path, schema = tmp_path / "binned.csv", tmp_path / "schema.json"
        table.write(path)
        schema.write_text(json.dumps({"values": {"age": table.domain.attribute("age").values}}))
        assert run("randomize", path, "--table", "--schema", schema, "--plan", plan, "--seed", 1, "-o", out).code == 0
        assert bk.Reports.read(out) == bk.Reports.read(out).plan.randomize(table, rng=bk.Seeded(1))

    def test_bins_with_a_category_for_missing(self, run: Run, people: Path, out: Path, tmp_path: Path) -> None:
        plan = tmp_path / "p.json"
        options = ("--table", "--missing", "unknown", "--bins", "age=15.5,1e20")
        people_of_all_ages = tmp_path / "all.csv"
        people_of_all_ages.write_text("age,sex\n16,F\n?,M\n2e20,\n")
        written = ("--keep", 0.9, "--write-plan", plan)
        assert run("randomize", people_of_all_ages, *options, *written, "-o", out).code == 0
        result = run("randomize", people_of_all_ages, "--table", "--missing", "unknown", "--plan", plan, "-o", out)
        assert result.code == 2
        assert "--bins age=15.5,1e+20" in result.err
        assert run("randomize", people_of_all_ages, *options, "--plan", plan, "-o", out).code == 0

    @pytest.mark.parametrize(
        "values", [("[3,5)", "[1,inf)"), ("[1,2)", "[3,inf)"), ("[a,b)", "[b,inf)"), ("[1,2)", "x", "y")]
    )
    def test_values_that_only_look_like_bins(
        self, run: Run, out: Path, tmp_path: Path, values: tuple[str, ...]
    ) -> None:
        plan, path = tmp_path / "p.json", tmp_path / "words.csv"
        domain = bk.TableDomain([bk.Attribute("range", values)])
        plan.write_text(bk.Plan(domain, bk.GammaDiagonal(gamma=19)).json)
        bk.Table([{"range": value} for value in values], domain).write(path)
        assert run("randomize", path, "--table", "--plan", plan, "-o", out).code == 0

    def test_a_value_that_the_plan_does_not_have(self, run: Run, plan: Path, out: Path, tmp_path: Path) -> None:
        path = tmp_path / "more.csv"
        path.write_text("age,sex,work\n20,Male,farm\n30,Female,quinine\n")
        arguments = ("randomize", path, "--table", *AGES, "--plan", plan, "-o", out)
        result = run(*arguments)
        assert (result.code, result.out) == (1, "")
        assert f"Attribute 'work' must hold one of its 3 declared values; line 3 of the file {path}" in result.err
        assert "hint: The plan settles which values there can be" in result.err
        assert "quinine" not in result.err
        assert "quinine" in run(*arguments, "--show-values").err
        declared = (*arguments, "--values", "work=farm,quinine")  # declared, and yet not in the plan
        result = run(*declared)
        assert result.code == 1
        assert "hint: --show-values shows which." in result.err
        assert "quinine" not in result.err
        assert "quinine" in run(*declared, "--show-values").err
        assert not out.exists()

    def test_attributes_must_be_those_of_the_plan(self, run: Run, plan: Path, out: Path, tmp_path: Path) -> None:
        path = tmp_path / "fewer.csv"
        path.write_text("age,sex\n20,Male\n30,Female\n")
        result = run("randomize", path, "--table", *AGES, "--plan", plan, "-o", out)
        assert result.code == 1
        assert (
            f"The file {path} must have a column for each attribute of the plan, and has none for 'work'" in result.err
        )
        result = run("randomize", path, "--table", *AGES, "--columns", "age,sex", "--plan", plan, "-o", out)
        assert result.code == 1
        assert "differ in 'work'" in result.err

    def test_groups_come_from_the_schema_again(self, run: Run, people: Path, out: Path, tmp_path: Path) -> None:
        plan, schema = tmp_path / "p.json", tmp_path / "schema.json"
        groups = {"work": {"outdoors": ["farm"], "indoors": "*"}, "sex": ["Male", "Female"]}
        schema.write_text(json.dumps({"columns": ["sex", "work"], "values": groups, "missing": {"work": "unknown"}}))
        options = ("--table", "--schema", schema, "-o", out)
        assert run("randomize", people, *options, "--gamma", 19, "--write-plan", plan).code == 0
        assert run("randomize", people, *options, "--plan", plan).code == 0
        result = run("randomize", people, "--table", *WORK, "--plan", plan, "-o", out)
        assert result.code == 1
        assert "'work' must hold one of its 3 declared values" in result.err

    def test_a_plan_is_for_tables_or_for_baskets(
        self, run: Run, people: Path, study: Study, plan: Path, out: Path
    ) -> None:
        for path, options, said in (
            (people, ("--plan", plan), f"must be given, since the plan in {plan} is for a table."),
            (
                people,
                (*READING, "--plan", study.plan),
                f"must be left out, since the plan in {study.plan} is for baskets.",
            ),
        ):
            result = run("randomize", path, *options, "-o", out)
            assert (result.code, result.out) == (2, "")
            assert said in result.err


class TestMining:
    @pytest.mark.parametrize(("command", "kind"), [("mine", "itemsets"), ("rules", "rules")])
    def test_raw_tables_and_reports(
        self, run: Run, people: Path, table: bk.Table, out: Path, tmp_path: Path, command: str, kind: str
    ) -> None:
        assert run("randomize", people, *READING, "--gamma", 190, "--seed", 1, "-o", out).code == 0
        threshold = ("--min-threshold", 0.4) if command == "rules" else ()
        for path, data, options in ((people, table, READING), (out, bk.Reports.read(out), ())):
            page = tmp_path / "page.html"
            arguments = (command, path, "--min-support", 0.1, *options, *threshold)
            result = run(*arguments, "--format", "json", "--report", page)
            assert result.code == 0
            found = bk.mine(data, min_support=0.1)
            truth = found.to_frame() if command == "mine" else found.rules(min_threshold=0.4)
            assert len(truth) > 5
            value = json.loads(result.out)
            same(pd.DataFrame(value[kind]), truth)
            assert "age=[15,35)" in page.read_text()
            shown = run(*arguments)
            assert shown.code == 0
            assert "sex=Female" in shown.out
        assert value["about"]["parameters"] == {"name": "gamma_diagonal", "gamma": 190.0, "spread": 0.0}

    def test_it_says_what_it_got(self, run: Run, people: Path, out: Path) -> None:
        run("randomize", people, *READING, "--gamma", 19, "-o", out)
        raw = run("mine", people, *READING, "--min-support", 0.1)
        assert "a raw table, 1,800 records over 8 items of 3 attributes; the result is exact" in raw.err
        reports = run("mine", out, "--min-support", 0.1)
        assert "1,800 reports over 8 items of 3 attributes, GammaDiagonal(gamma=19)" in reports.err
        assert "privacy of one record epsilon 2.945, gamma 19" in reports.err

    def test_several_files_of_reports(self, run: Run, people: Path, out: Path, plan: Path, tmp_path: Path) -> None:
        other = tmp_path / "s.parquet"
        for path, seed in ((out, 1), (other, 2)):
            assert run("randomize", people, *READING, "--plan", plan, "--seed", seed, "-o", path).code == 0
        assert "3,600 reports over 8 items" in run("mine", out, other, "--min-support", 0.1).err

    def test_what_does_not_come_with_table(self, run: Run, people: Path, out: Path) -> None:
        run("randomize", people, *READING, "--gamma", 19, "-o", out)
        result = run("mine", out, "--table", "--min-support", 0.1)
        assert (result.code, result.out) == (1, "")
        assert "hint: Leave out --table" in result.err
        result = run("rules", people, people, *READING, "--min-support", 0.1)
        assert (result.code, result.out) == (2, "")
        assert "The '--table' option must come with one file." in result.err


class TestAudit:
    @pytest.mark.parametrize(
        "options", [("--gamma", 19), ("--keep", 0.9), ("--cutoff", 2, "--insert", 0.1), ("--mix", 2, "--mix-keep", 0.6)]
    )
    def test_as_of_the_same_records_as_baskets(
        self, run: Run, people: Path, table: bk.Table, out: Path, options: tuple[object, ...]
    ) -> None:
        assert run("randomize", people, *READING, *options, "--seed", 1, "-o", out).code == 0
        result = run("audit", people, out, *READING)
        assert result.code == 0
        assert result.out == f"{breaches(table.to_baskets(), bk.Reports.read(out))}\n"

    def test_the_raw_table_is_read_as_the_reports_were_made(
        self, run: Run, people: Path, out: Path, tmp_path: Path
    ) -> None:
        """The first records have too few values to tell the domain."""
        few, few_reports, plan = tmp_path / "few.csv", tmp_path / "few.parquet", tmp_path / "plan.json"
        run("randomize", people, *READING, "--gamma", 19, "-o", out, "--write-plan", plan)
        few.write_text("sex,age,work\n" + "Male,20,farm\n" * 40)
        options = ("--table", *AGES)
        assert run("randomize", few, *options, "--plan", plan, "-o", few_reports).code == 0
        assert run("audit", few, few_reports, *options, "--min-reports", 1).code == 0
        result = run("audit", few, few_reports, "--table")
        assert result.code == 2
        assert "The bins of 'age' must be those of the plan" in result.err

    def test_files_that_do_not_belong_together(self, run: Run, people: Path, study: Study, out: Path) -> None:
        run("randomize", people, *READING, "--gamma", 19, "-o", out)
        for arguments, said in (
            ((people, out), f"must be given, since the reports in {out} are of a table."),
            (
                (people, study.reports, *READING),
                f"must be left out, since the reports in {study.reports} are of baskets.",
            ),
        ):
            result = run("audit", *arguments)
            assert (result.code, result.out) == (2, "")
            assert said in result.err
        result = run("audit", out, out, "--table")
        assert result.code == 1
        assert "Name the raw records first" in result.err
