"""Reports as bytes, for sending: a head that names the plan and the chance, then report after report.

    BSKR 1                    five bytes: four letters and the version; 2 where reports name their respondents
    digest of the plan        32 bytes
    note on the chance        its length in two bytes, little-endian, then UTF-8: ``secure``, or one printable line
    reports                   each in the bytes of the plan's payload, to the end; in version 2 after each the token of
                              its respondent, filled up with zeros to 64 bytes

The form is canonical: reports have one form, and other bytes are refused.  Nothing in it claims a number, so what is
made of it is bounded by its length.  The note is not authenticated, as in files.
"""

from __future__ import annotations

import numpy as np

from bosket.errors import DataError, PlanMismatchError
from bosket.mechanisms.columns import ColumnValues
from bosket.mechanisms.payload import Batch
from bosket.plan import Plan
from bosket.report_notes import chance_said
from bosket.respondents import COLUMN

_HEAD = b"BSKR\x01"
_NAMED = b"BSKR\x02"
_DIGEST = 32
_NOTE = len(_HEAD) + _DIGEST + 2


def pack(plan: Plan, batch: Batch, randomness: str, tokens: ColumnValues | None = None) -> bytes:
    """The bytes of reports, with the tokens of their respondents if there are any."""
    note = chance_said(randomness.encode("utf-8", "replace")).encode()
    head = _HEAD if tokens is None else _NAMED
    parts = [head, bytes.fromhex(plan.digest), len(note).to_bytes(2, "little"), note]
    payload = plan.channel.payload
    if tokens is None:
        return b"".join([*parts, payload.to_bytes(batch)])
    return b"".join([*parts, np.hstack([payload.to_rows(batch), COLUMN.to_rows(tokens)]).tobytes()])


def unpack(plan: Plan, data: bytes) -> tuple[Batch, str, ColumnValues | None]:
    """The reports, sound column by column, how the chance came about, and tokens of respondents if there are any.

    Other bytes are refused.
    """
    if not data.startswith((_HEAD, _NAMED)) or len(data) < _NOTE:
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
    if data.startswith(_HEAD):
        return plan.channel.payload.from_bytes(data[start:]), randomness, None
    batch, tokens = _named(plan, data[start:])
    return batch, randomness, tokens


def _named(plan: Plan, data: bytes) -> tuple[Batch, ColumnValues]:
    """Reports, each with the token of its respondent after it."""
    payload = plan.channel.payload
    width = payload.width + COLUMN.width
    if len(data) % width:
        raise DataError(f"The bytes of reports with respondents must be a multiple of {width}, got {len(data)}.")
    rows = np.frombuffer(data, np.uint8).reshape(-1, width)
    tokens = COLUMN.from_rows(rows[:, payload.width :])
    return payload.from_rows(rows[:, : payload.width]), COLUMN.checked(tokens)
