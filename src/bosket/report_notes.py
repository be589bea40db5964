"""What a report file says of itself: its plan with a digest, how the chance came about, who wrote it.

Whoever wrote the file, the plan is read strictly and the rest is a few printable letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bosket import strict_json
from bosket._version import __version__
from bosket.checks import check_integer
from bosket.errors import BosketError, DataError, ParameterError, PlanMismatchError
from bosket.plan import Plan

_PREFIX = b"bosket."
_LONGEST_NOTE = 200


def notes_of(file: Any) -> dict[str, bytes]:
    """What the file says of itself in bosket's words: ``plan``, ``digest``, ``randomness``, ``version``, ``label``."""
    metadata: Mapping[bytes, bytes] = file.schema_arrow.metadata or {}
    return {
        key.removeprefix(_PREFIX).decode("ascii", "replace"): value
        for key, value in metadata.items()
        if key.startswith(_PREFIX)
    }


def metadata_of(plan: Plan, randomness: str, path: str | Path) -> dict[str, str]:
    """What a file is to say of itself; a plan too long to be read back is refused."""
    most = strict_json.MOST_CHARACTERS
    if len(plan.json.encode()) > most:
        raise DataError(
            f"Cannot write {path}: its plan would take more than {most} bytes, and could not be read back.",
            path=path,
            hint="Declare fewer items, or shorter labels.",
        )
    return {
        "bosket.plan": plan.json,
        "bosket.digest": plan.digest,
        "bosket.randomness": randomness,
        "bosket.version": __version__,
    }


def check_options(plan: object, max_bytes: object) -> None:
    """Refuse what is given for a plan and is none, and likewise of the cap."""
    if max_bytes is not None:
        check_integer("max_bytes", max_bytes, least=1)
    if plan is not None:
        check_plan(plan)


def check_plan(plan: object) -> None:
    """Refuse what is given for a plan and is none."""
    if not isinstance(plan, Plan):
        raise ParameterError(
            f"The 'plan' parameter must be a Plan, got a {type(plan).__name__}.",
            parameter="plan",
            value=plan,
            hint="Read one with Plan.from_json(text).",
        )


def plan_of(notes: Mapping[str, bytes], path: Path, *, expected: Plan | None) -> Plan:
    """The plan that the file holds; with ``expected``, refused if it is another."""
    if "plan" not in notes:
        raise DataError(
            f"{path} does not hold reports: it has no plan.",
            path=path,
            hint="Raw baskets are read with bosket.Baskets.read.",
        )
    if expected is not None and notes["plan"] == expected.json.encode() and _names(notes, expected):
        return expected  # the very text: it need not be read again
    try:
        plan = Plan.from_json(notes["plan"])
    except BosketError as problem:
        raise DataError(f"The plan in {path} cannot be used: {problem}", path=path, hint=problem.hint) from None
    if not _names(notes, plan):
        raise PlanMismatchError(f"The plan in {path} does not match its digest.", path=path)
    if expected is not None and expected.digest != plan.digest:
        raise PlanMismatchError(
            f"The reports in {path} were made under plan {plan.digest[:12]}, not under {expected.digest[:12]}.",
            path=path,
        )
    return plan


def _names(notes: Mapping[str, bytes], plan: Plan) -> bool:
    """Whether the file names the digest of a plan."""
    return plan.digest.encode() == notes.get("digest")


def randomness_of(notes: Mapping[str, bytes]) -> str:
    """How the chance came about, as the file says: ``secure``, or one line that anyone may have written."""
    return chance_said(notes.get("randomness", b""))


def chance_said(note: bytes) -> str:
    """A note on how the chance came about: ``secure`` only where it says just that, else one printable line."""
    if note == b"secure":
        return "secure"
    text = note[: 4 * _LONGEST_NOTE].decode("utf-8", "replace")
    line = "".join(letter if letter.isprintable() else " " for letter in text)[:_LONGEST_NOTE].strip()
    return "unknown" if line in ("", "secure") else line
