"""The law of one answer about a basket, from its definition, and its hash functions from their paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.responses import LocalHashing, SubsetSelection

Report = tuple[tuple[int, ...], tuple[int, ...]]
"""The value of each key under the function that was drawn, and the values that are told: one, unless it is a subset."""


def cut(keys: Sequence[int], length: int) -> list[tuple[int, ...]]:
    """What a basket may be cut to, each equally likely."""
    return list(combinations(keys, min(length, len(keys))))


def law(channel: BasketChannel, record: Sequence[int]) -> dict[Report, Fraction]:
    """Of a whole report, the function in the place of its seed; from the definition, in fractions."""
    told = channel.response
    n, g = told.n_keys, told.n_values
    is_hashed = isinstance(told, LocalHashing)
    functions = list(product(range(g), repeat=n)) if is_hashed else [tuple(range(n))]  # a key is a value of its own
    size = told.chosen if isinstance(told, SubsetSelection) else 1
    ways = cut(held_by(channel, record), told.length)
    result: dict[Report, Fraction] = {}
    for function, kept in product(functions, ways):
        own = {function[key] for key in kept} | set(() if is_hashed else range(n, n + told.length - len(kept)))
        outcomes = list(combinations(range(g), size))
        hits = [one for one in outcomes if own & {*one}]
        whole = Fraction(told.threshold, 1 << 53) * (len(own) if size == 1 and told.name != "subset" else 1)
        for one in outcomes:
            chance = whole / len(hits) if own & {*one} else (1 - whole) / (len(outcomes) - len(hits))
            result[function, one] = result.get((function, one), Fraction(0)) + chance / len(ways) / len(functions)
    return result


def records(n: int = 3) -> Iterator[tuple[int, ...]]:
    for size in range(n + 1):
        yield from combinations(range(n), size)


def held_by(channel: BasketChannel, record: Iterable[int]) -> list[int]:
    """The keys that a record holds, before it is cut."""
    items = set(record)
    if channel.candidates is None:
        return sorted(items)
    return [at for at, itemset in enumerate(channel.candidates) if items.issuperset(itemset)]


def buckets_of(seeds: npt.NDArray[np.uint64], key: int, buckets: int) -> npt.NDArray[np.int64]:
    """By the oracle below, for many seeds at once."""
    found = siphash13(seeds, np.zeros_like(seeds), (key // 4).to_bytes(8, "little"))
    result: npt.NDArray[np.int64] = (found >> np.uint64(16 * (key % 4)) & np.uint64(buckets - 1)).astype(np.int64)
    return result


def siphash13(key: Any, other_key: Any, message: bytes) -> Any:
    """SipHash-1-3 from its paper: words of the message, the last with the length, one round each, then three."""
    full = (1 << 64) - 1
    v = [
        key ^ 0x736F6D6570736575,
        other_key ^ 0x646F72616E646F6D,
        key ^ 0x6C7967656E657261,
        other_key ^ 0x7465646279746573,
    ]

    def turn(x: Any, by: int) -> Any:
        return (x << by | x >> (64 - by)) & full

    def sipround() -> None:
        v[0] = (v[0] + v[1]) & full
        v[1] = turn(v[1], 13) ^ v[0]
        v[0] = turn(v[0], 32)
        v[2] = (v[2] + v[3]) & full
        v[3] = turn(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & full
        v[3] = turn(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & full
        v[1] = turn(v[1], 17) ^ v[2]
        v[2] = turn(v[2], 32)

    padded = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        sipround()
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(3):
        sipround()
    return v[0] ^ v[1] ^ v[2] ^ v[3]
