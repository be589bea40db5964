"""What an interest measure is: one record that says everything about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Any

import numpy as np

from bosket.measures.table import Array, Contingency, Form

Gradient = tuple[Any, Any, Any]
"""Derivatives by the support fractions x, a and c; a number where all rules share it."""


class Monotone(Enum):
    """Whether a measure of randomized records is never above (in absolute value) that of the original ones.

    Guo, Guo and Wu (2007), Result 1, for items that are randomized independently of each other.
    """

    ALWAYS = "whatever the two 2x2 channels"
    SYMMETRIC = "if 1s and 0s are flipped alike"
    NO = "no"


class Scale(Enum):
    """Where an interval of a measure is made before it is carried back: value -+ z stderr on that scale."""

    LINEAR = "normal"
    LOG = "log"
    FISHER_Z = "Fisher z"
    RECIPROCAL = "reciprocal"
    FIELLER = "Fieller"
    PHI = "by the correlation"
    ROOT = "signed root"


@dataclass(frozen=True)
class Measure:
    """An interest measure of rules A => C, as a function of their 2x2 tables.

    value       the formula; what it gives at degenerate tables is overruled by ``degenerate``
    gradient    its derivatives by x = pi11, a and c, the others held fixed; None where there is none
    range       lowest and highest value
    degenerate  values at tables with empty cells where the formula has none or where a convention is taken: by
                condition ("a", "c", "not_a", "not_c", "pi11", "pi10", "pi01" or "pi00", which is 0), the first that
                holds counts; elsewhere the formula speaks for itself
    scale       where its default interval is made; for FIELLER, ``ratio`` names numerator and denominator
    must_be_sure  cells and margins without which the value means nothing: of estimates they must lie clearly above 0
    trusted_if  cells and margins that must be many standard errors above 0 for the interval to be trusted
    kinks       functions of the table (forms by name, or "leverage") at whose 0 the formula changes branch, or has a
                derivative of 0, so that the delta method says nothing there; they must be many standard errors from it
    """

    name: str
    title: str
    formula: str
    value: Callable[[Contingency], Array]
    gradient: Callable[[Contingency], Gradient] | None
    range: tuple[float, float]
    reference: str
    aliases: tuple[str, ...] = ()
    arules: str | None = None
    """Its name in R's arules, where that computes the same."""
    degenerate: Mapping[str, float] = field(default_factory=dict)
    monotone: Monotone = Monotone.NO
    scale: Scale = Scale.LINEAR
    ratio: tuple[Form, Form] | None = None
    is_share: bool = False
    """Of a ratio: whether the numerator counts some of the records that the denominator counts."""
    is_loss: bool = False
    """Whether less is better, so that it cannot be the metric that rules are selected by."""
    must_be_sure: tuple[str, ...] = ()
    trusted_if: tuple[str, ...] = ()
    kinks: tuple[str, ...] = ()
    is_symmetric: bool = False
    """Whether A => C and C => A have the same value."""

    @property
    def is_rounded_once(self) -> bool:
        """Whether the float of a table of counts is the one nearest to the exact value."""
        return self.ratio is not None

    def __call__(self, table: Contingency) -> Array:
        """The measure of each table; conventions at degenerate ones included."""
        with np.errstate(all="ignore"):
            value = self.value(table) if self.ratio is None or table.counts is None else table.ratio(*self.ratio)
            result = np.array(value + np.zeros_like(table.pi11))
        decided = np.zeros(result.shape, bool)
        for place, constant in self.degenerate.items():
            here = getattr(table, place) == 0
            if here.any():
                result[here & ~decided] = constant
                decided |= here
        return result


UNBOUNDED = (-inf, inf)
