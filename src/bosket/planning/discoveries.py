"""How many itemsets a search will miss and how many it will list by mistake, by a pilot of the same kind.

Estimates are taken for normal around the supports of the pilot, with the errors that people like those would have, and
searches are drawn (:mod:`bosket.planning.drawn_searches`).  Errors of an itemset follow those of its subsets, but for
questions whose answers are merged and mechanisms from outside, where they are taken for independent.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.checks import check_fraction, check_integer, check_not_negative
from bosket.counting.base import ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.counting.table import count_subsets
from bosket.data import Baskets, Table
from bosket.errors import ParameterError
from bosket.evidence.sums import cells_of
from bosket.mechanisms import ExchangeableChannel, RecordChannel
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.foreseen import variances_of
from bosket.mining import mine
from bosket.planning.drawn_searches import DrawnSearches, LevelErrors, following, subsets_of
from bosket.planning.foresight import Foresight
from bosket.planning.joint_errors import covariances
from bosket.randomness import Seeded
from bosket.statistics.estimates import Floats

_DRAWS = 200
_AT_ONCE = 5_000_000  # looks at itemsets in all draws of one size, about
_NUMBERS = 1 << 20  # of covariances, or of weights of questions, at once


def expected_errors(
    foresight: Foresight,
    pilot: Baskets | Table,
    *,
    min_support: float,
    slack: float = 1.0,
    max_size: int = 3,
    seed: int = 0,
) -> pd.DataFrame:
    """Expected false negatives and false positives of :func:`bosket.mine`, by size of itemset.

    ``frequent`` is the number of itemsets that reach the limit in the pilot; ``false_negatives`` how many of these are
    expected to be missed, ``false_positives`` how many others to be listed.  Means over searches that are drawn,
    by a ``seed``.  The pilot is raw data: it must be public, or of people who agreed to that.
    """
    limit = check_fraction("min_support", min_support)
    check_not_negative("slack", slack)
    max_size = check_integer("max_size", max_size, least=1, most=6)
    rng = Seeded(check_integer("seed", seed, least=0))
    check_pilot(foresight, pilot)
    channel = foresight.channel
    strata = pilot.sizes.astype(np.int32) if isinstance(channel, ExchangeableChannel) else None
    counter = Bitmaps.from_rows(pilot.to_bits(), len(channel.domain), strata=strata)
    n_items = len(channel.domain)
    draws = max(2, min(_DRAWS, _AT_ONCE // (n_items * (n_items - 1) // 2 + 1)))
    errors = _ErrorsOfPilot(foresight, counter, pilot.n_records)
    searches = DrawnSearches(limit, slack, errors, rng, draws)
    searches.first(n_items)
    for k in range(2, max_size + 1):
        if foresight.spread(k) is None or not searches.next(channel.domain.groups):
            break
    return _table(searches, errors, limit, max_size, pilot)


def check_pilot(foresight: Foresight, pilot: Baskets | Table) -> None:
    """Refuse records of another domain, and what has no plan that mining follows."""
    if not isinstance(foresight, Foresight):
        raise ParameterError(
            "The 'foresight' parameter must be that of a mechanism or a plan: reports of a matrix are not mined, and "
            "what is foreseen of a release has mistakes() of its own.",
            parameter="foresight",
            value=None,
        )
    if pilot.domain.labels != foresight.channel.domain.labels:
        raise ParameterError(
            "The 'pilot' parameter must have the domain of the plan, in its order.", parameter="pilot", value=None
        )


class _ErrorsOfPilot:
    """Errors of estimates, if people are as in the pilot."""

    def __init__(self, foresight: Foresight, counter: Bitmaps, n_records: int) -> None:
        self.foresight, self.counter, self.n = foresight, counter, n_records
        self.supports: list[Floats] = []
        """Of the itemsets of each size, in the order in which they were asked for."""

    def __call__(self, itemsets: ItemsetRows) -> LevelErrors:
        k = itemsets.shape[1]
        masks = [*subsets_of(k), (1 << k) - 1]
        support, error, rest = (np.empty(len(itemsets)) for _ in range(3))
        follows = np.zeros((len(itemsets), len(masks) - 1))
        channel, people = self.foresight.channel, self.foresight.people
        questions = len(channel.shares) if isinstance(channel, AskChannel) else 1
        piece = max(1, _NUMBERS // max(len(masks) ** 2, len(self.counter.strata) << k, questions))
        for start in range(0, len(itemsets), piece):
            part = slice(start, start + piece)
            rows = np.ascontiguousarray(itemsets[part])
            cells = cells_of(count_subsets(self.counter, rows))
            shares = cells / self.n
            support[part] = shares[:, :, -1].sum(axis=0)
            found = covariances(channel, rows, shares, self.counter.strata, masks)
            variance = _variances(self.foresight, rows, shares) if found is None else found[:, -1, -1]
            left = variance
            if found is not None and k > 1:
                follows[part], left = following(found)
            error[part], rest[part] = (np.sqrt(np.maximum(one, 0.0) / people) for one in (variance, left))
        self.supports.append(support)
        kept_share = getattr(self.foresight.spread(k), "kept", 1.0)
        return LevelErrors(support * kept_share, error, follows, rest)


def _variances(foresight: Foresight, rows: ItemsetRows, shares: npt.NDArray[np.float64]) -> Floats:
    """The variance that a person brings to each of these supports, where those of subsets are not looked at."""
    channel = foresight.channel
    support = shares[:, :, -1].sum(axis=0)
    if isinstance(channel, AskChannel):
        return np.asarray(variances_of(channel, rows).at(support))
    if isinstance(channel, BasketChannel):
        spread = foresight.spread(rows.shape[1])
        assert spread is not None
        return np.array([spread.at(share) for share in support.tolist()])
    if isinstance(channel, RecordChannel):
        every = [channel.record_variances(tuple(row)) for row in rows.tolist()]
        return np.asarray((shares[0] * np.array(every)).sum(axis=1))
    raise ParameterError(
        "The 'mechanism' of expected_errors must randomize record by record.",
        parameter="mechanism",
        value=str(foresight.plan.mechanism),
    )


def _table(
    searches: DrawnSearches, errors: _ErrorsOfPilot, limit: float, max_size: int, pilot: Baskets | Table
) -> pd.DataFrame:
    truth: dict[int, int] = {}
    for itemset, _ in mine(pilot, min_support=limit, max_size=max_size):
        truth[len(itemset)] = truth.get(len(itemset), 0) + 1
    listed = searches.listed()
    rows = []
    for k in range(1, max_size + 1):
        frequent = truth.get(k, 0)
        hits = false = 0.0
        if k <= len(listed):
            is_frequent = errors.supports[k - 1] >= limit * (1 - 1e-12)
            hits, false = float(listed[k - 1][is_frequent].sum()), float(listed[k - 1][~is_frequent].sum())
        rows.append(
            {
                "size": k,
                "frequent": frequent,
                "false_negatives": max(0.0, frequent - hits),
                "false_positives": false,
            }
        )
    return pd.DataFrame(rows, columns=["size", "frequent", "false_negatives", "false_positives"])
