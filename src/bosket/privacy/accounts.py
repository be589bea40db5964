"""Accounts of a privacy budget as values: what was granted, what was spent on what, what is left.

Releases compose by basic composition: epsilons add, and so do deltas, also when a later release is chosen in the light
of earlier ones (Rogers, Roth, Ullman and Vadhan, NIPS 2016: the sum is a valid privacy filter).

A number stands for the decimal that is written for it, the shortest one of the float: 0.1 is one tenth, so that ten
times 0.1 is exactly 1.  Sums and comparisons are exact fractions of these decimals.  Only what is shown is rounded,
towards less left.

Every entry carries a digest over itself and the digest before it, the first one over the terms of the account.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, NamedTuple

from bosket._version import __version__
from bosket.checks import check_between, check_choice, check_not_negative
from bosket.errors import BudgetExceeded, ParameterError

NEIGHBOURS = {
    "add-remove": "data sets that differ by one record, added or removed",
    "replace": "data sets of one size that differ in one record, replaced by another",
}
"""The neighbouring relations that a budget can be for, in words."""

_NO_LINE = ("Cc", "Cs", "Zl", "Zp")
"""Kinds of signs that a line of text does not hold: control signs, half surrogate pairs, line and paragraph ends."""


class Amount(NamedTuple):
    """An epsilon and a delta."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"epsilon {self.epsilon!r}" + (f", delta {self.delta!r}" if self.delta else "")


@dataclass(frozen=True, slots=True)
class Entry:
    """One release that was paid for."""

    number: int
    """From 1."""
    epsilon: float
    delta: float
    purpose: str
    """Words and parameters of whoever released: nothing that was read off the data."""
    time: str
    """UTC, as ISO 8601 has it."""
    version: str
    """Of bosket."""
    digest: str
    """SHA-256 over this entry and the digest before it, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Account:
    """A budget at one moment: its terms, and its entries so far."""

    name: str
    epsilon: float
    delta: float
    neighbours: str
    time: str
    """When it was created: UTC, as ISO 8601 has it."""
    version: str
    """Of bosket."""
    digest: str
    """SHA-256 over the terms above, in hexadecimal."""
    entries: tuple[Entry, ...] = ()

    @classmethod
    def new(cls, name: str, *, epsilon: float, delta: float, neighbours: str) -> Account:
        """An account of which nothing is spent, with its terms checked."""
        total = check_amount(epsilon, delta, of="Budget")
        known = check_choice("neighbours", neighbours, NEIGHBOURS, of="Budget")
        account = cls(check_name(name), *total, known, _now(), __version__, "")
        return replace(account, digest=account._own_digest())

    @property
    def spent(self) -> Amount:
        """The sum of the entries; rounded up where no float is that sum."""
        return Amount(*(_round(value, math.inf) for value in self._exact_spent()))

    @property
    def remaining(self) -> Amount:
        """What is left; rounded down where no float is that, so that it can always be spent."""
        return Amount(*(_round(value, 0.0) for value in self._exact_remaining()))

    @property
    def head(self) -> str:
        """The digest of the last entry, of the terms where there is none: it stands for all the account up to here."""
        return self.entries[-1].digest if self.entries else self.digest

    def spend(self, epsilon: float, *, delta: float, purpose: str) -> Account:
        """This account with one entry more, or :class:`BudgetExceeded`."""
        asked = check_amount(epsilon, delta, of="spend")
        words = _check_line("purpose", purpose, of="spend")
        if any(_exact(wish) > left for wish, left in zip(asked, self._exact_remaining(), strict=True)):
            left = self.remaining
            raise BudgetExceeded(
                f"A release from the budget {self.name!r} must cost at most {left}, which is left, got {asked}.",
                name=self.name,
                asked=asked,
                remaining=left,
                hint="Ask for less, or work with what was already released: that costs nothing.",
            )
        entry = Entry(len(self.entries) + 1, *asked, words, _now(), __version__, "")
        entry = replace(entry, digest=_digest_after(self.head, entry))
        return replace(self, entries=(*self.entries, entry))

    def continues(self, earlier: Account) -> bool:
        """Whether it is the same account, with what ``earlier`` had spent still in it."""
        known = len(earlier.entries)
        return replace(self, entries=self.entries[:known]).head == earlier.head and len(self.entries) >= known

    def adds_up(self) -> bool:
        """Whether every digest is that of its row and the one before, and no more was spent than granted."""
        digest = self._own_digest()
        is_sound = digest == self.digest
        for number, entry in enumerate(self.entries, 1):
            digest = _digest_after(digest, entry)
            is_sound = is_sound and digest == entry.digest and entry.number == number
            is_sound = is_sound and 0 < entry.epsilon < math.inf and 0 <= entry.delta < 1
        return is_sound and min(self._exact_remaining()) >= 0

    def _exact_spent(self) -> tuple[Fraction, Fraction]:
        epsilon = sum((_exact(entry.epsilon) for entry in self.entries), Fraction(0))
        return epsilon, sum((_exact(entry.delta) for entry in self.entries), Fraction(0))

    def _exact_remaining(self) -> tuple[Fraction, Fraction]:
        epsilon, delta = self._exact_spent()
        return _exact(self.epsilon) - epsilon, _exact(self.delta) - delta

    def _own_digest(self) -> str:
        texts = (repr(self.epsilon), repr(self.delta))
        return _digest(["budget", self.name, *texts, self.neighbours, self.time, self.version])


def check_amount(epsilon: Any, delta: Any, *, of: str) -> Amount:
    """A positive epsilon and a delta in [0, 1), both of which a float can hold."""
    amount = Amount(check_between("epsilon", epsilon, 0.0, math.inf, of=of), check_not_negative("delta", delta, of=of))
    if amount.delta > 0:
        check_between("delta", delta, 0.0, 1.0, of=of)
    for name, given, taken in (("epsilon", epsilon, amount.epsilon), ("delta", delta, amount.delta)):
        if given != taken:  # 1/3 as a float is a little less: the ledger would count less than is used
            raise ParameterError(
                f"The '{name}' parameter of {of} must be a number that a float can hold, got {given!r}.",
                parameter=name,
                value=given,
                hint=f"Give {taken!r} or the float after it, and use no more than that.",
            )
    return amount


def check_name(name: Any) -> str:
    """The name of a budget, accents composed: what looks the same is the same."""
    return unicodedata.normalize("NFC", _check_line("name", name, of="Budget"))


def _check_line(parameter: str, value: Any, *, of: str) -> str:
    if (
        isinstance(value, str)
        and value
        and value == value.strip()
        and not any(unicodedata.category(sign) in _NO_LINE for sign in value)
    ):
        return str(value)
    shown = repr(value) if len(repr(value)) <= 60 else f"a {type(value).__name__}"
    raise ParameterError(
        f"The '{parameter}' parameter of {of} must be a line of text without blanks at its ends, got {shown}.",
        parameter=parameter,
        value=value,
    )


def _exact(value: float) -> Fraction:
    """The number that is written for a float: of all decimals that read back as this float, the shortest."""
    return Fraction(repr(value))


def _round(exact: Fraction, towards: float) -> float:
    """The float whose decimal is this number, else the next one on the side of ``towards``."""
    value = float(exact)
    while (_exact(value) < exact) if towards > exact else (_exact(value) > exact):
        value = math.nextafter(value, towards)
    return value


def _digest_after(before: str, entry: Entry) -> str:
    texts = (repr(entry.epsilon), repr(entry.delta))
    return _digest(["entry", before, entry.number, *texts, entry.purpose, entry.time, entry.version])


def _digest(fields: list[Any]) -> str:
    return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()


def _now() -> str:
    # to the minute: digests are published, times can be found from them by trying, and how long a look at the data took
    # would tell something about them
    return datetime.now(UTC).isoformat(timespec="minutes")
