"""Who is asked what: questions, and how often each is drawn.

A :class:`Question` is a public map from a record of a table to one of its answers: the values of a few attributes
together, every combination an answer, or several of them one answer.  A :class:`Design` is a list of questions with
shares; a person's question is drawn by the shares alone, without a look at the record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bosket import strict_json
from bosket.checks import check_integer, shown
from bosket.data import TableDomain
from bosket.errors import ParameterError

if TYPE_CHECKING:
    from bosket.collected import Collected
    from bosket.data import Table

_DIGEST = re.compile("[0-9a-f]{64}")
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
            if len(merged) > MOST_ANSWERS:
                raise _refused("merged", f"answers of at most {MOST_ANSWERS} combinations", merged)
            # large numbers are refused before they are hashed: they may have been chosen to have one hash value
            if max(merged, default=0) >= len(merged) or set(merged) != set(range(len(set(merged)))):
                raise _refused("merged", "answers numbered from 0, none left out", merged)
            object.__setattr__(self, "merged", merged)

    def n_answers(self, sizes: Mapping[str, int]) -> int:
        """How many answers the question has, about attributes of these numbers of values."""
        return math.prod(sizes[name] for name in self.attributes) if self.merged is None else max(self.merged) + 1

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
    follows    the digest of the plan whose answers the design was made by; None where it was made by nobody's

    >>> Design([["sex", "age"], ["sex", "work"], ["age", "work"]])
    Design(3 questions about 2 attributes)
    """

    questions: tuple[Question, ...]
    shares: tuple[int, ...] | None = None
    follows: str | None = None

    def __init__(
        self,
        questions: Iterable[Question | Sequence[str]],
        shares: Sequence[int] | None = None,
        follows: str | None = None,
    ) -> None:
        asked = tuple(one if isinstance(one, Question) else Question(_listed(one)) for one in questions)
        if not 1 <= len(asked) <= MOST_QUESTIONS:
            raise _refused("questions", f"at least one question and at most {MOST_QUESTIONS}", len(asked))
        if shares is not None:
            if not all(isinstance(share, Integral) for share in shares):
                raise _refused("shares", "whole numbers in proportion, as in [3, 1] for three people in four", shares)
            given = tuple(check_integer("shares", share, least=1, most=1 << 32) for share in shares)
            if len(given) != len(asked):
                raise _refused("shares", f"as many as there are questions, {len(asked)}", len(given))
            common = math.gcd(*given)
            shares = tuple(share // common for share in given)
        if follows is not None and not (isinstance(follows, str) and _DIGEST.fullmatch(follows)):
            raise _refused("follows", "the digest of a plan: 64 hexadecimal digits", follows)
        object.__setattr__(self, "follows", follows)
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
        if -(-math.comb(len(names), 2) * times // math.comb(size, 2)) > MOST_QUESTIONS:
            raise _too_many(size, times)
        asked = np.zeros((len(names), len(names)), np.int64)
        questions = []
        for pair in _least_asked(asked, times):
            chosen = _block(asked, pair, size, times)
            questions.append([names[at] for at in chosen.tolist()])
            if len(questions) > MOST_QUESTIONS:
                raise _too_many(size, times)
            asked[np.ix_(chosen, chosen)] += 1
        return cls(questions)

    @classmethod
    def optimal(cls, pilot: Table | Collected, *, gamma: float, people: int, min_support: float) -> Design:
        """Questions and shares for ``people`` people whose supports from ``min_support`` on matter, by a pilot.

        The pilot is a table of other people, which says what this population may look like, or reports of the first
        people, which count beside the answers to come.  See :mod:`bosket.planning.questions`.
        """
        from bosket.planning import optimal_design  # up the house: a law is fitted to the pilot

        return optimal_design(pilot, gamma=gamma, people=people, min_support=min_support)

    def refine(self, reports: Collected, *, people: int, min_support: float) -> Design:
        """The design for the ``people`` who come after those who answered this one.

        Partitions and shares are chosen by the answers at hand so that supports from ``min_support`` on are seen best;
        everybody still answers one question.  :func:`bosket.pool` reads both phases together.
        """
        from bosket.planning import refined_design

        return refined_design(self, reports, people=people, min_support=min_support)

    @property
    def weights(self) -> tuple[int, ...]:
        """The shares, 1 each where none were given."""
        return (1,) * len(self.questions) if self.shares is None else self.shares

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"questions": [one.to_json() for one in self.questions]}
        value |= {} if self.shares is None else {"shares": list(self.shares)}
        return value if self.follows is None else value | {"follows": self.follows}

    @classmethod
    def from_json(cls, value: Any) -> Design:
        known = strict_json.fields(value, of="design", required=["questions"], optional=["shares", "follows"])
        asked = strict_json.sequence(known["questions"], "questions", of="design")
        shares = known.get("shares")
        if shares is not None:
            numbers = strict_json.sequence(shares, "shares", of="design")
            shares = [strict_json.whole(one, "shares", of="design") for one in numbers]
        follows = known.get("follows")
        if follows is not None:
            follows = strict_json.text(follows, "follows", of="design")
        return cls([Question.from_json(one) for one in asked], shares, follows)

    def __len__(self) -> int:
        return len(self.questions)

    def __str__(self) -> str:
        sizes = sorted({len(one.attributes) for one in self.questions})
        about = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        plural = "" if len(self) == 1 else "s"
        return f"{len(self)} question{plural} about {about} attribute{'' if about == '1' else 's'}"

    def __repr__(self) -> str:
        return f"Design({self})"


def _least_asked(asked: npt.NDArray[np.int64], times: int) -> Iterator[tuple[int, int]]:
    """The pair asked about least, the first of these, again and again until all were asked about enough.

    Numbers only grow while this is read, so that no pair is looked at twice for a number.
    """
    for number in range(times):
        for first in range(len(asked)):
            for second in range(first + 1, len(asked)):
                if asked[first, second] == number:
                    yield first, second


def _block(asked: npt.NDArray[np.int64], pair: tuple[int, int], size: int, times: int) -> npt.NDArray[np.int64]:
    """The attributes of the next question: a pair, then one by one what brings most pairs that are wanted.

    Of those that bring as many, the one whose pairs were asked about least; the first of these.
    """
    chosen = list(pair)
    wanted, number = (np.zeros(len(asked), np.int64) for _ in range(2))
    for at in chosen:
        wanted += asked[at] < times
        number += asked[at]
    while len(chosen) < size:
        gain = wanted * (int(number.max()) + 1) - number
        gain[chosen] = np.iinfo(np.int64).min
        at = int(gain.argmax())
        chosen.append(at)
        wanted += asked[at] < times
        number += asked[at]
    return np.sort(np.array(chosen))


def _too_many(size: int, times: int) -> ParameterError:
    return ParameterError(
        f"The 'size' parameter must give at most {MOST_QUESTIONS} questions, got {size}, which gives more where each "
        f"pair is asked about {times} times.",
        parameter="size",
        value=size,
    )


def _listed(question: Sequence[str]) -> tuple[str, ...]:
    if isinstance(question, str):
        raise _refused("questions", "lists of names, as in [['sex', 'age'], ['sex']]", question)
    return tuple(question)


def _names(domain: TableDomain) -> tuple[str, ...]:
    if not isinstance(domain, TableDomain):
        raise ParameterError(
            "The 'domain' parameter of a design must be that of a table: attributes with values.",
            parameter="domain",
            value=domain,
            hint="Of a Table it is table.domain; bosket.Table.from_frame and bosket.Table.read make one.",
        )
    return domain.names


def _refused(parameter: str, must: str, value: Any) -> ParameterError:
    fault = f"The '{parameter}' of a design must be {must}, got {shown(value)}."
    return ParameterError(fault, parameter=parameter, value=value)
