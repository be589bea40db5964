"""Breaches of Evfimievski et al. (2004), Definition 4: what a report makes likely, given what is usual.

An itemset A causes a breach of level rho when some item a of A has P[a in t | A in t'] >= rho.  That posterior depends
on priors, the supports in the data; it is no worst-case guarantee and belongs beside one, never in its place.

With s_l the fraction of records (of one size m) that have l of the k items, s_l^+ that of those which also have a, and
p[l -> k] the probability that a report then shows all k (section 4.4):

    P[a in t | A in t'] = sum over l >= 1 of s_l^+ p[l -> k]  /  sum over l of s_l p[l -> k]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
import numpy.typing as npt

from bosket.checks import check_probability
from bosket.errors import ParameterError
from bosket.statistics.estimates import Floats as Floats


def posterior(partial: npt.ArrayLike, with_item: npt.ArrayLike, shown: npt.ArrayLike) -> float:
    """P[a in t | A in t'] from s_l, s_l^+ and p[l -> k], all by l = 0 .. k (or as far as records go)."""
    s, plus, p = (np.asarray(values, float) for values in (partial, with_item, shown))
    return float(plus @ p / (s @ p))


def cumulative_to_partial(cumulative: npt.ArrayLike) -> Floats:
    """Statement 4: s_l = sum over j >= l of (-1)^(j - l) C(j, l) Sigma_j, Sigma_0 = 1 among the given ones."""
    sums = np.asarray(cumulative, float)
    return np.array(
        [sum((-1) ** (j - l) * comb(j, l) * sums[j] for j in range(l, len(sums))) for l in range(len(sums))]
    )


def partial_to_cumulative(partial: npt.ArrayLike) -> Floats:
    """Statement 4: Sigma_l = sum over j >= l of C(j, l) s_j."""
    shares = np.asarray(partial, float)
    return np.array([sum(comb(j, l) * shares[j] for j in range(l, len(shares))) for l in range(len(shares))])


def challenging(maximal: Sequence[float]) -> Floats:
    """Eq. (15): partial supports of a k-itemset, all of whose subsets of j items have the support maximal[j - 1].

    ``maximal`` lists s_max(1, m) .. s_max(k, m).  Maxima come from different itemsets, so no itemset need have them
    all: then some s_l is negative.  The paper goes on, and so do we; negative shares at small l only make the itemset
    more challenging.  :func:`worst_level` finds the worst one that can exist.
    """
    k = len(maximal)
    return cumulative_to_partial([1.0, *(comb(k, j) * maximal[j - 1] for j in range(1, k + 1))])


def challenging_level(maximal: Sequence[float], shown: npt.ArrayLike) -> Floats | float:
    """Breach level of the itemset of Eqs. (15), (16): s_l^+ = (l / k) s_l.

    ``shown`` is p[l -> k] by l, as far as records go, or a table with a column for each of several operators.  Where
    the denominator is not positive, as impossible maxima can make it, the level is 1.
    """
    k = len(maximal)
    p = np.asarray(shown, float)
    s = challenging(maximal)[: len(p)]
    whole = s @ p
    part = (np.arange(len(p)) / k * s) @ p
    level = np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), 1.0)
    return float(level) if level.ndim == 0 else level


def worst_level(maximal: Sequence[float], shown: npt.ArrayLike) -> Floats | float:
    """The highest P[a in t | A in t'] of any k-itemset and item whose subsets of j items have at most maximal[j - 1].

    Beyond the paper, which takes one itemset with all supports at their maximum.  Here a linear program looks at all
    (s_l^+, s_l^-), items other than a being alike (averaging over them changes neither side):

        subsets of j items with a        sum over l of C(l - 1, j - 1) s_l^+  <=  C(k - 1, j - 1) maximal[j - 1]
        subsets of j items without a     sum of C(l - 1, j) s_l^+ + C(l, j) s_l^-  <=  C(k - 1, j) maximal[j - 1]

    The ratio is made linear by scaling all shares until the denominator is 1 (Charnes and Cooper 1962).  ``shown`` may
    be a table, as for :func:`challenging_level`.  It goes as far as records do: k items may be more than a record has,
    and tell more than fewer, since reports show false items too.  Rounded up by 1e-9.
    """
    p = np.asarray(shown, float)
    if p.ndim == 2:
        return np.array([_worst_level(maximal, column) for column in p.T])
    return _worst_level(maximal, p)


def _worst_level(maximal: Sequence[float], p: Floats) -> float:
    from scipy.optimize import linprog

    k = len(maximal)
    if not (p > 0).all():
        raise ParameterError("The 'shown' parameter must be positive: else nothing hides.", parameter="shown", value=p)
    # unknowns: s_l^+ p[l] for l from 1, s_l^- p[l] for l from 0, and the scale times p[0]: all of one magnitude
    size = len(p) - 1  # l goes to k, or to the size of records: none has more
    with_a, without = np.arange(1, size + 1), np.arange(min(k - 1, size) + 1)
    a, n = len(with_a), len(with_a) + len(without) + 1
    rows = []
    for j in range(1, size + 1):
        limit = check_probability("maximal", maximal[j - 1])
        row = np.zeros(n)
        row[:a] = [comb(l - 1, j - 1) for l in with_a]
        row[-1] = -comb(k - 1, j - 1) * limit
        rows.append(row)
        if j < k:
            row = np.zeros(n)
            row[:a] = [comb(l - 1, j) for l in with_a]
            row[a:-1] = [comb(l, j) for l in without]
            row[-1] = -comb(k - 1, j) * limit
            rows.append(row)
    unit = np.concatenate([p[with_a], p[without], [p[0]]])
    limits = np.array(rows) / unit
    limits /= np.abs(limits).max(axis=1, keepdims=True)
    denominator = np.concatenate([np.ones(n - 1), [0.0]])
    total = np.concatenate([np.ones(n - 1), [-1.0]]) / unit * p[0]
    gain = np.concatenate([np.ones(a), np.zeros(n - a)])
    solved = linprog(-gain, A_ub=limits, b_ub=np.zeros(len(rows)), A_eq=np.array([denominator, total]), b_eq=[1.0, 0.0])
    if solved.status != 0 or solved.fun is None:
        return 1.0  # no answer is no promise
    return min(1.0, max(0.0, -float(solved.fun)) + 1e-9)
