"""Does a promise hold?  Checks of privacy by experiment; most need the raw data too."""

from bosket.audit.breaches.audit import breaches
from bosket.audit.breaches.table import Breaches
from bosket.audit.cells import contradictions
from bosket.audit.clients.attack import Attack
from bosket.audit.clients.audit import client
from bosket.audit.clients.paths import Command
from bosket.audit.clients.promised import attacked, worst_pairs
from bosket.audit.divergences import RhoBound, rho_by
from bosket.audit.estimators import estimator
from bosket.audit.lower_bounds import LowerBound, distinguish, distinguish_by
from bosket.audit.medians import robust
from bosket.audit.poisons import implausible, poisoning
from bosket.audit.posteriors import posterior
from bosket.audit.received import collected
from bosket.audit.verdicts import Finding, Verdict

__all__ = [
    "Attack",
    "Breaches",
    "Command",
    "Finding",
    "LowerBound",
    "RhoBound",
    "Verdict",
    "attacked",
    "breaches",
    "client",
    "collected",
    "contradictions",
    "distinguish",
    "distinguish_by",
    "estimator",
    "implausible",
    "poisoning",
    "posterior",
    "rho_by",
    "robust",
    "worst_pairs",
]
