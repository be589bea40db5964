"""Evidence from a fitted law: every answer, to whatever question, bears on every itemset.

A log-linear law (:mod:`bosket.models.loglinear`) is fitted to the numbers of answers.  Supports are its margins: they
agree with each other, none is negative, and none exceeds that of a part of it.  A table of at most ``MOST_CELLS`` cells
has one law.  A larger one has a law for each of many blocks of attributes, which together hold any three of them: a
block is fitted to all questions that touch it, seen from its attributes alone, and an itemset is read off the first
block that holds its attributes.  Itemsets of one block agree with each other, those of two nearly do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.data import TableDomain
from bosket.evidence.base import Evidence
from bosket.evidence.block_laws import MOST_CELLS, BlockLaws
from bosket.evidence.fitted_families import FittedFamily, by_kind
from bosket.evidence.kept import Kept, Truths
from bosket.models.features import Subset as Attributes
from bosket.models.laws import FittedLaw
from bosket.models.loglinear import LogLinear
from bosket.models.projection import Heard
from bosket.models.weighed import FlippedBits
from bosket.privacy.accuracy import Accuracy

_ORDERS = (
    "no effects, since the answers hardly tell of any: all combinations alike, and intervals may fall short",
    "no interactions, so that every lift is 1",
    "interactions of at most 2 attributes",
    "interactions of at most 3 attributes",
)

FAINT = 0.25
"""Standard error of the support of an item without a law, as a fraction, above which itemsets with it are marked: four
of them are all that a support can be."""


class FittedEvidence(Evidence):
    """A law of a table fitted to what people answered; ``unbiased`` is what they say without one."""

    domain: TableDomain

    def __init__(
        self,
        domain: TableDomain,
        heard: Sequence[Heard] | Sequence[FlippedBits],
        unbiased: Evidence,
        model: LogLinear,
        *,
        most_cells: int = MOST_CELLS,
    ) -> None:
        """``most_cells`` bounds the cells of one law of everything; beyond, there are blocks."""
        self.domain = domain
        self.unbiased = unbiased
        self.n_records = unbiased.n_records
        self.sizes = tuple(int(size) for size in domain.sizes)
        self.laws = BlockLaws(self.sizes, heard, self.n_records, model, most_cells=most_cells)
        self.provenance = replace(unbiased.provenance, model=self._described())

    @property
    def asked(self) -> Attributes:
        """The attributes that somebody was asked about."""
        return self.laws.asked

    @property
    def blocks(self) -> list[Attributes]:
        """The attributes of each law."""
        return self.laws.blocks

    def law(self, attributes: Attributes) -> FittedLaw:
        """The law that speaks of these attributes."""
        return self.laws.law(attributes)

    @cached_property
    def faint(self) -> Truths:
        """Items of which reports tell so little that a law of them is little more than its prior."""
        items = np.arange(len(self.domain), dtype=np.int32)[:, None]
        told = self.unbiased.covers(items)
        known = items if told is None else items[told]
        result = np.zeros(len(items), bool)
        if len(known):
            result[known[:, 0]] = self.unbiased.family(known).whole.stderr > FAINT * self.n_records
        return result

    def _described(self) -> str:
        what = "log-linear law, coefficients normal about 0, scales learned from the answers"
        alone = self._alone
        if len(self.blocks) > 1:
            return f"{what}; one for each of {len(self.blocks)} blocks of attributes{alone}"
        law = self.law(self.asked)
        others = [f"{one.score:.1f} of order {one.order}" for one in self.laws.fits[self.asked] if one is not law.fit]
        compared = f": log evidence less prices {law.fit.score:.1f}, {', '.join(others)}" if others else ""
        ended = "" if law.fit.is_settled else f"; not settled after {law.fit.steps} steps: take it for a guess"
        return f"{what}; {_ORDERS[law.fit.order]}{compared}{alone}{ended}"

    @property
    def _alone(self) -> str:
        """A word where itemsets are larger than all questions: no answer speaks against the law there."""
        widest = max((len(one.attributes) for one in self.laws.heard), default=0)
        if widest >= len(self.asked):
            return ""
        return (
            f"; nobody was asked of more than {widest} attributes: larger itemsets and their intervals rest on the law"
        )

    def covers(self, itemsets: ItemsetRows) -> Truths:
        """Itemsets of which any two items are told of without a law: of others it would tell what it assumes."""
        covered = np.ones(len(itemsets), bool)
        size = itemsets.shape[1]
        for columns in combinations(range(size), min(2, size)):
            told = self.unbiased.covers(np.ascontiguousarray(itemsets[:, columns]))
            covered &= True if told is None else told
        others: dict[Attributes, list[npt.NDArray[np.int64]]] = {}
        for kind, rows in by_kind(self.domain, itemsets):
            about = tuple(sorted(set(kind)))
            if len(about) < len(kind):
                covered[rows] = True
            elif len(self.blocks) > 1 and covered[rows].any() and self.laws.block_of(about) not in self.laws.rooms:
                others.setdefault(about, []).append(rows)
        if others and not self.laws.has_room_for(others):
            covered[np.concatenate([rows for parts in others.values() for rows in parts])] = False
        return covered

    def sees(self, size: int) -> bool:
        return size <= len(self.asked)

    def accuracy(self, size: int) -> Accuracy | None:
        """Of single items, what the answers can tell without a law: where that is nothing, a law adds none."""
        return self.unbiased.accuracy(size) if size == 1 else None

    def family(self, rows: ItemsetRows, kept: Kept | None = None) -> FittedFamily:
        if kept is None and rows.shape[1]:
            self.refuse_not_covered(rows)
        return FittedFamily(self, rows, kept)
