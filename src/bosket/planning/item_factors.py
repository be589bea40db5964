"""Which factor for which item: the question that Xia et al. (2004) leave open, solved as a convex problem.

Flip with a keep for each item tells two records apart by the sum of l_i = ln(p_i / (1 - p_i)) over the items that they
differ in.  An item estimated from reports has, where it is rare, the variance of one person's weight

    v(l) = p (1 - p) / (2 p - 1)^2 = 1 / (4 sinh(l / 2)^2)

which is convex in l.  So to minimise the sum of weight_i v(l_i) with the sum of l_i at most epsilon, and l_i at most
what the item's class allows, is convex: by the multiplier mu, each l_i is where weight_i v'(l_i) = -mu, or its limit.
The gap between the value found and that of the dual, sum over i of min over l (weight_i v(l) + mu l) - mu epsilon, is
the most that any other choice could gain.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from bosket.checks import check_limits, check_positive
from bosket.data import Domain
from bosket.errors import ParameterError
from bosket.mechanisms import Flip
from bosket.statistics.roots import root

_LARGEST = 60.0  # of a log odds: its keep is 1 to the digits of a double


@dataclass(frozen=True)
class ItemFactors:
    """A keep for each item, the least weighted sum of variances that they have, and a bound on it."""

    mechanism: Flip
    objective: float
    """The sum of weights times variances, of these keeps."""
    bound: float
    """No keeps that meet the goal have less."""
    single: float
    """The same sum with one keep for all items, as large as the goal and all limits allow."""

    @property
    def gap(self) -> float:
        """The most that another choice could gain, as a part of the objective."""
        return (self.objective - self.bound) / self.objective


def item_variance(odds: float) -> float:
    """v(l): the variance of one person's weight for an item that is not there."""
    return 0.25 / math.sinh(odds / 2) ** 2


def _slope(odds: float) -> float:
    """-v'(l)."""
    return 0.25 * math.cosh(odds / 2) / math.sinh(odds / 2) ** 3


def optimal_keeps(
    weights: Mapping[Any, float], *, epsilon: float, most: Mapping[Any, float] | None = None
) -> ItemFactors:
    """The keeps of Flip that minimise the weighted sum of variances of items, for any two records within epsilon.

    weights  how much the error of each item matters
    epsilon  for two records that may differ in all items
    most     the largest epsilon of an item by itself, for those of a class that must be hidden better

    >>> found = optimal_keeps({"a": 1.0, "b": 8.0}, epsilon=2.0)
    >>> {item: round(keep, 3) for item, keep in found.mechanism.keep.items()}
    {'a': 0.661, 'b': 0.791}
    """
    total = check_limits("epsilon", epsilon, above=0, most=600.0)
    known = {item: check_positive(f"weights[{item!r}]", weight) for item, weight in weights.items()}
    if not known:
        raise ParameterError("The 'weights' parameter must name items, got none.", parameter="weights", value={})
    unknown = [item for item in (most or {}) if item not in known]
    if unknown:
        raise ParameterError(
            f"The 'most' parameter must name items of 'weights', got {unknown[0]!r}.",
            parameter="most",
            value=unknown[0],
        )
    limits = dict.fromkeys(known, _LARGEST)
    limits |= {item: min(_LARGEST, check_positive(f"most[{item!r}]", value)) for item, value in (most or {}).items()}
    if math.fsum(limits.values()) <= total:  # no item is hidden better than it must be
        mu, best = 0.0, dict(limits)
    else:
        mu = _multiplier(known, limits, total)
        best = {item: _odds(weight, mu, limits[item]) for item, weight in known.items()}
    bound = math.fsum(known[item] * item_variance(l) + mu * l for item, l in best.items()) - mu * total
    scale = min(1.0, total / math.fsum(best.values()))
    mechanism, odds = _settled({item: value * scale for item, value in best.items()}, total)
    value = math.fsum(known[item] * item_variance(l) for item, l in odds.items())
    alike = min(total / len(known), *limits.values())
    return ItemFactors(mechanism, value, min(bound, value), math.fsum(known.values()) * item_variance(alike))


def _odds(weight: float, mu: float, limit: float) -> float:
    """Where weight v'(l) = -mu, or the limit."""
    if weight * _slope(limit) >= mu:
        return limit
    low = limit
    while weight * _slope(low) < mu:
        low /= 2
    return root(lambda l: math.log(weight * _slope(l) / mu), low, limit, xtol=1e-15, rtol=1e-15)


def _multiplier(weights: Mapping[Hashable, float], limits: Mapping[Hashable, float], spent: float) -> float:
    """mu at which all of epsilon is spent, which limits leave room for."""

    def excess(log_mu: float) -> float:
        return math.fsum(_odds(w, math.exp(log_mu), limits[item]) for item, w in weights.items()) - spent

    low = min(math.log(w * _slope(limits[item])) for item, w in weights.items())  # at which all limits bind
    high = low + 1
    while excess(high) > 0:
        high += max(1.0, high - low)
    return math.exp(root(excess, low, high, xtol=1e-14))


def _settled(odds: dict[Hashable, float], epsilon: float) -> tuple[Flip, dict[Hashable, float]]:
    """The mechanism, whose guarantee by realised probabilities is at most epsilon."""
    domain = Domain(list(odds))
    for step in range(60):
        shrunk = {item: l * (1 - 2.0 ** (step - 45)) for item, l in odds.items()}
        mechanism = Flip(keep={item: 1 / (1 + math.exp(-l)) for item, l in shrunk.items()})
        if mechanism.guarantee(domain).record.epsilon <= epsilon:
            return mechanism, shrunk
    raise AssertionError("a keep of 1/2 promises everything")
