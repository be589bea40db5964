"""Which records to run a client on: the two that are told apart the best, as far as can be known beforehand.

Where a record has few items and the law is stated, the worst two are found by going through all pairs.  Elsewhere there
is a list of likely ones (records without anything in common, of every size; records that differ in one thing; those
with the items that are hidden least), and a short trial with this library's own client picks from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bosket.audit.clients.showing import Record as Record
from bosket.data import TableDomain
from bosket.mechanisms import Channel, RecordChannel
from bosket.mechanisms.cut import StatingChannel
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.plan import Plan
from bosket.statistics.estimates import Floats

_FEW_ITEMS = 9  # of a domain whose pairs of records are all gone through
_FEW_RECORDS = 300


@dataclass(frozen=True)
class Pair:
    """Two records, and what a card calls the difference between them: "item" or "record"."""

    unit: str
    one: Record
    other: Record


def sizes_of(plan: Plan) -> list[int]:
    """The sizes of records that a person may have."""
    if isinstance(plan.domain, TableDomain):
        return [len(plan.domain.attributes)]
    n, unit = len(plan.domain), plan.unit
    most = n if plan.max_size is None else plan.max_size
    if unit.longer == "sample":
        most = n if unit.state_sizes_to is None else min(n, unit.state_sizes_to)
    allowed = plan.channel.record_sizes
    found = [size for size in range(min(n, most) + 1) if allowed is None or size in allowed]
    if isinstance(plan.channel, BasketChannel) and plan.channel.candidates is None:
        found = [size for size in found if size <= plan.channel.response.length] or found  # others are cut
    return found


def is_comparable(plan: Plan, one: Record, other: Record) -> bool:
    """Whether the card speaks of these two: not where reports state the size of records and they differ in it."""
    a, b = len(one), len(other)
    if a == b:
        return True
    limit, unit = plan.max_size, plan.unit
    if unit.state_sizes_to is not None and limit is not None and max(a, b) > limit:
        if unit.size_epsilon is None:
            return False
        return not (plan.mechanism.sends_sizes and min(a, b) < limit)
    if plan.mechanism.sends_sizes:
        if unit.longer == "sample" and limit is not None:
            return min(a, b) >= limit
        return False
    return True


def unit_of(plan: Plan, one: Record, other: Record) -> str:
    """ "item" where the two differ in one attribute, in one item, or in one for another where sizes are sent."""
    away = len(set(one) ^ set(other))
    if plan.unit.longer == "sample":  # what is cut first may differ otherwise: the record's line covers any two
        return "record"
    if isinstance(plan.domain, TableDomain):
        return "item" if away == 2 else "record"
    if plan.mechanism.sends_sizes and len(one) == len(other):
        return "item" if away == 2 else "record"
    return "item" if away == 1 else "record"


def candidate_pairs(plan: Plan) -> list[Pair]:
    """Two records each, the worst of all where they can be gone through."""
    exact = _worst(plan)
    if exact is not None:
        return exact
    found = []
    for one, other in _tables(plan) if isinstance(plan.domain, TableDomain) else _baskets(plan):
        pair = Pair(unit_of(plan, one, other), one, other)
        if one != other and is_comparable(plan, one, other) and pair not in found:
            found.append(pair)
    return found


def all_records(plan: Plan) -> list[Record]:
    """Every record of a small domain."""
    if isinstance(plan.domain, TableDomain):
        return [
            tuple(int(plan.domain.offsets[at]) + int(value) for at, value in enumerate(row))
            for row in np.ndindex(*map(int, plan.domain.sizes))
        ]
    return [record for size in sizes_of(plan) for record in combinations(range(len(plan.domain)), size)]


def _worst(plan: Plan) -> list[Pair] | None:
    """The worst pair of each unit by the law itself, where records are few and the channel states it."""
    channel, n = plan.channel, len(plan.domain)
    if n > _FEW_ITEMS or not isinstance(channel, RecordChannel) or isinstance(channel, StatingChannel):
        return None
    if plan.unit.longer == "sample":
        return None
    records = all_records(plan)
    if len(records) > _FEW_RECORDS:
        return None
    laws = np.array([_law(channel, record, n) for record in records])
    best: dict[str, tuple[float, Pair]] = {}
    for i, one in enumerate(records):
        for j, other in enumerate(records):
            if i == j or not is_comparable(plan, one, other):
                continue
            loss = _log_ratio(laws[i], laws[j])
            unit = unit_of(plan, one, other)
            if unit not in best or loss > best[unit][0]:
                best[unit] = (loss, Pair(unit, one, other))
    return [pair for _, pair in best.values()]


def _law(channel: RecordChannel, record: Record, n: int) -> Floats:
    pattern = sum(1 << item for item in record)
    law: Floats = channel.transition(tuple(range(n)), channel.stratum_of(len(record)))[pattern]
    return law


def _log_ratio(one: Floats, other: Floats) -> float:
    """The largest ln of the one over the other; of equals those that are shown oftenest count a trifle more."""
    some = one > 0
    if (other[some] <= 0).any():
        return math.inf
    ratios = np.log(one[some] / other[some])
    return float(ratios.max(initial=0.0)) + 1e-9 * float(one[some] @ (ratios >= ratios.max(initial=0.0) - 1e-12))


def _by_odds(channel: Channel, n: int) -> list[int]:
    """KeyNumbers, those that are hidden least first; in the domain's order where nothing is known of that."""
    try:
        found = channel.moves(np.arange(n, dtype=np.int32))
    except (KeyError, ValueError, IndexError):  # by stratum
        found = None
    if found is None:
        return list(range(n))
    lost, gained = (np.clip(part, 1e-300, 1 - 1e-16) for part in found)
    odds = np.log((1 - lost) / gained) + np.log((1 - gained) / lost)
    return [int(item) for item in np.argsort(-odds, kind="stable")]


def _tables(plan: Plan) -> Iterator[tuple[Record, Record]]:
    """Two records that share nothing, and two that differ in one attribute, by the values that are hidden least."""
    domain = plan.domain
    assert isinstance(domain, TableDomain)
    rank = {item: at for at, item in enumerate(_by_odds(plan.channel, len(domain)))}
    values = [
        sorted(range(int(domain.offsets[at]), int(domain.offsets[at + 1])), key=rank.__getitem__)
        for at in range(len(domain.attributes))
    ]
    able = [at for at, some in enumerate(values) if len(some) > 1]
    if not able:
        return
    one = [some[0] for some in values]
    opposite = [some[1] if len(some) > 1 else some[0] for some in values]
    yield tuple(one), tuple(opposite)
    best = min(able, key=lambda at: rank[values[at][0]] + rank[values[at][1]])
    for at in dict.fromkeys([best, able[0], able[-1]]):
        near = list(one)
        near[at] = opposite[at]
        yield tuple(one), tuple(near)


def _baskets(plan: Plan) -> Iterator[tuple[Record, Record]]:
    """Records of every third size or so that share nothing, that differ in one item, and the smallest and largest."""
    n, sizes = len(plan.domain), sizes_of(plan)
    order = _by_odds(plan.channel, n)
    candidates = plan.channel.candidates if isinstance(plan.channel, BasketChannel) else None
    if candidates is not None:
        yield _sorted(candidates[0]), _sorted(candidates[-1])
        yield _sorted(candidates[0]), ()
        return
    chosen = sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1], *sizes[1:3]})
    for size in chosen:
        one, rest = order[:size], order[size:]
        if rest and size:
            yield _sorted(one), _sorted(rest[:size] if len(rest) >= size else [*rest, *one[: size - len(rest)]])
            yield _sorted(one), _sorted([*one[1:], rest[0]])
            yield _sorted(one), _sorted(rest[: max(part for part in sizes if part <= max(len(rest), sizes[0]))])
        if size and size - 1 in sizes:
            yield _sorted(one), _sorted(one[1:])
    yield _sorted(order[: sizes[-1]]), _sorted(order[: sizes[0]])


def _sorted(items: Iterable[int]) -> Record:
    return tuple(sorted(items))
