"""Draws of a test follow from its name alone, and have the laws of those that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bosket.curator.noise import GAUSSIAN, LAPLACE, Composition, NoiseLaw, NoisyCounts, noisy
from bosket.errors import BudgetExceeded
from bosket.randomness import Secure
from tests.chance import Draws, drawing
from tests.stats import assert_plausible, assert_rejected

pytest.importorskip("opendp")


def drawn() -> tuple[list[int], list[int], list[int]]:
    """Of the system, of a composition, and of noise that nobody adds up."""
    granted = Composition(1.0)
    return (
        Secure().stream().words(4).tolist(),
        granted.noisy([5] * 9, epsilon=0.1, sensitivity=1).tolist(),
        noisy([5] * 9, epsilon=0.1, sensitivity=1).tolist(),
    )


def test_one_name_draws_alike_and_another_does_not() -> None:
    draws = []
    for name in ("one", "one", "two", None, None):
        with drawing(name):
            draws.append(drawn())
    for part in zip(*draws, strict=True):
        assert part[0] == part[1]
        assert len({tuple(one) for one in part}) == 4


@pytest.fixture(scope="module")
def of_the_module() -> list[int]:
    return list(map(int, Secure().stream().words(4)))


def test_the_draws_of_a_module_are_nobody_elses(of_the_module: list[int]) -> None:
    """Whichever test asks first: this one, or the next."""
    with drawing(f"{__name__.replace('.', '/')}.py:of_the_module:0"):
        assert of_the_module == Secure().stream().words(4).tolist()


def test_streams_of_one_name_are_not_alike(of_the_module: list[int]) -> None:
    with drawing("one"):
        assert len({Secure().stream().words(4).tobytes() for _ in range(9)}) == 9


def test_what_was_granted_is_still_all_there_is() -> None:
    granted = Composition(1.0)
    granted.noisy([1], epsilon=0.9, sensitivity=1)
    with pytest.raises(BudgetExceeded):
        granted.noisy([1], epsilon=0.2, sensitivity=1)


@pytest.mark.parametrize(
    ("law", "scale", "is_fine"),
    [
        (LAPLACE, 7.3, False),
        (GAUSSIAN, 4.0, True),
        pytest.param(LAPLACE, 0.4, False, marks=pytest.mark.slow),
        pytest.param(GAUSSIAN, 0.6, True, marks=pytest.mark.slow),
        pytest.param(GAUSSIAN, 50.0, False, marks=pytest.mark.slow),
    ],
)
def test_noise_has_the_law_of_opendp(law: NoiseLaw, scale: float, is_fine: bool) -> None:
    """Both are compared in cells that each have a twentieth of 60 000 draws or more: alike by chi-square, and told from
    noise that is a seventh larger.  Rounding a normal variable adds 1/12 to its variance, too little to be seen.
    """
    n = 60_000

    def own(at_scale: float) -> NoisyCounts:
        return Draws("law").noisy(np.zeros(n, np.int64), law, at_scale, is_fine=is_fine)

    if is_fine:
        with drawing(None):
            theirs = Composition(2.0, law).noisy(np.zeros(n), epsilon=0.5 / scale**2, sensitivity=1.0)
    else:
        theirs = np.array(law.make(scale)(np.zeros(n, np.int64)), np.int64)
    ends = np.unique(np.quantile(theirs, np.linspace(0.05, 0.95, 11)))
    told = np.bincount(np.searchsorted(ends, theirs), minlength=len(ends) + 1)

    def p_value(ours: NoisyCounts) -> float:
        cells = np.bincount(np.searchsorted(ends, ours), minlength=len(ends) + 1)
        return float(stats.chi2_contingency(np.stack([cells, told])[:, cells + told > 0]).pvalue)

    assert_plausible(p_value(own(scale)))
    assert_rejected(p_value(own(1.15 * scale)))
