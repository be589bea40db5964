"""Records to rehearse a release on: those of a public pilot, or simulated ones.  Never those that are to be protected.

Simulated baskets are put together from patterns as IBM Quest's are (Agrawal and Srikant 1994): items that are drawn one
by one would have no frequent pairs beside those of frequent items.  Sizes are those that are stated: for each of them
records are drawn somewhat larger, from the same patterns, and cut to it at random.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from bosket.checks import check_integer
from bosket.data import Baskets, Domain, Table, quest
from bosket.errors import ParameterError
from bosket.mechanisms.base import as_domain
from bosket.planning.laws import checked_sizes
from bosket.statistics.estimates import Floats

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
    settled = None if domain is None else as_domain(domain)  # type: ignore[arg-type]  # whatever can be one
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
            hint="Noise depends on epsilon times people: rehearse a tenth of the people at ten times the epsilon.",
        )


def _drawn(pilot: Baskets | Table, n: int, seed: int) -> Baskets | Table:
    """Records of the pilot, with replacement where another number of them is wanted."""
    if not pilot.n_records:
        raise ParameterError("The 'pilot' parameter must have records, got none.", parameter="pilot", value=0)
    if isinstance(pilot, Baskets):
        _check_held(n * float(pilot.sizes.mean()))
    if pilot.n_records == n:
        return pilot
    chosen = np.sort(np.random.default_rng(seed).integers(pilot.n_records, size=n))
    result: Baskets | Table = pilot[chosen]
    return result


def _simulated(domain: Domain, n: int, shares: Mapping[int, float], seed: int) -> Baskets:
    """Baskets of exactly these sizes, as far as patterns fill them."""
    rng = np.random.default_rng(seed)
    numbers = rng.multinomial(n, list(shares.values()))
    parts, lengths = [], []
    for size, number in zip(shares, numbers.tolist(), strict=True):
        wanted = min(size, len(domain))
        if number and wanted:
            found, held = _of_size(domain, wanted, number, seed, rng)
            parts.append(found)
            lengths.append(held)
        elif number:
            lengths.append(np.zeros(number, np.int64))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return Baskets.from_csr(indptr, np.concatenate([np.empty(0, np.int32), *parts]), domain)


def _of_size(
    domain: Domain, size: int, number: int, seed: int, rng: np.random.Generator
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int32]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Items of so many records, one after the other, and how many each has: the same seed has the same patterns."""
    mean = size + _MORE * math.sqrt(size)
    drawn = quest(
        records=number, mean_size=mean, mean_pattern=_PATTERN, items=len(domain), patterns=_patterns(domain), seed=seed
    )
    held = drawn.sizes.astype(np.int64)
    of_record = np.repeat(np.arange(number), held)
    chance: Floats = rng.random(len(of_record))
    order = np.lexsort((chance, of_record))
    place = np.arange(len(order)) - np.repeat(drawn.indptr[:-1], held)  # within its record, at random
    kept = np.zeros(len(order), bool)
    kept[order] = place < size
    return drawn.indices[kept].astype(np.int32), np.minimum(held, size)


def _patterns(domain: Domain) -> int:
    """Fewer than items, so that some are common."""
    return max(_FEWEST, len(domain) // _ITEMS_A_PATTERN)
