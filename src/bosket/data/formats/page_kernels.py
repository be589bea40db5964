"""Compiled: how long lists are, by the levels of a page of Parquet, and how long the words of a dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bosket.compiling import compiled

if TYPE_CHECKING:
    from bosket.data.formats.fimi_kernels import Text

    Known = npt.NDArray[np.int64]

LENGTH, ROW, LONGEST, LONGEST_ROW = range(4)
"""Places in what is known of lists: cells of the last one, its number from 1, cells of the longest, and its number."""
WINDOWS = 24


@compiled
def end_list(known: Known, sums: Known, most: Known) -> None:
    """Enter the last list into ``most``, by k the most cells of 2^k lists that follow a multiple of 2^k lists.

    ``sums`` has, by k, the cells of the first half of such lists.
    """
    total, row = known[0], known[1]
    if total > known[2]:
        known[2], known[3] = total, row
    most[0] = max(most[0], total)
    for k in range(1, most.size):
        if (row >> (k - 1)) & 1:
            sums[k] = total
            return
        total += sums[k]
        sums[k] = 0
        most[k] = max(most[k], total)


@compiled
def follow_lists(levels: Text, n_values: int, known: Known, sums: Known, most: Known) -> None:
    """Go on over the repetition levels of a page, each 0 where a list begins or 1 within one.

    They are runs (parquet-format, Encodings.md, "RLE / bit-packing hybrid"): a number h of LEB128, then for even h a
    byte that is repeated h / 2 times, for odd h the bits of 8 (h - 1) / 2 levels.
    """
    at, done = 0, 0
    while done < n_values and at < levels.size:
        head, shift, byte = 0, 0, 128
        while byte >= 128 and shift < 42 and at < levels.size:
            byte = int(levels[at])
            head |= (byte & 127) << shift
            shift += 7
            at += 1
        count = min((head >> 1) * (8 if head & 1 else 1), n_values - done)
        if head & 1:
            count = min(count, 8 * (levels.size - at))
        elif at < levels.size and levels[at]:
            known[0] += count
        for k in range(count):
            if head & 1 and (levels[at + (k >> 3)] >> (k & 7)) & 1:
                known[0] += 1
            elif head & 1 or at >= levels.size or not levels[at]:
                if known[1]:
                    end_list(known, sums, most)
                known[0] = 1
                known[1] += 1
            else:
                break
        at += head >> 1 if head & 1 else 1
        done += count


@compiled
def longest_word(words: Text) -> int:
    """The bytes of the longest of some words, before each of which stands its length, in four bytes."""
    at, longest = 0, 0
    while at + 4 <= words.size:
        size = 0
        for k in range(4):
            size |= int(words[at + k]) << (8 * k)
        longest = max(longest, min(size, words.size - at - 4))
        at += 4 + size
    return longest
