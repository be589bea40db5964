"""Releases of public or simulated records, itemset by itemset: what came out, beside what is true there."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.data import Baskets, Domain, Table
from bosket.errors import BosketWarning, HopelessError, ParameterError, TooManyCandidatesError
from bosket.mining import mine
from bosket.planning.releases.asked import Curator
from bosket.privacy.central import NOT_COVERED, CentralGuarantee
from bosket.progress import Meter, Progress
from bosket.statistics.estimates import Floats

BELOW = 0.7
"""Of the limit: itemsets that are less frequent count as listed by mistake where they are released, and no more."""
_MOST = 1_000_000  # itemsets that are looked at

ItemsetLabels = frozenset[Hashable]


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """Itemsets that are frequent, or nearly, and what each release said of them."""

    limit: float
    names: list[ItemsetLabels]
    size: npt.NDArray[np.int64]
    support: Floats
    """In the records that were rehearsed on."""
    said: Floats
    """By itemset and release; not a number where it was not released."""
    mistaken: npt.NDArray[np.int64]
    """By release and size less one: itemsets that were released and are not frequent."""
    guarantee: CentralGuarantee | None
    """What a release promises; None where all were refused."""
    refused: int
    """Releases in which only noise would have been said."""

    @property
    def n_releases(self) -> int:
        return int(self.said.shape[1])

    @property
    def released(self) -> npt.NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.said))

    @property
    def is_frequent(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.support >= self.limit * (1 - 1e-12))

    def places(self, itemset_size: int) -> npt.NDArray[np.int64]:
        return np.flatnonzero(self.size == itemset_size)

    def mistakes(self) -> pd.DataFrame:
        """By size: frequent itemsets, and how many are missed and listed by mistake on average, with the errors of
        these averages.
        """
        largest = max(int(self.size.max(initial=1)), self.mistaken.shape[1])
        root = np.sqrt(self.n_releases)
        rows = []
        for size in range(1, largest + 1):
            frequent = (self.size == size) & self.is_frequent
            missed = (~self.released[frequent]).sum(axis=0)
            false = self.mistaken[:, size - 1] if size <= self.mistaken.shape[1] else np.zeros(self.n_releases)
            rows.append(
                {
                    "size": size,
                    "frequent": int(frequent.sum()),
                    "false_negatives": float(missed.mean()),
                    "false_positives": float(false.mean()),
                    "fn_stderr": float(missed.std(ddof=1) / root),
                    "fp_stderr": float(false.std(ddof=1) / root),
                }
            )
        return pd.DataFrame(rows)

    @property
    def scores(self) -> Floats:
        """The F of each release: 2 hits / (released + frequent); 1 where nothing is frequent, and nothing released."""
        hits = self.released[self.is_frequent].sum(axis=0)
        frequent, listed = int(self.is_frequent.sum()), hits + self.mistaken.sum(axis=1)
        return np.where(frequent + listed > 0, 2 * hits / np.maximum(frequent + listed, 1), 1.0)


def rehearse(
    curator: Curator,
    records: Baskets | Table,
    vocabulary: Domain,
    *,
    releases: int,
    on_progress: Progress | None = None,
) -> Rehearsed:
    """So many releases of these records, which must be public or simulated."""
    known = _true_supports(curator, records, vocabulary)
    places = {name: place for place, name in enumerate(known)}
    support = np.array(list(known.values()), float)
    said = np.full((len(known), releases), np.nan)
    mistaken = np.zeros((releases, 1), np.int64)
    guarantee, refused = None, 0
    meter = Meter(on_progress, 0, "rehearsing releases", releases)
    for number in range(releases):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BosketWarning)
                release = curator.release(records, vocabulary)
        except HopelessError:
            refused += 1
            meter(number + 1)
            continue
        guarantee = replace(
            release.guarantee, not_covered=NOT_COVERED
        )  # items of a release are declared, not a pilot's
        for name, value in release:
            place = places.get(name)
            if place is not None:
                said[place, number] = value
            if place is None or support[place] < curator.min_support * (1 - 1e-12):
                if len(name) > mistaken.shape[1]:
                    mistaken = np.pad(mistaken, ((0, 0), (0, len(name) - mistaken.shape[1])))
                mistaken[number, len(name) - 1] += 1
        meter(number + 1)
    sizes = np.array([len(name) for name in known], np.int64)
    return Rehearsed(curator.min_support, list(known), sizes, support, said, mistaken, guarantee, refused)


def _true_supports(curator: Curator, records: Baskets | Table, vocabulary: Domain) -> dict[ItemsetLabels, float]:
    """Itemsets from somewhat below the limit on; from the limit on where these are too many."""
    seen = set(vocabulary.labels)
    items = [label for label in records.domain.labels if label in seen]
    for share in (BELOW, 1.0):
        try:
            found = mine(
                records, curator.min_support * share, max_size=curator.max_size, items=items, max_candidates=_MOST
            )
        except TooManyCandidatesError:
            continue
        return dict(found)
    raise ParameterError(
        f"The 'min_support' parameter must be larger: more than {_MOST:,} itemsets reach it in the records that are "
        "rehearsed on.",
        parameter="min_support",
        value=curator.min_support,
    )
