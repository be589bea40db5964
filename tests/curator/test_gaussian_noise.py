"""Gaussian noise and its composition in rho; what a rho is as an epsilon and a delta is in test_accounting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import bosket as bk
from bosket.curator import noise
from bosket.curator.accounting import rho_of
from bosket.curator.noise import FINEST, GAUSSIAN, Composition

pytest.importorskip("opendp")
pytestmark = pytest.mark.own_chance


def test_parts_add_up_to_rho_and_nothing_goes_beyond() -> None:
    granted = Composition(0.02, GAUSSIAN)
    for _ in range(4):
        granted.noisy([1, 2], epsilon=0.005, sensitivity=3.0)
    with pytest.raises(bk.BudgetExceeded, match="rho"):
        granted.noisy([1, 2], epsilon=1e-5, sensitivity=3.0)


@pytest.mark.parametrize(("rho", "sensitivity"), [(0.01, 1.0), (0.5, 20.0), (2.0, math.sqrt(2))])
def test_noise_has_the_variance_that_its_cost_asks_for(rho: float, sensitivity: float) -> None:
    """sensitivity^2 / (2 rho), by chi-square on 12 000 draws: false alarm 1e-9, and as often a scale smaller by a
    tenth passes (it lies ten standard errors off).
    """
    n = 12_000
    drawn = Composition(rho, GAUSSIAN).noisy(np.zeros(n, np.int64), epsilon=rho, sensitivity=sensitivity)
    statistic = float((drawn.astype(float) ** 2).sum() / (sensitivity**2 / (2 * rho)))
    assert chi2.ppf(1e-9, n) < statistic < chi2.ppf(1 - 1e-9, n)
    assert statistic / 0.81 > chi2.ppf(1 - 1e-9, n)


def test_scale_is_the_one_that_costs_what_was_asked_for() -> None:
    granted = Composition(1.0, GAUSSIAN)
    for rho, sensitivity in ((0.02, 3.0), (1.0, 1024.5)):
        assert granted.scale_of(rho, sensitivity) == pytest.approx(sensitivity / math.sqrt(2 * rho), rel=1e-9)


def test_noise_is_drawn_on_a_lattice_of_two_to_the_26_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the scale, from the least on; what is measured, and what it costs, are those of the whole numbers.

    Where more is granted than the curve is claimed for, the lattice is that of the counts.
    """
    asked: list[tuple[float, float, int]] = []
    own = Composition._answer

    def answer(self: Composition, counts: Any, measurement: Any, sensitivity: float) -> Any:
        asked.append((measurement.map(sensitivity), sensitivity, int(counts[0])))
        return own(self, counts, measurement, sensitivity)

    monkeypatch.setattr(Composition, "_answer", answer)
    for rho, sensitivity in (
        (2.0, 1.0),
        (0.48, 1.0),
        (0.3, 1.0),
        (0.06, 1.0),
        (0.03, 1.0),
        (0.001, 1024 * 7.5),
        (1e-9, 1e9),
    ):
        granted = Composition(2.0, GAUSSIAN)
        scale = granted.scale_of(rho, sensitivity)
        drawn = granted.noisy([1000] * 9, epsilon=rho, sensitivity=sensitivity)
        cost, fine, count = asked.pop()
        assert scale * fine / sensitivity >= 2**FINEST * (1 - 1e-9)
        assert count == 1000 * fine / sensitivity
        assert cost <= rho
        assert np.abs(drawn - 1000).max() < 9 * scale + 1
    assert noise.finer(1e12) == 0, "no noise is drawn on a coarser lattice than that of the counts"
    drawn = Composition(2.01, GAUSSIAN).noisy([1000], epsilon=2.01, sensitivity=1.0)
    assert asked.pop()[1:] == (1.0, 1000)
    assert drawn.dtype == np.int64


def test_counts_too_large_for_the_lattice_are_cut_and_never_wrap_round() -> None:
    """Cutting moves neighbours no farther apart; a sum that came back with another sign would tell of a record."""
    drawn = Composition(2.0, GAUSSIAN).noisy([2**62, -(2**62), 2**40], epsilon=2.0, sensitivity=1.0)
    assert drawn[0] > 2**34
    assert drawn[1] < -(2**34)
    assert drawn[2] > 2**34


def test_a_distance_below_one_and_more_numbers_than_were_accounted_for_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lattice is fine enough for distances of 1 and more, and for so many numbers."""
    with pytest.raises(bk.BosketError, match="sensitivity"):
        Composition(1.0, GAUSSIAN).noisy([1], epsilon=0.1, sensitivity=0.5)
    monkeypatch.setattr(noise, "MOST_NUMBERS", 5)
    granted = Composition(1.0, GAUSSIAN)
    granted.noisy([[1, 2, 3]], epsilon=0.1, sensitivity=1.0)
    with pytest.raises(bk.BosketError, match="noisy numbers"):
        granted.noisy([[1, 2, 3]], epsilon=0.1, sensitivity=1.0)
    assert granted.left > 0.85, "nothing is drawn, nor paid"
    granted.noisy([1, 2], epsilon=0.1, sensitivity=1.0)


@pytest.mark.slow
def test_an_epsilon_beyond_what_can_be_converted_gets_a_rho_that_can_be() -> None:
    """An exponential overflows on the way: a smaller rho is granted, which is more private, instead of an error."""
    assert 50 < rho_of(1e8, 1e-9) < 1e8
