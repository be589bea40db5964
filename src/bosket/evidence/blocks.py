"""Blocks of attributes: a table of too many cells for one law has a law of each, and any three attributes share one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, combinations, takewhile

from bosket.errors import ParameterError
from bosket.models.features import Subset as Attributes
from bosket.models.room import too_large

BLOCK_CELLS = 1 << 10
"""Cells of one of many blocks, unless three attributes have more."""
MOST_BLOCKS = 256
"""Laws of a table of many attributes: some fifty that are yes or no."""


def covering_blocks(attributes: Attributes, sizes: Sequence[int], most_cells: int) -> list[Attributes]:
    """Blocks that together hold any three of the attributes, of ``most_cells`` cells unless three have more.

    Made one by one: from the first three attributes that no block holds, with those that bring most others.  More than
    ``MOST_BLOCKS`` are refused; where there must be more, since each holds few attributes, before any is made.
    """
    refuse_few_in_each(attributes, sizes, most_cells)
    wanted = set(combinations(attributes, min(3, len(attributes))))
    blocks: list[Attributes] = []
    while wanted:
        if len(blocks) == MOST_BLOCKS:
            raise _too_many_attributes(attributes)
        blocks.append(_block(wanted, attributes, sizes, most_cells))
        wanted -= set(combinations(blocks[-1], min(3, len(attributes))))
    return blocks


def refuse_few_in_each(attributes: Attributes, sizes: Sequence[int], most_cells: int) -> None:
    """Refuse more than ``MOST_BLOCKS`` blocks, where there must be more since each holds few attributes."""
    cells = accumulate(sorted(sizes[at] for at in attributes), lambda before, size: before * size)
    widest = max(3, sum(1 for _ in takewhile(lambda number: number <= most_cells, cells)))  # those of fewest values
    if math.comb(len(attributes), 3) > MOST_BLOCKS * math.comb(widest, 3):
        raise _too_many_attributes(attributes)


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


def _too_many_attributes(attributes: Attributes) -> ParameterError:
    return too_large(f"a table of {len(attributes)} attributes would need more than {MOST_BLOCKS} laws")
