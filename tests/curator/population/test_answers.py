"""Halves of records for and against itemsets: what they are, how far neighbours are apart, and what they cost."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, product

import numpy as np
import numpy.typing as npt
import pytest

from bosket.counting.base import Counts, ItemsetRows
from bosket.curator.noise import LAPLACE, NoiseLaw
from bosket.curator.population.answers import HalfCounts
from bosket.curator.population.literals import LiteralRecords, Literals
from bosket.curator.sieve.contributions import Bounding
from bosket.data import Baskets
from tests.curator.sieve.test_rounds import KINDS, Recording

pytest.importorskip("opendp")

N_ITEMS = 6
LITERALS = Literals(np.arange(N_ITEMS, dtype=np.int32), np.array([True, False] * 3))
RECORDS = [items for size in range(N_ITEMS + 1) for items in combinations(range(N_ITEMS), size)]
SETS = [(0,), (3,), (0, 1), (2, 5), (1, 3, 5), (0, 2, 4), (0, 1, 2, 3)]
ROWS: ItemsetRows = np.array([[*items, *[-1] * (4 - len(items))] for items in SETS], np.int32)


def halves_of(
    records: list[tuple[int, ...]], bounding: Bounding, granted: Recording, per_person: int = 1, records_each: int = 1
) -> HalfCounts:
    known = LiteralRecords(Baskets(records, items=range(N_ITEMS)), LITERALS)
    return HalfCounts(known, LITERALS, bounding, granted, 0.25, max(1, len(records)), per_person, records_each)


def vector(records: list[tuple[int, ...]], bounding: Bounding, law: NoiseLaw, rows: ItemsetRows = ROWS) -> Counts:
    """What is asked for noisy."""
    granted = Recording(1.0, law)
    halves_of(records, bounding, granted).of(rows, len(rows))
    return granted.exact[-1]


def norm(difference: npt.NDArray[np.int64], law: NoiseLaw) -> float:
    moved = difference.astype(float)
    return float(np.abs(moved).sum() if law is LAPLACE else np.sqrt((moved**2).sum()))


@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_a_record_speaks_for_an_itemset_or_against_it(bounding: Bounding, law: NoiseLaw) -> None:
    """By plain sets, whichever items are complemented."""
    for record in RECORDS:
        expected = [1 if set(items) <= set(record) else -1 for items in SETS]
        assert vector([record], bounding, law).tolist() == expected
    assert vector(RECORDS, bounding, law).tolist() == [2 * 2 ** (6 - len(items)) - 64 for items in SETS]
    assert vector([], bounding, law).tolist() == [0] * len(SETS)


@pytest.mark.parametrize(("bounding", "law"), KINDS)
@pytest.mark.parametrize("per_person", [1, 2])
def test_no_neighbours_are_farther_apart_than_the_sensitivity(
    bounding: Bounding, law: NoiseLaw, per_person: int
) -> None:
    """All 64 records, one more or in place of another, beside two others; a twin that counts two halves for and nothing
    against, for the same price, is found where a record comes.
    """
    claim = halves_of([], bounding, Recording(1.0, law), per_person).sensitivity(len(SETS))
    base: list[tuple[int, ...]] = [(0, 1), (2, 5)]
    without = vector(base, bounding, law)
    vectors = [vector([*base, record], bounding, law) for record in RECORDS]
    pairs = [(one, without) for one in vectors] if per_person == 1 else list(product(vectors, vectors))
    assert max(norm(one - other, law) for one, other in pairs) == pytest.approx(claim, rel=1e-15)
    assert all(norm(one - other, law) <= claim for one, other in pairs)
    if per_person == 1:
        twin = [one + len(base) + 1 for one in vectors]
        assert max(norm(one - without - len(base), law) for one in twin) > claim


@pytest.mark.parametrize(("bounding", "law"), KINDS)
@pytest.mark.parametrize("per_person", [1, 2])
def test_no_persons_are_farther_apart_than_the_sensitivity(bounding: Bounding, law: NoiseLaw, per_person: int) -> None:
    """All persons of up to two records over three items, one more or in place of another."""
    every = [items for size in range(1, 4) for items in combinations(range(3), size)]
    rows: ItemsetRows = np.array([[*items, *[-1] * (3 - len(items))] for items in every], np.int32)
    claim = halves_of([], bounding, Recording(1.0, law), per_person, records_each=2).sensitivity(len(rows))
    small = [record for record in RECORDS if set(record) <= {0, 1, 2}]
    persons = [list(one) for number in range(3) for one in combinations_with_replacement(small, number)]
    vectors = [vector(person, bounding, law, rows) for person in persons]
    apart = vectors if per_person == 1 else [one - other for one, other in product(vectors, vectors)]
    largest = max(norm(one, law) for one in apart)
    assert largest <= claim
    assert largest == pytest.approx(claim, rel=1e-15), "one who holds all, twice, and one who holds nothing"


@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_blocks_cost_together_what_was_allowed_with_the_noise_that_was_said(bounding: Bounding, law: NoiseLaw) -> None:
    """Two and five of seven have the noise of all seven at once, by definition: m / amount, or sqrt(m / (2 amount))."""
    granted = Recording(1.0, law)
    halves = halves_of(RECORDS, bounding, granted)
    halves.of(ROWS[:2], 7)
    halves.of(ROWS[2:], 7)
    assert sum(amount for amount, _ in granted.asked) == pytest.approx(0.25, rel=1e-12)
    scales = [granted.scale_of(amount, sensitivity) for amount, sensitivity in granted.asked]
    expected = 7 / 0.25 if law is LAPLACE else (7 / (2 * 0.25)) ** 0.5
    assert scales == pytest.approx([expected] * 2, rel=1e-9)
    deviation = expected * (2**0.5 if law is LAPLACE else 1.0)
    assert halves.deviation(7) == pytest.approx(deviation / (2 * 64), rel=1e-6)


@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_shares_are_those_of_noisy_halves(bounding: Bounding, law: NoiseLaw) -> None:
    """Of N records (1 + halves / N) / 2; where there are more than is known by nu, s + (s - 1/2) nu."""
    granted = Recording(1e7, law)
    known = LiteralRecords(Baskets(RECORDS * 100, items=range(N_ITEMS)), LITERALS)
    true = np.array([2.0 ** -len(items) for items in SETS])
    for number in (6400.0, 6000.0, 6464.0):
        found = HalfCounts(known, LITERALS, bounding, granted, 1e6, number, 1).of(ROWS, 7)
        assert found == pytest.approx(true + (true - 0.5) * (6400 / number - 1), abs=1e-3)
