"""Reports that may come from any cell of a table, each with its own chance: the likelihood of any channel.

A report z of a person whose record is x has the probability L(z, x), which a channel knows, and so

    log p(reports) = sum over z of n(z) log sum over x of L(z, x) theta(x)

exactly.  There are too many reports that could have come to sum over them, so that in place of Fisher's information
stands that of the reports at hand, the sum of n(z) s(z) s(z)', s(z) the derivatives of the logarithm (Berndt, Hall,
Hall and Hausman 1974): its mean is Fisher's at the true law.  A factor that all L(z, x) of a report share has no part
in any of this, and in no comparison of laws.

Where a report is a bit for each value of each attribute, and coins of bits are apart, L is a product over attributes,
and a report seen from some attributes is just their bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bosket.errors import ParameterError
from bosket.models.answered import Answered
from bosket.models.features import Subset
from bosket.statistics.estimates import Floats

MOST_CHANCES = 1 << 26
"""Different reports times cells of a law."""


@dataclass(frozen=True)
class Weighed(Answered):
    """Different reports, and how likely each is for each cell; ``attributes`` are all of the law."""

    chances: Floats | None = None

    is_observed: ClassVar[bool] = True

    def gathered(self, of_cells: Floats) -> Floats:
        assert self.chances is not None
        result: Floats = self.chances @ of_cells
        return result


def weighed_by(shape: tuple[int, ...], shown: npt.NDArray[np.int64] | Floats, chances: Floats) -> Weighed:
    """From how often each report came, and its chances by cell: shape (reports, cells)."""
    attributes = tuple(range(len(shape)))
    cells = np.arange(math.prod(shape))
    return Weighed(attributes, cells, shown.astype(float), 1.0, np.zeros(len(shown)), chances=chances)


@dataclass(frozen=True)
class FlippedBits:
    """Reports of bits, one for each value of each attribute, whose coins are apart.

    sizes    of all attributes, by their numbers
    words    different reports, as packed bits, value by value and attribute by attribute
    shown    how often each came
    present  by value, the probability of its bit where the record has it
    absent   and where it has not
    """

    sizes: tuple[int, ...]
    words: npt.NDArray[np.uint64]
    shown: npt.NDArray[np.int64]
    present: Floats
    absent: Floats

    @property
    def attributes(self) -> Subset:
        return tuple(range(len(self.sizes)))

    @property
    def n_people(self) -> int:
        return int(self.shown.sum())

    def seen_from(self, block: Subset) -> Answered:
        """Their bits of the attributes in the block, and what each says of the values."""
        offsets = np.append(0, np.cumsum(self.sizes))
        items = np.concatenate([np.arange(offsets[at], offsets[at + 1]) for at in block])
        bits = (self.words[:, items // 64] >> (items % 64).astype(np.uint64) & np.uint64(1)).astype(bool)
        different, place = np.unique(bits, axis=0, return_inverse=True)
        shown: npt.NDArray[np.int64] = np.zeros(len(different), np.int64)
        np.add.at(shown, place.ravel(), self.shown)
        shape = tuple(self.sizes[at] for at in block)
        _refuse_many(len(different), math.prod(shape))
        given = np.where(different, self.present[items], 1 - self.present[items])
        not_given = np.where(different, self.absent[items], 1 - self.absent[items])
        return weighed_by(shape, shown, _products(given, not_given, shape))


def _products(given: Floats, not_given: Floats, shape: Sequence[int]) -> Floats:
    """L of every report and cell, times a number for each report; ``given`` has the chance of each bit if it is true.

    An attribute of the value v has the chance of v's own bit, times those of the others as values that are not there.
    """
    found = np.ones((len(given), 1))
    start = 0
    for size in shape:
        columns = slice(start, start + size)
        true, false = given[:, columns], not_given[:, columns]
        of_values = np.stack([true[:, v] * np.delete(false, v, axis=1).prod(axis=1) for v in range(size)], axis=1)
        of_values /= np.maximum(of_values.max(axis=1, keepdims=True), np.finfo(float).tiny)
        found = (found[:, :, None] * of_values[:, None, :]).reshape(len(found), -1)
        start += size
    return found


def _refuse_many(n_reports: int, n_cells: int) -> None:
    if n_reports * n_cells > MOST_CHANCES:
        raise ParameterError(
            f"The 'model' parameter must be None for {n_reports} different reports of a law of {n_cells} cells, "
            f"more than {MOST_CHANCES} in all.",
            parameter="model",
            value=n_reports * n_cells,
            hint="Merge values, or read the reports without a law: model=None.",
        )
