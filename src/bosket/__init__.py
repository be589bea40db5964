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
from bosket.mechanisms import Flip, Mechanism
from bosket.mining import FrequentItemsets, association_rules, estimate, mine
from bosket.plan import Plan, PrivacyUnit
from bosket.privacy import Amplification, LocalGuarantee
from bosket.randomness import Secure, Seeded
from bosket.reports import Reports

__all__ = [
    "Amplification",
    "Baskets",
    "BosketError",
    "DataError",
    "Domain",
    "Estimates",
    "Flip",
    "FrequentItemsets",
    "LocalGuarantee",
    "Mechanism",
    "ParameterError",
    "Plan",
    "PlanMismatchError",
    "PrivacyUnit",
    "Reports",
    "Secure",
    "Seeded",
    "SingularChannelError",
    "TooManyCandidatesError",
    "__version__",
    "association_rules",
    "estimate",
    "mine",
    "quest",
]
