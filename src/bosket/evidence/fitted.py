"""Evidence from a fitted law: every answer, to whatever question, bears on every itemset.

A log-linear law (:mod:`bosket.models.loglinear`) is fitted to the numbers of answers.  Supports are its margins: they
agree with each other, none is negative, and none exceeds that of a part of it.  A table of at most ``MOST_CELLS`` cells
has one law.  A larger one has a law for each of many blocks of attributes, which together hold any three of them: a
block is fitted to all questions that touch it, seen from its attributes alone, and an itemset is read off the first
block that holds its attributes.  Itemsets of one block agree with each other, those of two nearly do.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.data import TableDomain
from bosket.errors import ParameterError
from bosket.evidence.base import Evidence, Family
from bosket.evidence.carried import Carried
from bosket.evidence.concentration import carried_in_lists
from bosket.evidence.counts import too_many_looks
from bosket.evidence.kept import Kept, Level, Truths
from bosket.models.features import Subset as Attributes
from bosket.models.laws import FittedLaw, HeldMargins
from bosket.models.loglinear import Answered, Fit, Likelihood, LogLinear, fit
from bosket.models.projection import Heard, alike_together
from bosket.models.room import MOST_KEPT, MOST_OF_ALL, MOST_TERMS, Room, allowance, n_terms, not_settled, too_large
from bosket.models.weighed import FlippedBits
from bosket.privacy.accuracy import Accuracy
from bosket.statistics.estimates import Floats
from bosket.threads import apart, n_threads, one_thread_of_blas, parallel_map

log = logging.getLogger(__name__)
MOST_CELLS = 1 << 16
"""Cells of a law."""
MOST_ANSWERS = 1 << 18
"""Of all questions; or different reports."""
BLOCK_CELLS = 1 << 10
"""Cells of one of many blocks, unless three attributes have more."""
_BLOCK_TERMS = 800  # coefficients of the law of one of many blocks with interactions of three attributes
_HELD = 1 << 28  # bytes of margins that all laws together keep
_AT_ONCE = 1 << 22  # numbers that covariances are made of at a time
MOST_BLOCKS = 256
"""Laws of a table of many attributes: some fifty that are yes or no."""
_MOST_SEEN = 1 << 19  # questions, seen from blocks
_MOST_LISTED = 1 << 23  # questions times the answers of the one that has most
_MOST_LOOKS = 1 << 33  # of these, for all itemsets of one size: minutes
_ORDERS = (
    "no effects, since the answers hardly tell of any: all combinations alike, and intervals may fall short",
    "no interactions, so that every lift is 1",
    "interactions of at most 2 attributes",
    "interactions of at most 3 attributes",
)
MISFIT = 3.0
"""Standard errors between a law and the unbiased estimate, beyond which an itemset is marked."""
CLOSE = 3.0
"""Nats of score between the law and one of another order, up to which itemsets are marked that it puts elsewhere."""
_ELSEWHERE = 1.96  # standard errors: outside the interval of 95%

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
        self.most_cells = min(most_cells, MOST_CELLS)
        self.heard = [one for one in heard if one.n_people]
        self.unbiased = unbiased
        self.model = model
        self.n_records = unbiased.n_records
        self.sizes = tuple(int(size) for size in domain.sizes)
        self._laws: dict[Attributes, FittedLaw] = {}
        self._fits: dict[Attributes, tuple[Fit, ...]] = {}
        self._rooms: dict[Attributes, list[Room]] = {}
        self._allowance = 1.0  # times its stated work that each law of a block may take
        self._held = HeldMargins(_HELD)
        self._refuse_too_much()
        self.provenance = replace(unbiased.provenance, model=self._described())

    @cached_property
    def asked(self) -> Attributes:
        """The attributes that somebody was asked about."""
        return tuple(sorted({at for one in self.heard for at in one.attributes}))

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

    @cached_property
    def blocks(self) -> list[Attributes]:
        """The attributes of each law."""
        if math.prod(self.sizes[at] for at in self.asked) <= self.most_cells:
            return [self.asked]
        return covering_blocks(self.asked, self.sizes, min(BLOCK_CELLS, self.most_cells))

    def _refuse_too_much(self) -> None:
        """Questions that come from others may be many, and have many answers."""
        n_answers = sum(len(one.shown) for one in self.heard)
        if n_answers > MOST_ANSWERS:
            raise too_large(f"a law is fitted to at most {MOST_ANSWERS} answers of all questions, got {n_answers}")
        n_blocks = len(self.blocks)
        if n_blocks > 1 and n_blocks * len(self.heard) > _MOST_SEEN:
            raise too_large(
                f"laws of {n_blocks} blocks of attributes are fitted to at most {_MOST_SEEN // n_blocks} questions, "
                f"got {len(self.heard)}"
            )
        self._make_room(self.blocks)

    def _make_room(self, blocks: Iterable[Attributes]) -> None:
        """Refuse laws for which there is no room, by themselves or beside all that there is room for already."""
        new = {block: self._room_for(block) for block in blocks}
        if new:
            every = {**self._rooms, **new}
            if len(every) > 1:
                _refuse_too_many(list(every.values()))
            if not self._rooms:
                self._allowance = allowance([one for orders in every.values() for one in orders])
            self._rooms = every

    def _room_for(self, block: Attributes) -> list[Room]:
        """What laws of a block take, of each order that there is room for; refused where there is none."""
        shape = tuple(self.sizes[at] for at in block)
        if math.prod(shape) > MOST_CELLS:
            raise too_large(f"a law of {len(block)} attributes would have more than {MOST_CELLS} cells")
        asked, widths, n_chances = self._outlined(block)
        if len(widths) * max(widths, default=0) > _MOST_LISTED:
            raise too_large(f"a law of {len(widths)} questions, one of them of {max(widths)} answers, takes too much")
        widest = max(min(3, max(map(len, asked), default=0)), 1)
        orders = range(1, widest + 1) if self.model.order is None else [min(self.model.order, len(block))]
        bounds = [MOST_TERMS, MOST_TERMS, MOST_TERMS if len(self.blocks) == 1 else _BLOCK_TERMS]
        few = [order for order in orders if n_terms(shape, order) <= bounds[order - 1]]
        if not few:
            number = n_terms(shape, orders[0])
            raise ParameterError(
                f"The 'model' parameter must be None for a law of more than {bounds[orders[0] - 1]} coefficients, "
                f"got {number}.",
                parameter="model",
                value=number,
                hint="Merge values, or give a smaller order.",
            )
        rooms = [Room(shape, asked, sum(widths), order, n_chances) for order in few]
        found = [one for one in rooms if one.is_enough]
        least = min(2, orders[-1])  # a law without interactions is none of answers that tell of two attributes
        if not any(one.order >= least for one in found):
            terms, n = n_terms(shape, max(least, orders[0])), sum(widths)
            raise too_large(f"a law of {terms} coefficients and {n} answers to {len(widths)} questions takes too much")
        return found

    def law(self, attributes: Attributes) -> FittedLaw:
        """The law that speaks of these attributes."""
        self.prepare([attributes])
        return self._laws[self._block_of(attributes)]

    def _block_of(self, attributes: Attributes) -> Attributes:
        wanted = set(attributes)
        return next((block for block in self.blocks if wanted <= set(block)), attributes)

    def prepare(self, kinds: Sequence[Attributes]) -> None:
        """Fit the laws that speak of these sets of attributes, on all cores."""
        blocks = sorted({self._block_of(kind) for kind in kinds} - self._laws.keys())
        self._make_room(block for block in blocks if block not in self._rooms)
        with one_thread_of_blas():
            try:
                found = self._all_fitted(blocks)
            except MemoryError:
                raise too_large("there is not enough memory for the laws of all blocks of attributes") from None
        for block, (fits, law) in zip(blocks, found, strict=True):
            self._fits[block], self._laws[block] = fits, law

    def _all_fitted(self, blocks: Sequence[Attributes]) -> list[tuple[tuple[Fit, ...], FittedLaw]]:
        at_work = max((one.at_work for block in blocks for one in self._rooms[block]), default=0)
        if len(blocks) != 1 and at_work * n_threads() <= MOST_KEPT:
            return parallel_map(self._fitted, blocks)
        return [apart(partial(self._fitted, block)) for block in blocks]  # one takes long, and Ctrl-C should not

    def _seen(self, block: Attributes) -> list[Answered]:
        """The questions as ones about the attributes of a block."""
        return alike_together(part for one in self.heard if (part := one.seen_from(block)) is not None)

    def _outlined(self, block: Attributes) -> tuple[list[Attributes], list[int], int]:
        """Of these questions the attributes and numbers of answers, and of reports of bits their chances, at most."""
        if any(isinstance(one, FlippedBits) for one in self.heard):
            n_cells, n_bits = math.prod(self.sizes[at] for at in block), sum(self.sizes[at] for at in block)
            widths = [min(len(one.shown), 1 << min(n_bits, 62)) for one in self.heard]
            return [tuple(range(len(block)))] * len(widths), widths, sum(widths) * n_cells
        seen = self._seen(block)
        return [one.attributes for one in seen], [len(one.shown) for one in seen], 0

    def _fitted(self, block: Attributes) -> tuple[tuple[Fit, ...], FittedLaw]:
        """The fits of all orders there is room for, and the law of the best; of many blocks no more than is needed."""
        likelihood = Likelihood(tuple(self.sizes[at] for at in block), self._seen(block))
        times = self._allowance if block in self.blocks else 1.0
        found = [_told(likelihood, one.order, times * one.stated) for one in self._rooms[block]]
        if self.model.order is None:
            found.insert(0, _told(likelihood, 0))
        if not all(np.isfinite(one.law).all() and math.isfinite(one.score) for one in found):
            raise not_settled()
        best = max(found, key=lambda one: one.score)
        hold = _HELD // len(self.blocks)
        law = FittedLaw(block, best, self.n_records, hold=hold, held=self._held)  # with its errors, made here at once
        law.rivals = tuple(one.law for one in found if one is not best and best.score - one.score < CLOSE)
        if len(self.blocks) == 1:
            return tuple(found), law
        law.settle()
        return (best,), law

    def _described(self) -> str:
        what = "log-linear law, coefficients normal about 0, scales learned from the answers"
        alone = self._alone
        if len(self.blocks) > 1:
            return f"{what}; one for each of {len(self.blocks)} blocks of attributes{alone}"
        law = self.law(self.asked)
        others = [f"{one.score:.1f} of order {one.order}" for one in self._fits[self.asked] if one is not law.fit]
        compared = f": log evidence less prices {law.fit.score:.1f}, {', '.join(others)}" if others else ""
        ended = "" if law.fit.is_settled else f"; not settled after {law.fit.steps} steps: take it for a guess"
        return f"{what}; {_ORDERS[law.fit.order]}{compared}{alone}{ended}"

    @property
    def _alone(self) -> str:
        """A word where itemsets are larger than all questions: no answer speaks against the law there."""
        widest = max((len(one.attributes) for one in self.heard), default=0)
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
        for kind, rows in _by_kind(self.domain, itemsets):
            about = tuple(sorted(set(kind)))
            if len(about) < len(kind):
                covered[rows] = True
            elif len(self.blocks) > 1 and covered[rows].any() and self._block_of(about) not in self._rooms:
                others.setdefault(about, []).append(rows)
        if others and not self._has_room_for(others):
            covered[np.concatenate([rows for parts in others.values() for rows in parts])] = False
        return covered

    def _has_room_for(self, kinds: Iterable[Attributes]) -> bool:
        """Whether laws of more attributes than a block holds can be fitted beside those of the blocks."""
        if any(math.prod(self.sizes[at] for at in kind) > self.most_cells for kind in kinds):
            return False
        try:
            self._make_room(kinds)
        except ParameterError:
            return False
        return True

    def sees(self, size: int) -> bool:
        return size <= len(self.asked)

    def accuracy(self, size: int) -> Accuracy | None:
        """Of single items, what the answers can tell without a law: where that is nothing, a law adds none."""
        return self.unbiased.accuracy(size) if size == 1 else None

    def family(self, rows: ItemsetRows, kept: Kept | None = None) -> FittedFamily:
        if kept is None and rows.shape[1]:
            self.refuse_not_covered(rows)
        return FittedFamily(self, rows, kept)


def _by_kind(domain: TableDomain, itemsets: ItemsetRows) -> Iterator[tuple[Attributes, npt.NDArray[np.int64]]]:
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
        kinds = list(_by_kind(domain, self.rows))
        self.evidence.prepare([tuple(sorted(set(kind))) for kind, _ in kinds])
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


def covering_blocks(attributes: Attributes, sizes: Sequence[int], most_cells: int) -> list[Attributes]:
    """Blocks that together hold any three of the attributes, of ``most_cells`` cells unless three have more.

    Made one by one: from the first three attributes that no block holds, with those that bring most others.  More than
    ``MOST_BLOCKS`` are refused; where there must be more, since each holds few attributes, before any is made.
    """
    widest = max(3, most_cells.bit_length() - 1)  # attributes of a block, at most: they have two values at least
    if math.comb(len(attributes), 3) > MOST_BLOCKS * math.comb(widest, 3):
        raise _too_many_attributes(attributes)
    wanted = set(combinations(attributes, min(3, len(attributes))))
    blocks: list[Attributes] = []
    while wanted:
        if len(blocks) == MOST_BLOCKS:
            raise _too_many_attributes(attributes)
        blocks.append(_block(wanted, attributes, sizes, most_cells))
        wanted -= set(combinations(blocks[-1], min(3, len(attributes))))
    return blocks


def _block(wanted: set[Attributes], attributes: Attributes, sizes: Sequence[int], most_cells: int) -> Attributes:
    block = list(min(wanted))

    def gain(at: int) -> int:
        return sum(tuple(sorted((*pair, at))) in wanted for pair in combinations(block, 2))

    while True:
        room = most_cells // math.prod(sizes[at] for at in block)
        left = [at for at in attributes if at not in block and sizes[at] <= room]
        if not left:
            return tuple(sorted(block))
        block.append(max(left, key=lambda at: (gain(at), -at)))


def _refuse_too_many(rooms: Sequence[Sequence[Room]]) -> None:
    """All laws of blocks are kept, and every order of each is fitted."""
    kept = sum(max(one.kept for one in orders) for orders in rooms)
    work = sum(one.whole_work for orders in rooms for one in orders)
    if kept > MOST_KEPT or work > MOST_OF_ALL:
        raise too_large(
            f"laws of {len(rooms)} blocks of attributes would keep {kept * 8 / 1e9:.1f} GB and take {work:.1e} "
            f"multiplications, more than {MOST_KEPT * 8 / 1e9:.1f} GB or {MOST_OF_ALL:.1e}"
        )


def _too_many_attributes(attributes: Attributes) -> ParameterError:
    return too_large(f"a table of {len(attributes)} attributes would need more than {MOST_BLOCKS} laws")


def _told(likelihood: Likelihood, order: int, most_work: float = math.inf) -> Fit:
    """A fit that the log tells of: large ones take minutes."""
    began = time.perf_counter()
    found = fit(likelihood, order, most_work=most_work)
    size = math.prod(likelihood.shape)
    log.info("law of order %d over %d cells: %d steps, %.1f s", order, size, found.steps, time.perf_counter() - began)
    if not found.is_settled:
        log.info("law of order %d over %d cells: not settled after %d steps", order, size, found.steps)
    return found
