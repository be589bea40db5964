"""Studies in which people answer again and again: so many periods, and so many reports of a person in each.

    [tasks.periods]
    first = 2027-01-01          # the day on which the first begins, at midnight UTC
    every = "month"             # or "week", "day"
    number = 12
    reports = 1                 # of a person in each period
    versions = "unlinked"

The plan must count all of them: ``number`` times ``reports`` at most are the ``reports`` of its unit, of which its card
tells what they cost together.  What a person sent is counted by a token, and what is too much is refused.  The store
keeps the calendar under which a task was opened: it may get more periods at its end, and nothing else may change.

unlinked  each period has tokens of its own and coins of its own: nothing ties the reports of two periods together, and
          who has a token for each period is known to those who gave them out alone
linked    one token serves all periods, and the same record gives the same report in each: a person whose record stays
          tells no more by answering again, but equal reports can be seen to be one person's, and the store knows how
          often a token was used, and in which period last
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple

from bosket.checks import check_choice, check_integer
from bosket.errors import ParameterError

_DAYS = {"day": 1, "week": 7}
_LAST_DAY = 28  # that every month has
_MOST = 1 << 16


class TokenBudget(NamedTuple):
    """What one token may bring at a time: in the present period, by its name, and in all."""

    period: str
    most: int
    total: int
    is_linked: bool = True

    def is_for(self, period: str | None) -> bool:
        """Whether a token that was issued for this period, or with None for all, may be used in the present one."""
        return period == self.period or (self.is_linked and period is None)


@dataclass(frozen=True)
class Periods:
    """When periods begin and how many reports a person may send in each; a period is named by its first day."""

    first: date
    every: Literal["day", "week", "month"]
    number: int
    reports: int = 1
    versions: Literal["linked", "unlinked"] = "unlinked"

    def __post_init__(self) -> None:
        if isinstance(self.first, datetime) or not isinstance(self.first, date):
            raise ParameterError(
                "The 'first' day of periods must be a date, such as 2027-01-01.", parameter="first", value=None
            )
        check_choice("every", self.every, ("day", "week", "month"), of="periods")
        check_choice("versions", self.versions, ("linked", "unlinked"), of="periods")
        for name in ("number", "reports"):
            check_integer(name, getattr(self, name), least=1, most=_MOST, of="periods")
        if self.every == "month" and self.first.day > _LAST_DAY:
            raise ParameterError(
                f"The 'first' day of monthly periods must be one that all months have, up to the {_LAST_DAY}th.",
                parameter="first",
                value=self.first,
            )
        try:
            self._day(self.number)
        except (ValueError, OverflowError):
            raise ParameterError(
                "The 'number' of periods must end before the year 10000.", parameter="number", value=self.number
            ) from None

    @property
    def described(self) -> dict[str, Any]:
        """What JSON says of them."""
        return asdict(self) | {"first": self.first.isoformat()}

    @property
    def is_linked(self) -> bool:
        return self.versions == "linked"

    def _day(self, at: int) -> date:
        """The day on which period ``at`` begins, counted from 0."""
        if self.every == "month":
            months = self.first.month - 1 + at
            return self.first.replace(year=self.first.year + months // 12, month=months % 12 + 1)
        return self.first + timedelta(days=at * _DAYS[self.every])

    def start(self, at: int) -> datetime:
        """When period ``at`` begins; the last one ends at ``start(number)``."""
        day = self._day(at)
        return datetime(day.year, day.month, day.day, tzinfo=UTC)

    @property
    def end(self) -> datetime:
        return self.start(self.number)

    def at(self, now: datetime) -> int | None:
        """The number of the present period; None before the first and after the last."""
        if not self.start(0) <= now < self.end:
            return None
        today = now.astimezone(UTC).date()
        if self.every == "month":
            months = (today.year - self.first.year) * 12 + today.month - self.first.month
            return months - (today.day < self.first.day)
        return (today - self.first).days // _DAYS[self.every]

    def name(self, at: int | None) -> str | None:
        return None if at is None else self._day(at).isoformat()

    def number_of(self, name: str) -> int | None:
        """The number of the period of this name; None where there is none."""
        try:
            day = date.fromisoformat(name)
            found = self.at(datetime(day.year, day.month, day.day, tzinfo=UTC))
        except ValueError:
            return None
        return found if self.name(found) == name else None


def calendar_text(periods: Periods | None) -> str:
    """The calendar of a task as a store keeps it."""
    return json.dumps(None if periods is None else periods.described)


def goes_on(kept: str, periods: Periods | None) -> bool:
    """Whether these periods are those that a store kept, or the same with more at the end."""
    known = json.loads(kept)
    if known is None or periods is None:
        return known is None and periods is None
    said = periods.described
    return bool(known["number"] <= said["number"] and known | {"number": 0} == said | {"number": 0})
