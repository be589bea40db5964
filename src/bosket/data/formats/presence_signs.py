"""The words that say whether a record has an item, in text files of a column per item."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np

from bosket.data.formats.columns import MEANINGS
from bosket.data.formats.vocabulary import Index


def signs() -> Iterator[tuple[str, int]]:
    """Every way to write presence and absence, in capitals or not."""
    for word, meaning in MEANINGS.items():
        pairs = [sorted({letter, letter.upper()}) for letter in word]
        yield from (("".join(letters), meaning) for letters in itertools.product(*pairs))


PRESENT = np.array([*(meaning for _, meaning in signs()), 0, 0], np.int8)  # then what is blank, and what is unknown
"""What each of the words means."""


@cache
def presence_index() -> Index:
    """The words for the kernels."""
    return Index.of(word.encode() for word, _ in signs())
