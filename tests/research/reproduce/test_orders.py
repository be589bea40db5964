"""Coverage of laws at each order: simulated people by hand, every design and order once, and that intervals cover."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import bosket as bk
from bosket.research.reproduce import orders
from bosket.research.reproduce.frapp_data import census
from tests.files import benchmark_file


def third_moment(table: bk.Table) -> float:
    """The mean of the product of three signs, what pairs of them explain left out as far as they are symmetric."""
    signs = 1 - 2.0 * (table.codes[:, :3] == 0)
    return float(np.prod(signs - signs.mean(axis=0), axis=1).mean())


def test_simulated_people_have_the_effects_that_they_are_said_to_have() -> None:
    plain, planted = (orders.simulated(third=0.0, planted=size, seed=4) for size in (0.0, 0.5))
    assert plain.n_records == 40_000
    assert plain.domain.sizes.tolist() == [2, 3, 2, 3, 2, 3]
    assert third_moment(planted) > third_moment(plain) + 0.2
    again = orders.simulated(third=0.0, seed=4)
    assert np.array_equal(again.codes, plain.codes)
    assert not np.array_equal(orders.simulated(third=0.0, seed=5).codes, plain.codes)


@pytest.mark.slow
def test_every_design_and_order_once() -> None:
    table = orders.simulated(third=0.05, people=4000, seed=1)
    found = orders.coverage(table, 19.0, 3, min_support=0.1)
    assert set(found) == set(product(("pairs", "triples"), (2, 3)))
    for (_, order), score in found.items():
        assert score.order == order, "whatever the answers say"
        assert score.coverage is not None
        assert 0.5 < score.coverage <= 1
        assert score.n_itemsets == len(bk.mine(table, min_support=0.1))
    whole = orders.of_whole_records(table, 19.0, 3, min_support=0.1)
    assert whole.order in (0, 1, 2, 3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [40, 41])
def test_intervals_of_simulated_people_cover_at_both_orders(seed: int) -> None:
    """Effects of three attributes as large, beside those of two, as in the tables that were measured."""
    held: dict[tuple[str, int], list[float]] = {}
    for repetition in range(8):
        table = orders.simulated(third=0.026, seed=100 * seed + repetition)
        for key, score in orders.coverage(table, 19.0, 1000 * seed + 10 * repetition, min_support=0.02).items():
            held.setdefault(key, []).append(score.coverage or 0.0)
    assert {key: float(np.mean(values)) for key, values in held.items() if np.mean(values) < 0.93} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("third", "planted", "repetitions"), [(0.026, 0.25, 140), (0.15, 0.0, 60)], ids=["one planted", "all strong"]
)
def test_intervals_of_pairs_cover_effects_of_three_that_nobody_was_asked_of(
    third: float, planted: float, repetitions: int
) -> None:
    """One effect of three besides, or effects of three as large as those of two: 0.93 in the mean, at both orders.

    Populations hold 0.947 in the mean with a standard deviation of 0.032, and 0.953 with 0.027, by 160 of each, half of
    them of these seeds: a right program fails for about one set of fresh seeds in 1e9.  With 0.03 of the scale of pairs
    in place of what three inherit they hold 0.916 and 0.903, each with 0.045, and are passed once in 1e4.
    """
    held: dict[tuple[str, int], list[float]] = {}
    for repetition in range(repetitions):
        table = orders.simulated(third=third, planted=planted, seed=4300 + repetition)
        study = orders.coverage(table, 19.0, 43_000 + 10 * repetition, min_support=0.02, sizes={"pairs": 2})
        for key, score in study.items():
            held.setdefault(key, []).append(score.coverage or 0.0)
    assert set(held) == {("pairs", 2), ("pairs", 3)}
    assert {key: float(np.mean(values)) for key, values in held.items() if np.mean(values) < 0.93} == {}


@pytest.mark.slow
@pytest.mark.data
def test_mushrooms_have_the_attributes_of_their_file() -> None:
    folder = benchmark_file("mushroom.dat.gz").parent
    first, others = orders.mushrooms(folder), orders.mushrooms(folder, columns=orders.OTHERS)
    assert first.domain.sizes.tolist() == [2, 6, 4, 2, 2, 2]
    assert others.domain.sizes.tolist() == [2, 2, 5, 4, 4, 4]
    assert first.n_records == others.n_records == 8124


@pytest.mark.slow
@pytest.mark.data
def test_intervals_of_census_cover_at_both_orders() -> None:
    table = census(benchmark_file("adult_train.csv.gz").parent)
    for key, score in orders.coverage(table, 19.0, 5, min_support=0.02).items():
        assert (score.coverage or 0.0) >= 0.93, key
