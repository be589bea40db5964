"""What people answered, as a function of the law of a table: the likelihood that a law is fitted by.

Where a report shows one answer, numbers of answers are multinomial.  With theta the probability of the cells of an
answer y, r(y) = b + kappa theta of the people give it, and log p(answers) is the sum of n(y) log r(y), exactly.

Where answers are hashed a report may show several, those of a bucket.  S(y) of n reports show y, or show the single
answers that y stands for so often in all: b n in the mean where nobody has y, q n of it for each.  What is maximised is
the sum of

    n'(y) log r'(y),    n' = (S + n b q / m) / m,    r' = b (1 - q) / m + kappa theta,    m = 1 - 2 q

Its derivative by theta, less n kappa / m, which is one number for all y and of no effect since theta adds up to 1, is

    kappa (S - n (b + kappa theta)) / d,    d = b (1 - q) + m kappa theta

what S lacks to its mean over a variance: a quasi-likelihood (Wedderburn 1974).  It has the mean of S right, so that the
mode is consistent; of the second moments it takes d.  By :mod:`bosket.mechanisms.questions.channel`,

    Cov S = n (diag d - kappa^2 theta theta')  <=  n diag d

since answers exclude each other.  So with J the derivatives of theta and F = n J' diag(kappa^2 / d) J the derivative of
the score has the covariance n J' diag(kappa / d) (Cov S / n) diag(kappa / d) J <= F, and the mode has at most the
covariance (F + P)^-1 that is stated for it, P the precision before.  Groups of answers keep this: b, S and d add.  At
q = 1/2 there is no r', and 1/2 is taken for m: then d is larger than need be by kappa theta / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bosket.models.features import Subset, summed_over
from bosket.models.room import Room
from bosket.statistics.estimates import Floats


@dataclass(frozen=True)
class Answered:
    """What people said to one question, of a table of a few attributes.

    attributes  the question's, by their places in the table, rising
    answers     the answer of each combination of their values, the last attribute's running fastest
    shown       how many people gave each answer
    keep        kappa: how much more likely an answer is where it is the true one
    by_chance   b: how likely each answer is where it is not
    people      how many were asked, where answers are hashed; else as many as answers are shown
    single      where answers are hashed, how likely a single one is shown that is not the true one; b is a multiple
    """

    attributes: Subset
    answers: npt.NDArray[np.int64]
    shown: Floats
    keep: float
    by_chance: Floats
    people: float | None = None
    single: float | None = None

    is_observed: ClassVar[bool] = False
    """Whether information is that of the reports at hand, in place of the expected."""

    def gathered(self, of_cells: Floats) -> Floats:
        """What answers have of what combinations of values have: sums over the combinations of each."""
        if of_cells.ndim == 1:
            return np.bincount(self.answers, of_cells, len(self.shown)).astype(float)
        if self.is_plain:
            return of_cells
        summed = np.zeros((len(self.shown), of_cells.shape[1]))
        np.add.at(summed, self.answers, of_cells)
        return summed

    @cached_property
    def n(self) -> float:
        return float(self.shown.sum()) if self.people is None else self.people

    @cached_property
    def scale(self) -> float:
        """m: by how much less than a count the number of reports that show an answer varies; 1 for counts."""
        return 1.0 if self.single is None else scale_of(self.single)

    @cached_property
    def floor(self) -> Floats:
        """What is added to kappa theta in the likelihood: b, or b (1 - q) / m."""
        return self.by_chance if self.single is None else self.by_chance * ((1 - self.single) / self.scale)

    @cached_property
    def counted(self) -> Floats:
        """The numbers in the likelihood: those shown, or n'."""
        if self.single is None:
            return self.shown
        return (self.shown + self.n * (self.floor - self.by_chance)) / self.scale

    @cached_property
    def per_shown(self) -> float:
        """Reports for each answer that is shown: 1, unless answers are hashed."""
        return 1.0 if self.single is None else self.n / max(float(self.shown.sum()), 1.0)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every combination is an answer of its own, in their order."""
        return len(self.answers) == len(self.shown) and np.array_equal(self.answers, np.arange(len(self.shown)))


def scale_of(single: float) -> float:
    """m of a channel that shows a single answer by chance so often."""
    return max(1 - 2 * single, 0.5)


class Likelihood:
    """Answers to all questions, as functions of the law of a table's cells."""

    def __init__(self, shape: tuple[int, ...], answered: Sequence[Answered]) -> None:
        self.shape = shape
        self.answered = tuple(one for one in answered if one.n)
        self.shown = _joined([one.counted for one in self.answered])
        self.keep = _joined([np.full(len(one.shown), one.keep) for one in self.answered])
        self.by_chance = _joined([one.floor for one in self.answered])
        self.scale = _joined([np.full(len(one.shown), one.scale) for one in self.answered])
        self.n_asked = _joined([np.full(len(one.shown), one.n / one.scale) for one in self.answered])
        self.is_observed = _joined([np.full(len(one.shown), one.is_observed) for one in self.answered]).astype(bool)
        ends = np.cumsum([len(one.shown) for one in self.answered]).tolist()
        self._about: dict[Subset, list[tuple[Answered, slice]]] = {}
        for one, end in zip(self.answered, ends, strict=True):
            self._about.setdefault(one.attributes, []).append((one, slice(end - len(one.shown), end)))

    def room(self, order: int) -> Room:
        """What a law of this order takes."""
        n_chances = sum(len(one.shown) * len(one.answers) for one in self.answered if one.is_observed)
        return Room(self.shape, [one.attributes for one in self.answered], len(self.shown), order, n_chances)

    @cached_property
    def widest(self) -> int:
        """The attributes of the largest question."""
        return max((len(one.attributes) for one in self.answered), default=0)

    def margins(self, law: Floats) -> Floats:
        """The probability of the cells of every answer to every question, one after the other."""
        return self.by_answer((), partial(self.mass, law))

    def mass(self, law: Floats, attributes: Subset) -> Floats:
        """The probability of every combination of values of these attributes."""
        others = (at for at in range(len(self.shape)) if at not in attributes)
        return summed_over(law.reshape(self.shape), others).ravel()

    def by_answer(self, beside: tuple[int, ...], of_cells: Callable[[Subset], Floats]) -> Floats:
        """What every answer has of what combinations of values have: shape (answers, *beside).

        Questions about the same attributes, asked by channels of their own, read one table; one table stands at a time.
        """
        found = np.empty((len(self.shown), *beside))
        for attributes, questions in self._about.items():
            table = of_cells(attributes)
            for one, rows in questions:
                found[rows] = one.gathered(table)
        return found

    def given(self, law: Floats) -> Floats:
        """The probability that each answer is given; where answers are hashed, r'."""
        return self.by_chance + self.keep * self.margins(law)

    def information(self, given: Floats) -> Floats:
        """Of each answer, that its slopes are weighed by: expected, or observed where answers say so."""
        expected = self.n_asked * self.keep**2 / given
        return np.where(self.is_observed, self.shown * self.keep**2 / given**2, expected)

    def log(self, law: Floats) -> float:
        return float(self.shown @ np.log(self.given(law)))


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.empty(0)
