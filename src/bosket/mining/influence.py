"""The warning that a few reports carry a support: what a few dishonest people could have sent."""

from __future__ import annotations

from bosket.data import Domain
from bosket.errors import InfluenceWarning, warn
from bosket.evidence.carried import Carried


def warn_of(carried: Carried, domain: Domain) -> str | None:
    """Warn of the worst of these, if there are any, and return the sentence."""
    worst = carried.worst
    if worst is None:
        return None
    labels = [domain.labels[item] for item in worst.itemset]
    many = "1 report" if worst.reports == 1 else f"{worst.reports} reports"
    states = "" if worst.record_size is None else f" from records of {worst.record_size} items"
    each = "which" if worst.reports == 1 else "each of which"
    sentence = (
        f"A few reports carry {carried.number} of {carried.looked_at} supports looked at: {worst.share:.0%} of the "
        f"variance of {', '.join(map(repr, labels))} comes from {many}{states} among {worst.of}, {each} counts "
        f"for up to {worst.weight:.4g} people."
    )
    warn(InfluenceWarning(sentence, itemset=tuple(labels), reports=worst.reports, record_size=worst.record_size))
    return sentence
