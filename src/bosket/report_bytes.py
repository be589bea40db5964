"""Reports as bytes, for sending: a head that names the plan and the chance, then report after report.

    BSKR 1                    five bytes: four letters and the version
    digest of the plan        32 bytes
    note on the chance        its length in two bytes, little-endian, then UTF-8: ``secure``, or one printable line
    reports                   each in the bytes of the plan's payload, to the end

The form is canonical: reports have one form, and other bytes are refused.  Nothing in it claims a number, so what is
made of it is bounded by its length.  The note is not authenticated, as in files.
"""

from __future__ import annotations

from bosket.errors import DataError, PlanMismatchError
from bosket.mechanisms.payload import Batch
from bosket.plan import Plan
from bosket.report_notes import chance_said

_HEAD = b"BSKR\x01"
_DIGEST = 32
_NOTE = len(_HEAD) + _DIGEST + 2


def pack(plan: Plan, batch: Batch, randomness: str) -> bytes:
    """The bytes of reports."""
    note = chance_said(randomness.encode("utf-8", "replace")).encode()
    parts = [_HEAD, bytes.fromhex(plan.digest), len(note).to_bytes(2, "little"), note]
    return b"".join([*parts, plan.channel.payload.to_bytes(batch)])


def unpack(plan: Plan, data: bytes) -> tuple[Batch, str]:
    """The reports, sound column by column, and how the chance came about; other bytes are refused."""
    if not data.startswith(_HEAD) or len(data) < _NOTE:
        raise DataError(
            "These are not the bytes of reports: they do not begin as such.",
            hint="Reports.to_bytes makes some; files are read with Reports.read.",
        )
    digest = data[len(_HEAD) : len(_HEAD) + _DIGEST].hex()
    if digest != plan.digest:
        raise PlanMismatchError(
            f"These reports were made under plan {digest[:12]}, not under {plan.digest[:12]}.",
        )
    start = _NOTE + int.from_bytes(data[_NOTE - 2 : _NOTE], "little")
    note = data[_NOTE:start]
    randomness = chance_said(note)
    if len(data) < start or randomness.encode() != note:
        raise DataError("The bytes of these reports must say how the chance came about, in one printable line.")
    return plan.channel.payload.from_bytes(data[start:]), randomness
