"""Statistical assertions with a stated false-alarm rate and shown power.

A test that looks at chance says which wrong program it would catch.  Either assertion fails for a right program about
once in 1e9 fresh seeds, given n so large that truth and wrong alternative lie about twelve standard errors apart:
``assert_plausible(p_value(sample, truth)); assert_rejected(p_value(sample, wrong))``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

FALSE_ALARM = 1e-9


def assert_plausible(p_value: float) -> None:
    assert p_value > FALSE_ALARM, f"p-value {p_value:.3g}: too far from what it should be"


def assert_rejected(p_value: float) -> None:
    assert p_value < FALSE_ALARM, f"p-value {p_value:.3g}: the wrong alternative is not told apart; n is too small"


def binomial(successes: int, n: int, probability: float) -> float:
    """Two-sided p-value of so many successes."""
    low = stats.binom.cdf(successes, n, probability)
    high = stats.binom.sf(successes - 1, n, probability)
    return float(min(1.0, 2 * min(low, high)))


def chi_square(observed: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """p-value of counts against cell probabilities that sum to one."""
    counts = np.asarray(observed, float)
    expected = counts.sum() * np.asarray(probabilities, float)
    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, counts.size - 1))
