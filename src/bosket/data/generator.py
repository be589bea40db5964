"""The synthetic baskets of Agrawal and Srikant (VLDB 1994), known as IBM Quest data.

"Fast Algorithms for Mining Association Rules", section "Generation of Synthetic Data".  Transactions are put
together from potentially large itemsets, here called patterns.

=====================  ==========================================================================================
``records``            |D|, the number of transactions
``mean_size``          |T|, the mean of the Poisson distribution of transaction sizes
``mean_pattern``       |I|, the mean of the Poisson distribution of pattern sizes
``patterns``           |L|, the number of patterns
``items``              N, the number of items
``correlation``        the mean of the exponential distribution of the fraction of its items that a pattern takes
                       from the one before it
``corruption_mean``,   of the normal distribution of the corruption level of a pattern
``corruption_variance``
=====================  ==========================================================================================

Where the paper leaves something open, or we depart from it:

- Sizes drawn as 0 become 1, and none exceeds the number of items; corruption levels and fractions are clipped to
  [0, 1]; the number of items taken from the pattern before is rounded to the nearest whole number.
- A pattern fits in a transaction if the items that are *new* there fit: a transaction is a set.
- The item that corruption drops is drawn at random; a pattern that waits for the next transaction stays as corruption
  left it.
- The first pattern of a transaction is put in even if it is too large, so that there are no empty transactions.
- A transaction ends short of its size after 100 patterns in a row without a new item; otherwise one that asks for more
  items than the patterns have would never end.  Only then can a transaction be empty, if corruption is all but certain.
"""

from __future__ import annotations

import math

import numpy as np

from bosket.checks import check_between, check_integer, check_not_negative, check_probability
from bosket.data.baskets.records import Baskets
from bosket.data.baskets.rows import Offsets, canonical
from bosket.data.domain import Domain, ItemIds
from bosket.data.generator_kernels import Patterns, State, draw_members, fill
from bosket.progress import Meter, Progress

_CHUNK = 1 << 16
_BUFFER = 1 << 21


def quest(
    *,
    records: int,
    mean_size: float = 10,
    mean_pattern: float = 4,
    items: int = 1000,
    patterns: int = 2000,
    correlation: float = 0.5,
    corruption_mean: float = 0.5,
    corruption_variance: float = 0.1,
    seed: int,
    on_progress: Progress | None = None,
) -> Baskets:
    """Synthetic baskets; T10.I4.D100K is ``quest(records=100_000, mean_size=10, mean_pattern=4, seed=...)``.

    The labels are the numbers from 0 to ``items - 1``, and all of them are in the domain.  The same arguments give the
    same baskets.  ``on_progress`` is called with a LevelProgress as records are made.

    >>> quest(records=1000, seed=7)
    Baskets(1000 records, 1000 items)
    """
    n_records = check_integer("records", records, least=1, of="quest")
    n_items = check_integer("items", items, least=1, most=2**31 - 1, of="quest")
    n_patterns = check_integer("patterns", patterns, least=1, of="quest")
    mean_size = check_between("mean_size", mean_size, 0, 1e9, of="quest")
    mean_pattern = check_between("mean_pattern", mean_pattern, 0, 1e9, of="quest")
    correlation = check_not_negative("correlation", correlation, of="quest")
    corruption_mean = check_probability("corruption_mean", corruption_mean, of="quest")
    corruption_variance = check_not_negative("corruption_variance", corruption_variance, of="quest")
    rng = np.random.Generator(np.random.PCG64(check_integer("seed", seed, least=0, of="quest")))

    weights = rng.exponential(size=n_patterns).cumsum()
    cumulative = weights / weights[-1]
    levels = rng.normal(corruption_mean, math.sqrt(corruption_variance), n_patterns).clip(0, 1)
    offsets = np.zeros(n_patterns + 1, np.int64)
    np.cumsum(rng.poisson(mean_pattern, n_patterns).clip(1, n_items), out=offsets[1:])
    members = draw_members(rng, offsets, n_items, correlation)
    indptr, indices = _transactions(
        rng, Patterns(offsets, members, cumulative, levels), n_records, n_items, mean_size, on_progress
    )
    return Baskets._of(canonical(indptr, indices, Domain(range(n_items))))


def _transactions(
    rng: np.random.Generator,
    patterns: Patterns,
    n_records: int,
    n_items: int,
    mean_size: float,
    on_progress: Progress | None,
) -> tuple[Offsets, ItemIds]:
    """All transactions, a buffer at a time; where one buffer ends and the next begins leaves no trace."""
    largest = int(np.diff(patterns.offsets).max())
    state = State(np.empty(largest, np.int32), np.zeros(1, np.int64), np.zeros(n_items, np.int64))
    buffer = np.empty(_BUFFER + n_items, np.int32)
    indptr = np.zeros(n_records + 1, np.int64)
    parts, done, meter = [], 0, Meter(on_progress, 0, "making records", n_records)
    while done < n_records:
        ends = np.empty(min(_CHUNK, n_records - done), np.int64)
        made = fill(rng, patterns, state, mean_size, done, ends, buffer)
        parts.append(buffer[: ends[made - 1]].copy())
        indptr[done + 1 : done + made + 1] = ends[:made] + indptr[done]
        done += made
        meter(done)
    return indptr, np.concatenate(parts)
