"""What somebody who has never used the library gets wrong about questions, and what they are told."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bosket as bk
from tests.cli.conftest import Run, run

__all__ = ["run"]  # a fixture

PEOPLE = pd.DataFrame({"smokes": ["no", "yes"] * 20, "drinks": ["no"] * 20 + ["yes"] * 20, "debt": ["no", "yes"] * 20})


HALVES: Any = [0.5, 0.5]


@pytest.fixture
def table() -> bk.Table:
    return bk.Table.from_frame(PEOPLE, values={name: ["no", "yes"] for name in ("smokes", "drinks", "debt")})


@pytest.fixture
def reports(table: bk.Table) -> bk.Reports:
    return bk.Ask(bk.Design.pairs(table.domain), gamma=8).randomize(table, rng=bk.Seeded(1))


@pytest.mark.parametrize(
    ("make", "parameter", "said"),
    [
        (lambda: bk.Design(["smokes", "drinks"]), "questions", "'smokes'"),  # whole, not its letters
        (lambda: bk.Design([["smokes"], ["drinks"]], shares=HALVES), "shares", "in proportion"),
    ],
)
def test_designs_that_are_nearly_right(make: Callable[[], bk.Design], parameter: str, said: str) -> None:
    with pytest.raises(bk.ParameterError) as caught:
        make()
    assert caught.value.parameter == parameter
    assert said in str(caught.value)


def test_a_table_in_place_of_its_domain(table: bk.Table) -> None:
    with pytest.raises(bk.ParameterError) as caught:
        bk.Design.pairs(table)  # type: ignore[arg-type]  # what is tested
    assert "table.domain" in str(caught.value.hint)


def test_items_of_a_table_are_texts(reports: bk.Reports) -> None:
    with pytest.raises(bk.DataError) as caught:
        bk.estimate(reports, [{("smokes", "yes")}])
    assert "'smokes=no'" in str(caught.value.hint)
    with pytest.raises(bk.DataError) as caught:
        bk.Domain(["a"]).itemset(["b"])
    assert caught.value.hint is None


def test_phases_are_named_one_after_the_other(reports: bk.Reports) -> None:
    with pytest.raises(bk.DataError, match=r"pool\(first, second\)"):
        bk.pool([reports, reports])  # type: ignore[arg-type]  # what is tested
    with pytest.raises(bk.PlanMismatchError) as caught:
        bk.pool(reports, reports)
    assert "Reports.concat" in str(caught.value.hint)


def test_who_sets_alpha_is_told_of_alpha(reports: bk.Reports) -> None:
    with pytest.raises(bk.ParameterError, match="'alpha'"), pytest.warns(bk.BosketWarning):
        bk.mine(reports, min_support=0.1, max_size=2).rules(min_threshold=0.1, alpha=0.05)


def test_without_interactions_every_lift_is_one(reports: bk.Reports) -> None:
    with pytest.warns(bk.BosketWarning):
        found = bk.mine(reports, min_support=0.1, max_size=2, model=bk.LogLinear(order=1))
    assert "every lift is 1" in found.about["model"]
    assert found.rules(metric="lift", min_threshold=0.5)["lift"].to_numpy() == pytest.approx(1)


def test_the_log_tells_of_every_law_that_is_fitted(reports: bk.Reports, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bosket.evidence"), pytest.warns(bk.BosketWarning):
        bk.mine(reports, min_support=0.1, max_size=1)
    assert [record.getMessage()[:14] for record in caplog.records] == [f"law of order {order}" for order in (1, 2, 0)]


def test_itemsets_of_thirteen_answers_are_no_way_out() -> None:
    """Their standard error is 0.96: nobody sees anything by that."""
    people = bk.Table.from_frame(pd.DataFrame({f"q{at}": ["no", "yes"] * 50 for at in range(16)}))
    with pytest.warns(bk.HopelessPlanWarning):
        blind = bk.GammaDiagonal(gamma=8).randomize(people, rng=bk.Seeded(1))
    with pytest.raises(bk.HopelessError) as caught:
        bk.mine(blind, min_support=0.1)
    assert "estimate()" not in str(caught.value.hint)
    assert "Design.pairs" in str(caught.value.hint)


DECLARED = ("--values", "smokes=no,yes", "--values", "drinks=no,yes", "--values", "debt=no,yes")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--gamma", 1), "above 1 and at most 2**1000"),
        (("--gamma", "inf"), "above 1 and at most 2**1000"),
        (("--prior", 5, "--posterior", 30), "in percent is written 5%"),
    ],
)
def test_numbers_that_are_nearly_right(run: Run, options: tuple[object, ...], said: str) -> None:
    result = run("ask", *DECLARED, "--pairs", *options)
    assert (result.code, said in result.err) == (2, True)


def test_the_next_step_has_the_very_gamma(run: Run, tmp_path: Path) -> None:
    result = run("ask", *DECLARED, "--pairs", "--prior", "5%", "--posterior", "30%", "-o", tmp_path / "design.json")
    assert f"--gamma {bk.planning.gamma_from(0.05, 0.3)!r} " in result.err


def test_shares_of_true_answers_have_three_digits(run: Run) -> None:
    many = [word for at in range(16) for word in ("--values", f"q{at}=no,yes")]
    hashed = run("ask", *many, "--size", 16, "--gamma", 8).out
    assert "53.3% on average" in hashed  # 8 / (8 + 7), of buckets


def test_an_empty_first_phase(run: Run, table: bk.Table, tmp_path: Path) -> None:
    path = tmp_path / "first.parquet"
    bk.Ask(bk.Design.pairs(table.domain), gamma=8).randomize(table[:0]).write(path)
    result = run("ask", "--refine", path, "--people", 100, "--min-support", 0.1)
    assert (result.code, "no answers to refine" in result.err) == (1, True)


def test_the_package_runs_as_a_program() -> None:
    said = subprocess.run([sys.executable, "-m", "bosket", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("bosket ")
