"""Literals of dense records: sums against plain Python, and how far neighbours are apart."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.curator.noise import Composition
from bosket.curator.population.literals import LiteralRecords, Literals
from bosket.curator.population.rounds import PopulationRounds
from bosket.curator.population.settings import PopulationSettings
from bosket.curator.sieve.contributions import CONCENTRATED, PURE, Bounding
from bosket.data import Baskets

N_ITEMS = 6
RECORDS = [tuple(items) for size in range(N_ITEMS + 1) for items in combinations(range(N_ITEMS), size)]
"""All records there are over six items."""


def held_by(record: tuple[int, ...], literals: Literals) -> set[int]:
    """The places of the literals of a record, by definition."""
    return {
        place
        for place, (item, is_missing) in enumerate(
            zip(literals.items.tolist(), literals.complemented.tolist(), strict=True)
        )
        if (item in record) != is_missing
    }


@given(
    records=st.lists(st.sampled_from(RECORDS), max_size=12),
    items=st.sets(st.integers(0, N_ITEMS - 1), min_size=1),
    seed=st.integers(0, 2**16),
)
def test_sums_are_those_of_plain_sets(records: list[tuple[int, ...]], items: set[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    literals = Literals(np.array(sorted(items), np.int32), rng.random(len(items)) < 0.5)
    units = rng.integers(0, 1000, len(records))
    known = LiteralRecords(Baskets(records, items=range(N_ITEMS)), literals)
    sets = [held_by(record, literals) for record in records]
    assert known.held.tolist() == [len(one) for one in sets]
    singles = [
        sum(u for u, one in zip(units.tolist(), sets, strict=True) if place in one) for place in range(len(literals))
    ]
    assert known.singles(units).tolist() == singles
    pairs = [
        sum(u for u, one in zip(units.tolist(), sets, strict=True) if {i, j} <= one)
        for i, j in combinations(range(len(literals)), 2)
    ]
    assert known.pairs(units).tolist() == pairs


def test_sixty_four_literals_fit_a_word() -> None:
    literals = Literals(np.arange(64, dtype=np.int32), np.arange(64) % 2 == 0)
    known = LiteralRecords(Baskets([range(64), []], items=range(64)), literals)
    assert known.held.tolist() == [32, 32]
    assert known.singles(np.array([1, 2])).tolist() == [2, 1] * 32


def _measured(record: tuple[int, ...], literals: Literals, bounding: Bounding, bound: float) -> np.ndarray:
    """What one record adds to literals and pairs."""
    known = LiteralRecords(Baskets([record], items=range(N_ITEMS)), literals)
    adds = known.held + known.held * (known.held - 1) // 2
    units = bounding.units(adds, bounding.budget(bound))
    return np.concatenate([known.singles(units), known.pairs(units)])


@pytest.mark.parametrize("bounding", [PURE, CONCENTRATED])
@pytest.mark.parametrize("per_person", [1, 2])
@pytest.mark.parametrize("bound", [1.0, 2.5, 7.0])
def test_no_neighbours_are_farther_apart_than_the_sensitivity(
    bounding: Bounding, per_person: int, bound: float
) -> None:
    """All records over six items, with four literals complemented: one comes, or one is put in another's place."""
    literals = Literals(np.arange(N_ITEMS, dtype=np.int32), np.array([True] * 4 + [False] * 2))
    vectors = np.array([_measured(record, literals, bounding, bound) for record in RECORDS], float)
    apart = vectors if per_person == 1 else (vectors[:, None] - vectors).reshape(-1, vectors.shape[1])
    norms = np.abs(apart).sum(axis=1) if bounding is PURE else np.sqrt((apart**2).sum(axis=1))
    largest, allowed = float(norms.max()), bounding.sensitivity(bounding.budget(bound), per_person)
    assert largest <= allowed
    assert largest > 0.5 * allowed, "the bound is no larger than it needs to be"


def test_pairs_that_are_not_counted_in_the_bound_are_found() -> None:
    """The twin bounds a record by its literals alone, and adds to their pairs as well."""
    literals = Literals(np.arange(N_ITEMS, dtype=np.int32), np.ones(N_ITEMS, bool))
    known = LiteralRecords(Baskets([()], items=range(N_ITEMS)), literals)
    budget = PURE.budget(2.0)
    units = PURE.units(known.held, budget)
    assert known.singles(units).sum() <= budget
    assert known.singles(units).sum() + known.pairs(units).sum() > budget


SMALL = 3
SMALL_RECORDS = [record for record in RECORDS if set(record) <= set(range(SMALL))]
PERSONS = [records for number in range(3) for records in combinations_with_replacement(SMALL_RECORDS, number)]
"""All persons of up to two records over three items."""


@pytest.mark.parametrize("bounding", [PURE, CONCENTRATED])
@pytest.mark.parametrize("per_person", [1, 2])
def test_no_persons_are_farther_apart_than_the_sensitivity(bounding: Bounding, per_person: int) -> None:
    """All persons, one of them more or in place of any other: sums of literals and pairs, numbers of records by how
    many literals they hold, and numbers of patterns beside any records of others.
    """
    literals = Literals(np.arange(SMALL, dtype=np.int32), np.array([True, True, False]))
    rounds = PopulationRounds(
        Baskets([], items=range(SMALL)), bounding, Composition(1.0, bounding.law), PopulationSettings(), per_person,
        1.0, records_each=2,
    )  # fmt: skip
    budget = bounding.budget(2.0)
    sums, numbers, patterns = [], [], []
    for person in PERSONS:
        known = LiteralRecords(Baskets(person, items=range(SMALL)), literals)
        units = bounding.units(known.held + known.held * (known.held - 1) // 2, budget)
        sums.append(np.concatenate([known.singles(units), known.pairs(units)]))
        numbers.append(np.bincount(known.held, minlength=SMALL + 1))
        patterns.append({frozenset(held_by(record, literals)) for record in person})
    claims = [rounds._times(bounding.sensitivity(budget, per_person)), rounds._one]
    for vectors, claim in zip((sums, numbers), claims, strict=True):
        each = np.array(vectors, float)
        apart = each if per_person == 1 else (each[:, None] - each).reshape(-1, each.shape[1])
        norms = np.abs(apart).sum(axis=1) if bounding is PURE else np.sqrt((apart**2).sum(axis=1))
        assert 0.5 * claim < norms.max() <= claim
    every = sorted(set().union(*patterns), key=sorted)
    for present in range(1 << len(every)):
        others = {pattern for place, pattern in enumerate(every) if present >> place & 1}
        sizes = [len(others | one) for one in patterns]
        low = len(others) if per_person == 1 else min(sizes)
        assert max(sizes) - low <= rounds.records_each
