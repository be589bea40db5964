"""Guarantees as values, each with its unit in words: epsilon alone says nothing.

Amplification (Evfimievski, Gehrke and Srikant, PODS 2003): a randomizer is at most gamma-amplifying between two
inputs when no output is more than gamma times likelier under one than under the other.  gamma = exp(epsilon) of local
differential privacy with the same neighbouring relation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from bosket.checks import check_epsilon, check_integer, check_probability
from bosket.privacy.accuracy import CARD_PEOPLE, Accuracy
from bosket.privacy.influence import Influence
from bosket.privacy.shuffling import Shuffled, shuffled
from bosket.privacy.voices import participant_text

MOST_REPORTS = 10**9
"""Most reports that one person may send under a plan."""


JSON_PRIORS = (0.01, 0.05, 0.2, 0.5)
"""What somebody believed before, in the JSON of a card."""


def check_reports(reports: object) -> int:
    """How many reports a person sends."""
    return check_integer("reports", reports, least=1, most=MOST_REPORTS)


@dataclass(frozen=True, slots=True)
class Amplification:
    """The most that one report can multiply the odds between two inputs that differ in one ``unit``."""

    epsilon: float
    unit: str

    def __post_init__(self) -> None:
        check_epsilon("epsilon", self.epsilon, of="Amplification")

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

    def lowest_posterior(self, prior: float) -> float:
        """The lowest posterior that a report can leave something of this prior: a downward breach turned round."""
        return 1.0 - self.posterior(1.0 - prior)

    def repeated(self, times: int, unit: str) -> Amplification:
        """The same thing reported ``times`` times: epsilons add."""
        return Amplification(self.epsilon * check_integer("times", times, least=1, most=MOST_REPORTS), unit)


@dataclass(frozen=True, slots=True)
class LocalGuarantee:
    """What a person who sends one report, or several, is promised.  ``print(guarantee)`` shows the card."""

    mechanism: str
    item: Amplification
    record: Amplification
    person: Amplification
    reports: int = 1
    """How many reports of the same record ``person`` covers."""
    assumptions: tuple[str, ...] = ()
    reveals: tuple[str, ...] = ()
    """What is sent beside the randomized record, as it is."""
    about_an_item: str = "the presence of one item that had 5%, knowing all the others,"
    """What the item's line means for one who had 5%, in words for the card."""
    influence: tuple[Influence, ...] = ()
    """What one dishonest report can do, by size of itemset; empty where that is not known before there are reports."""
    accuracy: tuple[Accuracy, ...] = ()
    """How large errors of supports will be, by size of itemset; empty where that is not known before there are
    reports."""
    people: int = CARD_PEOPLE
    """The number of reports, one from each person unless ``reports`` says otherwise, that the card states errors
    for."""

    @property
    def epsilon(self) -> float:
        """For the record as a whole."""
        return self.record.epsilon

    @property
    def gamma(self) -> float:
        """For the record as a whole."""
        return self.record.gamma

    def posterior(self, prior: float) -> float:
        """Worst posterior of any property of a record with this prior, for one who sees all the person's reports."""
        return self.person.posterior(prior)

    def noting(self, *notes: str) -> LocalGuarantee:
        """The same promise with more said about it."""
        return replace(self, assumptions=(*self.assumptions, *notes))

    def among(self, people: int) -> LocalGuarantee:
        """The same promise, its card stating the errors that so many reports will have."""
        return replace(self, people=check_integer("people", people, least=1))

    def shuffled(self, *, delta: float | None = None) -> Shuffled | None:
        """What is promised besides where all reports come mixed, so that nobody knows whose is whose.

        None where that is no more than the record line, or does not follow: reports that state something in the clear
        differ from each other by it, and several reports of a person are no single one.
        """
        if self.reveals or self.reports > 1:
            return None
        return shuffled(self.record.epsilon, self.people, delta)

    def after_sampling(self, note: str) -> LocalGuarantee:
        """The same promise where longer records are sampled down first.

        Records that differed in one item may then differ in one exchanged for another: two steps, unless the item line
        is about an exchange already, as where sizes are sent.  Any two records stay within the record line.
        """
        item = self.item
        if not self.reveals:
            unit = f"{item.unit}; where both are sampled down, one item exchanged for another"
            item = Amplification(min(2 * item.epsilon, self.record.epsilon), unit)
        return replace(self.noting(note), item=item)

    def card(self) -> str:
        """The guarantee in words; numbers are rounded up, towards less privacy."""
        lines = [f"Privacy of {self.mechanism}"]
        lines += [f"  in the clear: {what}" for what in self.reveals]
        person = [("person", self.person)] if self.reports > 1 else []
        for name, part in [("item", self.item), ("record", self.record), *person]:
            lines.append(f"  {name:<7} epsilon {rounded_up(part.epsilon)}, gamma {gamma_text(part)}: {part.unit}")
        if not person:
            lines.append("  person  the same as the record: one report each")
        item = self.item.repeated(self.reports, "")
        seen = "the report" if self.reports == 1 else f"all {self.reports} reports"
        whole, single = percent_up(self.posterior(0.05)), percent_up(item.posterior(0.05))
        lines.append(f"  who sees {seen} may come to believe any property of a record that had 5% with up to {whole},")
        lines.append(f"  and {self.about_an_item} with up to {single}")
        lines += self._shuffled_lines()
        lines += self._accuracy_lines()
        lines += _influence_lines(self.influence)
        lines += [f"  note: {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)

    def for_participants(self) -> str:
        """The same promise in words that anybody can read, for those who are asked to take part."""
        return participant_text(self)

    def _shuffled_lines(self) -> list[str]:
        found = self.shuffled()
        if found is None:
            return []
        return [
            f"  mixed   where {found.people} or more honest reports come mixed, nobody knowing whose is whose nor who "
            f"was asked what: epsilon {rounded_up(found.epsilon)} and delta {rounded_up(found.delta)} for the record, "
            "against one who sees all of them"
        ]

    def _accuracy_lines(self) -> list[str]:
        """The standard errors of supports in one line, and in another what cannot be seen."""
        if not self.accuracy:
            return []
        n = self.people
        those = f"among {n} people" if self.reports == 1 else f"from {n} reports"
        lines = [f"  error   {those} the standard error of a support is {accuracy_text(self.accuracy, n)}"]
        return lines + [
            f"  blind   {those} no support of {items_text(part.size)} can be as large as its standard error; "
            f"{number_up(part.people())} would bring that down to 1"
            for part in self.accuracy
            if part.is_hopeless(n)
        ]

    def __str__(self) -> str:
        return self.card()

    def to_json(self) -> dict[str, object]:
        """Plain values for result files; an infinite number is written as the word."""
        return {
            "mechanism": self.mechanism,
            **{
                name: {
                    "epsilon": json_number(part.epsilon),
                    "gamma": part.gamma if math.isfinite(part.gamma) else gamma_text(part),
                    "unit": part.unit,
                }
                for name, part in (("item", self.item), ("record", self.record), ("person", self.person))
            },
            "reveals": list(self.reveals),
            "posteriors": [
                {
                    "prior": prior,
                    "item": self.item.repeated(self.reports, "").posterior(prior),
                    "person": self.posterior(prior),
                }
                for prior in JSON_PRIORS
            ],
            "shuffled": None if (mixed := self.shuffled()) is None else mixed.to_json(),
            "influence": [part.to_json() for part in self.influence],
            "accuracy": [{"people": self.people, **part.to_json(self.people)} for part in self.accuracy],
            "assumptions": list(self.assumptions),
        }


def accuracy_text(parts: Iterable[Accuracy], people: int) -> str:
    """The standard errors of supports by size, rounded up."""
    return "; ".join(f"{_range_up(*part.stderr(people))} for {items_text(part.size)}" for part in parts)


def number_up(number: int) -> str:
    """A number of people; one that no study has, rounded up to four digits."""
    return str(number) if number < 10**12 else rounded_up(number)


def items_text(number: int) -> str:
    return "1 item" if number == 1 else f"{number} items"


def _range_up(low: float, high: float) -> str:
    """Two numbers, or one where they look alike; rounded up."""
    first, last = rounded_up(low, 3), rounded_up(high, 3)
    return last if first == last else f"{first} to {last}"


def _influence_lines(parts: tuple[Influence, ...]) -> list[str]:
    """What dishonest people can do, in two lines; rounded up, towards more that they can do."""
    if not parts:
        return []
    sizes = ", ".join(str(part.size) for part in parts) + (
        " item" if [part.size for part in parts] == [1] else " items"
    )
    weights = ", ".join(rounded_up(part.largest) for part in parts)
    widths = ", ".join(rounded_up(part.width) for part in parts)
    at = "" if parts[-1].record_size is None else f" (worst at size {parts[-1].record_size})"
    lines = [
        f"  weight  one report counts for up to {weights} people in the support of {sizes}{at};",
        f"  dishonest people, a fraction f of all, can move such a support by up to f times {widths}",
    ]
    if any(part.is_ratio for part in parts):
        lines[-1] += ", where as many are asked each question as planned"
        lines.append("  and answers are read without a law (model=None): a law may jump where two are about as likely")
    return lines


def json_number(value: float) -> float | str:
    return value if math.isfinite(value) else "infinite"


def gamma_text(part: Amplification) -> str:
    """gamma in words; a finite epsilon can have one beyond what a double holds."""
    return "over 1e307" if math.isinf(part.gamma) and math.isfinite(part.epsilon) else rounded_up(part.gamma)


_TINY = 1e-300  # a number below is shown as this, or as nothing


def rounded_up(value: float, digits: int = 4) -> str:
    """A number rounded up to a number of significant digits, but for an excess of less than a part in a billion."""
    return _rounded(value, digits, math.ceil)


def rounded_down(value: float, digits: int = 4) -> str:
    """Likewise down: an epsilon or gamma to choose, so that no more is spent than is meant."""
    return _rounded(value, digits, math.floor)


def _rounded(value: float, digits: int, towards: Callable[[float], int]) -> str:
    if math.isinf(value):
        return "infinite (no guarantee)"
    if value <= 0:
        return "0"
    if value < _TINY:  # its scale would be beyond all doubles
        return f"{_TINY:g}" if towards is math.ceil else "0"
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    near = round(value * scale)
    is_near = math.isclose(value * scale, near, rel_tol=1e-9)
    return f"{(near if is_near else towards(value * scale)) / scale:.{digits}g}"


def percent_up(probability: float) -> str:
    near = round(probability * 1e4)
    return f"{(near if math.isclose(probability * 1e4, near, rel_tol=1e-9) else math.ceil(probability * 1e4)) / 1e2:g}%"


def percent_down(probability: float) -> str:
    """A prior that something is promised of, to four digits: what had more may come further."""
    return f"{rounded_down(100 * probability)}%"
