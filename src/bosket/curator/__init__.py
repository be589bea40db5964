"""The central model: a trusted curator publishes under differential privacy.

Zeng, Naughton and Cai (VLDB 2012): frequent itemsets by truncating long records, paid from one declared epsilon; or
rounds of bounded contributions over the itemsets that are still undecided (the sieve).
"""

from bosket.curator.curate import mine, top_k
from bosket.curator.levels import Heuristics
from bosket.curator.population.settings import PopulationSettings
from bosket.curator.release import Release
from bosket.curator.settings import AS_PUBLISHED, NAIVE, Settings
from bosket.curator.sieve.settings import SieveSettings
from bosket.errors import HopelessError

__all__ = [
    "AS_PUBLISHED",
    "NAIVE",
    "Heuristics",
    "HopelessError",
    "PopulationSettings",
    "Release",
    "Settings",
    "SieveSettings",
    "mine",
    "top_k",
]
