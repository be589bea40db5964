"""Questions on the command line: ``randomize --design``, ``mine --model``, and phases read together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bosket as bk
from tests.cli.conftest import AGES, WORK, Run, Study
from tests.cli.test_mine import same

READING = ("--table", *AGES, *WORK)


@pytest.fixture
def design(table: bk.Table, tmp_path: Path) -> Path:
    path = tmp_path / "design.json"
    path.write_text(json.dumps(bk.Design.pairs(table.domain).to_json()))
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "r.parquet"


class TestRandomize:
    def test_a_design_is_the_short_way_for_ask(
        self, run: Run, people: Path, table: bk.Table, design: Path, out: Path
    ) -> None:
        short = run("randomize", people, *READING, "--design", design, "--gamma", 19.5, "--seed", 5, "-o", out)
        assert short.code == 0
        reports = bk.Reports.read(out)
        assert reports == bk.Ask(bk.Design.pairs(table.domain), 19.5).randomize(table, rng=bk.Seeded(5))
        long = ("--mechanism", "ask", "--set", f"design=@{design}", "--set", "gamma=19.5")
        assert run("randomize", people, *READING, *long, "--seed", 5, "-o", out).err == short.err
        assert bk.Reports.read(out) == reports

    def test_large_questions_are_hashed_unless_told_otherwise(
        self, run: Run, people: Path, table: bk.Table, tmp_path: Path, out: Path
    ) -> None:
        path, whole = tmp_path / "whole.json", bk.Design([table.domain.names])
        path.write_text(json.dumps(whole.to_json()))
        made = run("randomize", people, *READING, "--design", path, "--gamma", 2, "--seed", 5, "-o", out)
        assert made.code == 0
        assert "of 1 of 1 questions a bucket of the answer is told" in made.err
        assert bk.Reports.read(out).plan.mechanism == bk.Ask(whole, 2, "hashing")
        assert run("mine", out, "--min-support", 0.2).code == 0
        named = ("--mechanism", "ask", "--set", f"design=@{path}", "--set", "gamma=2", "--set")
        assert run("randomize", people, *READING, *named, "channel=response", "-o", out).code == 0
        assert list(bk.Reports.read(out).batch.columns) == ["question", "answer"]
        wrong = run("randomize", people, *READING, *named, "channel=unary", "-o", out)
        assert (wrong.code, "auto, response, hashing" in wrong.err) == (2, True)

    @pytest.mark.parametrize(
        ("others", "said"),
        [
            ((), "'--design' option must come with --gamma"),
            (("--gamma", 19, "--spread", 0.5), "'--spread' option must not come with --design"),
            (("--gamma", 19, "--mechanism", "ask"), "'--mechanism' option must not come with --design"),
            (("--gamma", 19, "--set", "gamma=3"), "'--set' option must not come with --design"),
            (("--keep", 0.9), "'--keep' option must not come with --design"),
            (("--gamma", 1), "--gamma"),
        ],
    )
    def test_what_does_not_belong_to_a_design(
        self, run: Run, people: Path, design: Path, out: Path, others: tuple[object, ...], said: str
    ) -> None:
        result = run("randomize", people, *READING, "--design", design, *others, "-o", out)
        assert result.code == 2
        assert said in result.err
        assert not out.exists()

    def test_a_design_is_for_tables(self, run: Run, study: Study, design: Path, out: Path) -> None:
        result = run("randomize", study.baskets, "--design", design, "--gamma", 19, "-o", out)
        assert (result.code, "come with --table" in result.err) == (2, True)

    @pytest.mark.parametrize(
        ("content", "hint"),
        [
            ('{"item": {"keep": 0.9}}', "'bosket ask' makes designs"),
            ("[1, 2]", "'bosket ask' makes designs"),
            ("plan", "This seems to be a plan, which --plan takes"),
        ],
    )
    def test_a_file_that_is_no_design(
        self, run: Run, people: Path, table: bk.Table, out: Path, tmp_path: Path, content: str, hint: str
    ) -> None:
        path = tmp_path / "other.json"
        path.write_text(bk.Plan(table.domain, bk.GammaDiagonal(19)).json if content == "plan" else content)
        result = run("randomize", people, *READING, "--design", path, "--gamma", 19, "-o", out)
        assert result.code == 1
        assert f"The design in {path} cannot be used" in result.err
        assert hint in result.err

    def test_a_design_is_held_to_max_bytes(self, run: Run, people: Path, design: Path, out: Path) -> None:
        result = run("randomize", people, *READING, "--design", design, "--gamma", 19, "--max-bytes", 20, "-o", out)
        assert (result.code, str(design) in result.err) == (1, True)

    def test_an_unknown_attribute_is_named(self, run: Run, people: Path, out: Path, tmp_path: Path) -> None:
        path = tmp_path / "design.json"
        path.write_text('{"questions": [{"attributes": ["age", "colour"]}]}')
        result = run("randomize", people, *READING, "--design", path, "--gamma", 19, "-o", out)
        assert result.code == 2
        assert "'colour'" in result.err
        assert "The attributes are 'age', 'sex', 'work'" in result.err


@pytest.fixture
def phases(table: bk.Table, tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two batches of a first phase, and a second phase that follows it."""
    codes = table.codes[np.random.default_rng(3).permutation(table.n_records)]
    parts = [bk.Table.from_codes(part, table.domain) for part in (codes[:400], codes[400:800], codes[800:])]
    design = bk.Design.pairs(table.domain)
    first = bk.Plan(table.domain, bk.Ask(design, 19))
    answers = [first.randomize(part, rng=bk.Seeded(at)) for at, part in enumerate(parts[:2])]
    refined = design.refine(bk.Reports.concat(answers), people=1000, min_support=0.05)
    answers.append(bk.Plan(table.domain, bk.Ask(refined, 19)).randomize(parts[2], rng=bk.Seeded(9)))
    paths = tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "second.parquet"
    for path, reports in zip(paths, answers, strict=True):
        reports.write(path)
    return paths


class TestMine:
    @pytest.mark.parametrize(
        ("options", "model"),
        [
            ((), "auto"),
            (("--model", "log-linear"), "log-linear"),
            (("--model", "log-linear", "--order", 1), bk.LogLinear(1)),
            (("--model", "none"), None),
        ],
    )
    def test_models(
        self, run: Run, phases: tuple[Path, ...], tmp_path: Path, options: tuple[object, ...], model: Any
    ) -> None:
        path = tmp_path / "found.json"
        result = run("mine", phases[0], "--min-support", 0.05, *options, "-o", path)
        assert result.code == 0
        expected = bk.mine(bk.Reports.read(phases[0]), min_support=0.05, model=model)
        same(pd.DataFrame(json.loads(path.read_text())["itemsets"]), expected.to_frame())
        assert ("model: log-linear law" in result.err) == (model is not None)
        assert ("fitting a law" in result.err) == (model is not None), "before it is waited for"

    def test_files_of_one_plan_and_of_two_phases(self, run: Run, phases: tuple[Path, ...], tmp_path: Path) -> None:
        path = tmp_path / "found.json"
        result = run("mine", *phases, "--min-support", 0.05, "-o", path)
        assert result.code == 0
        assert "phase 1 of 2: 800 reports" in result.err
        assert "phase 2 of 2: 1,000 reports" in result.err
        assert "answered in one of them alone" in result.err
        reports = [bk.Reports.read(one) for one in phases]
        pooled = bk.pool(bk.Reports.concat(reports[:2]), reports[2])
        found = json.loads(path.read_text())
        same(pd.DataFrame(found["itemsets"]), bk.mine(pooled, min_support=0.05).to_frame())
        assert found["about"]["n_records"] == 1800
        assert [one["name"] for one in found["about"]["parameters"]["phases"]] == ["ask", "ask"]
        assert "protects nobody" in json.dumps(found["about"]["guarantee"])

    @pytest.mark.slow
    def test_the_page_of_phases_has_the_weakest_promise(self, run: Run, table: bk.Table, tmp_path: Path) -> None:
        """Five reports a person in the first phase, one in the second."""
        design = bk.Design.pairs(table.domain)
        first = bk.Plan(table.domain, bk.Ask(design, 19), bk.PrivacyUnit(reports=5)).randomize(table)
        refined = design.refine(first, people=1000, min_support=0.05)
        second = bk.Plan(table.domain, bk.Ask(refined, 19)).randomize(table)
        paths, page = (tmp_path / "a.parquet", tmp_path / "b.parquet"), tmp_path / "page.html"
        for path, reports in zip(paths, (first, second), strict=True):
            reports.write(path)
        found = tmp_path / "found.json"
        assert run("mine", *paths, "--min-support", 0.1, "-o", found, "--report", page).code == 0
        for text in (page.read_text(), found.read_text()):
            assert "5 reports, drawn afresh, known to be theirs: epsilons add" in text
            assert "who answers in several has the sum of their epsilons" in text

    def test_a_tally_is_a_phase_too(self, run: Run, phases: tuple[Path, ...], tmp_path: Path) -> None:
        tally, path = tmp_path / "tally.parquet", tmp_path / "found.json"
        first = bk.Reports.concat([bk.Reports.read(one) for one in phases[:2]])
        bk.Tally.of(first).write(tally)
        assert run("mine", tally, phases[2], "--min-support", 0.05, "-o", path).code == 0
        expected = bk.mine(bk.pool(first, bk.Reports.read(phases[2])), min_support=0.05).to_frame()
        same(pd.DataFrame(json.loads(path.read_text())["itemsets"]), expected)

    def test_phases_of_baskets_in_any_order(self, run: Run, tmp_path: Path) -> None:
        baskets = bk.quest(records=6000, mean_size=3, items=12, patterns=6, seed=3)
        ask = bk.Ask.baskets(baskets.domain, epsilon=3, expected_size=3)
        first = bk.Plan(baskets.domain, ask).randomize(baskets[:3000], rng=bk.Seeded(1))
        second = bk.Plan(baskets.domain, ask.refine(first)).randomize(baskets[3000:], rng=bk.Seeded(2))
        paths = tmp_path / "1.parquet", tmp_path / "2.parquet"
        first.write(paths[0])
        second.write(paths[1])
        out = tmp_path / "found.json"
        assert run("mine", paths[1], paths[0], "--min-support", 0.2, "-o", out).code == 0
        expected = bk.mine(bk.pool(first, second), min_support=0.2).to_frame()
        same(pd.DataFrame(json.loads(out.read_text())["itemsets"]), expected)
        result = run("mine", *paths, "--min-support", 0.2, "--model", "log-linear")
        assert (result.code, "no law is fitted to them" in result.err) == (2, True)
        assert "note: these questions follow" in run("mine", paths[1], "--min-support", 0.2).err

    def test_a_file_of_a_phase_that_is_given_twice(self, run: Run, phases: tuple[Path, ...]) -> None:
        result = run("mine", phases[0], phases[2], phases[0], "--min-support", 0.05)
        assert (result.code, "is given twice" in result.err) == (1, True)

    def test_rules_of_two_phases(self, run: Run, phases: tuple[Path, ...], tmp_path: Path) -> None:
        path = tmp_path / "rules.json"
        result = run("rules", *phases, "--min-support", 0.05, "--min-threshold", 0.2, "-o", path)
        assert result.code == 0
        assert json.loads(path.read_text())["rules"]

    def test_a_second_phase_alone_says_what_it_follows(self, run: Run, phases: tuple[Path, ...]) -> None:
        result = run("mine", phases[2], "--min-support", 0.05)
        assert result.code == 0
        assert "note: these questions follow the answers of plan" in result.err

    def test_a_second_phase_needs_its_first_among_several(
        self, run: Run, phases: tuple[Path, ...], table: bk.Table, tmp_path: Path
    ) -> None:
        other = tmp_path / "other.parquet"
        bk.Ask(bk.Design.triples(table.domain), 19).randomize(table, rng=bk.Seeded(1)).write(other)
        result = run("mine", other, phases[2], "--min-support", 0.05)
        assert (result.code, "must be pooled with them" in result.err) == (1, True)

    def test_reports_of_other_mechanisms_are_no_phases(
        self, run: Run, phases: tuple[Path, ...], table: bk.Table, tmp_path: Path
    ) -> None:
        other = tmp_path / "other.parquet"
        bk.GammaDiagonal(19).randomize(table, rng=bk.Seeded(1)).write(other)
        result = run("mine", phases[0], other, "--min-support", 0.05)
        assert (result.code, "plan" in result.err) == (1, True)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--order", 2), "'--order' option must come with --model log-linear"),
            (("--order", 2, "--model", "none"), "'--order' option must come with --model log-linear"),
            (("--model", "log-linear", "--order", 4), "--order"),
            (("--model", "quadratic"), "--model"),
        ],
    )
    def test_wrong_options(self, run: Run, phases: tuple[Path, ...], options: tuple[object, ...], said: str) -> None:
        for command in ("mine", "rules"):
            result = run(command, phases[0], "--min-support", 0.05, *options)
            assert result.code == 2
            assert said in result.err

    def test_raw_records_take_no_law(self, run: Run, people: Path) -> None:
        result = run("mine", people, *READING, "--min-support", 0.05, "--model", "log-linear")
        assert (result.code, "they are counted" in result.err) == (2, True)
        assert run("mine", people, *READING, "--min-support", 0.05, "--model", "none").code == 0

    def test_reports_without_a_law_refuse_one(self, run: Run, study: Study) -> None:
        result = run("mine", study.reports, "--min-support", 0.1, "--model", "log-linear")
        assert (result.code, "no law can be fitted to them" in result.err) == (2, True)
        assert "Traceback" not in result.err

    def test_pairs_without_parameters_take_no_model(self, run: Run, phases: tuple[Path, ...]) -> None:
        result = run("rules", phases[0], "--without-parameters", "--model", "none")
        assert (result.code, "'--model' option must not come with --without-parameters" in result.err) == (2, True)
        result = run("rules", *phases, "--without-parameters")
        assert (result.code, "come with reports of one plan" in result.err) == (2, True)


DECLARED = ("--bins", "age=15,35,55", "--values", "sex=Female,Male", "--values", "work=office,farm,unknown")


class TestAsk:
    @pytest.fixture
    def domain(self) -> bk.TableDomain:
        values = {
            "age": ["[15,35)", "[35,55)", "[55,inf)"],
            "sex": ["Female", "Male"],
            "work": ["office", "farm", "unknown"],
        }
        return bk.TableDomain([bk.Attribute(name, values[name]) for name in values])

    @pytest.mark.parametrize(
        ("options", "make"),
        [
            (("--pairs",), bk.Design.pairs),
            (("--triples",), bk.Design.triples),
            (("--size", 1), lambda domain: bk.Design.of_size(domain, 1)),
            (("--covering", 2, "--times", 2), lambda domain: bk.Design.covering(domain, size=2, times=2)),
        ],
    )
    def test_designs_of_declared_attributes(
        self, run: Run, domain: bk.TableDomain, tmp_path: Path, options: tuple[object, ...], make: Any
    ) -> None:
        path = tmp_path / "design.json"
        result = run("ask", *DECLARED, *options, "--gamma", 19, "-o", path)
        assert result.code == 0
        found = bk.Design.from_json(json.loads(path.read_text()))
        expected = make(domain)
        assert sorted(sorted(one.attributes) for one in found.questions) == sorted(
            sorted(one.attributes) for one in expected.questions
        )
        assert f"--design {path} --gamma 19 -o" in result.err

    def test_what_it_will_see(self, run: Run, domain: bk.TableDomain) -> None:
        result = run("ask", *DECLARED, "--pairs", "--prior", "5%", "--posterior", 0.3, "--people", 21000)
        assert result.code == 0
        shown = dict(line.strip().split("  ", 1) for line in result.out.splitlines()[1:])
        shown = {name: value.strip() for name, value in shown.items()}
        assert shown["questions"] == "3 questions about 2 attributes"
        assert shown["largest question"] == "9 answers"
        kappa = (8.142857142857142 - 1) / (8.142857142857142 + 9 - 1)
        assert f"{100 * (kappa + (1 - kappa) / 9):.1f}% to the largest" in shown["true answers"]
        assert shown["guarantee"].startswith("a property of a record that had 5% comes to 30% at most")
        assert shown["stderr of a triple, 21,000 people"] == "no single question tells"
        (item,) = [one for one in bk.Ask(bk.Design.pairs(domain), 8.142857142857142).accuracy(domain) if one.size == 1]
        low, high = (float(word) for word in shown["stderr of an item, 21,000 people"].split(" to "))
        assert (low, high) == pytest.approx(item.stderr(21_000), rel=0.01)
        assert shown["pairs of attributes"] == "3 of 3 asked about together"
        assert "nothing was written" in result.err

    def test_hashed_questions_are_told_of(self, run: Run) -> None:
        result = run("ask", *DECLARED, "--triples", "--gamma", 3)
        assert "1 of 1 question hashed: the bucket is true" in result.out
        assert "50% on average" in result.out  # 3 / (3 + 4 - 1)

    def test_a_table_gives_its_attributes_and_what_occurs_is_said(
        self, run: Run, people: Path, table: bk.Table, tmp_path: Path
    ) -> None:
        path = tmp_path / "design.json"
        result = run("ask", people, *AGES, *WORK, "--pairs", "--gamma", 19, "-o", path)
        assert result.code == 0
        assert bk.Design.from_json(json.loads(path.read_text())) == bk.Design.pairs(table.domain)
        assert "have the values that occur" in result.err
        assert "have the values that occur" not in run("ask", people, *DECLARED, "--pairs", "--gamma", 19).err

    def test_a_table_is_not_opened_where_all_is_declared(self, run: Run, tmp_path: Path) -> None:
        columns = ("--columns", "age,sex,work")
        result = run("ask", tmp_path / "nowhere.csv", *columns, *DECLARED, "--pairs", "--gamma", 19)
        assert result.code == 0

    def test_a_schema_is_enough(self, run: Run, tmp_path: Path) -> None:
        schema = tmp_path / "schema.json"
        schema.write_text('{"columns": ["a", "b"], "values": {"a": ["x", "y"], "b": {"u": ["1"], "other": "*"}}}')
        assert run("ask", "--schema", schema, "--pairs", "--gamma", 19).code == 0
        schema.write_text('{"columns": ["a", "b"], "values": {"a": ["x", "x"], "b": ["u", "v"]}}')
        result = run("ask", "--schema", schema, "--pairs", "--gamma", 19)
        assert (result.code, f"The schema in {schema} cannot be used" in result.err) == (1, True)

    def test_from_a_question_to_rules_in_two_phases(
        self, run: Run, people: Path, table: bk.Table, tmp_path: Path
    ) -> None:
        first, second, design, refined = (tmp_path / name for name in ("1.parquet", "2.parquet", "d.json", "e.json"))
        assert run("ask", people, *AGES, *WORK, "--pairs", "--gamma", 19, "-o", design).code == 0
        assert run("randomize", people, *READING, "--design", design, "--gamma", 19, "-o", first).code == 0
        result = run("ask", "--refine", first, "--people", 1800, "--min-support", 0.05, "-o", refined)
        assert result.code == 0
        plan = bk.Reports.read(first).plan
        assert bk.Design.from_json(json.loads(refined.read_text())).follows == plan.digest
        assert f"follows the answers of plan {plan.digest[:12]}" in result.err
        assert "gamma of the whole record" in result.out
        assert run("randomize", people, *READING, "--design", refined, "--gamma", 19, "-o", second).code == 0
        assert run("mine", first, second, "--min-support", 0.05).code == 0

    def test_a_pilot_is_not_protected(self, run: Run, people: Path, table: bk.Table, tmp_path: Path) -> None:
        path = tmp_path / "design.json"
        goals = ("--gamma", 19, "--people", 1000, "--min-support", 0.05)
        result = run("ask", "--pilot", people, *AGES, *WORK, *goals, "-o", path)
        assert result.code == 0
        assert "made by 1,800 raw records" in result.err
        expected = bk.Design.optimal(table, gamma=19, people=1000, min_support=0.05)
        assert bk.Design.from_json(json.loads(path.read_text())) == expected

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--gamma", 19), "--pairs"),
            (("--pairs", "--triples", "--gamma", 19), "not allowed with"),
            (("--pairs",), "'--gamma' option must be given, or --prior and --posterior"),
            (("--pairs", "--gamma", 1), "--gamma"),
            (("--pairs", "--gamma", 19, "--prior", "5%"), "'--prior' option must not come with --gamma"),
            (("--pairs", "--prior", "5%"), "'--prior' option must come with --posterior"),
            (("--pairs", "--prior", "5%", "--posterior", "3%"), "above the prior"),
            (("--pairs", "--prior", "105%", "--posterior", "3%"), "--prior"),
            (("--pairs", "--prior", "%", "--posterior", "3%"), "must be a number"),
            (("--pairs", "--gamma", 19, "--times", 2), "'--times' option must come with --covering"),
            (("--pairs", "--gamma", 19, "--min-support", 0.1), "come with --refine or --pilot"),
            (("--covering", 9, "--gamma", 19), "size"),
            (("--pilot", "{people}", "--gamma", 19, "--people", 10), "'--pilot' option must come with --min-support"),
            (("--refine", "r", "--gamma", 19, "--people", 10, "--min-support", 0.1), "plan of the reports settles it"),
            (("--pairs", "--gamma", 19, "--columns", "age,sex,hat"), "There must be a TABLE"),
            (("--pairs", "--gamma", 19, "-o", "design.txt"), "must end in .json"),
        ],
    )
    def test_wrong_options(
        self,
        run: Run,
        people: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        options: tuple[Any, ...],
        said: str,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        reading: tuple[str, ...] = () if "--refine" in options else DECLARED
        if "--columns" in options:
            reading = ("--bins", "age=15,35", "--values", "sex=Female,Male")
        words = [str(word).format(people=people) for word in options]
        result = run("ask", *reading, *words)
        assert result.code == 2
        assert said in result.err
        assert result.out == ""
        assert not list(tmp_path.iterdir())

    def test_hints_are_in_the_words_of_the_command(self, run: Run) -> None:
        many = [word for at in range(40) for word in ("--values", f"a{at}=no,yes")]
        result = run("ask", *many, "--size", 10, "--gamma", 19)
        assert (result.code, "hint: --covering asks about every pair" in result.err) == (2, True)

    def test_what_cannot_be_refined(self, run: Run, study: Study, people: Path, phases: tuple[Path, ...]) -> None:
        goals = ("--people", 100, "--min-support", 0.1)
        result = run("ask", "--refine", study.reports, *goals)
        assert (result.code, "name answers to questions" in result.err) == (2, True)
        result = run("ask", "--refine", phases[0], phases[2], *goals)
        assert (result.code, "name answers of one plan" in result.err) == (2, True)
        result = run("ask", "--refine", phases[0], *goals, "--columns", "age")
        assert (result.code, "reports say what they are of" in result.err) == (2, True)
        result = run("ask", "--refine", people, *goals)
        assert (result.code, "Traceback" in result.err) == (1, False)
