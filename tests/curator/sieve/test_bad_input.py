"""What the sieve is asked for that makes no sense, and what ends a run in the middle."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bosket as bk
from bosket.budget.budgets import Budget
from bosket.errors import DataError, ParameterError

pytest.importorskip("opendp")

ITEMS = ["beer", "bread", "milk"]
BASKETS = bk.Baskets([["milk", "bread"]] * 900 + [["beer"]] * 300, items=ITEMS)
NAN = float("nan")


def asked(call: str, budget: Any, **wrong: Any) -> Any:
    """One of the two calls, with what is wrong about it."""
    options: dict[str, Any] = {"epsilon": 1.0, "method": "sieve", "budget": budget, "baskets": BASKETS}
    options |= {"min_support": 0.1} if call == "mine" else {"k": 3}
    return getattr(bk.curator, call)(**options | wrong)


@pytest.mark.parametrize("call", ["mine", "top_k"])
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("delta", -1e-9),
        ("delta", 1.0),
        ("delta", 1.5),
        ("delta", NAN),
        ("delta", "1e-6"),
        ("epsilon", NAN),
        ("epsilon", float("inf")),
        ("epsilon", 1e-9),
        ("epsilon", -1.0),
        ("neighbours", "nobody"),
        ("vocabulary", []),
        ("method", "sift"),
        ("method", None),
        ("on_progress", 3),
        ("vocabulary", "beer"),
        ("vocabulary", 3),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_paid(call: str, parameter: str, value: Any) -> None:
    budget = Budget.in_memory(2.0, delta=1e-3)
    with pytest.raises(ParameterError) as caught:
        asked(call, budget, **{parameter: value})
    assert caught.value.parameter == parameter
    assert budget.entries() == ()


@pytest.mark.parametrize("value", [{"asked": 0.2}, 3, bk.curator.PopulationSettings])
def test_settings_of_a_population_that_are_none(value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        bk.curator.SieveSettings(population=value)
    assert caught.value.parameter == "population"


def test_a_template_that_is_none() -> None:
    release = asked("mine", None)
    with pytest.raises(ParameterError) as caught:
        release.rules(template="beer")
    assert caught.value.parameter == "template"


def test_a_budget_without_a_delta_says_so() -> None:
    with pytest.raises(bk.BudgetExceeded, match="and no delta, which is left") as caught:
        asked("mine", Budget.in_memory(2.0), delta=1e-6)
    assert "delta of 0" in str(caught.value.hint)
    with pytest.raises(bk.BudgetExceeded) as caught:
        asked("mine", Budget.in_memory(2.0), delta=1e-6, epsilon=3.0)
    assert "Ask for less" in str(caught.value.hint)


@pytest.mark.parametrize("value", [NAN, 0.0, -0.1, 1.5, "0.1", None])
def test_a_limit_that_is_no_fraction(value: Any) -> None:
    budget = Budget.in_memory(2.0)
    with pytest.raises(ParameterError) as caught:
        asked("mine", budget, min_support=value)
    assert caught.value.parameter == "min_support"
    assert budget.entries() == ()


@pytest.mark.parametrize("value", [NAN, 0, -1, 2.5, True, "3", None])
def test_a_number_of_itemsets_that_is_none(value: Any) -> None:
    budget = Budget.in_memory(2.0)
    with pytest.raises(ParameterError) as caught:
        asked("top_k", budget, k=value)
    assert caught.value.parameter == "k"
    assert budget.entries() == ()


@pytest.mark.parametrize("call", ["mine", "top_k"])
def test_a_budget_of_another_kind(call: str) -> None:
    for wrong in (1.0, "ledger.sqlite", {"epsilon": 1.0}):
        with pytest.raises(ParameterError) as caught:
            asked(call, wrong)
        assert caught.value.parameter == "budget"
    pure = Budget.in_memory(2.0)
    with pytest.raises(bk.BudgetExceeded):
        asked(call, pure, delta=1e-6)
    assert pure.entries() == ()
    with pytest.raises(ParameterError):
        asked(call, Budget.in_memory(2.0, neighbours="replace"), neighbours="add-remove")


@pytest.mark.parametrize("call", ["mine", "top_k"])
def test_items_that_were_read_off_the_data_are_no_vocabulary(call: str) -> None:
    budget = Budget.in_memory(2.0)
    with pytest.raises(ParameterError) as caught:
        asked(call, budget, baskets=bk.Baskets([["milk"], ["beer"]]))
    assert caught.value.parameter == "vocabulary"
    assert budget.entries() == ()


def test_items_nobody_knows() -> None:
    """One in a record that was not declared is left out without a word; one that nobody has is as rare as it is; one
    that is asked for afterwards is an error.
    """
    release = asked("mine", None, vocabulary=["milk", "yeti"], epsilon=50.0)
    assert release.names == [frozenset(["milk"])]
    with pytest.raises(DataError):
        release.support(["bread"])
    with pytest.raises(DataError):
        release.support(["yeti"])
    with pytest.raises(bk.BosketError):
        release.rules(template=bk.RuleTemplate(consequents=["bread"]))


KILLED = """
import sys, time
import bosket as bk
from bosket.budget.budgets import Budget

def tell(progress):
    print("at work", flush=True)
    time.sleep(60)

budget = Budget.open(sys.argv[1], "shop")
baskets = bk.Baskets([["milk", "bread"]] * 900, items=["beer", "bread", "milk"])
bk.curator.mine(baskets, 0.75, 0.1, delta=1e-6, method="sieve", budget=budget, on_progress=tell)
"""


@pytest.mark.slow
def test_what_was_spent_stays_spent_when_the_process_is_killed(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    Budget.create(ledger, "shop", epsilon=1.0, delta=1e-5)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLED, str(ledger)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "at work\n"
        process.kill()
    budget = Budget.open(ledger, "shop")
    (entry,) = budget.entries()
    assert (entry.epsilon, entry.delta) == (0.75, 1e-6)
    with pytest.raises(bk.BudgetExceeded):
        asked("mine", budget, epsilon=0.5)
