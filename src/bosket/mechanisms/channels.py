"""A mechanism on a domain, as estimation sees it: a channel.

A channel need only state its transition matrix for an itemset; weights, variances and covariances follow from that.  A
closed form may replace a generic method for speed, and is tested against it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows, Strata, Words
from bosket.counting.table import marginal, members, restrict
from bosket.data import Domain
from bosket.errors import DataError, SingularChannelError
from bosket.mechanisms.foreseen import enumerated_accuracy, enumerated_influence
from bosket.mechanisms.payload import Batch, PackedBits, Payload
from bosket.privacy import Accuracy, Influence
from bosket.randomness import Randomness
from bosket.statistics.estimates import Floats

Cells = npt.NDArray[np.int64]
"""Numbers of reports by the pattern they show of an itemset: shape (n, 2**k)."""


class Channel(ABC):
    """A mechanism on a domain, as estimation sees it: weights of reports whose sum estimates a support count."""

    domain: Domain

    own: float = 1.0
    """Share of a weight's expectation that depends on the person's own record, squared.

    With i over records, sum of E[w_A | i] E[w_B | i] = own S_(A u B) + (1 - own) S_A S_B / N.  It is 1 for whatever
    randomizes records one by one, since E[w_A | t] = [A in t] then; less where reports mix several people.
    """

    belong_together: bool = False
    """Whether the reports of one batch can be estimated from only all together."""

    is_exact: bool = False
    """Whether reports are the records themselves: then there is no error of the coins."""

    items_apart: bool = False
    """Whether every item is randomized on its own: then a report has no dependence that the truth does not have."""

    items_alike: bool = False
    """Whether all itemsets of a size have the same weights and variances, which do not depend on the reports."""

    @property
    def weights_alike(self) -> bool:
        """Whether one itemset's weights, and its least variance, are those of all of its size."""
        return self.items_alike

    read_together: bool = False
    """Whether reports are best read through a law that is fitted to all of them."""

    @property
    def record_sizes(self) -> Collection[int] | None:
        """The sizes of records that can be randomized; None for all."""
        return None

    @property
    def payload(self) -> Payload:
        """What one report is: packed bits, unless said otherwise."""
        return PackedBits(len(self.domain))

    def randomize(self, bits: Words, rng: Randomness) -> Batch:
        """Randomize packed records, perhaps in place, into reports.

        A channel whose reports are packed bits may state ``randomize_bits`` instead.
        """
        return PackedBits.batch(*self.randomize_bits(bits, rng))

    def randomize_bits(self, bits: Words, rng: Randomness) -> tuple[Words, Strata | None]:
        """Randomize packed records, perhaps in place; return them with each record's stratum, if there are several.

        Item i is bit i % 64 of word i // 64.  ``rng.xor_bernoulli`` flips each bit on its own, by the probabilities of
        two :class:`~bosket.randomness.Thresholds`; the law is that of their ``probability``, multiples of 2**-53, and
        not of the numbers asked for.
        """
        raise NotImplementedError(f"{type(self).__name__} must define randomize, or randomize_bits for packed bits.")

    def record_size(self, stratum: int) -> int | None:
        """The size of a record that reports of a stratum state; None where they state none."""
        return None

    @abstractmethod
    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        """w[r, y]: the weight of a report that shows pattern y of itemset r.  Shape (n, 2**k).

        ``stratum`` is None where the channel has but one.  ``cells`` counts the reports of the stratum by pattern, in
        the same shape.  Unbiased estimators do not look at it; one that is not linear gives its weights linearised
        there, so that their sum is the estimate.  Parameters by which reports do not depend on the truth raise
        :meth:`singular`.
        """

    def split_products(
        self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None
    ) -> tuple[Floats, Floats]:
        """Sums over the reports of w_A w_X and of w_A w_(X - A), for every subset A of each itemset X, by pattern of A.

        Two arrays of shape (n, 2**k); ``cells`` counts the reports of the stratum by pattern and must be given.  The
        covariances of all rules of an itemset are made of these.
        """
        assert cells is not None
        n, k = itemsets.shape
        whole = self.weights(itemsets, stratum, cells) * cells
        with_whole, with_rest = np.empty((n, 1 << k)), np.empty((n, 1 << k))
        with_whole[:, 0] = with_rest[:, 0] = with_rest[:, -1] = whole.sum(axis=1)
        with_whole[:, -1] = (whole * self.weights(itemsets, stratum, cells)).sum(axis=1)
        for mask in range(1, 1 << (k - 1)):
            rest = (1 << k) - 1 - mask
            one, other = (self.subset_weights(itemsets, part, stratum, cells) for part in (mask, rest))
            with_whole[:, mask] = (whole * one).sum(axis=1)
            with_whole[:, rest] = (whole * other).sum(axis=1)
            with_rest[:, mask] = with_rest[:, rest] = (cells * one * other).sum(axis=1)
        return with_whole, with_rest

    def subset_weights(
        self, itemsets: ItemsetRows, mask: int, stratum: int | None = None, cells: Cells | None = None
    ) -> Floats:
        """The weights of the subset that ``mask`` stands for, by what a report shows of the whole: shape (n, 2**k)."""
        shown = restrict(itemsets.shape[1], mask)
        part = np.ascontiguousarray(itemsets[:, members(mask)])
        return self.weights(part, stratum, None if cells is None else marginal(cells, shown))[:, shown]

    def doubts(self, itemsets: ItemsetRows, cells: Cells) -> npt.NDArray[np.bool_] | None:
        """Itemsets of which these reports say too little for normal errors, whatever their number; None for none."""
        return None

    def moves(self, items: npt.NDArray[np.int32], stratum: int | None = None) -> tuple[Floats, Floats] | None:
        """The probabilities that a report lacks an item that is there, and shows one that is not; None if unknown."""
        return None

    @abstractmethod
    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        """The smallest variance that one record can bring to each itemset's estimate, whatever it truly shows."""

    def influence(self, k: int, max_size: int | None = None) -> Influence | None:
        """The weights that a report which somebody picks can have in the support count of k items, the worst itemset.

        ``max_size`` is the largest size that a report may state, where sizes are sent.  None where no itemset of k
        items can be estimated, or where weights are not known before there are reports.  Here by enumeration, where
        there are few enough itemsets, or all are alike; those that hold an erased item are left out.  A channel of
        several strata states its own.  Closed forms are tested against it.
        """
        return enumerated_influence(self, k)

    def influence_among(self, k: int, batch: Batch, max_size: int | None = None) -> Influence | None:
        """The same for reports at hand, where weights depend on how many there are of each stratum."""
        return self.influence(k, max_size)

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None:
        """The variances that one record can bring to the support count of k items, whichever they are.

        ``max_size`` is the largest size of a record, where sizes are sent.  None where this is not known before there
        are reports.
        """
        return None

    def log_moment(self, tilt: float, stratum: int | None = None, max_size: int | None = None) -> float | None:
        """The largest ln E exp(tilt T) over records of at most ``max_size`` items, T the number of items shown.

        None where all reports show as many items, or where this is not known.
        """
        return None

    def implausible(self, batch: Batch, level: float, repeats: int = 1) -> npt.NDArray[np.bool_] | None:
        """Reports that no records make plausible, any at all with probability ``level`` at most where all are honest.

        One person may have sent ``repeats`` of them, alike.  None where the number of items that a report shows is all
        there is to look at.
        """
        return None

    def recovers(self, k: int, strata: Iterable[int]) -> bool:
        """Whether itemsets of k items can be estimated from reports of these strata."""
        return True

    def covers(self, itemsets: ItemsetRows) -> npt.NDArray[np.bool_] | None:
        """Which itemsets some reports tell of, all their items together; None where reports tell of all of them.

        A question about a few items says nothing of the others.  A search leaves out what no report tells of, and to
        estimate it is refused: its weights are 0 everywhere, and their sum is no estimate.  Items that parameters erase
        are covered, and ``weights`` raises :meth:`singular`: left out, they would make an empty result.
        """
        return None

    def singular(self, itemset: Iterable[int]) -> SingularChannelError:
        """The error to raise when reports on these items do not depend on the truth."""
        labels = tuple(self.domain.labels[item] for item in itemset)
        shown = ", ".join(repr(label) for label in labels[:5]) + (", ..." if len(labels) > 5 else "")
        return SingularChannelError(
            f"Nothing can be estimated about {shown}: the reports do not depend on the truth there.",
            items=labels,
            hint="Parameters by which present and absent items look alike, as a keep of 1/2 makes them, erase an item; "
            "mine(..., items=...) goes on without it.",
        )

    def check_batch(self, batch: Batch) -> None:
        """Refuse reports, sound by the payload, that this channel cannot have given."""
        if isinstance(self.payload, PackedBits):
            bits, strata = batch["report"], self.payload.strata(batch)
            self.check_strata(strata)
            self.check_reports(bits, strata)

    def check_reports(self, bits: Words, strata: Strata | None) -> None:  # noqa: B027  # most channels give any bits
        """Refuse packed bits that this channel cannot have given; every pattern will do, unless said otherwise."""

    def check_strata(self, strata: Strata | None) -> None:
        """Refuse packed bits whose strata this channel cannot have given."""
        if strata is not None:
            raise DataError("These reports name strata, which their mechanism does not have.")


class RecordChannel(Channel):
    """A channel that randomizes each record on its own, by a law that ``transition`` states."""

    @abstractmethod
    def transition(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats:
        """M[x, y] = Pr(report shows pattern y | truth shows pattern x); bit j of a pattern stands for the j-th item.

        So an item that comes later stands first in a Kronecker product: ``matrix = np.kron(of_the_item, matrix)``.
        ``stratum`` is a label that reports carry, as the record size that they state; 0 or None where there is but one.
        A row of zeros stands for a pattern that no record of the stratum can show.
        """

    def stratum_of(self, size: int) -> int:
        """The stratum of the reports of records of this size; 0 where there is but one.

        The other way round than ``record_size``, for those who hold a record.
        """
        return 0

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        """Solves M w = e_full, so that E[w | truth] = 1 if all items are there, else 0."""
        weights = np.empty((len(itemsets), 1 << itemsets.shape[1]))
        for row, itemset in zip(weights, itemsets.tolist(), strict=True):
            matrix = self.transition(tuple(itemset), stratum)
            full = np.zeros(len(matrix))
            full[-1] = 1.0
            try:
                row[:] = np.linalg.solve(matrix, full)
            except np.linalg.LinAlgError:
                raise self.singular(itemset) from None
        return weights

    def record_variances(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats:
        """Variance of the weight of one record under the coins, for every pattern x that it may truly show.

        sum over y of M[x, y] w[y]^2 - [x is full].
        """
        w = self.weights(np.array([itemset], np.int32), stratum)[0]
        matrix = self.transition(itemset, stratum)
        variances: Floats = matrix @ (w * w)
        variances[-1] -= matrix[-1].sum()
        return variances

    def variance(self, itemset: tuple[int, ...], cells: npt.ArrayLike, stratum: int | None = None) -> float:
        """Variance of the support count under the coins alone, if ``cells`` records truly showed each pattern.

        Usable before any data exist.
        """
        return float(np.asarray(cells, float) @ self.record_variances(itemset, stratum))

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        return np.array([self.record_variances(tuple(itemset), stratum).min() for itemset in itemsets.tolist()])

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None:
        """By enumeration, where there are few enough itemsets, or all are alike."""
        return enumerated_accuracy(self, k, max_size)

    def moves(self, items: npt.NDArray[np.int32], stratum: int | None = None) -> tuple[Floats, Floats] | None:
        matrices = np.array([self.transition((item,), stratum) for item in items.tolist()]).reshape(-1, 2, 2)
        return matrices[:, 1, 0], matrices[:, 0, 1]
