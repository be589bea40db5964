"""bosket: frequent itemsets and association rules from data that nobody should have to hand over.

Names are imported when they are first used: ``import bosket`` itself loads no NumPy, pandas, Arrow or numba.
"""

from typing import TYPE_CHECKING

from bosket._lazy import attach
from bosket._version import __version__

if TYPE_CHECKING:
    from bosket import audit, curator, learning, measures, planning, spark
    from bosket.budget.budgets import Budget
    from bosket.client import Client
    from bosket.collection import Collection
    from bosket.data import Attribute, Baskets, Domain, Table, TableDomain, quest
    from bosket.disk import OpenBaskets, OpenReports, open
    from bosket.errors import (
        BosketError,
        BosketWarning,
        BudgetExceeded,
        DataError,
        DuplicateReportsError,
        ExposedLedgerWarning,
        HopelessError,
        HopelessPlanWarning,
        InfluenceWarning,
        LargeDeltaWarning,
        NoiseWarning,
        ParameterError,
        PlanMismatchError,
        RepeatedRespondentError,
        SingularChannelError,
        TooManyCandidatesError,
        TooManyRulesError,
        UnsureReleaseWarning,
    )
    from bosket.evidence import pool
    from bosket.mechanisms import (
        Ask,
        AskBaskets,
        CutAndPaste,
        Design,
        Flip,
        GammaDiagonal,
        Matrix,
        Mechanism,
        Mixing,
        Question,
        Replace,
        SelectASize,
    )
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
    from bosket.models.loglinear import LogLinear
    from bosket.plan import Plan, PrivacyUnit
    from bosket.privacy import Amplification, LocalGuarantee
    from bosket.randomness import Secure, Seeded
    from bosket.reporting.export import write_itemsets, write_rules
    from bosket.reports import Reports
    from bosket.statistics.estimates import Estimates
    from bosket.tally import Tally
    from bosket.threads import use_threads

__all__ = [
    "Amplification",
    "Ask",
    "AskBaskets",
    "Attribute",
    "Baskets",
    "BosketError",
    "BosketWarning",
    "Budget",
    "BudgetExceeded",
    "Client",
    "Collection",
    "CutAndPaste",
    "DataError",
    "Design",
    "Domain",
    "DuplicateReportsError",
    "Estimates",
    "ExposedLedgerWarning",
    "Flip",
    "FrequentItemsets",
    "GammaDiagonal",
    "HopelessError",
    "HopelessPlanWarning",
    "InfluenceWarning",
    "LargeDeltaWarning",
    "LocalGuarantee",
    "LogLinear",
    "Matrix",
    "Mechanism",
    "Mixing",
    "NoiseWarning",
    "OpenBaskets",
    "OpenReports",
    "ParameterError",
    "Plan",
    "PlanMismatchError",
    "PrivacyUnit",
    "Question",
    "RepeatedRespondentError",
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
    "UnsureReleaseWarning",
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
    "open",
    "partial_supports",
    "planning",
    "pool",
    "quest",
    "spark",
    "use_threads",
    "write_itemsets",
    "write_rules",
]

__getattr__, __dir__ = attach(__name__, __file__, __all__)
