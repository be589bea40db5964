"""Evidence that cannot show a single item: refused, or warned of, by its plan and the number of its reports."""

from __future__ import annotations

import math

from bosket.errors import HopelessError, HopelessPlanWarning, warn
from bosket.evidence.base import Evidence
from bosket.mechanisms.hopeless import hopeless_text, instead
from bosket.privacy import Accuracy, LocalGuarantee

_LARGEST = 16  # sizes of itemsets among which one is looked for that can be seen
_SEEN = 0.25  # standard error with which an itemset of everybody is told from one of nobody, four times over


def refuse_hopeless(evidence: Evidence) -> None:
    """Refuse evidence in which no support of a single item can be as large as its standard error."""
    single = _hopeless(evidence)
    if single is not None:
        n = evidence.n_records
        hint = f"{_what_is_seen(evidence)}{instead(evidence.domain, _epsilon(evidence), single, n)}"
        raise HopelessError(_text(evidence, single), stderr=single.best(n), people=n, hint=hint)


def warn_of_hopeless(evidence: Evidence) -> None:
    """Warn of the same."""
    single = _hopeless(evidence)
    if single is not None:
        n = evidence.n_records
        warn(HopelessPlanWarning(_text(evidence, single), stderr=single.best(n), people=n))


def _hopeless(evidence: Evidence) -> Accuracy | None:
    return evidence.accuracy(1) if evidence.is_hopeless(1) else None


def _text(evidence: Evidence, single: Accuracy) -> str:
    return hopeless_text(str(evidence.provenance.mechanism), single, evidence.n_records)


def _epsilon(evidence: Evidence) -> float:
    promise = evidence.provenance.guarantee
    return promise.record.epsilon if isinstance(promise, LocalGuarantee) else 0.0


def _what_is_seen(evidence: Evidence) -> str:
    """The smallest itemsets that can be seen, where there are any: chance shows large ones seldom."""
    for size in range(2, min(_LARGEST, len(evidence.domain)) + 1):
        known = evidence.accuracy(size)
        best = math.inf if known is None else known.best(evidence.n_records)
        if best <= _SEEN:
            return f"estimate() sees itemsets of {size} items, with a standard error of {best:.3g} at best. "
    return ""
