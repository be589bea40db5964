"""Searches on estimates that are drawn: what :func:`bosket.mine` would list, if estimates were normal around a pilot.

A search lists an itemset whose estimate reaches the limit, if it gets there: each of its subsets must have been kept,
that is estimated no more than ``slack`` standard errors below the limit.  A subset that was kept is listed with what it
led to.  Estimates of an itemset are drawn given those of its subsets (:mod:`bosket.planning.joint_errors`), level by
level, so that a draw looks at as many itemsets as a search does and never at all that noise might lift; and the chance
that an itemset reaches the limit, given its subsets, is added up in place of whether it did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr, ndtri

from bosket.counting.base import ItemsetRows
from bosket.counting.table import ItemsetIndex, members
from bosket.errors import ParameterError, TooManyCandidatesError
from bosket.evidence.kept import Places
from bosket.mining.candidates import ItemGroups, next_candidates
from bosket.randomness import Randomness
from bosket.statistics.estimates import Floats

MOST = 2_000_000
"""Itemsets of one size that a draw looks at."""
_ENOUGH = 250_000  # in all draws together: where each looks at many, few of them tell enough
_TOGETHER = 4  # items of itemsets up to which errors are taken together with those of all subsets
_JITTER = 1e-10


@dataclass(frozen=True)
class LevelErrors:
    """Of itemsets of one size: the mean and standard error of each estimate, and how it follows those of subsets."""

    mean: Floats
    error: Floats
    follows: Floats
    """Of what an estimate is off, by what those of its subsets are off: shape (n, subsets)."""
    rest: Floats
    """The standard deviation that is left, given these."""


@dataclass
class DrawnLevel:
    """Itemsets of one size that some draw looks at, and what became of them in each."""

    itemsets: ItemsetRows
    errors: LevelErrors
    chance: Floats
    """Of each itemset to be listed for itself: the sum over draws in which it is looked at."""
    places: list[Places] = field(default_factory=list)
    """By draw: the itemsets that are kept."""
    values: list[Floats] = field(default_factory=list)
    """Their estimates."""


def subsets_of(k: int) -> list[int]:
    """Masks of the subsets that an itemset of k items follows: all of them, of large ones those of one item less."""
    return [mask for mask in range(1, (1 << k) - 1) if k <= _TOGETHER or mask.bit_count() == k - 1]


def following(covariance: Floats) -> tuple[Floats, Floats]:
    """The regression of the last estimate on the others, and the variance that it leaves, for each itemset."""
    scale = np.sqrt(np.maximum(np.einsum("naa->na", covariance), 1e-300))
    related = covariance / scale[:, :, None] / scale[:, None, :]
    related[:, np.arange(scale.shape[1]), np.arange(scale.shape[1])] = 1 + _JITTER
    slopes = np.linalg.solve(related[:, :-1, :-1], related[:, :-1, -1:])[:, :, 0]
    left = 1 - np.einsum("na,na->n", slopes, related[:, :-1, -1])
    return slopes * scale[:, -1:] / scale[:, :-1], np.maximum(left, 0.0) * scale[:, -1] ** 2


class DrawnSearches:
    """So many searches side by side; fewer where they look at very many itemsets, which then tell enough."""

    def __init__(
        self, limit: float, slack: float, errors_of: Callable[[ItemsetRows], LevelErrors], rng: Randomness, draws: int
    ) -> None:
        self.limit, self.slack, self.draws = limit, slack, draws
        self.levels: list[DrawnLevel] = []
        self._errors_of, self._rng = errors_of, rng

    def first(self, n_items: int) -> None:
        """Single items: every draw looks at all of them."""
        itemsets = np.arange(n_items, dtype=np.int32)[:, None]
        self._add(itemsets, [np.arange(n_items)] * self.draws)

    def next(self, groups: ItemGroups | None) -> bool:
        """Itemsets of one item more all of whose subsets are kept; False where no draw has any.

        They are counted before they are made: a pilot of many items at a small support would have billions.
        """
        level = self.levels[-1]
        found: list[ItemsetRows] = []
        number = 0
        for kept in level.places[: self.draws]:
            try:
                rows = next_candidates(ItemsetIndex(level.itemsets[kept]), max_candidates=MOST, groups=groups)
            except TooManyCandidatesError as problem:
                raise ParameterError(
                    f"The 'min_support' parameter must be larger: more than {MOST} itemsets of {problem.level} items "
                    "may be looked at.",
                    parameter="min_support",
                    value=None,
                ) from None
            number += len(rows)
            if found and number > _ENOUGH:
                break
            found.append(rows)
        self.draws = len(found)
        itemsets, inverse = np.unique(np.concatenate(found), axis=0, return_inverse=True)
        if len(itemsets):
            ends = np.cumsum([len(rows) for rows in found])
            self._add(np.ascontiguousarray(itemsets), np.split(inverse.ravel(), ends[:-1]))
        return bool(len(itemsets))

    def _add(self, itemsets: ItemsetRows, looked_at: list[Places]) -> None:
        """Draw the estimates of a level, given those of the levels before."""
        errors = self._errors_of(itemsets)
        level = DrawnLevel(itemsets, errors, np.zeros(len(itemsets)))
        off = _Off(self.levels, itemsets)
        for draw, at in enumerate(looked_at):
            mean = errors.mean[at] + np.einsum("na,na->n", errors.follows[at], off.of(draw, at))
            rest = np.maximum(errors.rest[at], 1e-300)
            level.chance[at] += ndtr((mean - self.limit) / rest)
            value = mean + rest * self._normal(len(at))
            kept = value >= self.limit - self.slack * errors.error[at]
            level.places.append(at[kept])
            level.values.append(value[kept])
        self.levels.append(level)

    def _normal(self, n: int) -> Floats:
        return np.asarray(ndtri((self._rng.integers(1 << 53, n) + 0.5) / 2.0**53))

    def listed(self) -> list[Floats]:
        """By level: how often each itemset is listed, for itself or with a larger one that it led to.

        Of the last level, whose itemsets lead to none, the mean chance given subsets; of the others what was drawn.
        """
        found = [np.zeros(len(level.itemsets)) for level in self.levels]
        found[-1] = self.levels[-1].chance / self.draws
        indices = [ItemsetIndex(level.itemsets) for level in self.levels[:-1]]
        for draw in range(self.draws):
            inside: Places = np.empty(0, np.int64)  # itemsets of this level that a listed one of the next contains
            for at in range(len(self.levels) - 1, -1, -1):
                level = self.levels[at]
                is_listed = np.zeros(len(level.itemsets), bool)
                is_listed[inside] = True
                is_listed[level.places[draw][level.values[draw] >= self.limit]] = True
                if at < len(self.levels) - 1:
                    found[at] += is_listed / self.draws
                if at:
                    rows = level.itemsets[is_listed]
                    k = rows.shape[1]
                    without = [members((1 << k) - 1 - (1 << out)) for out in range(k)]
                    inside = np.concatenate([indices[at - 1].find(rows, one) for one in without])
        return found


class _Off:
    """How far the estimates of subsets are off in a draw."""

    def __init__(self, levels: list[DrawnLevel], itemsets: ItemsetRows) -> None:
        k = itemsets.shape[1]
        self.levels = levels
        indices = [ItemsetIndex(level.itemsets) for level in levels]
        self.subsets = [
            (mask.bit_count() - 1, indices[mask.bit_count() - 1].find(itemsets, members(mask)))
            for mask in (subsets_of(k) if k > 1 else [])
        ]

    def of(self, draw: int, at: Places) -> Floats:
        """Shape (n, subsets); all of them are kept in this draw."""
        off = []
        for level in self.levels:
            one = np.zeros(len(level.itemsets))
            places = level.places[draw]
            one[places] = level.values[draw] - level.errors.mean[places]
            off.append(one)
        columns = [off[size][places[at]] for size, places in self.subsets]
        return np.stack(columns, axis=1) if columns else np.empty((len(at), 0))
