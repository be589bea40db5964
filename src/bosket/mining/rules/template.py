"""Which rules to look at: the items allowed on either side, and how many of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer
from bosket.counting.base import ItemsetRows
from bosket.data import Domain
from bosket.errors import ParameterError

SizeRange = int | tuple[int, int | None]
"""A number of items, or a least and a largest number (None for no limit)."""


@dataclass(frozen=True)
class RuleTemplate:
    """What rules may look like; anything goes where nothing is said.

    antecedents, consequents            items that may stand on that side
    antecedent_size, consequent_size    a number of items, or (least, largest)

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["milk", "bread"], ["milk", "bread", "eggs"], ["milk"]])
    >>> found = bk.mine(baskets, min_support=0.3)
    >>> template = bk.RuleTemplate(consequents=["bread"], antecedent_size=1)
    >>> [sorted(side) for side in found.rules(min_threshold=0.5, template=template)["antecedents"]]
    [['eggs'], ['milk']]
    """

    antecedents: Iterable[Hashable] | None = None
    consequents: Iterable[Hashable] | None = None
    antecedent_size: SizeRange | None = None
    consequent_size: SizeRange | None = None

    def __post_init__(self) -> None:
        for side in ("antecedents", "consequents"):
            items = getattr(self, side)
            if isinstance(items, str):
                raise ParameterError(
                    f"The '{side}' parameter of RuleTemplate must be items, got a string.",
                    parameter=side,
                    value=items,
                    hint="Write ['milk'] rather than 'milk'.",
                )
            if items is not None:
                object.__setattr__(self, side, frozenset(items))
        for side in ("antecedent_size", "consequent_size"):
            object.__setattr__(self, side, _sizes(side, getattr(self, side)))

    def on(self, domain: Domain) -> Shape:
        """This template for the items of a domain."""
        allowed = [
            None if items is None else np.isin(np.arange(len(domain)), domain.itemset(items))
            for items in (self.antecedents, self.consequents)
        ]
        return Shape(allowed[0], allowed[1], self.antecedent_size, self.consequent_size)  # type: ignore[arg-type]  # made whole above


def _sizes(side: str, sizes: SizeRange | None) -> tuple[int, int | None]:
    if sizes is None:
        return 1, None
    if isinstance(sizes, tuple):
        if len(sizes) != 2:
            raise ParameterError(
                f"The '{side}' parameter of RuleTemplate must be a number or (least, largest), got {sizes!r}.",
                parameter=side,
                value=sizes,
            )
        least = check_integer(side, sizes[0], least=1, of="RuleTemplate")
        return least, None if sizes[1] is None else check_integer(side, sizes[1], least=least, of="RuleTemplate")
    number = check_integer(side, sizes, least=1, of="RuleTemplate")
    return number, number


@dataclass(frozen=True)
class Shape:
    """A template in item ids."""

    may_lead: npt.NDArray[np.bool_] | None
    """Items that may be in an antecedent."""
    may_follow: npt.NDArray[np.bool_] | None
    lead: tuple[int, int | None]
    follow: tuple[int, int | None]

    def antecedents(self, k: int) -> npt.NDArray[np.int64]:
        """The patterns of k items that have a size which an antecedent may have, and leave one for the consequent."""
        masks = np.arange(1, (1 << k) - 1)
        sizes = np.bitwise_count(masks).astype(int)
        return masks[_within(sizes, self.lead) & _within(k - sizes, self.follow)]

    def allowed(self, rows: ItemsetRows, masks: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        """Which of these splits of these itemsets have allowed items on both sides; None for all."""
        if self.takes_all_items:
            return None
        bits = 1 << np.arange(rows.shape[1])
        full = (1 << rows.shape[1]) - 1
        result = np.ones((len(rows), len(masks)), bool)
        for allowed, side in ((self.may_lead, masks), (self.may_follow, full ^ masks)):
            if allowed is not None:
                forbidden = np.where(allowed[rows], 0, bits).sum(axis=1)
                result &= side & forbidden[:, None] == 0
        return result

    @property
    def takes_all_items(self) -> bool:
        return self.may_lead is None and self.may_follow is None

    def splits(self, k: int) -> int:
        """How many splits of k items have allowed sizes."""
        return sum(comb(k, size) for size in range(1, k) if _holds(size, self.lead) and _holds(k - size, self.follow))


def _holds(size: int, limits: tuple[int, int | None]) -> bool:
    return limits[0] <= size and (limits[1] is None or size <= limits[1])


def _within(sizes: npt.NDArray[np.int64], limits: tuple[int, int | None]) -> npt.NDArray[np.bool_]:
    least, most = limits
    result: npt.NDArray[np.bool_] = (sizes >= least) & (sizes <= (sizes.max(initial=0) if most is None else most))
    return result
