"""Intervals of a law at each order, chosen or not: how often they hold the support of a truly frequent itemset.

Who asks for ``model=LogLinear(order=2)`` or ``(order=3)`` gets that order whatever the answers say, so that intervals
have to cover at both, where people were asked about pairs and where they were asked about triples.  Beside CENSUS and
HEALTH stand simulated people and the mushrooms of the FIMI file.  What intervals allow for interactions of three where
nobody was asked of three was chosen on such people of other seeds, on tables of other files and on the first mushrooms;
the other mushrooms took part in no choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np

from bosket.data import Attribute, Baskets, Table, TableDomain
from bosket.evidence import Evidence, evidence_of
from bosket.mechanisms import Ask, Design, GammaDiagonal
from bosket.models.loglinear import LogLinear
from bosket.plan import Plan
from bosket.randomness import Seeded
from bosket.research.reproduce.datasets import find
from bosket.research.reproduce.questions import Score, Truth, score

SIZES = {"pairs": 2, "triples": 3}
"""Attributes of each question, by the name of the design."""
ORDERS = (2, 3)

FIRST, OTHERS = (0, 1, 2, 4, 6, 7), (8, 10, 11, 12, 13, 17)
"""The first twelve attributes of mushrooms with two to six values."""
SINGLE, PAIR = 0.6, 0.15
"""Standard deviations of the effects of single attributes and of pairs in simulated people."""


def simulated(*, third: float, planted: float = 0.0, people: int = 40_000, seed: int) -> Table:
    """People of six attributes with two and three values in turn.

    third    standard deviation of the effects of every three attributes
    planted  one more effect of the first three: by the sign of the product of "is the first value"
    """
    rng = np.random.default_rng(seed)
    domain = TableDomain([Attribute(name, ["1", "2", "3"][: 2 + at % 2]) for at, name in enumerate("abcdef")])
    sizes = [int(size) for size in domain.sizes]
    values = np.indices(sizes).reshape(len(sizes), -1)
    eta = planted * np.prod([1 - 2.0 * (values[at] == 0) for at in range(3)], axis=0)
    for size, spread in enumerate((SINGLE, PAIR, third), 1):
        for some in combinations(range(len(sizes)), size):
            eta += rng.normal(0, spread, [sizes[at] for at in some])[tuple(values[at] for at in some)]
    law = np.exp(eta)
    return Table.from_cells(rng.choice(len(law), people, p=law / law.sum()), domain)


def mushrooms(data: str | Path | None = None, *, columns: tuple[int, ...] = FIRST) -> Table:
    """Some attributes of the 8124 mushrooms, by their place in the file: an item of each in every record."""
    records = [sorted(int(str(item)) for item in record) for record in Baskets.read(find("mushroom.dat.gz", data))]
    cells = np.array(records)[:, list(columns)]
    attributes, codes = [], []
    for column, items in zip(columns, cells.T, strict=True):
        values, code = np.unique(items, return_inverse=True)
        attributes.append(Attribute(f"attribute {column}", values.tolist()))
        codes.append(code)
    return Table.from_codes(np.stack(codes, axis=1), TableDomain(attributes))


def at_each_order(
    table: Table, gamma: float, seed: int, *, sizes: Mapping[str, int] = SIZES
) -> Iterator[tuple[str, int, Evidence]]:
    """The same answers read at each order: the design, the order, and what they say."""
    for number, (name, size) in enumerate(sizes.items()):
        plan = Plan(table.domain, Ask(Design.of_size(table.domain, size), gamma))
        reports = plan.randomize(table, rng=Seeded(seed + number))
        for order in ORDERS:
            yield name, order, evidence_of(reports, model=LogLinear(order))


def coverage(
    table: Table, gamma: float, seed: int, *, min_support: float, sizes: Mapping[str, int] = SIZES
) -> dict[tuple[str, int], Score]:
    """One study by each design, by design and order."""
    truth = Truth(table, min_support)
    studies = at_each_order(table, gamma, seed, sizes=sizes)
    return {(name, order): score(found, truth) for name, order, found in studies}


def of_whole_records(table: Table, gamma: float, seed: int, *, min_support: float) -> Score:
    """Reports of the gamma-diagonal matrix through a law of the order that they choose."""
    reports = Plan(table.domain, GammaDiagonal(gamma)).randomize(table, rng=Seeded(seed))
    return score(evidence_of(reports, model="log-linear"), Truth(table, min_support))
