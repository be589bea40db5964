"""What a law takes, told before it is fitted: coefficients, memory, and the work of one step of scoring.

Designs come from others too.  A few kilobytes name hundreds of questions of thousands of answers each, whose
derivatives would take hundreds of gigabytes; so the order of a law is one that there is room for, and a law of any
order is refused where there is none.  Of many laws, what all of them take is added up before the first is fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bosket.errors import ParameterError
from bosket.models.features import Subset

MOST_TERMS = 3000
"""Coefficients of a law with interactions of three attributes."""
MOST_NUMBERS = 1 << 26
"""Derivatives by all coefficients: of all answers, and of all cells."""
MOST_WORK = 1 << 36
"""Multiplications of one step of scoring: some seconds on one core."""
MOST_KEPT = 3 << 27
"""Numbers that many laws keep, all of them together: 3.2 GB."""
MOST_OF_ALL = 1 << 42
"""Multiplications of all laws, all steps of all of them together: some three minutes on one core."""
_MOST_SQUARES = 1 << 25  # numbers of all matrices from features to combinations
_PART = 1 << 18  # by which the quicker way to derivatives is chosen, for one question and subset
_OWN = 1 << 20  # multiplications in the time that one question and subset take by themselves, however few the cells
_SUMMED = 8  # multiplications in the time that a number takes to be added up
_TRIED = 4  # laws that are computed in one step: where it begins, and at a length or two
_STEPS = 12  # of scoring, as fits take them; hostile answers make them take more
LEAST_WORK = 1 << 29
"""Multiplications in the time that a fit takes however small its law is: a fiftieth of a second."""
_FACTORS = 6  # times n^3 that the errors of n coefficients take


def n_terms(shape: tuple[int, ...], order: int) -> int:
    """The coefficients of a law of some order: elementary symmetric sums of the attributes' contrasts."""
    sums = [1] + [0] * order
    for size in shape:
        for k in range(order, 0, -1):
            sums[k] += sums[k - 1] * (size - 1)
    return sum(sums[1:])


@dataclass(frozen=True)
class Room:
    """What a law of some order takes.

    shape      the numbers of values of its attributes
    asked      the attributes of each question
    n_answers  of all questions
    order      attributes of an interaction, at most
    n_chances  reports times cells, where reports may come from any cell
    """

    shape: tuple[int, ...]
    asked: Sequence[Subset]
    n_answers: int
    order: int
    n_chances: int = 0

    @property
    def _n_cells(self) -> int:
        return math.prod(self.shape)

    @property
    def _sizes(self) -> list[int]:
        return [math.prod(self.shape[at] for at in one) for one in self.asked]

    @property
    def at_once(self) -> list[bool]:
        """The questions about so much that their derivatives are sums over all cells."""
        return [size * 4 > self._n_cells for size in self._sizes]

    @property
    def by_margins(self) -> bool:
        """Whether derivatives are made question by question: where that is quicker, or their features are too many."""
        return self._squares > _MOST_SQUARES or self._of_moments > self._of_margins + _PART * self._n_parts

    @property
    def _n_parts(self) -> int:
        """Questions, times subsets of attributes."""
        n = len(self.shape)
        return len(set(self.asked)) * sum(math.comb(n, size) for size in range(1, self.order + 1))

    @property
    def _squares(self) -> int:
        """Numbers of the matrices from features to combinations."""
        return sum(size**2 for size, whole in zip(self._sizes, self.at_once, strict=True) if not whole)

    @property
    def _of_moments(self) -> int:
        """Over all cells at once, by means of products of features."""
        terms = n_terms(self.shape, self.order)
        others = [(size, len(one)) for size, one in zip(self._sizes, self.asked, strict=True)]
        others = [one for one, whole in zip(others, self.at_once, strict=True) if not whole]
        widest = max((n for _, n in others), default=0)
        more = min(sum(size for size, _ in others), max(0, n_terms(self.shape, widest) - terms))
        return self._n_cells * terms * (terms + more + _SUMMED * sum(self.at_once))

    @property
    def _of_margins(self) -> int:
        """Question by question: sums over all cells for each set of attributes beside it."""
        asked = set(self.asked)
        beside = [math.comb(len(self.shape) - len(one), size) for one in asked for size in range(self.order + 1)]
        return _SUMMED * self._n_cells * sum(beside)

    @property
    def work(self) -> int:
        """Multiplications of one step of scoring."""
        terms = n_terms(self.shape, self.order)
        route = self._of_margins + _OWN * self._n_parts if self.by_margins else self._of_moments
        looks = 3 * _SUMMED * len(self.asked) * self._n_cells
        laws = _TRIED * self.of_law
        errors = self._n_cells * terms**2 // 16  # once, after a dozen steps and more
        return (self.n_answers * terms + self.n_chances + terms**2) * terms + route + looks + laws + errors

    @property
    def of_law(self) -> int:
        """Multiplications of one law, of its coefficients."""
        return _SUMMED * self._n_cells * n_terms(self.shape, self.order)

    def of_step(self, tried: int) -> int:
        """Multiplications of a step of scoring that tried so many laws."""
        return self.work + max(0, tried - _TRIED) * self.of_law

    @property
    def stated(self) -> int:
        """Multiplications of the steps that are counted before a fit."""
        return _STEPS * self.work

    @property
    def is_enough(self) -> bool:
        """Whether a law of this order can be fitted in bounded memory and time, its coefficients aside."""
        numbers = n_terms(self.shape, self.order) * max(self.n_answers, self._n_cells)
        return numbers <= MOST_NUMBERS and self.work <= MOST_WORK

    @property
    def of_errors(self) -> Room:
        """Of the law that errors are made by: it has interactions of one attribute more, where there is room."""
        wider = replace(self, order=self.order + 1)
        is_law = self.order < min(3, len(self.shape)) and n_terms(self.shape, wider.order) <= MOST_TERMS
        return wider if is_law and wider.is_enough else self

    @property
    def whole_work(self) -> int:
        """Multiplications of a fit and of its errors."""
        n = n_terms(self.shape, self.of_errors.order)
        return self.stated + (_FACTORS * n + self._n_cells) * n**2 + LEAST_WORK

    @property
    def kept(self) -> int:
        """Numbers that a fitted law keeps: errors, how far answers pull, chances of reports, matrices, and cells."""
        n, terms = n_terms(self.shape, self.of_errors.order), n_terms(self.shape, self.order)
        matrices = sum(0 if one.by_margins else one._squares for one in (self, self.of_errors))
        return n**2 + (terms + 8) * self.n_answers + self.n_chances + matrices + 8 * self._n_cells

    @property
    def at_work(self) -> int:
        """Numbers that are held while a law is fitted."""
        n = n_terms(self.shape, self.of_errors.order)
        return 5 * n**2 + n * self.n_answers * 2 + min(n * self._n_cells, 1 << 25) + self.n_chances


def allowance(rooms: Sequence[Room]) -> float:
    """How many times its stated work each law may take, so that all together take ``MOST_OF_ALL``; 1 at least.

    Answers decide how many steps a fit takes, and answers come from others: counts from 1 to 10^9 make it 100 of
    eight times the laws tried.  So a fit ends where its share of the whole is used up, whatever the answers are.
    """
    steps = sum(one.stated for one in rooms)
    others = sum(one.whole_work for one in rooms) - steps
    return max(1.0, (MOST_OF_ALL - others) / max(1, steps))


class NoLawError(ParameterError):
    """A law that takes too much, or cannot be computed; where nobody asked for one, answers are read without."""


def too_large(what: str) -> NoLawError:
    """The refusal of a law that takes too much."""
    return NoLawError(
        f"The 'model' parameter must be None here: {what}.",
        parameter="model",
        value=None,
        hint="Without a law every itemset is read from the questions that tell of it.",
    )


def not_settled() -> NoLawError:
    """The refusal of a law whose equations have no solution by doubles."""
    return too_large("a law fitted to these answers cannot be computed to the digits that numbers have")
