"""DiffPart: sanitized records, mined as if they were real (Chen, Mohammed, Fung, Desai and Xiong, PVLDB 4(11), 2011).

A taxonomy over the items that knows nothing of them: ten neighbours (``fan_out``) in the public order of the domain
under one node, ten such nodes under another, up to a root.  A partition is a *cut*, a set of nodes, with the records
that have items below each of these nodes and below no others.  From the top down, a node of the cut (a highest one) is
replaced by its children, a sub-partition for every non-empty subset of them, 2^10 - 1 at most:

- Each sub-partition, empty or not, gets a noisy count; those at or above a public limit are gone on with.
- Once one inner node is left, its sub-partitions are sets of items: the noisy count says how many such records
  are released.

**Accounting.**  The sub-partitions of a partition are disjoint, one record changes one of the counts by one: they
share their epsilon (parallel composition).  Along a path the parts add up (sequential composition), and each of them
is a function of the cut, which is released.  Half of epsilon is for inner counts: a partition that has spent b and has
m inner nodes below its cut spends (epsilon / 2 - b) / (m - 1) on its next counts; the last counts take all that the
path has not spent, at least a half.  ``about["spent"]`` is the dearest path.

**Empty sub-partitions** are drawn by how many of them pass (`tails`), then which, a uniform choice: the law of a noisy
count for every one of them.  They are gone on with like all others.

**Limits**, of the form that the authors' program has: ``inner_factor`` sqrt(2) (level of the node) / epsilon' for
inner counts, epsilon' being spent on them, ``leaf_factor`` sqrt(2) / epsilon' for the last ones, rounded up, at least
1.  The usual factors, 6.75 and 2.75, are those which that program is set to, for a file of 17 items.  They are not the
best for thousands: there epsilon' is so small at first (`first_limit`) that nothing may come out at all, and among
2^10 sets of items a low limit for the last counts lets through so many that nobody has that they add up to frequent
pairs.  Any public factors are as private.

Where we deviate: that program compares empty partitions by > and others by >=, which tells them apart at the limit;
here both by >=.  It spends a share on nodes with a single child, where there is nothing to learn; we do not.  It picks
one of the highest nodes at random, we the first.  Records without items have no place in the taxonomy and are left out.
After ``max_partitions`` (public) no more are gone on with: their order follows from what is released.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer, check_positive
from bosket.counting.base import Counts
from bosket.curator.noise import noisy, scale_of
from bosket.data import Baskets
from bosket.randomness import Randomness, Secure
from bosket.research.rivals.base import Itemset, Rival, exact_top_k, mined, rival
from bosket.research.rivals.tails import passing

FAN_OUT = 10
INNER_FACTOR = 6.75
LEAF_FACTOR = 2.75
MOST_FAN_OUT = 16
"""Counts of 2^fan_out - 1 sub-partitions are made at a time."""

Node = tuple[int, int]
"""Level and number: at level l, number i stands for the items i f^l .. (i + 1) f^l - 1, f being the fan-out."""


@dataclass(frozen=True)
class Taxonomy:
    """Items 0 .. n - 1 in groups of ``fan_out``, these in groups, and so on."""

    n_items: int
    fan_out: int = FAN_OUT

    @cached_property
    def root(self) -> Node:
        level = 0
        while self.fan_out**level < self.n_items:
            level += 1
        return level, 0

    def children(self, node: Node) -> list[Node]:
        level, number = node
        width = self.fan_out ** (level - 1)
        first = number * self.fan_out
        return [(level - 1, at) for at in range(first, first + self.fan_out) if at * width < self.n_items]

    def below(self, node: Node) -> Node:
        """The node itself, or what it comes to where nodes have a single child."""
        while node[0] and len(children := self.children(node)) == 1:
            node = children[0]
        return node

    def n_inner(self, node: Node) -> int:
        """Nodes with two children or more, this one among them."""
        children = self.children(node) if node[0] else []
        return (len(children) > 1) + sum(self.n_inner(child) for child in children)


@dataclass(frozen=True)
class Partition:
    cut: tuple[Node, ...]
    records: npt.NDArray[np.int64]
    spent: float
    """Along the path to it."""


@dataclass(frozen=True)
class Sanitized:
    """Records that may be published, and the largest part of epsilon that any path has spent."""

    baskets: Baskets
    spent: dict[str, float]
    n_partitions: int


def sanitize(
    baskets: Baskets,
    *,
    epsilon: float,
    fan_out: int = FAN_OUT,
    inner_factor: float = INNER_FACTOR,
    leaf_factor: float = LEAF_FACTOR,
    max_partitions: int = 100_000,
    rng: Randomness | None = None,
) -> Sanitized:
    """Records like these; the order of items in their domain is public."""
    epsilon = check_positive("epsilon", epsilon)
    taxonomy = Taxonomy(baskets.n_items, check_integer("fan_out", fan_out, least=2, most=MOST_FAN_OUT))
    inner_factor = check_positive("inner_factor", inner_factor)
    leaf_factor = check_positive("leaf_factor", leaf_factor)
    chance = rng or Secure()
    released: dict[Itemset, int] = {}
    inner, n_done = 0.0, 0
    waiting: deque[Partition] = deque()
    if baskets.n_items:
        waiting.append(Partition((taxonomy.below(taxonomy.root),), np.flatnonzero(baskets.sizes), 0.0))
    while waiting and n_done < max_partitions:
        partition = waiting.popleft()
        n_done += 1
        inner = max(inner, partition.spent)
        n_left = sum(taxonomy.n_inner(node) for node in partition.cut)
        if n_left <= 1:
            share = epsilon - partition.spent
            limit = limit_of(leaf_factor, 1, share)
            released |= _last(baskets, taxonomy, partition, share, limit, chance)
        else:
            share = (epsilon / 2 - partition.spent) / (n_left - 1)
            limit = limit_of(inner_factor, max(level for level, _ in partition.cut), share)
            waiting.extend(_divide(baskets, taxonomy, partition, share, limit, chance))
    counts = np.array(list(released.values()), np.int64)
    sizes = np.repeat(np.array([len(itemset) for itemset in released], np.int64), counts)
    rows = [np.tile(np.array(itemset, np.int32), count) for itemset, count in released.items()]
    indices = np.concatenate([np.empty(0, np.int32), *rows])
    made = Baskets.from_csr(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), indices, baskets.domain)
    return Sanitized(made, {"partitions": inner, "records": epsilon - inner}, n_done)


def limit_of(factor: float, level: int, share: float) -> int:
    """What a noisy count has to reach: so many standard deviations of its noise, times the level of the node."""
    return max(1, math.ceil(factor * math.sqrt(2) * level / share))


def first_limit(
    n_items: int, *, epsilon: float, fan_out: int = FAN_OUT, inner_factor: float = INNER_FACTOR
) -> int | None:
    """What the first sub-partitions have to reach, which grows like the number of items; None if there are no inner
    counts.  Where it exceeds the number of records nothing but noise comes out.

    >>> first_limit(17, epsilon=1.0), first_limit(16470, epsilon=1.0)
    (77, 174787)
    """
    taxonomy = Taxonomy(n_items, fan_out)
    root = taxonomy.below(taxonomy.root)
    n_inner = taxonomy.n_inner(root)
    return limit_of(inner_factor, root[0], epsilon / 2 / (n_inner - 1)) if n_inner > 1 else None


def _divide(
    baskets: Baskets, taxonomy: Taxonomy, partition: Partition, share: float, limit: int, rng: Randomness
) -> list[Partition]:
    """The sub-partitions whose noisy counts are high enough, by pattern: the order tells nothing."""
    place = max(range(len(partition.cut)), key=lambda at: (partition.cut[at][0], -at))
    node = partition.cut[place]
    children = taxonomy.children(node)
    patterns = _patterns(baskets, taxonomy, partition.records, node)
    others = partition.cut[:place] + partition.cut[place + 1 :]
    result = []
    for pattern, _ in _noisy_patterns(patterns, len(children), share, limit, rng):
        new = tuple(taxonomy.below(child) for at, child in enumerate(children) if pattern >> at & 1)
        records = partition.records[patterns == pattern]
        result.append(Partition(others + new, records, partition.spent + share))
    return result


def _last(
    baskets: Baskets, taxonomy: Taxonomy, partition: Partition, share: float, limit: int, rng: Randomness
) -> dict[Itemset, int]:
    """The last counts of a path, as records and how often."""
    items = [number for level, number in partition.cut if level == 0]
    inner = [node for node in partition.cut if node[0]]
    if not inner:
        count = int(noisy([len(partition.records)], epsilon=share, sensitivity=1)[0])
        return {tuple(sorted(items)): count} if count >= limit else {}
    children = taxonomy.children(inner[0])
    patterns = _patterns(baskets, taxonomy, partition.records, inner[0])
    released = {}
    for pattern, count in _noisy_patterns(patterns, len(children), share, limit, rng):
        new = [number for at, (_, number) in enumerate(children) if pattern >> at & 1]
        released[tuple(sorted(items + new))] = count
    return released


def _patterns(
    baskets: Baskets, taxonomy: Taxonomy, records: npt.NDArray[np.int64], node: Node
) -> npt.NDArray[np.int64]:
    """Below which children of a node each record has items, as bits.  Exact: stays inside."""
    level, number = node
    width = taxonomy.fan_out ** (level - 1)
    sizes = baskets.sizes[records]
    ends = np.cumsum(sizes)
    record_of = np.repeat(np.arange(len(records)), sizes)
    items = baskets.indices[np.repeat(baskets.indptr[records] - ends + sizes, sizes) + np.arange(len(record_of))]
    child = items.astype(np.int64) // width - number * taxonomy.fan_out
    is_in = (child >= 0) & (child < taxonomy.fan_out)
    result = np.zeros(len(records), np.int64)
    np.bitwise_or.at(result, record_of[is_in], np.int64(1) << child[is_in])
    return result


def _noisy_patterns(
    patterns: npt.NDArray[np.int64], n_children: int, epsilon: float, limit: int, rng: Randomness
) -> list[tuple[int, int]]:
    """The patterns 1 .. 2^n_children - 1 with noisy counts of at least ``limit``, in order."""
    exact: Counts = np.bincount(patterns, minlength=1 << n_children)
    exact[0] = 0  # nobody: a record of the partition has items below each node of the cut
    there = np.flatnonzero(exact)
    counts = noisy(exact[there], epsilon=epsilon, sensitivity=1)
    found = {int(pattern): int(count) for pattern, count in zip(there, counts, strict=True) if count >= limit}
    empty = np.flatnonzero(exact == 0)[1:]
    values = passing(len(empty), scale_of(epsilon, 1), limit, rng=rng)
    which = rng.subsets(len(empty), len(values), 1)[0]
    found |= {int(pattern): int(count) for pattern, count in zip(empty[which], values, strict=True)}
    return sorted(found.items())


def top_k(
    baskets: Baskets,
    *,
    epsilon: float,
    k: int,
    fan_out: int = FAN_OUT,
    inner_factor: float = INNER_FACTOR,
    leaf_factor: float = LEAF_FACTOR,
    rng: Randomness | None = None,
) -> Rival:
    """The k most frequent itemsets of sanitized records; fewer if they have fewer."""
    made = sanitize(
        baskets, epsilon=epsilon, fan_out=fan_out, inner_factor=inner_factor, leaf_factor=leaf_factor, rng=rng
    )
    return rival(exact_top_k(made.baskets, check_integer("k", k, least=1)), _about(made, epsilon) | {"k": k})


def frequent(
    baskets: Baskets,
    *,
    epsilon: float,
    min_count: int,
    max_size: int | None = None,
    fan_out: int = FAN_OUT,
    inner_factor: float = INNER_FACTOR,
    leaf_factor: float = LEAF_FACTOR,
    rng: Randomness | None = None,
) -> Rival:
    """The itemsets in at least ``min_count`` (public) of the sanitized records."""
    min_count = check_integer("min_count", min_count, least=1)
    made = sanitize(
        baskets, epsilon=epsilon, fan_out=fan_out, inner_factor=inner_factor, leaf_factor=leaf_factor, rng=rng
    )
    levels = mined(made.baskets, min_count, max_size=max_size)
    return Rival(
        [items for items, _ in levels],
        [counts.astype(float) for _, counts in levels],
        _about(made, epsilon) | {"min_count": min_count},
    )


def _about(made: Sanitized, epsilon: float) -> dict[str, object]:
    return {
        "method": "DiffPart", "epsilon": epsilon, "spent": made.spent,
        "n_records": made.baskets.n_records, "n_partitions": made.n_partitions,
    }  # fmt: skip
