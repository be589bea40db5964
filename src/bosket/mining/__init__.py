"""From counts to itemsets and rules: Apriori over estimates, exact mining, rules."""

from bosket.mining.apriori import LevelProgress, Search
from bosket.mining.mine import estimate, mine, mine_counter
from bosket.mining.result import FrequentItemsets
from bosket.mining.rules import association_rules

__all__ = ["FrequentItemsets", "LevelProgress", "Search", "association_rules", "estimate", "mine", "mine_counter"]
