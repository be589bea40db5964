"""Persons with several records: what all of them add together is bounded, in both norms and both relations."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import chain, combinations, combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import binomtest

import bosket as bk
from bosket.budget.budgets import Budget
from bosket.counting.base import ItemsetRows
from bosket.curator import SieveSettings
from bosket.curator.noise import GAUSSIAN, LAPLACE, Composition, NoiseLaw
from bosket.curator.sieve import people as people_module
from bosket.curator.sieve.contributions import (
    CONCENTRATED,
    PURE,
    RESOLUTION,
    ActiveItems,
    ActiveItemsets,
    Bounding,
    GaussianBounding,
    PureBounding,
)
from bosket.curator.sieve.people import People, used_records
from bosket.curator.sieve.rounds import Sieve
from bosket.data import Baskets
from bosket.errors import ParameterError
from tests.curator.sieve.test_rounds import Led, Recording
from tests.stats import assert_plausible

pytest.importorskip("opendp")

KINDS = [pytest.param(PURE, LAPLACE, id="pure"), pytest.param(CONCENTRATED, GAUSSIAN, id="gaussian")]
UNIVERSE = range(3)
RECORDS = list(chain.from_iterable(combinations(UNIVERSE, size) for size in range(4)))
ROWS = [np.array(list(combinations(UNIVERSE, size)), np.int32) for size in (1, 2, 3)]
MOST = 3


def persons() -> Iterator[tuple[tuple[int, ...], ...]]:
    """All persons with up to three records over three items."""
    for number in range(1, MOST + 1):
        yield from combinations_with_replacement(RECORDS, number)


def added(person: tuple[tuple[int, ...], ...], bounding: Bounding, bound: float, rows: list[ItemsetRows]) -> Any:
    """What one person adds to all itemsets, in units."""
    baskets = Baskets([list(record) for record in person], items=UNIVERSE)
    active = ActiveItemsets(baskets, rows)
    people = People(np.zeros(len(person), np.int64), MOST)
    return active.sums(people.units(active.held, bounding.budget(bound), bounding))


@pytest.mark.parametrize(("bounding", "law"), KINDS)
@pytest.mark.parametrize("bound", [1.0, 2.7, 9.0])
def test_no_neighbours_are_farther_apart_than_the_sensitivity(bounding: Bounding, law: NoiseLaw, bound: float) -> None:
    """All persons against none, and against each other."""
    vectors = np.unique([added(person, bounding, bound, ROWS) for person in persons()], axis=0).astype(float)
    norm = 1 if law is LAPLACE else 2
    budget = bounding.budget(bound)
    alone = np.linalg.norm(vectors, norm, axis=1)
    assert alone.max() <= bounding.sensitivity(budget, 1)
    assert alone.max() > 0.8 * bounding.sensitivity(budget, 1)
    apart = max(np.linalg.norm(vectors - vector, norm, axis=1).max() for vector in vectors)
    assert apart <= bounding.sensitivity(budget, 2)


@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_one_record_more_of_a_person_may_cost_up_to_twice(bounding: Bounding, law: NoiseLaw) -> None:
    """All records of the person count for less then: it is a person in place of another.  So what a release for persons
    costs is no bound for records, and a budget for these must not pay for it.
    """
    budget, sums = bounding.budget(1.0), []
    for records in ([[0]], [[0], list(range(1, 200))]):
        active = ActiveItems(Baskets(records, items=range(200)))
        people = People(np.zeros(len(records), np.int64), 2)
        sums.append(active.sums(people.units(active.held, budget, bounding)))
    apart = float(np.linalg.norm(sums[1] - sums[0], 1 if law is LAPLACE else 2))
    assert bounding.sensitivity(budget, 1) * 1.1 < apart <= bounding.sensitivity(budget, 2)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("is_of_persons", [True, False])
def test_a_budget_pays_for_releases_of_its_own_unit_alone(relation: str, is_of_persons: bool) -> None:
    """A record budget paid epsilon for what may cost a record twice that, and the sum of both kinds bounded neither."""
    baskets = Baskets([["x"], ["y"]] * 200, items=["x", "y"])
    persons: dict[str, Any] = {"persons": [at // 2 for at in range(400)], "max_records_per_person": 2}
    asked: dict[str, Any] = {"max_size": 1, **(persons if is_of_persons else {})}
    of_persons, of_records = (Budget.in_memory(50.0, neighbours=name) for name in (f"{relation}-persons", relation))
    right, wrong = (of_persons, of_records) if is_of_persons else (of_records, of_persons)
    with pytest.raises(ParameterError) as caught:
        bk.curator.mine(baskets, 50.0, 0.2, budget=wrong, **asked)
    assert caught.value.parameter == "budget"
    assert wrong.entries() == ()
    release = bk.curator.mine(baskets, 50.0, 0.2, budget=right, **asked)
    assert release.about["neighbours"] == relation
    assert len(right.entries()) == 1


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_an_old_budget_for_records_that_paid_for_persons_pays_nothing_more(relation: str, tmp_path: Path) -> None:
    """Before budgets had a unit, one for records paid for persons too: its sum is no bound, however it goes on."""
    baskets = Baskets([["x"], ["y"]] * 200, items=["x", "y"])
    asked: dict[str, Any] = {"max_size": 1, "persons": list(range(400)), "max_records_per_person": 3}
    of_persons = Budget.in_memory(9.0, neighbours=f"{relation}-persons")
    bk.curator.mine(baskets, 9.0, 0.2, budget=of_persons, **asked)
    old = Budget.create(tmp_path / "old.ledger", "shop", epsilon=90.0, neighbours=relation)
    old.spend(9.0, purpose=of_persons.entries()[0].purpose)
    for method in ("sieve", "truncation"):
        with pytest.raises(ParameterError, match="entry 1 paid for persons") as caught:
            bk.curator.mine(baskets, 9.0, 0.2, budget=old, max_size=1, method=method)
        assert caught.value.parameter == "budget"
    assert len(old.entries()) == 1


@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_records_that_are_bounded_one_by_one_are_found(bounding: Bounding, law: NoiseLaw) -> None:
    """The mistake beside it: three records of a person add three times what one may."""
    person = ((0, 1, 2),) * 3
    baskets = Baskets([list(record) for record in person], items=UNIVERSE)
    active = ActiveItemsets(baskets, ROWS)
    budget = bounding.budget(2.0)
    sums = active.sums(bounding.units(active.held, budget)).astype(float)
    assert np.linalg.norm(sums, 1 if law is LAPLACE else 2) > 2 * bounding.sensitivity(budget, 1)


def test_a_gaussian_bound_that_forgets_how_many_records_there_are_is_found() -> None:
    """c^2 K <= b alone: three equal records have (3 c)^2 for each itemset."""
    person = ((0, 1, 2),) * 3
    active = ActiveItemsets(Baskets([list(record) for record in person], items=UNIVERSE), ROWS)
    budget = CONCENTRATED.budget(2.0)
    units = CONCENTRATED.units(np.full(3, active.held.sum()), budget)
    assert np.linalg.norm(active.sums(units).astype(float)) > 1.5 * CONCENTRATED.sensitivity(budget, 1)


def run(records: list[list[int]], whose: list[int], bounding: Bounding, granted: Composition, per_person: int) -> None:
    baskets = Baskets(records, items=range(6))
    people = People(np.unique(whose, return_inverse=True)[1].astype(np.int64), MOST)
    sieve = Sieve(baskets, bounding, granted, SieveSettings(), per_person, None, people)
    number = sieve.number()
    sieve.run(0.05 * number, number)


@pytest.mark.slow
@pytest.mark.parametrize(("bounding", "law"), KINDS)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_every_measurement_of_a_run_moves_no_more_than_it_says(
    bounding: Bounding, law: NoiseLaw, relation: str
) -> None:
    """Histograms, sums and the number of records, on data sets that differ in one person with three records."""
    records = [[0, 1, 2]] * 300 + [[0, 1]] * 200 + [[3]] * 100 + [[2, 3, 4, 5]] * 60
    whose = [at // 2 for at in range(len(records))]
    heavy, light = [[0, 1, 2, 3, 4, 5]] * 3, [[0], [5]]
    per_person = 1 if relation == "add-remove" else 2
    before = light if relation == "replace" else []
    granted = Recording(2.0, law)
    run([*records, *before], [*whose, *[999] * len(before)], bounding, granted, per_person)
    neighbour = Led(granted, 2.0, law)
    run([*records, *heavy], [*whose, *[999] * 3], bounding, neighbour, per_person)
    assert neighbour.asked == granted.asked
    assert len(granted.asked) > 6
    for one, other, (_, sensitivity) in zip(granted.exact, neighbour.exact, granted.asked, strict=True):
        moved = np.linalg.norm((one - other).astype(float).ravel(), 1 if law is LAPLACE else 2)
        assert moved <= sensitivity


def test_at_most_so_many_records_of_a_person_are_used_each_as_likely() -> None:
    records = [[at] for at in range(5)] + [[5]]
    ids = ["a"] * 5 + ["b"]
    seen = np.zeros(6, np.int64)
    for seed in range(2000):
        used, people = used_records(Baskets(records, items=range(6)), ids, 2, rng=bk.Seeded(seed))
        assert used.n_records == 3
        assert np.bincount(people.of).tolist() == [2, 1]
        seen[used.indices] += 1
    assert seen[5] == 2000
    for number in seen[:5]:
        assert_plausible(binomtest(int(number), 2000, 0.4).pvalue)


class _Odd:
    """An id that cannot be compared, nor looked up."""

    def __hash__(self) -> int:
        raise ValueError("3007")


ODD = [
    None, float("nan"), float("inf"), {"id": 0}, ["p"], ("p", ["q"]), Decimal("sNaN"), _Odd(), "", b"", True, np.True_,
    np.void(b"abc"), np.timedelta64(5), np.datetime64("2020-01-01"), np.longdouble(1), np.complex128(1), pd.NA, pd.NaT,
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: f"{type(odd).__name__}")
def test_one_id_that_is_none_leaves_its_record_out_and_decides_nothing_else(odd: Any) -> None:
    """People without an id as one person would decide how much the records of each other add."""
    baskets = Baskets([[0], [1], [1], [2]], items=[0, 1, 2])
    used, people = used_records(baskets, [odd, "a", "a", "b"], 2)
    assert [list(record) for record in used] == [[1], [1], [2]]
    assert people.of.tolist() == [0, 0, 1]
    assert used_records(baskets, [odd] * 4, 2)[0].n_records == 0


def grouped(ids: Any) -> list[int]:
    """The person of each record, by number, -1 where a record is left out."""
    numbers = people_module._numbered(ids, len(ids))
    return [int(number) for number in numbers]


SURROGATES = [chr(0xD800 + at) for at in range(600)]


@pytest.mark.parametrize("extra", [None, 7, "p", b"\xff", 1.5, np.float32(0.5)])
@pytest.mark.parametrize(
    "ids",
    [
        [*SURROGATES, *map(repr, SURROGATES)],
        [kind(at / 7) for at in range(300) for kind in (float, np.float32)],
        [2**53, 2**53 + 1, float(2**53), 10**4500, 10**4500 + 1],
        [kind(at) for at in range(100) for kind in (int, float, str, np.int8)],
    ],
    ids=["surrogates", "float32", "large", "kinds"],
)
def test_one_record_does_not_decide_which_of_the_others_are_one_person(ids: list[Any], extra: Any) -> None:
    """A table of all ids may compare them by their type together, or only those that fall into one slot of it."""
    for n_before in (0, 1, 50, 137):
        before = [f"other {at}" for at in range(n_before)]
        without = grouped([*before, *ids])[n_before:]
        with_it = grouped([*before, *ids, extra])[n_before:-1]
        assert without == with_it
        assert without == [number + n_before if number >= 0 else -1 for number in grouped(ids)]


def test_ids_that_are_written_alike_are_one_person() -> None:
    assert grouped([7, 7.0, "7", np.int8(7), np.float32(7), np.str_("7"), b"7"]) == [0] * 7
    assert grouped(["a", "A", " a", 1.5, "1.5", np.float64(1.5)]) == [0, 1, 2, 3, 3, 3]
    assert grouped([2**53, 2**53 + 1]) == [0, 1]
    assert grouped([10**4500, 10**4500, 10**4500 + 1]) == [0, 0, 1]  # beyond what Python writes out


def test_ids_in_arrays() -> None:
    assert grouped(np.array([3, 4, 3])) == [0, 1, 0]
    assert grouped(np.array(["x", "y", "x"])) == [0, 1, 0]
    assert grouped(np.ma.masked_array([3, 4, 4, 3], mask=[False, True, True, False])) == [0, -1, -1, 0]
    assert grouped(pa.array(["x", None, "x"])) == [0, -1, 0]
    assert grouped(pa.chunked_array([["x"], ["y", "x"]])) == [0, 1, 0]
    assert grouped(pd.Series(["x", None, "x"], dtype="string")) == [0, -1, 0]
    assert grouped(pl.Series(["x", None, "x"])) == [0, -1, 0]
    assert grouped(pd.Series(["x", 7, None], dtype=object)) == [0, 1, -1]
    assert grouped(pd.Series(["x", "y", "x"]).astype("category")) == [0, 1, 0]


def test_one_cell_of_a_column_decides_nothing_about_the_others() -> None:
    """Arrow decodes a column as a whole: bytes that are no text, or a code without a word, were an error of its own."""
    ids = [f"p{at}".encode() for at in range(9)]
    ids[7] = b"M\xfcller"
    column = pa.Array.from_buffers(pa.string(), 9, pa.array(ids, pa.binary()).buffers())
    of_pandas = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column])))
    for persons in (column, pa.chunked_array([column]), of_pandas):
        assert grouped(persons) == list(range(9))
    codes = pa.array([0, 1, 2**31 - 1, 0], pa.int32())
    coded = pa.DictionaryArray.from_arrays(codes, pa.array(["x", "y"]), safe=False)
    assert grouped(coded) == [0, 1, -1, 0]
    for kind in (pa.date32(), pa.timestamp("us"), pa.bool_(), pa.decimal128(5)):
        with pytest.raises(ParameterError):
            grouped(pa.array([None, None], kind))


@pytest.mark.slow
def test_a_release_says_that_persons_are_protected() -> None:
    rng = np.random.default_rng(1)
    records = [np.flatnonzero(rng.random(5) < 0.4).tolist() for _ in range(4000)]
    ids = [f"p{at // 4}" for at in range(4000)]
    budget = Budget.in_memory(20.0, delta=1e-5, neighbours="add-remove-persons")
    for delta in (0.0, 1e-6):
        release = bk.curator.mine(
            bk.Baskets(records, items=range(5)),
            8.0,
            0.2,
            delta=delta,
            method="sieve",
            persons=ids,
            max_records_per_person=2,
            budget=budget,
        )
        assert release.guarantee.protects == "person"
        assert release.about["max_records_per_person"] == 2
        assert release.about["guarantee"]["unit"] == "one person more or less, with up to 2 records"
        assert release.n_records == pytest.approx(2000, abs=400)
        assert release.support([0]) == pytest.approx(0.4, rel=0.25)
    assert all("of each person up to 2 records" in entry.purpose for entry in budget.entries())


@pytest.mark.parametrize(
    "wrong",
    [
        {"persons": ["a", "b"]},
        {"max_records_per_person": 2},
        {"persons": ["a", "b"], "max_records_per_person": 0},
        {"persons": ["a", "b"], "max_records_per_person": 1.5},
        {"persons": ["a", "b"], "max_records_per_person": 1 << 20},
        {"persons": ["a"], "max_records_per_person": 2},
        {"persons": np.array([["a"], ["b"]]), "max_records_per_person": 2},
        {"persons": 7, "max_records_per_person": 2},
        {"persons": ["a", "b"], "max_records_per_person": 2, "method": "truncation"},
    ],
)
def test_what_is_refused_costs_nothing(wrong: dict[str, Any]) -> None:
    budget = Budget.in_memory(1.0, neighbours="add-remove-persons")
    options: dict[str, Any] = {"epsilon": 1.0, "min_support": 0.1, "method": "sieve", "budget": budget} | wrong
    with pytest.raises(ParameterError) as caught:
        bk.curator.mine(Baskets([["x"], ["y"]], items=["x", "y"]), **options)
    assert caught.value.parameter in ("persons", "max_records_per_person")
    assert budget.entries() == ()


def test_one_record_each_is_as_before() -> None:
    """With one record a person the bounds are those of records."""
    held = np.array([1, 4, 0, 9])
    people = People(np.arange(4), 1)
    for bounding in (PureBounding(), GaussianBounding()):
        budget = bounding.budget(3.0)
        assert people.units(held, budget, bounding).tolist() == bounding.units(held, budget).tolist()
    assert people.units(held, PURE.budget(100.0), PURE).max() == RESOLUTION
