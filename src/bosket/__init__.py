"""bosket: frequent itemsets and association rules from data that nobody should have to hand over."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bosket import measures
from bosket._version import __version__
from bosket.data import Attribute, Baskets, Domain, Table, TableDomain, quest
from bosket.errors import (
    BosketError,
    BosketWarning,
    BudgetExceeded,
    DataError,
    DuplicateReportsError,
    ExposedLedgerWarning,
    InfluenceWarning,
    ParameterError,
    PlanMismatchError,
    SingularChannelError,
    TooManyCandidatesError,
    TooManyRulesError,
)
from bosket.estimates import Estimates
from bosket.mechanisms import CutAndPaste, Flip, GammaDiagonal, Matrix, Mechanism, Mixing, Replace, SelectASize
from bosket.mining import (
    FrequentItemsets,
    RuleTemplate,
    association_rules,
    confidence,
    contingency,
    dependent_pairs,
    estimate,
    mine,
    partial_supports,
)
from bosket.plan import Plan, PrivacyUnit
from bosket.privacy import Amplification, LocalGuarantee
from bosket.privacy.budget import Budget
from bosket.randomness import Secure, Seeded
from bosket.reports import Reports
from bosket.tally import Tally

if TYPE_CHECKING:
    from bosket import audit, curator, learning, planning
    from bosket.reporting.export import write_itemsets, write_rules

__all__ = [
    "Amplification",
    "Attribute",
    "Baskets",
    "BosketError",
    "BosketWarning",
    "Budget",
    "BudgetExceeded",
    "CutAndPaste",
    "DataError",
    "Domain",
    "DuplicateReportsError",
    "Estimates",
    "ExposedLedgerWarning",
    "Flip",
    "FrequentItemsets",
    "GammaDiagonal",
    "InfluenceWarning",
    "LocalGuarantee",
    "Matrix",
    "Mechanism",
    "Mixing",
    "ParameterError",
    "Plan",
    "PlanMismatchError",
    "PrivacyUnit",
    "Replace",
    "Reports",
    "RuleTemplate",
    "Secure",
    "Seeded",
    "SelectASize",
    "SingularChannelError",
    "Table",
    "TableDomain",
    "Tally",
    "TooManyCandidatesError",
    "TooManyRulesError",
    "__version__",
    "association_rules",
    "audit",
    "confidence",
    "contingency",
    "curator",
    "dependent_pairs",
    "estimate",
    "learning",
    "measures",
    "mine",
    "partial_supports",
    "planning",
    "quest",
    "write_itemsets",
    "write_rules",
]


def __getattr__(name: str) -> Any:
    """Rooms that few programs enter are opened at the first step into them: they load SciPy or scikit-learn."""
    if name in ("audit", "curator", "learning", "planning"):
        return import_module(f"bosket.{name}")
    if name in ("write_itemsets", "write_rules"):
        return getattr(import_module("bosket.reporting.export"), name)
    raise AttributeError(f"module 'bosket' has no attribute {name!r}")
