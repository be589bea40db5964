"""Whether two batches of reports are one batch that was given twice.

A file that is counted twice makes intervals too narrow and lets its sender count twice.  Randomized reports of
several people do not come out alike by chance, so a batch that does is refused.  How likely is it by chance?  Under
any law of reports at all, another n people, drawn alike, show just these reports, in whatever order, with probability
at most n! times the product over different reports y of (n_y / n)^n_y / n_y!, where n_y is how often y occurs: the law
that makes them likeliest is their own.  Their order does not count, since a collector may sort them, so that nobody can
tell who sent what.  A batch of a few reports may well come twice; two dozen different ones come twice with less than
1e-9.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Strata, Words
from bosket.counting.duplicate_kernels import mark_rows
from bosket.threads import parallel_map, slices

_AT_ONCE = 1 << 15  # reports

BY_CHANCE = 1e-9
"""A batch that comes twice with less than this probability did not come twice by chance."""

ALWAYS_COMPARED = 64
"""A batch with more different reports does not come twice by chance.

With k of them that is at most e sqrt(k) / (2 pi)^(k/2), by Stirling's bounds e sqrt(n) (n / e)^n of n! from above and
sqrt(2 pi n) (n / e)^n from below, since one of them comes n / k times at least.
"""


def fingerprint(bits: Words, strata: Strata | None) -> tuple[int, int]:
    """The number of reports, and a sum over them that does not depend on their order: alike where batches are."""
    return len(bits), int(marks(bits, strata).sum(dtype=np.uint64))


def marks(bits: Words, strata: Strata | None) -> Words:
    """A number for each report, alike where reports are; others can be made that have the same."""
    result = np.empty(len(bits), np.uint64)

    def mark(part: tuple[int, int]) -> None:
        some = slice(*part)
        mark_rows(bits[some], np.empty(0, np.int32) if strata is None else strata[some], result[some])

    parallel_map(mark, list(slices(len(bits), _AT_ONCE)))
    return result


def digest(bits: Words, strata: Strata | None) -> bytes | None:
    """SHA-256 of the reports in whatever order they stand; None where such a batch may come twice by chance."""
    return _digest(*np.unique(_rows(bits, strata), return_counts=True))


def digest_of_parts(parts: Iterable[tuple[Words, Strata | None]], *, n_bytes: int) -> bytes | None:
    """:func:`digest` of a batch that comes in parts, of which different reports are held in a number of bytes.

    Empty where that is not enough, and the batch too large to come twice by chance.
    """
    reports, counts = np.empty(0, np.void), np.empty(0, np.int64)
    for bits, strata in parts:
        new, often = np.unique(_rows(bits, strata), return_counts=True)
        if len(reports):
            both = np.concatenate([counts, often])
            reports, place = np.unique(np.concatenate([reports, new]), return_inverse=True)
            counts = np.zeros(len(reports), np.int64)
            np.add.at(counts, place.ravel(), both)
        else:
            reports, counts = new, often
        if len(reports) > max(ALWAYS_COMPARED, n_bytes // (reports.itemsize + counts.itemsize)):
            return b""
    return _digest(reports, counts)


def _digest(reports: npt.NDArray[np.void], counts: npt.NDArray[np.int64]) -> bytes | None:
    if log_chance(counts) >= math.log(BY_CHANCE):
        return None
    return hashlib.sha256(reports.tobytes() + counts.astype(np.int64).tobytes()).digest()


def first_given_twice(batches: Sequence[tuple[Words, Strata | None]]) -> tuple[int, int] | None:
    """The numbers, from 1, of two batches that hold the same reports, which hardly happens by chance; None without.

    Fingerprints are quick and can be forged; where they are alike, digests decide.  Each batch has one of either, so
    time goes by the number of reports, however many batches there are and however like each other.
    """
    fingerprints = [fingerprint(*batch) for batch in batches]
    often = Counter(fingerprints)
    seen: dict[bytes, int] = {}
    for number, (batch, own) in enumerate(zip(batches, fingerprints, strict=True), 1):
        exact = digest(*batch) if often[own] > 1 else None
        if exact is not None and seen.setdefault(exact, number) != number:
            return seen[exact], number
    return None


def _rows(bits: Words, strata: Strata | None) -> npt.NDArray[np.void]:
    """Each report, with the size it states, as one value that can be compared."""
    whole = bits if strata is None else np.column_stack([bits, strata.astype(np.uint64)])
    whole = np.ascontiguousarray(whole)
    return whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()


def log_chance(counts: npt.NDArray[np.int64]) -> float:
    """ln of the largest probability, under any law of reports, that another batch holds each of them as often.

    >>> round(math.exp(log_chance(np.array([1, 1]))), 13)  # two different ones, where each comes up half the time
    0.5
    >>> log_chance(np.array([1])), log_chance(np.array([50]))
    (0.0, 0.0)
    """
    n = int(counts.sum())
    chance = float((counts * np.log(counts / n)).sum())
    return chance + math.lgamma(n + 1) - math.fsum(math.lgamma(count + 1) for count in counts.tolist())
