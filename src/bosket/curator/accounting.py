"""What an epsilon and a delta allow of Gaussian noise: the rho of all measurements of a release together.

rho = mu^2 / 2 is what measurements add up to, sum of (distance / scale)^2 / 2.  Two proofs say what it is worth, and
the better one is used.

    concentrated  rho-zCDP is (epsilon, delta)-differential privacy by OpenDP's conversion (Canonne, Kamath and Steinke
                  2020, Proposition 12), whatever the mechanism
    Gaussian      noise that is normal, and as little of it as mu allows, has the curve of one Gaussian mechanism (Balle
                  and Wang 2018, Theorem 8), by Google's dp_accounting:

                      delta(epsilon) = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)

The second holds for measurements that are chosen as they go (Smith and Thakurta 2022).  On a data set x the logarithm
of the ratio to a neighbour is the sum of mu_i^2 / 2 + mu_i Z_i, where mu_i follows from earlier answers and Z_i is
normal whatever they were.  With one more measurement, which is thrown away, the mu_i^2 add up to mu^2 on every course;
then E exp(i t sum mu_i Z_i) = exp(-t^2 mu^2 / 2), one conditional expectation after the other, so the sum is normal
with variance mu^2, as for one mechanism.  To throw something away reveals no more.

Our noise is discrete: of standard deviation s >= 2^26 steps, where a normal variable that is rounded to steps, which is
post-processing, has nearly the same law.  With p the discrete law, q the rounded one and z = x / s,

    |q(x) / p(x) - 1| <= (1/24 + z^2/8 e^(z^2 / (8 s^2))) / s^2     so    sum p (q / p - 1)^2 <= 1 / (16 s^4),

but for factors next to 1, which bounds the divergence of Kullback and Leibler, and those of all d numbers of a release
add up, whatever is asked after what.  So the two releases are at most t = sqrt(d / 32) / s^2 apart in total variation
(Pinsker), and an event has

    Pr(x) <= e^epsilon Pr(x') + delta(epsilon) + (1 + e^epsilon) t.
"""

from __future__ import annotations

import math
from functools import lru_cache

from bosket.curator.noise import CONTRIB, FINEST, GAUSSIAN, MOST_NUMBERS, MOST_RHO, allowed
from bosket.errors import BosketError

APART = math.sqrt(MOST_NUMBERS / 32) / 4.0**FINEST
"""How far a release may lie from one whose noise is normal and rounded, in total variation."""
_ROUNDED = 1 + 1e-7  # the standard deviation that is found may be short of the true one by less
_LEAST_EPSILON = 1e-6  # from which on it is: below, what is found cancels out


@lru_cache(maxsize=64)
def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho that either proof finds (epsilon, delta)-differentially private, to a part in a million.

    >>> 0.028 < rho_of(1.0, 1e-6) < 0.02802
    True
    """
    return max(_concentrated(epsilon, delta), _gaussian(epsilon, delta))


def _gaussian(epsilon: float, delta: float) -> float:
    """By the curve of one Gaussian mechanism; 0 where that says nothing."""
    if not _LEAST_EPSILON <= epsilon <= -math.log(APART):
        return 0.0
    left = delta - (1 + math.exp(epsilon)) * APART
    if left <= 0.0:
        return 0.0
    try:
        from dp_accounting import get_sigma_gaussian
    except ImportError:
        raise BosketError("dp-accounting is not installed.", hint="pip install 'bosket[dp]'") from None
    rho = 1 / (2 * (_ROUNDED * float(get_sigma_gaussian(epsilon, left))) ** 2)
    return min(rho, MOST_RHO)


def _concentrated(epsilon: float, delta: float) -> float:
    """By zero-concentrated privacy alone."""
    low, high = 0.0, epsilon  # a pure epsilon is epsilon^2 / 2, and rho above epsilon costs more than epsilon
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low


def _epsilon_of(rho: float, delta: float) -> float:
    measurement, _ = GAUSSIAN.measurement(rho, 1.0)
    with allowed(CONTRIB) as dp:
        curve = dp.c.make_zCDP_to_approxDP(measurement).map(1.0)
        try:
            return float(curve.epsilon(delta))
        except dp.OpenDPException:  # an exponential beyond all doubles: nothing is proven of such a rho
            return math.inf
