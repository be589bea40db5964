"""Noise is not reported for more than its share, and no itemset without its subsets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import dlaplace, false_discovery_control

from bosket.curator.discoveries import chance, closed, told_from_noise
from bosket.curator.levels import NoisyLevel

pytest.importorskip("opendp")


def level(noisy: list[int], *, n_candidates: int, rows: list[tuple[int, ...]] | None = None) -> NoisyLevel:
    items = np.array(rows if rows is not None else [(at,) for at in range(len(noisy))], np.int32)
    counts = np.array(noisy, np.int64)
    return NoisyLevel(items, counts, counts.astype(float), counts.astype(float), 3, 1.0, 2, 1.0, n_candidates)


@pytest.mark.parametrize("scale", [0.3, 1.0, 40.0])
def test_chance_is_the_tail_of_the_law(scale: float) -> None:
    counts = np.arange(-9, 30)
    np.testing.assert_allclose(chance(counts, scale), dlaplace.sf(counts - 1, 1 / scale), rtol=1e-9, atol=1e-12)


@given(st.lists(st.integers(-5, 60), min_size=1, max_size=40), st.floats(0.01, 0.9), st.integers(0, 100))
def test_as_benjamini_and_hochberg(noisy: list[int], share: float, missing: int) -> None:
    """Adjusted p-values of scipy's; candidates that are missing have a p-value of one."""
    found = told_from_noise(level(noisy, n_candidates=len(noisy) + missing), share)
    p = np.concatenate([chance(np.array(noisy), 2.0), np.ones(missing)])
    adjusted = false_discovery_control(p, method="bh")[: len(noisy)]
    unclear = np.abs(adjusted - share) < 1e-9
    np.testing.assert_array_equal(found[~unclear], (adjusted <= share)[~unclear])


def test_of_noise_alone_little_is_reported() -> None:
    """A thousand candidates that nobody has: something is reported in one case of ten, six standard deviations."""
    rng = np.random.default_rng(1)
    p = 1 - np.exp(-1 / 2.0)
    draws = rng.geometric(p, (400, 1000)) - rng.geometric(p, (400, 1000))
    any_of_them = [told_from_noise(level(row.tolist(), n_candidates=1000), 0.1).any() for row in draws]
    assert np.mean(any_of_them) < 0.1 + 6 * np.sqrt(0.1 * 0.9 / 400)


def test_closed() -> None:
    """{0, 2} goes with {2}; and {0, 1, 2} with {0, 2}."""
    levels = [
        level([9, 9], n_candidates=3, rows=[(0,), (1,)]),
        level([8, 8], n_candidates=3, rows=[(0, 1), (0, 2)]),
        level([7], n_candidates=1, rows=[(0, 1, 2)]),
    ]
    assert [part.items.tolist() for part in closed(levels)] == [[[0], [1]], [[0, 1]], []]
    assert closed([]) == []
