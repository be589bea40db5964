"""A lower bound on the rho of zero-concentrated privacy, by running a mechanism on two neighbouring data sets.

If M is rho-zCDP (Bun and Steinke 2016), then D_alpha(M(D) || M(D')) <= alpha rho for every alpha > 1, so the divergence
of Kullback and Leibler is at most rho.  For every bounded function f of an output (Donsker and Varadhan 1983)

    rho >= KL(P || Q) >= E_P f - ln E_Q exp(f)        P, Q the laws of outputs of the one data set and of the other

and the log-likelihood ratio makes the right side largest.  The two means are bounded by Maurer and Pontil (2009),
Theorem 4: with V the sample variance of n values in a range of R, a mean is further than sqrt(2 V ln(2/h) / n) +
7 R ln(2/h) / (3 (n - 1)) to one side of the sample's with probability h at most.

An epsilon with a delta of 1e-6 says little that few runs could refute: an event of that probability is not seen.  The
rho that it was made from says more, and noise that is a tenth too small is found in seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.audit.lower_bounds import check_runs
from bosket.checks import check_between
from bosket.statistics.estimates import Floats

_MOST_CLIP = 700.0  # beyond it exponentials are no doubles


@dataclass(frozen=True, slots=True)
class RhoBound:
    """The divergence is at least ``rho``, unless something of probability ``failure`` has happened."""

    rho: float
    """0 where nothing could be shown."""
    trials: int
    failure: float


def rho_by(one: npt.ArrayLike, other: npt.ArrayLike, *, clip: float = 3.0, failure: float = 1e-9) -> RhoBound:
    """The bound from a number for each run, as many of the one data set as of the other.

    one, other  a log-likelihood ratio, one against other, for each run; any other number is as right and shows less
    clip        the ratio is taken to lie within this, on both sides

    >>> rng = np.random.default_rng(1)
    >>> one, other = rng.normal(0.5, 1.0, 100_000), rng.normal(-0.5, 1.0, 100_000)
    >>> 0.35 < rho_by(one, other).rho < 0.5
    True
    """
    x, y = check_runs(one, other)
    each = math.log(4 / check_between("failure", failure, 0, 1))
    c = check_between("clip", clip, 0, _MOST_CLIP)
    ratios, weights = np.clip(x, -c, c), np.exp(np.clip(y, -c, c))
    low = float(ratios.mean()) - _reach(ratios, 2 * c, each)
    high = float(weights.mean()) + _reach(weights, math.exp(c) - math.exp(-c), each)
    return RhoBound(max(0.0, low - math.log(high)), len(x), failure)


def _reach(values: Floats, width: float, log_failure: float) -> float:
    """How far a mean may lie from that of the sample."""
    n = len(values)
    return math.sqrt(2 * float(values.var(ddof=1)) * log_failure / n) + 7 * width * log_failure / (3 * (n - 1))


def gaussian_ratio(output: npt.ArrayLike, one: npt.ArrayLike, other: npt.ArrayLike, scale: npt.ArrayLike) -> float:
    """The log-likelihood ratio of counts with discrete Gaussian noise, true counts ``one`` against ``other``.

    sum of ((x - b)^2 - (x - a)^2) / (2 s^2), x being ``output``, a and b the counts, s the scale.
    """
    x, a, b = (np.asarray(part, np.float64) for part in (output, one, other))
    return float(np.sum((b - a) * (a + b - 2 * x) / (2 * np.asarray(scale, np.float64) ** 2)))
