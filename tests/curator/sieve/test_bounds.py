"""How much a record may add follows from a noisy histogram, in which a record is in one bin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.curator.lengths import binned
from bosket.curator.noise import GAUSSIAN, LAPLACE, Composition
from bosket.curator.sieve.bounds import Histogram, bins, choose_bound, noisy_histogram, smoothed
from bosket.curator.sieve.contributions import CONCENTRATED, PURE, Bounding

pytest.importorskip("opendp")


def test_one_record_moves_one_bin_and_two_move_two() -> None:
    held = np.array([0, 3, 9, 40])
    starts = bins(60)
    for extra in range(61):
        moved = binned(np.append(held, extra), starts) - binned(held, starts)
        assert sorted(np.abs(moved).tolist())[-2:] == [0, 1]
    assert (PURE.norm_of_ones(1), PURE.norm_of_ones(2)) == (1, 2)
    assert CONCENTRATED.norm_of_ones(1) == 1.0
    assert CONCENTRATED.norm_of_ones(2) ** 2 >= 2


@given(
    counts=st.lists(st.floats(-500, 1e5), min_size=1, max_size=40),
    deviation=st.floats(0.1, 1000),
)
def test_smoothed_numbers_are_not_negative_and_fall_from_their_peak(counts: list[float], deviation: float) -> None:
    numbers = smoothed(np.array(counts), deviation)
    assert numbers.min() >= 0
    if len(numbers) > 1:
        peak = 1 + int(np.argmax(counts[1:]))
        assert (np.diff(numbers[peak:]) <= 1e-9 * (1 + numbers.max())).all()


def test_bins_of_noise_far_away_do_not_outweigh_all_records() -> None:
    """A thousandth of sixty thousand records, a hundred thousand itemsets each, would outweigh all others by far."""
    rng = np.random.default_rng(5)
    starts = bins(100_000)
    held = rng.poisson(4.0, 60_000)
    exact = held.sum()
    for _ in range(50):
        counts = binned(held, starts) + rng.laplace(scale=70, size=len(starts))
        middles = (starts + np.append(starts[1:] - 1, starts[-1])) / 2
        occurrences = (middles * smoothed(counts, 100.0)).sum()
        assert 0.85 * exact < occurrences < 1.3 * exact


@pytest.mark.parametrize(("bounding", "law"), [(PURE, LAPLACE), (CONCENTRATED, GAUSSIAN)])
def test_a_histogram_with_hardly_any_noise(bounding: Bounding, law: object) -> None:
    granted = Composition(1e4, LAPLACE if law is LAPLACE else GAUSSIAN)
    held = np.repeat([0, 1, 2, 3, 20], [50, 400, 300, 100, 5])
    histogram = noisy_histogram(held, 30, granted=granted, amount=1e3, bounding=bounding, per_person=1)
    assert histogram.numbers[1:4].tolist() == [400, 300, 100]


@pytest.mark.parametrize("bounding", [PURE, CONCENTRATED])
def test_more_noise_makes_a_smaller_bound_and_no_noise_cuts_nothing(bounding: Bounding) -> None:
    histogram = Histogram(np.arange(41.0), np.concatenate([[0], np.linspace(400, 1, 40)]))
    chosen = [choose_bound(histogram, bounding, scale, 100.0, 0.3) for scale in (1e-3, 1.0, 10.0, 100.0)]
    bounds = [one.bound for one in chosen]
    assert bounds == sorted(bounds, reverse=True)
    assert chosen[0].share > 0.999
    assert chosen[-1].share < 0.9


def test_where_nothing_is_held_the_bound_is_one() -> None:
    assert choose_bound(Histogram(np.arange(3.0), np.zeros(3)), PURE, 1.0, 10.0, 0.3).bound == 1.0


def test_a_bound_that_leaves_nothing_is_not_chosen() -> None:
    """Records of two thousand itemsets each, of which one unit is rounded to nothing; no warning either."""
    numbers = np.zeros(2001)
    numbers[2000] = 1000
    chosen = choose_bound(Histogram(np.arange(2001.0), numbers), PURE, 1e-3, 100.0, 0.0)
    assert chosen.share > 1e-3
