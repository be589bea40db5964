"""Counting engines: in how many records of each stratum do these itemsets occur?"""

from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.counting.reference import ReferenceCounter
from bosket.counting.shards import Shards

__all__ = ["Bitmaps", "Counter", "Counts", "ItemsetRows", "ReferenceCounter", "Shards"]
