"""A question on the domain of a table: its attributes by number, and the answer of each combination of their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from operator import mul

import numpy as np
import numpy.typing as npt

from bosket.checks import shown
from bosket.data import TableDomain
from bosket.errors import ParameterError
from bosket.mechanisms.questions.designs import MOST_ANSWERS, Question
from bosket.mechanisms.questions.foreseen import Attributes
from bosket.mechanisms.questions.table_channels import Telling


class Asked:
    """A question on a domain: its attributes by number, and the answer of each combination of their values."""

    def __init__(
        self, question: Question, domain: TableDomain, places: dict[str, int], told_by: Callable[[int], Telling]
    ) -> None:
        unknown = [name for name in question.attributes if name not in places]
        if unknown:
            raise ParameterError(
                f"The 'design' parameter of Ask must ask about attributes of the table, got {shown(unknown[0])}.",
                parameter="design",
                value=unknown[0],
                hint=f"The attributes are {_listed(domain.names, 12)}.",
            )
        numbers = [places[name] for name in question.attributes]
        shape = tuple(int(domain.sizes[at]) for at in numbers)
        n_cells = next((cells for cells in accumulate(shape, mul) if cells > MOST_ANSWERS), None)
        if n_cells is not None:  # and not all of them: thousands of attributes have numbers of thousands of digits
            raise ParameterError(
                f"The 'design' parameter of Ask must have questions of at most {MOST_ANSWERS} combinations of values, "
                f"got {n_cells} or more of {_listed(question.attributes)}.",
                parameter="design",
                value=n_cells,
            )
        n_cells = math.prod(shape)
        answers = _plain(n_cells) if question.merged is None else np.array(question.merged)
        if len(answers) != n_cells:
            raise ParameterError(
                f"The 'design' parameter of Ask must give an answer to each of the {n_cells} combinations of "
                f"{_listed(question.attributes)}, got {len(answers)}.",
                parameter="design",
                value=len(answers),
            )
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        self.attributes: Attributes = tuple(numbers[at] for at in order)
        self.shape = tuple(shape[at] for at in order)
        is_sorted = order == list(range(len(order)))
        self.answers: npt.NDArray[np.int64] = (
            answers if is_sorted else np.ascontiguousarray(answers.reshape(shape).transpose(order)).ravel()
        )
        """By combination, the last attribute's values running fastest."""
        self.n_answers = n_cells if question.merged is None else int(answers.max()) + 1
        if self.n_answers < 2:
            raise ParameterError(
                f"The 'design' parameter of Ask must have questions of two answers or more, got one of one answer, "
                f"about {_listed(question.attributes)}.",
                parameter="design",
                value=1,
            )
        self.told = told_by(self.n_answers)

    @property
    def keep(self) -> float:
        """kappa: by how much more often an answer is shown where it is the true one."""
        return self.told.keep

    @property
    def by_chance(self) -> float:
        """The probability that an answer is shown which is not the true one."""
        return self.told.by_chance

    @cached_property
    def is_plain(self) -> bool:
        """Whether every combination is an answer of its own."""
        plain = _plain(len(self.answers))
        return self.n_answers == len(plain) and (self.answers is plain or np.array_equal(self.answers, plain))

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """What a value of each attribute counts for in the number of a combination."""
        return tuple(math.prod(self.shape[place + 1 :]) for place in range(len(self.shape)))


@lru_cache(maxsize=32)
def _plain(n_cells: int) -> npt.NDArray[np.int64]:
    """An answer of its own for every combination: the same for the thousands of questions of a design."""
    answers = np.arange(n_cells)
    answers.flags.writeable = False
    return answers


def _listed(names: Sequence[str], most: int = 4) -> str:
    """The first few names, in messages."""
    return ", ".join(map(shown, names[:most])) + (", ..." if len(names) > most else "")
