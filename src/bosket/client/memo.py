"""Memoised answers: the same record gives the same report, by coins that come from a secret of the device.

RAPPOR's permanent answer (Erlingsson, Pihur and Korolova, CCS 2014), for any mechanism.  The coins of a record are the
keystreams (:class:`~bosket.randomness.Keyed`) under

    HMAC-SHA-256(secret, "bosket-memo-v1\\n" || digest of the plan || period || record)

where the period, text in UTF-8, has its length in four bytes before it, and the record is a bit for each item, item i
being bit i mod 8 of byte i // 8.  The browser's client makes the same bytes.

A secret is one person's.  Under one secret, equal records of two people would give equal reports, whose joint law is
not that of two: who knows one record and sees both reports would know the other, whatever epsilon is.

What it protects: reports of one unchanged record cannot be averaged, however often they are sent, and a report that is
sent again after a fault on the way tells nothing more.  What it does not: a report that changes shows that the record
did, each new record spends epsilon afresh, equal reports can be linked to each other, and who has the secret can
try all records.  A new period draws afresh, and is a further report of the person.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from bosket.errors import ParameterError
from bosket.plan import Plan
from bosket.randomness import Keyed

_LABEL = b"bosket-memo-v1\n"
LEAST_SECRET = 32
"""Bytes of a secret, at least."""


@dataclass(frozen=True, slots=True)
class Memo:
    """The secret of a device, 32 random bytes or more, and the period for which answers stay the same."""

    secret: bytes = field(repr=False)
    period: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.secret, bytes) or len(self.secret) < LEAST_SECRET:
            raise ParameterError(
                f"The 'secret' of a memo must be at least {LEAST_SECRET} random bytes.",
                parameter="secret",
                value=None,  # it is one
                hint="secrets.token_bytes(32) makes one; it stays on the device.",
            )
        if self.period is not None and not isinstance(self.period, str):
            raise ParameterError(
                "The 'period' of a memo must be text, such as '2027-03', or None.", parameter="period", value=None
            )

    def coins(self, plan: Plan, record: bytes) -> Keyed:
        """The chance of one record, given as its packed bits."""
        period = (self.period or "").encode()
        message = _LABEL + bytes.fromhex(plan.digest) + len(period).to_bytes(4, "little") + period + record
        return Keyed(hmac.new(self.secret, message, hashlib.sha256).digest())
