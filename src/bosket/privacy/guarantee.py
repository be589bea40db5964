"""Guarantees as values, each with its unit in words: epsilon alone says nothing.

Amplification (Evfimievski, Gehrke and Srikant, PODS 2003): a randomizer is at most gamma-amplifying between two
inputs when no output is more than gamma times likelier under one than under the other.  gamma = exp(epsilon) of local
differential privacy with the same neighbouring relation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from bosket.checks import check_integer, check_probability


@dataclass(frozen=True, slots=True)
class Amplification:
    """The most that one report can multiply the odds between two inputs that differ in one ``unit``."""

    epsilon: float
    unit: str

    @property
    def gamma(self) -> float:
        """exp(epsilon); infinite when some report rules an input out."""
        return math.exp(self.epsilon) if self.epsilon < 709 else math.inf

    def posterior(self, prior: float) -> float:
        """The highest posterior probability that a report can give something of this prior.

        gamma rho / (1 - rho + gamma rho); 19 takes 5% to 50%.
        """
        rho = check_probability("prior", prior)
        if rho in (0.0, 1.0) or math.isinf(self.gamma):
            return 1.0 if rho > 0 else 0.0
        return self.gamma * rho / (1 - rho + self.gamma * rho)

    def repeated(self, times: int, unit: str) -> Amplification:
        """The same thing reported ``times`` times: epsilons add."""
        return Amplification(self.epsilon * check_integer("times", times, least=1), unit)


@dataclass(frozen=True, slots=True)
class LocalGuarantee:
    """What a person who sends one report, or several, is promised.  ``print(guarantee)`` shows the card."""

    mechanism: str
    item: Amplification
    record: Amplification
    person: Amplification
    assumptions: tuple[str, ...] = field(default=())

    @property
    def epsilon(self) -> float:
        """For the record as a whole."""
        return self.record.epsilon

    @property
    def gamma(self) -> float:
        """For the record as a whole."""
        return self.record.gamma

    def posterior(self, prior: float) -> float:
        """Worst posterior of any property of a record with this prior, for an observer with any knowledge of people."""
        return self.record.posterior(prior)

    def card(self) -> str:
        """The guarantee in words; numbers are rounded up, towards less privacy."""
        lines = [f"Privacy of {self.mechanism}"]
        for name, part in (("item", self.item), ("record", self.record), ("person", self.person)):
            gamma = _up(part.gamma) if math.isfinite(part.gamma) or math.isinf(part.epsilon) else "over 1e307"
            lines.append(f"  {name:<7} epsilon {_up(part.epsilon)}, gamma {gamma}: {part.unit}")
        whole, single = _percent_up(self.posterior(0.05)), _percent_up(self.item.posterior(0.05))
        lines.append(f"  belief in any property of a record goes from 5% to at most {whole}")
        lines.append(f"  belief in one item, all others being known, goes from 5% to at most {single}")
        lines += [f"  note: {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.card()

    def to_json(self) -> dict[str, object]:
        """Plain values for result files; an infinite number is written as the word."""
        return {
            "mechanism": self.mechanism,
            **{
                name: {"epsilon": _json_number(part.epsilon), "gamma": _json_number(part.gamma), "unit": part.unit}
                for name, part in (("item", self.item), ("record", self.record), ("person", self.person))
            },
            "assumptions": list(self.assumptions),
        }


def _json_number(value: float) -> float | str:
    return value if math.isfinite(value) else "infinite"


def _up(value: float, digits: int = 4) -> str:
    """A number rounded up to so many significant digits."""
    if math.isinf(value):
        return "infinite (no guarantee)"
    if value <= 0:
        return "0"
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    return f"{math.ceil(value * scale * (1 - 1e-14)) / scale:.{digits}g}"


def _percent_up(probability: float) -> str:
    return f"{math.ceil(probability * 1e4 * (1 - 1e-14)) / 1e2:g}%"
