"""Releases foreseen: one, several side by side, and the least epsilon that a wanted accuracy takes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pandas as pd

from bosket.checks import check_between, check_integer
from bosket.data import Baskets, Table
from bosket.planning.releases.asked import Curator
from bosket.planning.releases.foresight import ReleaseForesight
from bosket.planning.releases.populations import AnyDomain, population
from bosket.planning.releases.ranking import MOST_RELEASES, rank_releases
from bosket.planning.releases.rehearsals import rehearse
from bosket.progress import Progress

_EPSILONS = tuple(0.05 * 2.0**step for step in range(11))  # up to 51: an epsilon is looked for between two of them
_HALVINGS = 4  # of what lies between: to a part in 23


def foresee_release(
    curator: Curator,
    domain: AnyDomain | None = None,
    *,
    people: int,
    sizes: Mapping[int, float] | None = None,
    pilot: Baskets | Table | None = None,
    releases: int = 20,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> ReleaseForesight:
    """A release of so many records, by as many rehearsals as ``releases``: see :func:`bosket.planning.foresee`."""
    return rank_releases(
        [curator],
        domain,
        people=people,
        sizes=sizes,
        pilot=pilot,
        releases=releases,
        seed=seed,
        on_progress=on_progress,
    ).best


def compare_releases(
    curators: Iterable[Curator],
    domain: AnyDomain | None = None,
    *,
    people: int,
    sizes: Mapping[int, float] | None = None,
    pilot: Baskets | Table | None = None,
    releases: int = 20,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> pd.DataFrame:
    """Requests side by side, each rehearsed on the same records, the largest expected F first.

    A row for each: the request, its epsilon and delta, ``f`` and its standard error, itemsets that are expected to be
    missed and listed by mistake, and the least support of one, two and three items that is released nine times in ten.
    What is said of a pilot is not protected: its records must be public, or of people who agreed to that.
    """
    found = rank_releases(
        curators, domain, people=people, sizes=sizes, pilot=pilot, releases=releases, seed=seed, on_progress=on_progress
    )
    return found.to_frame()


def epsilon_for(
    curator: Curator,
    domain: AnyDomain | None = None,
    *,
    f: float,
    people: int,
    sizes: Mapping[int, float] | None = None,
    pilot: Baskets | Table | None = None,
    releases: int = 10,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> float:
    """The other way round: the least epsilon, to a part in 23, at which releases have a mean F of ``f`` in rehearsals.

    Everything else is as the curator says.  Infinite where no epsilon up to 51 does; none below 0.05 is tried.  What is
    said of a pilot is not protected: its records must be public, or of people who agreed to that.
    """
    wanted = check_between("f", f, 0, 1)
    number = check_integer("releases", releases, least=2, most=MOST_RELEASES)
    records, vocabulary = population(domain, people=people, sizes=sizes, pilot=pilot, seed=seed)

    def is_enough(epsilon: float) -> bool:
        asked = replace(curator, epsilon=epsilon)
        done = rehearse(asked, records, vocabulary, releases=number, on_progress=on_progress)
        return float(done.scores.mean()) >= wanted

    low = 0.0
    for high in _EPSILONS:
        if is_enough(high):
            break
        low = high
    else:
        return math.inf
    if not low:
        return high
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
