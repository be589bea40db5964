"""Records that are cut before they are randomized and state their size: reports that tell of whole records.

A :class:`CutChannel` wraps the channel of any mechanism that randomizes packed bits record by record.  Its stratum is
the size that a report states, and its weights are those of the channel within, for records as cut, times the factor of
the stated size (:mod:`bosket.mechanisms.stated_sizes`).  Weights of k items have the factor of k items, so that
estimates, variances and covariances of all subsets follow by the formulas that hold for any channel: with the cutting
among the coins, E[w_A | t] = [A in t] for every record t.

A record of at most l items is not cut.  Where the mechanism does not send sizes, all these state l, "l or fewer"; where
it does, each states its own.  Itemsets of more than l items never survive a cut, and cannot be estimated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from math import comb

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows, Words
from bosket.errors import DataError, ParameterError, SingularChannelError
from bosket.mechanisms.base import Cells, Channel, Floats, Mechanism, RecordChannel, Strata
from bosket.mechanisms.payload import Batch, PackedBits, Payload
from bosket.mechanisms.stated_sizes import StatedSizes
from bosket.privacy import Accuracy, Influence
from bosket.randomness import Randomness
from bosket.randomness.kernels import row_sizes


def stating_sizes(mechanism: Mechanism, inner: Channel, stated: StatedSizes) -> StatingChannel:
    """The channel of a mechanism whose records are cut first and state their size; refused where that makes no sense.

    Reports must be packed bits of one record each, with no strata but the sizes of records.
    """
    payload = inner.payload
    has_strata = isinstance(payload, PackedBits) and payload.most is not None
    if (
        not isinstance(inner, RecordChannel)
        or not isinstance(payload, PackedBits)
        or inner.belong_together
        or type(inner).doubts is not Channel.doubts
        or has_strata != mechanism.sends_sizes
    ):
        raise ParameterError(
            f"The 'state_sizes_to' parameter of PrivacyUnit must be None for {mechanism}: only reports of packed bits, "
            "each of one record, can be weighted by the size that it states.",
            parameter="state_sizes_to",
            value=stated.longest,
        )
    kind = CutChannel if stated.is_clear else NoisyCutChannel
    return kind(inner, stated, sends_sizes=mechanism.sends_sizes)


class StatingChannel(Channel):
    """What clear and randomized sizes share."""

    def __init__(self, inner: RecordChannel, stated: StatedSizes, *, sends_sizes: bool) -> None:
        self.domain = inner.domain
        self.inner, self.stated, self.sends_sizes = inner, stated, sends_sizes
        self.items_alike = inner.items_alike
        self.least_stratum = 0 if sends_sizes else stated.limit

    @property
    def record_sizes(self) -> Collection[int]:
        """Up to the longest; those that are not cut, and the size that others are cut to, as the mechanism takes."""
        known, limit, every = self.inner.record_sizes, self.stated.limit, range(self.stated.longest + 1)
        return every if known is None else [size for size in every if min(size, limit) in known]

    @property
    def payload(self) -> Payload:
        """Packed bits with the size that is stated."""
        least, most = self.least_stratum, self.stated.longest
        return PackedBits(len(self.domain), most, f"the size of its record, from {least} to {most}, as its stratum")

    def randomize_bits(self, bits: Words, rng: Randomness) -> tuple[Words, Strata | None]:
        sizes = np.empty(len(bits), np.int32)
        row_sizes(bits, sizes)
        limit = self.stated.limit
        if int(sizes.max(initial=0)) > self.stated.longest:
            first = int(np.argmax(sizes > self.stated.longest)) + 1
            raise DataError(
                f"Record {first} has more items than the {self.stated.longest} that the plan lets a report state.",
                hint="Leave such records out, or make the plan with a larger state_sizes_to.",
            )
        stated = self.stated.state(sizes, rng)
        if self.sends_sizes:
            stated = np.where(sizes < limit, sizes, stated)
        rng.keep_subset(bits, np.minimum(sizes, limit).astype(np.int64))
        return self.inner.randomize(bits, rng)["report"], stated.astype(np.int32)

    def within(self, stratum: int | None) -> int:
        """The stratum, in the channel of the mechanism, of reports that state this size."""
        self.check_stratum(stratum)
        assert stratum is not None
        return self.inner.stratum_of(min(stratum, self.stated.limit))

    def check_stratum(self, stratum: int | None) -> None:
        if stratum is None or not self.least_stratum <= stratum <= self.stated.longest:
            raise ParameterError(
                f"The 'stratum' parameter must be a size from {self.least_stratum} to {self.stated.longest}, got "
                f"{stratum}.",
                parameter="stratum",
                value=stratum,
            )

    def factor(self, k: int, stratum: int) -> float:
        """What undoes the cutting in weights of k items: phi_k, or 1 for sizes that tell that nothing was cut."""
        return 1.0 if stratum < self.stated.limit else float(self.stated.factors(k)[stratum - self.stated.limit])

    def _check_size(self, k: int) -> None:
        if k > self.stated.limit:
            raise SingularChannelError(
                f"Itemsets of {k} items cannot be estimated from records that are cut to {self.stated.limit} items: "
                "they never survive.",
                record_size=self.stated.limit,
                hint=f"mine(..., max_size={self.stated.limit}) goes as far as one can.",
            )

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        k, at = itemsets.shape[1], self.within(stratum)
        self._check_size(k)
        assert stratum is not None
        result: Floats = self.factor(k, stratum) * self.inner.weights(itemsets, at, cells)
        return result

    def split_products(
        self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None
    ) -> tuple[Floats, Floats]:
        """Those of the channel within, times the factors of A and X, and of A and X - A."""
        k, at = itemsets.shape[1], self.within(stratum)
        self._check_size(k)
        assert stratum is not None
        with_whole, with_rest = self.inner.split_products(itemsets, at, cells)
        by_size = np.array([self.factor(size, stratum) for size in range(k + 1)])
        ones = np.bitwise_count(np.arange(1 << k)).astype(np.int64)
        return with_whole * (by_size[k] * by_size[ones]), with_rest * (by_size[ones] * by_size[k - ones])

    def recovers(self, k: int, strata: Iterable[int]) -> bool:
        return k <= self.stated.limit and self.inner.recovers(k, sorted({self.within(stratum) for stratum in strata}))

    def covers(self, itemsets: ItemsetRows) -> npt.NDArray[np.bool_] | None:
        return self.inner.covers(itemsets)

    def influence(self, k: int, max_size: int | None = None) -> Influence | None:
        """Products of a factor from a to b and a weight of a record as cut; who picks a report picks the size too.

        With weights of an itemset from low to high, a report changed for another moves a count by the largest of
        b (high - low), and where a < 0 also -a (high - low), (b - a) high and (b - a) (-low).
        """
        found = self._influence_of_cut(k) if k <= self.stated.limit else None
        if found is None:
            return None
        factors = self.stated.factors(k)
        a, b = float(factors.min()), float(factors.max())
        ends = [x * y for x in (a, b) for y in (found.low, found.high)]
        width = max(abs(a), abs(b)) * found.width
        if a < 0:
            width = max(width, (b - a) * found.largest)
        at = int(np.argmax(np.abs(factors))) + self.stated.limit
        cut = Influence(k, low=min(0.0, *ends), high=max(ends), width=width, record_size=at)
        short = self.inner.influence(k, self.stated.limit) if self.sends_sizes else None
        if short is None:
            return cut
        low, high = min(cut.low, short.low), max(cut.high, short.high)  # all itemsets are alike
        record_size = at if cut.largest >= short.largest else short.record_size
        return replace(cut, low=low, high=high, width=high - low, record_size=record_size)

    def _influence_of_cut(self, k: int) -> Influence | None:
        """Of records of l items, or of those that are not told from them."""
        if not self.sends_sizes:
            return self.inner.influence(k)
        at = self.inner.stratum_of(self.stated.limit)
        if k > len(self.domain) or not self.inner.recovers(k, [at]):
            return None
        weights = self.inner.weights(np.arange(k, dtype=np.int32)[None, :], at)
        low, high = float(weights.min()), float(weights.max())
        return Influence(k, low=low, high=high, width=high - low)

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None:
        """Bounds by those of records as cut, with E = E[phi^2] and v at each true size.

        A record that has the itemset keeps it with probability 1 / v: it brings at most E (most + 1 / v) - 1, and at
        least E (full + 1) / v - 1.  Any other brings between E least and E most.
        """
        found = self.inner.accuracy(k, self.stated.limit) if k <= self.stated.limit else None
        if found is None:
            return None
        squares, growth = self.stated.squares(k), self.stated.growth(k)
        full = float((squares / growth).min()) * (found.full + 1) - 1
        least = float(squares.min()) * found.least
        if self.sends_sizes or self.stated.is_clear:  # there are records to which nothing happened
            full, least = found.full, found.least
        return Accuracy(k, least=least, most=float((squares * (found.most + 1 / growth)).max()) - 1, full=full)

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        """E[phi^2] times the least of records as cut: a bound that is attained where nothing is cut."""
        k, at = itemsets.shape[1], self.within(stratum)
        assert stratum is not None
        least = self.inner.least_variances(itemsets, at)
        if stratum < self.stated.limit:
            return least
        squares = self.stated.squares(k)
        square = squares[stratum - self.stated.limit] if self.stated.is_clear else squares.min()
        result: Floats = float(square) * least
        return result

    def log_moment(self, tilt: float, stratum: int | None = None, max_size: int | None = None) -> float | None:
        """That of the worst record as cut, which bounds any mixture of them."""
        return self.inner.log_moment(tilt, self.within(stratum), self.stated.limit)

    def implausible(self, batch: Batch, level: float, repeats: int = 1) -> npt.NDArray[np.bool_] | None:
        return self.inner.implausible(
            PackedBits.batch(batch["report"], self._strata_within(batch["stratum"])), level, repeats
        )

    def _strata_within(self, strata: Strata) -> Strata | None:
        return np.minimum(strata, np.int32(self.stated.limit)) if self.sends_sizes else None

    def check_strata(self, strata: Strata | None) -> None:
        if strata is None:
            raise DataError("These reports lack their strata: the size that each states.")
        if len(strata) and not self.least_stratum <= int(strata.min()) <= int(strata.max()) <= self.stated.longest:
            raise DataError(f"A report must state a size from {self.least_stratum} to {self.stated.longest}.")
        self.inner.check_strata(self._strata_within(strata))

    def check_reports(self, bits: Words, strata: Strata | None) -> None:
        assert strata is not None
        self.inner.check_reports(bits, self._strata_within(strata))


class CutChannel(StatingChannel, RecordChannel):
    """Sizes are stated as they are: the law of a report follows from the stratum."""

    def stratum_of(self, size: int) -> int:
        stratum = max(size, self.least_stratum)
        self.check_stratum(stratum)
        return stratum

    def record_size(self, stratum: int) -> int | None:
        """The true size, but for records of ``limit`` items or fewer where the mechanism does not send sizes."""
        return stratum if self.sends_sizes or stratum > self.stated.limit else None

    def transition(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats:
        """The law of cutting, then that of the channel within.

        Of a record of m items that has j of these, u given ones are left alone with probability
        C(m - j, l - u) / C(m, l).
        """
        law = self.inner.transition(itemset, self.within(stratum))
        assert stratum is not None
        m, limit, n, k = stratum, self.stated.limit, len(self.domain), len(itemset)
        if m <= limit:
            return law
        cut = np.zeros(law.shape)
        for x in range(1 << k):
            j = x.bit_count()
            if k - j > n - m:  # no record of this size lacks so many
                continue
            for y in range(x + 1):
                u = y.bit_count()
                if y & ~x == 0 and u <= limit and limit - u <= m - j:
                    cut[x, y] = comb(m - j, limit - u) / comb(m, limit)
        result: Floats = cut @ law
        return result

    def record_variances(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats:
        self._check_size(len(itemset))
        return super().record_variances(itemset, stratum)

    def moves(self, items: npt.NDArray[np.int32], stratum: int | None = None) -> tuple[Floats, Floats] | None:
        """An item that is there may be cut off, and then come back as one that is not."""
        found = self.inner.moves(items, self.within(stratum))
        assert stratum is not None
        if found is None or stratum <= self.stated.limit:
            return found
        lost, inserted = found
        stays = self.stated.limit / stratum
        return stays * lost + (1 - stays) * (1 - inserted), inserted


class NoisyCutChannel(StatingChannel):
    """Sizes are stated by randomized response: a report's stratum does not tell the size of its record.

    So there is no law of reports by stratum and truth, and the bootstrap of the coins alone is refused.
    """

    def record_size(self, stratum: int) -> int | None:
        """The size of a record that is not cut, where the mechanism sends it."""
        return stratum if stratum < self.stated.limit else None

    def moves(self, items: npt.NDArray[np.int32], stratum: int | None = None) -> tuple[Floats, Floats] | None:
        """Those of records that are not cut, the fewest."""
        return self.inner.moves(items, self.within(stratum))
