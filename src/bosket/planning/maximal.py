"""Maximal supports s_max(k, m): what the most frequent itemsets of k items reach among records of m items.

They are what Evfimievski et al. (2004), section 4.4, plan with: an estimate, made before people are asked, of how
telling the most telling itemset can be.  Written as a mapping from record size m to [s_max(1, m), s_max(2, m), ...].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from bosket.checks import check_between, check_integer, check_probability
from bosket.data import Baskets, Domain, Table
from bosket.errors import DataError, ParameterError
from bosket.mechanisms import Mechanism
from bosket.mechanisms.select_channels import SelectASizeChannel
from bosket.privacy.breaches import Floats, challenging_level
from bosket.statistics.roots import root

Maximal = Mapping[int, Sequence[float]]
BreachLevel = Callable[[Sequence[float], Floats], "Floats | float"]
"""The breach level of the worst itemset with such maximal supports, given p[l -> k] by l."""


def check_maximal(maximal: Maximal) -> dict[int, tuple[float, ...]]:
    """Probabilities that do not grow with the itemset, for every record size; of more items than it has they are 0."""
    if not isinstance(maximal, Mapping):
        raise ParameterError(
            f"The 'maximal' parameter must be a mapping from record size to supports, got a {type(maximal).__name__}.",
            parameter="maximal",
            value=maximal,
            hint="Write {3: [0.12, 0.03, 0.01]}.",
        )
    result = {}
    for key, row in maximal.items():
        size = check_integer("maximal size", key, least=1)
        values = tuple(check_probability(f"maximal[{size}]", value) for value in row)
        if not values or any(values[size:]) or any(b > a for a, b in pairwise(values)):
            raise ParameterError(
                f"The 'maximal[{size}]' parameter must be supports that do not grow with the itemset, 0 of more than "
                f"{size} items.",
                parameter="maximal",
                value=row,
            )
        result[size] = values
    if not result:
        raise ParameterError("The 'maximal' parameter must name record sizes, got none.", parameter="maximal", value={})
    return result


def planning_channel(mechanism: Mechanism, size: int) -> SelectASizeChannel:
    """The channel on a domain where nothing about a record of this size is impossible.

    How many items there are in all does not matter to select-a-size, since items come in one by one; to replacement it
    does, and to those that do not send sizes nothing here applies.
    """
    size = check_integer("size", size, least=0)
    channel = mechanism.channel(Domain(range(2 * size + 40)))
    if not isinstance(channel, SelectASizeChannel):
        raise ParameterError(
            f"The 'mechanism' parameter must be SelectASize or CutAndPaste, got {mechanism}.",
            parameter="mechanism",
            value=mechanism,
        )
    if not channel.takes(size):
        raise ParameterError(
            f"The 'mechanism' parameter must take records of {size} items, and {mechanism} does not.",
            parameter="mechanism",
            value=size,
        )
    return channel


def maximal_supports(
    records: Baskets | Table, *, max_itemset: int = 7, max_size: int | None = None
) -> dict[int, tuple[float, ...]]:
    """s_max(k, m) of known data, for every record size that occurs (up to max_size) and k up to max_itemset.

    A pilot study, say.  It reads raw data, so what it returns is not private.  Records of a table have one size.
    """
    check_integer("max_itemset", max_itemset, least=1)
    if isinstance(records, Table):
        size = records.n_attributes
        return {size: _largest_supports(records, min(size, max_itemset))} if records.n_records else {}
    if not isinstance(records, Baskets):
        raise DataError(f"Maximal supports are those of Baskets or a Table, not of a {type(records).__name__}.")
    most = int(records.sizes.max(initial=0)) if max_size is None else check_integer("max_size", max_size, least=1)
    return {
        size: _largest_supports(records[records.sizes == size], min(size, max_itemset))
        for size in np.unique(records.sizes[(records.sizes > 0) & (records.sizes <= most)]).tolist()
    }


def _largest_supports(alike: Baskets | Table, longest: int) -> tuple[float, ...]:
    """The largest support of an itemset of 1, 2, ... items, among records of one size."""
    from bosket.mining import mine  # most plans need nothing of it, and it takes a while to load

    supports = np.zeros(longest)
    limit = 1.0
    while not supports.all():
        limit = max(limit / 4, 1 / alike.n_records)
        for itemset, support in mine(alike, min_support=limit, max_size=longest):
            supports[len(itemset) - 1] = max(supports[len(itemset) - 1], support)
    return tuple(supports.tolist())


def breach_levels(mechanism: Mechanism, maximal: Maximal, *, measure: BreachLevel = challenging_level) -> pd.DataFrame:
    """The breach level of the most challenging k-itemset for every record size and k: what planning keeps down.

    ``measure`` is :func:`~bosket.privacy.breaches.challenging_level`, the itemset of Eqs. (15) and (16), or
    :func:`~bosket.privacy.breaches.worst_level`, the worst that can exist.
    """
    rows = []
    for size, values in check_maximal(maximal).items():
        channel = planning_channel(mechanism, size)
        for k in range(1, len(values) + 1):
            level = measure(values[:k], channel.shown_given(k, size))
            rows.append({"record_size": size, "size": k, "breach": float(level)})
    return pd.DataFrame(rows, columns=["record_size", "size", "breach"])


def allowed_maximal_supports(
    mechanism: Mechanism, sizes: Iterable[int], *, level: float = 0.5, max_itemset: int = 7
) -> dict[int, tuple[float, ...]]:
    """The maximal supports that put every itemset size just at the breach level: the inverse question.

    For k = 1, 2, ... in turn, the s_max(k, m) at which the itemset of Eqs. (15) and (16) reaches ``level``.
    """
    check_between("level", level, 0, 1)
    result = {}
    for size in [check_integer("sizes", size, least=1) for size in sizes]:
        channel = planning_channel(mechanism, size)
        values: list[float] = []
        for k in range(1, min(size, max_itemset) + 1):
            shown = channel.shown_given(k, size)

            def excess(support: float, values: list[float] = values, shown: Floats = shown) -> float:
                return float(challenging_level([*values, support], shown)) - level

            most = values[-1] if values else 1.0
            if excess(most) <= 0:
                values.append(most)
            else:  # 0 where smaller itemsets alone put it at the level
                values.append(0.0 if excess(0.0) >= 0 else root(excess, 0.0, most, xtol=1e-15))
        result[size] = tuple(values)
    return result
