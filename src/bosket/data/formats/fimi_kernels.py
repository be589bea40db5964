"""Compiled parser and printer of the FIMI format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bosket.compiling import compiled

if TYPE_CHECKING:
    from bosket.data.baskets.rows import Offsets
    from bosket.data.domain import ItemIds

Text = npt.NDArray[np.uint8]


@compiled
def count(text: Text) -> tuple[int, int]:
    """How many lines and how many numbers there are; a last line may lack its newline."""
    lines, numbers = 0, 0
    before = np.uint8(32)
    for byte in text:
        lines += byte == 10
        numbers += (byte >= 48) & (before < 48)
        before = byte
    return lines + (before != 10), numbers


@compiled
def parse(text: Text, indptr: Offsets, values: Offsets) -> int:
    """Fill ``indptr`` and ``values``; return the number of the first line that is not FIMI, or 0.

    Numbers are digits and fit in 63 bits; between them are spaces or tabs; a carriage return may precede a newline.
    """
    line, found, inside = 1, 0, False
    value = np.int64(0)
    for at in range(text.size):
        byte = text[at]
        digit = np.int64(byte) - 48
        if 0 <= digit <= 9:
            if value > 922337203685477579 and (value > 922337203685477580 or digit > 7):
                return line
            value = value * 10 + digit
            inside = True
            continue
        if inside:
            values[found] = value
            found += 1
            value, inside = np.int64(0), False
        if byte == 10:
            indptr[line] = found
            line += 1
        elif byte == 13:
            if at + 1 < text.size and text[at + 1] != 10:
                return line
        elif byte not in (32, 9):
            return line
    if inside:
        values[found] = value
        found += 1
    if line < indptr.size:
        indptr[line] = found
    return 0


@compiled
def render(indptr: Offsets, indices: ItemIds, labels: Offsets, start: int, stop: int) -> Text:
    """The records from ``start`` to ``stop`` as text."""
    size = stop - start
    for j in range(indptr[start], indptr[stop]):
        label = labels[indices[j]]
        size += 2
        while label >= 10:
            label //= 10
            size += 1
    text = np.empty(size, np.uint8)
    at = size
    for record in range(stop - 1, start - 1, -1):  # backwards, as the digits of a number come out last first
        at -= 1
        text[at] = 10
        for j in range(indptr[record + 1] - 1, indptr[record] - 1, -1):
            label = labels[indices[j]]
            while True:
                at -= 1
                text[at] = 48 + label % 10
                label //= 10
                if label == 0:
                    break
            if j > indptr[record]:
                at -= 1
                text[at] = 32
    return text[at:]
