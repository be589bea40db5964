"""Requests side by side at one promise, each rehearsed on the same records: the largest expected F first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from bosket.checks import check_integer
from bosket.data import Baskets, Table
from bosket.errors import ParameterError
from bosket.planning.releases.asked import Curator
from bosket.planning.releases.foresight import ReleaseForesight
from bosket.planning.releases.populations import AnyDomain, population
from bosket.planning.releases.rehearsals import rehearse
from bosket.progress import Progress

MOST_RELEASES = 10_000

_WHY = {
    ("sieve", False): "counts what is undecided, in rounds, with Laplace noise",
    ("sieve", True): "counts what is undecided, in rounds, with Gaussian noise: less for many counts at once",
    ("truncation", False): "cuts long records, and counts one size of itemsets after another",
}


@dataclass(frozen=True, eq=False)
class ReleaseRanking:
    """Requests that were rehearsed on the same records, the largest expected F first."""

    options: tuple[ReleaseForesight, ...]

    @property
    def best(self) -> ReleaseForesight:
        return self.options[0]

    def to_frame(self) -> pd.DataFrame:
        """A row for each request: see :func:`bosket.planning.compare_releases`."""
        return pd.DataFrame([_row(seen) for seen in self.options])


def requests_for(asked: Curator) -> list[Curator]:
    """Every way to make a release that keeps the promise of this one: with its delta, and without it by each method."""
    pure = replace(asked, delta=0.0, method="sieve")
    every = [asked, pure, replace(pure, method="truncation", settings=None)]
    return list(dict.fromkeys(every)) if asked.settings is None else [asked]


def why(asked: Curator) -> str:
    """What a request does, in a few words."""
    return _WHY[asked.method, asked.delta > 0]


def rank_releases(
    curators: Iterable[Curator],
    domain: AnyDomain | None = None,
    *,
    people: int,
    sizes: Mapping[int, float] | None = None,
    pilot: Baskets | Table | None = None,
    releases: int = 20,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> ReleaseRanking:
    """Requests side by side, each rehearsed on the same records, the largest expected F first.

    What is said of a pilot is not protected: its records must be public, or of people who agreed to that.
    """
    number = check_integer("releases", releases, least=2, most=MOST_RELEASES)
    asked = list(curators)
    if not asked or not all(isinstance(one, Curator) for one in asked):
        raise ParameterError(
            "The 'curators' parameter must hold one Curator or more.", parameter="curators", value=len(asked)
        )
    records, vocabulary = population(domain, people=people, sizes=sizes, pilot=pilot, seed=seed)
    options = []
    for curator in asked:
        done = rehearse(curator, records, vocabulary, releases=number, on_progress=on_progress)
        options.append(ReleaseForesight(curator, people, done, is_simulated=pilot is None))
    return ReleaseRanking(tuple(sorted(options, key=lambda seen: -seen.f)))


def _row(seen: ReleaseForesight) -> dict[str, object]:
    curator, mistakes = seen.curator, seen.mistakes()
    return {
        "curator": curator,
        "method": curator.method,
        "epsilon": curator.epsilon,
        "delta": curator.delta,
        "f": seen.f,
        "f_stderr": float(seen.rehearsed.scores.std(ddof=1)) / math.sqrt(seen.rehearsed.n_releases),
        "false_negatives": float(mistakes["false_negatives"].sum()),
        "false_positives": float(mistakes["false_positives"].sum()),
        **{f"lowest_{k}": seen.lowest_support(k) for k in (1, 2, 3)},
    }
