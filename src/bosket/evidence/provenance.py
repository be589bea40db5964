"""Where evidence comes from, as a value: what decides is a field, and words are made of it for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from bosket.privacy import CentralGuarantee, LocalGuarantee

if TYPE_CHECKING:
    from bosket.plan import PrivacyUnit


class Errors(Enum):
    """What standard errors cover."""

    NONE = "none: the data are exact"
    COINS = "coins alone"
    BOTH = "coins and sampling"

    @classmethod
    def of(cls, *, sampling: bool, is_exact: bool = False) -> Errors:
        if sampling:
            return cls.BOTH
        return cls.NONE if is_exact else cls.COINS


class Selection(Enum):
    """What was done about results that were selected by their own estimates."""

    NONE = None
    UNCORRECTED = "estimates and intervals are not corrected for having been selected"
    WIDENED = "intervals are widened for having been selected (false coverage rate); estimates are not corrected"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Mechanism, plan, promise and chance behind some evidence; all None for raw records."""

    mechanism: str | None = None
    unit: PrivacyUnit | None = None
    plan: str | None = None
    """The digest of the plan."""
    guarantee: LocalGuarantee | CentralGuarantee | None = None
    randomness: str | None = None
    model: str | None = None
    """What was fitted to the reports, and what was thought before; None where their weights add up."""
    support_of: str | None = None
    """What supports are of, where records may be cut before they are randomized: "whole records", "cut records", or
    "cut baskets" of those that tell of a few items; None where nothing is cut."""

    @property
    def is_simulation(self) -> bool:
        """Whether the chance was seeded: such reports protect nobody."""
        return self.randomness not in (None, "secure")

    def to_json(self) -> dict[str, Any]:
        """As plain values, for files and frames."""
        if self.mechanism is None:
            return {"mechanism": None, "guarantee": None, "randomness": None}
        unit = {} if self.unit is None else {"unit": self._unit(self.unit)}
        return {
            "mechanism": self.mechanism,
            **unit,
            "plan": self.plan,
            "guarantee": None if self.guarantee is None else self.guarantee.to_json(),
            "randomness": self.randomness,
            **({} if self.model is None else {"model": self.model}),
            **({} if self.support_of is None else {"support_of": self.support_of}),
        }

    @staticmethod
    def _unit(unit: PrivacyUnit) -> dict[str, Any]:
        stated = {"state_sizes_to": unit.state_sizes_to, "size_epsilon": unit.size_epsilon}
        given = {name: value for name, value in stated.items() if value is not None}
        return {"reports": unit.reports, "longer": unit.longer, **given}


def together(phases: Sequence[Provenance]) -> Provenance:
    """That of reports of several phases, different people in each: the weakest promise that one of them was given.

    Mechanism and plan are those of the last; chance is seeded if any phase had it.
    """
    last = phases[-1]
    if len(phases) == 1:
        return last
    promised = [(one.guarantee, one) for one in phases if isinstance(one.guarantee, LocalGuarantee)]
    promise, weakest = max(promised, key=lambda one: one[0].person.epsilon)
    seeded = next((one.randomness for one in phases if one.is_simulation), None)
    notes = [
        f"of {len(phases)} phases each person answered in one: who answers in several has the sum of their epsilons"
    ]
    if seeded is not None and not weakest.is_simulation:  # else its own card says so
        notes.append(f"some of these reports are {seeded}")
    return replace(
        last,
        unit=weakest.unit,
        guarantee=promise.noting(*notes),
        randomness=last.randomness if seeded is None else seeded,
    )
