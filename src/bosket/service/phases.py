"""The plan of a second phase, made by the answers of the first."""

from __future__ import annotations

from dataclasses import replace

from bosket.errors import DataError
from bosket.mechanisms import Ask, AskBaskets
from bosket.plan import Plan
from bosket.reports import Reports
from bosket.service.settings import SecondPhase


def refined_plan(first: Reports, how: SecondPhase) -> Plan:
    """The plan for the people who come after those who answered: same domain, same epsilon, other questions."""
    mechanism = first.plan.mechanism
    if isinstance(mechanism, AskBaskets):
        refined = mechanism.refine(first, top=how.top, max_size=how.max_size)
        return replace(first.plan, mechanism=refined)
    if isinstance(mechanism, Ask):
        design = mechanism.design.refine(first, people=how.people, min_support=how.min_support)
        return replace(first.plan, mechanism=Ask(design, gamma=mechanism.gamma))
    raise DataError(f"A second phase is one of questions (Ask); {mechanism} asks none.")
