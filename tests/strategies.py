"""Hypothesis strategies, in one place."""

from __future__ import annotations

from collections.abc import Hashable

from hypothesis import strategies as st

from bosket.data import Baskets

Records = list[list[Hashable]]

numbers = st.integers(0, 2**63 - 1) | st.integers(0, 9)
"""Labels that any file can hold."""

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
"""Labels with quotes, commas, line ends, and nothing at all among them."""


def records(labels: st.SearchStrategy[Hashable] = numbers, *, max_records: int = 12) -> st.SearchStrategy[Records]:
    """Lists of lists of labels from a small pool, with repeats, empty records, and no order."""
    pools = st.lists(labels, min_size=1, max_size=10, unique=True)
    return pools.flatmap(lambda pool: st.lists(st.lists(st.sampled_from(pool), max_size=8), max_size=max_records))


@st.composite
def baskets(draw: st.DrawFn, *, max_records: int = 12, max_items: int = 8) -> Baskets:
    """Baskets over the items 0 .. n - 1, some of which need not occur."""
    n_items = draw(st.integers(1, max_items))
    rows = st.lists(st.sets(st.integers(0, n_items - 1)), max_size=max_records)
    return Baskets(draw(rows), items=range(n_items))
