"""The rounds of the sieve: what they pay, what they find, and what they would find without noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import bosket as bk
from bosket.counting.base import Counts
from bosket.curator.noise import GAUSSIAN, LAPLACE, Composition, NoiseLaw
from bosket.curator.sieve.beliefs import Believer, SievedLevel, Values
from bosket.curator.sieve.contributions import CONCENTRATED, PURE, Bounding
from bosket.curator.sieve.rounds import Sieve, Sieved
from bosket.curator.sieve.settings import SieveSettings
from bosket.data import Baskets

pytest.importorskip("opendp")

KINDS = [pytest.param(PURE, LAPLACE, id="pure"), pytest.param(CONCENTRATED, GAUSSIAN, id="gaussian")]


@pytest.fixture(scope="module")
def baskets() -> Baskets:
    return bk.quest(records=4000, items=40, patterns=20, mean_size=6, seed=3)


def sieved(baskets: Baskets, bounding: Bounding, granted: Composition, share: float, **options: Any) -> Sieved:
    sieve = Sieve(baskets, bounding, granted, SieveSettings(**options), 1)
    number = sieve.number()
    return sieve.run(share * number, number)


def frequent(result: Sieved, least: float = 0.5) -> set[tuple[int, ...]]:
    return {
        tuple(row)
        for level in result.levels
        for row, probability in zip(level.rows.tolist(), level.probability, strict=True)
        if probability > least
    }


@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_without_noise_it_is_exact_mining(baskets: Baskets, bounding: Bounding, law: NoiseLaw) -> None:
    """All itemsets that lie clear of the limit by the width of the grid are found, and no others."""
    result = sieved(baskets, bounding, Composition(1e9, law), 0.05, spread=0.01)
    exact = bk.mine(baskets, 0.03).to_frame()
    supports = {
        tuple(sorted(itemset)): value for itemset, value in zip(exact["itemsets"], exact["support"], strict=True)
    }
    found = frequent(result)
    assert {itemset for itemset, value in supports.items() if value > 0.06 and len(itemset) <= 3} <= found
    assert all(supports.get(itemset, 0.0) > 0.042 for itemset in found)
    assert len(found) > 50


class Recording(Composition):
    """Notes what every measurement costs, and the sums it is of."""

    def __init__(self, amount: float, law: NoiseLaw) -> None:
        super().__init__(amount, law)
        self.asked: list[tuple[float, float]] = []
        self.exact: list[Counts] = []
        self.answers: list[Counts] = []

    def noisy(self, counts: npt.ArrayLike, *, epsilon: float, sensitivity: float) -> Counts:
        self.asked.append((epsilon, sensitivity))
        self.exact.append(np.array(counts, np.int64))
        self.answers.append(super().noisy(counts, epsilon=epsilon, sensitivity=sensitivity))
        return self.answers[-1]


@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_rounds_cost_what_was_granted_and_no_more(baskets: Baskets, bounding: Bounding, law: NoiseLaw) -> None:
    granted = Recording(1.0, law)
    result = sieved(baskets, bounding, granted, 0.05)
    spent = sum(epsilon for epsilon, _ in granted.asked)  # less than all where nothing was undecided any more
    assert spent <= 1.0 * (1 + 1e-9)
    assert sum(cost for _, cost in result.costs) == pytest.approx(1.0)
    with pytest.raises(bk.BudgetExceeded):
        granted.noisy([1], epsilon=1.01 - spent, sensitivity=1)


@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_every_measurement_moves_no_more_than_it_says(bounding: Bounding, law: NoiseLaw) -> None:
    """The same rounds on a neighbour, led by the noisy numbers of the first: every vector is within its sensitivity."""
    records = [[0, 1, 2]] * 300 + [[0, 1]] * 200 + [[3]] * 100 + [[2, 3, 4, 5]] * 60
    one = Baskets(records, items=range(6))
    for extra in ([0, 1, 2, 3, 4, 5], [0], []):
        other = Baskets([*records, extra], items=range(6))
        granted = Recording(2.0, law)
        sieved(one, bounding, granted, 0.05)
        neighbour = Led(granted, 2.0, law)
        sieved(other, bounding, neighbour, 0.05)
        assert len(neighbour.exact) == len(granted.exact) > 6
        for before, after, (_, sensitivity) in zip(granted.exact, neighbour.exact, granted.asked, strict=True):
            difference = (after - before).astype(float)
            moved = np.abs(difference).sum() if law is LAPLACE else float(np.sqrt((difference**2).sum()))
            assert moved <= sensitivity


@pytest.mark.parametrize(("bounding", "law"), KINDS)
@pytest.mark.parametrize("max_candidates", [2, 100])
def test_many_candidates_get_a_part_of_what_later_rounds_have(
    max_candidates: int, bounding: Bounding, law: NoiseLaw
) -> None:
    """By the number of candidates, which follows from noisy numbers: a neighbour, led by these, spends alike.

    Without a delta alone: L2 norms grow with the root of the number.
    """
    records = [[0, 1, 2]] * 300 + [[0, 1]] * 200 + [[3]] * 100 + [[2, 3, 4, 5]] * 60
    settings = SieveSettings(max_candidates=max_candidates)
    shares = settings.shares_ahead() if max_candidates == 2 and law is LAPLACE else settings.shares()
    granted = Recording(2.0, law)
    result = sieved(Baskets(records, items=range(6)), bounding, granted, 0.05, max_candidates=max_candidates)
    spent = [epsilon / 2 for epsilon, _ in granted.asked]
    assert sum(spent) <= 1.0 * (1 + 1e-9)
    assert dict(result.costs)["round 3"] == pytest.approx(2 * (shares[2] + settings.histograms))
    assert sum(cost for _, cost in result.costs) == pytest.approx(2.0)
    assert any(one == pytest.approx(shares[2]) for one in spent)
    led = Led(granted, 2.0, law)
    sieved(Baskets([*records, range(6)], items=range(6)), bounding, led, 0.05, max_candidates=max_candidates)
    assert led.asked == granted.asked


def test_what_goes_ahead_is_taken_from_later_rounds() -> None:
    usual, ahead = SieveSettings().shares(), SieveSettings(ahead=0.5).shares_ahead()
    assert ahead[:2] == usual[:2]
    assert ahead[3:] == pytest.approx([0.5 * share for share in usual[3:]])
    assert sum(ahead) == pytest.approx(sum(usual))
    assert SieveSettings(ahead=0.0).shares_ahead() == usual
    assert SieveSettings(rounds=(1.0, 1.0, 1.0)).shares_ahead() == SieveSettings(rounds=(1.0, 1.0, 1.0)).shares()


@pytest.mark.parametrize("wrong", [-0.1, 1.0, float("nan")])
def test_a_part_that_leaves_later_rounds_nothing_is_refused(wrong: float) -> None:
    with pytest.raises(bk.ParameterError, match="ahead"):
        SieveSettings(ahead=wrong)


class Led(Recording):
    """Answers as another composition answered, so that both programs ask the same."""

    def __init__(self, leader: Recording, amount: float, law: NoiseLaw) -> None:
        super().__init__(amount, law)
        self._answers = iter(leader.answers)

    def noisy(self, counts: npt.ArrayLike, *, epsilon: float, sensitivity: float) -> Counts:
        self.asked.append((epsilon, sensitivity))
        self.exact.append(np.array(counts, np.int64))
        return next(self._answers)


@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_a_round_says_what_its_histogram_may_hide(baskets: Baskets, bounding: Bounding, law: NoiseLaw) -> None:
    """Pure: five deviations of noise for a fortieth of epsilon 2, of one record."""
    told = [
        values.least_cut
        for level in sieved(baskets, bounding, Composition(2.0, law), 0.2).levels
        for values in level.rounds
    ]
    if bounding is CONCENTRATED:
        assert told == [None] * len(told)
        return
    assert [one.hidden for one in told if one is not None] == pytest.approx([5 * np.sqrt(2) * 20] * len(told), rel=1e-6)


@pytest.mark.slow
def test_it_finds_what_noise_leaves(baskets: Baskets) -> None:
    """Forty thousand records: nearly all that lies well above the limit, and hardly anything far below it."""
    many = Baskets.from_csr(
        np.concatenate([[0], np.cumsum(np.tile(baskets.sizes, 10))]), np.tile(baskets.indices, 10), baskets.domain
    )
    exact = bk.mine(baskets, 0.02).to_frame()
    supports = {
        tuple(sorted(itemset)): value for itemset, value in zip(exact["itemsets"], exact["support"], strict=True)
    }
    found = frequent(sieved(many, PURE, Composition(1.0), 0.05))
    clear = [itemset for itemset, value in supports.items() if value > 0.08 and len(itemset) <= 2]
    assert sum(itemset in found for itemset in clear) > 0.9 * len(clear)
    assert sum(supports.get(itemset, 0.0) < 0.025 for itemset in found) < 0.05 * len(found)


@pytest.mark.slow
def test_records_of_no_items_and_one_item_alone() -> None:
    some: list[list[list[int]]] = [[[]] * 50, [[0]] * 50]
    for records in some:
        result = sieved(Baskets(records, items=[0]), PURE, Composition(50.0), 0.5)
        assert (len(frequent(result)) == 1) == (records[0] == [0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": 0.0},
        {"number": 1.5},
        {"histograms": 0.2},
        {"rounds": (0.5, 0.5)},
        {"rounds": (0.5, 0.5, -1.0)},
        {"rounds": (1e308,) * 3},
        {"rounds": (1.0, 1e-320, 1.0)},
        {"rounds": 3},
        {"undecided": 0.6},
        {"spread": -0.1},
        {"max_candidates": 0},
        {"largest": 0},
        {"number": float("nan")},
        {"spread": float("nan")},
        {"undecided": 0.0},
        {"rounds": (1.0, float("nan"), 1.0)},
        {"number": 0.4, "histograms": 0.03},
    ],
)
def test_settings_that_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(bk.ParameterError):
        SieveSettings(**wrong)


@pytest.mark.slow
def test_no_itemset_is_larger_than_the_settings_say() -> None:
    baskets = Baskets([[0, 1, 2, 3]] * 3000, items=range(4))
    for largest in (1, 2, 3):
        result = sieved(baskets, PURE, Composition(20.0), 0.3, largest=largest)
        assert len(result.levels) == largest


def test_equal_candidates_are_cut_and_not_dropped() -> None:
    """Forty items alike have 780 pairs alike, of which one hundred may be measured."""
    baskets = Baskets([list(range(40))] * 2000, items=range(40))
    result = sieved(baskets, PURE, Composition(1e5), 0.3, max_candidates=100, largest=2, rounds=(1.0, 1.0, 1.0))
    assert len(result.levels[1].rows) == 100


@pytest.mark.slow
def test_no_more_of_what_is_undecided_is_measured_than_may_be(baskets: Baskets) -> None:
    result = sieved(baskets, PURE, Composition(0.01), 0.05, max_candidates=7)
    assert all(
        len(values.places) <= 14 for level in result.levels for values in level.rounds[level is result.levels[0] :]
    )


def test_what_lies_at_the_limit_is_not_decided_by_the_grid() -> None:
    """Values known to a hair, at the limit and a little above it: nobody is sure that they are not frequent."""
    level = SievedLevel(np.arange(3, dtype=np.int32)[:, None])
    level.rounds.append(Values(np.arange(3), np.array([400.0, 402.0, 404.0]), 1e-3, np.ones(3)))
    Believer(PURE, 0.5, 400.0, 1e5).update([level])
    assert (level.probability > 0.03).all()


def test_a_superset_may_be_frequent_though_a_subset_seems_just_not_to_be() -> None:
    items = SievedLevel(np.array([[0], [1]], np.int32))
    items.rounds.append(Values(np.arange(2), np.array([195.0, 195.0]), 40.0, np.ones(2)))
    pairs = SievedLevel(np.array([[0, 1]], np.int32))
    pairs.rounds.append(Values(np.arange(1), np.array([230.0]), 3.0, np.ones(1)))
    Believer(PURE, 0.5, 200.0, 1e4).update([items, pairs])
    assert pairs.probability[0] > 0.03
