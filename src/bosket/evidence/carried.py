"""What is known of supports that a few reports carry: how many there are, and the worst of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Concentration:
    """``share`` of the sum of squared weights of an itemset comes from so many reports, of up to this ``weight``."""

    itemset: tuple[int, ...]
    reports: int
    of: int
    share: float
    weight: float
    record_size: int | None
    """The size that they state, where sizes are sent and they state one."""


@dataclass(frozen=True, slots=True)
class Carried:
    """Of this number of itemsets looked at, a number is carried by a few reports, and one is the worst of these."""

    looked_at: int = 0
    number: int = 0
    worst: Concentration | None = None

    @classmethod
    def together(cls, parts: Iterable[Carried]) -> Carried:
        """Of all itemsets of several looks."""
        parts = list(parts)
        worst = max(
            (part.worst for part in parts if part.worst is not None),
            key=lambda one: (one.share, one.weight),
            default=None,
        )
        return cls(sum(part.looked_at for part in parts), sum(part.number for part in parts), worst)


NONE_LOOKED_AT = Carried()
