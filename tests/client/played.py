"""Chance that plays back given words, stream by stream."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from bosket.randomness import Randomness, Seeded, Stream


class PlayedStream(Stream):
    """The given words, and behind them some that nothing should depend on."""

    def __init__(self, words: list[int], filler: Stream) -> None:
        self._left = words
        self._filler = filler

    def fill(self, words: npt.NDArray[np.uint64]) -> None:
        first = self._left[: words.size]
        self._left = self._left[words.size :]
        words[: len(first)] = first
        if len(first) < words.size:
            rest = np.empty(words.size - len(first), np.uint64)
            self._filler.fill(rest)
            words[len(first) :] = rest


class Played(Randomness):
    def __init__(self, streams: list[list[int]], filler: int = 0) -> None:
        self.streams = streams
        self.opened = 0
        self._filler = Seeded(filler)

    def stream(self) -> Stream:
        words = self.streams[self.opened] if self.opened < len(self.streams) else []
        self.opened += 1
        return PlayedStream(list(words), self._filler.stream())

    def describe(self) -> str:
        return "played back: a simulation that protects nobody"


def some_words(name: str, stream: int, n: int) -> list[int]:
    """``n`` words that the name settles; one in eight is at an end, where numbers are drawn again."""
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(f"{name} {stream}".encode()).digest()[:8])))
    words = rng.integers(0, 1 << 64, n, dtype=np.uint64)
    ends = rng.integers(0, 16, n)
    words[ends == 0] = 0
    words[ends == 1] = np.iinfo(np.uint64).max
    return [int(word) for word in words]
