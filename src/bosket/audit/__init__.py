"""Does a promise hold?  Checks of privacy by experiment, most of them for whoever has the raw data too."""

from bosket.audit.breach_table import Breaches
from bosket.audit.breaches import breaches
from bosket.audit.distinguish import LowerBound, distinguish, distinguish_by
from bosket.audit.poisoning import implausible, poisoning
from bosket.audit.posterior import posterior

__all__ = [
    "Breaches",
    "LowerBound",
    "breaches",
    "distinguish",
    "distinguish_by",
    "implausible",
    "poisoning",
    "posterior",
]
