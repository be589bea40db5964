"""What every counter must do, wherever its records are: supports by stratum, as plain Python sets have them."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from bosket.counting import Counter

Records = list[set[int]]
CounterCase = tuple[Records, int, list[int] | None]
"""Records, the number of items, and the stratum of each record."""
Make = Callable[[Records, int, list[int] | None], Counter]


def by_hand(records: Records, strata: list[int], itemset: tuple[int, ...]) -> list[int]:
    return [
        sum(1 for record, own in zip(records, strata, strict=True) if own == stratum and set(itemset) <= record)
        for stratum in sorted(set(strata)) or [0]
    ]


@st.composite
def cases(draw: st.DrawFn) -> CounterCase:
    n_items = draw(st.sampled_from([1, 3, 5, 64, 65, 70]))
    low = st.sets(st.integers(0, min(n_items, 5) - 1))
    anywhere = st.sets(st.integers(0, n_items - 1), max_size=8)
    records = draw(st.lists(low | anywhere, max_size=140))
    strata = draw(st.none() | st.lists(st.sampled_from([0, 2, 7]), min_size=len(records), max_size=len(records)))
    return records, n_items, strata


def some_cases() -> list[CounterCase]:
    """A few that are always the same, for counters that take long: no records, empty ones, items beyond a word."""
    rng = np.random.default_rng(9)
    found: list[CounterCase] = [([], 3, None), ([set()], 1, None)]
    for n_items, n in ((5, 140), (65, 400), (70, 30)):
        records = [set(np.flatnonzero(row).tolist()) for row in rng.random((n, n_items)) < rng.random((n, 1))]
        found += [(records, n_items, None), (records, n_items, rng.choice([0, 2, 7], n).tolist())]
    return found


def assert_contract(make: Make, case: CounterCase) -> None:
    """The numbers of records, the strata, and supports of itemsets of up to four items."""
    records, n_items, strata = case
    counter = make(records, n_items, strata)
    own = strata if strata is not None else [0] * len(records)
    assert isinstance(counter, Counter)
    assert counter.n_records == len(records)
    assert list(counter.strata) == (sorted(set(own)) or [0])
    low = range(min(n_items, 5))
    for size in range(5):
        for itemsets in (list(itertools.combinations(low, size)), [(n_items - 1,)] if size == 1 else []):
            if itemsets:
                counts = counter.supports(np.array(itemsets, np.int32).reshape(len(itemsets), size))
                expected = np.array([by_hand(records, own, itemset) for itemset in itemsets]).T
                np.testing.assert_array_equal(counts, expected)
    assert counter.supports(np.empty((0, 2), np.int32)).shape == (len(counter.strata), 0)
