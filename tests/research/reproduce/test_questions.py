"""Questions: the measures by hand, every way on a small table, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import bosket as bk
from bosket.cli import main
from bosket.cli.commands import reproduce_questions
from bosket.evidence import evidence_of
from bosket.research.reproduce import questions
from bosket.research.reproduce.frapp_data import survey
from tests.files import benchmark_file


def small_table(data: str | Path | None = None) -> bk.Table:
    """Four attributes, the second of which follows the first."""
    sizes = {"a": 3, "b": 2, "c": 2, "d": 3}
    domain = bk.TableDomain([bk.Attribute(name, range(size)) for name, size in sizes.items()])
    rng = np.random.default_rng(3)
    codes = np.stack([np.minimum(rng.geometric(0.5, 3000) - 1, size - 1) for size in sizes.values()], axis=1)
    codes[:, 1] = np.where(rng.random(3000) < 0.6, codes[:, 0] > 0, codes[:, 1])
    return bk.Table.from_codes(codes, domain)


def test_exact_records_have_no_error_and_an_f_of_one() -> None:
    table = small_table()
    found = questions.score(evidence_of(table), questions.Truth(table))
    assert (found.error, found.f, found.coverage, found.order) == (0.0, 1.0, None, None)
    assert found.n_itemsets == len(bk.mine(table, min_support=0.02))


def test_a_score_by_hand() -> None:
    domain = bk.TableDomain([bk.Attribute("a", range(2)), bk.Attribute("b", range(2))])
    truth = bk.Table.from_codes(np.array([[0, 0]] * 5 + [[1, 1]] * 5), domain)
    seen = bk.Table.from_codes(np.array([[0, 0]] * 4 + [[1, 1]] * 4 + [[0, 1]] * 2), domain)
    found = questions.score(evidence_of(seen), questions.Truth(truth, min_support=0.3))
    # a=0 .6, a=1 .4, b=0 .4, b=1 .6, both .4: each .1 of .5 away; all six are found, and nothing else
    assert found.error == pytest.approx(0.2)
    assert found.f == 1.0
    found = questions.score(evidence_of(seen), questions.Truth(truth, min_support=0.45))
    assert found.f == pytest.approx(2 * 2 / (2 + 6))  # a=0 and b=1


def margins(cells: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sums over all cells that agree in some attributes; the last place of an axis stands for any value."""
    for axis in range(cells.ndim):
        cells = np.concatenate([cells, cells.sum(axis=axis, keepdims=True)], axis=axis)
    return cells


@pytest.mark.parametrize("gamma", [3.0, 10.0, 200.0])
def test_the_score_of_whole_records_by_all_margins_of_the_inverted_cells(gamma: float) -> None:
    """Estimates as the inverted histogram has them, and Apriori as its definition has it, by arrays of all itemsets."""
    table = small_table()
    sizes = tuple(int(size) for size in table.domain.sizes)
    reports = bk.Plan(table.domain, bk.GammaDiagonal(gamma)).randomize(table, rng=bk.Seeded(4))
    n, n_cells = table.n_records, table.domain.n_cells
    real, seen = (
        np.bincount(one.cells(), minlength=n_cells).reshape(sizes) / n
        for one in (table, bk.Table.from_bits(reports.bits, table.domain))
    )
    p, q = gamma / (gamma + n_cells - 1), 1 / (gamma + n_cells - 1)
    truth, guess = margins(real), margins((seen - q) / (p - q))
    frequent = truth >= 0.02 - 1e-12
    frequent[(-1,) * len(sizes)] = False  # the itemset of no items
    found = np.zeros(truth.shape, bool)
    found[(-1,) * len(sizes)] = True
    for size in range(1, len(sizes) + 1):
        for place in np.ndindex(truth.shape):
            held = [axis for axis, value in enumerate(place) if value < sizes[axis]]
            if len(held) == size and guess[place] >= 0.02:
                parts = [tuple(sizes[k] if k == axis else v for k, v in enumerate(place)) for axis in held]
                found[place] = all(found[part] for part in parts)
    found[(-1,) * len(sizes)] = False
    score = questions.score(evidence_of(reports, model=None), questions.Truth(table))
    assert score.n_itemsets == frequent.sum()
    assert score.error == pytest.approx(np.mean(np.abs(guess - truth)[frequent] / truth[frequent]))
    assert score.f == pytest.approx(2 * (found & frequent).sum() / (found.sum() + frequent.sum()))
    assert 0 < score.f < 1


def test_two_phases_ask_everybody_once_and_the_second_follows_the_first() -> None:
    table = small_table()
    design = bk.Design.pairs(table.domain)
    first, second = questions.two_phases(table, design, 19.0, 5, min_support=0.05)
    assert (first.n_records, second.n_records) == (450, 2550)
    ask = second.plan.mechanism
    assert isinstance(ask, bk.Ask)
    assert ask.design.follows == first.plan.digest


@pytest.mark.slow
def test_every_way_once() -> None:
    table = small_table()
    truth = questions.Truth(table, min_support=0.05)
    found = {way: questions.score(evidence, truth) for way, evidence in questions.studies(table, 19.0, 3)}
    assert list(found) == list(questions.WAYS)
    told = [itemset for itemset in truth.supports if len(itemset) <= 2]
    assert found["pairs"].n_itemsets == len(told)
    assert all(found[way].n_itemsets == len(truth.supports) for way in found if way != "pairs")
    for way, one in found.items():
        assert (one.coverage is not None) == way.endswith("-law")
        assert 0 < one.error < 1
        assert 0.5 < one.f <= 1
    assert found["pairs-law"].error < found["whole"].error


def test_means_and_errors() -> None:
    scores = [questions.Score(error, 0.9, None, 7, None) for error in (0.1, 0.3)]
    found = questions.row("whole", scores, (1.0, 0.5))
    assert found["error"] == {"mean": pytest.approx(0.2), "stderr": pytest.approx(0.1)}
    assert (found["itemsets"], found["coverage"]) == (7, None)
    assert questions.row("whole", scores[:1], None)["f"] == {"mean": 0.9, "stderr": None}


def test_how_far_a_row_is_behind_counts_the_errors_of_both() -> None:
    """Standard deviation 0.1, four repetitions against ten: the difference has the error 0.1 sqrt(1/4 + 1/10)."""
    off = 0.1 * np.sqrt(0.75)  # of the mean, so that the standard deviation is 0.1
    scores = [questions.Score(0.3 + by, 0.8 - by, None, 7, None) for by in (-off, -off, off, off)]
    found = questions.row("whole", scores, (0.2, 0.9))
    assert found["behind"] == {
        "error": pytest.approx(0.1 / (0.1 * np.sqrt(0.35))), "f": pytest.approx(0.1 / (0.1 * np.sqrt(0.35)))
    }  # fmt: skip
    assert questions.row("whole", scores, (0.4, 0.7))["behind"]["f"] < 0, "better is not behind"
    assert questions.row("whole", scores[:1], (0.4, 0.7))["behind"] == {"error": None, "f": None}
    assert questions.row("whole", scores, None)["behind"] is None


def test_rows_behind_the_prototype_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    scores = [questions.Score(error, 0.9 - error, None, 7, None) for error in (0.3, 0.31)]
    rows = [questions.row("whole", scores, (0.2, 0.5)), questions.row("whole-law", scores, (0.4, 0.7))]
    table = {"data": "CENSUS", "what": "people", "gamma": 19.0, "n_records": 9, "repetitions": 2, "seconds": 1.0}
    reproduce_questions.show({**table, "rows": rows, "goal": None}, 0.02)
    told = [line for line in capsys.readouterr().err.splitlines() if "standard errors" in line]
    assert told == [
        "CENSUS, whole record, inverted (FRAPP): the error is above the prototype's by 19.2 standard errors",
        "CENSUS, the same reports, law: F is below the prototype's by 19.2 standard errors",
    ]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "TABLES", {"CENSUS": small_table, "HEALTH": small_table})


@pytest.mark.slow
def test_the_command(small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "questions.json"
    assert main(["research", "reproduce", "questions", "--quick", "--repetitions", "1", "-o", str(path)]) == 0
    out = capsys.readouterr().out
    assert "CENSUS at gamma 19, itemsets from 2%, 3,000 people, 1 repetition (" in out
    assert "one triple each, law" in out
    assert "113.0" in out
    written: dict[str, Any] = json.loads(path.read_text())
    assert written["schema"] == "bosket.reproduce.questions/1"
    (table,) = written["tables"]
    assert [row["way"] for row in table["rows"]] == list(questions.WAYS)
    assert table["goal"] == [0.05, 0.97]


def test_without_the_data_it_says_so_in_one_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "questions", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in said] == [
        "CENSUS is left out",
        "HEALTH is left out",
        "bosket",
        "hint",
    ]


@pytest.mark.data
def test_health_has_the_attributes_it_is_said_to_have() -> None:
    table = survey(benchmark_file("brfss2015_diabetes.csv.gz").parent)
    assert table.domain.names == ("HighBP", "GenHlth", "Sex", "BMI", "Age", "Education", "Income")
    assert table.domain.sizes.tolist() == [2, 5, 2, 3, 5, 5, 5]
    assert table.n_records == 253_680
    assert table.domain.is_declared
