"""Items and numbers as words: for the terminal, for pages and for pictures."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable

_LONGEST = 60


def label_text(label: Hashable) -> str:
    """A label on one line; what cannot be printed, escape codes of terminals among it, becomes a replacement sign."""
    text = label if isinstance(label, str) else str(label)
    text = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def in_order(itemset: Iterable[Hashable]) -> list[Hashable]:
    """The labels of an itemset, sorted: by themselves where they can be compared, else by type and text."""
    labels = list(itemset)
    try:
        return sorted(labels)  # type: ignore[type-var]  # usually all of one kind
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))


def itemset_text(itemset: Iterable[Hashable]) -> str:
    return ", ".join(map(label_text, in_order(itemset)))


def rule_text(antecedent: Iterable[Hashable], consequent: Iterable[Hashable]) -> str:
    return f"{itemset_text(antecedent)} → {itemset_text(consequent)}"


def decimals_for(smallest: float) -> int:
    """How many decimals show three figures of a fraction of this size."""
    return 2 + max(1, math.ceil(-math.log10(smallest))) if 0 < smallest < 1 else 3


def number(value: float, decimals: int = 3) -> str:
    """A number with a true minus sign, or a dash where there is none."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "\N{MINUS SIGN}∞"
    return f"{value:.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def interval_text(low: float, high: float, decimals: int = 3) -> str:
    return f"{number(low, decimals)} to {number(high, decimals)}"


def count_text(count: int, noun: str) -> str:
    """``1 rule``, ``2 rules``, ``12,345 rules``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
