"""Compiled: sums over the literals that records hold, and steps of a population's particles.

A record is one word: bit i says whether it holds literal i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled, popcount


@compiled
def held_literals(patterns: Any, held: Any) -> None:
    """How many literals each record holds."""
    for t in range(len(patterns)):
        held[t] = popcount(patterns[t])


@compiled
def add_singles(patterns: Any, units: Any, sums: Any) -> None:
    """Add the units of each record to the sum of each literal that it holds."""
    for t in range(len(patterns)):
        word = patterns[t]
        while word:
            lowest = word & (~word + np.uint64(1))
            sums[np.int64(popcount(lowest - np.uint64(1)))] += units[t]
            word ^= lowest


@compiled
def add_pairs(patterns: Any, units: Any, sums: Any) -> None:
    """Add the units of each record to the sum of each pair of literals that it holds; ``sums`` is square, i < j."""
    places = np.empty(64, np.int64)
    for t in range(len(patterns)):
        word = patterns[t]
        n = 0
        while word:
            lowest = word & (~word + np.uint64(1))
            places[n] = np.int64(popcount(lowest - np.uint64(1)))
            n += 1
            word ^= lowest
        for i in range(n):
            for j in range(i + 1, n):
                sums[places[i], places[j]] += units[t]


@compiled
def add_held(words: Any, weights: Any, masks: Any, values: Any, sums: Any) -> None:
    """Add to each sum the weights of the words that have just these values of the literals of its mask."""
    n = len(words) // 4 * 4
    for at in range(len(masks)):
        mask, value = masks[at], values[at]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # apart, so that sums do not wait for each other
        for t in range(0, n, 4):
            a += weights[t] if words[t] & mask == value else 0.0
            b += weights[t + 1] if words[t + 1] & mask == value else 0.0
            c += weights[t + 2] if words[t + 2] & mask == value else 0.0
            d += weights[t + 3] if words[t + 3] & mask == value else 0.0
        for t in range(n, len(words)):
            a += weights[t] if words[t] & mask == value else 0.0
        sums[at] += (a + b) + (c + d)


@compiled
def leaves_of(patterns: Any, asks: Any, goes: Any, result: Any) -> None:
    """The leaf of each pattern in a tree of nodes that ask for a literal, or for none."""
    for t in range(len(patterns)):
        node = 0
        while asks[node] >= 0:
            node = goes[node, np.int64(patterns[t] >> np.uint64(asks[node]) & np.uint64(1))]
        result[t] = goes[node, 0]


@compiled
def gibbs(
    particles: Any, fields: Any, couplings: Any, by_size: Any, asks: Any, goes: Any, masks: Any, stays: Any,
    words: Any, n_sweeps: int,
) -> None:  # fmt: skip
    """Draw every literal of every particle anew, given all its others, ``n_sweeps`` times over.

    The law is p(x) ~ exp(sum_i fields[i] x_i + sum_{i < j} couplings[i, j] x_i x_j + by_size[number of literals])
    within the leaf of x where that ``stays``, and within all other leaves together where it does not; ``words`` has a
    random word for each draw.
    """
    n_particles, m = particles.shape
    local = np.empty(m)
    one = np.uint64(1)
    at = 0
    for p in range(n_particles):
        x = particles[p]
        size = 0
        word = np.uint64(0)
        local[:] = fields
        for i in range(m):
            if x[i]:
                size += 1
                word |= one << np.uint64(i)
                for j in range(m):
                    local[j] += couplings[i, j]
        node = 0
        while asks[node] >= 0:
            node = goes[node, np.int64(word >> np.uint64(asks[node]) & one)]
        leaf = goes[node, 0]
        for _ in range(n_sweeps):
            for i in range(m):
                others = size - x[i]
                gain = local[i] + by_size[others + 1] - by_size[others]
                uniform = np.float64(words[at] >> np.uint64(11)) * 2.0**-53
                at += 1
                bit = one << np.uint64(i)
                other = leaf
                if masks[leaf] & bit:
                    if stays[leaf]:
                        continue
                    node = 0
                    while asks[node] >= 0:
                        node = goes[node, np.int64((word ^ bit) >> np.uint64(asks[node]) & one)]
                    other = goes[node, 0]
                    if stays[other]:
                        continue
                new = 1 if uniform * (1.0 + np.exp(-gain)) < 1.0 else 0
                if new != x[i]:
                    sign = 1.0 if new else -1.0
                    for j in range(m):
                        local[j] += sign * couplings[i, j]
                    x[i] = new
                    size = others + new
                    word ^= bit
                    leaf = other
