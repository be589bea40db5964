"""Words numbered in order of first appearance, held once, as letters: a few dozen bytes each, and no Python object."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.data.baskets.rows import Offsets
from bosket.data.domain import ItemIds
from bosket.data.formats.fimi_kernels import Text
from bosket.data.formats.line_kernels import find, index
from bosket.data.formats.word_kernels import CROWDED, DONE, is_there, number_words
from bosket.errors import DataError

_SEED = hash("words that are numbered") >> 2  # Python's own secret
_LEAST = 1 << 12


class NumberedWords:
    """Words by number, over all blocks of a column; ``letters``, ``offsets`` and ``table`` are for kernels."""

    def __init__(self) -> None:
        self.letters: Text = np.empty(8 * _LEAST, np.uint8)
        self.offsets: Offsets = np.zeros(_LEAST + 1, np.int64)
        self.table: ItemIds = np.full(1, -1, np.int32)
        """Of one slot as long as words come in order, longer ones after shorter ones: then none is looked for."""
        self.seed = _SEED
        self.n_known = 0

    def __len__(self) -> int:
        return self.n_known

    @property
    def n_letters(self) -> int:
        """Of all words, in bytes."""
        return int(self.offsets[self.n_known])

    def grow(self, n_bytes: int) -> None:
        """Make room for words, one of which may have this number of bytes; or a table, where that is what lacks."""
        used = int(self.offsets[self.n_known])
        if used + n_bytes > self.letters.size:
            self.letters.resize(used + used // 2 + n_bytes + _LEAST, refcheck=False)
        elif self.n_known + 2 >= self.offsets.size:
            self.offsets.resize(self.n_known + self.n_known // 2 + _LEAST, refcheck=False)
        else:
            self._index()

    def _index(self) -> None:
        self.table = np.empty(0, np.int32)  # let go before there is a larger one
        self.table = np.full(max(_LEAST, 1 << (2 * (self.n_known + 1)).bit_length()), -1, np.int32)
        if not index(self.letters, self.offsets[: self.n_known + 1], self.table, self.seed):
            raise crowded()

    def number(self, text: Text, ends: Offsets) -> ItemIds:
        """The number of each word ``text[ends[w]:ends[w + 1]]``; new ones are entered."""
        return self.number_cells(text, ends[:-1], ends[1:])

    def number_cells(self, text: Text, starts: Offsets, stops: Offsets) -> ItemIds:
        """The number of each word ``text[starts[w]:stops[w]]``; new ones are entered."""
        codes = np.empty(starts.size, np.int32)
        at, status = 0, -1
        while status != DONE:
            at, self.n_known, status = number_words(
                text, starts, stops, at, self.letters, self.offsets, self.table, self.seed, self.n_known, codes
            )
            if status == CROWDED:
                raise crowded()
            if status != DONE:
                self.grow(int(stops[at] - starts[at]))
        return codes

    def __contains__(self, word: str) -> bool:
        text = np.frombuffer(word.encode("utf-8", "surrogateescape"), np.uint8)
        if self.table.size == 1:
            return is_there(text, self.letters, self.offsets, self.n_known)
        return find(text, 0, text.size, self.letters, self.offsets, self.table, self.seed) >= 0

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """The words from ``start`` to ``stop`` as text."""
        stop = self.n_known if stop is None else stop
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        whole = self.letters[first:last].tobytes()
        letters, ends = whole.decode("utf-8"), (self.offsets[start : stop + 1] - first).tolist()
        if len(letters) == last - first:  # a letter a byte
            return [letters[begin:end] for begin, end in pairwise(ends)]
        return [whole[begin:end].decode("utf-8") for begin, end in pairwise(ends)]


def crowded() -> DataError:
    """Of words that were made to have one hash; without the secret of the process nobody can."""
    return DataError("Too many words crowd together in the table that numbers them.")


def letters_of(words: Any) -> tuple[Text, Offsets] | None:
    """The bytes that stand for each value of an Arrow array without missing values, the same for equal values alone.

    None for values that have no such bytes at hand.
    """
    types, kind = pa.types, words.type
    if types.is_string(kind) or types.is_binary(kind):
        words = words.cast(pa.large_binary())
        kind = words.type
    if types.is_large_string(kind) or types.is_large_binary(kind):
        first, last = words.offset, words.offset + len(words)
        ends = np.frombuffer(words.buffers()[1], np.int64)[first : last + 1] if len(words) else np.zeros(1, np.int64)
        letters = words.buffers()[2]
        return np.frombuffer(letters, np.uint8) if letters is not None else np.empty(0, np.uint8), ends
    if types.is_integer(kind) or types.is_floating(kind):  # zero has no sign here
        values: npt.NDArray[Any] = words.to_numpy(zero_copy_only=False)
        values = np.ascontiguousarray(values.astype(values.dtype.newbyteorder(">")))  # larger ones come later
        width = values.itemsize
        return values.view(np.uint8), width * np.arange(len(words) + 1, dtype=np.int64)
    return None
