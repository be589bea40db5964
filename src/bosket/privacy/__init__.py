"""Guarantees as values: what an observer of reports can learn at most, and about what."""

from bosket.privacy.accuracy import Accuracy
from bosket.privacy.central import CentralGuarantee
from bosket.privacy.guarantee import Amplification, LocalGuarantee
from bosket.privacy.influence import Influence

__all__ = ["Accuracy", "Amplification", "CentralGuarantee", "Influence", "LocalGuarantee"]
