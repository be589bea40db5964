"""Who is asked what: questions, and how often each is drawn.

A :class:`Question` is a public map from a record of a table to one of its answers: the values of a few attributes
together, every combination an answer, or several of them one answer.  A :class:`Design` is a list of questions with
shares; a person's question is drawn by the shares alone, without a look at the record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from bosket import strict_json
from bosket.checks import check_integer, shown
from bosket.data import TableDomain
from bosket.errors import ParameterError

MOST_QUESTIONS = 100_000
MOST_ANSWERS = 1 << 16
"""Combinations of values of one question."""


@dataclass(frozen=True, slots=True)
class Question:
    """The values of some attributes, together.

    attributes  their names, in any order
    merged      the answer of each combination of values, numbered from 0, the last attribute's values running fastest;
                None where every combination is an answer of its own
    """

    attributes: tuple[str, ...]
    merged: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        names = tuple(self.attributes)
        is_text: bool = isinstance(self.attributes, str)
        if is_text or not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
            raise _refused("attributes", "one or more different names of attributes", self.attributes)
        object.__setattr__(self, "attributes", names)
        if self.merged is not None:
            merged = tuple(check_integer("merged", one, least=0) for one in self.merged)
            if set(merged) != set(range(len(set(merged)))):
                raise _refused("merged", "answers numbered from 0, none left out", merged)
            object.__setattr__(self, "merged", merged)

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"attributes": list(self.attributes)}
        return value if self.merged is None else value | {"merged": list(self.merged)}

    @classmethod
    def from_json(cls, value: Any) -> Question:
        known = strict_json.fields(value, of="question", required=["attributes"], optional=["merged"])
        names = strict_json.sequence(known["attributes"], "attributes", of="question")
        merged = known.get("merged")
        if merged is not None:
            numbers = strict_json.sequence(merged, "merged", of="question")
            merged = tuple(strict_json.whole(one, "merged", of="question") for one in numbers)
        return cls(tuple(strict_json.text(name, "attributes", of="question") for name in names), merged)


@dataclass(frozen=True, slots=True)
class Design:
    """Questions, one of which each person answers.

    questions  a :class:`Question` each, or the names of its attributes
    shares     how often each is drawn, as whole numbers in proportion; all alike unless given

    >>> Design([["sex", "age"], ["sex", "work"], ["age", "work"]])
    Design(3 questions about 2 attributes)
    """

    questions: tuple[Question, ...]
    shares: tuple[int, ...] | None = None

    def __init__(self, questions: Iterable[Question | Sequence[str]], shares: Sequence[int] | None = None) -> None:
        asked = tuple(one if isinstance(one, Question) else Question(tuple(one)) for one in questions)
        if not 1 <= len(asked) <= MOST_QUESTIONS:
            raise _refused("questions", f"at least one question and at most {MOST_QUESTIONS}", len(asked))
        if shares is not None:
            given = tuple(check_integer("shares", share, least=1, most=1 << 32) for share in shares)
            if len(given) != len(asked):
                raise _refused("shares", f"as many as there are questions, {len(asked)}", len(given))
            common = math.gcd(*given)
            shares = tuple(share // common for share in given)
        object.__setattr__(self, "questions", asked)
        object.__setattr__(self, "shares", None if shares is None or set(shares) == {1} else shares)

    @classmethod
    def pairs(cls, domain: TableDomain) -> Design:
        """Every pair of attributes, all equally often; a table of one attribute has one question."""
        return cls.of_size(domain, 2)

    @classmethod
    def triples(cls, domain: TableDomain) -> Design:
        """Every three attributes, all equally often."""
        return cls.of_size(domain, 3)

    @classmethod
    def of_size(cls, domain: TableDomain, size: int) -> Design:
        """Every ``size`` attributes, or all of them where there are fewer."""
        names = _names(domain)
        size = min(check_integer("size", size, least=1), len(names))
        number = math.comb(len(names), size)
        if number > MOST_QUESTIONS:
            raise ParameterError(
                f"The 'size' parameter must give at most {MOST_QUESTIONS} questions, got {size}, which gives {number}.",
                parameter="size",
                value=size,
                hint="Design.covering asks about every pair with fewer questions.",
            )
        return cls(combinations(names, size))

    @classmethod
    def covering(cls, domain: TableDomain, *, size: int, times: int = 1) -> Design:
        """Questions about ``size`` attributes such that each pair is asked about ``times`` times or more.

        Made one by one: the attributes of a question are those that bring most to the pairs asked about least.
        """
        names = _names(domain)
        size = check_integer("size", size, least=min(2, len(names)), most=len(names))
        times = check_integer("times", times, least=1, most=1000)
        if len(names) < 2:
            return cls([names] * times)
        asked = dict.fromkeys(combinations(range(len(names)), 2), 0)
        questions = []
        while min(asked.values()) < times:
            chosen = _block(asked, len(names), size, times)
            questions.append([names[at] for at in chosen])
            for pair in combinations(chosen, 2):
                asked[pair] += 1
        return cls(questions)

    @property
    def weights(self) -> tuple[int, ...]:
        """The shares, 1 each where none were given."""
        return (1,) * len(self.questions) if self.shares is None else self.shares

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"questions": [one.to_json() for one in self.questions]}
        return value if self.shares is None else value | {"shares": list(self.shares)}

    @classmethod
    def from_json(cls, value: Any) -> Design:
        known = strict_json.fields(value, of="design", required=["questions"], optional=["shares"])
        asked = strict_json.sequence(known["questions"], "questions", of="design")
        shares = known.get("shares")
        if shares is not None:
            numbers = strict_json.sequence(shares, "shares", of="design")
            shares = [strict_json.whole(one, "shares", of="design") for one in numbers]
        return cls([Question.from_json(one) for one in asked], shares)

    def __len__(self) -> int:
        return len(self.questions)

    def __str__(self) -> str:
        sizes = sorted({len(one.attributes) for one in self.questions})
        about = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        plural = "" if len(self) == 1 else "s"
        return f"{len(self)} question{plural} about {about} attribute{'' if about == '1' else 's'}"

    def __repr__(self) -> str:
        return f"Design({self})"


def _block(asked: dict[tuple[int, int], int], n: int, size: int, times: int) -> list[int]:
    """The attributes of the next question: the pair asked about least, then what brings most pairs that are wanted."""
    chosen = list(min(asked.items(), key=lambda one: (one[1], one[0]))[0])

    def gain(at: int) -> tuple[int, int, int]:
        pairs = [asked[min(at, other), max(at, other)] for other in chosen]
        return -sum(number < times for number in pairs), sum(pairs), at

    while len(chosen) < size:
        chosen.append(min((at for at in range(n) if at not in chosen), key=gain))
    return sorted(chosen)


def _names(domain: TableDomain) -> tuple[str, ...]:
    if not isinstance(domain, TableDomain):
        raise ParameterError(
            "The 'domain' parameter of a design must be that of a table: attributes with values.",
            parameter="domain",
            value=domain,
            hint="Make a Table with bosket.Table.from_frame or bosket.Table.read, and pass its domain.",
        )
    return domain.names


def _refused(parameter: str, must: str, value: Any) -> ParameterError:
    fault = f"The '{parameter}' of a design must be {must}, got {shown(value)}."
    return ParameterError(fault, parameter=parameter, value=value)
