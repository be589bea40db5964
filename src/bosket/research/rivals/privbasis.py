"""PrivBasis: the k most frequent itemsets from a few sets of items (Li, Qardaji, Su and Cao, PVLDB 5(11), 2012).

    lambda   how many items the k itemsets are made of                         alpha_1 = 0.1 of epsilon
    items    the lambda most frequent ones, then pairs of them                 alpha_2 = 0.4
    bins     for each *basis* (a set of items) the records by which of the basis' items they hold: 2^|B| bins
                                                                               alpha_3 = 0.5

**lambda.**  With theta the support of itemset number ceil(eta k), and f_r the r-th largest support of an item, rank r
has the quality -|f_r - theta|.  Both f_r and theta are order statistics of supports: a record more moves each by 0
or +1, so the quality moves by at most 1, up or down.  It is not monotone: the selection pays 2 / scale.  The authors'
published script draws this rank with all of epsilon instead of alpha_1 epsilon, so that it spends 1.9 epsilon in all.

**items, pairs.**  Supports, monotone: epsilon / (number chosen) each.  The pairs look at items already released.  As in
the authors' script, there are lambda_2 = eta k - lambda of them, shrunk by sqrt(max(1, lambda_2 / lambda)), and
alpha_2 is divided as lambda to lambda_2.  With lambda <= 12 all items are one basis and no pairs are needed.

**bins.**  A record falls into exactly one bin of each of w bases: the L1 sensitivity is w.  The bin of records with
none of the items is not needed.  The support of X within B is the sum of 2^(|B| - |X|) bins, so has that
many times the variance of one; X in several bases gets the mean weighted by the inverse variances.

Bases (`bases`) are made of the items and pairs chosen, which are released.

Where we deviate: permute-and-flip (never worse) instead of the exponential mechanism; lambda is not taken beyond
ceil(eta k), as more items cannot be needed; cliques of more than 12 items are cut so that each pair stays in some
basis; discrete exact noise.  k is public; so is the number of items.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer
from bosket.counting.base import Counts
from bosket.curator.noise import noisy
from bosket.data import Baskets
from bosket.research.rivals.base import Itemset, Purse, Rival, kth_support, noisy_top, rival, supports_of
from bosket.research.rivals.bases import LARGEST, Basis, make_bases

SHARES = (0.1, 0.4, 0.5)
ETA = 1.1


def top_k(baskets: Baskets, *, epsilon: float, k: int, eta: float = ETA) -> Rival:
    """About the k most frequent itemsets of any size, with noisy counts; fewer if the bases have fewer subsets."""
    k = check_integer("k", k, least=1)
    purse = Purse(epsilon)
    n_items = baskets.n_items
    most = math.ceil(eta * k)
    about = {"method": "PrivBasis", "epsilon": epsilon, "k": k, "spent": purse.spent}
    if not n_items:
        return rival({}, about)
    number = _noisy_lambda(baskets, most, epsilon=purse.pay("lambda", SHARES[0] * epsilon))
    number = min(number, most)
    n_pairs = _n_pairs(number, eta * k)
    for_items = SHARES[1] * epsilon * number / (number + n_pairs)
    chosen = noisy_top(baskets.item_counts(), number, epsilon=purse.pay("items", for_items), is_monotone=True).tolist()
    pairs: list[Itemset] = []
    if n_pairs:
        possible: list[Itemset] = list(combinations(sorted(chosen), 2))
        share = purse.pay("pairs", SHARES[1] * epsilon - for_items)
        places = noisy_top(supports_of(baskets, possible), n_pairs, epsilon=share, is_monotone=True)
        pairs = [possible[place] for place in places]
    bases = make_bases(chosen, pairs)
    share = purse.pay("bins", SHARES[2] * epsilon)
    found = _supports(bases, noisy(_bins(baskets, bases), epsilon=share, sensitivity=len(bases)))
    best = sorted(found, key=lambda itemset: (-found[itemset], len(itemset), itemset))[:k]
    about |= {"lambda": number, "pairs": len(pairs), "bases": bases}
    return rival({itemset: found[itemset] for itemset in best}, about)


def _noisy_lambda(baskets: Baskets, most: int, *, epsilon: float) -> int:
    theta = kth_support(baskets, most)
    ranked = np.sort(baskets.item_counts())[::-1]
    return 1 + int(noisy_top(-np.abs(ranked - theta), 1, epsilon=epsilon, is_monotone=False)[0])


def _n_pairs(n_chosen: int, wanted: float) -> int:
    if n_chosen <= LARGEST or wanted <= n_chosen:
        return 0
    more = wanted - n_chosen
    return min(math.ceil(more / math.sqrt(max(1.0, more / n_chosen))), math.comb(n_chosen, 2))


def _bins(baskets: Baskets, bases: list[Basis]) -> Counts:
    """For each basis the records by the items that they have of it, those with none left out.  Exact: stays inside."""
    record_of = np.repeat(np.arange(baskets.n_records), baskets.sizes)
    parts = []
    for basis in bases:
        bit = np.zeros(baskets.n_items, np.int64)
        bit[list(basis)] = 1 << np.arange(len(basis))
        pattern = np.bincount(record_of, weights=bit[baskets.indices], minlength=baskets.n_records).astype(np.int64)
        parts.append(np.bincount(pattern, minlength=1 << len(basis))[1:])
    return np.concatenate(parts)


def _supports(bases: list[Basis], bins: Counts) -> dict[Itemset, float]:
    """Each subset of each basis, from noisy bins."""
    sums: dict[Itemset, float] = {}
    weights: dict[Itemset, float] = {}
    start = 0
    for basis in bases:
        stop = start + (1 << len(basis)) - 1
        supports = superset_sums(np.concatenate([[0], bins[start:stop]]))
        start = stop
        for pattern in range(1, 1 << len(basis)):
            itemset = tuple(item for place, item in enumerate(basis) if pattern >> place & 1)
            weight = 2.0 ** (len(itemset) - len(basis))
            sums[itemset] = sums.get(itemset, 0.0) + weight * float(supports[pattern])
            weights[itemset] = weights.get(itemset, 0.0) + weight
    return {itemset: total / weights[itemset] for itemset, total in sums.items()}


def superset_sums(bins: Counts) -> npt.NDArray[np.int64]:
    """For every pattern the sum over the patterns that hold it.

    >>> superset_sums(np.array([1, 2, 3, 4])).tolist()
    [10, 6, 7, 4]
    """
    sums = bins.astype(np.int64)
    step = 1
    while step < len(sums):
        view = sums.reshape(-1, 2, step)
        view[:, 0] += view[:, 1]
        step *= 2
    return sums
