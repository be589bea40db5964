"""Ways to randomize records, each a channel with its inverse and its guarantee."""

from bosket.mechanisms.base import Channel, Mechanism
from bosket.mechanisms.flip import Flip
from bosket.mechanisms.identity import IdentityChannel

__all__ = ["Channel", "Flip", "IdentityChannel", "Mechanism"]
