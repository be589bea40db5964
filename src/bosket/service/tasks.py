"""A task as it is served: its plan in the present phase, signed, and what may still be sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from bosket.errors import PlanMismatchError
from bosket.plan import Plan
from bosket.service.settings import TaskSettings
from bosket.service.signing import SigningKey
from bosket.service.store import PhaseState


@dataclass(frozen=True)
class ServedTask:
    """A task in one phase.  A new phase makes another one."""

    settings: TaskSettings
    plans: tuple[Plan, ...]
    """Of all phases so far, the first first."""
    is_closed: bool
    key: SigningKey

    @property
    def phase(self) -> int:
        return len(self.plans)

    @property
    def plan(self) -> Plan:
        """That of the present phase."""
        return self.plans[-1]

    def is_open(self, now: datetime | None = None) -> bool:
        closes = self.settings.closes
        return not self.is_closed and (closes is None or (now or datetime.now(UTC)) < closes)

    @cached_property
    def text(self) -> str:
        """What clients are told, and what is signed."""
        plan, settings = self.plan, self.settings
        promise = plan.guarantee
        value: dict[str, Any] = {
            "version": 1,
            "task": settings.id,
            "title": settings.title,
            "plan": json.loads(plan.json),
            "plan_text": plan.json,
            "digest": plan.digest,
            "phase": self.phase,
            "period": settings.period,
            "reports_per_person": plan.unit.reports,
            "tokens": settings.tokens,
            "closes": None if settings.closes is None else settings.closes.isoformat(),
            "participant": promise.for_participants().split("\n"),
            "card": promise.card(),
            "min_batch": settings.min_batch,
        }
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    @cached_property
    def document(self) -> bytes:
        """The signed text as it is sent."""
        signed = {"signed": self.text, "signature": self.key.sign(self.text), "key": self.key.public}
        return json.dumps(signed, ensure_ascii=False).encode()


def served(settings: TaskSettings, phases: Sequence[PhaseState], key: SigningKey) -> ServedTask:
    """A task with the phases that the store knows; refused where its plan was changed since it was opened."""
    plans = tuple(Plan.from_json(phase.plan) for phase in phases)
    if plans[0].digest != settings.plan.digest:
        raise PlanMismatchError(
            f"The task {settings.id} was opened under plan {plans[0].digest[:12]}, and its file now has plan "
            f"{settings.plan.digest[:12]}: reports of two plans cannot be put together.",
            hint="Give the new plan a task of its own.",
        )
    return ServedTask(settings, plans, phases[-1].is_closed, key)
