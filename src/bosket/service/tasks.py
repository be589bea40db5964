"""A task as it is served: its plan in the present phase, signed, and what may still be sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bosket.errors import ParameterError, PlanMismatchError
from bosket.plan import Plan
from bosket.privacy.voices import CHANGES_SHOW, CHANGES_SHOW_ON_CARD
from bosket.service.periods import TokenBudget, goes_on
from bosket.service.repeats import most_alike
from bosket.service.settings import TaskSettings
from bosket.service.signing import SigningKey
from bosket.service.submissions import PhaseState


@dataclass(frozen=True)
class ServedTask:
    """A task in one phase.  A new phase makes another one."""

    settings: TaskSettings
    plans: tuple[Plan, ...]
    """Of all phases so far, the first first."""
    is_closed: bool
    key: SigningKey
    _documents: dict[str | None, bytes] = field(default_factory=dict, repr=False, compare=False)

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

    def period(self, now: datetime | None = None) -> str | None:
        """The name of the present period; None where the task has none, or none at present."""
        periods = self.settings.periods
        return None if periods is None else periods.name(periods.at(now or datetime.now(UTC)))

    @property
    def most_at_once(self) -> int:
        """Most reports of a submission: those of one person, where it spends a token."""
        settings, periods = self.settings, self.settings.periods
        if settings.tokens != "one-time":
            return settings.max_reports
        return min(settings.max_reports, self.plan.unit.reports if periods is None else periods.reports)

    def budget(self) -> TokenBudget | None:
        """What a token may bring at present; None where the task has no periods."""
        periods = self.settings.periods
        if periods is None:
            return None
        return TokenBudget(self.period() or "", periods.reports, self.plan.unit.reports, periods.is_linked)

    def document(self) -> bytes:
        """What clients are told, signed, as it is sent; signed once in each period."""
        period = self.period()
        known = self._documents.get(period)
        if known is None:
            text = json.dumps(self._said(period), ensure_ascii=False, allow_nan=False)
            signed = {"signed": text, "signature": self.key.sign(text), "key": self.key.public}
            self._documents[period] = known = json.dumps(signed, ensure_ascii=False).encode()
        return known

    def _said(self, period: str | None) -> dict[str, Any]:
        plan, settings, periods = self.plan, self.settings, self.settings.periods
        promise = plan.guarantee
        participant = promise.for_participants().split("\n")
        if most_alike(settings, [plan]) > 1:
            promise, participant = promise.noting(CHANGES_SHOW_ON_CARD), [*participant, CHANGES_SHOW]
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
            "participant": participant,
            "card": promise.card(),
            "min_batch": settings.min_batch,
        }
        if periods is not None:
            value["period"] = None if periods.is_linked else period  # coins are drawn afresh in each, or for good
            value["periods"] = {"name": period, **periods.described}
        return value


def served(settings: TaskSettings, phases: Sequence[PhaseState], key: SigningKey) -> ServedTask:
    """A task with the phases that the store knows; refused where its plan or calendar changed since it was opened."""
    plans = tuple(Plan.from_json(phase.plan) for phase in phases)
    if plans[0].digest != settings.plan.digest:
        raise PlanMismatchError(
            f"The task {settings.id} was opened under plan {plans[0].digest[:12]}, and its file now has plan "
            f"{settings.plan.digest[:12]}: reports of two plans cannot be put together.",
            hint="Give the new plan a task of its own.",
        )
    if phases[0].calendar is not None and not goes_on(phases[0].calendar, settings.periods):
        raise ParameterError(
            f"The 'periods' of the task {settings.id} must be those under which it was opened, or the same with a "
            "larger number: what people sent is counted by them.",
            parameter="periods",
            value=None,
        )
    return ServedTask(settings, plans, phases[-1].is_closed, key)
