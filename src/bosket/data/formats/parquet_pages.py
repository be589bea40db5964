"""The pages of a column of a Parquet file, by their headers: what Arrow will unpack, before it does.

A footer may say anything of a column, and Arrow does not hold it to that: it goes by the header of each page.  So all
headers are looked at, from where the column begins until there are as many values as the footer says, as Arrow does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bosket.data.baskets.rows import frozen
from bosket.data.formats.page_codecs import unpacked
from bosket.data.formats.page_kernels import (
    LONGEST,
    LONGEST_ROW,
    WINDOWS,
    end_list,
    follow_lists,
    sum_of_lengths,
    sum_of_words,
    word_sizes,
)
from bosket.data.formats.parquet_footers import structure_at
from bosket.threads import apart

_KIND, _SIZE, _PACKED, _DATA, _DICTIONARY, _DATA_2 = 1, 2, 3, 5, 7, 8  # of PageHeader
_NUMBER, _ENCODING, _MISSING, _LEVELS = 1, 2, 3, 4  # of DataPageHeader
_NUMBER_2, _ENCODING_2, _MISSING_BYTES_2, _LEVEL_BYTES_2, _IS_PACKED_2 = 1, 4, 5, 6, 7  # of DataPageHeaderV2
_VALUES_PAGE, _WORDS_PAGE, _VALUES_PAGE_2 = 0, 2, 3  # of PageType
RUNS, BY_LENGTHS, BY_PREFIXES, BY_CODES = 3, 6, 7, (2, 8)
"""Of Encoding."""
_LENGTH_BYTES = 4  # of a word that is written plainly, before its letters
_MANY_VALUES = 1 << 22  # of a page, which take a tenth of a second
_HEADER_LEFT_OUT = 100  # bytes that old writers did not count, and Arrow reads all the same
_NO_SIZES: Any = np.zeros(0, np.int64)


class Chunk(NamedTuple):
    """A column of a row group, by the footer."""

    first: int
    """Where its first page begins."""
    n_values: int
    codec: int
    n_packed: int
    """Bytes of all its pages, with their headers."""
    depth: int
    """How many lists its values are within."""
    is_text: bool
    may_be_missing: bool = False
    """Whether pages say which values are missing, or which lists empty."""


class ColumnPages(NamedTuple):
    """What all pages of a column of a row group hold together.

    n_bytes   of all of them, unpacked
    largest   bytes of the largest of them, which Arrow holds
    longest   the most values of a row, and ``row`` the first that has them, from 1; where their levels cannot be read
              here, all values but one for each other row, and None
    windows   by k, values that 2^k rows which follow a multiple of 2^k rows do not exceed
    repeated  bytes that no word is longer than, of those that stand once and are read many times: in a dictionary, or
              before words that begin as they do
    """

    n_values: int
    n_bytes: int
    largest: int
    longest: int
    row: int | None
    windows: list[int]
    repeated: int

    def rows_within(self, n_rows: int, most: int) -> int:
        """A number of rows, ``n_rows`` at most, so that batches of so many have up to ``most`` values, or one row."""
        if n_rows * self.longest <= most:
            return n_rows
        for k in range(min(len(self.windows), n_rows.bit_length()) - 1, 0, -1):
            if self.windows[k] <= most:
                return 1 << k
        return max(1, most // self.longest)


class PageBytes(NamedTuple):
    """What pages of a column take.

    n_words    of text, the words that dictionaries list
    n_plain    of text, values that are none of these
    n_lengths  the most words of a page, where they are written as differences; Arrow unpacks their lengths at once
    """

    n_bytes: int
    n_words: int = 0
    n_plain: int = 0
    n_lengths: int = 0


class _Page(NamedTuple):
    kind: int
    at: int
    """Where its contents begin."""
    n_bytes: int
    n_packed: int
    n_values: int = 0
    encoding: int = 0
    level_bytes: int | None = None
    """Of repetition levels that are not packed; None where these are in the contents, their number before them."""
    has_runs: bool = True
    """Whether repetition levels are runs, and with ``has_missing_runs`` those of missing values."""
    has_missing_runs: bool = True
    missing_bytes: int = 0
    """Of levels of missing values that are not packed."""
    is_packed: bool = True
    n_words: int = 0
    """Of a dictionary, as it says."""

    @property
    def unpacked_bytes(self) -> int:
        """Of levels that are not packed."""
        return (self.level_bytes or 0) + self.missing_bytes

    @property
    def has_lengths(self) -> bool:
        """Whether the lengths of its words stand before them, each as a difference from that before it."""
        return self.encoding in (BY_LENGTHS, BY_PREFIXES)

    @property
    def n_held(self) -> int:
        """Bytes that Arrow holds at once, at least; of lengths it makes numbers, all of a page."""
        return max(self.n_bytes, self.n_packed, _LENGTH_BYTES * self.n_values if self.has_lengths else 0)


def pages_of(handle: Any, chunk: Chunk, *, n_rows: int, check: Callable[[int], None]) -> ColumnPages:
    """Look at all pages of a column of so many rows; ``ValueError`` where that cannot be.

    ``check`` hears the bytes of each page before it is unpacked, and those of the lengths of its words.
    """
    n_values = n_bytes = begun = longest = largest = 0
    lists, are_read = _Lists(), chunk.depth == 1
    for page in _pages(handle, chunk):
        check(page.n_held)
        n_values, n_bytes, largest = n_values + page.n_values, n_bytes + page.n_bytes, max(largest, page.n_held)
        begun += page.n_bytes if page.encoding == BY_PREFIXES else 0
        _plain_bytes(handle, page, chunk)  # Arrow makes room for as many lengths as a page says it has
        if page.kind == _WORDS_PAGE and chunk.is_text:
            longest = max(longest, int(_sizes(handle, page, chunk).max(initial=0)))
        elif are_read:
            levels = _levels(handle, page, chunk.codec)
            are_read = levels is not None
            if are_read:
                lists.follow(levels, page.n_values)
    of_lists: tuple[int, int | None, list[int]] = (1 if chunk.depth == 0 else max(1, n_values - n_rows + 1), None, [])
    return ColumnPages(n_values, n_bytes, largest, *(lists.found() if are_read else of_lists), max(begun, longest))


def bytes_of(handle: Any, chunk: Chunk, *, check: Callable[[int], None]) -> PageBytes:
    """What the pages of a column take, by their headers; ``check`` hears the bytes so far.

    ``ValueError`` where pages do not say what they are, or have another number of values than the footer says, which
    Arrow does not hold them to.
    """
    total = n_words = n_plain = n_lengths = 0
    for page in _pages(handle, chunk):
        total, n_words = total + page.n_held, n_words + page.n_words
        n_plain += 0 if page.encoding in BY_CODES else page.n_values
        n_lengths = max(n_lengths, page.n_values if page.has_lengths else 0)
        check(total)
    return PageBytes(total, n_words, n_plain, n_lengths) if chunk.is_text else PageBytes(total, n_lengths=n_lengths)


def plain_bytes(handle: Any, chunk: Chunk, *, check: Callable[[int], None]) -> int:
    """What the words of a column take, written plainly, if some are written as differences from those before them.

    Equal words of a megabyte take a few bits each so, and Arrow unpacks them all, and then words of a dictionary too;
    0 where there are no differences.  ``check`` hears the bytes so far, and with those of each page before it is
    unpacked.  ``ValueError`` where there are not the lengths that there should be.
    """
    if not any(page.has_lengths for page in _pages(handle, chunk)):
        return 0
    total, sizes = 0, _NO_SIZES
    for page in _pages(handle, chunk):
        check(total + page.n_held)
        if page.kind == _WORDS_PAGE:
            sizes = _sizes(handle, page, chunk) if chunk.is_text else sizes
        elif page.encoding in BY_CODES:
            total += _coded_bytes(handle, page, chunk, sizes)
        else:
            total += _plain_bytes(handle, page, chunk) if page.has_lengths else page.n_bytes
        check(total)
    return total


def _sizes(handle: Any, page: _Page, chunk: Chunk) -> Any:
    """The bytes of the words of a dictionary; where it cannot be unpacked here, of one that is all of it."""
    words = _unpacked(handle, page, chunk.codec)
    return np.array([page.n_bytes]) if words is None else word_sizes(words)


def _coded_bytes(handle: Any, page: _Page, chunk: Chunk, sizes: Any) -> int:
    """What the words of a page of codes take; where it cannot be unpacked here, as if all were the longest."""
    if not sizes.size:
        return 0
    readings = _readings(handle, page, chunk)
    longest = page.n_values * int(sizes.max())
    return max(longest if read is None else int(sum_of_words(read, sizes, page.n_values)) for read in readings)


def _plain_bytes(handle: Any, page: _Page, chunk: Chunk) -> int:
    """What the words of a page of differences take; where it cannot be unpacked here, as if all were as long as it."""
    if not page.has_lengths or not page.n_values:
        return 0
    return max(_difference_bytes(content, page) for content in _readings(handle, page, chunk))


def _difference_bytes(content: Any, page: _Page) -> int:
    if content is None:
        return page.n_values * (page.n_bytes + _LENGTH_BYTES)
    if not content.size:
        return 0
    prefixes, count, at = (0, 0, 0) if page.encoding == BY_LENGTHS else sum_of_lengths(content, 0, page.n_values)
    rest, number, at = sum_of_lengths(content, at, page.n_values) if at >= 0 else (0, 0, -1)
    if at < 0 or (page.encoding == BY_PREFIXES and count != number):
        raise ValueError("a page does not have the lengths of its words")
    return int(prefixes + rest + _LENGTH_BYTES * number)


class FlatPage(NamedTuple):
    """A page of a column of lists, unpacked.

    levels    where lists begin, as runs
    contents  what says which values are missing, if anything does, and the values
    words     those of the dictionary before it, if there is one
    """

    n_values: int
    encoding: int
    levels: Any
    contents: Any
    words: Any
    n_words: int


def flat_pages(handle: Any, chunk: Chunk) -> Iterator[FlatPage]:
    """The pages of a column of lists, unpacked, one after the other; ``ValueError`` where one cannot be, here."""
    words, n_words = None, 0
    for page in _pages(handle, chunk):
        contents = _unpacked(handle, page, chunk.codec)
        if contents is None or not (page.has_runs and page.has_missing_runs):
            raise ValueError("a page is packed in a way that is not known here")
        if page.kind == _WORDS_PAGE:
            words, n_words = contents, page.n_words
        elif page.kind == _VALUES_PAGE:
            n_bytes = int.from_bytes(contents[:4].tobytes(), "little")
            levels, contents = contents[4 : 4 + n_bytes], contents[4 + n_bytes :]
            yield FlatPage(page.n_values, page.encoding, levels, contents, words, n_words)
        elif page.kind == _VALUES_PAGE_2:
            levels = _as_numbers(handle.read_at(page.level_bytes, page.at))
            missing = handle.read_at(page.missing_bytes, page.at + (page.level_bytes or 0))
            before = np.frombuffer(len(missing).to_bytes(4, "little") + missing, np.uint8)
            contents = frozen(np.concatenate([before if chunk.may_be_missing else before[:0], contents]))
            yield FlatPage(page.n_values, page.encoding, levels, contents, words, n_words)


class _Lists:
    """The lengths of lists, page by page."""

    def __init__(self) -> None:
        self._known, self._sums, self._most = (np.zeros(size, np.int64) for size in (4, WINDOWS, WINDOWS))

    def follow(self, levels: Any, n_values: int) -> None:
        taken = levels, n_values, self._known, self._sums, self._most
        if n_values < _MANY_VALUES:
            follow_lists(*taken)
        else:
            apart(lambda: follow_lists(*taken))  # which hears Ctrl-C

    def found(self) -> tuple[int, int | None, list[int]]:
        """The cells of the longest, its number, and the most of windows, those that are not full among them."""
        end_list(self._known, self._sums, self._most)
        left = np.cumsum(self._sums)
        return int(self._known[LONGEST]), int(self._known[LONGEST_ROW]), np.maximum(self._most, left).tolist()


def _pages(handle: Any, chunk: Chunk) -> Iterator[_Page]:
    at, seen, end = chunk.first, 0, chunk.first + chunk.n_packed + _HEADER_LEFT_OUT
    while seen < chunk.n_values:
        header, size = structure_at(handle, at)
        page = _page(header, at + size)
        sizes = page.n_bytes, page.n_packed, page.n_values, page.n_words, page.level_bytes or 0, page.missing_bytes
        if min(sizes) < 0 or page.unpacked_bytes > min(page.n_packed, page.n_bytes):
            raise ValueError("a page has a size that none can have")
        if page.at + page.n_packed > end:
            raise ValueError("pages have more bytes than the footer says")
        if seen + page.n_values > chunk.n_values:  # before anybody looks at as many
            raise ValueError("pages have another number of values than the footer says")
        yield page
        seen += page.n_values
        at = page.at + page.n_packed


def _page(header: dict[int, Any], at: int) -> _Page:
    kind, n_bytes, n_packed = _numbers(header, _KIND, _SIZE, _PACKED)
    page = _Page(kind, at, n_bytes, n_packed)
    if kind == _VALUES_PAGE:
        n_values, encoding, missing, levels = _numbers(header.get(_DATA), _NUMBER, _ENCODING, _MISSING, _LEVELS)
        page = page._replace(has_runs=levels == RUNS, has_missing_runs=missing == RUNS)
        return page._replace(n_values=n_values, encoding=encoding)
    if kind == _VALUES_PAGE_2:
        own: Any = header.get(_DATA_2)
        n_values, encoding, missing, levels = _numbers(own, _NUMBER_2, _ENCODING_2, _MISSING_BYTES_2, _LEVEL_BYTES_2)
        page = page._replace(n_values=n_values, encoding=encoding, missing_bytes=missing, level_bytes=levels)
        return page._replace(is_packed=own.get(_IS_PACKED_2) is not False)
    if kind == _WORDS_PAGE:
        return page._replace(n_words=_numbers(header.get(_DICTIONARY), _NUMBER)[0])
    return page


def _numbers(header: Any, *fields: int) -> list[int]:
    """Numbers of 32 bits in these fields of a structure."""
    found = [header.get(field) if isinstance(header, dict) else None for field in fields]
    numbers = [number for number in found if type(number) is int and -(1 << 31) <= number < 1 << 31]
    if len(numbers) < len(fields):
        raise ValueError("a page does not say what it is")
    return numbers


def _levels(handle: Any, page: _Page, codec: int) -> Any:
    """The repetition levels of a page; None where they cannot be read here."""
    if page.level_bytes is not None:
        return _as_numbers(handle.read_at(page.level_bytes, page.at))
    if page.kind != _VALUES_PAGE:
        return _as_numbers(b"")
    contents = _unpacked(handle, page, codec) if page.has_runs else None
    if contents is None:
        return None
    return contents[4 : 4 + int.from_bytes(contents[:4].tobytes(), "little")]


def _readings(handle: Any, page: _Page, chunk: Chunk) -> list[Any]:
    """The values of a page, in each way that Arrow may read it, by what the footer says of who wrote it.

    Old writers packed pages that say they are not packed, and Arrow unpacks theirs.
    """
    readings = [_values(handle, page, chunk)]
    if not page.is_packed and chunk.codec:
        with suppress(pa.ArrowException, OSError):
            readings.append(_values(handle, page._replace(is_packed=True), chunk))
    return readings


def _values(handle: Any, page: _Page, chunk: Chunk) -> Any:
    """The values of a page, behind its levels; None where these cannot be read here."""
    content = _unpacked(handle, page, chunk.codec)
    if content is None or page.kind == _VALUES_PAGE_2:
        return content
    for is_there, has_runs in ((chunk.depth, page.has_runs), (chunk.may_be_missing, page.has_missing_runs)):
        if is_there and not has_runs:
            return None
        if is_there:
            content = content[4 + int.from_bytes(content[:4].tobytes(), "little") :]
    return content


def _unpacked(handle: Any, page: _Page, codec: int) -> Any:
    """The contents of a page, without levels that are not packed; None where it is packed in a way not known here."""
    before = page.unpacked_bytes
    if page.n_bytes == before:
        return _as_numbers(b"")
    packed = handle.read_at(page.n_packed - before, page.at + before)
    if codec and page.is_packed:
        packed = unpacked(packed, page.n_bytes - before, codec)
    return None if packed is None else _as_numbers(packed)


def _as_numbers(content: Any) -> Any:
    """Bytes for a kernel, all of one type: a buffer of Arrow may be written to."""
    return frozen(np.frombuffer(content, np.uint8))
