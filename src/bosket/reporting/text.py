"""Items and numbers as words: for the terminal, for pages and for pictures."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Hashable, Iterable

_LONGEST = 60


def visible(text: str, *, lines: bool = False) -> str:
    """Text that does nothing to who shows it: signs that are not seen become escapes, ``\\x1b`` or ``\\u202e``.

    These are control signs (among them what terminals obey), format signs (those that turn the direction of writing,
    and those of no width), halves of surrogate pairs, ends of lines and paragraphs, and what Unicode has not assigned.
    Letters of every script stay.  With ``lines`` a line feed ends a line; else it is made visible too.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_seen(sign) if not (lines and sign == "\n") else sign for sign in text)


def _seen(sign: str) -> str:
    if sign.isprintable() or unicodedata.category(sign) == "Zs":
        return sign
    code = ord(sign)
    return f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def label_text(label: Hashable) -> str:
    """A label on one line, not too long, with nothing hidden in it."""
    text = visible(label if isinstance(label, str) else str(label))
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
