"""What an audit says: findings, each with what was looked at and how seldom it convicts the innocent, and a verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bosket._version import __version__

VERSION = 1
"""Of the JSON."""
CONVICTED = "convicted"
ACQUITTED = "nothing found"
NOT_LOOKED = "not looked at"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    check: str
    """What, in a few words."""
    verdict: str
    """``CONVICTED``, ``ACQUITTED``, or ``NOT_LOOKED`` where the plan leaves nothing to look at."""
    words: str
    """What was found, in a sentence that a manager can read."""
    tests: int = 0
    """Comparisons that were made."""
    failure: float = 0.0
    """The probability, at most, with which an honest study is convicted by this."""
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def is_convicted(self) -> bool:
        return self.verdict == CONVICTED

    def to_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "verdict": self.verdict,
            "words": self.words,
            "tests": self.tests,
            "failure": self.failure,
            "figures": self.figures,
        }


@dataclass(frozen=True)
class Verdict:
    """All findings of an audit.  ``print(verdict)`` shows them; ``is_convicted`` is the answer in one bit."""

    subject: str
    """What was audited."""
    findings: tuple[Finding, ...]
    about: dict[str, Any] = field(default_factory=dict)
    """The plan's digest, trials and the like."""

    @property
    def is_convicted(self) -> bool:
        return any(one.is_convicted for one in self.findings)

    @property
    def failure(self) -> float:
        """The probability, at most, that an honest study is convicted."""
        return sum(one.failure for one in self.findings)

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        convicted = [one for one in self.findings if one.is_convicted]
        rate = f"An honest study would be convicted with probability {self.failure:.1g} at most."
        if convicted:
            return f"CONVICTED: the plan is broken by {self.subject}. {convicted[0].words} {rate}"
        looked = sum(one.verdict == ACQUITTED for one in self.findings)
        checks = "1 check" if looked == 1 else f"{looked} checks"
        return (
            f"Nothing found: {checks} of {self.subject} passed. {rate} It is no proof of privacy; the plan's card is."
        )

    def __getitem__(self, check: str) -> Finding:
        """The finding of a check."""
        return next(one for one in self.findings if one.check == check)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "bosket": __version__,
            "subject": self.subject,
            "convicted": self.is_convicted,
            "sentence": self.sentence,
            "failure": self.failure,
            "findings": [one.to_json() for one in self.findings],
            "about": self.about,
        }

    @property
    def json(self) -> str:
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        marks = {CONVICTED: "CONVICTED", ACQUITTED: "passed", NOT_LOOKED: "skipped"}
        lines = [self.sentence]
        lines += [f"  {marks[one.verdict]:<10}{one.check}: {one.words}" for one in self.findings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        found = sum(one.is_convicted for one in self.findings)
        return f"Verdict({self.subject}: {found} of {len(self.findings)} checks convict)"


def together(subject: str, parts: Sequence[Verdict]) -> Verdict:
    """Several audits of one study as one."""
    about: dict[str, Any] = {}
    for part in parts:
        about |= part.about
    return Verdict(subject, tuple(one for part in parts for one in part.findings), about)
