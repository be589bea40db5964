"""A question seen from some of its attributes: answers that these cannot tell apart become one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.models.answered import Answered
from bosket.models.features import Subset

_FEW = 4  # attributes of a question, up to which what is seen from some of them is kept


@dataclass(frozen=True)
class Heard:
    """A question about some attributes of a table, and how many people gave each of its answers.

    answers    the answer of each combination of values, the last attribute's running fastest
    keep       kappa: how much more likely an answer is where it is the true one
    by_chance  how likely each answer is where it is not
    people     how many were asked, where answers are hashed, so that a report may show several; else None
    """

    attributes: Subset
    shape: tuple[int, ...]
    answers: npt.NDArray[np.int64]
    shown: npt.NDArray[np.int64]
    keep: float
    by_chance: float
    people: int | None = None

    @property
    def n_people(self) -> int:
        return int(self.shown.sum()) if self.people is None else self.people

    def seen_from(self, block: Subset) -> Answered | None:
        """The question as one about those of its attributes that are in the block; None where it tells nothing of them.

        Answers that these attributes cannot tell apart become one: answers and combinations of the kept values that
        share cells are joined.
        """
        kept = tuple(place for place, at in enumerate(self.attributes) if at in block)
        local = tuple(block.index(self.attributes[place]) for place in kept)
        if len(self.attributes) > _FEW:
            found = self._seen_by(kept)
        else:
            if kept not in self._seen:
                self._seen[kept] = self._seen_by(kept)
            found = self._seen[kept]
        return None if found is None else replace(found, attributes=local)

    @cached_property
    def _seen(self) -> dict[Subset, Answered | None]:
        """What was seen from some of few attributes: many blocks see the same."""
        return {}

    def _seen_by(self, kept: Subset) -> Answered | None:
        """From the attributes at these places, by which it names them."""
        shown = self.shown.astype(float)
        hashed = (None, None) if self.people is None else (float(self.people), self.by_chance)
        if len(kept) == len(self.attributes):
            return Answered(kept, self.answers, shown, self.keep, np.full(len(shown), self.by_chance), *hashed)
        if not kept:
            return None
        values = np.unravel_index(np.arange(math.prod(self.shape)), self.shape)
        inner = tuple(self.shape[place] for place in kept)
        cell = np.ravel_multi_index(tuple(values[place] for place in kept), inner)
        joined = _joined(cell, self.answers, math.prod(inner), len(shown))
        if joined is None:
            return None
        of_cells, of_answers = joined
        number = np.bincount(of_answers).astype(float)
        together = np.bincount(of_answers, shown).astype(float)
        return Answered(kept, of_cells, together, self.keep, self.by_chance * number, *hashed)


def alike_together(parts: Iterable[Answered]) -> list[Answered]:
    """Questions that look the same from where they are seen, as one: their answers add."""
    found: dict[Hashable, Answered] = {}
    for one in parts:
        if one.is_observed:
            found[id(one)] = one
            continue
        key = (one.attributes, one.answers.tobytes(), one.keep, one.by_chance.tobytes(), one.single)
        found[key] = _added(found[key], one) if key in found else one
    return list(found.values())


def _added(one: Answered, other: Answered) -> Answered:
    people = None if one.people is None or other.people is None else one.people + other.people
    return replace(one, shown=one.shown + other.shown, people=people)


def _joined(
    cell: npt.NDArray[np.int64], answers: npt.NDArray[np.int64], n_cells: int, n_answers: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """The parts that cells and answers fall into, numbered by the first cell of each; None if there is one alone."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = n_cells + n_answers
    links = csr_array((np.ones(len(cell), np.int8), (cell, n_cells + answers)), shape=(n, n))
    number, part = connected_components(links, directed=False)
    if number < 2:
        return None
    _, first = np.unique(part[:n_cells], return_index=True)
    rank = np.empty(number, np.int64)
    rank[part[np.sort(first)]] = np.arange(number)
    return rank[part[:n_cells]], rank[part[n_cells:]]
