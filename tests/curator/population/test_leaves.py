"""Leaves: every record is in one, whatever tree a population grows, and what they add to a fit."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from bosket.curator.limit import ShareOfRecords
from bosket.curator.noise import GAUSSIAN, LAPLACE, Composition, NoiseLaw
from bosket.curator.population.leaves import NO_LEAVES, Leaves, grown, words_of
from bosket.curator.population.literals import LiteralRecords, Literals
from bosket.curator.population.model import Fitter
from bosket.curator.population.particles import CountedLeaves, Population, Statistics
from bosket.curator.population.rounds import PopulationRounds
from bosket.curator.population.settings import PopulationSettings
from bosket.curator.sieve.contributions import CONCENTRATED, PURE, Bounding
from bosket.curator.sieve.curate import if_dense
from bosket.curator.sieve.rounds import Sieve
from bosket.curator.sieve.settings import SieveSettings
from bosket.data import Baskets
from bosket.statistics.estimates import Floats
from tests.curator.sieve.test_rounds import KINDS, Led, Recording

pytest.importorskip("opendp")

M = 6
CELLS = np.array(list(product([0, 1], repeat=M)), np.uint8)


def some_tree(most: int = 20) -> Leaves:
    rng = np.random.default_rng(1)
    return grown(
        (rng.random((2000, M)) < np.linspace(0.1, 0.7, M)).astype(np.uint8), np.full(2000, 5e-4), most=most, least=0
    )


def test_leaves_part_all_patterns() -> None:
    """Each of the 64 patterns is in one leaf, which is the one whose literals it has."""
    leaves = some_tree()
    words = words_of(CELLS)
    inside = (words[:, None] & leaves.masks) == leaves.values
    assert (inside.sum(axis=1) == 1).all()
    assert (inside.argmax(axis=1) == leaves.of(words)).all()
    assert len(leaves) == 20


def test_the_largest_leaf_is_cut_next_and_small_ones_are_not() -> None:
    particles = np.repeat(CELLS, 4, axis=0)
    even = np.full(len(particles), 1 / len(particles))
    assert (np.bincount(grown(particles, even, most=8, least=0).of(words_of(CELLS))) == 8).all()
    assert len(grown(particles, even, most=64, least=0.3)) == 4, "a quarter is not cut again"
    assert len(grown(particles[:1], np.ones(1), most=64, least=0)) == 1, "one pattern leaves nothing to cut by"


def moved(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64], law: NoiseLaw) -> float:
    difference = (one - other).astype(float)
    return float(np.abs(difference).sum() if law is LAPLACE else np.sqrt((difference**2).sum()))


@pytest.mark.parametrize(("bounding", "law"), KINDS)
@pytest.mark.parametrize("per_person", [1, 2])
def test_no_neighbours_are_farther_apart_than_the_sensitivity(
    bounding: Bounding, law: NoiseLaw, per_person: int
) -> None:
    """All records over six items, three of them complemented, beside two others: counts of leaves, and of patterns.  A
    twin that counts every node on the way to a leaf, for the price of one, is found.
    """
    literals = Literals(np.arange(M, dtype=np.int32), np.array([True, False] * 3))
    leaves = some_tree()
    every = [np.flatnonzero(row).tolist() for row in CELLS]
    base = [[0, 1], [2, 5]]
    measured = []
    for record in every:
        records = LiteralRecords(Baskets([*base, record], items=range(M)), literals)
        measured.append((records.counts(leaves), records.n_patterns))
    alone = LiteralRecords(Baskets(base, items=range(M)), literals)
    without = (alone.counts(leaves), alone.n_patterns)
    pairs = [(one, without) for one in measured] if per_person == 1 else list(product(measured, measured))
    assert max(moved(one[0], other[0], law) for one, other in pairs) == pytest.approx(bounding.norm_of_ones(per_person))
    assert max(abs(one[1] - other[1]) for one, other in pairs) == 1
    depth = np.array([int(mask).bit_count() + 1 for mask in leaves.masks])
    assert max(moved(one[0] * depth, other[0] * depth, law) for one, other in pairs) > bounding.norm_of_ones(per_person)


def repeated_records(n: int, seed: int) -> Baskets:
    """Records of sixteen items that come in thirty patterns, some of which items vary."""
    rng = np.random.default_rng(seed)
    kinds = rng.random((30, 16)) < np.linspace(0.3, 0.9, 16)
    holds = kinds[rng.choice(30, n, p=rng.dirichlet(np.ones(30)))]
    holds[:, 0] ^= rng.random(n) < 0.3
    return Baskets([np.flatnonzero(row).tolist() for row in holds], items=range(16))


def curated(baskets: Baskets, bounding: Bounding, granted: Recording, share: float, per_person: int) -> None:
    """Without refits, which see no data."""
    settings = SieveSettings(population=PopulationSettings(refits=0))
    sieve = Sieve(baskets, bounding, granted, settings, per_person)
    number = sieve.number()
    sieve.run(share * number, number, instead=if_dense(sieve, ShareOfRecords(share), number))


@pytest.mark.slow
@pytest.mark.parametrize(("bounding", "law"), KINDS)
@pytest.mark.parametrize(("extra", "per_person"), [([], 1), (list(range(16)), 1), ([0, 3, 5], 2)])
def test_every_measurement_of_a_run_with_leaves_moves_no_more_than_it_says(
    bounding: Bounding, law: NoiseLaw, extra: list[int], per_person: int
) -> None:
    """The same rounds on a neighbour, led by the noisy numbers of the first: every vector is within its sensitivity."""
    one = repeated_records(6000, 2)
    records: list[list[int]] = [[int(str(item)) for item in record] for record in one]
    other = [*records, extra] if per_person == 1 else [*records[:-1], extra]
    granted = Recording(1.0 if law is LAPLACE else 0.1, law)
    curated(one, bounding, granted, 0.4, per_person)
    sizes = [len(part) for part in granted.exact]
    assert 1 in sizes[1:], "the number of patterns was asked"
    leaves = max(place for place, size in enumerate(sizes) if size > 60)
    assert granted.exact[leaves].sum() == 6000, "leaves were counted, each record once"
    assert leaves < len(sizes) - 1, "and then undecided itemsets were asked about"
    neighbour = Led(granted, granted.epsilon, law)
    curated(Baskets(other, items=range(16)), bounding, neighbour, 0.4, per_person)
    assert len(neighbour.exact) == len(granted.exact)
    for before, after, (_, sensitivity) in zip(granted.exact, neighbour.exact, granted.asked, strict=True):
        assert moved(after, before, law) <= sensitivity
    assert sum(amount for amount, _ in granted.asked) <= granted.epsilon * (1 + 1e-9)


@pytest.mark.parametrize(("bounding", "law"), [(PURE, LAPLACE), (CONCENTRATED, GAUSSIAN)])
def test_leaves_are_for_records_that_repeat_each_other(bounding: Bounding, law: NoiseLaw) -> None:
    rounds = PopulationRounds(Baskets([[0]]), bounding, Composition(1.0, law), PopulationSettings(), 1, 1.0)
    assert rounds._are_few(100.0, 10.0, 5000, 50.0)
    assert not rounds._are_few(600.0, 30.0, 5000, 50.0), "eight records each"
    assert rounds._are_few(100.0, 2.0, 5000, 50.0) == (law is GAUSSIAN), "pairs of bound 2 tell more"
    assert rounds._are_few(100.0, 2.0, 5000, 5.0), "noise of 0.1% hides less than pairs leave untold"
    assert not rounds._are_few(600.0, 2.0, 5000, 5.0), "eight records each"
    assert rounds._is_clear(13.9, 5000)
    assert not rounds._is_clear(14.1, 5000), "a fifth of 1.4%"


@pytest.mark.parametrize(("bounding", "law"), [(PURE, LAPLACE), (CONCENTRATED, GAUSSIAN)])
def test_the_noise_of_pairs_is_that_of_their_bound(bounding: Bounding, law: NoiseLaw) -> None:
    """By definition: bound over epsilon, times sqrt(2), or its root over sqrt(2 rho)."""
    rounds = PopulationRounds(Baskets([[0]]), bounding, Composition(1.0, law), PopulationSettings(), 1, 1.0)
    expected = 2**0.5 * 9 / 0.5 if law is LAPLACE else 3 / (2 * 0.5) ** 0.5
    assert rounds._noise_of(9.0, 0.5) == pytest.approx(expected, rel=1e-6)


def four_kinds() -> tuple[Floats, npt.NDArray[np.uint8]]:
    """A law of four patterns out of 64, which pairs do not tell: a parity of three literals."""
    patterns = np.array([[0, 0, 0, 0, 1, 0], [1, 1, 0, 1, 0, 0], [1, 0, 1, 0, 0, 1], [0, 1, 1, 1, 1, 1]], np.uint8)
    return np.array([0.4, 0.3, 0.2, 0.1]), patterns


@pytest.mark.slow
def test_patterns_that_pairs_do_not_tell_are_found_by_leaves() -> None:
    """Supports of all sets of literals, of four patterns, within 0.02; pairs alone leave 0.05."""
    n, (law, patterns) = 10_000.0, four_kinds()
    law = 0.97 * law
    cells = np.full(64, 0.03 / 64)
    place = patterns.astype(np.int64) @ (1 << np.arange(M)[::-1])
    cells[place] += law
    held = CELLS.sum(axis=1)
    pairs = [(i, j) for i in range(M) for j in range(i + 1, M)]
    singles: Floats = cells @ CELLS.astype(float)
    numbers = np.bincount(held, weights=cells, minlength=M + 1)
    of_pairs = [float(cells @ (CELLS[:, i] * CELLS[:, j])) for i, j in pairs]
    values = n * np.concatenate([singles, of_pairs, numbers])
    known = Statistics(n, 1.0, np.ones(M + 1), np.arange(M + 1), values, np.full(len(values), 20.0**2))
    first = Fitter(known, singles, np.full(M, 0.02)).fit()
    leaves = grown(first.particles, first.weights, most=64, least=0.0)
    counts: Floats = (n * np.bincount(leaves.of(words_of(CELLS)), weights=cells, minlength=len(leaves))).astype(float)
    features = np.full(len(leaves), -1)
    told = np.flatnonzero(counts > 200)
    features[told] = np.arange(len(told))
    counted = CountedLeaves(leaves, features, counts[told], 5.0**2)
    with_leaves = Statistics(n, 1.0, known.weights, known.groups, values, known.variances, counted)
    second = Fitter(with_leaves, singles, np.full(M, 0.02)).fit(first)

    def worst(population: Population) -> float:
        sets = [np.flatnonzero(row) for row in CELLS[1:]]
        found = [population.weights @ population.particles[:, one].all(axis=1) for one in sets]
        return float(np.abs(np.array(found) - [cells @ CELLS[:, one].all(axis=1) for one in sets]).max())

    assert worst(second) < 0.02
    assert worst(first) > 0.04
    clear = replace(with_leaves, counted=replace(counted, are_clear=True))
    third = Fitter(clear, singles, np.full(M, 0.02)).fit(first)
    assert (first.n_leaves, second.n_leaves, third.n_leaves) == (0, 0, len(told)), "by them intervals become smaller"
    inside = features[leaves.of(words_of(third.particles))]
    assert (third.strata == np.where(inside < 0, len(told), inside)).all()


def test_no_leaves_are_one() -> None:
    assert (NO_LEAVES.of(words_of(CELLS)) == 0).all()
    assert len(NO_LEAVES) == 1
