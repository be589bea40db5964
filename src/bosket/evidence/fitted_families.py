"""What fitted laws say of itemsets: margins, their covariances, what a few answers carry, and which are doubtful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.data import TableDomain
from bosket.evidence.base import Family
from bosket.evidence.carried import Carried
from bosket.evidence.concentration import carried_in_lists
from bosket.evidence.counts import too_many_looks
from bosket.evidence.kept import Level, Truths
from bosket.models.features import Subset as Attributes
from bosket.models.laws import FittedLaw
from bosket.statistics.estimates import Floats
from bosket.threads import one_thread_of_blas

if TYPE_CHECKING:
    from bosket.evidence.fitted import FittedEvidence

_AT_ONCE = 1 << 22  # numbers that covariances are made of at a time
_MOST_LOOKS = 1 << 33  # questions times the answers of the one that has most, for all itemsets of one size: minutes
MISFIT = 3.0
"""Standard errors between a law and the unbiased estimate, beyond which an itemset is marked."""
_ELSEWHERE = 1.96  # standard errors: outside the interval of 95%


def by_kind(domain: TableDomain, itemsets: ItemsetRows) -> Iterator[tuple[Attributes, npt.NDArray[np.int64]]]:
    """Itemsets by the attributes of their items, column by column: these, and the rows."""
    kinds, which = np.unique(domain.groups[itemsets], axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(which.ravel(), minlength=len(kinds))))
    for kind, (start, end) in zip(kinds, pairwise(ends.tolist()), strict=True):
        yield tuple(kind.tolist()), order[start:end]


class FittedFamily(Family):
    evidence: FittedEvidence

    @cached_property
    def _alike(self) -> list[_Alike]:
        """The itemsets by the attributes of their items."""
        domain = self.evidence.domain
        kinds = list(by_kind(domain, self.rows))
        self.evidence.laws.prepare([tuple(sorted(set(kind))) for kind, _ in kinds])
        return [
            _Alike(
                self.evidence.law(tuple(sorted(set(kind)))),
                kind,
                rows,
                self.rows[rows] - domain.offsets[list(kind)],
                {},
            )
            for kind, rows in kinds
        ]

    def value(self, mask: int) -> Floats:
        result = np.full(len(self.rows), float(self.n_records))
        if mask:
            for alike in self._alike:
                result[alike.rows] = self.n_records * alike.share(mask)
        return result

    @one_thread_of_blas()
    def covariance(self, masks: Sequence[int]) -> Floats:
        result = np.zeros((len(self.rows), len(masks), len(masks)))
        if not self.rows.shape[1]:
            return result
        for alike in self._alike:
            result[alike.rows] = self._covariance(alike, masks)
        return result

    def _covariance(self, alike: _Alike, masks: Sequence[int]) -> Floats:
        result = np.zeros((len(alike.rows), len(masks), len(masks)))
        step = max(1, _AT_ONCE // (len(masks) * alike.law.basis.n_terms))
        for start in range(0, len(alike.rows), step):
            chosen = slice(start, start + step)
            both = [alike.slopes_and_errors(mask, chosen) for mask in masks]
            slopes, errors = (np.stack([pair[which] for pair in both], axis=1) for which in (0, 1))
            result[chosen] = self.n_records**2 * (errors @ slopes.transpose(0, 2, 1))
        for i, one in enumerate(masks):
            for j, other in enumerate(masks):
                if one and other:
                    drawn = alike.share(one | other) - alike.share(one) * alike.share(other)
                    result[:, i, j] += self.n_records * drawn
        return result

    @cached_property
    def _unbiased(self) -> tuple[npt.NDArray[np.int64], Level | None]:
        """Which itemsets the answers tell of without a law, and what they say."""
        if not self.rows.shape[1]:
            return np.empty(0, np.int64), None
        known = self.evidence.unbiased.covers(self.rows)
        covered = np.arange(len(self.rows)) if known is None else np.flatnonzero(known)
        if not len(covered):
            return covered, None
        return covered, self.evidence.unbiased.family(np.ascontiguousarray(self.rows[covered])).whole

    @cached_property
    def whole(self) -> Level:
        """With what a few answers carry: how far one more of each moves the law, question by question.

        A report of a hashed question shows several answers: each is counted as that part of a report, with as much
        more weight that the squares add up.
        """
        if not self.rows.shape[1]:
            return super().whole
        n_looks = sum(alike.n_listed * len(alike.rows) for alike in self._alike)
        if n_looks > _MOST_LOOKS:
            raise too_many_looks(len(self.rows), n_looks, _MOST_LOOKS, level=self.rows.shape[1])
        value, variance = np.empty(len(self.rows)), np.empty(len(self.rows))
        carried: list[Carried] = []
        with one_thread_of_blas():
            for alike in self._alike:  # one after the other: margins are held that were made last
                value[alike.rows] = self.n_records * alike.share(self.full)
                variance[alike.rows] = self._covariance(alike, [self.full])[:, 0, 0]
                carried += self._carried(alike)
        nothing = np.empty((0, len(self.rows)), np.int64)
        return Level(self.rows, value, variance, np.zeros(len(self.rows)), nothing, Carried.together(carried))

    def _carried(self, alike: _Alike) -> Iterator[Carried]:
        if len(set(alike.attributes)) < len(alike.attributes):
            return
        fitted = alike.law.fit
        answered = fitted.basis.likelihood.answered
        sizes = np.array([len(one.shown) for one in answered])
        places = np.arange(sizes.max()) + np.append(0, np.cumsum(sizes)[:-1])[:, None]
        places[np.arange(sizes.max()) >= sizes[:, None]] = sizes.sum()
        reports = [one.shown * one.per_shown for one in answered]
        shown = np.rint(np.append(np.concatenate(reports), 0.0)[places]).astype(np.int64)
        each_shows = np.repeat([one.per_shown for one in answered], sizes) ** -0.5
        step = max(1, _AT_ONCE // places.size)
        for start in range(0, len(alike.rows), step):
            slopes = alike.slopes_and_errors(self.full, slice(start, start + step))[0][:, : fitted.basis.n_terms]
            weights = self.n_records * np.abs(slopes @ fitted.pulls) * each_shows
            each = np.hstack([weights, np.zeros((len(weights), 1))])[:, places].reshape(-1, places.shape[1])
            firsts = np.arange(len(weights) + 1) * len(answered)
            few = carried_in_lists(firsts, each, np.tile(shown, (len(weights), 1)), self.n_records)
            yield few.summary(self.rows[alike.rows[start : start + step]], self.n_records, lambda _: None)

    @cached_property
    def doubtful(self) -> Truths:
        """Itemsets that the unbiased estimates, where there are any, or a law about as likely put elsewhere.

        And all that the law knows hardly anything of: all of a law without effects, whose errors are those about equal
        shares, from which a large support may be any number of them away; and those with an item that reports tell of
        with an error above ``FAINT``, so that effects which were found may be noise.  And all of a law that has not
        settled.
        """
        marked = self._elsewhere.copy()
        for alike in self._alike:
            marked[alike.rows] |= alike.law.fit.order == 0 or not alike.law.fit.is_settled
        marked |= self.evidence.faint[self.rows].any(axis=1)
        covered, unbiased = self._unbiased
        if unbiased is not None:
            apart = np.abs(unbiased.value - self.value(self.full)[covered])
            marked[covered] |= apart > MISFIT * unbiased.stderr
        return marked

    @cached_property
    def _elsewhere(self) -> Truths:
        """Itemsets that a law of another order, about as likely, puts outside the interval: a report may decide."""
        marked = np.zeros(len(self.rows), bool)
        for alike in self._alike if self.rows.shape[1] else ():
            for share in alike.rival_shares(self.full):
                variance = self._covariance(alike, [self.full])[:, 0, 0]
                apart = self.n_records * np.abs(share - alike.share(self.full))
                marked[alike.rows] |= apart > _ELSEWHERE * np.sqrt(np.maximum(variance, 0.0))
        return marked


@dataclass(frozen=True)
class _Alike:
    """Itemsets about the same attributes, column by column, which one law speaks of."""

    law: FittedLaw
    attributes: Attributes
    rows: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    found: dict[int, tuple[Attributes, npt.NDArray[np.int64], Floats] | None]
    """By mask: its attributes, the places of the itemsets' values in their margin, and shares of the itemsets."""

    def _at(self, mask: int) -> tuple[Attributes, npt.NDArray[np.int64], Floats] | None:
        """None for the empty set, and where two values of one attribute are asked for."""
        if mask not in self.found:
            columns = [column for column in range(len(self.attributes)) if mask >> column & 1]
            columns.sort(key=lambda column: self.attributes[column])
            about = tuple(self.attributes[column] for column in columns)
            if not columns or len(set(about)) < len(about):
                self.found[mask] = None
            else:
                shape = tuple(self.law.shape[self.law.attributes.index(at)] for at in about)
                place = np.ravel_multi_index(tuple(self.values[:, column] for column in columns), shape)
                self.found[mask] = about, place, self.law.margin(about).share[place]
        return self.found[mask]

    @property
    def n_listed(self) -> int:
        """Numbers that are looked at for one itemset: questions times the answers of the one that has most."""
        widths = [len(one.shown) for one in self.law.fit.basis.likelihood.answered]
        return len(widths) * max(widths, default=0)

    def share(self, mask: int) -> Floats:
        at = self._at(mask)
        return np.full(len(self.rows), float(mask == 0)) if at is None else at[2]

    def rival_shares(self, mask: int) -> list[Floats]:
        """What laws of another order say, where there are any that are about as likely."""
        at = self._at(mask)
        if at is None:
            return []
        return [self.law.share_by(law, at[0])[at[1]] for law in self.law.rivals]

    def slopes_and_errors(self, mask: int, chosen: slice) -> tuple[Floats, Floats]:
        at = self._at(mask)
        if at is None:
            nothing = np.zeros((len(self.rows[chosen]), self.law.basis.n_terms))
            return nothing, nothing
        margins = self.law.margin(at[0])
        return margins.slopes[at[1][chosen]], margins.errors[at[1][chosen]]
