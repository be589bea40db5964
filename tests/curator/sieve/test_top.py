"""``curator.top_k(method="sieve")``: exactly k, by a limit that follows from noisy numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.budget.budgets import Budget
from bosket.curator import Settings, SieveSettings, declared
from bosket.curator.noise import GAUSSIAN, LAPLACE, NoiseLaw
from bosket.curator.sieve.beliefs import Believer, SievedLevel, Values
from bosket.curator.sieve.contributions import CONCENTRATED, PURE, Bounding
from bosket.curator.sieve.release import SieveRelease
from bosket.curator.sieve.rounds import Sieve, Sieved
from bosket.curator.sieve.search import SieveSearch
from bosket.curator.sieve.top import KthLimit, select_top
from bosket.data import Baskets
from bosket.errors import ParameterError
from tests.curator.sieve.test_rounds import Led, Recording
from tests.curator.sieve.test_search import known

pytest.importorskip("opendp")

KINDS = [pytest.param(PURE, LAPLACE, id="pure"), pytest.param(CONCENTRATED, GAUSSIAN, id="gaussian")]


@pytest.fixture(scope="module")
def baskets() -> Baskets:
    return bk.quest(records=4000, items=40, patterns=20, mean_size=6, seed=3)


def top(baskets: Baskets, k: int, epsilon: float = 1.0, **options: Any) -> SieveRelease:
    release = bk.curator.top_k(baskets, epsilon, k, method="sieve", vocabulary=baskets.domain, **options)
    assert isinstance(release, SieveRelease)
    return release


def supports(baskets: Baskets, max_size: int = 9) -> tuple[dict[frozenset[Any], float], list[float]]:
    """The true supports above a low limit, and their values, highest first."""
    exact = {itemset: value for itemset, value in bk.mine(baskets, 0.05) if len(itemset) <= max_size}
    return exact, sorted(exact.values(), reverse=True)


@pytest.mark.parametrize("delta", [0.0, pytest.param(1e-9, marks=pytest.mark.slow)])
@pytest.mark.parametrize("k", [12, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 60))])
def test_without_noise_it_has_the_k_most_frequent(
    baskets: Baskets, k: int, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for those within a few parts in a hundred of the k-th, where the grid of supports cannot tell."""
    monkeypatch.setattr(declared, "MOST_EPSILON", 1e9)
    monkeypatch.setattr(declared, "MOST_WITH_DELTA", 1e9)
    release = top(baskets, k, 1e8, delta=delta, settings=SieveSettings(spread=0.01))
    exact, falling = supports(baskets)
    assert len(release) == k
    assert all(exact.get(itemset, 0.0) > 0.9 * falling[k - 1] for itemset in release.names)
    clear = [itemset for itemset, value in exact.items() if value > 1.1 * falling[k - 1]]
    assert sum(itemset in release for itemset in clear) >= 0.97 * len(clear)


@pytest.mark.parametrize(("k", "chosen"), [(2, [[0], [1]]), (3, [[0], [1], [0, 1]]), (4, [[0], [1], [2], [0, 1]])])
def test_subsets_are_released_too(k: int, chosen: list[list[int]]) -> None:
    """All are surely among the k; by noise the pair has a larger support than its items."""
    levels = [known([(0,), (1,), (2,)], [10, 10, 11], limit=1.0), known([(0, 1)], [12], limit=1.0)]
    for level in levels:
        level.classes = np.zeros(len(level.rows), np.int64)
    parts, _ = select_top(Sieved(levels, 100, 1.0, 0.0, ()), k)
    assert [row for part in parts for row in part.rows.tolist()] == chosen


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, pytest.param(1e-6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 1.0])
def test_there_are_k_whatever_the_noise(baskets: Baskets, epsilon: float, delta: float) -> None:
    release = top(baskets, 37, epsilon, delta=delta)
    frame = release.to_frame()
    assert len(frame) == len(set(frame["itemsets"])) == 37
    assert release.about["k"] == 37
    assert 0.0 < release.announced.precision <= 1.0
    assert release.guarantee.epsilon == epsilon


@pytest.mark.slow
def test_fewer_where_there_are_no_more() -> None:
    release = top(Baskets([["a", "b"]] * 500, items=["a", "b"]), 9, 50.0)
    assert set(release.names) == {frozenset("a"), frozenset("b"), frozenset("ab")}


@pytest.mark.slow
@pytest.mark.parametrize("max_size", [1, 2])
def test_no_itemset_is_larger_than_asked_for(baskets: Baskets, max_size: int) -> None:
    release = top(baskets, 15, 1e6, max_size=max_size, settings=SieveSettings(spread=0.01))
    assert max(release.sizes) == max_size
    exact, falling = supports(baskets, max_size)
    assert all(exact.get(itemset, 0.0) > 0.9 * falling[14] for itemset in release.names)


def test_k_itemsets_are_expected_to_reach_the_limit() -> None:
    """Of values known to a hair: the limit lies between the k-th and the next."""
    values = np.array([900.0, 700.0, 500.0, 300.0, 100.0, 50.0])
    level = SievedLevel(np.arange(6, dtype=np.int32)[:, None])
    level.rounds.append(Values(np.arange(6), values, 1.0, np.ones(6)))
    Believer(PURE, 0.5, 100.0, 1e4).update([level])
    for k in (1, 2, 3, 4):
        limit = KthLimit(k, 10_000, 5, 12).after(5, [level], SieveSearch(100.0, 10_000, 0.03, 100))
        assert values[k] < limit < values[k - 1]
        assert level.probability.sum() == pytest.approx(k, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("bounding", "law"), KINDS)
def test_every_measurement_moves_no_more_than_it_says(bounding: Bounding, law: NoiseLaw) -> None:
    """The limit follows from noisy numbers alone: led by the same answers, a neighbour asks for the same vectors, and
    each of them is within its sensitivity.
    """
    records = [[0, 1, 2]] * 300 + [[0, 1]] * 200 + [[3]] * 100 + [[2, 3, 4, 5]] * 60
    for extra in ([0, 1, 2, 3, 4, 5], [0], []):
        granted = Recording(2.0, law)
        _run(Baskets(records, items=range(6)), bounding, granted)
        neighbour = Led(granted, 2.0, law)
        _run(Baskets([*records, extra], items=range(6)), bounding, neighbour)
        assert neighbour.asked == granted.asked
        assert len(granted.asked) > 6
        for before, after, (_, sensitivity) in zip(granted.exact, neighbour.exact, granted.asked, strict=True):
            moved = np.linalg.norm((after - before).astype(float), 1 if law is LAPLACE else 2)
            assert moved <= sensitivity


def _run(baskets: Baskets, bounding: Bounding, granted: Recording) -> None:
    sieve = Sieve(baskets, bounding, granted, SieveSettings(), 1)
    number = sieve.number()
    moving = KthLimit(8, number, 5, 12)
    sieve.run(moving.first, number, moving=moving)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": (1 << 20) + 1},
        {"k": -3},
        {"k": 2.5},
        {"k": float("nan")},
        {"epsilon": float("nan")},
        {"epsilon": 0.0},
        {"delta": float("nan")},
        {"delta": -0.1},
        {"delta": 1.0},
        {"max_size": 0},
        {"max_size": 1.5},
        {"method": "sift"},
        {"settings": Settings()},
        {"method": "truncation", "delta": 1e-6},
        {"method": "truncation", "settings": SieveSettings()},
    ],
)
def test_what_is_refused_costs_nothing(wrong: dict[str, Any], baskets: Baskets) -> None:
    budget = Budget.in_memory(1.0, delta=1e-5)
    options: dict[str, Any] = {"epsilon": 1.0, "k": 5, "method": "sieve", "budget": budget} | wrong
    with pytest.raises(ParameterError):
        bk.curator.top_k(baskets, vocabulary=baskets.domain, **options)
    assert budget.entries() == ()
