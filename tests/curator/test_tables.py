"""Tables under the curator: items are attribute=value, a record's length is public, and its values decide nothing."""

from __future__ import annotations

import sys
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bosket as bk
from bosket.audit.lower_bounds import by_threshold, laplace_ratio
from bosket.budget.budgets import Budget
from bosket.curator import Release, Settings
from bosket.curator.lengths import noisy_number
from bosket.curator.levels import sensitivity
from bosket.curator.noise import Composition, scale_of
from bosket.curator.truncation import count_candidates, count_items
from bosket.curator.truncation_release import TruncationRelease
from bosket.data import Attribute, TableDomain
from bosket.errors import DataError, ParameterError
from tests.curator.granted import Uncounted
from tests.curator.outcomes import SURE, of_call

pytest.importorskip("opendp")

DECLARED: dict[str, Any] = {
    "bins": {"age": [15, 35]},
    "values": {"sex": ["F", "M"], "city": ["A", "B", "C"]},
    "unknown": "other",
}


def frame(n: int = 4000, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    age = np.where(sex == "F", rng.integers(15, 40, n), rng.integers(30, 80, n))
    return pd.DataFrame({"age": age, "sex": sex, "city": rng.choice(["A", "B", "C"], n, p=[0.6, 0.3, 0.1])})


@pytest.fixture(scope="module")
def table() -> bk.Table:
    return bk.Table.from_frame(frame(), **DECLARED)


def test_without_noise_it_is_exact_mining(table: bk.Table) -> None:
    release = bk.curator.mine(table, SURE, 0.02, method="truncation")
    exact = dict(bk.mine(table, min_support=0.02))
    assert max(map(len, exact)) == 3
    assert {name: pytest.approx(value) for name, value in exact.items()} == dict(release)
    assert len(bk.curator.top_k(table, SURE, 7, method="truncation")) == 7


def test_the_length_is_public_and_costs_nothing(table: bk.Table) -> None:
    release = bk.curator.mine(table, 2.0, 0.1, method="truncation")
    assert "lengths" not in release.about["parts"]
    assert release.about["parts"]["total"] == pytest.approx(2.0 * 0.05)
    assert sum(release.about["parts"].values()) == pytest.approx(2.0)
    assert release.about["records_cut_to"] == table.n_attributes
    assert isinstance(release, TruncationRelease)
    assert release.prepared.cap <= table.n_attributes == release.about["n_attributes"]


def test_what_each_stage_is_asked_for(table: bk.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record holds one item of each attribute, C(3, i) itemsets of i items, and no more; two where it is replaced."""
    asked: dict[str, list[tuple[str, int]]] = {}
    for relation in ("add-remove", "replace"):
        known = asked[relation] = []

        def spy(self: Composition, counts: Any, *, epsilon: float, sensitivity: int, known: list[Any] = known) -> Any:
            module = sys._getframe(1).f_globals["__name__"].removeprefix("bosket.curator.")
            known.append((module, sensitivity))
            return np.asarray(counts)

        with monkeypatch.context() as patch:
            patch.setattr(Composition, "noisy", spy)
            bk.curator.top_k(
                table, 1.0, 5, neighbours=relation, settings=Settings(clear=0.0, false_share=None), method="truncation"
            )
    one = asked["add-remove"]
    assert one[:3] == [("lengths", 1), ("miner", 3), ("limit", 1)]
    assert [moved for module, moved in one if module == "levels"] == [3, 3, 1]
    assert [moved for module, moved in asked["replace"] if module == "levels"] == [6, 6, 2]
    assert asked["replace"][:3] == [("lengths", 1), ("miner", 6), ("limit", 1)]


def test_one_record_moves_no_more_than_paid_for() -> None:
    """By enumeration of all records of a small table, added to some others."""
    domain = TableDomain([Attribute("a", [0, 1]), Attribute("b", [0, 1]), Attribute("c", [0, 1, 2])])
    others = [[0, 0, 0], [1, 1, 2]]
    pairs = np.array([row for row in combinations(range(7), 2) if len(set(domain.groups[list(row)])) == 2], np.int32)
    scores = np.arange(len(pairs), dtype=float)

    def counts(codes: list[list[int]]) -> tuple[Any, Any]:
        baskets = bk.Table.from_codes(np.array(codes), domain).to_baskets()
        return count_items(baskets), count_candidates(baskets, pairs, scores, 3)

    fewer = counts(others)
    for record in product(range(2), range(2), range(3)):
        more = counts([*others, list(record)])
        moved = [int(np.abs(with_it - without).sum()) for with_it, without in zip(more, fewer, strict=True)]
        assert moved == [sensitivity(3, 1, 7, 1), comb(3, 2)]


@pytest.mark.slow
def test_the_number_of_records_is_as_noisy_as_paid() -> None:
    """An audit of the number, which is all that is measured of the lengths."""

    def ratios(n: int) -> list[float]:
        totals = [noisy_number(n, 3, granted=Uncounted(1.0), epsilon=1.0).total for _ in range(2000)]
        return [laplace_ratio(np.array([total]), np.array([21]), np.array([20]), scale_of(1.0, 1)) for total in totals]

    assert 0.3 < by_threshold(ratios(21), ratios(20)).epsilon <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "odd", [-5, "old", None, float("inf"), float("nan"), [1], 10**5000], ids=lambda odd: str(type(odd))
)
@pytest.mark.parametrize("column", ["age", "sex"])
def test_neighbours_with_a_value_that_was_not_declared_look_alike(odd: Any, column: str) -> None:
    rest = frame(300)
    added: dict[Any, Any] = {"age": 20, "sex": "F", "city": "A"} | {column: odd}
    with_it = pd.DataFrame({name: pd.Series([added[name], *rest[name]], dtype=object) for name in rest})

    def call(budget: Budget, data: pd.DataFrame) -> Release:
        return bk.curator.mine(bk.Table.from_frame(data, **DECLARED), SURE, 0.05, budget=budget, method="truncation")

    without, other = (of_call(lambda budget, data=data: call(budget, data)) for data in (rest, with_it))  # type: ignore[misc]
    assert without.kind == "release"
    assert without.is_like(other), (without, other)


def test_a_strict_reader_is_seen() -> None:
    """The mistake beside it: the same data, refused by the number of a record."""
    rest = frame(300)
    strict = {name: value for name, value in DECLARED.items() if name != "unknown"}

    def call(budget: Budget, data: pd.DataFrame) -> Release:
        return bk.curator.mine(bk.Table.from_frame(data, **strict), SURE, 0.05, budget=budget, method="truncation")

    with_it = pd.concat([pd.DataFrame({"age": [-5], "sex": ["F"], "city": ["A"]}), rest])
    without, other = (of_call(lambda budget, data=data: call(budget, data)) for data in (rest, with_it))  # type: ignore[misc]
    assert not without.is_like(other)


def test_values_must_be_declared() -> None:
    budget = Budget.in_memory(1.0)
    read = bk.Table.from_frame(frame(50).astype(str))
    with pytest.raises(ParameterError) as caught:
        bk.curator.mine(read, 1.0, 0.1, budget=budget, method="truncation")
    assert "unknown='other'" in str(caught.value.hint)
    for wrong in (["sex=F"], bk.Table.from_frame(frame(50), **DECLARED).domain):
        with pytest.raises(ParameterError) as caught:
            bk.curator.mine(read, 1.0, 0.1, budget=budget, vocabulary=wrong, method="truncation")
        assert caught.value.parameter == "vocabulary"
    assert budget.entries() == ()
    assert len(bk.curator.mine(read, SURE, 0.3, vocabulary=read.domain, method="truncation"))
    with pytest.raises(DataError):
        bk.curator.mine(frame(10), 1.0, 0.1, budget=budget, method="truncation")


def test_baskets_of_a_table_are_baskets() -> None:
    """Somebody may have put two values of an attribute into one record: nothing is taken as known of its length."""
    domain = TableDomain([Attribute("a", [0, 1]), Attribute("b", [0, 1])])
    indptr = np.arange(0, 4004, 4)
    baskets = bk.Baskets.from_csr(indptr, np.tile(np.arange(4, dtype=np.int32), 1000), domain)
    release = bk.curator.mine(baskets, SURE, 0.5, method="truncation")
    assert "lengths" in release.about["parts"]
    assert release.about["records_cut_to"] == 4
    assert frozenset(["a=0", "a=1"]) in release
