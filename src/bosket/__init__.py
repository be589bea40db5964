"""bosket: frequent itemsets and association rules from data that nobody should have to hand over."""

from bosket._version import __version__
from bosket.data import Baskets, Domain, quest
from bosket.errors import (
    BosketError,
    DataError,
    ParameterError,
    PlanMismatchError,
    SingularChannelError,
    TooManyCandidatesError,
)
from bosket.estimates import Estimates
from bosket.mechanisms import CutAndPaste, Flip, Mechanism, Mixing, Replace, SelectASize
from bosket.mining import FrequentItemsets, association_rules, estimate, mine
from bosket.plan import Plan, PrivacyUnit
from bosket.privacy import Amplification, LocalGuarantee
from bosket.randomness import Secure, Seeded
from bosket.reports import Reports

__all__ = [
    "Amplification",
    "Baskets",
    "BosketError",
    "CutAndPaste",
    "DataError",
    "Domain",
    "Estimates",
    "Flip",
    "FrequentItemsets",
    "LocalGuarantee",
    "Mechanism",
    "Mixing",
    "ParameterError",
    "Plan",
    "PlanMismatchError",
    "PrivacyUnit",
    "Replace",
    "Reports",
    "Secure",
    "Seeded",
    "SelectASize",
    "SingularChannelError",
    "TooManyCandidatesError",
    "__version__",
    "association_rules",
    "estimate",
    "mine",
    "quest",
]
