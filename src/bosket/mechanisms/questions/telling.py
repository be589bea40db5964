"""Which questions tell of an itemset, and by which of their answers.

A question tells of an itemset that it has all attributes of, where each of its answers stands for the itemset wholly or
not at all.  Questions that do are few beside all of them: they are listed itemset by itemset, one list behind the
other, found from the attribute that fewest questions are about.  Nothing here takes memory for an itemset in a question
that does not tell of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.mechanisms.questions.kernels import answers_within, count_tellers, list_tellers
from bosket.statistics.estimates import Floats
from bosket.threads import parallel_map, slices

if TYPE_CHECKING:
    from bosket.data import TableDomain
    from bosket.mechanisms.questions.asked import Asked

Ints = npt.NDArray[np.int64]
Among = npt.NDArray[np.bool_]
"""Which of several, by truth value."""

_LOOKS = 1 << 23  # questions that are looked at in one piece
_PIECE = 1 << 18  # itemsets in questions that are summed in one piece
_STEPS = 1 << 24  # combinations of values likewise, unless one itemset takes more
_NOBODY = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Tellers:
    """Questions about all attributes of itemsets, those of itemset r from firsts[r] on."""

    firsts: Ints
    question: Ints

    @property
    def row(self) -> Ints:
        """The itemset of each."""
        return np.repeat(np.arange(len(self.firsts) - 1), np.diff(self.firsts))

    def total(self, each: npt.NDArray[Any]) -> Floats:
        """Sums over the questions of each itemset."""
        total: Floats = np.bincount(self.row, each, minlength=len(self.firsts) - 1).astype(float, copy=False)
        return total

    def of_row(self, by_row: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What an itemset has, for each of its questions."""
        return np.repeat(by_row, np.diff(self.firsts))


@dataclass(frozen=True, slots=True)
class Within:
    """Of itemsets in questions: the answers that stand for them."""

    n_answers: Ints
    """Their number; 0 where the question does not tell."""
    shown: Ints
    """How many people gave one of them."""


class Questionnaire:
    """All questions of a design, one behind the other, as kernels read them."""

    def __init__(self, asked: Sequence[Asked], domain: TableDomain) -> None:
        self.domain = domain
        self.starts = _starts([len(one.attributes) for one in asked])
        self.attributes = np.array([at for one in asked for at in one.attributes], np.int64)
        self.sizes = np.array([size for one in asked for size in one.shape], np.int64)
        self.strides = np.array([stride for one in asked for stride in one.strides], np.int64)
        self.cells = _starts([len(one.answers) for one in asked])
        self.answers = np.concatenate([one.answers for one in asked], dtype=np.int32, casting="same_kind")
        self.answer_starts = _starts([one.n_answers for one in asked])
        self.plain = np.array([one.is_plain for one in asked])
        self.whole = np.concatenate([np.bincount(one.answers) for one in asked], dtype=np.int32, casting="same_kind")
        self.by_starts = _starts(np.bincount(self.attributes, minlength=len(domain.sizes)))
        order = np.argsort(self.attributes, kind="stable")
        self.by = np.repeat(np.arange(len(asked)), np.diff(self.starts))[order]
        self.longest = int(np.diff(self.by_starts).max())

    def count(self, itemsets: ItemsetRows, among: Among) -> tuple[Ints, Ints]:
        """By itemset: the questions about all its attributes, and the combinations of values to look at in these."""
        groups, _ = self._places(itemsets)
        number, work = np.empty(len(itemsets), np.int64), np.empty(len(itemsets), np.int64)

        def piece(part: tuple[int, int]) -> None:
            rows = slice(*part)
            count_tellers(
                groups[rows], self.attributes, self.starts, self.cells, self.sizes, self.by, self.by_starts, among,
                number[rows], work[rows],
            )  # fmt: skip

        parallel_map(piece, list(slices(len(itemsets), max(1, _LOOKS // self.longest))))
        return number, work

    def tellers(self, itemsets: ItemsetRows, among: Among, number: Ints | None = None) -> Tellers:
        """The questions ``among`` these about all attributes of each itemset."""
        number = self.count(itemsets, among)[0] if number is None else number
        firsts = _starts(number)
        found = np.empty(int(firsts[-1]), np.int64)
        groups, _ = self._places(itemsets)
        list_tellers(groups, self.attributes, self.starts, self.by, self.by_starts, among, firsts, found)
        return Tellers(firsts, found)

    def within(self, itemsets: ItemsetRows, tellers: Tellers, numbers: Ints = _NOBODY) -> Within:
        """The answers that stand for itemsets in questions about all their attributes; ``numbers`` counts answers."""
        groups, values = self._places(itemsets)
        result = Within(*(np.empty(len(tellers.question), np.int64) for _ in range(2)))
        answers_within(
            groups, values, self.attributes, self.sizes, self.strides, self.starts, self.cells, self.answers,
            self.whole, self.answer_starts, self.plain, numbers, tellers.firsts, tellers.question, result.n_answers,
            result.shown,
        )  # fmt: skip
        return result

    def covers(self, itemsets: ItemsetRows, among: Among) -> Among:
        """Which itemsets one of these questions tells of."""
        number, work = self.count(itemsets, among & self.plain)
        covered: Among = number > 0
        if self.plain.all():
            return covered
        rest = np.flatnonzero(~covered)
        others = np.ascontiguousarray(itemsets[rest])
        number, work = self.count(others, among)

        def piece(part: tuple[int, int]) -> None:
            start, stop = part
            found = self.tellers(others[start:stop], among, number[start:stop])
            covered[rest[start:stop]] = found.total(self.within(others[start:stop], found).n_answers) > 0

        parallel_map(piece, list(pieces(number, work)))
        return covered

    def _places(self, itemsets: ItemsetRows) -> tuple[Ints, Ints]:
        """The attributes and values of itemsets, attributes rising."""
        ordered = np.sort(itemsets, axis=1).astype(np.int64)
        groups = np.ascontiguousarray(self.domain.groups[ordered], np.int64)
        return groups, ordered - np.asarray(self.domain.offsets, np.int64)[groups]


def pieces(number: Ints, work: Ints) -> Iterator[tuple[int, int]]:
    """Cut itemsets into consecutive (start, stop) pairs that take little memory and well under a second each."""
    cost = np.cumsum(number / _PIECE + work / _STEPS + 1 / _PIECE)
    start = 0
    while start < len(cost):
        done = cost[start - 1] if start else 0.0
        stop = max(start + 1, int(np.searchsorted(cost, done + 1.0, side="right")))
        yield start, stop
        start = stop


def _starts(numbers: Any) -> Ints:
    result: Ints = np.append(0, np.cumsum(numbers)).astype(np.int64)
    return result
