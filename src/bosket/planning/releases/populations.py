"""Records to rehearse a release on: those of a public pilot, or simulated ones.  Never those that are to be protected.

Simulated baskets are put together from patterns as IBM Quest's are (Agrawal and Srikant 1994): items that are drawn one
by one would have no frequent pairs beside those of frequent items.  Sizes are those that are stated: for each of them
records are drawn somewhat larger, from the same patterns, and cut to it at random.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer
from bosket.data import Baskets, Domain, Table, quest
from bosket.data.domain import ItemIds
from bosket.errors import ParameterError
from bosket.mechanisms.base import as_domain
from bosket.planning.laws import checked_sizes
from bosket.randomness import Randomness, Seeded

MOST_PEOPLE = 2_000_000
"""Records of a rehearsal."""
MOST_HELD = 40_000_000
"""Items in all of them together."""
MOST_ITEMS = 1_000_000
"""Items of a vocabulary."""
_PATTERN = 4.0  # items of a pattern, on average
_ITEMS_A_PATTERN, _FEWEST = 4, 10  # as many patterns as items over the first, and no fewer than the second
_MORE = 2.0  # standard deviations by which records are drawn larger than they are to be

AnyDomain = Domain | Baskets | Table | Iterable[Hashable]


def population(
    domain: AnyDomain | None,
    *,
    people: int,
    sizes: Mapping[int, float] | None = None,
    pilot: Baskets | Table | None = None,
    seed: int = 0,
) -> tuple[Baskets | Table, Domain]:
    """So many records, and the vocabulary: those of the pilot, drawn from it where there are more or fewer, or
    simulated baskets of these sizes.
    """
    n = check_integer("people", people, least=1, most=MOST_PEOPLE)
    seed = check_integer("seed", seed, least=0)
    settled = None if domain is None else as_domain(domain)
    if settled is not None:
        check_integer("domain size", len(settled), least=1, most=MOST_ITEMS)
    if pilot is not None:
        return _drawn(pilot, n, seed), pilot.domain if settled is None else settled
    if settled is None or settled.groups is not None:
        raise ParameterError(
            "The 'pilot' parameter must be given: a rehearsal takes public records, or a domain of baskets and their "
            "sizes; how answers to questions go together cannot be guessed.",
            parameter="pilot",
            value=None,
        )
    if sizes is None:
        raise ParameterError(
            "The 'sizes' parameter must be given where baskets are simulated: {3: 0.5, 4: 0.5}.",
            parameter="sizes",
            value=None,
            hint="planning.geometric_sizes(mean) makes one from a mean; a public 'pilot' has sizes of its own.",
        )
    shares = checked_sizes(sizes)
    _check_held(n * sum(size * share for size, share in shares.items()))
    return _simulated(settled, n, shares, seed), settled


def _check_held(number: float) -> None:
    if number > MOST_HELD:
        raise ParameterError(
            f"The 'people' parameter must leave at most {MOST_HELD:,} items in all baskets, got {number:,.0f}.",
            parameter="people",
            value=None,
            hint="Without a delta, a tenth of the people at ten times the epsilon have the same noise: rehearse these.",
        )


def _drawn(pilot: Baskets | Table, n: int, seed: int) -> Baskets | Table:
    """Records of the pilot, with replacement where another number of them is wanted."""
    if not pilot.n_records:
        raise ParameterError("The 'pilot' parameter must have records, got none.", parameter="pilot", value=0)
    if isinstance(pilot, Baskets):
        _check_held(n * float(pilot.sizes.mean()))
    if pilot.n_records == n:
        return pilot
    chosen = np.sort(Seeded(seed).integers(pilot.n_records, n))
    result: Baskets | Table = pilot[chosen]
    return result


def _simulated(domain: Domain, n: int, shares: Mapping[int, float], seed: int) -> Baskets:
    """Baskets of exactly these sizes, as far as patterns fill them."""
    rng, patterns = Seeded(seed), max(_FEWEST, len(domain) // _ITEMS_A_PATTERN)
    ends = np.rint(np.cumsum([0.0, *shares.values()]) * n).astype(np.int64)
    parts: list[ItemIds] = []
    lengths = [np.empty(0, np.int64)]
    for size, number in zip(shares, np.diff(ends).tolist(), strict=True):
        held = np.zeros(number, np.int64)
        if number and size:
            mean = size + _MORE * math.sqrt(size)  # the same seed has the same patterns
            drawn = quest(
                records=number, mean_size=mean, mean_pattern=_PATTERN, items=len(domain), patterns=patterns, seed=seed
            )
            found, held = _cut(drawn, size, rng)
            parts.append(found)
        lengths.append(held)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return Baskets.from_csr(indptr, np.concatenate([np.empty(0, np.int32), *parts]), domain)


def _cut(baskets: Baskets, size: int, rng: Randomness) -> tuple[ItemIds, npt.NDArray[np.int64]]:
    """Of each record so many items at random: the items, one record after the other, and how many each has left."""
    held = baskets.sizes.astype(np.int64)
    of_record = np.repeat(np.arange(len(held)), held)
    order = np.lexsort((rng.integers(1 << 53, len(of_record)), of_record))
    place = np.arange(len(order)) - np.repeat(baskets.indptr[:-1], held)  # within its record, at random
    kept = np.zeros(len(order), bool)
    kept[order] = place < size
    return baskets.indices[kept].astype(np.int32), np.minimum(held, size)
