"""Task documents: what a collector asks, signed, as clients read it.

A document is ``{"signed": text, "signature": base64, "key": base64}``.  The signature is Ed25519 over
``"bosket-task-v1\\n"`` and the text, which is JSON: the plan with its digest, the promise in plain words, and what the
collector takes.  The key in the document says nothing of who signed it: a key that is known beforehand does.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from bosket import strict_json
from bosket.errors import DataError, PlanMismatchError
from bosket.plan import Plan

LABEL = b"bosket-task-v1\n"
VERSION = 1
_KEY_BYTES = 32


@dataclass(frozen=True)
class Task:
    """What was signed.

    task         the task's id
    plan         how records are randomized
    period       for how long a memoised answer stays the same; None for good
    participant  the promise in plain words, a sentence each
    key          the public key that the signature was checked by, in base64
    said         all that was signed
    """

    task: str
    plan: Plan
    period: str | None
    participant: tuple[str, ...]
    key: str
    said: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: Any, *, key: str | None = None) -> Task:
        """Check a document by ``key``, or by the key that it brings along, which proves nothing, where None."""
        known = strict_json.fields(document, of="a task document", required=("signed", "signature", "key"))
        text = strict_json.text(known["signed"], "signed", of="a task document")
        given = strict_json.text(known["key"], "key", of="a task document")
        if key is not None and _bytes(key, "key") != _bytes(given, "key"):
            raise DataError(
                "The task is signed by another key than the one that is known.",
                hint="Ask the owner of the study, by another way, whether the key was changed.",
            )
        _verify(text, _bytes(known["signature"], "signature"), _bytes(given, "key"))
        return cls._from_signed(text, given)

    @property
    def lacks_period(self) -> bool:
        """Whether coins are those of a period, and none was open when the task was signed."""
        periods = self.said.get("periods")
        return isinstance(periods, dict) and periods.get("name") is None and periods.get("versions") != "linked"

    @property
    def may_repeat(self) -> bool:
        """Whether several reports of a person may have the coins of one memo, by what is signed.

        Not where the plan counts one report, nor where each period has one report and coins of its own.
        """
        periods = self.said.get("periods")
        is_apart = (
            isinstance(periods, dict)
            and periods.get("versions") == "unlinked"
            and periods.get("reports") == 1
            and periods.get("name") == self.period
        )
        return self.plan.unit.reports > 1 and not is_apart

    def has_ended(self, today: date) -> bool:
        """Whether the period that the task was signed in seems to be over; False where it has none."""
        periods = self.said.get("periods")
        if not isinstance(periods, dict):
            return False
        try:
            began = date.fromisoformat(str(periods.get("name")))
        except ValueError:
            return False
        days = {"day": 1, "week": 7}.get(str(periods.get("every")))
        if days is None:  # a month: no period begins on a day that some months lack
            months = 12 * (today.year - began.year) + today.month - began.month
            return months - (today.day < began.day) > 0
        return (today - began).days >= days

    @classmethod
    def _from_signed(cls, text: str, key: str) -> Task:
        said = strict_json.parse(text, what="the signed task")
        if not isinstance(said, dict) or said.get("version") != VERSION:
            raise DataError(f"A signed task must be of version {VERSION}.")
        of = "a signed task"
        plan = Plan.from_json(strict_json.text(said.get("plan_text"), "plan_text", of=of))
        if plan.digest != strict_json.text(said.get("digest"), "digest", of=of):
            raise PlanMismatchError("The plan of the task does not have the digest that was signed.")
        period = said.get("period")
        sentences = strict_json.sequence(said.get("participant", []), "participant", of=of)
        return cls(
            task=strict_json.text(said.get("task"), "task", of=of),
            plan=plan,
            period=None if period is None else strict_json.text(period, "period", of=of),
            participant=tuple(strict_json.text(one, "participant", of=of) for one in sentences),
            key=key,
            said=said,
        )


def _bytes(text: Any, name: str) -> bytes:
    written = strict_json.text(text, name, of="a task document")
    try:
        return base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError):
        raise DataError(f"The {name} of a task document must be base64.") from None


def _verify(text: str, signature: bytes, key: bytes) -> None:
    if len(key) != _KEY_BYTES:
        raise DataError(f"The key of a task must have {_KEY_BYTES} bytes.")
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, LABEL + text.encode())
    except InvalidSignature:
        raise DataError("The signature of the task is not that of the key.") from None
