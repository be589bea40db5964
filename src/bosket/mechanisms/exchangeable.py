"""Channels that know records only by their size: whatever treats all items alike, record by record.

Evfimievski, Srikant, Agrawal and Gehrke (Information Systems 29, 2004), sections 4.2 and 4.3.  The true size m of a
record is its stratum and travels with the report.  For an itemset A of k items only the number of its items that a
record has, l, and that a report shows, l', matter:

    p[l -> l'] = Pr(|t' n A| = l' given |t n A| = l and |t| = m)        Definition 10, Eq. (8)
    s_est = Q s',  Q = P^-1,  P[l', l] = p[l -> l']                     Eq. (10)
    w_A(t') = q[k <- l']                                                Statement 3

All of it is done in exact fractions (the realised probabilities are multiples of 2**-53) and rounded once at the end:
no entry suffers from cancellation, and a channel that cannot be inverted has an exact 0 where others have rounding.
The inverse goes through cumulative supports, in which P is triangular (Statement 4): with the sum of the supports of
all subsets of size j as coordinate j, the diagonal is

    d_j = sum over l of (-1)^(j - l) C(j, l) p_j[l -> j]

and itemsets of k items can be recovered when none of d_1 .. d_k is 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.data import Domain
from bosket.errors import DataError, ParameterError, SingularChannelError
from bosket.mechanisms.base import Cells, Floats, RecordChannel, Strata
from bosket.mechanisms.payload import PackedBits, Payload
from bosket.privacy import Accuracy, Influence
from bosket.privacy.influence import CARD_SIZES
from bosket.randomness.kernels import row_sizes

ExactMatrix = list[list[Fraction]]

_FEW, _MANY = 32, 2048  # sizes of records that errors are foreseen for

ROUNDING = Fraction(1, 1 << 48)
"""A diagonal entry this small beside its terms is 0 but for the rounding of what was asked to doubles."""


class ExchangeableChannel(RecordChannel):
    """A per-transaction, item-invariant operator (Definitions 5 and 6); a stratum is a true record size."""

    items_alike = True
    rounding = ROUNDING
    hint = "Give parameters for that size too (0 for empty records), or leave such records out."

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._inverses: dict[tuple[int, int], ExactMatrix] = {}
        self._by_size: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        self._traces: dict[tuple[int, int], bool] = {}
        self._outcomes: dict[tuple[int, int, int, int, int], float] = {}

    def takes(self, size: int) -> bool:
        """Whether records of this size can be randomized; those of a table have one value of each attribute."""
        groups = self.domain.groups
        if groups is not None and size != int(groups[-1]) + 1:
            return False
        return 0 <= size <= len(self.domain) and (self.record_sizes is None or size in self.record_sizes)

    @abstractmethod
    def outcome(self, size: int, true: int, shown: int, absent: int, inserted: int) -> Fraction:
        """The law of a record of this size on any few items, ``true`` of which it has and ``absent`` it has not.

        The probability that a report shows ``shown`` given ones of the former and ``inserted`` given ones of the
        latter, and no others of them.
        """

    def _outcome(self, size: int, true: int, shown: int, absent: int, inserted: int) -> float:
        """The same, rounded and remembered."""
        key = (size, true, shown, absent, inserted)
        if key not in self._outcomes:
            self._outcomes[key] = float(self.outcome(*key))
        return self._outcomes[key]

    # -- numbers of items ------------------------------------------------------------------------------------------

    def exact_partial_transition(self, k: int, size: int) -> ExactMatrix:
        """P[l'][l] = p[l -> l'] for itemsets of k items; columns up to the largest l that the record can have."""
        k, size = int(k), self._size(size)  # whole numbers without end, not NumPy's
        return [
            [
                sum(
                    (
                        comb(l, q) * comb(k - l, shown - q) * self.outcome(size, l, q, k - l, shown - q)
                        for q in range(max(0, shown - (k - l)), min(l, shown) + 1)
                    ),
                    Fraction(0),
                )
                for l in range(min(k, size) + 1)
            ]
            for shown in range(k + 1)
        ]

    def partial_transition(self, k: int, size: int) -> Floats:
        """Eq. (8) as a matrix: entry [l', l] is p[l -> l']."""
        return _rounded(self.exact_partial_transition(k, size))

    def exact_partial_inverse(self, k: int, size: int) -> ExactMatrix:
        """Q[l][l'] = q[l <- l'].  Where k > size there is no l beyond size, and Q is the left inverse through supports.

        s' -> cumulative supports of the reports -> those of the truth (triangular) -> s.
        """
        key = (int(k), self._size(size))
        if key not in self._inverses:
            self._inverses[key] = self._invert(*key)
        return self._inverses[key]

    def shown_given(self, k: int, size: int) -> Floats:
        """p[l -> k] by l: how likely a report shows all of k items of which the record has l."""
        k, size = int(k), self._size(size)
        return np.array([self._outcome(size, l, l, k - l, k - l) for l in range(min(k, size) + 1)])

    def record_variances_by_overlap(self, k: int, size: int) -> Floats:
        """Statement 3: the variance that one record with l of the k items brings to the estimate, by l."""
        return self._weights_and_variances(k, size)[1]

    def partial_inverse(self, k: int, size: int) -> Floats:
        return _rounded(self.exact_partial_inverse(k, size))

    def _all_shown(self, size: int, among: int, true: int) -> Fraction:
        """p[true -> all] for itemsets of ``among`` items."""
        return self.outcome(size, true, true, among - true, among - true)

    def _mixed(self, size: int, among: int, order: int) -> tuple[Fraction, Fraction]:
        """c = sum over l of (-1)^(order - l) C(order, l) p_among[l -> among], and that of its terms without signs."""
        terms = [comb(order, l) * self._all_shown(size, among, l) for l in range(order + 1)]
        signed = sum(((-1) ** (order - l) * term for l, term in enumerate(terms)), Fraction(0))
        return signed, sum(terms, Fraction(0))

    def diagonal(self, j: int, size: int) -> Fraction:
        """d_j: what is left, in reports, of the supports of itemsets of j items; 0 if nothing (up to rounding)."""
        signed, scale = self._mixed(size, j, j)
        return signed if abs(signed) > self.rounding * scale else Fraction(0)

    def _invert(self, k: int, size: int) -> ExactMatrix:
        r = min(k, size)
        self._check_traces(k, size)
        # cumulative supports of reports (rows l') from those of the truth (columns j)
        lower = [
            [comb(k - j, shown - j) * self._mixed(size, shown, j)[0] for j in range(shown + 1)]
            for shown in range(r + 1)
        ]
        solved: ExactMatrix = []  # row j: cumulative support j of the truth, from those of the reports
        for j in range(r + 1):
            row = [Fraction(0)] * (r + 1)
            row[j] = Fraction(1)
            for i in range(j):
                row = [a - lower[j][i] * b for a, b in zip(row, solved[i], strict=True)]
            solved.append([a / lower[j][j] for a in row])
        cumulative = [
            [sum((row[c] * comb(shown, c) for c in range(r + 1)), Fraction(0)) for shown in range(k + 1)]
            for row in solved
        ]
        return [
            [
                sum(((-1) ** (j - l) * comb(j, l) * cumulative[j][shown] for j in range(l, r + 1)), Fraction(0))
                for shown in range(k + 1)
            ]
            for l in range(r + 1)
        ]

    def two_set_transition(self, a: int, b: int, size: int) -> Floats:
        """p of two disjoint itemsets A and B of a and b items, by intersections: entry [l'_A, l'_B, l_A, l_B].

        0 where a record of this size cannot meet A and B so (Definition 13 and the formula after it).
        """
        size = self._size(size)
        law = np.zeros((a + 1, b + 1, a + 1, b + 1))
        for l_a, l_b in product(range(a + 1), range(b + 1)):
            if l_a + l_b not in self.possible(a + b, size):
                continue
            for q_a, q_b, i_a, i_b in product(range(l_a + 1), range(l_b + 1), range(a - l_a + 1), range(b - l_b + 1)):
                ways = comb(l_a, q_a) * comb(l_b, q_b) * comb(a - l_a, i_a) * comb(b - l_b, i_b)
                absent = a + b - l_a - l_b
                law[q_a + i_a, q_b + i_b, l_a, l_b] += ways * self._outcome(
                    size, l_a + l_b, q_a + q_b, absent, i_a + i_b
                )
        return law

    def two_set_covariance(self, a: int, b: int, partial: npt.ArrayLike, size: int) -> Floats:
        """Covariance of the estimates X of supp(A u B) and Y of supp(A), times the number of records.

        ``partial`` holds the true two-set partial supports s[l_A, l_B] of records of this size.  Eqs. (17) and (18);
        since X and Y are the one-set estimates (Remark 4.5), their weights are q_(a+b)[l'_A + l'_B] and q_a[l'_A].
        """
        s = np.asarray(partial, float)
        shown = np.add.outer(np.arange(a + 1), np.arange(b + 1))
        x = self._weights_and_variances(a + b, size)[0][shown]
        y = np.broadcast_to(self._weights_and_variances(a, size)[0][:, None], x.shape)
        law = self.two_set_transition(a, b, size)
        weights = np.stack([x, y])
        second = np.einsum("iuv,juv,uvab,ab->ij", weights, weights, law, s)
        mean = np.einsum("iuv,uvab->iab", weights, law)
        result: Floats = second - np.einsum("iab,jab,ab->ij", mean, mean, s)
        return result

    def condition(self, k: int, size: int) -> float:
        """Condition number of P in the spectral norm, infinite where P has no inverse: how much it magnifies noise."""
        try:
            inverse = self.partial_inverse(k, size)
        except SingularChannelError:
            return float("inf")
        return float(np.linalg.norm(self.partial_transition(k, size), 2) * np.linalg.norm(inverse, 2))

    def recovers(self, k: int, strata: Iterable[int]) -> bool:
        return all(self._keeps_trace(j, size) for size in strata for j in range(1, min(k, size) + 1))

    def _keeps_trace(self, j: int, size: int) -> bool:
        """Whether reports of records of this size depend on the supports of j items."""
        if (j, size) not in self._traces:
            self._traces[j, size] = self.diagonal(j, size) != 0
        return self._traces[j, size]

    def _check_traces(self, k: int, size: int) -> None:
        for j in range(1, min(k, size) + 1):
            if not self._keeps_trace(j, size):
                raise self.lost(k, size, j)

    def lost(self, k: int, size: int, j: int) -> SingularChannelError:
        """The error to raise where the supports of j items, and so of k, leave no trace in records of this size."""
        items = "1 item" if j == 1 else f"{j} items"
        return SingularChannelError(
            f"Itemsets of {k} items cannot be estimated from records of {size} items: their reports do not depend on "
            f"the support of {items} together.",
            record_size=size,
            hint=f"mine(..., max_size={j - 1}) goes as far as one can." if j > 1 else "No itemset can be estimated.",
        )

    # -- the contract ----------------------------------------------------------------------------------------------

    def _size(self, stratum: int | None) -> int:
        """A record size; it must be said which, since every size has a channel of its own."""
        if stratum is None or not self.takes(stratum):
            raise ParameterError(
                f"The 'stratum' parameter must be a record size that the mechanism takes, got {stratum}.",
                parameter="stratum",
                value=stratum,
            )
        return int(stratum)

    def possible(self, k: int, size: int) -> range:
        """How many of k items a record of this size can have."""
        return range(max(0, k - (len(self.domain) - size)), min(k, size) + 1)

    def transition(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats:
        k, stratum = len(itemset), self._size(stratum)
        count = _ones(k)
        patterns = np.arange(1 << k)
        true, both, came = count[:, None], count[patterns[:, None] & patterns], count[~patterns[:, None] & patterns]
        law = np.zeros((k + 1, k + 1, k + 1))
        for l in self.possible(k, stratum):
            for q in range(l + 1):
                for i in range(k - l + 1):
                    law[l, q, i] = self._outcome(stratum, l, q, k - l, i)
        matrix: Floats = law[np.broadcast_to(true, both.shape), both, came]
        return matrix

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        k = itemsets.shape[1]
        return np.tile(self._weights_and_variances(k, self._size(stratum))[0][_ones(k)], (len(itemsets), 1))

    def moves(self, items: npt.NDArray[np.int32], stratum: int | None = None) -> tuple[Floats, Floats] | None:
        """The same for all items."""
        matrix = self.transition((0,), stratum)
        return np.full(len(items), matrix[1, 0]), np.full(len(items), matrix[0, 1])

    def record_variances(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats:
        k = len(itemset)
        return self._weights_and_variances(k, self._size(stratum))[1][_ones(k)]

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        k, stratum = itemsets.shape[1], self._size(stratum)
        possible = self.possible(k, stratum)
        variances = self._weights_and_variances(k, stratum)[1][possible.start : possible.stop]
        return np.full(len(itemsets), max(0.0, variances.min(initial=np.inf)) if len(variances) else 0.0)

    def _weights_and_variances(self, k: int, size: int) -> tuple[Floats, Floats]:
        """q[k <- l'] by l', and Statement 3's variance of one record by l: sum of p[l -> l'] q[k <- l']^2 - [l = k].

        No record holds more items than it has: for k > size the weight is 0, which is exact.
        """
        key = (k, size)
        if key not in self._by_size:
            self._by_size[key] = (np.zeros(k + 1), np.zeros(k + 1)) if k > size else self._weigh(k, size)
        return self._by_size[key]

    def _weigh(self, k: int, size: int) -> tuple[Floats, Floats]:
        """The same for k <= size, by the whole inverse; a closed form may replace it."""
        q = self.exact_partial_inverse(k, size)[k]
        p = self.exact_partial_transition(k, size)
        variances = np.zeros(k + 1)
        for l in self.possible(k, size):
            second = sum((p[shown][l] * q[shown] ** 2 for shown in range(k + 1)), Fraction(0))
            variances[l] = second - (l == k)
        return np.array(q, float), variances

    def influence(self, k: int, max_size: int | None = None) -> Influence | None:
        """The largest and smallest q[k <- l'] of any size that a report may state; records below k items weigh 0.

        Whoever picks a report picks the size that it states too, so the two may be of different sizes.
        """
        most = len(self.domain) if max_size is None else min(max_size, len(self.domain))
        known = range(k, most + 1) if self.record_sizes is None else sorted(self.record_sizes)
        sizes = [size for size in known if k <= size <= most and self.takes(size)]
        low, high, at = 0.0, 0.0, None
        for size in self.telling_sizes(k, sizes):
            if not self.recovers(k, [size]):
                continue
            weights = self.showable_weights(k, size)
            if max(*weights, -min(weights)) > max(high, -low):
                at = size
            low, high = min(low, *weights), max(high, *weights)
        return None if at is None else Influence(k, low=low, high=high, width=high - low, record_size=at)

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None:
        """Over the sizes of records that hold k items; of many sizes that are alike, a few over their range.

        None for many sizes of records and itemsets that are larger than a card speaks of: that would take long.
        """
        most = len(self.domain) if max_size is None else min(max_size, len(self.domain))
        known = range(k, most + 1) if self.record_sizes is None else sorted(self.record_sizes)
        sizes = [size for size in known if k <= size <= most and self.takes(size)]
        if len(sizes) > _FEW and k > max(CARD_SIZES):
            return None
        if self.is_smooth and len(sizes) > _FEW:
            sizes = [*_spread(sizes, _FEW), *self.telling_sizes(k, sizes)]
        found = []
        for size in _spread(sizes, _MANY):
            if self.recovers(k, [size]):
                possible = self.possible(k, size)
                found.append(self._weights_and_variances(k, size)[1][possible.start : possible.stop])
        if not found:
            return None
        return Accuracy(
            k,
            least=max(0.0, min(float(part.min()) for part in found)),
            most=max(float(part.max()) for part in found),
            full=max(0.0, min(float(part[-1]) for part in found)),
        )

    @property
    def is_smooth(self) -> bool:
        """Whether variances change little from one size of records to the next."""
        return True

    def telling_sizes(self, k: int, sizes: Sequence[int]) -> Sequence[int]:
        """Of these record sizes, those among which the extreme weights of k items are."""
        return sizes

    def showable_weights(self, k: int, size: int) -> list[float]:
        """q[k <- l'] by the numbers l' of k items that a report of this size can show."""
        inverse = self.exact_partial_inverse(k, size)[k]
        return [float(inverse[shown]) for shown in self.showable(k, size)]

    def showable(self, k: int, size: int) -> range:
        """How many of k items a report that states this size can show; one with more or fewer is refused."""
        return range(k + 1)

    @property
    def payload(self) -> Payload:
        """Packed bits with the true size of the record."""
        return PackedBits(len(self.domain), len(self.domain), "the size of a record as its stratum")

    def record_size(self, stratum: int) -> int | None:
        """A stratum is the true size of its records."""
        return stratum

    def stratum_of(self, size: int) -> int:
        return self._size(size)

    def check_strata(self, strata: Strata | None) -> None:
        if strata is None:
            raise DataError("These reports lack their strata: the true size of each record.")
        for size in np.unique(strata).tolist():
            if not self.takes(size):
                raise DataError(f"A report states a record size, {size}, that its mechanism does not take.")

    def sizes_of(self, bits: npt.NDArray[np.uint64]) -> Strata:
        """The size of every record; one that the mechanism does not take is refused."""
        sizes = np.empty(len(bits), np.int32)
        row_sizes(bits, sizes)
        for size in np.unique(sizes).tolist():
            if not self.takes(size):
                first = int(np.argmax(sizes == size)) + 1
                items = "1 item" if size == 1 else f"{size} items"
                raise DataError(f"Record {first} has {items}, a size that the mechanism does not take.", hint=self.hint)
        return sizes


def _spread(sizes: Sequence[int], number: int) -> list[int]:
    """So many of these at most, the ends among them, each larger than the one before by the same factor."""
    if len(sizes) <= number:
        return list(sizes)
    places = np.unique(np.rint(np.geomspace(1, len(sizes), number)).astype(int)) - 1
    return [sizes[place] for place in places.tolist()]


def _ones(k: int) -> npt.NDArray[np.int64]:
    """The number of items in each pattern of k items."""
    return np.bitwise_count(np.arange(1 << k)).astype(np.int64)


def _rounded(matrix: ExactMatrix) -> Floats:
    return np.array([[float(entry) for entry in row] for row in matrix])
