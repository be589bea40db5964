"""The parametric bootstrap of a table: drawn again from what was estimated, measured again.

The oracle for standard errors of the delta method, and an answer where these are not to be trusted.

    with sampling   reports are drawn anew from their observed law, as other people with other coins would send them;
                    how many there are of each stratum (records of each size) is drawn with them
    coins alone     the people stay: true records are put where they were estimated to be, and their coins are tossed
                    again
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer
from bosket.errors import ParameterError
from bosket.estimates import Floats, normal_quantile
from bosket.measures import measure
from bosket.mechanisms.base import RecordChannel
from bosket.mining.contingency import cell_weights, two_by_two
from bosket.mining.itemset_measures import many_way
from bosket.randomness import Randomness, Secure, check_randomness

if TYPE_CHECKING:
    from bosket.mining.contingency import ContingencyTable

_FITTING = 200  # rounds, each a few microseconds

Draws = npt.NDArray[np.int64]
"""Numbers of reports by the pattern that they show, a row per replicate."""


@dataclass(frozen=True)
class Bootstrap:
    """Replicates of a measure."""

    values: Floats

    @property
    def stderr(self) -> float:
        """Their standard deviation; not a number where some are not finite."""
        with np.errstate(invalid="ignore"):
            return float(np.std(self.values, ddof=1))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Percentiles; replicates without a value count on neither side."""
        normal_quantile(level)
        low, high = np.nanquantile(self.values, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


@dataclass(frozen=True)
class Replicates:
    """Estimated cell counts, a row per replicate, by pattern of sides."""

    counts: Floats
    n_records: int

    def of(self, name: str) -> Bootstrap:
        """A measure of every replicate."""
        if self.counts.shape[1] > 4:
            with np.errstate(all="ignore"):
                return Bootstrap(many_way(name).value(self.counts / self.n_records, self.n_records))
        return Bootstrap(np.asarray(measure(name)(two_by_two(self.counts, self.n_records)), float))


def replicates(table: ContingencyTable, number: int = 2000, *, rng: Randomness | None = None) -> Replicates:
    """Draws ``number`` tables; ``Seeded`` makes the draw repeatable."""
    check_integer("replicates", number, least=2)
    rng = Secure() if rng is None else check_randomness(rng)
    draws = _redraw(table, number, rng) if table.sampling else _toss_again(table, number, rng)
    counts = sum(draw @ weights.T for draw, weights in zip(draws, table.weights, strict=True))
    return Replicates(np.asarray(counts, float), table.n_records)


def _redraw(table: ContingencyTable, number: int, rng: Randomness) -> list[Draws]:
    """Reports of other people, by stratum."""
    law = table.reports.ravel() / table.n_records
    draws = rng.multinomial(table.n_records, law, number)
    return np.split(draws, len(table.strata), axis=1)


def _toss_again(table: ContingencyTable, number: int, rng: Randomness) -> list[Draws]:
    """Reports of the same people, by stratum."""
    people = _people(table)
    return [
        _toss(people[at], int(table.reports[at].sum()), _transition(table, stratum), number, rng)
        for at, stratum in enumerate(table.strata)
    ]


def _toss(people: Floats, total: int, transition: Floats, number: int, rng: Randomness) -> Draws:
    """Reports of these people, by the coins of the channel."""
    result = np.zeros((number, len(transition)), np.int64)
    for pattern, many in enumerate(_whole(people, total).tolist()):
        if many:
            result += rng.multinomial(many, transition[pattern], number)
    return result


def _transition(table: ContingencyTable, stratum: int) -> Floats:
    if not isinstance(table.channel, RecordChannel):
        raise ParameterError(
            "The 'sampling' parameter must be True for the bootstrap of reports that mix several people's records.",
            parameter="sampling",
            value=False,
        )
    return table.channel.transition(table.items, stratum)


def _people(table: ContingencyTable) -> Floats:
    """Who may have sent the reports: numbers of records by stratum and true pattern, none below 0.

    Estimates within small strata are far from exact; cut off at 0 one by one they would not add up to what all strata
    together say.  So they are scaled by rows and columns in turn until they do (iterative proportional fitting), to the
    size of each stratum and to the estimates of all, these cut off at 0.
    """
    possible = np.stack([_transition(table, stratum).sum(axis=1) > 0 for stratum in table.strata])
    singles = [1 << j for j in range(len(table.items))]
    pairs = zip(table.strata, table.reports, strict=True)
    estimates = np.stack(
        [cell_weights(table.channel, table.items, singles, stratum, seen) @ seen for stratum, seen in pairs]
    )
    rows = table.reports.sum(axis=1).astype(float)
    columns = np.maximum(estimates.sum(axis=0), 0.0)
    columns *= rows.sum() / columns.sum()
    people = np.where(possible, np.maximum(estimates, 0.5), 0.0)
    for _ in range(_FITTING):
        people *= _over(columns, people.sum(axis=0))
        people *= _over(rows, people.sum(axis=1))[:, None]
    return people


def _over(one: Floats, other: Floats) -> Floats:
    return np.divide(one, other, out=np.zeros_like(one), where=other > 0)


def _whole(parts: Floats, total: int) -> npt.NDArray[np.int64]:
    """Whole numbers in these proportions that add up to the total: the largest remainders are rounded up."""
    exact = parts * (total / max(parts.sum(), 1e-300))
    result: npt.NDArray[np.int64] = np.floor(exact).astype(np.int64)
    missing = total - int(result.sum())
    result[np.argsort(result - exact, kind="stable")[:missing]] += 1
    return result
