"""Accounts of a privacy budget as values: what was granted, what was spent on what, what is left.

Releases compose by basic composition: epsilons add, and so do deltas, also when a later release is chosen in the light
of earlier ones (Rogers, Roth, Ullman and Vadhan, NIPS 2016: the sum is a valid privacy filter).

A number stands for the decimal that is written for it, the shortest one of the float: 0.1 is one tenth, so that ten
times 0.1 is exactly 1.  Sums and comparisons are exact fractions of these decimals.  Only what is shown is rounded,
towards less left.

Parts of one release can be paid for together: all of them or none, with one time.  A part that no look was made with
can be handed back by an entry that names it, with the time of that entry: what was not asked was not spent (the filter
counts what is asked), and no time tells how long the looks before it took.

Every entry carries a digest over itself and the digest before it, the first one over the terms of the account.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, NamedTuple

from bosket._version import __version__
from bosket.checks import check_between, check_choice, check_not_negative
from bosket.errors import BudgetExceeded, ParameterError

RELATIONS = {
    "add-remove": "data sets that differ by one record, added or removed",
    "replace": "data sets of one size that differ in one record, replaced by another",
}
"""The neighbouring relations of records, in words."""
OF_PERSONS = {"add-remove": "add-remove-persons", "replace": "replace-persons"}
"""The same where a person may have several records.

They do not imply each other: one record more of a person who is there is that person in place of itself, which costs a
release for persons up to twice its epsilon; and a release for records costs a person epsilon for each of them.
"""
NEIGHBOURS = {
    **RELATIONS,
    OF_PERSONS["add-remove"]: "data sets that differ by one person, added or removed with all their records",
    OF_PERSONS["replace"]: "data sets that differ in one person, replaced by another with all their records",
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


class Part(NamedTuple):
    """One part of a release that is paid for together with others."""

    epsilon: float
    purpose: str
    delta: float = 0.0


Parts = Sequence[tuple[float, str] | tuple[float, str, float]]
"""Parts as callers write them: an epsilon, a purpose, and a delta where there is one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One release that was paid for, or the return of an entry that no look was made with."""

    number: int
    """From 1."""
    epsilon: float
    delta: float
    purpose: str
    """Words and parameters of the one who released: nothing that was read off the data."""
    time: str
    """UTC, as ISO 8601 has it."""
    version: str
    """Of bosket."""
    digest: str
    """SHA-256 over this entry and the digest before it, in hexadecimal."""
    returns: int | None = None
    """The number of the entry that this one hands back; amounts, purpose and time are those of that entry."""


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
        account = cls(check_name(name), *total, known, now(), __version__, "")
        return replace(account, digest=account._own_digest())

    @property
    def spent(self) -> Amount:
        """The sum of the entries that were not returned; rounded up where no float is that sum."""
        return Amount(*(_round(value, math.inf) for value in self._exact_spent()))

    @property
    def remaining(self) -> Amount:
        """What is left; rounded down where no float is that, so that it can always be spent."""
        return Amount(*(_round(value, 0.0) for value in self._exact_remaining()))

    @property
    def head(self) -> str:
        """The digest of the last entry, of the terms where there is none: it stands for all the account up to here."""
        return self.entries[-1].digest if self.entries else self.digest

    def spend(self, epsilon: float, *, delta: float, purpose: str, time: str | None = None) -> Account:
        """This account with one entry more, of this time or of now, or :class:`BudgetExceeded`."""
        return self._with_parts((Part(epsilon, purpose, delta),), time, of="spend")

    def spend_together(self, parts: Parts, *, time: str | None = None) -> Account:
        """This account with an entry for each part, all of one time, or :class:`BudgetExceeded`."""
        return self._with_parts(check_parts(parts), time, of="spend_together")

    def give_back(self, entry: Entry) -> Account:
        """This account with an entry that hands back the whole of ``entry``, which must be one of its own."""
        if entry not in self.entries or entry.returns is not None:
            raise not_returnable(entry, f"an entry of the budget {self.name!r} that was spent")
        if any(other.returns == entry.number for other in self.entries):
            raise not_returnable(entry, "an entry that was not returned yet")
        return self._with(replace(entry, number=len(self.entries) + 1, version=__version__, returns=entry.number))

    def _with_parts(self, parts: Sequence[Part], time: str | None, *, of: str) -> Account:
        amounts = [check_amount(part.epsilon, part.delta, of=of) for part in parts]
        purposes = [_check_line("purpose", part.purpose, of=of) for part in parts]
        asked = [sum(map(_exact, column), Fraction(0)) for column in zip(*amounts, strict=True)]
        if any(wish > left for wish, left in zip(asked, self._exact_remaining(), strict=True)):
            left, wish = self.remaining, Amount(*(_round(value, math.inf) for value in asked))
            has_none = wish.delta > 0 and not left.delta  # however much epsilon is left
            raise BudgetExceeded(
                f"A release from the budget {self.name!r} must cost at most {left}"
                f"{' and no delta' if has_none else ''}, which is left, got {wish}.",
                name=self.name,
                asked=wish,
                remaining=left,
                hint="Ask with a delta of 0, or pay from a budget that has a delta left."
                if has_none and wish.epsilon <= left.epsilon
                else "Ask for less, or work with what was already released: that costs nothing.",
            )
        result, time = self, time or now()
        for amount, purpose in zip(amounts, purposes, strict=True):
            result = result._with(Entry(len(result.entries) + 1, *amount, purpose, time, __version__, ""))
        return result

    def _with(self, entry: Entry) -> Account:
        return replace(self, entries=(*self.entries, replace(entry, digest=_digest_after(self.head, entry))))

    def continues(self, earlier: Account) -> bool:
        """Whether it is the same account, with what ``earlier`` had spent still in it."""
        known = len(earlier.entries)
        return replace(self, entries=self.entries[:known]).head == earlier.head and len(self.entries) >= known

    def adds_up(self) -> bool:
        """Whether every digest is that of its row and the one before, and no more was ever spent than granted."""
        digest = self._own_digest()
        is_sound = digest == self.digest
        left, returned = [_exact(self.epsilon), _exact(self.delta)], set[int]()
        for number, entry in enumerate(self.entries, 1):
            digest = _digest_after(digest, entry)
            is_sound = is_sound and digest == entry.digest and entry.number == number
            is_sound = is_sound and 0 < entry.epsilon < math.inf and 0 <= entry.delta < 1
            if entry.returns is not None:
                is_sound = is_sound and entry.returns not in returned and self._is_return(entry)
                returned.add(entry.returns)
            if not is_sound:
                return False
            left = [have - change for have, change in zip(left, _exact_change(entry), strict=True)]
            is_sound = min(left) >= 0
        return is_sound

    def _is_return(self, entry: Entry) -> bool:
        """Whether this entry hands back an earlier one that was spent, the whole of it."""
        number = entry.returns
        if not isinstance(number, int) or not 1 <= number < entry.number:
            return False
        spent = self.entries[number - 1]
        return spent.returns is None and all(
            getattr(spent, name) == getattr(entry, name) for name in ("epsilon", "delta", "purpose", "time")
        )

    def _exact_spent(self) -> tuple[Fraction, Fraction]:
        epsilon = delta = Fraction(0)
        for entry in self.entries:
            change = _exact_change(entry)
            epsilon, delta = epsilon + change[0], delta + change[1]
        return epsilon, delta

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


def check_parts(parts: Any) -> tuple[Part, ...]:
    """One part or more, each an epsilon with its purpose, and a delta where there is one."""
    if isinstance(parts, Sequence) and parts and all(isinstance(part, tuple) and len(part) in (2, 3) for part in parts):
        return tuple(Part(*part) for part in parts)
    raise ParameterError(
        "The 'parts' parameter of spend_together must be pairs of an epsilon and a purpose, one or more.",
        parameter="parts",
        value=parts,
        hint='spend_together([(0.1, "lengths"), (0.9, "counts")]); Part(0.9, "counts", delta=1e-9) has a delta too.',
    )


def not_returnable(entry: Any, wanted: str) -> ParameterError:
    """The error for what cannot be handed back."""
    got = f"entry {entry.number}" if isinstance(entry, Entry) else f"a {type(entry).__name__}"
    return ParameterError(
        f"The 'entry' parameter of give_back must be {wanted}, got {got}.",
        parameter="entry",
        value=entry,
        hint="What is not returned stays spent, which is safe.",
    )


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
    try:
        value = float(exact)
    except OverflowError:  # no float is that large
        return math.inf
    while (_exact(value) < exact) if towards > exact else (_exact(value) > exact):
        value = math.nextafter(value, towards)
    return value


def _exact_change(entry: Entry) -> tuple[Fraction, Fraction]:
    """What an entry adds to what is spent; less than nothing where it returns another."""
    sign = 1 if entry.returns is None else -1
    return sign * _exact(entry.epsilon), sign * _exact(entry.delta)


def _digest_after(before: str, entry: Entry) -> str:
    kind = ["entry"] if entry.returns is None else ["return", entry.returns]
    texts = (repr(entry.epsilon), repr(entry.delta))
    return _digest([*kind, before, entry.number, *texts, entry.purpose, entry.time, entry.version])


def _digest(fields: list[Any]) -> str:
    return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()


def now() -> str:
    """UTC, as ISO 8601 has it, to the minute."""
    # to the minute: digests are published, times can be found from them by trying, and how long a look at the data took
    # would tell something about them
    return datetime.now(UTC).isoformat(timespec="minutes")
