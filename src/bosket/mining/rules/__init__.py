"""Rules from frequent itemsets, with the errors of every measure."""

from bosket.mining.rules.frame import association_rules
from bosket.mining.rules.template import RuleTemplate

__all__ = ["RuleTemplate", "association_rules"]
