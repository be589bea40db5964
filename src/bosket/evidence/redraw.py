"""Reports drawn again from what was estimated, by stratum: what the parametric bootstrap is made of.

with sampling   reports are drawn anew from their observed law, as other people with other coins would send them;
                the number of reports of each stratum is drawn with them
coins alone     the people stay: true records are put where they were estimated to be, and their coins are tossed
                again
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bosket.errors import ParameterError
from bosket.evidence.mobius import differences
from bosket.mechanisms.base import Channel, RecordChannel
from bosket.randomness import Randomness
from bosket.statistics.estimates import Floats

_FITTING = 200  # rounds, each a few microseconds

Draws = npt.NDArray[np.int64]
"""Numbers of reports by the pattern that they show, a row per replicate."""
Seen = npt.NDArray[np.int64]
"""Numbers of reports by the pattern that they show, a row per stratum."""


def draw_supports(
    channel: Channel,
    strata: Sequence[int],
    items: tuple[int, ...],
    reports: Seen,
    number: int,
    rng: Randomness,
    *,
    sampling: bool,
) -> list[Draws]:
    """Numbers of reports by stratum and pattern of these items, drawn again ``number`` times."""
    if sampling:
        return _redraw(reports, number, rng)
    laws = [_transition(channel, items, stratum) for stratum in strata]
    people = _people(channel, strata, items, reports, laws)
    return [_toss(people[at], int(reports[at].sum()), law, number, rng) for at, law in enumerate(laws)]


def _redraw(reports: Seen, number: int, rng: Randomness) -> list[Draws]:
    """Reports of other people, by stratum."""
    n = int(reports.sum())
    draws = rng.multinomial(n, reports.ravel() / n, number)
    return np.split(draws, len(reports), axis=1)


def _toss(people: Floats, total: int, transition: Floats, number: int, rng: Randomness) -> Draws:
    """Reports of these people, by the coins of the channel."""
    result = np.zeros((number, len(transition)), np.int64)
    for pattern, many in enumerate(_whole(people, total).tolist()):
        if many:
            result += rng.multinomial(many, transition[pattern], number)
    return result


def _transition(channel: Channel, items: tuple[int, ...], stratum: int) -> Floats:
    if not isinstance(channel, RecordChannel):
        raise ParameterError(
            "The 'sampling' parameter must be True for the bootstrap where reports have no law record by record.",
            parameter="sampling",
            value=False,
        )
    return channel.transition(items, stratum)


def _people(
    channel: Channel, strata: Sequence[int], items: tuple[int, ...], reports: Seen, laws: Sequence[Floats]
) -> Floats:
    """Who may have sent the reports: numbers of records by stratum and true pattern, none below 0.

    Estimates within small strata are far from exact; cut off at 0 one by one they would not add up to the estimates of
    all strata together.  So they are scaled by rows and columns in turn until they do (iterative proportional fitting),
    to the size of each stratum and to the estimates of all, these cut off at 0.
    """
    possible = np.stack([law.sum(axis=1) > 0 for law in laws])
    estimates = np.stack([_cells(channel, items, stratum, seen) for stratum, seen in zip(strata, reports, strict=True)])
    rows = reports.sum(axis=1).astype(float)
    columns = np.maximum(estimates.sum(axis=0), 0.0)
    columns *= rows.sum() / columns.sum()
    people = np.where(possible, np.maximum(estimates, 0.5), 0.0)
    for _ in range(_FITTING):
        people *= _over(columns, people.sum(axis=0))
        people *= _over(rows, people.sum(axis=1))[:, None]
    return people


def _cells(channel: Channel, items: tuple[int, ...], stratum: int, seen: npt.NDArray[np.int64]) -> Floats:
    """Estimated numbers of records by true pattern, of one stratum."""
    rows, counts = np.array([items], np.int32), seen[None, :]
    supports = np.array(
        [
            [float(seen.sum())]
            + [float(channel.subset_weights(rows, mask, stratum, counts)[0] @ seen) for mask in range(1, len(seen))]
        ]
    )
    cells: Floats = differences(supports)[0]
    return cells


def _over(one: Floats, other: Floats) -> Floats:
    return np.divide(one, other, out=np.zeros_like(one), where=other > 0)


def _whole(parts: Floats, total: int) -> npt.NDArray[np.int64]:
    """Whole numbers in these proportions that add up to the total: the largest remainders are rounded up."""
    exact = parts * (total / max(parts.sum(), 1e-300))
    result: npt.NDArray[np.int64] = np.floor(exact).astype(np.int64)
    missing = total - int(result.sum())
    result[np.argsort(result - exact, kind="stable")[:missing]] += 1
    return result
