"""How likely a number of reports is, or one further out: for those who ask whether honest people could have sent it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, rel_entr

from bosket.statistics.estimates import Floats


def at_least(number: npt.ArrayLike, of: npt.ArrayLike, probability: npt.ArrayLike) -> Floats:
    """Pr(a binomial number >= number), exact."""
    k, n, p = np.broadcast_arrays(*(np.asarray(part, float) for part in (number, of, probability)))
    found = np.where(k <= 0, 1.0, betainc(np.maximum(k, 1), np.maximum(n - k, 0) + 1, np.clip(p, 0.0, 1.0)))
    return np.asarray(found, float)


def at_least_of_people(number: npt.ArrayLike, of: npt.ArrayLike, probability: npt.ArrayLike, *, repeats: int) -> Floats:
    """A bound on the probability of so many reports, where one person may send ``repeats`` of them, alike by a memo.

    Exact for one; else Chernoff's bound with as many draws as there are people at least: the mean of exp(u X) over
    reports of one person is at most that of exp(u repeats X) to the power 1 / repeats, by Hoelder's inequality.
    """
    if repeats == 1:
        return at_least(number, of, probability)
    k, n, p = np.broadcast_arrays(*(np.asarray(part, float) for part in (number, of, probability)))
    part, p = k / np.maximum(n, 1), np.clip(p, 0.0, 1.0)
    divergence = np.where(part > p, rel_entr(part, p) + rel_entr(1 - part, 1 - p), 0.0)
    return np.asarray(np.exp(-n / repeats * divergence))
