"""The 2x2 table of a rule A => C: which records have both sides, one of them, or neither.

                 C      not C
    A          pi11     pi10   | a              Guo, Guo and Wu (2007), Table 1
    not A      pi01     pi00   | not_a
               c        not_c    1

A measure is a function of three support fractions, x = pi11, a and c, and perhaps of the number n of records.  Cells
are made of counts before anything is divided, so that a cell which is empty is 0 and not 1e-17.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Fractions, a place per rule; real, or complex where a derivative is taken by a complex step."""


Form = tuple[float, float, float, float]
"""A linear function of a table: its coefficients of x, a, c and 1."""


@dataclass(frozen=True, slots=True)
class Contingency:
    """Tables of many rules at once, as fractions of n records.  Estimated tables may have negative cells."""

    n: float
    pi11: Array
    pi10: Array
    pi01: Array
    pi00: Array
    a: Array
    c: Array
    not_a: Array
    not_c: Array
    counts: tuple[Array, Array, Array] | None = None
    """The support counts of both sides together, of A and of C, where the table was made of them."""

    @classmethod
    def of_cells(cls, counts: npt.NDArray[np.float64], n: float) -> Contingency:
        """From counts of the cells none, first side alone, second alone, both: a row for each table."""
        both = counts[:, 3]
        return cls.of_counts(both, counts[:, 1] + both, counts[:, 2] + both, n)

    @classmethod
    def of_counts(cls, x: npt.ArrayLike, a: npt.ArrayLike, c: npt.ArrayLike, n: float) -> Contingency:
        """From the support counts of both sides together, of A and of C, among n records."""
        x, a, c = np.asarray(x), np.asarray(a), np.asarray(c)
        return cls(
            n=n,
            pi11=x / n,
            pi10=(a - x) / n,
            pi01=(c - x) / n,
            pi00=(n - a - c + x) / n,
            a=a / n,
            c=c / n,
            not_a=(n - a) / n,
            not_c=(n - c) / n,
            counts=(x, a, c),
        )

    def shifted(self, x: Any, a: Any, c: Any) -> Contingency:
        """With these fractions added to the supports of both sides together, of A and of C."""
        return Contingency(
            n=self.n,
            pi11=self.pi11 + x,
            pi10=self.pi10 + (a - x),
            pi01=self.pi01 + (c - x),
            pi00=self.pi00 + (x - a - c),
            a=self.a + a,
            c=self.c + c,
            not_a=self.not_a - a,
            not_c=self.not_c - c,
        )

    def __getitem__(self, rules: Any) -> Contingency:
        """Some of the rules."""
        parts = (self.pi11, self.pi10, self.pi01, self.pi00, self.a, self.c, self.not_a, self.not_c)
        pi11, pi10, pi01, pi00, a, c, not_a, not_c = (part[rules] for part in parts)
        counts = None if self.counts is None else (self.counts[0][rules], self.counts[1][rules], self.counts[2][rules])
        return Contingency(self.n, pi11, pi10, pi01, pi00, a, c, not_a, not_c, counts)

    def at(self, form: Form) -> Array:
        """A linear function of each table."""
        x, a, c, one = form
        result: Array = x * self.pi11 + a * self.a + c * self.c + one
        return result

    def ratio(self, over: Form, under: Form) -> Array:
        """Of two linear functions of each table; of counts, where there are some, so that it is rounded once."""
        top, bottom = self.at(over), self.at(under)
        if self.counts is not None:
            x, a, c = self.counts
            top, bottom = (form[0] * x + form[1] * a + form[2] * c + form[3] * self.n for form in (over, under))
        result: Array = top / bottom
        return result

    def __len__(self) -> int:
        return len(self.pi11)


FORMS: dict[str, Form] = {
    "pi11": (1, 0, 0, 0),
    "pi10": (-1, 1, 0, 0),
    "pi01": (-1, 0, 1, 0),
    "pi00": (1, -1, -1, 1),
    "a": (0, 1, 0, 0),
    "c": (0, 0, 1, 0),
    "not_a": (0, -1, 0, 1),
    "not_c": (0, 0, -1, 1),
    "union": (-1, 1, 1, 0),
    "apart": (-2, 1, 1, 0),
    "a - c": (0, 1, -1, 0),
    "c - not_c": (0, 0, 2, -1),
    "a - not_c": (0, 1, 1, -1),
    "pi11 - pi10": (2, -1, 0, 0),
    "pi01 - pi00": (-2, 1, 2, -1),
}
"""The cells and margins by name, the records that have at least one side, or just one, and differences."""
