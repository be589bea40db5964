"""Persons with several records: at most m of them are used, and what they add together is bounded.

A person is all its records that are used, r <= m of them.  Let K be the number of active itemsets in them, an itemset
in two records counted twice, and n_j the number of records with itemset j.  All records of the person add c units to
each itemset that they hold, so the person adds n_j c to itemset j, where

    pure       c = min(R, floor(b / K))             sum_j n_j c       = c K                     <= b
    Gaussian   c = min(R, isqrt(floor(b / (s K))))  sum_j (n_j c)^2  <= c^2 r sum_j n_j <= c^2 s K <= b

with s >= r, the least power of two that is, or m.  So sums over persons have the sensitivity that sums over records
have otherwise.  Each person is in one bin of the histogram, and moves the number of records used by at most m.

Which records of a person are used is drawn by coins of its own, so neighbours that differ in one person have the same
records of all others, coin by coin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from bosket.checks import check_integer
from bosket.curator.noise import LAPLACE, Composition
from bosket.curator.sieve.contributions import RESOLUTION, Bounding, Units
from bosket.curator.sieve.histograms import Divided, Histogram, NoisyBins, bins, divided, smoothed
from bosket.data import Baskets
from bosket.data.formats.arrow_cells import ArrowCells
from bosket.errors import ParameterError
from bosket.randomness import Randomness, Secure

Persons = Sequence[Any] | np.ndarray[Any, Any]
"""An id for each record, a text, bytes or a number: ids that are written alike are one person.  Records whose id is
missing, empty or of another kind are left out."""
_WRITTEN_OUT = 10**40  # whole numbers below it are compared by their digits, larger ones by their bits


@dataclass(frozen=True, eq=False)
class People:
    """Of each record that is used, whose it is."""

    of: Units
    """Numbers of persons, from 0 on without a gap."""
    most: int
    """Records of one person, at most: m."""

    def held(self, by_record: Units) -> Units:
        """Of each person, how many itemsets its records hold; a row for each group of itemsets."""
        sums = [np.bincount(self.of, weights=row, minlength=self._number) for row in by_record]  # below 2^53: exact
        return np.stack(sums).astype(np.int64)

    def units(self, by_record: Units, budget: int, bounding: Bounding) -> Units:
        """What each record adds to each of the itemsets that it holds."""
        times = np.array(self.classes(bounding))[self._class_of(bounding)]
        return bounding.units(times * self.held(by_record[None])[0], budget)[self.of]

    def classes(self, bounding: Bounding) -> list[int]:
        """The numbers s that K is multiplied with: 1 where L1 norms count, else powers of two up to m."""
        if bounding.law is LAPLACE:
            return [1]
        return [min(1 << power, self.most) for power in range((self.most - 1).bit_length() + 1)]

    def noisy_histogram(
        self, held: Divided, n_active: int, *, granted: Composition, amount: float, bounding: Bounding, per_person: int
    ) -> Histogram:
        """How many persons hold 1, 2, ... of the itemsets, by class; as of records otherwise
        (:func:`~bosket.curator.sieve.histograms.noisy_histogram`).
        """
        starts = bins(n_active * self.most)
        classes, exact = self.classes(bounding), held.divided(starts, bounding)
        sensitivity = RESOLUTION * bounding.norm_of_ones(per_person)
        noisy = granted.noisy(exact, epsilon=amount, sensitivity=sensitivity) / RESOLUTION
        deviation = bounding.deviation(granted.scale_of(amount, sensitivity)) / RESOLUTION
        ends = np.append(starts[1:] - 1, starts[-1])
        middles, widths = np.sqrt(starts[1:] * ends[1:]), np.asarray(ends[1:] - starts[1:] + 1, float)
        parts = [smoothed(NoisyBins(middles, widths, one[1:], deviation, bounding.clear)) for one in noisy]
        return Histogram(
            np.tile(middles, len(parts)),
            np.concatenate([part.numbers for part in parts]),
            np.repeat(np.array(classes, float), len(middles)),
        )

    def divided(self, by_record: Units, starts: Units, bounding: Bounding) -> Units:
        """By class, bin and group the units of all persons."""
        which, by_person = self._class_of(bounding), self.held(by_record)
        return np.stack([divided(by_person[:, which == one], starts) for one in range(len(self.classes(bounding)))])

    @property
    def _number(self) -> int:
        return int(self.of.max(initial=-1)) + 1

    def _class_of(self, bounding: Bounding) -> Units:
        """Of each person the first class that is no less than its number of records."""
        records = np.bincount(self.of, minlength=self._number)
        if bounding.law is LAPLACE:
            return np.zeros(self._number, np.int64)
        return np.searchsorted(self.classes(bounding), records).astype(np.int64)


def used_records(
    baskets: Baskets, persons: Persons, most: int, *, rng: Randomness | None = None
) -> tuple[Baskets, People]:
    """At most so many records of each person, drawn at random, and whose they are."""
    check_integer("max_records_per_person", most, least=1)
    of = _numbered(persons, baskets.n_records)
    chance = Secure() if rng is None else rng
    order = np.lexsort((chance.stream().words(len(of)), of))  # the records of a person, in an order of its own coins
    order = order[int((of < 0).sum()) :]
    starts = np.searchsorted(of[order], np.arange(int(of.max(initial=-1)) + 1))
    rank = np.arange(len(order)) - starts[of[order]]
    used = np.sort(order[rank < most])
    return baskets[used], People(of[used], most)


def _numbered(persons: Persons, n_records: int) -> Units:
    """Ids as numbers, -1 where there is none; refused is only a wrong number of them.

    People without an id are not put together as one: the records of one of them would then decide how much those of
    the others add, and move sums by up to twice the bound.
    """
    ids = _as_list(persons)
    if ids is None or len(ids) != n_records:
        raise ParameterError(
            "The 'persons' parameter must have one id for each record, a number or a text, in a list, an array or a "
            "column of such a type.",
            parameter="persons",
            value=None,
        )
    known: dict[bytes, int] = {}  # by bytes, whose hash has a secret: ids may be chosen to crowd
    keys = map(_as_written, ids)
    return np.array([-1 if key is None else known.setdefault(key, len(known)) for key in keys], np.int64)


def _as_list(persons: Any) -> list[Any] | None:
    """One object for each record; None where that is not what was given, by its type."""
    if isinstance(persons, np.ndarray):
        return persons.tolist() if persons.ndim == 1 else None  # None where one is masked
    if isinstance(persons, pd.Series) and isinstance(persons.dtype, pd.ArrowDtype | pd.StringDtype):
        persons = pa.chunked_array(pa.array(persons.array))
    if hasattr(persons, "to_arrow"):  # a column of polars
        persons = persons.to_arrow()
    if isinstance(persons, pa.Array | pa.ChunkedArray):
        return _of_arrow(persons)
    try:
        return list(persons)
    except Exception:  # noqa: BLE001 - no sequence, or one of somebody else's
        return None


def _of_arrow(column: Any) -> list[Any] | None:
    """The cells of a column, text as its bytes, which need not be text; None for types that are no ids."""
    result: list[Any] = []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        places, words = ArrowCells.of(chunk)
        if is_text_or_bytes(words.type):
            words = words.cast(pa.large_binary())
        elif not (pa.types.is_integer(words.type) or pa.types.is_floating(words.type) or pa.types.is_null(words.type)):
            return None
        values = words.to_pylist()
        result += values if places is None else [values[at] if at >= 0 else None for at in places.tolist()]
    return result


def is_text_or_bytes(kind: Any) -> bool:
    """Whether a type of Arrow's is one of text or of bytes, of any length."""
    types = pa.types
    return any(of(kind) for of in (types.is_string, types.is_large_string, types.is_string_view)) or any(
        of(kind) for of in (types.is_binary, types.is_large_binary, types.is_binary_view)
    )


def _as_written(one: Any) -> bytes | None:
    """An id by itself, whatever the others are: 7, 7.0 and "7" are one person, as a reader may make any of them.

    Objects of other kinds are not compared: theirs may claim to be equal to another, or fail to.
    """
    if isinstance(one, np.timedelta64):  # which is one of NumPy's integers
        return None
    if isinstance(one, np.integer | np.float64 | np.float32 | np.float16 | np.str_ | np.bytes_):
        one = one.item()
    if type(one) is float:
        one = (int(one) if one.is_integer() else repr(one)) if math.isfinite(one) else None
    if type(one) is int:
        one = str(one) if abs(one) < _WRITTEN_OUT else hex(one)
    if type(one) is str:
        one = one.encode("utf-8", "surrogatepass")
    return one if type(one) is bytes and one else None
