"""Mistakes that a curator could make, each in the shape of the function it takes the place of.

They are kept so that the audit can show that it would notice.  Nothing here is private; nothing here is to be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.curator.lengths import Lengths, binned, bins, noisy_lengths
from bosket.curator.noise import Composition, scale_of
from bosket.curator.pool import Pool
from bosket.curator.sieve.contributions import ActiveItemsets
from bosket.curator.sieve.histograms import Histogram, noisy_histogram
from bosket.curator.sieve.records import HeldByRecord
from bosket.curator.truncation import count_candidates
from bosket.data import Baskets, Domain
from bosket.errors import DataError, TooManyCandidatesError
from bosket.mining import exact
from tests.curator.granted import Uncounted


def whole_records(baskets: Baskets, max_size: int) -> Baskets:
    """For ``random_truncation``: the noise is that of max_size items, but nobody cuts."""
    return baskets


def count_whole(baskets: Baskets, candidates: ItemsetRows, scores: npt.NDArray[np.float64], max_size: int) -> Counts:
    """For ``count_candidates``: candidates counted in whole records."""
    records = [
        frozenset(baskets.indices[a:b].tolist()) for a, b in zip(baskets.indptr, baskets.indptr[1:], strict=False)
    ]
    return np.array([sum(record.issuperset(row) for record in records) for row in candidates.tolist()], np.int64)


def count_again(baskets: Baskets, candidates: ItemsetRows, scores: npt.NDArray[np.float64], max_size: int) -> Counts:
    """For ``count_candidates``: the right counts, once for each item of the longest record."""
    for _ in range(int(baskets.sizes.max(initial=1))):
        counts = count_candidates(baskets, candidates, scores, max_size)
    return counts


class HeldAgain(ActiveItemsets):
    """For ``ActiveItemsets``: likewise."""

    def __init__(self, baskets: Baskets, rows: Sequence[ItemsetRows]) -> None:
        super().__init__(baskets, rows)
        self._times = int(baskets.sizes.max(initial=1))

    def held_by(self, groups: Counts) -> Counts:
        return [super(HeldAgain, self).held_by(groups) for _ in range(self._times)][-1]


def copied_supports(baskets: Baskets, *, floor: int, cap: int) -> Counts:
    """For ``Pool.largest``: section 6 as printed, the last y_j that was found serves for all longer sizes."""
    levels = exact.exact_itemsets(
        baskets.indptr, baskets.indices, baskets.n_items, min_count=floor, max_size=cap, max_itemsets=1 << 40
    )
    found = [int(counts.max()) for _, counts in levels] or [floor]
    return np.array(found + [found[-1]] * (cap - len(found)), np.int64)


def exact_lengths(sizes: npt.NDArray[np.int64], *, longest: int, most: int | None = None, **paid: Any) -> Lengths:
    """For ``noisy_lengths``: the distribution of lengths, unpaid."""
    starts = bins(longest, most)
    return Lengths(binned(sizes, starts), len(sizes), starts, 1e-9)


def lengths_with_total(
    sizes: npt.NDArray[np.int64],
    *,
    granted: Composition,
    epsilon: float,
    longest: int,
    most: int | None = None,
    per_person: int = 1,
) -> Lengths:
    """For ``noisy_lengths``: a limit that is a share of the true number of records."""
    starts = bins(longest, most)
    counts = granted.noisy(binned(sizes, starts), epsilon=epsilon, sensitivity=per_person)
    return Lengths(counts, len(sizes), starts, scale_of(epsilon, per_person))


class Once(Uncounted):
    """For a composition: as if one record could move one count only."""

    def noisy(self, counts: npt.ArrayLike, *, epsilon: float, sensitivity: float) -> Counts:
        return super().noisy(counts, epsilon=epsilon, sensitivity=1)


class Unpaid(Uncounted):
    """For a composition: the counts as they are."""

    def noisy(self, counts: npt.ArrayLike, *, epsilon: float, sensitivity: float) -> Counts:
        return np.asarray(counts, np.int64)


def floating_noise(
    counts: npt.ArrayLike, rng: np.random.Generator, *, epsilon: float, sensitivity: int
) -> npt.NDArray[np.float64]:
    """For the noise: Laplace noise in doubles (Mironov, CCS 2012).  Its law is right, its last bits are not."""
    exact = np.asarray(counts, float)
    return exact + rng.laplace(scale=sensitivity / epsilon, size=exact.shape)


def seen_items(baskets: Baskets) -> Baskets:
    """For the data themselves: the domain is whatever occurs in them."""
    return Baskets(list(baskets))


class ListingPool(Pool):
    """For ``Pool``: lists all itemsets from a floor on, packs whole records where these are too many."""

    floor = 20
    most = 1 << 17

    def largest(self, size: int) -> int:
        baskets = self._baskets
        try:
            levels = exact.exact_itemsets(
                baskets.indptr, baskets.indices, baskets.n_items,
                min_count=self.floor, max_size=15, max_itemsets=self.most,
            )  # fmt: skip
        except TooManyCandidatesError:
            baskets.to_bits()
            return self.floor
        found = [int(counts.max()) for items, counts in levels if items.shape[1] == size]
        return max([self.floor, *found])

    def supports(self, size: int) -> Counts:
        """For the k-th support: all itemsets there are, or an error."""
        levels = exact.exact_itemsets(
            self._baskets.indptr, self._baskets.indices, self._baskets.n_items,
            min_count=1, max_size=15, max_itemsets=self.most,
        )  # fmt: skip
        return np.concatenate([counts for items, counts in levels if items.shape[1] == size] or [np.zeros(0, np.int64)])


def ranked_listing_pool(baskets: Baskets, max_size: int, n_records: int, **paid: Any) -> ListingPool:
    """For ``ranked_pool``."""
    return ListingPool(baskets, np.arange(baskets.n_items, dtype=np.int32), n_records)


def only_declared(baskets: Baskets, domain: Domain) -> Baskets:
    """For ``restricted``: an item that was not declared is an error."""
    return baskets.with_domain(domain)


def lengths_of_some(sizes: npt.NDArray[np.int64], **paid: Any) -> Lengths:
    """For ``noisy_lengths``: no records are an error."""
    if not len(sizes):
        raise DataError("There are no records.")
    return noisy_lengths(sizes, **paid)


def short_records(sizes: npt.NDArray[np.int64], *, longest: int, **paid: Any) -> Lengths:
    """For ``noisy_lengths``: a record that is longer than any that is told apart is an error."""
    if int(sizes.max(initial=0)) > longest:
        raise DataError(f"A record has more than {longest} items.")
    return noisy_lengths(sizes, longest=longest, **paid)


def histogram_of_few(held: HeldByRecord, n_active: int, **paid: Any) -> Histogram:
    """For ``noisy_histogram`` of the sieve: no records, or one that holds more than a hundred itemsets: an error."""
    if not held.by_record.size or int(held.by_record.sum(axis=0).max()) > 100:
        raise DataError("A record holds too much.")
    return noisy_histogram(held, n_active, **paid)


def by_writing(baskets: Baskets, domain: Domain) -> Baskets:
    """For ``restricted``: by how labels are written, which the first record decides; an unknown one is an error."""
    written = {str(label): label for label in domain.labels}
    labels = [written[str(label)] for label in baskets.domain.labels]
    return Baskets.from_csr(baskets.indptr, baskets.indices, labels).with_domain(domain)
