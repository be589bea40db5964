"""Lengths of records: bins, the numbers made of noisy ones, the cut."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.curator.lengths import Lengths, binned, bins, noisy_lengths
from tests.curator.granted import Uncounted


@given(st.integers(0, 500))
def test_bins(longest: int) -> None:
    starts = bins(longest)
    assert (starts[0], starts[-1]) == (0, longest)
    widths = np.diff(starts)
    assert (widths >= 1).all()
    assert (widths <= np.maximum(1, starts[:-1] / 6)).all()


@given(st.integers(0, 100), st.integers(0, 5000))
def test_bins_of_longer_records(longest: int, more: int) -> None:
    """They go on to the longest record there can be, each twice as far."""
    starts = bins(longest, longest + more)
    assert starts[: len(bins(longest))].tolist() == bins(longest).tolist()
    assert starts[-1] == longest + more
    far = starts[len(bins(longest)) - 1 :]
    assert (far[1:] <= np.maximum(1, 2 * far[:-1])).all()
    assert (np.diff(starts) >= 1).all()


@given(st.lists(st.integers(0, 60), max_size=30), st.integers(0, 40))
def test_every_record_is_in_one_bin(sizes: list[int], longest: int) -> None:
    starts = bins(longest).tolist()
    expected = [
        sum(start <= min(size, longest) < stop for size in sizes)
        for start, stop in zip(starts, [*starts[1:], longest + 1], strict=True)
    ]
    assert binned(np.array(sizes, np.int64), bins(longest)).tolist() == expected


def test_weights_are_the_nearest_that_could_be() -> None:
    """Not negative, of the given sum, and no other such numbers, far or near, are nearer to the noisy ones."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        counts = rng.integers(-40, 60, 6)
        total = int(rng.integers(-20, 150))
        weights = Lengths(counts, total, bins(5), 1e9).longest_likely
        assert weights.sum() == pytest.approx(max(total, 1))
        assert (weights >= 0).all()
        for _ in range(200):
            other = rng.dirichlet(np.full(6, 0.5)) * max(total, 1)
            assert ((weights - counts) ** 2).sum() <= ((other - counts) ** 2).sum() + 1e-6
            between = 0.99 * weights + 0.01 * other
            assert ((weights - counts) ** 2).sum() <= ((between - counts) ** 2).sum() + 1e-6


@given(st.lists(st.integers(0, 7), min_size=1, max_size=40), st.sampled_from([0.5, 0.85, 0.9, 1.0]))
def test_the_cut_leaves_so_many_whole(sizes: list[int], share: float) -> None:
    """Without noise, where every length has its bin."""
    known = np.array(sizes, np.int64)
    cut = Lengths(binned(known, bins(8)), len(sizes), bins(8), 1e-9).cut(share)
    whole = [bool(np.mean(known <= length) >= share - 1e-9) for length in range(9)]
    assert cut == max(1, whole.index(True))


@pytest.mark.parametrize("total", [-50, 0, 1, 10**9])
def test_noise_alone_gives_a_cut(total: int) -> None:
    for counts in ([0, 0, 0], [-9, -8, -7], [-5, 4, 0]):
        assert 1 <= Lengths(np.array(counts), total, bins(2), 5.0).cut(0.85) <= 2


def test_long_records_are_not_made_of_noise() -> None:
    """Records of one item each: the numbers do not say that there are many items in long ones.

    Noise of scale 33 in some twenty bins; set to 0 where negative and else left alone, it would make 70 000 items.
    """
    sizes = np.ones(50_000, np.int64)
    items = [
        np.arange(101) @ noisy_lengths(sizes, granted=Uncounted(0.05), epsilon=0.05, longest=100).weights
        for _ in range(20)
    ]
    assert np.mean(items) < 1.2 * 50_000  # 1.04 as a rule, give or take 0.01


@pytest.mark.slow
def test_records_beyond_those_told_apart() -> None:
    """A thousand records of 240 items, the middle of their bin, among those of two: as many items as there are.

    Where no record is long, hardly ever is one made of noise, which would outweigh all others: in 5 of 10 000 runs, by
    nine bins of 1e-4 each at most; were it once in twenty, as at three standard deviations, 15 of 300 would be.
    """
    sizes = np.repeat([2, 240], [50_000, 1000])

    def measure(lengths: npt.NDArray[np.int64]) -> Lengths:
        return noisy_lengths(lengths, granted=Uncounted(0.5), epsilon=0.5, longest=10, most=3000)

    found = measure(sizes)
    assert np.arange(3001) @ found.weights == pytest.approx(sizes.sum(), rel=1 / 6)
    assert len(found.weights) == 3001
    short = [measure(np.full(50_000, 2)) for _ in range(300)]
    assert sum(lengths.longest_likely[20:].any() for lengths in short) <= 6  # seven come up with 4e-10
