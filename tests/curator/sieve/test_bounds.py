"""How much a record may add follows from a noisy histogram, in which a record is in one bin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.curator.noise import GAUSSIAN, LAPLACE, Composition
from bosket.curator.sieve.bounds import RoundShares, choose_bound, shares_at, weights_at
from bosket.curator.sieve.contributions import CONCENTRATED, PURE, RESOLUTION, Bounding, Units
from bosket.curator.sieve.histograms import (
    Histogram,
    NoisyBins,
    bins,
    divided,
    noisy_histogram,
    smoothed,
    total_numbers,
)
from bosket.curator.sieve.records import BasketRecords
from bosket.data import Baskets
from bosket.statistics.estimates import Floats

pytest.importorskip("opendp")


@given(
    held=st.lists(st.tuples(*[st.integers(0, 40)] * 3), min_size=1, max_size=12),
    extra=st.tuples(*[st.integers(0, 40)] * 3),
)
def test_a_record_adds_one_record_at_most_to_one_bin(
    held: list[tuple[int, int, int]], extra: tuple[int, int, int]
) -> None:
    """However it is divided among groups; two records that differ, one of them at most each."""
    starts = bins(120)
    before, after = divided(np.array(held).T, starts), divided(np.array([*held, extra]).T, starts)
    moved = after - before
    assert moved.min() >= 0
    assert moved.sum() <= RESOLUTION
    assert (moved.sum(axis=1) > 0).sum() <= 1
    assert (PURE.norm_of_ones(1), PURE.norm_of_ones(2)) == (1, 2)
    assert CONCENTRATED.norm_of_ones(1) == 1.0
    assert CONCENTRATED.norm_of_ones(2) ** 2 >= 2


def binned_records(held: Units, most: int) -> tuple[Floats, Floats, Floats]:
    """Middles and widths of bins and how many records they have, without those that hold nothing."""
    starts = bins(most)
    ends = np.append(starts[1:] - 1, starts[-1])
    exact = divided(held[None, :], starts)[:, 0] / RESOLUTION
    return np.sqrt(starts[1:] * ends[1:]), np.asarray(ends[1:] - starts[1:] + 1, float), exact[1:]


@given(
    counts=st.lists(st.floats(-500, 1e5), min_size=1, max_size=30),
    deviation=st.floats(0.1, 1000),
)
def test_smoothed_numbers_are_not_negative(counts: list[float], deviation: float) -> None:
    numbers = total_numbers(np.arange(1.0, len(counts) + 1), np.ones(len(counts)), np.array(counts), deviation)
    assert numbers.min() >= 0
    assert np.isfinite(numbers).all()


@pytest.mark.slow
def test_bins_of_noise_far_away_do_not_outweigh_all_records() -> None:
    """A thousandth of sixty thousand records, a hundred thousand itemsets each, would outweigh all others by far."""
    rng = np.random.default_rng(5)
    held = rng.poisson(4.0, 60_000)
    middles, widths, exact = binned_records(held, 100_000)
    for _ in range(50):
        counts = exact + rng.laplace(scale=70, size=len(exact))
        assert 0.85 * held.sum() < middles @ total_numbers(middles, widths, counts, 100.0) < 1.3 * held.sum()


@pytest.mark.parametrize("bounding", [PURE, CONCENTRATED])
def test_noise_so_far_away_that_no_bound_leaves_anything_of_it(bounding: Bounding) -> None:
    """Less than half an itemset in all, in records of millions: the least bound is as good as any."""
    histogram = Histogram(np.array([1.0, 6e7]), np.array([[0.0], [5e-9]]), np.ones(2))
    found = choose_bound(histogram, bounding, 10.0, 100.0, 0.5)
    assert (found.bound, found.shares.tolist()) == (1.0, [1.0])


@pytest.mark.slow
def test_heavy_tails_are_followed() -> None:
    """Records whose numbers fall with the 2.5th power, up to a thousand itemsets: what is in the tail is found, within
    a third, on average over noise.
    """
    rng = np.random.default_rng(6)
    held = np.minimum(1000, rng.pareto(1.5, 60_000) + 1).astype(np.int64)
    middles, widths, exact = binned_records(held, 5000)
    found = [
        middles @ total_numbers(middles, widths, exact + rng.laplace(scale=70, size=len(exact)), 100.0)
        for _ in range(30)
    ]
    assert 0.67 * held.sum() < np.mean(found) < 1.33 * held.sum()


@pytest.mark.slow
def test_groups_are_told_apart() -> None:
    """Items in all records, pairs in long ones: the share of pairs that is kept is found to be the smaller."""
    rng = np.random.default_rng(7)
    singles = 1 + rng.poisson(2.0, 60_000)
    pairs = singles * (singles - 1) // 2
    starts = bins(200)
    ends = np.append(starts[1:] - 1, starts[-1])
    exact = divided(np.stack([singles, pairs]), starts)[1:] / RESOLUTION
    middles, weights = np.sqrt(starts[1:] * ends[1:]), np.minimum(1.0, 3.0 / (singles + pairs))
    true = [(weights @ part) / part.sum() for part in (singles, pairs)]
    for _ in range(20):
        noisy = exact + rng.laplace(scale=70, size=exact.shape)
        histogram = smoothed(NoisyBins(middles, np.asarray(ends[1:] - starts[1:] + 1, float), noisy, 100.0))
        kept = shares_at(histogram, PURE, 3.0)
        assert kept == pytest.approx(true, rel=0.15)


@pytest.mark.parametrize(("bounding", "law"), [(PURE, LAPLACE), (CONCENTRATED, GAUSSIAN)])
def test_a_histogram_with_hardly_any_noise(bounding: Bounding, law: object) -> None:
    granted = Composition(1e9, LAPLACE if law is LAPLACE else GAUSSIAN)
    records = [range(number) for number in np.repeat([0, 1, 2, 3, 20], [50, 400, 300, 100, 5])]
    held = BasketRecords(Baskets(records, items=range(30))).items().held_by(np.zeros(30, np.int64))
    histogram = noisy_histogram(held, 30, granted=granted, amount=1e8, bounding=bounding, per_person=1)
    assert histogram.numbers[:3, 0] == pytest.approx([400, 300, 100], abs=0.01)


@pytest.mark.parametrize("bounding", [PURE, CONCENTRATED])
def test_more_noise_makes_a_smaller_bound_and_no_noise_cuts_nothing(bounding: Bounding) -> None:
    histogram = Histogram(np.arange(41.0), np.concatenate([[0], np.linspace(400, 1, 40)])[:, None])
    chosen = [choose_bound(histogram, bounding, scale, 100.0, 0.3) for scale in (1e-3, 1.0, 10.0, 100.0)]
    bounds = [one.bound for one in chosen]
    assert bounds == sorted(bounds, reverse=True)
    assert chosen[0].shares[0] > 0.999
    assert chosen[-1].shares[0] < 0.9


def test_where_nothing_is_held_the_bound_is_one() -> None:
    assert choose_bound(Histogram(np.arange(3.0), np.zeros((3, 1))), PURE, 1.0, 10.0, 0.3).bound == 1.0


def test_a_bound_that_leaves_nothing_is_not_chosen() -> None:
    """Records of two thousand itemsets each, of which one unit is rounded to nothing; no warning either."""
    numbers = np.zeros((2001, 1))
    numbers[2000] = 1000
    chosen = choose_bound(Histogram(np.arange(2001.0), numbers), PURE, 1e-3, 100.0, 0.0)
    assert chosen.shares[0] > 1e-3


@pytest.mark.slow
def test_sums_tell_of_long_records_that_bins_hide() -> None:
    """A heavy tail, whose bins lie within the noise, holds half of everything: the noisy sum of what records add tells
    of it (root mean squares of logarithms were .21 and .12).
    """
    rng = np.random.default_rng(3)
    held = np.minimum(400, 1 + np.floor(rng.pareto(1.2, 20_000))).astype(np.int64)
    bound = 4.0
    weights = CONCENTRATED.weights(held, bound)
    true, kept = float(weights @ held / held.sum()), float(weights @ held)
    starts = bins(400)
    ends = np.append(starts[1:] - 1, starts[-1])
    exact = divided(held[None, :], starts)[1:] / RESOLUTION
    middles, widths = np.sqrt(starts[1:] * ends[1:]), np.asarray(ends[1:] - starts[1:] + 1, float)
    errors = []
    for _ in range(20):
        histogram = smoothed(NoisyBins(middles, widths, exact + rng.normal(scale=100, size=exact.shape), 100.0))
        sums = np.array([kept + rng.normal(scale=300.0)])
        knowing = histogram.knowing(weights_at(histogram, CONCENTRATED, bound), sums, np.array([300.0]))
        both = [float(shares_at(one, CONCENTRATED, bound)[0]) for one in (histogram, knowing)]
        errors.append(np.log(np.array(both) / true))
    without, having = np.sqrt(np.mean(np.square(errors), axis=0))
    assert having < 0.7 * without


def test_rare_itemsets_do_not_stand_for_others() -> None:
    """Records of one itemset and of forty: where all that is held met by chance, the average leans to the former."""
    histogram = Histogram(np.array([1.0, 40.0]), np.array([[1000.0], [100.0]]))
    average, of_chance = (float(shares_at(histogram, PURE, 4.0, part)[0]) for part in (0.0, 1.0))
    assert average == pytest.approx((1000 + 100 * 4) / 5000, rel=1e-2)
    many = 40**0.75
    assert of_chance == pytest.approx((1000 + 100 * many / 10) / (1000 + 100 * many), rel=1e-2)
    groups = np.zeros(300, np.int64)
    told = RoundShares(PURE, 4.0, 1.0, 100.0)
    rare, frequent = (np.full(300, value) for value in (1400 / 300, 1400.0))
    assert told.shares(histogram, groups, rare)[0] == pytest.approx(of_chance)
    assert told.shares(histogram, groups, frequent)[0] == pytest.approx(average)
    assert RoundShares(PURE, 4.0, 1.0, 100.0, tells_chance=False).shares(histogram, groups, rare)[0] == pytest.approx(
        average
    )
