"""Tables by their cells: sums, sensitivity, the rule, and what they find."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binomtest

import bosket as bk
from bosket.curator import PopulationSettings, SieveSettings
from bosket.curator.limit import ShareOfRecords
from bosket.curator.noise import LAPLACE, NoiseLaw
from bosket.curator.population.cells import _POINTS as POINTS
from bosket.curator.population.cells import MOST_CELLS, TableCells, all_sums, cell_counts, is_for, sum_law
from bosket.curator.sieve.contributions import Bounding
from bosket.curator.sieve.curate import if_cells
from bosket.curator.sieve.rounds import Sieve
from bosket.data import Attribute, TableDomain
from tests.curator.sieve.test_rounds import KINDS, Led, Recording
from tests.stats import assert_plausible, assert_rejected

pytest.importorskip("opendp")

SIZES = (2, 3, 2)
CODES = list(product(*map(range, SIZES)))


def table_of(codes: npt.ArrayLike, sizes: tuple[int, ...] = SIZES) -> bk.Table:
    return bk.Table.from_codes(codes, TableDomain([Attribute(f"a{at}", range(size)) for at, size in enumerate(sizes)]))


def some_table(n: int, seed: int, sizes: tuple[int, ...] = (2, 3, 2, 4)) -> bk.Table:
    """Values that go together, by one number of each record."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    level = common + rng.normal(size=(n, len(sizes)))
    most = np.array(sizes)
    return table_of(np.clip(np.floor(level + most / 2), 0, most - 1).astype(np.int64), sizes)


def test_sums_of_cells_are_supports() -> None:
    """Every margin of every set of attributes, by definition."""
    table = some_table(500, 1)
    sizes = (2, 3, 2, 4)
    sums = all_sums(cell_counts(table.to_baskets(), sizes).astype(float), sizes)
    codes = np.asarray(table.codes)
    assert sums.shape == (3, 4, 3, 5)
    for place in np.ndindex(sums.shape):
        holds = np.ones(500, bool)
        for at, code in enumerate(place):
            holds &= (codes[:, at] == code) | (code == sizes[at])
        assert sums[place] == holds.sum()


@pytest.mark.parametrize(("bounding", "law"), KINDS)
@pytest.mark.parametrize("per_person", [1, 2])
def test_no_neighbours_are_farther_apart_than_the_sensitivity(
    bounding: Bounding, law: NoiseLaw, per_person: int
) -> None:
    """Every record of twelve, or every one in place of every other.  A twin that measures all margins for the price of
    the cells is found.
    """

    def norm(difference: Any) -> float:
        flat = np.asarray(difference, float).ravel()
        return float(np.abs(flat).sum() if law is LAPLACE else np.sqrt((flat**2).sum()))

    base = [(0, 0, 0), (1, 2, 1)]
    counts = [cell_counts(table_of([*base, one]).to_baskets(), SIZES) for one in CODES]
    without = cell_counts(table_of(base).to_baskets(), SIZES)
    pairs = [(one, without) for one in counts] if per_person == 1 else list(product(counts, counts))
    stated = bounding.norm_of_ones(per_person)
    assert max(norm(one - other) for one, other in pairs) == pytest.approx(stated)
    assert max(norm(all_sums((one - other).astype(float), SIZES)) for one, other in pairs) > 1.5 * stated


def curated(table: bk.Table, bounding: Bounding, granted: Recording, per_person: int = 1) -> Any:
    sieve = Sieve(table.to_baskets(), bounding, granted, SieveSettings(), per_person, table.domain.groups)
    sizes = tuple(map(int, table.domain.sizes))
    return if_cells(sieve, sizes, ShareOfRecords(0.05), sieve.number())


@pytest.mark.parametrize(("bounding", "law"), KINDS)
@pytest.mark.parametrize("per_person", [1, 2])
def test_it_costs_what_was_granted_and_neighbours_are_within_what_it_says(
    bounding: Bounding, law: NoiseLaw, per_person: int
) -> None:
    one = some_table(20_000, 2)
    codes = [tuple(map(int, row)) for row in np.asarray(one.codes)]
    changed = [*codes, (1, 2, 1, 3)] if per_person == 1 else [*codes[:-1], (0, 0, 0, 0)]
    granted = Recording(1.0, law)
    result = curated(one, bounding, granted, per_person)
    assert [name for name, _ in result.costs] == ["total", "cells"]
    assert sum(cost for _, cost in result.costs) == pytest.approx(1.0)
    assert sum(amount for amount, _ in granted.asked) <= 1 + 1e-9
    neighbour = Led(granted, 1.0, law)
    again = curated(table_of(changed, (2, 3, 2, 4)), bounding, neighbour, per_person)
    for before, after, (_, sensitivity) in zip(granted.exact, neighbour.exact, granted.asked, strict=True):
        difference = (after - before).astype(float)
        assert (np.abs(difference).sum() if law is LAPLACE else np.sqrt((difference**2).sum())) <= sensitivity
    assert all((left.grid == right.grid).all() for left, right in zip(result.levels, again.levels, strict=True))
    with pytest.raises(bk.BudgetExceeded):
        granted.noisy([1], epsilon=0.01, sensitivity=1)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_it_finds_what_is_frequent_and_says_how_well(delta: float) -> None:
    """Twenty thousand records of 48 cells at 5%: F is above 0.97 in all of twenty runs, announced as well."""
    table = some_table(20_000, 3)
    exact = dict(bk.mine(table, 0.05))
    release = bk.curator.mine(table, 1.0, 0.05, method="sieve", delta=delta)
    assert set(release.about["parts"]) == {"total", "cells"}
    found = set(release.names)
    assert 2 * len(found & exact.keys()) / (len(found) + len(exact)) > 0.95
    assert release.about["announced"]["f"] > 0.9
    frame = release.to_frame()
    errors = np.array([frame["support"][at] - exact.get(name, 0.05) for at, name in enumerate(frame["itemsets"])])
    assert np.abs(errors).max() < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_intervals_hold_what_they_say(bounding: Bounding, law: NoiseLaw) -> None:
    """Deviations of shares over a thousand draws of the noise are as stated: to a tenth on average, and each to a
    quarter, seven standard errors of one with Laplace noise (0.035).  Without what sums and the number of records have
    in common some were 0.63.
    """
    table, sizes = some_table(20_000, 4), (2, 3, 2, 4)
    exact = all_sums(cell_counts(table.to_baskets(), sizes).astype(float), sizes) / 20_000
    scores = []
    for _ in range(1000):
        granted = Recording(1.0, law)
        program = Sieve(table.to_baskets(), bounding, granted, SieveSettings(), 1, table.domain.groups)
        cells = TableCells.measured(
            program.baskets, sizes, bounding, granted, amount=0.9, per_person=1, number=program.number(),
            number_deviation=bounding.deviation(program.scale_of_number), most=1000, largest=4,
        )  # fmt: skip
        shares, deviations = cells.shares()
        scores.append((shares - exact) / deviations)
    spread = np.sqrt(np.mean(np.square(scores), axis=0)).ravel()[:-1]
    assert spread.min() > 0.75
    assert spread.max() < 1.25
    assert abs(float(spread.mean()) - 1) < 0.1


def test_the_k_most_frequent_of_a_table() -> None:
    table = some_table(20_000, 5)
    ranked = sorted(dict(bk.mine(table, 0.01)).items(), key=lambda pair: -pair[1])
    release = bk.curator.top_k(table, 1.0, 15, method="sieve")
    assert set(release.about["parts"]) == {"total", "cells"}
    assert len(release) == 15
    assert len(set(release.names) & {name for name, _ in ranked[:15]}) >= 13


def test_which_tables_are_of_few_cells() -> None:
    """By public numbers and the noisy number of records: CENSUS of FRAPP is, fourteen attributes of ten are not."""
    assert is_for((5, 2, 2, 4, 5, 5), 1.5, 0.02, 48_842, 0.014)
    assert not is_for((5, 2, 2, 4, 5, 5), 1.5, 0.02, 1000, 0.014)
    assert not is_for((10,) * 14, 1.5, 0.02, 10**9, 0.014)
    assert not is_for((2,) * 18, 1.5, 0.02, 10**12, 0.014), "too many sums"
    assert math.prod((2,) * 18) <= MOST_CELLS


def test_few_records_leave_a_table_to_the_sieve() -> None:
    release = bk.curator.mine(some_table(3000, 6, (6, 6, 6, 6, 6)), 1.0, 0.02, method="sieve")
    assert "cells" not in release.about["parts"]


def test_sizes_up_to_the_largest() -> None:
    release = bk.curator.mine(some_table(20_000, 7), 1.0, 0.05, method="sieve", max_size=2)
    assert set(release.sizes) <= {1, 2}
    assert all(len(name) <= 2 for name in release.names)
    rules = release.rules(min_threshold=0.3)
    assert (rules["confidence_low"] <= rules["confidence_high"]).all()


def test_nothing_frequent_is_nothing() -> None:
    rng = np.random.default_rng(1)
    release = bk.curator.mine(table_of(rng.integers(0, 4, (20_000, 3)), (4, 4, 4)), 1.0, 0.9, method="sieve")
    assert "cells" in release.about["parts"]
    assert len(release) == 0


def test_pairs_of_attributes() -> None:
    """No itemset has two values of an attribute, by construction."""
    release = bk.curator.mine(some_table(20_000, 8), 1.0, 0.02, method="sieve")
    assert all(
        not {str(a).split("=")[0]} & {str(b).split("=")[0]} for name in release.names for a, b in combinations(name, 2)
    )


@pytest.mark.parametrize("k", [1, 2, 5, 16])
def test_the_law_of_a_sum_of_cells(k: int) -> None:
    """Variance 1 and kurtosis 3 + 3 / k, those of a sum of k Laplace variables; of one the density itself."""
    weight = sum_law(k)
    assert weight @ POINTS**2 == pytest.approx(1.0, abs=0.02)
    assert weight @ POINTS**4 / (weight @ POINTS**2) ** 2 == pytest.approx(3 + 3 / k, rel=0.03)
    if k == 1:
        density = np.exp(-math.sqrt(2) * np.abs(POINTS))
        away = np.abs(POINTS) > 0.1  # at zero the density has an edge
        ratio = weight[away] / density[away]
        assert ratio.max() / ratio.min() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("sizes", [(2, 3, 2), (2, 3, 2, 4)])
def test_draws_of_sums_spread_as_their_noise_does(sizes: tuple[int, ...]) -> None:
    """Draws are the same in every release: of 48 of them some were 0.6 of what they should be, and the interval of one
    and the same rule, at 95%, held in 85 releases of a hundred.
    """
    rng = np.random.default_rng(2)
    noisy = 1000 * rng.random(math.prod(sizes))
    cells = TableCells(sizes, noisy, 3.0, float(noisy.sum()), 5.0, 1000, len(sizes), is_laplace=True)
    shares, deviations = cells.shares()
    places = np.flatnonzero(cells._numbers() > 0)
    at, spread = shares.ravel()[places], deviations.ravel()[places]
    drawn = cells._drawn(places, at, spread).astype(float)
    assert np.sqrt(np.mean(drawn**2, axis=1)) == pytest.approx(spread, rel=1e-5)
    unit = np.stack([all_sums(one, sizes).ravel()[places] for one in np.eye(len(noisy))], axis=1)
    of_cells = cells.deviation * (unit - (1 - cells._trust) * at[:, None])
    of_number = cells._trust * cells.number_deviation * at
    exact = (of_cells @ of_cells.T + np.outer(of_number, of_number)) / cells.n_records**2
    correlations = drawn @ drawn.T / drawn.shape[1] / np.outer(spread, spread)
    assert np.abs(correlations - exact / np.outer(spread, spread)).max() < 0.25  # six standard errors


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(100,), (10, 10)])
def test_intervals_of_all_hold_at_once(sizes: tuple[int, ...]) -> None:
    """A cell has the tails of Laplace noise: by a normal law two releases of five missed one at least, at 95%."""
    rng = np.random.default_rng(1)
    codes = np.stack(np.unravel_index(rng.choice(math.prod(sizes), 50_000), sizes), axis=1)
    table = table_of(codes, sizes)
    exact = dict(bk.mine(table, 1e-6))
    n_missed, runs = 0, 60
    for _ in range(runs):
        release = bk.curator.mine(table, 1.0, 0.004)
        ends, true = release.ends_at_once(0.95), np.array([exact[one] for one in release.names])
        n_missed += bool(((true < ends.low) | (true > ends.high)).any())
    assert_plausible(binomtest(n_missed, runs, 0.05, alternative="greater").pvalue)
    assert_rejected(binomtest(round(0.4 * runs), runs, 0.05, alternative="greater").pvalue)


@pytest.mark.parametrize(("k", "max_size"), [(9, 1), (11, 1), (30, 2)])
def test_there_are_k_of_the_sizes_asked_for(k: int, max_size: int) -> None:
    release = bk.curator.top_k(some_table(20_000, 1), 1.0, k, max_size=max_size)
    assert len(release) == k
    assert max(release.sizes) <= max_size


@pytest.mark.parametrize("most", [1, 20, 60])
def test_items_come_first_where_not_all_itemsets_are_looked_at(most: int) -> None:
    """Of thousands that are surely frequent the smaller ones, so that all subsets of what is released are released."""
    settings = SieveSettings(population=PopulationSettings(most_itemsets=most))
    release = bk.curator.mine(some_table(20_000, 1), 1.0, 0.02, settings=settings)
    assert 0 < len(release) <= most
    found = set(release.names)
    assert most < 11 or sum(len(one) == 1 for one in found) == 11
    assert all(one - {item} in found for one in found if len(one) == 2 for item in one) or most < 11
