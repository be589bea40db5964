"""What anonymous mixing adds: (epsilon, delta) for one who sees all reports, and not whose is whose.

Feldman, McMillan and Talwar (FOCS 2021; SODA 2023, the stronger clones).  Let every report be e0-locally private for
any two records, all drawn by one law of reports.  Of two records x and x' of one person, each report lies in one of
three parts: y of the first is e^e0 times as likely under x as under x', y of the second the other way round, the rest
alike.  If the parts have the masses

    x:  e^e0 p, p, r          x':  p, e^e0 p, r          r = 1 - (e^e0 + 1) p

then anybody else's report lies in them with p, p and r / e^e0 at least, being at least e^-e0 times as likely as under
the likelier of the two: such people are clones.  The person is always in one of the three parts, so who is no clone
does not depend on their record.  With N people delta is E(X1 + ... + XN)+ / N for independent X, which are
e^e0 - e^epsilon or 1 - e^(e0 + epsilon) with p each, e^e0 (1 - e^epsilon) with r / e^e0, and 0 otherwise.  The largest
p, 1 / (e^e0 + 1), is the worst: its law of X has the same mean and the outer values alone, so it is above all others in
convex order, and sums keep that order.  (The published proof has a gap at smaller p, as its authors say in an erratum
to arXiv 2208.04591; the numbers are theirs.)  At that p, with c clones among the others, one of two laws is seen:

    C ~ Bin(N - 1, 2 / (e^e0 + 1)),  A ~ Bin(C, 1/2),  D ~ Bernoulli(q),  q = e^e0 / (e^e0 + 1)
    (A + D, C - A + 1 - D)   or   (A + 1 - D, C - A + D)

Given C = c, the probabilities of k in the first place are q b(k - 1) + (1 - q) b(k) and (1 - q) b(k - 1) + q b(k), with
b the binomial law of c and 1/2.  Their ratio grows with k, so that the delta of an epsilon is a tail from

    k >= t (c + 1) / (1 + t),    t = (e^epsilon q - (1 - q)) / (q - e^epsilon (1 - q))

on; the mean over C is delta.  One more clone never hurts, since anybody could add one: so numbers of clones are taken
together a few at a time, with the delta of the fewest.  They are summed where C is likely, and all that is left out
counts as lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bosket.checks import check_between, check_integer, check_limits, check_not_negative
from bosket.statistics.estimates import Floats

CARD_DELTA = 1e-6
"""The delta that a card speaks of, unless there are so many people that it must be smaller."""
_SLACK = 1 + 1e-6  # for the rounding of sums
_WIDE = 9.0  # standard deviations of the number of clones that are looked at
_GROUPS = 64  # groups of numbers of clones in a standard deviation
_STEPS = 60
_WORTH = 0.9  # of the epsilon of one report: what mixing must leave at most to be told of
_MOST_PEOPLE = 10**8  # more hide better, and sums of their law would lose digits
_LARGEST = 30.0  # an epsilon of one report beyond which nobody else is a clone: mixing adds nothing


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The promise to a person whose report is mixed with those of all ``people``, for one who sees them all."""

    epsilon: float
    delta: float
    people: int

    def to_json(self) -> dict[str, float | int]:
        return {"epsilon": self.epsilon, "delta": self.delta, "people": self.people}


def shuffled_delta(local: float, people: int, epsilon: float) -> float:
    """A delta for which ``people`` mixed reports, each of epsilon ``local``, are (epsilon, delta) private; rounded up.

    >>> shuffled_delta(1.0, 10, 1.0)
    0.0
    >>> 0 < shuffled_delta(1.0, 10, 0.5) < shuffled_delta(1.0, 10, 0.1) < 1
    True
    """
    local = check_limits("local", local, above=0, most=700.0)
    n = check_integer("people", people, least=1)
    epsilon = check_not_negative("epsilon", epsilon)
    if epsilon >= local:
        return 0.0
    return _delta(local, n, epsilon)


def _delta(local: float, n: int, epsilon: float) -> float:
    n = min(n, _MOST_PEOPLE)
    q, other = 1 / (1 + math.exp(-local)), 1 / (1 + math.exp(local))
    c, chance, left_out = _clones(n, 2 * other)
    gain, loss = q - math.exp(epsilon) * other, math.exp(epsilon) * q - other
    first = np.ceil(loss / (gain + loss) * (c + 1))
    delta = gain * _tail(first - 1, c) - loss * _tail(first, c)
    return min(1.0, float(chance @ np.maximum(delta, 0.0)) * _SLACK + left_out)


@lru_cache(maxsize=16)
def _clones(n: int, share: float) -> tuple[Floats, Floats, float]:
    """Numbers of clones among n - 1 others, the fewest of each group, the chance of the group, and of all others."""
    from scipy.special import bdtr, bdtrc  # SciPy is imported on first use

    mean, deviation = (n - 1) * share, math.sqrt((n - 1) * share * max(0.0, 1 - share))
    low = max(0, math.floor(mean - _WIDE * deviation) - 50)
    high = min(n - 1, math.ceil(mean + _WIDE * deviation) + 50)
    starts = np.arange(low, high + 1, max(1, int(deviation / _GROUPS)), dtype=float)
    ends = np.append(starts[1:] - 1, high)
    up_to = np.where(ends < n - 1, bdtr(np.minimum(ends, n - 1), n - 1, share), 1.0)
    before = float(bdtr(low - 1, n - 1, share)) if low > 0 else 0.0
    after = float(bdtrc(high, n - 1, share)) if high < n - 1 else 0.0
    return starts, np.maximum(np.diff(up_to, prepend=before), 0.0), before + after


def _tail(least: Floats, c: Floats) -> Floats:
    """Pr(Bin(c, 1/2) >= least)."""
    from scipy.special import betainc

    inside = (least >= 1) & (least <= c)
    a, b = np.where(inside, least, 1.0), np.where(inside, c - least + 1, 1.0)
    tail: Floats = np.where(inside, betainc(a, b, 0.5), (least < 1).astype(float))
    return tail


@lru_cache(maxsize=256)
def shuffled_epsilon(local: float, people: int, delta: float = CARD_DELTA) -> float:
    """The smallest epsilon, rounded up, at which so many mixed reports are (epsilon, ``delta``) private.

    ``local`` is the epsilon of each report for any two records; it is what there is where nobody else is a clone.

    >>> round(shuffled_epsilon(math.log(19), 10_000), 3)
    0.218
    """
    local = check_limits("local", local, above=0, most=700.0)
    n = check_integer("people", people, least=1)
    allowed = check_between("delta", delta, 0, 1)
    if local > _LARGEST or _delta(local, n, 0.0) <= allowed:
        return local if local > _LARGEST else 0.0
    low, high = 0.0, local
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _delta(local, n, middle) <= allowed:
            high = middle
        else:
            low = middle
        if high - low <= 1e-9 * high:
            break
    return high


def shuffled(local: float, people: int, delta: float | None = None) -> Shuffled | None:
    """What mixing adds to reports of this epsilon; None where it adds nothing, or nothing is promised."""
    if not 0 < local <= _LARGEST or people < 2:
        return None
    allowed = min(CARD_DELTA, 0.01 / people) if delta is None else delta
    epsilon = shuffled_epsilon(local, people, allowed)
    return Shuffled(epsilon, allowed, people) if epsilon <= _WORTH * local else None
