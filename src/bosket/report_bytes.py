"""Reports for sending: one report is a small frame of bytes, and a batch is one frame after the other.

    0x42                      one byte, ``B``
    version                   one byte, 1
    flags                     one byte; 1: drawn by seeded chance, a simulation; 2: a respondent's token follows the
                              payload; other bits are 0
    length of the payload     LEB128, unsigned, in its shortest form
    plan                      the first 8 bytes of the plan's digest
    payload                   the bytes of the report (:class:`~bosket.mechanisms.payload.Payload`), of a width that
                              the plan fixes
    token                     64 bytes, filled up with zeros, where the flag says so
    check                     CRC-32 (that of zlib) of all bytes before it in the frame, little-endian

A frame ends where its length says, so that frames can be put one behind the other without a count.  The form is
canonical: reports have one form, other bytes are refused, and a refusal names the first bad frame by its number and its
first byte, never by what is in it.  Frames of one batch have one set of flags: simulated reports never hide among real
ones, and either all reports name a respondent or none does.

The digest's 8 bytes and the check tell an honest mistake.  Neither authenticates anything, and nor does the flag of a
simulation: whoever sends reports can send what they like, and the mechanism's bound on the weight of one report is what
holds.

The JSON form has the same frames in base64: ``{"bosket_reports": 1, "plan": digest, "reports": [frame, ...]}``.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import dataclass

import numpy as np

from bosket import strict_json
from bosket.errors import DataError, PlanMismatchError
from bosket.mechanisms.columns import ByteRows, ColumnValues
from bosket.mechanisms.payload import Batch
from bosket.plan import Plan
from bosket.respondents import COLUMN

MAGIC, VERSION = 0x42, 1
SEEDED, NAMED = 1, 2
"""Flags: drawn by seeded chance; a respondent's token follows."""
SIMULATED = "seeded: a simulation that protects nobody"
"""What is known of the chance of reports with the flag of a simulation."""
MEDIA_TYPE = "application/vnd.bosket.reports"
_PREFIX = 8  # bytes of the plan's digest
_CHECK = 4
_LONGEST_LENGTH = 5  # bytes of LEB128


@dataclass(frozen=True)
class Frames:
    """Sound frames, a row each; the reports in them may still be none of the plan."""

    plan: Plan
    rows: ByteRows
    flags: int

    @property
    def randomness(self) -> str:
        """How the chance came about, as far as a flag says it."""
        return SIMULATED if self.flags & SEEDED else "secure"

    def read(self, start: int = 0, stop: int | None = None) -> tuple[Batch, ColumnValues | None]:
        """Some of the reports, sound column by column, and tokens of respondents if there are any."""
        rows, payload = self.rows[start:stop], self.plan.channel.payload
        first = len(head(self.plan, self.flags))
        last = first + payload.width
        batch = payload.from_rows(rows[:, first:last])
        return batch, COLUMN.checked(COLUMN.from_rows(rows[:, last:-_CHECK])) if self.flags & NAMED else None

    def place(self, number: int) -> str:
        """Where report ``number``, counted from 0, is: for messages."""
        return _place(number, self.rows.shape[1])


def head(plan: Plan, flags: int) -> bytes:
    """What every frame of the plan begins with."""
    return bytes([MAGIC, VERSION, flags]) + _leb128(plan.channel.payload.width) + bytes.fromhex(plan.digest)[:_PREFIX]


def frame_width(plan: Plan, *, named: bool = False) -> int:
    """Bytes of one frame of the plan."""
    return len(head(plan, 0)) + plan.channel.payload.width + named * COLUMN.width + _CHECK


def pack(plan: Plan, batch: Batch, randomness: str, tokens: ColumnValues | None = None) -> bytes:
    """The frames of reports, with the tokens of their respondents if there are any."""
    flags = SEEDED * (randomness != "secure") | NAMED * (tokens is not None)
    start, width = head(plan, flags), frame_width(plan, named=tokens is not None)
    rows = np.empty((len(batch), width), np.uint8)
    rows[:, : len(start)] = np.frombuffer(start, np.uint8)
    at = len(start) + plan.channel.payload.width
    rows[:, len(start) : at] = plan.channel.payload.to_rows(batch)
    if tokens is not None:
        rows[:, at:-_CHECK] = COLUMN.to_rows(tokens)
    rows[:, -_CHECK:] = _checks(rows).view(np.uint8).reshape(-1, _CHECK)
    return rows.tobytes()


def split(plan: Plan, data: bytes) -> Frames:
    """The frames, all of one plan and one set of flags, with a sound check; other bytes are refused."""
    flags = data[2] & (SEEDED | NAMED) if len(data) > 2 else 0
    width, start = frame_width(plan, named=bool(flags & NAMED)), head(plan, flags)
    whole = len(data) // width
    rows = np.frombuffer(data, np.uint8, whole * width).reshape(whole, width)
    is_strange = (rows[:, : len(start)] != np.frombuffer(start, np.uint8)).any(axis=1)
    first = int(np.argmax(is_strange)) if is_strange.any() else whole
    is_broken = _checks(rows[:first]) != np.ascontiguousarray(rows[:first, -_CHECK:]).view("<u4").ravel()
    if is_broken.any():
        raise DataError(f"{_place(int(np.argmax(is_broken)), width)} does not have the check of its bytes.")
    if first * width < len(data):
        raise _no_frame(plan, data[first * width :], flags, _place(first, width))
    return Frames(plan, rows, flags)


def to_json(plan: Plan, data: bytes) -> str:
    """Frames as JSON."""
    width = frame_width(plan, named=len(data) > 2 and bool(data[2] & NAMED))
    frames = [base64.b64encode(data[at : at + width]).decode() for at in range(0, len(data), width)]
    value = {"bosket_reports": VERSION, "plan": plan.digest, "reports": frames}
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def from_json(plan: Plan, text: str | bytes) -> bytes:
    """The frames of :func:`to_json`; each may still be none of the plan."""
    value = strict_json.parse(text, what="the reports")
    known = strict_json.fields(value, of="reports", required=("bosket_reports", "plan", "reports"))
    if strict_json.whole(known["bosket_reports"], "bosket_reports", of="reports") != VERSION:
        raise DataError(f"Reports as JSON must be of version {VERSION}.")
    if strict_json.text(known["plan"], "plan", of="reports") != plan.digest:
        raise PlanMismatchError(f"These reports were not made under plan {plan.digest[:12]}.")
    frames = []
    for number, one in enumerate(strict_json.sequence(known["reports"], "reports", of="reports"), 1):
        written = strict_json.text(one, "reports", of="reports")
        try:
            frame = base64.b64decode(written, validate=True)
        except (binascii.Error, ValueError):
            frame = b""
        is_one = len(frame) > 2 and len(frame) == frame_width(plan, named=bool(frame[2] & NAMED))
        if not is_one or base64.b64encode(frame).decode() != written:
            raise DataError(f"Report {number} must be one frame of the plan in base64.")
        frames.append(frame)
    return b"".join(frames)


def _no_frame(plan: Plan, data: bytes, flags: int, where: str) -> DataError:
    """What is wrong where a frame of the plan should begin."""
    hint = "Reports.to_bytes makes such bytes; files are read with Reports.read."
    if data[0] != MAGIC:
        return DataError(f"{where} does not begin as a report.", hint=hint)
    if len(data) > 1 and data[1] != VERSION:
        return DataError(f"{where} must be of version {VERSION}.", hint=hint)
    if len(data) > 2 and data[2] != flags:
        if data[2] & ~(SEEDED | NAMED):
            return DataError(f"{where} has flags that nobody knows.")
        return DataError(f"{where} must have the flags of the first: simulated or named as it is, or not.")
    stop = next((at for at, byte in enumerate(data[3 : 3 + _LONGEST_LENGTH], 3) if byte < 0x80), None)
    if stop is None or len(data) <= stop + _PREFIX:
        return DataError(f"{where} is cut off.")
    if data[stop + 1 : stop + 1 + _PREFIX] != bytes.fromhex(plan.digest)[:_PREFIX]:
        return PlanMismatchError(f"{where} was not made under plan {plan.digest[:12]}.")
    if data[3 : stop + 1] != _leb128(plan.channel.payload.width):
        return DataError(f"{where} must have a payload of {plan.channel.payload.width} bytes, written shortest.")
    return DataError(f"{where} is cut off.")


def _place(number: int, width: int) -> str:
    return f"Report {number + 1}, from byte {number * width} on,"


def _checks(rows: ByteRows) -> ColumnValues:
    """The CRC-32 of each row without its last four bytes."""
    n, width = rows.shape
    view = np.ascontiguousarray(rows).reshape(-1).data
    found = (zlib.crc32(view[at : at + width - _CHECK]) for at in range(0, n * width, width))
    return np.fromiter(found, "<u4", n)


def _leb128(number: int) -> bytes:
    """A whole number in groups of seven bits, the lowest first; bit 7 says that another follows."""
    parts = []
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
