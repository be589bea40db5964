"""The route for dense records: when it is taken, what it pays, what neighbours see, and what it finds."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bosket as bk
from bosket.curator import SieveSettings
from bosket.curator.limit import ShareOfRecords
from bosket.curator.noise import LAPLACE, NoiseLaw
from bosket.curator.population import dense
from bosket.curator.population.rounds import groups_of
from bosket.curator.population.settings import PopulationSettings
from bosket.curator.population.wanted import Wanted, kth_product
from bosket.curator.sieve import selection
from bosket.curator.sieve.contributions import PURE, Bounding
from bosket.curator.sieve.curate import if_dense
from bosket.curator.sieve.people import People
from bosket.curator.sieve.release import quantiles
from bosket.curator.sieve.rounds import Sieve, Sieved
from bosket.data import Baskets
from bosket.research.rivals.base import exact_top_k, mined
from tests.curator.sieve.test_rounds import KINDS, Led, Recording

pytest.importorskip("opendp")

N_ITEMS = 14


def dense_records(n: int, seed: int) -> Baskets:
    """Records of fourteen items, most of which most records hold; what they lack goes together."""
    rng = np.random.default_rng(seed)
    lacks = np.where(rng.random(n) < 0.25, 0.3, 0.05)[:, None]
    holds = rng.random((n, N_ITEMS)) >= lacks * np.linspace(0.5, 2.0, N_ITEMS)
    return Baskets([np.flatnonzero(row).tolist() for row in holds], items=range(N_ITEMS))


@pytest.fixture(scope="module")
def baskets() -> Baskets:
    return dense_records(12_000, 1)


ONE_FIT = SieveSettings(population=PopulationSettings(refits=0))
"""A population is fitted once: refits see no data, and take four times as long."""


def curated(
    baskets: Baskets, bounding: Bounding, granted: Recording, share: float, per_person: int = 1,
    settings: SieveSettings = ONE_FIT,
) -> Sieved:  # fmt: skip
    sieve = Sieve(baskets, bounding, granted, settings, per_person)
    number = sieve.number()
    return sieve.run(share * number, number, instead=if_dense(sieve, ShareOfRecords(share), number))


@pytest.mark.slow
@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_it_costs_what_was_granted_and_no_more(baskets: Baskets, bounding: Bounding, law: NoiseLaw) -> None:
    granted = Recording(1.0, law)
    result = curated(baskets, bounding, granted, 0.7)
    assert [name for name, _ in result.costs][-3:] == ["literals", "pairs", "undecided"], "the route was taken"
    assert sum(amount for amount, _ in granted.asked) <= 1.0 * (1 + 1e-9)
    assert sum(cost for _, cost in result.costs) == pytest.approx(1.0)
    *_, of_pairs, of_undecided = (cost for _, cost in result.costs[-3:])
    asked = 0.3 if law is LAPLACE else 0.4
    assert of_undecided / (of_pairs + of_undecided) == pytest.approx(asked / 0.75), "less of pairs where more is asked"
    with pytest.raises(bk.BudgetExceeded):
        granted.noisy([1], epsilon=0.01, sensitivity=1)


@pytest.mark.slow
@pytest.mark.parametrize(("bounding", "law"), KINDS)
@pytest.mark.parametrize("extra", [[], list(range(N_ITEMS)), [0, 2, 4, 6, 8, 10]])
def test_every_measurement_moves_no_more_than_it_says(bounding: Bounding, law: NoiseLaw, extra: list[int]) -> None:
    """The same rounds on a neighbour, led by the noisy numbers of the first: every vector is within its sensitivity."""
    one = dense_records(2000, 2)
    other = Baskets([*one, extra], items=range(N_ITEMS))
    granted = Recording(2.0, law)
    curated(one, bounding, granted, 0.6)
    neighbour = Led(granted, 2.0, law)
    curated(other, bounding, neighbour, 0.6)
    assert len(neighbour.exact) == len(granted.exact) >= 5
    for before, after, (_, sensitivity) in zip(granted.exact, neighbour.exact, granted.asked, strict=True):
        difference = (after - before).astype(float)
        moved = np.abs(difference).sum() if law is LAPLACE else float(np.sqrt((difference**2).sum()))
        assert moved <= sensitivity


@pytest.mark.slow
@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_a_record_in_place_of_another_moves_no_more_than_it_says(bounding: Bounding, law: NoiseLaw) -> None:
    one = dense_records(2000, 2)
    records = [list(record) for record in one]
    granted = Recording(2.0, law)
    curated(one, bounding, granted, 0.6, per_person=2)
    neighbour = Led(granted, 2.0, law)
    curated(Baskets([*records[:-1], []], items=range(N_ITEMS)), bounding, neighbour, 0.6, per_person=2)
    for before, after, (_, sensitivity) in zip(granted.exact, neighbour.exact, granted.asked, strict=True):
        difference = (after - before).astype(float)
        moved = np.abs(difference).sum() if law is LAPLACE else float(np.sqrt((difference**2).sum()))
        assert moved <= sensitivity


@pytest.mark.slow
def test_what_follows_is_a_function_of_noisy_numbers(baskets: Baskets) -> None:
    """Other records, led by the same answers, release the same to the last digit, with all that is fitted again."""
    granted = Recording(1.0, LAPLACE)
    one = curated(baskets, PURE, granted, 0.7, settings=SieveSettings())
    two = curated(dense_records(300, 9), PURE, Led(granted, 1.0, LAPLACE), 0.7, settings=SieveSettings())
    assert len(one.levels) == len(two.levels)
    for left, right in zip(one.levels, two.levels, strict=True):
        assert (left.rows == right.rows).all()
        assert (left.grid == right.grid).all()
    assert one.missed == two.missed


def released(baskets: Baskets, share: float, **options: Any) -> bk.curator.Release:
    return bk.curator.mine(baskets, 1.0, share, method="sieve", **options)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_it_finds_dense_itemsets(baskets: Baskets, delta: float) -> None:
    """F was 0.955 to 0.987 in six runs each; the sieve alone has 0.70 to 0.85.  Intervals hold most supports."""
    exact = dict(bk.mine(baskets, 0.7))
    assert len(exact) > 200
    frame = released(baskets, 0.7, delta=delta).to_frame()
    found = set(frame["itemsets"])
    assert 2 * len(found & exact.keys()) / (len(found) + len(exact)) > 0.85
    near = dict(bk.mine(baskets, 0.6))
    supports = np.array([near.get(name, 0.0) for name in frame["itemsets"]])
    assert ((frame["low"] <= supports) & (supports <= frame["high"])).mean() > 0.8
    assert (frame["high"] - frame["low"]).median() < 0.1


@pytest.mark.slow
def test_records_of_two_kinds_do_not_lose_their_items() -> None:
    """Three in ten records hold each of 20 items with 0.8, the others with 0.1: long records are far longer than chance
    makes them, and a bound for independent items would cut a sixth of what they hold, of all items alike.
    """
    rng = np.random.default_rng(4)
    holds = rng.random((12_000, 20)) < np.where(rng.random(12_000) < 0.3, 0.8, 0.1)[:, None]
    kinds = Baskets([np.flatnonzero(row).tolist() for row in holds], items=range(20))
    release = released(kinds, 0.27, settings=ONE_FIT)
    assert "pairs" in release.about["parts"]
    assert release.sizes[1] >= 18


@pytest.mark.slow
def test_what_was_left_out_is_in_what_is_announced() -> None:
    """Sixty frequent items, of which forty are in the population: 820 of 1830 itemsets of up to two."""
    rng = np.random.default_rng(5)
    many = Baskets([np.flatnonzero(row).tolist() for row in rng.random((6000, 60)) < 0.93], items=range(60))
    announced = released(many, 0.8, max_size=2, settings=ONE_FIT).about["announced"]
    assert 0.3 < announced["recall"] < 0.65


@pytest.mark.slow
def test_no_itemset_has_two_values_of_one_attribute() -> None:
    rng = np.random.default_rng(6)
    table = bk.Table.from_frame(
        pd.DataFrame({name: rng.choice(["no", "yes"], 3000) for name in "abcdef"}),
        values={name: ["no", "yes"] for name in "abcdef"},
    )
    through_one = SieveSettings(population=PopulationSettings(misfit=0.005))  # not by cells
    release = bk.curator.mine(table, 1.0, 0.15, method="sieve", settings=through_one)
    assert "pairs" in release.about["parts"]
    assert len(release) > 50
    assert all(len({str(item).split("=")[0] for item in name}) == len(name) for name in release.names)


@pytest.mark.slow
def test_sparse_records_go_through_the_sieve() -> None:
    sparse = bk.quest(records=8000, items=300, patterns=100, mean_size=6, seed=3)
    assert "pairs" not in released(sparse, 0.02).about["parts"]


@pytest.mark.slow
def test_records_that_are_all_alike_do_not_explode() -> None:
    """Forty items that every record holds have 2^40 frequent itemsets; work and result stay bounded."""
    alike = Baskets([list(range(40))] * 3000, items=range(40))
    release = released(alike, 0.5, settings=SieveSettings(population=PopulationSettings(refits=1)))
    assert 40 <= len(release) <= 100_000


@pytest.mark.parametrize("records", [[[]] * 2000, [[0]] * 2000, [[0, 1]] * 2000])
def test_few_items(records: list[list[int]]) -> None:
    release = released(Baskets(records, items=range(2)), 0.5)
    assert len(release) == 2 ** len(records[0]) - 1


def test_what_is_released_is_wider_than_what_is_believed() -> None:
    """Ends and draws by a fifth, and neither means nor probabilities."""
    rows, n = np.array([[0], [1]], np.int32), 1000
    draws = np.array([[0.02, -0.02], [0.01, -0.01]], np.float32)
    level = dense.normal_level(
        rows, np.array([0.5, 0.4]), np.array([0.03, 0.02]), draws, np.array([0.02, 0.01]), n, 0.45
    )
    believed = selection.taken(level, level.probability, np.arange(2))
    level.wider = dense._WIDER
    released = selection.taken(level, level.probability, np.arange(2))
    means, expected = ((part.posterior * part.grid).sum(axis=1) for part in (released, believed))
    assert means == pytest.approx(expected)
    np.testing.assert_array_equal(released.probability, believed.probability)
    assert released.own == pytest.approx(1.2 * np.array(believed.own))
    assert released.draws == pytest.approx(1.2 * np.array(believed.draws))
    low, high = (quantiles(released.grid, released.posterior, q) for q in (0.025, 0.975))
    below, above = (quantiles(believed.grid, believed.posterior, q) for q in (0.025, 0.975))
    assert high - low == pytest.approx(1.2 * (above - below))


@pytest.mark.slow
def test_rules_have_intervals_that_cover(baskets: Baskets) -> None:
    """Confidences of rules among dense itemsets, over three releases: 95% intervals hold nine in ten at least, and are
    narrow.  Rules of one release go wrong together, so this is no binomial test.
    """
    true = dict(bk.mine(baskets, 0.3))
    held, widths = [], []
    for _ in range(3):
        rules = released(baskets, 0.75).rules(min_threshold=0.8)
        exact = np.array(
            [true[a | c] / true[a] for a, c in zip(rules["antecedents"], rules["consequents"], strict=True)]
        )
        held.append(float(((rules["confidence_low"] <= exact) & (exact <= rules["confidence_high"])).mean()))
        widths.append(float((rules["confidence_high"] - rules["confidence_low"]).median()))
    assert np.mean(held) > 0.9
    assert np.median(widths) < 0.1


@pytest.mark.parametrize(
    "wrong",
    [
        {"dense": 1.5},
        {"literals": 0.2},
        {"literals": ()},
        {"literals": (0.5, 0.4)},
        {"numbers": 0.95},
        {"undecided": -0.1},
        {"likely": float("nan")},
        {"kept": 2.0},
        {"most_literals": 65},
        {"most_itemsets": 0},
        {"patterns": 1.5},
        {"repeated": 0.5},
        {"leaves": 1.0},
        {"most_leaves": 0},
        {"most_told": 0},
        {"refits": -1},
        {"misfit": -1.0},
        {"asked": 0.95},
        {"asked_with_delta": 0.95},
        {"asked_with_delta": 0.6},
        {"most_asked": 0},
    ],
)
def test_settings_that_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(bk.ParameterError):
        PopulationSettings(**wrong)


def test_a_delta_asks_for_a_third_more_unless_said() -> None:
    assert PopulationSettings().asked_of(is_with_delta=True) == pytest.approx(0.4)
    assert PopulationSettings(asked=0.0).asked_of(is_with_delta=True) == 0.0
    assert PopulationSettings(asked=0.0, asked_with_delta=0.2).asked_of(is_with_delta=True) == 0.2
    assert PopulationSettings(asked_with_delta=0.0).asked_of(is_with_delta=False) == 0.3
    assert PopulationSettings(literals=(0.3, 0.2), asked=0.1).pairs == pytest.approx(0.35 - 0.4 / 3)


def test_groups_of_numbers_clearly_have_records() -> None:
    counts = np.array([900.0, 500.0, 30.0, 25.0, 80.0, -3.0, 4.0])
    assert groups_of(counts, 10.0).tolist() == [0, 1, 2, 2, 2, 2, 2]
    assert groups_of(np.zeros(3), 10.0).tolist() == [0, 0, 0]


def _of_persons(of: list[int], baskets: Baskets, bounding: Bounding, granted: Recording, per_person: int = 1) -> Sieved:
    """At most three records of a person."""
    people = People(np.array(of, np.int64), 3)
    settings = SieveSettings(population=PopulationSettings(refits=0))
    sieve = Sieve(baskets, bounding, granted, settings, per_person, None, people)
    number = sieve.number()
    return sieve.run(0.6 * number, number, instead=if_dense(sieve, ShareOfRecords(0.6), number))


@pytest.mark.slow
@pytest.mark.parametrize(("bounding", "law"), KINDS)
@pytest.mark.parametrize("other", [[[], [], []], [[0, 2, 4, 6], [1], list(range(N_ITEMS))]])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_person_with_three_records_moves_no_more_than_it_says(
    bounding: Bounding, law: NoiseLaw, other: list[list[int]], is_replaced: bool
) -> None:
    """A person more, or in place of the last, with all its records, led by the noisy answers of the first run; a claim
    for one record would be passed.
    """
    records = [list(record) for record in dense_records(900, 2)]
    of = [place // 3 for place in range(len(records))]
    kept = len(records) - 3 * is_replaced
    granted = Recording(4.0, law)
    result = _of_persons(of, Baskets(records, items=range(N_ITEMS)), bounding, granted, 1 + is_replaced)
    assert [name for name, _ in result.costs][-3:] == ["literals", "pairs", "undecided"], "the route was taken"
    neighbour = Led(granted, 4.0, law)
    changed = Baskets([*records[:kept], *other], items=range(N_ITEMS))
    _of_persons([*of[:kept], *[kept // 3] * 3], changed, bounding, neighbour, 1 + is_replaced)
    assert len(neighbour.exact) == len(granted.exact) >= 5
    most = 0.0
    for before, after, (_, sensitivity) in zip(granted.exact, neighbour.exact, granted.asked, strict=True):
        difference = (after - before).astype(float)
        moved = np.abs(difference).sum() if law is LAPLACE else float(np.sqrt((difference**2).sum()))
        assert moved <= sensitivity
        most = max(most, moved / sensitivity)
    assert most > 1 / 3


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_most_frequent_itemsets_of_dense_records(baskets: Baskets, delta: float) -> None:
    """By exact counts; rounds of direct counts have some .6 of them."""
    k = 150
    release = bk.curator.top_k(baskets, epsilon=1.0, k=k, delta=delta)
    found = {tuple(row) for part in release.rows for row in part.tolist()}
    assert len(found) == k
    assert "pairs" in release.about["parts"], "the route was taken"
    assert len(found & set(exact_top_k(baskets, k))) >= 0.85 * k
    assert release.about["announced"]["f"] == pytest.approx(len(found & set(exact_top_k(baskets, k))) / k, abs=0.1)


@pytest.mark.slow
def test_dense_records_of_persons_are_read_together(baskets: Baskets) -> None:
    """Two records each: the noise is twice that of one, and most itemsets are found all the same."""
    release = bk.curator.mine(
        baskets, epsilon=2.0, min_support=0.7, persons=np.arange(12_000) // 2, max_records_per_person=2
    )
    assert "pairs" in release.about["parts"], "the route was taken"
    found = {tuple(row) for part in release.rows for row in part.tolist()}
    true = {tuple(row) for rows, _ in mined(baskets, 8400) for row in rows.tolist()}
    assert 2 * len(found & true) / (len(found) + len(true)) > 0.85


@pytest.mark.parametrize("largest", [1, 2, 6])
def test_the_kth_product_is_that_of_all_products(largest: int) -> None:
    shares = np.array([0.9, 0.5, 0.95, 0.2, 0.7, 0.7])
    sets = [one for size in range(1, largest + 1) for one in combinations(shares, size)]
    products = sorted((float(np.prod(one)) for one in sets), reverse=True)
    for k in range(1, len(products) + 1):
        assert kth_product(shares, k, largest) == pytest.approx(products[k - 1])
    assert kth_product(shares, 1000, largest) == pytest.approx(products[-1])
    assert kth_product(np.zeros(3), 2, 2) == 0.0


def test_the_limit_of_k_follows_items() -> None:
    """Once items are known better, k itemsets are known to reach more, or less; a limit that was given stays."""
    shares = np.array([0.9, 0.8, 0.5])
    wanted = Wanted(0.5, 3, 4, least=0.01)
    assert wanted.by(shares).limit == pytest.approx(0.5)
    assert wanted.by(shares).by(np.array([1.0, 0.95, 0.9])).limit == pytest.approx(0.9)
    assert wanted.by(np.zeros(3)).limit == 0.01
    assert Wanted(0.3, 3).by(shares).limit == 0.3
