"""Whether records are dense, and what is found in them if they are: levels as the sieve has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.curator.noise import Composition
from bosket.curator.population.asking import asked
from bosket.curator.population.items import ItemBeliefs
from bosket.curator.population.literals import Literals
from bosket.curator.population.rounds import PopulationRounds
from bosket.curator.population.search import FittedItemsets, PopulationSearch, reached_by
from bosket.curator.population.settings import PopulationSettings
from bosket.curator.population.wanted import Wanted
from bosket.curator.sieve.beliefs import LevelPlaces, SievedLevel, Values
from bosket.curator.sieve.contributions import Bounding
from bosket.data import Baskets
from bosket.mining.candidates import ItemGroups
from bosket.statistics.estimates import Floats

_POINTS = np.linspace(-6.0, 6.0, 61)  # of a normal law, in standard deviations
_WEIGHTS = np.exp(-(_POINTS**2) / 2) / np.exp(-(_POINTS**2) / 2).sum()
_HALF = 0.5
_WIDER = (
    1.2  # intervals than beliefs: what no law of pairs and no draw tells, on the files of docs/theory/population.md
)
_MOST_ITEMS = 2000  # of which the first round is looked at again: those of the largest noisy sums
_DOUBT = 0.15  # of what records keep in the first round: records of one length may be off the middle of their bin


@dataclass(frozen=True, eq=False)
class Looked:
    """How the records are looked at: what is granted, and how far apart neighbours are."""

    granted: Composition
    whole: float
    """Of what was granted, for all that follows."""
    per_person: int
    n_deviation: float
    """Of the noise of the number of records."""
    records_each: int = 1
    """Records of one person, at most."""


@dataclass(frozen=True, eq=False)
class FoundDense:
    """Itemsets by size, their limit as a share, how many frequent ones are expected beside them, what was paid."""

    levels: list[SievedLevel]
    limit: float
    missed: float
    costs: tuple[tuple[str, float], ...]


class DenseRecords:
    """What the first round told of all items, and what one population tells of the likely ones."""

    def __init__(
        self, first: Values, data: Baskets, bounding: Bounding, wanted: Wanted, n_records: int,
        settings: PopulationSettings,
    ) -> None:  # fmt: skip
        self._data, self._bounding, self._n_records = data, bounding, n_records
        self._settings = settings
        shares = first.values / np.maximum(first.shares, 1e-9)
        self._items = np.sort(np.argsort(-shares, kind="stable")[:_MOST_ITEMS]).astype(np.int32)
        self._beliefs = ItemBeliefs(bounding, len(self._items), n_records)
        places, none = np.arange(len(self._items)), np.zeros(len(self._items), bool)
        self._beliefs.observe(places, first.values[self._items], first.scale, first.shares[self._items], none, _DOUBT)
        self._wanted = wanted.by(self._beliefs.summary(wanted.limit)[0])

    @property
    def is_dense(self) -> bool:
        """Whether likely frequent items are so frequent that records hold many of them; by noisy numbers."""
        limit = self._wanted.limit
        mean, _, probability = self._beliefs.summary(limit)
        number = float(probability.sum())
        return number > 0 and float(probability @ np.maximum(mean, limit)) >= self._settings.dense * number

    def levels(self, looked: Looked, groups: ItemGroups | None = None) -> FoundDense:
        """Itemsets by size with posteriors of their supports, for what is left of what was granted: those above the
        limit, or about the k most frequent.
        """
        settings, whole = self._settings, looked.whole
        rounds = PopulationRounds(
            self._data, self._bounding, looked.granted, settings, looked.per_person, looked.n_deviation,
            looked.records_each,
        )  # fmt: skip
        wanted = self._wanted
        (population, *refits), literals, others = rounds.run(self._beliefs, self._items, wanted, self._n_records, whole)
        search = PopulationSearch(
            population, literals, settings.misfit, settings.most_itemsets, wanted.largest, groups, refits
        )
        limit = wanted.limit
        if wanted.k is None:
            found, left_out = search.above(limit)
        else:
            found, left_out = search.most(wanted.k)
            limit = reached_by(found, wanted.k)
        if rounds.asked:
            answers = rounds.answers(literals, population.number.mean, whole)
            found = asked(found, limit, search.relations(), answers, settings.most_asked)
            limit = limit if wanted.k is None else reached_by(found, wanted.k)
        levels = [self._level(part, literals, limit) for part in found]
        missed = left_out + _with(others, levels)
        return FoundDense(levels or [self._nothing(literals)], limit, missed, settings.costs(whole, rounds.asked))

    def _level(self, part: FittedItemsets, literals: Literals, limit: float) -> SievedLevel:
        rows = np.sort(literals.items[part.places], axis=1).astype(np.int32)
        level = normal_level(rows, part.mean, part.deviation, part.draws, part.own, self._n_records, limit)
        level.wider = _WIDER
        return level

    def _nothing(self, literals: Literals) -> SievedLevel:
        """The items themselves, none of which is frequent."""
        none = np.zeros(1)
        part = FittedItemsets(np.zeros((1, 1), np.int32), none, none + 1e-6, np.zeros((1, 1), np.float32), none, none)
        return self._level(part, literals, self._wanted.limit)


def normal_level(
    rows: ItemsetRows, mean: Floats, deviation: Floats, draws: npt.NDArray[np.float32], own: Floats,
    n_records: float, limit: float,
) -> SievedLevel:  # fmt: skip
    """Itemsets of one size whose shares of the records have normal posteriors, with draws of all of them together."""
    places: LevelPlaces = np.arange(len(rows))
    level = SievedLevel(rows)
    level.grid = np.clip(mean[:, None] + deviation[:, None] * _POINTS, 0.0, 1.0) * n_records
    level.prior = _WEIGHTS[None, :]
    level.classes = np.zeros(len(rows), np.int64)
    level.posterior = np.broadcast_to(level.prior, level.grid.shape)
    level.limit = limit * n_records
    level.draws = draws.astype(float) * n_records
    level.own = own * n_records
    level.rounds.append(Values(places, mean * n_records, 1.0, np.ones(len(rows))))
    return level


def _with(others: Floats, levels: list[SievedLevel]) -> float:
    """How many frequent itemsets are expected to have an item that is not in the population, by how likely those are.

    Unlikely ones count for themselves: they are near the limit, and so is hardly a superset.  Likely ones had no room;
    if n items have f_k frequent itemsets of size k, n + m of the same kind have f_k C(n + m, k) / C(n, k).
    """
    is_likely = others > _HALF
    n, more = (float(levels[0].probability.sum()) if levels else 0.0), float(others[is_likely].sum())
    missed, factor = 0.0, 1.0
    for place, level in enumerate(levels):
        factor *= (n + more - place) / max(n - place, 1.0)
        missed += (max(factor, 1.0) - 1.0) * float(level.probability.sum())
    return max(missed, more) + float(others[~is_likely].sum())
