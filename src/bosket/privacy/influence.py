"""What one dishonest report can do to an estimate: the weights it can have.

A support count is estimated by the sum of w_A over the reports.  Whoever picks a report, rather than drawing it, picks
its weight; so a fraction f of dishonest people moves the support of A by at most f (max w_A - min w_A), and by that
much if they all pick the same.  See docs/theory/poisoning.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.statistics.estimates import Floats as Floats

CARD_SIZES = (1, 2, 3)
"""The sizes of itemsets that a card speaks of."""


@dataclass(frozen=True, slots=True)
class Influence:
    """The weights that one report can have in the support count of an itemset of ``size`` items, the worst of all."""

    size: int
    low: float
    """The smallest weight: 0 or less."""
    high: float
    """The largest weight: 1 or more."""
    width: float
    """The largest difference of two weights for the same itemset: what changing one report can do."""
    record_size: int | None = None
    """The stated size of a record at which a weight is largest, where sizes are sent."""
    is_ratio: bool = False
    """Whether estimates are ratios: to how many people were asked a question, which reports change too.

    Weights are then those of one report more or less, and what a fraction of people can do is ``width`` times it both
    ways.
    """

    @property
    def largest(self) -> float:
        """The largest weight, whatever its sign: how many people one report can count for."""
        return max(self.high, -self.low)

    def shift(self, fraction: float) -> float:
        """The most that this fraction of dishonest people can move a support, whatever they would have sent."""
        return fraction * self.width

    def up(self, fraction: float) -> float:
        """The same upwards, against what honest people would have sent on the average."""
        return fraction * (self.width if self.is_ratio else self.high)

    def down(self, fraction: float) -> float:
        """The same downwards."""
        return fraction * (self.width if self.is_ratio else 1.0 - self.low)

    def to_json(self) -> dict[str, float | int | bool | None]:
        value: dict[str, float | int | bool | None] = {
            "size": self.size,
            "low": self.low,
            "high": self.high,
            "width": self.width,
            "record_size": self.record_size,
        }
        return value | ({"is_ratio": True} if self.is_ratio else {})


def product_influence(shown: Floats, hidden: Floats, k: int) -> Influence | None:
    """The extremes of a product of one factor for each of k different items: ``shown[i]`` or ``hidden[i]``.

    The two factors of an item have different signs (one may be 0).  An extreme product takes the positive factor of
    some items and the negative one of others; an item that is among the k largest of neither kind can be exchanged for
    one that is and not taken, so 2 k items are enough to look at.  The widest itemset switches one item j and has the
    largest factors of all others: (|shown_j| + |hidden_j|) times the k - 1 largest of them.  None for fewer items.
    """
    if len(shown) < k:
        return None
    positive, negative = np.maximum(shown, hidden), -np.minimum(shown, hidden)
    chosen = np.union1d(_largest(positive, k), _largest(negative, k))
    high, low = _signed_products(zip(positive[chosen].tolist(), negative[chosen].tolist(), strict=True), k)
    larger = np.maximum(positive, negative)
    top = _largest(larger, k)
    beside = np.full(len(larger), math.prod(larger[top[: k - 1]].tolist()))
    beside[top[: k - 1]] = math.prod(larger[top].tolist()) / larger[top[: k - 1]]
    width = float(((positive + negative) * beside).max())
    return Influence(k, low=0.0 - low, high=high, width=width)


def _largest(values: Floats, k: int) -> npt.NDArray[np.int64]:
    """Where the k largest values are, the largest first."""
    part = np.argpartition(-values, k - 1)[:k] if len(values) > k else np.arange(len(values))
    return part[np.argsort(-values[part], kind="stable")]


def _signed_products(factors: Iterable[tuple[float, float]], k: int) -> tuple[float, float]:
    """The largest products, without their sign, of k factors that come out positive, and negative."""
    plus, minus = [1.0] + [-math.inf] * k, [0.0] + [-math.inf] * k  # by the number of factors so far
    for positive, negative in factors:
        for count in range(k, 0, -1):
            best_plus, best_minus = plus[count - 1], minus[count - 1]
            if best_plus == -math.inf:
                continue
            plus[count] = max(plus[count], best_plus * positive, best_minus * negative)
            minus[count] = max(minus[count], best_minus * positive, best_plus * negative)
    return plus[k], minus[k]
