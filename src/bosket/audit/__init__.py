"""Does a promise hold?  Checks of privacy by experiment, for whoever has the raw data too."""

from bosket.audit.breach_table import Breaches
from bosket.audit.breaches import breaches

__all__ = ["Breaches", "breaches"]
