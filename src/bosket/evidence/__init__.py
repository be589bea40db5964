"""What reports say about supports, with its errors: all that mining, measures and reporting read."""

from bosket.evidence.answers import AnswersEvidence
from bosket.evidence.base import Evidence, Family
from bosket.evidence.fitted import FittedEvidence
from bosket.evidence.kept import Kept, Level
from bosket.evidence.laws import law_of_answers, law_of_table
from bosket.evidence.linear import LinearEvidence
from bosket.evidence.of import EvidenceSource, Model, as_source, evidence_by, evidence_of, fitted_by, provenance_of
from bosket.evidence.pooled import pool
from bosket.evidence.provenance import Errors, Provenance, Selection
from bosket.evidence.sampled import SampledEvidence

__all__ = [
    "AnswersEvidence",
    "Errors",
    "Evidence",
    "EvidenceSource",
    "Family",
    "FittedEvidence",
    "Kept",
    "Level",
    "LinearEvidence",
    "Model",
    "Provenance",
    "SampledEvidence",
    "Selection",
    "as_source",
    "evidence_by",
    "evidence_of",
    "fitted_by",
    "law_of_answers",
    "law_of_table",
    "pool",
    "provenance_of",
]
