"""Top-k itemsets by truncated frequencies (Bhaskar, Laxman, Smith and Thakurta, KDD 2010), the Laplace variant.

Among all itemsets of the sizes asked for (the paper: one size; several here, as Li et al. 2012 extend it), N of them
over the public items, with f(X) the support and f_k the k-th largest one:

    truncated   g(X) = max(f(X), T),  T = max(f_k - gamma, 0)
    selected    the k itemsets with the highest g(X) + noise of scale k / epsilon_1
    released    f(X) + noise of scale k / epsilon_2 for those

gamma depends on public numbers alone.  Privacy, without any delta:

- f_k is an order statistic over a fixed universe.  When a record is added, f(X) and f_k, hence T and g(X), move by 0
  or +1: max and order statistics are 1-Lipschitz and monotone.  T itself is never released.
- A *set* S is selected when each of its members beats the best of the others, B.  Fix the noise of the others and the
  order in which ties are broken (drawn beforehand, without the data).  Then the members' noises are independent, each
  has to reach B - g(X), a whole number, and this moves by at most 1 between neighbours; a tail of the two-sided
  geometric law then moves by a factor of at most exp(1 / scale).  So Pr(S) moves by at most exp(k / scale) =
  exp(epsilon_1).  The paper has neighbours of equal size, where scores move both ways and twice the noise is needed.
  In which order the members stand would be another matter: it is not released (what is returned is ordered by the
  noisy counts that follow).
- The k supports of S have L1 sensitivity at most k.

**The many.**  Itemsets with f(X) <= T all have g = T.  They are N' in number, exchangeable, and never listed: how
many of their noises reach a limit is binomial and by how much geometric (`tails`), which is the law of drawing all N';
if the limit was too high to have k itemsets, more are drawn below it.  Which of them were selected is a
uniform choice among the N'.  At a small epsilon gamma exceeds f_k: then T = 0 and all that occurs is listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations

import numpy as np

from bosket.checks import check_between, check_integer
from bosket.counting.base import Counts
from bosket.curator.noise import noisy, scale_of
from bosket.data import Baskets
from bosket.errors import ParameterError
from bosket.randomness import Randomness, Secure
from bosket.research.rivals.base import Itemset, Purse, Rival, kth_support, mined, rival, supports_of
from bosket.research.rivals.tails import limit_for, passing

_FEW = 1 << 15  # itemsets that are simply all drawn
_UNIVERSE = 1 << 62


def top_k(
    baskets: Baskets,
    *,
    epsilon: float,
    k: int,
    sizes: Iterable[int] = (1, 2, 3),
    rho: float = 0.1,
    rng: Randomness | None = None,
) -> Rival:
    """About the k most frequent itemsets of these sizes with noisy counts; fewer only if there are not k at all.

    ``rho`` is the chance of a choice worse than gamma allows for; half of epsilon selects, half counts.
    """
    k = check_integer("k", k, least=1)
    rho = check_between("rho", rho, 0, 1)
    chance = rng or Secure()
    purse = Purse(epsilon)
    wanted = sorted({check_integer("sizes", size, least=1) for size in sizes})
    if not wanted or wanted != list(range(wanted[0], wanted[-1] + 1)):
        raise ParameterError("The sizes must follow one another.", parameter="sizes", value=wanted)
    numbers = {size: math.comb(baskets.n_items, size) for size in wanted}
    universe = sum(numbers.values())
    if universe > _UNIVERSE:
        raise ParameterError("There are more than 2^62 itemsets of these sizes.", parameter="sizes", value=wanted)
    number = min(k, universe)
    about = {"method": "truncated frequencies", "epsilon": epsilon, "k": k, "sizes": wanted, "spent": purse.spent}
    if not number:
        return rival({}, about)
    share = epsilon / 2
    if universe > _few(number):
        share = min(share, float(number))  # no scale below 1, where too few of the many would have any noise
    purse.pay("selection", share)
    gamma = slack(epsilon=share, k=number, universe=universe, rho=rho)
    listed, supports, level = _listed(baskets, number, gamma, wanted)
    scores = noisy(supports, epsilon=share, sensitivity=number)  # scale number / share
    rest = universe - len(listed)
    others = level + _highest_of_equals(scores - level, rest, number, share, chance)
    chosen, n_others = _best(scores, others, number, chance)
    selected = [listed[place] for place in chosen]
    selected += _any_of_the_rest(set(listed), numbers, baskets.n_items, n_others, chance)
    counts = noisy(supports_of(baskets, selected), epsilon=purse.pay("counts", epsilon / 2), sensitivity=number)
    about["gamma"] = gamma
    return rival(dict(zip(selected, counts.astype(float).tolist(), strict=True)), about)


def slack(*, epsilon: float, k: int, universe: int, rho: float) -> int:
    """gamma: with probability 1 - rho nothing below f_k - gamma would have been selected, were it listed.

    2 scale (ln(2 k / rho) + ln N): no noise of N exceeds half of it, and none of k falls below minus half of it, but
    with probability rho.  The paper's is of the same form with its larger scale (its constants were not re-read); any
    gamma that is public is as private.
    """
    return math.ceil(2 * k / epsilon * (math.log(2 * k / rho) + math.log(universe)))


def _listed(baskets: Baskets, k: int, gamma: int, sizes: list[int]) -> tuple[list[Itemset], Counts, int]:
    """The itemsets with a support above T, their supports, and T.  Exact: they stay inside."""
    level = max(0, kth_support(baskets, k, max_size=sizes[-1], least_size=sizes[0]) - gamma)
    listed: list[Itemset] = []
    parts = [np.empty(0, np.int64)]
    for items, counts in mined(baskets, level + 1, max_size=sizes[-1]):
        if items.shape[1] in sizes:
            listed += map(tuple, items.tolist())
            parts.append(counts)
    return listed, np.concatenate(parts), level


def _highest_of_equals(above: Counts, n: int, k: int, epsilon: float, rng: Randomness) -> Counts:
    """Noises of n equal scores: at least all those that can be among the k highest, given the others.

    ``above`` says how far the noisy scores of the others are above the level that these n share.
    """
    if n <= _few(k):
        return noisy(np.zeros(n, np.int64), epsilon=epsilon, sensitivity=k)
    scale = scale_of(epsilon, k)
    values = np.empty(0, np.int64)
    high: int | None = None
    expected = 2.0 * k + 64
    while True:
        low = limit_for(n, scale, expected)
        values = np.concatenate([values, passing(n - len(values), scale, low, high=high, rng=rng)])
        if len(values) + int((above >= low).sum()) >= k:
            return values
        if low <= 1:  # with a scale of at least 1 a quarter of more than 16 k are expected there: never reached
            raise RuntimeError("fewer than k of very many noises are positive")
        high, expected = low, 2 * expected


def _few(k: int) -> int:
    return max(_FEW, 16 * k)


def _best(scores: Counts, others: Counts, k: int, rng: Randomness) -> tuple[list[int], int]:
    """The places of the listed ones among the k highest, and how many of the others are; ties by lot."""
    together = np.concatenate([scores, others])
    last = np.sort(together)[-k]
    tied = np.flatnonzero(together == last)
    places = np.flatnonzero(together > last)
    lot = rng.subsets(len(tied), k - len(places), 1)[0]
    places = np.concatenate([places, tied[lot]])
    is_listed = places < len(scores)
    return np.sort(places[is_listed]).tolist(), int((~is_listed).sum())


def _any_of_the_rest(
    listed: set[Itemset], numbers: dict[int, int], n_items: int, n: int, rng: Randomness
) -> list[Itemset]:
    """n itemsets that are not listed, each choice of them equally likely."""
    universe = sum(numbers.values())
    if n == 0:
        return []
    if universe <= _FEW or universe - len(listed) < universe // 64:
        everything = (itemset for size in numbers for itemset in combinations(range(n_items), size))
        rest = [itemset for itemset in everything if itemset not in listed]
        return [rest[place] for place in rng.subsets(len(rest), n, 1)[0]]
    sizes, borders = list(numbers), np.cumsum(list(numbers.values()))
    chosen: set[Itemset] = set()
    while len(chosen) < n:
        size = sizes[int(np.searchsorted(borders, rng.integers(universe, 1)[0], side="right"))]
        itemset = tuple(rng.subsets(n_items, size, 1)[0].tolist())
        if itemset not in listed:
            chosen.add(itemset)
    return sorted(chosen)
