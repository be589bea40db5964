"""What reports say about supports, with its errors: all that mining, measures and reporting read."""

from bosket.evidence.answers import AnswersEvidence
from bosket.evidence.base import Evidence, Family
from bosket.evidence.kept import Kept, Level
from bosket.evidence.linear import LinearEvidence
from bosket.evidence.of import EvidenceSource, as_source, evidence_by, evidence_of, provenance_of
from bosket.evidence.provenance import Errors, Provenance, Selection

__all__ = [
    "AnswersEvidence",
    "Errors",
    "Evidence",
    "EvidenceSource",
    "Family",
    "Kept",
    "Level",
    "LinearEvidence",
    "Provenance",
    "Selection",
    "as_source",
    "evidence_by",
    "evidence_of",
    "provenance_of",
]
