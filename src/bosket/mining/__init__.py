"""From counts to itemsets and rules: Apriori over estimates, exact mining, rules."""

from bosket.mining.apriori import Search
from bosket.mining.bootstrap import Bootstrap, Replicates
from bosket.mining.contingency_tables import ContingencyTable, MeasureEstimate, contingency
from bosket.mining.dependence import dependent_pairs
from bosket.mining.partial import PartialSupports, partial_supports
from bosket.mining.result import FrequentItemsets
from bosket.mining.rule_confidence import Confidence, confidence
from bosket.mining.rules import RuleTemplate, association_rules
from bosket.mining.searching import estimate, mine, mine_evidence
from bosket.progress import LevelProgress

__all__ = [
    "Bootstrap",
    "Confidence",
    "ContingencyTable",
    "FrequentItemsets",
    "LevelProgress",
    "MeasureEstimate",
    "PartialSupports",
    "Replicates",
    "RuleTemplate",
    "Search",
    "association_rules",
    "confidence",
    "contingency",
    "dependent_pairs",
    "estimate",
    "mine",
    "mine_evidence",
    "partial_supports",
]
