"""``bosket plan``: one command for one question, both ways, and five questions on a terminal."""

from __future__ import annotations

import io
import json
import math
import re
import resource
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

import bosket as bk
from bosket.planning.rule_errors import both_below
from bosket.privacy.guarantee import rounded_up
from tests.cli.conftest import Run
from tests.effort import slowness

SURVEY = ("plan", "--questions", "8", "--people", "21000")
SHOP = ("plan", "--items", "200", "--mean-size", "2", "--people", "1000")


def test_the_question_of_a_new_user_has_an_answer(run: Run, tmp_path: Path) -> None:
    """5% below 30%, 21,000 people, sixteen yes/no questions, pairs: one command, a sentence, and a plan that works."""
    path = tmp_path / "plan.json"
    result = run(
        "plan", "--questions", 16, "--people", "21,000", "--prior", "5%", "--posterior", "30%", "--pairs",
        "--min-support", "20%", "-o", path,
    )  # fmt: skip
    assert result.code == 0
    assert "You can ask all 16 questions if each person answers one" in result.out
    assert "GammaDiagonal" in result.out
    assert f"bosket randomize RAW --table ... --plan {path}" in result.err
    plan = bk.Plan.from_json(path.read_text())
    assert isinstance(plan.mechanism, bk.Ask)
    assert plan.guarantee.posterior(0.05) <= 0.3
    assert plan.guarantee.record.epsilon > 0.999 * math.log(0.3 * 0.95 / (0.05 * 0.7))


def test_a_shop_is_answered(run: Run) -> None:
    result = run(
        "plan", "--items", 200, "--mean-size", 4, "--people", 50000, "--epsilon", 3, "--min-support", 0.05
    )  # fmt: skip
    assert result.code == 0
    assert "tell of one item of their basket" in result.out
    assert "in the clear" in result.out


def test_json_says_everything(run: Run) -> None:
    result = run(*SURVEY, "--gamma", 19, "--format", "json", "--min-support", 0.2)
    found = json.loads(result.out)
    assert found["version"] == 1
    assert found["goal"]["epsilon"] == pytest.approx(math.log(19))
    errors = [option["error"] for option in found["options"]]
    assert errors == sorted(errors)
    assert all(option["record_epsilon"] <= math.log(19) for option in found["options"])
    assert bk.Plan.from_json(json.dumps(found["plan"])).guarantee.record.epsilon <= math.log(19)
    assert found["guarantee"]["record"]["epsilon"] == found["options"][0]["record_epsilon"]


@pytest.mark.slow
def test_a_page_has_the_curves(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    assert run(*SURVEY, "--gamma", 19, "--report", page).code == 0
    text = page.read_text()
    assert "<svg" in text
    assert "What more privacy would cost" in text
    assert "You can ask all 8 questions" in text
    assert "Privacy of Ask(" in text


@pytest.mark.slow
def test_what_an_accuracy_allows_says_where_sizes_are_in_the_clear(run: Run) -> None:
    asked = ("plan", "--items", 12, "--mean-size", 2, "--people", 50_000, "--stderr", 0.02)
    assert "among records of one size" in run(*asked).err
    one_item = run(*asked, "--unit", "item")
    assert "CutAndPaste" not in one_item.out + one_item.err


@pytest.mark.slow
def test_both_other_ways(run: Run) -> None:
    promise = run(*SURVEY, "--stderr", 0.05)
    assert promise.code == 0
    assert "people at half" in promise.out
    people = run(*SURVEY, "--gamma", 19, "--stderr", 0.01)
    assert people.code == 0
    assert people.out.index("Ask") < people.out.index("Flip")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ("\n\n\n\n\n", "You can ask all 16 questions"),
        ("questions\n8\n20000\n30%\n1\n", "You can ask all 8 questions if each person answers one"),
        ("fruit\nbasket\n200 4\nmany\n50000\n2%\n50%\n2\n", "tell of one item of their basket"),
    ],
)
def test_five_questions_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, answers: str, said: str) -> None:
    """Empty answers take what is in brackets; a wrong one is asked for again."""
    terminal = io.StringIO(answers)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    result = run("plan")
    assert result.code == 0
    assert said in result.out
    assert [line[:2] for line in result.err.splitlines() if line[1:3] == ". "][-1] == "5."
    assert terminal.read() == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan",), "a terminal to ask"),
        (("plan", "--questions", "8", "--gamma", "19"), "--people"),
        (SURVEY, "--stderr"),
        ((*SURVEY, "--gamma", "19", "--epsilon", "2"), "not come with --gamma"),
        ((*SURVEY, "--prior", "5%"), "come with --posterior"),
        ((*SURVEY, "--items", "5", "--mean-size", "2", "--gamma", "19"), "not come with --questions"),
        (("plan", "--items", "5", "--people", "10", "--gamma", "19"), "come with --mean-size"),
        ((*SURVEY, "--mean-size", "2", "--gamma", "19"), "come with --items"),
        (("plan", "--people", "10", "--gamma", "19"), "--questions"),
        ((*SURVEY, "--stderr", "0.1", "--format", "json"), "not come with --stderr"),
        ((*SURVEY, "--gamma", "19", "-o", "plan.txt"), ".json"),
        ((*SURVEY, "--gamma", "19", "--size", "9"), "itemset_size"),
        (("plan", "--items", "10000000", "--mean-size", "5", "--people", "10", "--gamma", "19"), "at most 100,000"),
        ((*SURVEY, "--gamma", "19", "--table"), "come with --pilot"),
        ((*SURVEY, "--gamma", "19", "--delta", "1e-6"), "come with --curator"),
        ((*SURVEY, "--curator", "--epsilon", "1"), "--items"),
        ((*SHOP, "--curator"), "--min-f"),
        ((*SHOP, "--curator", "--epsilon", "1", "--min-f", "0.9"), "--min-f"),
        ((*SHOP, "--curator", "--gamma", "19"), "not come with --curator"),
        ((*SHOP, "--curator", "--epsilon", "1", "--unit", "item"), "record"),
        ((*SHOP, "--curator", "--min-f", "0.9", "--format", "json"), "not come with --min-f"),
        ((*SHOP, "--curator", "--min-f", "0.9", "--report", "page.html"), "not come with --min-f"),
        (("plan", "--pilot", "x.csv", "--people", "9", "--gamma", "19", "--columns", "a"), "come with --table"),
        (("plan", "--pilot", "x.csv", "--people", "9", "--gamma", "19", "--table", "--classes", "x"), "alike"),
    ],
)
def test_wrong_options(run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    result = run(*arguments)
    assert result.code == 2
    assert said in result.err
    assert result.out == ""


@pytest.mark.parametrize(("h", "k"), [(0.3, -1.2), (0.0, 0.7), (0.0, -0.7), (1.5, 0.0), (-0.4, -0.4), (0.0, 0.0)])
@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.4, 0.99])
def test_two_normal_variables_are_both_below(h: float, k: float, correlation: float) -> None:
    """Against the integral of the density of the first times the conditional law of the second."""
    from scipy.integrate import quad
    from scipy.special import ndtr

    def inner(x: float) -> float:
        below = ndtr((k - correlation * x) / math.sqrt(1 - correlation**2))
        return float(math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * below)

    expected, _ = quad(
        inner, -12, h, epsabs=1e-12, limit=200, points=[min(h, k / correlation)] if correlation > 0.9 else None
    )
    assert both_below(h, k, correlation) == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
def test_it_answers_within_three_seconds_of_work() -> None:
    """Of processor time, as a process of its own: what else the machine does is not counted."""
    command = [sys.executable, "-m", "bosket", "plan", "--questions", "16", "--people", "21000", "--gamma", "8.14"]
    subprocess.run(command, check=True, capture_output=True)  # kernels are compiled on first use
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3 * slowness()


class TestPilots:
    """A public file of the same kind: its sizes, its items, and goals that are about them."""

    @pytest.fixture
    def pilot(self, tmp_path: Path) -> Path:
        path = tmp_path / "public.dat"
        sets = [one for size in (1, 2, 3) for one in combinations("12345678", size)]
        path.write_text("".join(" ".join(one) + "\n" for one in sets) * 4)
        return path

    def test_mistakes_of_a_search_are_foreseen(self, run: Run, pilot: Path) -> None:
        result = run("plan", "--pilot", pilot, "--people", 5000, "--epsilon", 9, "--unit", "item", "--min-support", 0.2)
        assert result.code == 0
        assert "must be public" in result.err
        assert "listed by mistake" in result.out

    def test_a_breach_level_is_a_goal(self, run: Run, pilot: Path, tmp_path: Path) -> None:
        out = tmp_path / "plan.json"
        result = run("plan", "--pilot", pilot, "--people", 50_000, "--breach", "70%", "-o", out)
        assert result.code == 0
        assert "CutAndPaste, by breach level" in result.out
        assert "knows supports alone" in result.err
        assert bk.Plan.from_json(out.read_text()).max_size == 3

    def test_a_breach_level_holds_for_itemsets_larger_than_those_looked_for(self, run: Run, tmp_path: Path) -> None:
        """Of five items that come together, three that are shown told of the rest; pairs alone were planned for."""
        rows = [(0, 1, 2, 3, 4)] * 80 + [tuple(5 + (at + step) % 50 for step in range(5)) for at in range(920)]
        pilot, out = tmp_path / "public.dat", tmp_path / "plan.json"
        pilot.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
        assert run("plan", "--pilot", pilot, "--people", 20_000, "--breach", "50%", "-o", out).code == 0
        mechanism = bk.Plan.from_json(out.read_text()).mechanism
        assert isinstance(mechanism, bk.CutAndPaste)
        known = bk.planning.maximal_supports(bk.Baskets.read(pilot))
        assert (bk.planning.breach_levels(mechanism, known)["breach"] <= 0.5 + 1e-9).all()

    def test_classes_are_a_goal(self, run: Run, pilot: Path, tmp_path: Path) -> None:
        classes = tmp_path / "classes.csv"
        classes.write_text("item,epsilon\n3,0.2\n")
        options = ("plan", "--pilot", pilot, "--people", 50_000, "--epsilon", 6, "--size", 1, "--classes", classes)
        result = run(*options)
        assert result.code == 0
        assert "Flip, a keep for each item" in result.out
        for text in ("item,epsilon\n33,0.2\n", "3;0.2\n", "3,much\n"):
            classes.write_text(text)
            assert run(*options).code == 1

    @pytest.mark.slow
    def test_pages_of_these_goals_say_the_epsilon_of_the_best(self, run: Run, pilot: Path, tmp_path: Path) -> None:
        classes, page = tmp_path / "classes.csv", tmp_path / "plan.html"
        classes.write_text("item,epsilon\n3,0.2\n")
        for goal in (("--breach", "70%"), ("--epsilon", 6, "--size", 1, "--classes", classes)):
            asked = ("plan", "--pilot", pilot, "--people", 50_000, *goal)
            found = json.loads(run(*asked, "--format", "json", "--report", page).out)
            best = found["options"][0]
            assert found["goal"]["epsilon"] >= best["record_epsilon"]  # that of a plan by a breach level too
            words = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page.read_text()))
            assert f"its epsilon {rounded_up(best['record_epsilon'])} " in words
            assert found.get("note", "") in words
            assert ("not at those that it does not show" in words) is (goal[0] == "--breach")

    def test_options_that_make_no_sense_together(self, run: Run, pilot: Path) -> None:
        for options in (
            ("--breach", "50%", "--items", 5, "--mean-size", 2),
            ("--pilot", pilot, "--items", 5, "--epsilon", 1),
            ("--classes", "x.csv", "--questions", 5, "--epsilon", 1),
            ("--pilot", pilot, "--table", "--max-size", 5, "--epsilon", 1),
            ("--pilot", pilot, "--breach", "50%", "--epsilon", 1),
            ("--pilot", pilot, "--breach", "50%", "--stderr", 0.1),
        ):
            assert run("plan", "--people", 100, *options).code == 2


class TestPilotsThatAreTables:
    @pytest.fixture
    def pilot(self, tmp_path: Path) -> Path:
        path = tmp_path / "people.csv"
        rows = ["smokes,drinks,runs"] + ["yes,no,no", "no,no,yes", "no,yes,no", "no,no,no", "yes,yes,no"] * 60
        path.write_text("\n".join(rows) + "\n")
        return path

    def test_mistakes_of_a_search_are_foreseen(self, run: Run, pilot: Path, tmp_path: Path) -> None:
        out = tmp_path / "plan.json"
        result = run(
            "plan", "--pilot", pilot, "--table", "--people", 5000, "--gamma", 19, "--min-support", 0.1, "-o", out
        )
        assert result.code == 0
        assert "listed by mistake" in result.out
        assert bk.Plan.from_json(out.read_text()).domain.labels[:2] == ("smokes=no", "smokes=yes")

    def test_a_breach_level_is_a_goal(self, run: Run, pilot: Path) -> None:
        """The commonest value, runs=no, is had by 80%."""
        result = run("plan", "--pilot", pilot, "--table", "--people", 5000, "--breach", "90%")
        assert result.code == 0
        assert "up to 80% of records" in result.out
        refused = run("plan", "--pilot", pilot, "--table", "--people", 5000, "--breach", "70%")
        assert refused.code == 2


class TestReleases:
    """A curator's, rehearsed."""

    @pytest.fixture
    def pilot(self, tmp_path: Path) -> Path:
        """Ten pairs, each a tenth of all records: sparse, so that a release is quick."""
        path = tmp_path / "public.dat"
        path.write_text("".join(f"{2 * at} {2 * at + 1}\n" for at in range(10)) * 100)
        return path

    @pytest.mark.slow
    def test_a_release_is_foreseen_on_a_pilot(self, run: Run, pilot: Path) -> None:
        options = ("plan", "--curator", "--pilot", pilot, "--people", 1000, "--epsilon", 50, "--releases", 2)
        result = run(*options, "--min-support", 0.06)
        assert result.code == 0
        assert "must be public" in result.err
        assert "F of about 1.00" in result.out
        assert "2 releases of 1,000 records as in the pilot" in result.out
        found = json.loads(run(*options, "--min-support", 0.06, "--delta", 1e-6, "--format", "json").out)
        assert found["f"] == 1.0
        assert found["request"]["delta"] == 1e-6
        assert [row["frequent"] for row in found["sizes"]] == [20, 10]
        assert found["guarantee_of_the_release"]["delta"] == 1e-6
        assert found["is_protected"] is False
        ways = [(row["method"], row["delta"]) for row in found["options"]]
        assert sorted(ways) == [("sieve", 0.0), ("sieve", 1e-6), ("truncation", 0.0)]
        scores = [row["f"] for row in found["options"]]
        assert scores == sorted(scores, reverse=True)
        assert found["command"] == "bosket curate RAW --epsilon 50 --delta 1e-06 --min-support 0.06"

    @pytest.mark.slow
    def test_baskets_are_simulated_where_there_is_no_pilot(self, run: Run) -> None:
        result = run(*SHOP, "--curator", "--epsilon", 1, "--min-support", 0.05, "--releases", 2)
        assert result.code == 0
        assert "simulated" in result.err
        assert "simulated baskets" in result.out

    def test_where_only_noise_would_be_said_it_says_so(self, run: Run, pilot: Path) -> None:
        options = ("plan", "--curator", "--pilot", pilot, "--people", 1000, "--releases", 2, "--min-support", 0.06)
        assert "would be refused" in run(*options, "--epsilon", 0.001).out

    @pytest.mark.slow
    def test_a_page_has_every_way_by_epsilon(self, run: Run, pilot: Path, tmp_path: Path) -> None:
        page = tmp_path / "release.html"
        options = ("plan", "--curator", "--pilot", pilot, "--people", 1000, "--releases", 2, "--min-support", 0.06)
        result = run(*options, "--epsilon", 5, "--delta", 1e-6, "--report", page)
        assert result.code == 0
        assert "next: bosket curate RAW --epsilon 5" in result.err
        text = page.read_text()
        assert "<svg" in text
        for said in ("A plan for a release", "sieve, delta 1e-06", "truncation", "What more privacy would cost"):
            assert said in text
        assert "No record that is to be protected was looked at" in text

    @pytest.mark.slow
    def test_the_least_epsilon_for_an_f(self, run: Run, pilot: Path) -> None:
        options = ("plan", "--curator", "--pilot", pilot, "--people", 1000, "--releases", 2, "--min-support", 0.06)
        assert "an epsilon of about" in run(*options, "--min-f", 0.9).out
