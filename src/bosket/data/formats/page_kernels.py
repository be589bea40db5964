"""Compiled: how long lists are, by the levels of a page of Parquet, and how long words are."""

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
def _leb128(content: Text, at: int) -> tuple[int, int]:
    """A number, the last 32 bits of it, and the place behind it, which is -1 where there is none."""
    number = 0
    for shift in range(0, 35, 7):
        if at >= content.size:
            return 0, -1
        byte = int(content[at])
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number & 0xFFFFFFFF, at
    return 0, -1


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
        head, at = _leb128(levels, at)
        if at < 0:
            return
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
def list_lengths(levels: Text, n_values: int, row: int, lengths: Known) -> int:
    """The same for the length of every list; ``row`` is the number of the last one, from 0, and -1 before the first.

    The number of the last one comes back, or -2 where levels are too few, or lists too many.
    """
    at, done = 0, 0
    while done < n_values:
        head, at = _leb128(levels, at)
        if at < 0 or at >= levels.size:
            return -2
        count = min((head >> 1) * (8 if head & 1 else 1), n_values - done)
        if head & 1:
            count = min(count, 8 * (levels.size - at))
        if count == 0 and not head >> 1:
            at += 0 if head & 1 else 1
            continue
        if not head & 1 and levels[at]:
            if row < 0:
                return -2
            lengths[row] += count
        else:
            for k in range(count):
                if head & 1 and (levels[at + (k >> 3)] >> (k & 7)) & 1:
                    if row < 0:
                        return -2
                    lengths[row] += 1
                else:
                    row += 1
                    if row >= lengths.size:
                        return -2
                    lengths[row] = 1
        at += head >> 1 if head & 1 else 1
        done += count
    return row


@compiled
def word_sizes(words: Text) -> Known:
    """The bytes of some words, before each of which stands its length, in four bytes."""
    sizes, n, at = np.zeros(words.size // 4, np.int64), 0, 0
    while at + 4 <= words.size:
        size = 0
        for k in range(4):
            size |= int(words[at + k]) << (8 * k)
        sizes[n] = min(size, words.size - at - 4)
        n += 1
        at += 4 + size
    return sizes[:n]


@compiled
def _bits(content: Text, at: int, k: int, width: int) -> int:
    """The k-th of some numbers of up to 32 bits, which are packed from a place on."""
    start, bits = k * width, 0
    for byte in range(start >> 3, (start + width + 7) >> 3):
        bits |= int(content[at + byte]) << (8 * (byte - (start >> 3)))
    return (bits >> (start & 7)) & ((1 << width) - 1)


@compiled
def sum_of_words(codes: Text, sizes: Known, most: int) -> int:
    """The bytes of words by their codes, ``most`` of them: a bit width, and runs as those of levels.

    A code without a word counts for nothing, as Arrow refuses it.
    """
    if not codes.size or codes[0] > 32:
        return 0
    width, at, done, total = int(codes[0]), 1, 0, 0
    while done < most and at < codes.size:
        head, at = _leb128(codes, at)
        n_bytes = (head >> 1) * width if head & 1 else (width + 7) >> 3
        if at < 0 or (not head & 1 and at + n_bytes > codes.size):
            break
        count = min((head >> 1) * (8 if head & 1 else 1), most - done)
        if head & 1 and width:
            count = min(count, 8 * (codes.size - at) // width)
        for k in range(count if head & 1 else 1):
            code = _bits(codes, at, k, width)
            if code < sizes.size:
                total += int(sizes[code]) * (1 if head & 1 else count)
        at += n_bytes
        done += count
    return total


@compiled
def sum_of_lengths(content: Text, at: int, most: int) -> tuple[int, int, int]:
    """The sum of lengths that are written as packed differences, how many they are, and the place behind them.

    A block has the least of its differences, then bit widths of its parts, then the parts: each difference less the
    least one (parquet-format, Encodings.md, "Delta Encoding").  Numbers have 32 bits, as Arrow computes with them.  The
    place is -1 where a length is negative, there are more than ``most``, or the content is no such thing.
    """
    block, at = _leb128(content, at)
    parts, at = _leb128(content, at) if at >= 0 else (0, -1)
    count, at = _leb128(content, at) if at >= 0 else (0, -1)
    first, at = _leb128(content, at) if at >= 0 else (0, -1)
    if at < 0 or count > most or parts == 0 or block % parts or block // parts < 32 or (block // parts) % 32:
        return 0, 0, -1
    length = (first >> 1) ^ -(first & 1)
    if length < 0 and count:
        return 0, 0, -1
    total, left, size = length if count else 0, count - 1, block // parts
    while left > 0:
        coded, at = _leb128(content, at)
        if at < 0 or at + parts > content.size:
            return 0, 0, -1
        least, widths = (coded >> 1) ^ -(coded & 1), at
        at += parts
        for part in range(parts):
            if left <= 0:
                break
            width = int(content[widths + part])
            if width > 32 or at + size // 8 * width > content.size:
                return 0, 0, -1
            for k in range(min(left, size)):
                length += least + _bits(content, at, k, width)
                length = ((length + 0x80000000) & 0xFFFFFFFF) - 0x80000000
                if length < 0:
                    return 0, 0, -1
                total += length
            left -= min(left, size)
            at += size // 8 * width
    return total, count, at
