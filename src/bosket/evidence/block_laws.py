"""The laws of a table: one of everything, or one of each of many blocks of its attributes, fitted when they are needed.

What each takes is stated beforehand, of every order there is room for; laws that would take too much are refused, by
themselves or together.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Sequence
from functools import cached_property, partial

import numpy as np

from bosket.errors import ParameterError
from bosket.evidence.blocks import BLOCK_CELLS, covering_blocks, refuse_few_in_each
from bosket.models.features import Subset as Attributes
from bosket.models.laws import FittedLaw, HeldMargins
from bosket.models.loglinear import Answered, Fit, Likelihood, LogLinear, fit
from bosket.models.projection import Heard, alike_together
from bosket.models.room import (
    LEAST_WORK,
    MOST_KEPT,
    MOST_OF_ALL,
    MOST_TERMS,
    Room,
    allowance,
    n_terms,
    not_settled,
    too_large,
)
from bosket.models.weighed import FlippedBits
from bosket.threads import apart, n_threads, one_thread_of_blas, parallel_map

log = logging.getLogger(__name__)
MOST_CELLS = 1 << 16
"""Cells of a law."""
MOST_ANSWERS = 1 << 18
"""Of all questions; or different reports."""
_BLOCK_TERMS = 800  # coefficients of the law of one of many blocks with interactions of three attributes
_HELD = 1 << 28  # bytes of margins that all laws together keep
_MOST_SEEN = 1 << 19  # questions, seen from blocks
_MOST_LISTED = 1 << 23  # questions times the answers of the one that has most
CLOSE = 3.0
"""Nats of score between the law and one of another order, up to which itemsets are marked that it puts elsewhere."""


class BlockLaws:
    """Laws of the attributes of a table of ``sizes``, fitted to what was ``heard`` of ``n_records`` people."""

    def __init__(
        self,
        sizes: tuple[int, ...],
        heard: Sequence[Heard] | Sequence[FlippedBits],
        n_records: int,
        model: LogLinear,
        *,
        most_cells: int = MOST_CELLS,
    ) -> None:
        """``most_cells`` bounds the cells of one law of everything; beyond, there are blocks."""
        self.sizes = sizes
        self.heard = [one for one in heard if one.n_people]
        self.n_records = n_records
        self.model = model
        self.most_cells = min(most_cells, MOST_CELLS)
        self.fits: dict[Attributes, tuple[Fit, ...]] = {}
        self.rooms: dict[Attributes, list[Room]] = {}
        self._found: dict[Attributes, FittedLaw] = {}
        self._allowance = 1.0  # times its stated work that each law of a block may take
        self._held = HeldMargins(_HELD)
        self._refuse_too_much()

    @cached_property
    def asked(self) -> Attributes:
        """The attributes that somebody was asked about."""
        return tuple(sorted({at for one in self.heard for at in one.attributes}))

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
        """Refuse laws for which there is no room, by themselves or beside all that there is room for already.

        Many are refused by their number: just to see what each takes would take minutes.
        """
        wanted = list(blocks)
        if (len(wanted) + len(self.rooms)) * LEAST_WORK > MOST_OF_ALL:
            raise too_large(f"{len(wanted)} more laws of a few attributes each would take too long")
        new = {block: self._room_for(block) for block in wanted}
        if new:
            every = {**self.rooms, **new}
            if len(every) > 1:
                _refuse_too_many(list(every.values()))
            if not self.rooms:
                self._allowance = allowance([one for orders in every.values() for one in orders])
            self.rooms = every

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
        return self._found[self.block_of(attributes)]

    def block_of(self, attributes: Attributes) -> Attributes:
        wanted = set(attributes)
        return next((block for block in self.blocks if wanted <= set(block)), attributes)

    def prepare(self, kinds: Sequence[Attributes]) -> None:
        """Fit the laws that speak of these sets of attributes, on all cores."""
        blocks = sorted({self.block_of(kind) for kind in kinds} - self._found.keys())
        self._make_room(block for block in blocks if block not in self.rooms)
        with one_thread_of_blas():
            try:
                found = self._all_fitted(blocks)
            except MemoryError:
                raise too_large("there is not enough memory for the laws of all blocks of attributes") from None
        for block, (fits, law) in zip(blocks, found, strict=True):
            self.fits[block], self._found[block] = fits, law

    def _all_fitted(self, blocks: Sequence[Attributes]) -> list[tuple[tuple[Fit, ...], FittedLaw]]:
        at_work = max((one.at_work for block in blocks for one in self.rooms[block]), default=0)
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
        found = [_told(likelihood, one.order, times * one.stated) for one in self.rooms[block]]
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

    def has_room_for(self, kinds: Iterable[Attributes]) -> bool:
        """Whether laws of more attributes than a block holds can be fitted beside those of the blocks."""
        if any(math.prod(self.sizes[at] for at in kind) > self.most_cells for kind in kinds):
            return False
        try:
            self._make_room(kinds)
        except ParameterError:
            return False
        return True


def _refuse_too_many(rooms: Sequence[Sequence[Room]]) -> None:
    """All laws of blocks are kept, and every order of each is fitted."""
    kept = sum(max(one.kept for one in orders) for orders in rooms)
    work = sum(one.whole_work for orders in rooms for one in orders)
    if kept > MOST_KEPT or work > MOST_OF_ALL:
        raise too_large(
            f"laws of {len(rooms)} blocks of attributes would keep {kept * 8 / 1e9:.1f} GB and take {work:.1e} "
            f"multiplications, more than {MOST_KEPT * 8 / 1e9:.1f} GB or {MOST_OF_ALL:.1e}"
        )


def _told(likelihood: Likelihood, order: int, most_work: float = math.inf) -> Fit:
    """A fit that the log tells of: large ones take minutes."""
    began = time.perf_counter()
    found = fit(likelihood, order, most_work=most_work)
    size = math.prod(likelihood.shape)
    log.info("law of order %d over %d cells: %d steps, %.1f s", order, size, found.steps, time.perf_counter() - began)
    if not found.is_settled:
        log.info("law of order %d over %d cells: not settled after %d steps", order, size, found.steps)
    return found


def refuse_any_law(sizes: Sequence[int]) -> None:
    """Refuse a table that would need too many laws, or one of too many cells, whatever people answered."""
    if math.prod(sizes) <= MOST_CELLS:
        return
    if math.prod(sorted(sizes)[-3:]) > MOST_CELLS:
        raise too_large(f"a law of {min(3, len(sizes))} attributes would have more than {MOST_CELLS} cells")
    refuse_few_in_each(tuple(range(len(sizes))), sizes, BLOCK_CELLS)
