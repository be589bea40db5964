"""The hash table of declared items: nobody who chooses items makes looking them up slow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from bosket.data import Baskets
from bosket.data.formats import vocabulary
from bosket.data.formats.line_kernels import MOST_STEPS, find, index
from bosket.data.formats.vocabulary import Index
from bosket.errors import DataError

LETTERS = b"0123456789abcdefghijklmnopqrstuvwxyz"


def crowded(number: int) -> list[str]:
    """Words that FNV-1a, without a secret, gives one of the first 1024 slots of their table."""
    n_slots = 1 << (2 * number).bit_length()
    rng = np.random.default_rng(1)
    chosen: list[npt.NDArray[np.uint8]] = []
    while sum(map(len, chosen)) < number:
        words = np.frombuffer(LETTERS, np.uint8)[rng.integers(0, 36, (1 << 20, 7))]
        code = np.full(len(words), 14695981039346656037, np.uint64)
        for column in words.T:
            code = (code ^ column.astype(np.uint64)) * np.uint64(1099511628211)
        code ^= code >> np.uint64(32)
        chosen.append(words[(code & np.uint64(n_slots - 1)) < 1024])
    rows = np.unique(np.concatenate(chosen), axis=0)
    return [bytes(row).decode() for row in rows[:number]]


@pytest.mark.slow
def test_items_that_would_crowd_without_a_secret_do_not(tmp_path: Path) -> None:
    """30 000 of them; the time went by their square, and a plan of 3.6 MB took minutes for two records."""
    words = crowded(30_000)
    (tmp_path / "x.csv").write_text(f"record,item\n1,{words[7]}\n2,{words[-1]}\n")
    found = Baskets.read(tmp_path / "x.csv", items=words, layout="long")
    assert list(found) == [(words[7],), (words[-1],)]


def test_every_word_is_found_and_no_other() -> None:
    words = [str(number).encode() for number in range(0, 5000, 3)]
    known = Index.of(words)
    for number in range(5000):
        text = np.frombuffer(str(number).encode(), np.uint8)
        assert find(text, 0, len(text), *known) == (number // 3 if number % 3 == 0 else -1)


def test_words_that_crowd_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [str(number).encode() for number in range(4 * MOST_STEPS)]
    known = Index.of(words)
    full = np.full(known.offsets.size - 1, -1, np.int32)  # not one slot stays free
    assert not index(known.letters, known.offsets, full, known.seed)
    monkeypatch.setattr(vocabulary, "index", lambda *_: False)
    with pytest.raises(DataError, match="share a hash value"):
        Index.of(words)
