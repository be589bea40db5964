"""Hash functions named by a seed: SipHash-1-3, compiled.

SipHash (Aumasson and Bernstein, 2012) with one round a word and three at the end; the key is the seed and 0, the
message a number of eight bytes.  Each hash of 64 bits serves four keys, sixteen bits each: the bucket of key i among g,
a power of two, is lane i mod 4 of the hash of i // 4, modulo g.  Over seeds drawn uniformly the buckets of different
keys are those of a function drawn at random, each of g buckets equally likely and independent of the others: exactly,
for a random function; as far as anybody can tell, for SipHash.  What is promised to people does not rest on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled

LANES = 4
MOST_BUCKETS = 1 << 16


@compiled
def _rotated(word: Any, by: int) -> Any:
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@compiled
def _round(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any, Any, Any]:
    a = a + b
    c = c + d
    b = _rotated(b, 13) ^ a
    d = _rotated(d, 16) ^ c
    a = _rotated(a, 32)
    c = c + b
    a = a + d
    b = _rotated(b, 17) ^ c
    d = _rotated(d, 21) ^ a
    c = _rotated(c, 32)
    return a, b, c, d


@compiled
def siphash(seed: Any, number: Any) -> Any:
    """SipHash-1-3 of a number of eight bytes, little-endian, under the key (seed, 0)."""
    key, message = np.uint64(seed), np.uint64(number)
    a = key ^ np.uint64(0x736F6D6570736575)
    b = np.uint64(0x646F72616E646F6D)
    c = key ^ np.uint64(0x6C7967656E657261)
    d = np.uint64(0x7465646279746573) ^ message
    a, b, c, d = _round(a, b, c, d)
    a ^= message
    length = np.uint64(8 << 56)
    d ^= length
    a, b, c, d = _round(a, b, c, d)
    a ^= length
    c ^= np.uint64(0xFF)
    a, b, c, d = _round(a, b, c, d)
    a, b, c, d = _round(a, b, c, d)
    a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@compiled
def bucket_of(seed: Any, key: Any, buckets: Any) -> Any:
    """The bucket of a key under the function of this seed."""
    lane = np.uint64(16 * (key & 3))
    return np.int64((siphash(seed, key >> 2) >> lane) & np.uint64(buckets - 1))


@compiled
def count_blocks(seeds: Any, values: Any, counts: Any, buckets: int, blocks: Any, found: Any) -> None:
    """found[j, i] += how many reports have the bucket of key 4 blocks[j] + i as their value."""
    mask = np.uint64(buckets - 1)
    for row in range(blocks.size):
        block = blocks[row]
        first = second = third = fourth = np.int64(0)
        for report in range(seeds.size):
            word = siphash(seeds[report], block)
            value = np.uint64(values[report])
            number = counts[report]
            first += number * np.int64((word & mask) == value)
            second += number * np.int64(((word >> np.uint64(16)) & mask) == value)
            third += number * np.int64(((word >> np.uint64(32)) & mask) == value)
            fourth += number * np.int64(((word >> np.uint64(48)) & mask) == value)
        found[row, 0] += first
        found[row, 1] += second
        found[row, 2] += third
        found[row, 3] += fourth


@compiled
def count_sets(seeds: Any, values: Any, counts: Any, buckets: int, sets: Any, found: Any) -> None:
    """found[j] += how many reports have the bucket of every key in row j of ``sets`` as their value."""
    for row in range(sets.shape[0]):
        total = np.int64(0)
        for report in range(seeds.size):
            shows = True
            for place in range(sets.shape[1]):
                shows &= bucket_of(seeds[report], sets[row, place], buckets) == values[report]
            total += counts[report] * np.int64(shows)
        found[row] += total
