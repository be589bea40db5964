"""From counts to itemsets and rules: Apriori over estimates, exact mining, rules."""

from bosket.mining.apriori import LevelProgress, Search
from bosket.mining.confidence import Confidence, confidence
from bosket.mining.mine import estimate, mine, mine_counter
from bosket.mining.partial import PartialSupports, partial_supports
from bosket.mining.result import FrequentItemsets
from bosket.mining.rules import association_rules

__all__ = [
    "Confidence",
    "FrequentItemsets",
    "LevelProgress",
    "PartialSupports",
    "Search",
    "association_rules",
    "confidence",
    "estimate",
    "mine",
    "mine_counter",
    "partial_supports",
]
