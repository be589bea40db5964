"""The guarantee of a release in the central model, as a value with a card.

Differential privacy (Dwork, McSherry, Nissim and Smith 2006): nothing that is published is more than exp(epsilon) times
as likely on one data set as on a neighbouring one.  Parts that are measured one after the other add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bosket.checks import check_between, check_choice, check_integer, check_positive
from bosket.privacy.guarantee import Amplification, gamma_text, json_number, percent_up, rounded_up

_UNITS = {
    "add-remove": "one record more or less",
    "replace": "one record in place of another",
}
_UNITS_OF_PERSONS = {
    "add-remove": "one person more or less, with up to {} records",
    "replace": "one person in place of another, with up to {} records each",
}
_SEVERAL = "a person with several records is protected for each of them, not for all together"
NOT_COVERED = (
    _SEVERAL,
    "what holds of a group can be learnt, and be concluded of its members, whether they took part or not",
    "other releases of the same records cost their own epsilon and delta: epsilons add, and deltas too, if all are for "
    "the same neighbours",
    "how long the curator's program takes, for somebody who can watch it run",
)
"""What no release of the curator promises."""
OF_ITEMS = "which items, or values, occur: they were read off the records, and taken to be known to everybody"
"""What is not promised either where nobody declared them."""


@dataclass(frozen=True, slots=True)
class CentralGuarantee:
    """What everybody in the data is promised by one release.  ``print(guarantee)`` shows the card.

    >>> guarantee = CentralGuarantee("noisy counts", 1.0, "add-remove", (("counts", 0.9), ("total", 0.1)))
    >>> print(guarantee.card().splitlines()[1])
      record  epsilon 1, gamma 2.719: one record more or less
    """

    mechanism: str
    epsilon: float
    neighbours: str
    parts: tuple[tuple[str, float], ...] = ()
    """What each measurement cost; together no more than epsilon, or, where delta is not 0, than the rho behind both."""
    not_covered: tuple[str, ...] = NOT_COVERED
    delta: float = 0.0
    """How much of the probability of an outcome epsilon does not hold for; 0 in pure differential privacy."""
    max_records_per_person: int | None = None
    """Of each person no more records were used, and all are protected together; None: the unit is one record."""

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon, of="CentralGuarantee")
        check_choice("neighbours", self.neighbours, _UNITS)
        if self.delta:
            check_between("delta", self.delta, 0.0, 1.0, of="CentralGuarantee")
        if self.max_records_per_person is not None:
            check_integer("max_records_per_person", self.max_records_per_person, least=1, of="CentralGuarantee")
            left = tuple(what for what in self.not_covered if what != _SEVERAL)
            object.__setattr__(self, "not_covered", left)

    def reading_items(self) -> CentralGuarantee:
        """The same promise where items, or values, were not declared but read off the records."""
        return self if OF_ITEMS in self.not_covered else replace(self, not_covered=(*self.not_covered, OF_ITEMS))

    @property
    def unit(self) -> str:
        """What neighbouring data sets differ by."""
        if self.max_records_per_person is None:
            return _UNITS[self.neighbours]
        return _UNITS_OF_PERSONS[self.neighbours].format(self.max_records_per_person)

    @property
    def protects(self) -> str:
        """Whether the unit is a record or a person."""
        return "record" if self.max_records_per_person is None else "person"

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence, for files; numbers are rounded up."""
        most = f"exp({rounded_up(self.epsilon)})"
        if self.delta:
            return (
                f"({rounded_up(self.epsilon)}, {rounded_up(self.delta)})-differential privacy for one "
                f"{self.protects}: any set of outcomes has at most {most} times its probability, and "
                f"{rounded_up(self.delta)}, on data with {self.unit}."
            )
        return (
            f"{rounded_up(self.epsilon)}-differential privacy for one {self.protects}: any outcome is at most {most} "
            f"times as likely on data with {self.unit}."
        )

    @property
    def record(self) -> Amplification:
        """The most that the release can multiply the odds between neighbouring data sets, but for delta."""
        return Amplification(self.epsilon, self.unit)

    @property
    def exchanged(self) -> Amplification:
        """The same between data with one record, or person, in place of another: what tells of the things it holds.

        Where neighbours differ by one more or less, one goes and another comes, and epsilon counts twice.
        """
        times, units = (1 if self.neighbours == "replace" else 2), _UNITS
        if self.max_records_per_person is not None:
            units = _UNITS_OF_PERSONS
        unit = units["replace"].format(self.max_records_per_person)
        return Amplification(times * self.epsilon, unit)

    @property
    def gamma(self) -> float:
        """exp(epsilon)."""
        return self.record.gamma

    def posterior(self, prior: float) -> float:
        """Worst posterior of anything about one record with this prior, for one who knows all the others.

        That it is there may be known too, so this is about records in place of each other, with ``exchanged``.  1 where
        delta is not 0: some outcome, of a small probability, may tell.
        """
        posterior = self.exchanged.posterior(prior)
        return 1.0 if self.delta else posterior

    def card(self) -> str:
        """The guarantee in words; numbers are rounded up, towards less privacy."""
        lines = [f"Privacy of {self.mechanism}"]
        lines.append(
            f"  {self.protects}  epsilon {rounded_up(self.epsilon)}, gamma {gamma_text(self.record)}: {self.unit}"
        )
        if self.delta:
            lines.append(
                f"  delta {rounded_up(self.delta)}: a set of outcomes has at most gamma times its probability on "
                "neighbouring data, and delta"
            )
            if self.neighbours != "replace":
                of_two = min(1.0, (1 + self.gamma) * self.delta)
                lines.append(
                    f"  of what a {self.protects} holds that is known to be there: epsilon "
                    f"{rounded_up(self.exchanged.epsilon)}, delta {rounded_up(of_two)}"
                )
        else:
            lines.append(
                f"  who knows all other {self.protects}s, and that this one is there, may come to believe anything "
                "about it that"
            )
            known = self.exchanged
            beside = "" if self.neighbours == "replace" else f" (epsilon {rounded_up(known.epsilon)}: {known.unit})"
            lines.append(f"  had 5% with up to {percent_up(self.posterior(0.05))}{beside}")
        if self.parts:
            shares = ", ".join(f"{name} {rounded_up(part)}" for name, part in self.parts)
            lines.append(f"  paid for  {shares}" + (", in rho" if self.delta else ""))
        lines += [f"  not covered: {what}" for what in self.not_covered]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.card()

    def to_json(self) -> dict[str, object]:
        """Plain values for result files; an infinite number is written as the word."""
        return {
            "mechanism": self.mechanism,
            "epsilon": self.epsilon,
            **({"delta": self.delta, "parts_in": "rho"} if self.delta else {}),
            "gamma": json_number(self.gamma),
            "neighbours": self.neighbours,
            "unit": self.unit,
            "protects": self.protects,
            **({} if self.max_records_per_person is None else {"max_records_per_person": self.max_records_per_person}),
            "sentence": self.sentence,
            "parts": dict(self.parts),
            "not_covered": list(self.not_covered),
        }
