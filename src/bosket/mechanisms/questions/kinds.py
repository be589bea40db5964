"""Kinds of the parameters of questions about baskets: a word, the digest of a plan, itemsets."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any

from bosket import strict_json
from bosket.checks import check_choice, shown
from bosket.data.domain import check_crowds, label_to_json, labels_from_json
from bosket.errors import ParameterError
from bosket.mechanisms.parameters import Kind

MOST_CANDIDATES = 1 << 16
MOST_SETS = 3
"""The largest itemsets that are asked about."""


class Word(Kind):
    """One of a few words."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    @property
    def noun(self) -> str:
        return "word"

    @property
    def must(self) -> str:
        return f"one of {', '.join(self.words)}"

    def check(self, name: str, value: Any, *, of: str | None = None) -> str:
        return check_choice(name, value, self.words, of=of)

    def from_json(self, value: Any, name: str, *, of: str) -> str:
        return strict_json.text(value, name, of=of)

    def parse(self, text: str) -> str:
        return text

    def short(self, value: str) -> str:
        return value


class Digest(Kind):
    """The digest of a plan."""

    @property
    def noun(self) -> str:
        return "digest"

    @property
    def must(self) -> str:
        return "the digest of a plan, 64 hexadecimal digits"

    def check(self, name: str, value: Any, *, of: str | None = None) -> str:
        if not isinstance(value, str) or re.fullmatch("[0-9a-f]{64}", value) is None:
            raise ParameterError(
                f"The '{name}' parameter of {of} must be {self.must}, got {shown(value)}.", parameter=name, value=value
            )
        return value

    def from_json(self, value: Any, name: str, *, of: str) -> str:
        return strict_json.text(value, name, of=of)

    def parse(self, text: str) -> str:
        return text

    def short(self, value: str) -> str:
        return value[:12]


def _are_different(itemsets: tuple[tuple[Hashable, ...], ...]) -> bool:
    """Whether no itemset has a label twice, and no two have the same labels.

    Labels that somebody chose to have one hash value are refused, and itemsets are compared by numbers of their
    labels: the hash value of a frozenset can be chosen too, label by label.
    """
    check_crowds(label for one in itemsets for label in one)
    numbers: dict[Hashable, int] = {}
    rows = [tuple(sorted(numbers.setdefault(label, len(numbers)) for label in one)) for one in itemsets]
    return all(len(set(row)) == len(row) for row in rows) and len(set(rows)) == len(rows)


class Itemsets(Kind):
    """Itemsets by the labels of their items."""

    takes_json = True

    @property
    def noun(self) -> str:
        return "file, written @FILE"

    @property
    def must(self) -> str:
        return f"a list of different itemsets of up to {MOST_SETS} items, {MOST_CANDIDATES} at most"

    def check(self, name: str, value: Any, *, of: str | None = None) -> tuple[tuple[Hashable, ...], ...]:
        is_text = isinstance(value, str) or not isinstance(value, Iterable)
        given = [] if is_text else list(value)
        if all(isinstance(one, Iterable) and not isinstance(one, str) for one in given):
            found = tuple(map(tuple, given))
            is_small = 0 < len(found) <= MOST_CANDIDATES and all(0 < len(one) <= MOST_SETS for one in found)
            if is_small and _are_different(found):
                return found
        raise ParameterError(f"The '{name}' parameter of {of} must be {self.must}.", parameter=name, value=shown(value))

    def to_json(self, value: tuple[tuple[Hashable, ...], ...]) -> Any:
        return [[label_to_json(label) for label in one] for one in value]

    def from_json(self, value: Any, name: str, *, of: str) -> Any:
        itemsets = strict_json.sequence(value, name, of=of)
        return [labels_from_json(strict_json.sequence(one, name, of=of)) for one in itemsets]

    def parse(self, text: str) -> Any:
        raise ValueError(text)

    def short(self, value: tuple[tuple[Hashable, ...], ...]) -> str:
        return f"{len(value)} itemsets"
