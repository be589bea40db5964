"""The only source of chance.

A :class:`Randomness` is a key for AES-256 in counter mode and hands out independent keystreams: stream ``i`` starts at
counter block ``i * 2**64``, so no two streams of one key overlap.  :class:`Secure` takes its key from the operating
system and is the default wherever a record is randomized.  :class:`Seeded` derives its key from a number: it repeats
byte for byte, is meant for simulation, protects nobody, and everything it touches says so.

Bernoulli bits are drawn 64 at a time.  A probability is an integer threshold T over ``2**PRECISION``; a lane is set
when a uniform PRECISION-bit number U is below T.  U and T are compared bit by bit from the top, 64 lanes in one word,
drawing a random word only while some lane is undecided: about eight words for 64 exact bits.  Every step decides an
undecided lane with probability 1/2 whatever its threshold, so the work done tells nothing by itself; *together with
the report* it could, since where a lane is decided says which bit of its threshold decided it.  Small calls, such as a
person's own record, therefore always do all the work; the timing of large batches is outside any guarantee.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from bosket.checks import check_integer
from bosket.errors import ParameterError
from bosket.randomness.kernels import (
    EAGER,
    LEVELS,
    PRECISION,
    RUN,
    insert_lanes_block,
    keep_subset_block,
    multinomial_block,
    xor_bernoulli_block,
)
from bosket.threads import parallel_map, slices

if TYPE_CHECKING:
    from typing import Self

Lanes = npt.NDArray[np.uint64]
"""Packed bits: lane i is bit i % 64 of word i // 64."""

_ONE = 1 << PRECISION
_BUFFER_WORDS = 1 << 16
_ZEROS = bytes(8 * _BUFFER_WORDS)
_SMALL = 1 << 12  # words up to which all levels are done, so that time does not depend on chance
_BLOCK_ROWS = 1 << 14  # rows per stream where rows are worked on one by one
_BLOCK_WORDS = 1 << 18  # words of output per stream: fixed, so that Seeded does not depend on the number of cores


class _Forks:
    """How often this process has been born by a fork: a keystream must not live on in both parent and child."""

    number = 0
    _is_watching = False

    @classmethod
    def watch(cls) -> None:
        if not cls._is_watching and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=cls._forked)
            cls._is_watching = True

    @classmethod
    def _forked(cls) -> None:
        cls.number += 1


class Stream:
    """One keystream of pseudo-random 64-bit words."""

    def __init__(self, key: bytes, number: int, *, forks: int | None = None) -> None:
        """``forks`` is the generation of the process that may use it; None lets every one (a seeded stream repeats)."""
        start = number.to_bytes(8, "big") + bytes(8)
        self._encryptor = Cipher(algorithms.AES256(key), modes.CTR(start)).encryptor()
        self._forks = forks

    def fill(self, words: Lanes) -> None:
        """Overwrite ``words`` (contiguous) with the next words of the stream."""
        if self._forks is not None and self._forks != _Forks.number:
            raise RuntimeError("A secure keystream must not be used on both sides of a fork.")
        view = words.view(np.uint8).data
        for start, stop in slices(len(view), len(_ZEROS)):
            self._encryptor.update_into(_ZEROS[: stop - start], view[start:stop])

    def words(self, n: int) -> Lanes:
        words = np.empty(n, np.uint64)
        self.fill(words)
        return words


class Randomness(ABC):
    """Keystreams of one key; see :class:`Secure` and :class:`Seeded`."""

    is_secure: bool = False

    @abstractmethod
    def stream(self) -> Stream:
        """The next unused stream."""

    @abstractmethod
    def describe(self) -> str:
        """How this chance came about, for the files it produces."""

    def bernoulli(self, thresholds: Thresholds, n_rows: int) -> Lanes:
        """``n_rows`` rows of independent bits, lane i set with probability ``thresholds.probability[i]``."""
        bits = np.zeros((n_rows, thresholds.n_words), np.uint64)
        self.xor_bernoulli(bits, when_set=thresholds, when_clear=thresholds)
        return bits

    def xor_bernoulli(self, bits: Lanes, *, when_set: Thresholds, when_clear: Thresholds) -> None:
        """Flip bits in place: a set bit with its probability in ``when_set``, a clear one with that in ``when_clear``.

        ``bits`` has one row of packed lanes per record; lanes past the last one are left alone.
        """
        n_words = when_set.n_words
        if bits.dtype != np.uint64 or not bits.flags.c_contiguous or bits.ndim != 2:
            raise ValueError(
                "Bits to flip must be a contiguous table of 64-bit words: a copy would be flipped instead."
            )
        if not bits.shape[1] == n_words == when_clear.n_words or when_set.n_lanes != when_clear.n_lanes:
            raise ValueError(f"Rows of {bits.shape[1]} words do not fit the thresholds of {when_set.n_lanes} lanes.")
        eager = LEVELS if bits.size <= _SMALL else EAGER
        rows_per_block = max(1, _BLOCK_WORDS // max(1, n_words))
        ones, zeros = when_set.tiled(RUN), when_clear.tiled(RUN)
        parts = [(start, stop, self.stream()) for start, stop in slices(len(bits), rows_per_block)]

        def flip(part: tuple[int, int, Stream]) -> None:
            start, stop, stream = part
            block = bits[start:stop].reshape(-1)
            buffer = np.empty(_BUFFER_WORDS, np.uint64)
            done = left = 0  # words of the block done; words of the buffer left over
            while done < block.size:
                stream.fill(buffer[left:])
                done, used = xor_bernoulli_block(
                    block, done, ones.planes, zeros.planes, ones.always, zeros.always, ones.lanes, buffer, eager
                )
                left = len(buffer) - used
                buffer[:left] = buffer[used:].copy()

        if bits.size:
            parallel_map(flip, parts)

    def integers(self, bound: int, n: int) -> npt.NDArray[np.int64]:
        """``n`` independent uniform integers in [0, bound), without bias (rejection, no modulo of the remainder)."""
        check_integer("bound", bound, least=1, most=1 << 62)
        limit = (1 << 64) // bound * bound - 1  # accept words up to here: a whole number of periods
        stream = self.stream()
        accepted = np.empty(0, np.uint64)
        while accepted.size < n:
            words = stream.words(max(16, int(1.1 * (n - accepted.size))))
            accepted = np.concatenate([accepted, words[words <= np.uint64(limit)]])
        return (accepted[:n] % np.uint64(bound)).astype(np.int64)

    def choose(self, cumulative: npt.NDArray[np.uint64], n: int) -> npt.NDArray[np.int64]:
        """``n`` independent choices; number j has probability (cumulative[j] - cumulative[j - 1]) / 2**53.

        The last entry is 2**53.
        """
        drawn = self.stream().words(n) >> np.uint64(64 - PRECISION)
        return np.searchsorted(cumulative, drawn, side="right").astype(np.int64)

    def multinomial(self, total: int, law: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
        """``n`` independent rows: how ``total`` things fall into cells with probabilities in proportion to ``law``.

        Cell by cell, each binomial among what is left: by inversion where few are expected, else by Hoermann's
        transformed rejection (1993).  Exact up to the rounding of doubles: for simulation, not for what is released.
        """
        weights = np.asarray(law, float)
        tails = np.cumsum(weights[::-1])[::-1]
        conditional = np.divide(weights, tails, out=np.zeros_like(weights), where=tails > 0)
        counts = np.zeros((n, len(weights)), np.int64)
        stream, done = self.stream(), 0
        while done < counts.size:
            done = multinomial_block(counts, total, conditional, done, stream.words(_BUFFER_WORDS // 16))
        return counts

    def keep_subset(self, bits: Lanes, keep: npt.NDArray[np.int64]) -> None:
        """Keep ``keep`` of the set bits of every row, each choice equally likely, and clear the rest, in place.

        The work depends on how many bits are set, not on how many are kept nor on which.
        """
        self.by_rows(bits, lambda part, stop, done, buffer: keep_subset_block(bits[:stop], keep, part + done, buffer))

    def insert_lanes(self, bits: Lanes, avoid: Lanes, count: npt.NDArray[np.int64], n_lanes: int) -> None:
        """Set count[row] more bits in every row, each choice of them outside ``avoid`` equally likely, in place.

        As many are drawn as ``avoid`` has and the first count[row] taken, so the work does not tell the count.
        """
        self.by_rows(
            bits,
            lambda part, stop, done, buffer: insert_lanes_block(
                bits[:stop], avoid, count, n_lanes, part + done, buffer
            ),
        )

    def by_rows(
        self, bits: Lanes, kernel: Callable[[int, int, int, Lanes], tuple[int, int]], *, keeps_rest: bool = False
    ) -> None:
        """Run a kernel over blocks of rows, each with its own stream, feeding it random words until it is through.

        ``kernel(start, stop, done, buffer)`` goes on from row start + done and returns the row it came to and how many
        words it used for the rows that it finished.  A row that the words did not suffice for is begun again with
        others.  That is right only where the number of words that a row takes does not depend on what they say: else
        an outcome that takes more words is rarer at the end of a buffer.  With ``keeps_rest`` the row is begun again
        with the very same words and more behind them, so that the words are one endless stream.  Where not even one
        row came to its end, there are twice as many words the next time.
        """
        if bits.dtype != np.uint64 or not bits.flags.c_contiguous or bits.ndim != 2:
            raise ValueError("Bits to change must be a contiguous table of 64-bit words.")
        parts = [(start, stop, self.stream()) for start, stop in slices(len(bits), _BLOCK_ROWS)]

        def work(part: tuple[int, int, Stream]) -> None:
            start, stop, stream = part
            buffer = np.empty(max(_BUFFER_WORDS // 4, 16 * 64 * bits.shape[1]), np.uint64)
            row, rest = start, 0
            while row < stop:
                stream.fill(buffer[rest:])
                before = row
                row, used = kernel(start, stop, row - start, buffer)
                if row == before:  # one row takes more than all of it
                    buffer = np.concatenate([buffer, np.empty_like(buffer)])
                    rest = len(buffer) // 2 if keeps_rest else 0
                elif keeps_rest:
                    rest = len(buffer) - used
                    buffer[:rest] = buffer[used:].copy()

        parallel_map(work, parts)

    def subsets(self, n: int, size: int, count: int) -> npt.NDArray[np.int64]:
        """``count`` independent uniform subsets of range(n) of the given size, a sorted row each (Floyd's algorithm).

        Step j = n - size .. n - 1 draws t uniform in [0, j] and adds t, or j itself if t is already in.
        """
        check_integer("n", n, least=0)
        check_integer("size", size, least=0, most=n)
        chosen = np.empty((count, size), np.int64)
        for column, j in enumerate(range(n - size, n)):
            drawn = self.integers(j + 1, count)
            taken = (chosen[:, :column] == drawn[:, None]).any(axis=1)
            chosen[:, column] = np.where(taken, j, drawn)
        return np.sort(chosen, axis=1)


class Secure(Randomness):
    """Keystreams under a fresh 256-bit key from the operating system.

    A copy in another process would repeat the stream, so a fork gets a new key before its first draw, a stream opened
    before it refuses to go on, and pickling or copying makes a new generator rather than a twin.
    """

    is_secure = True

    def __init__(self) -> None:
        _Forks.watch()
        self._state = self._fresh()

    @staticmethod
    def _fresh() -> tuple[int, bytes, Iterator[int]]:
        return _Forks.number, os.urandom(32), itertools.count()

    def stream(self) -> Stream:
        state = self._state  # read once: another thread may be replacing it, and then either key will do
        if state[0] != _Forks.number:
            self._state = state = self._fresh()
        forks, key, numbers = state
        return Stream(key, next(numbers), forks=forks)

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()

    def describe(self) -> str:
        return "secure"

    def __repr__(self) -> str:
        return "Secure()"


class Seeded(Randomness):
    """Keystreams that depend on ``seed`` alone: for simulation and tests.  Protects nobody.

    A copy, or a pickle, starts again at the first stream.
    """

    def __init__(self, seed: int) -> None:
        self.seed = check_integer("seed", seed, least=0, of="Seeded")
        self._key = hashlib.sha256(b"bosket.Seeded:%d" % self.seed).digest()
        self._numbers = itertools.count()

    def stream(self) -> Stream:
        return Stream(self._key, next(self._numbers))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.seed,)

    def describe(self) -> str:
        return f"seeded({self.seed}): a simulation that protects nobody"

    def __repr__(self) -> str:
        return f"Seeded({self.seed})"


class Keyed(Randomness):
    """Keystreams under a key that is somebody's secret: an answer that is drawn again comes out the same.

    As good as the key is hard to guess, and as the key is used for one record alone (:mod:`bosket.client.memo`).
    """

    is_secure = True

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise ParameterError("The 'key' parameter of Keyed must have 32 bytes.", parameter="key", value=None)
        self._key = key
        self._numbers = itertools.count()

    def stream(self) -> Stream:
        return Stream(self._key, next(self._numbers))

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("A secret key must not be pickled.")

    def describe(self) -> str:
        return "secure"

    def __repr__(self) -> str:
        return "Keyed(...)"


class Thresholds:
    """Probabilities of a row of lanes, as the integers they are drawn with.

    ``probability`` is what is realised, T / 2**53: a double exactly, and equal to what was asked for every double in
    [1/2, 1] and every multiple of 2**-53.
    """

    def __init__(self, probability: npt.ArrayLike) -> None:
        asked = np.atleast_1d(np.asarray(probability, float))
        threshold = np.rint(asked * _ONE).astype(np.uint64)
        self.probability: npt.NDArray[np.float64] = threshold / _ONE
        self.n_lanes = len(threshold)
        self.n_words = -(-self.n_lanes // 64)
        padded = np.zeros(64 * self.n_words, np.uint64)
        padded[: self.n_lanes] = threshold
        lanes = np.zeros(64 * self.n_words, bool)
        lanes[: self.n_lanes] = True
        self.lanes: Lanes = pack_lanes(lanes)
        self.always: Lanes = pack_lanes(padded == _ONE)
        levels = np.arange(PRECISION - 1, -1, -1, dtype=np.uint64)[:, None]
        planes = pack_lanes((padded >> levels) & np.uint64(1) != 0)
        blank = np.zeros((LEVELS - PRECISION, self.n_words), np.uint64)  # T below the last bit: no U is less there
        self.planes: Lanes = np.concatenate([planes, blank])  # (LEVELS, n_words), top bit first
        for array in (self.probability, self.lanes, self.always, self.planes):
            array.flags.writeable = False

    def tiled(self, n_columns: int) -> Thresholds:
        """The same lanes for several rows side by side, so that narrow rows keep the vector units busy."""
        times = max(1, n_columns // max(1, self.n_words))
        wide = copy.copy(self)
        wide.lanes, wide.always = np.tile(self.lanes, times), np.tile(self.always, times)
        wide.planes = np.tile(self.planes, (1, times))
        return wide


def secret_bytes(n: int) -> bytes:
    """``n`` bytes from the operating system: secrets of devices, ids that nobody guesses."""
    return os.urandom(n)


def pack_lanes(lanes: npt.NDArray[np.bool_]) -> Lanes:
    """Booleans, a multiple of 64 in the last axis, as words; lane i is bit i % 64 of word i // 64."""
    return np.packbits(lanes, axis=-1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def check_randomness(value: object) -> Randomness:
    """Only our own sources will do: others are not secure, or not marked as simulation."""
    if not isinstance(value, Randomness):
        raise ParameterError(
            f"The 'rng' parameter must be Secure() or Seeded(number), got {value!r}.",
            parameter="rng",
            value=value,
            hint="For a simulation write rng=bosket.Seeded(7).",
        )
    return value
