"""Records: baskets of items, their domain, readers and writers, the Quest generator."""

from bosket.data.baskets import Baskets
from bosket.data.domain import Domain
from bosket.data.quest import quest

__all__ = ["Baskets", "Domain", "quest"]
