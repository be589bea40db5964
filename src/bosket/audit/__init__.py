"""Does a promise hold?  Checks of privacy by experiment; most need the raw data too."""

from bosket.audit.breaches.audit import breaches
from bosket.audit.breaches.table import Breaches
from bosket.audit.divergences import RhoBound, rho_by
from bosket.audit.lower_bounds import LowerBound, distinguish, distinguish_by
from bosket.audit.medians import robust
from bosket.audit.poisons import implausible, poisoning
from bosket.audit.posteriors import posterior

__all__ = [
    "Breaches",
    "LowerBound",
    "RhoBound",
    "breaches",
    "distinguish",
    "distinguish_by",
    "implausible",
    "poisoning",
    "posterior",
    "rho_by",
    "robust",
]
