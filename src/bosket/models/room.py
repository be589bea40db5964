"""What a law takes, told before it is fitted: coefficients, memory, and the work of one step of scoring.

Designs come from others too.  A few kilobytes name hundreds of questions of thousands of answers each, whose
derivatives would take hundreds of gigabytes; so the order of a law is one that there is room for, and a law of any
order is refused where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bosket.errors import ParameterError
from bosket.models.features import Subset

MOST_TERMS = 3000
"""Coefficients of a law with interactions of three attributes."""
MOST_NUMBERS = 1 << 26
"""Derivatives: of all answers by all coefficients."""
MOST_WORK = 1 << 36
"""Multiplications of one step of scoring: some seconds on one core."""
FEW_PARTS = 4000
"""Questions times subsets of attributes, up to which derivatives are made one by one."""
_MOST_SQUARES = 1 << 25  # numbers of all matrices from features to combinations
_SUMMED = 8  # multiplications in the time that a number takes to be added up


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
        """Whether derivatives are made question by question: where there are few, or their features are too many."""
        subsets = sum(math.comb(len(self.shape), size) for size in range(1, self.order + 1))
        if len(self.asked) * subsets <= FEW_PARTS:
            return True
        squares = sum(size**2 for size, whole in zip(self._sizes, self.at_once, strict=True) if not whole)
        return squares > _MOST_SQUARES or self._of_moments > max(MOST_WORK, self._of_margins)

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
        beside = [math.comb(len(self.shape) - len(one), size) for one in self.asked for size in range(self.order + 1)]
        return _SUMMED * self._n_cells * sum(beside)

    @property
    def work(self) -> int:
        """Multiplications of one step of scoring."""
        terms = n_terms(self.shape, self.order)
        route = self._of_margins if self.by_margins else self._of_moments
        looks = 3 * _SUMMED * len(self.asked) * self._n_cells
        errors = self._n_cells * terms**2 // 16  # once, after a dozen steps and more
        return (self.n_answers * terms + self.n_chances + terms**2) * terms + route + looks + errors

    @property
    def is_enough(self) -> bool:
        """Whether a law of this order can be fitted in bounded memory and time, its coefficients aside."""
        return n_terms(self.shape, self.order) * self.n_answers <= MOST_NUMBERS and self.work <= MOST_WORK


def too_large(what: str) -> ParameterError:
    """The refusal of a law that takes too much."""
    return ParameterError(
        f"The 'model' parameter must be None here: {what}.",
        parameter="model",
        value=None,
        hint="Without a law every itemset is read from the questions that tell of it.",
    )


def not_settled() -> ParameterError:
    """The refusal of a law whose equations have no solution by doubles."""
    return too_large("a law fitted to these answers cannot be computed to the digits that numbers have")
