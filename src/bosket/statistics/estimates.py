"""Estimates: a value, its covariance, where that covariance comes from, and intervals.

For every itemset A a mechanism gives a weight w_A of the randomized record with E[w_A | truth] = [A in truth].  Over N
records, with S_A the sum of w_A:

    S_A                         unbiased for the support count of A
    sum w_A w_B - S_(A u B)     unbiased for Cov(S_A, S_B) under the coins alone: this very data set, randomized again
    sum w_A w_B - S_A S_B / N   the coins and the sampling of people from a population

Where reports mix several people the truth lies between the two: a channel's ``own`` says where.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.checks import check_between

Floats = npt.NDArray[np.float64]


def normal_quantile(level: float) -> float:
    """The z with probability ``level`` between -z and z under the standard normal law."""
    return NormalDist().inv_cdf(0.5 + check_between("level", level, 0, 1) / 2)


def expected_products(both: Any, one: Any, other: Any, n_records: int, *, own: float, sampling: bool) -> Any:
    """What to take off sum w_A w_B for the covariance of S_A and S_B; ``both`` is S_(A u B).

    The coins alone: sum over records of E[w_A | i] E[w_B | i] = own S_(A u B) + (1 - own) S_A S_B / N, with the
    channel's ``own`` (1 where every record is randomized on its own).  The sampling of people adds
    S_(A u B) - S_A S_B / N to the covariance, whatever the mechanism.
    """
    apart = one * other / n_records
    less = own * both + (1 - own) * apart
    return less - (both - apart) if sampling else less


def variance(value: Floats, second: Floats, n_records: int, *, own: float, sampling: bool = False) -> Floats:
    """Variance of a support count from the sums of w and w^2; see :func:`expected_products`.

    Not clipped: where the truth is next to 0 the estimate can dip below 0.
    """
    result: Floats = second - expected_products(value, value, value, n_records, own=own, sampling=sampling)
    return result


def standard_error(variance: Floats, least: Floats | float = 0.0) -> Floats:
    """The root of a variance estimate, or of the least that the truth can be where the estimate came out below it."""
    result: Floats = np.sqrt(np.maximum(variance, least))
    return result


@dataclass(frozen=True)
class Estimates:
    """Estimated supports of some itemsets, as fractions of the records.

    Values and variances are unbiased and not clipped: a support near 0 may come out negative.  ``sampling`` says what
    ``covariance`` and everything derived from it covers: the coins alone (False), or also the drawing of people (True).
    """

    value: Floats
    variance: Floats
    least_variance: Floats
    """No data set could have a smaller variance: ``stderr`` does not go below it, the unbiased ``variance`` may."""
    n_records: int
    sampling: bool
    randomness: str | None
    """How the reports were randomized; None for raw data."""
    covariance_of: Callable[[], Floats]
    caution: npt.NDArray[np.bool_]
    """Of each itemset whether its interval should not be trusted: few reports show it, or coins seldom change an
    item of it."""
    support_of: str | None = None
    """Whether supports are of "whole records", "cut records" or "cut baskets"; None where no record is cut."""

    @cached_property
    def covariance(self) -> Floats:
        """The full covariance matrix; computed when first asked for."""
        return self.covariance_of()

    @property
    def stderr(self) -> Floats:
        return standard_error(self.variance, self.least_variance)

    def interval(self, level: float = 0.95) -> Floats:
        """Normal intervals, a (low, high) row each: value -+ z stderr, not clipped.

        For itemsets named in advance, and not where ``caution`` is set: there some twenty reports or more show the
        whole itemset.
        """
        reach = normal_quantile(level) * self.stderr
        return np.stack([self.value - reach, self.value + reach], axis=1)

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        source = "coins and sampling" if self.sampling else "coins alone"
        shown = ", ".join(f"{v:.4g} ± {e:.2g}" for v, e in zip(self.value[:5], self.stderr[:5], strict=True))
        more = ", ..." if len(self) > 5 else ""
        note = f", {self.randomness}" if self.randomness not in (None, "secure") else ""
        doubt = f", caution with {int(self.caution.sum())} of {len(self)}" if self.caution.any() else ""
        of = "" if self.support_of is None else f", of {self.support_of}"
        return f"Estimates([{shown}{more}], n_records={self.n_records}, stderr of the {source}{doubt}{of}{note})"
