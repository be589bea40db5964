"""Flip: every item bit on its own, kept or flipped.  MASK, EMASK and RE in one.

    MASK   Rizvi and Haritsa (VLDB 2002): one keep for all
    EMASK  Agrawal, Krishnan and Haritsa (DASFAA 2004): 1s and 0s kept with different probabilities
    RE     Xia, Yang, Chi and Muntz (2004): a factor for each item

With p = Pr(reported | present) and r = Pr(reported | absent) of an item, the channel of an itemset is the Kronecker
product of [[1 - r, r], [1 - p, p]], and the weight of a report is the product over its items of (x' - r) / (p - r).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer, shown
from bosket.counting.base import ItemsetRows, Words
from bosket.data import Domain
from bosket.errors import ParameterError
from bosket.mechanisms.base import Cells, Floats, Mechanism, RecordChannel, Records, Strata, as_domain
from bosket.mechanisms.flip_kernels import product_weights, square_products
from bosket.mechanisms.mappings import ByItem
from bosket.mechanisms.parameters import FileOption, Option, Probability, parameter
from bosket.privacy import Accuracy, Amplification, Influence, LocalGuarantee
from bosket.privacy.accuracy import product_accuracy
from bosket.privacy.guarantee import check_reports
from bosket.privacy.influence import product_influence
from bosket.privacy.product import outward, worst_exchange, worst_log_ratio
from bosket.randomness import Randomness, Thresholds

Keep = float | Mapping[Any, float]

_ITEM = "the presence of one item that had 5%, knowing all the others,"

SINGULAR = 1e-9
"""Where p and r are closer than this, a report says nothing: rounding of 1 - keep alone can keep them apart."""


@dataclass(frozen=True, slots=True)
class Flip(Mechanism):
    """Report a present item with probability ``keep``, an absent one with probability 1 - ``keep_absent``.

    keep          one number for all items, or a mapping from item to number
    keep_absent   likewise; an item left out keeps its 0s as its 1s
    default       the keep of items that a mapping leaves out
    """

    name = "flip"
    file_option: ClassVar[FileOption | None] = FileOption(
        "keep_file", "a keep for each item: CSV with columns item,keep[,keep_absent], or JSON"
    )

    keep: Keep = field(
        metadata=parameter(
            ByItem(Probability(), otherwise="default"), "probability that a present item stays", Option("keep", "P")
        )
    )
    keep_absent: Keep | None = field(
        default=None,
        metadata=parameter(
            ByItem(Probability()),
            "probability that an absent item stays absent",
            Option("keep_absent", "Q", beside=("keep", "keep_file")),
        ),
    )
    default: float | None = field(
        default=None,
        metadata=parameter(
            Probability(),
            "the keep of items that a mapping leaves out",
            Option("default", "P", beside=("keep_file",), help="the keep of items that it leaves out"),
        ),
    )

    def check_together(self) -> None:
        if self.default is not None and not isinstance(self.keep, Mapping):
            raise ParameterError(
                "The 'default' parameter of Flip must come with a mapping as 'keep'.",
                parameter="default",
                value=self.default,
            )

    def channel(self, domain: Domain) -> FlipChannel:
        keep = self._per_item("keep", self.keep, domain, default=self.default)
        absent = (
            keep.copy() if self.keep_absent is None else self._per_item("keep_absent", self.keep_absent, domain, keep)
        )
        return FlipChannel(domain, keep, absent)

    @staticmethod
    def _per_item(field: str, value: Keep, domain: Domain, default: float | Floats | None) -> Floats:
        """One probability per item of the domain."""
        if not isinstance(value, Mapping):
            return np.full(len(domain), value)
        for item in value:
            if item not in domain:
                raise ParameterError(
                    f"The '{field}' parameter of Flip must name items of the domain, got {shown(item)}.",
                    parameter=field,
                    value=item,
                    hint="Mind the type: 25 and '25' are different labels; .dat files have whole numbers.",
                )
        if default is None and len(value) < len(domain):
            raise ParameterError(
                f"The '{field}' parameter of Flip must name every item of the domain or come with a 'default', got "
                f"{len(value)} of {len(domain)} items.",
                parameter=field,
                value=dict(value),
            )
        result = np.empty(len(domain))
        if default is not None:
            result[:] = default
        for item, number in value.items():
            result[domain.index[item]] = number
        return result

    def guarantee(
        self, domain: Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        """Amplification for one item, for any two records of at most ``max_size`` items, and for a person.

        With a = max over y of ln Pr(y | present) / Pr(y | absent) and b the same the other way round, two records s
        and t can be told apart by at most the sum of a over s minus t and of b over t minus s; the worst choice is
        found exactly.
        """
        domain = as_domain(domain)
        check_reports(reports)
        n = len(domain)
        m = n if max_size is None else check_integer("max_size", max_size, least=1)
        channel = self.channel(domain)
        present, absent = channel.log_ratios()
        item = Amplification(
            outward(float(np.maximum(present, absent).max())),
            "two records that differ in one item and nothing else",
        )
        over = "one item" if n == 1 else f"{n} items"
        size = f"any two records over {over}" if m >= n else f"any two records of at most {m} of {over} each"
        worst = worst_log_ratio(present, absent, m)
        if domain.groups is not None:  # a table: every record has one value of each attribute
            size = f"any two records over {domain.groups[-1] + 1} attributes"
            exchanges = worst_exchange(present, absent, domain.groups)
            item = Amplification(
                float(exchanges.max()),
                "two records that differ in one attribute and nothing else",
            )
            worst = outward(math.fsum(exchanges))
        record = Amplification(worst, size)
        sends = "one report" if reports == 1 else f"{reports} reports, randomized afresh"
        notes = (
            "the item line holds the other items fixed; where items go together, the record line is what counts",
            "the domain, the number of reports and who sends one are not hidden; the coins are as good as AES-256",
        )
        return LocalGuarantee(
            mechanism=str(self),
            item=item,
            record=record,
            person=record.repeated(reports, f"a person who sends {sends}; {size}"),
            reports=reports,
            assumptions=notes,
            about_an_item=_ITEM
            if domain.groups is None
            else "the value of one attribute that had 5%, knowing all others,",
            influence=self.influence(domain),
            accuracy=self.accuracy(domain, max_size=max_size),
        )


class FlipChannel(RecordChannel):
    """Flip on a domain: ``present[i]`` and ``absent[i]`` are the realised Pr(reported | present), Pr(reported |
    absent).
    """

    items_apart = True

    def __init__(self, domain: Domain, keep: Floats, keep_absent: Floats) -> None:
        self.domain = domain
        self._lose = Thresholds(1.0 - keep)
        self._insert = Thresholds(1.0 - keep_absent)
        self.present: Floats = 1.0 - self._lose.probability
        self.absent: Floats = self._insert.probability
        self.present.flags.writeable = False
        self._accuracy: dict[int, Accuracy | None] = {}  # by size of itemsets

    @property
    def weights_alike(self) -> bool:
        """Where all items are kept, and put in, with the same probabilities, which tell of them."""
        p, r = self.present, self.absent
        return bool(len(p) and (p == p[0]).all() and (r == r[0]).all() and abs(p[0] - r[0]) >= SINGULAR)

    def randomize_bits(self, bits: Words, rng: Randomness) -> tuple[Words, Strata | None]:
        rng.xor_bernoulli(bits, when_set=self._lose, when_clear=self._insert)
        return bits, None

    def transition(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats:
        matrix = np.ones((1, 1))
        for item in itemset:
            p, r = self.present[item], self.absent[item]
            matrix = np.kron(np.array([[1 - r, r], [1 - p, p]]), matrix)
        return matrix

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        """The product form of the inverse, in one compiled pass."""
        hidden, shown = self._factors(itemsets)
        weights = np.empty((len(itemsets), 1 << itemsets.shape[1]))
        product_weights(shown, hidden, itemsets, weights)
        return weights

    def split_products(
        self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None
    ) -> tuple[Floats, Floats]:
        """In k 2^k steps rather than 4^k: w_A w_X is a product over items of w or w^2, and w_A w_(X - A) is w_X."""
        assert cells is not None
        hidden, shown = self._factors(itemsets)
        with_whole = cells.astype(float)
        square_products(shown, hidden, itemsets, with_whole)
        return with_whole, np.broadcast_to(with_whole[:, :1], with_whole.shape)

    def moves(self, items: npt.NDArray[np.int32], stratum: int | None = None) -> tuple[Floats, Floats] | None:
        return 1 - self.present[items], self.absent[items]

    def influence(self, k: int, max_size: int | None = None) -> Influence | None:
        """Products of (x' - r) / (p - r); erased items are left out, since nothing is estimated about them."""
        kept = np.flatnonzero(np.abs(self.present - self.absent) >= SINGULAR).astype(np.int32)
        if not len(kept):
            return None
        hidden, shown = self._factors(kept[:, None])
        return product_influence(shown[kept], hidden[kept], k)

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None:
        """Products of E[w^2]; erased items are left out."""
        if k not in self._accuracy:  # a search asks at every size, a collection at every search
            kept = np.abs(self.present - self.absent) >= SINGULAR
            groups = self.domain.groups
            self._accuracy[k] = product_accuracy(*self.squares(kept), k, None if groups is None else groups[kept])
        return self._accuracy[k]

    def squares(self, items: Any) -> tuple[Floats, Floats]:
        """E[w^2] of these items, where they are present and where they are absent."""
        p, r = self.present[items], self.absent[items]
        square = (p - r) ** 2
        return (p * (1 - r) ** 2 + (1 - p) * r**2) / square, r * (1 - r) / square

    def log_moment(self, tilt: float, stratum: int | None = None, max_size: int | None = None) -> float | None:
        """Items are apart, so that of a record is a sum over items, and the worst record has the largest gains.

        A record of a table has one value of each attribute, whatever that gains.
        """
        gain = np.log1p(self.present * math.expm1(tilt)) - np.log1p(self.absent * math.expm1(tilt))
        nobody = float(np.log1p(self.absent * math.expm1(tilt)).sum())
        if self.domain.groups is not None:
            best = np.full(int(self.domain.groups[-1]) + 1, -np.inf)
            np.maximum.at(best, self.domain.groups, gain)
            return nobody + float(best.sum())
        most = len(gain) if max_size is None else min(max_size, len(gain))
        return nobody + float(np.maximum(np.sort(gain)[len(gain) - most :], 0.0).sum())

    def _factors(self, itemsets: ItemsetRows) -> tuple[Floats, Floats]:
        """The weight of each item that a report hides, or shows; those of erased items are not finite."""
        used = np.unique(itemsets)
        determinant = self.present - self.absent
        is_singular = np.abs(determinant) < SINGULAR
        if is_singular[used].any():
            raise self.singular(used[is_singular[used]].tolist())
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # items not used may be singular
            return -self.absent / determinant, (1.0 - self.absent) / determinant

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        """The generic minimum over patterns, by factors: E[w^2 | x] is a product over the items.

        With one = E[w^2 | present] and none = E[w^2 | absent] of an item, a record that has all items brings the
        product of the ones less 1; any other at least the product of the smaller of the two, with one item absent.
        """
        one, none = self.squares(itemsets)
        smaller = np.minimum(one, none)
        switched = none / np.where(smaller > 0, smaller, 1.0)  # the price of taking an item as absent
        lacking = smaller.prod(axis=1) * np.where((smaller == 0).any(axis=1), 1.0, switched.min(axis=1, initial=np.inf))
        full = one.prod(axis=1) - 1.0
        least: Floats = np.maximum(np.minimum(full, np.where(np.isinf(lacking), full, lacking)), 0.0)
        return least

    def log_ratios(self) -> tuple[Floats, Floats]:
        """For each item, the largest ln Pr(y | present) / Pr(y | absent) over reports y, and the other way round."""
        p, r = self.present, self.absent
        with np.errstate(divide="ignore", invalid="ignore"):
            shown = np.where(p == r, 0.0, _log_ratio(p, r))
            hidden = np.where(p == r, 0.0, _log_ratio(1 - p, 1 - r))
        return np.maximum(shown, hidden), np.maximum(-shown, -hidden)


def _log_ratio(a: Floats, b: Floats) -> Floats:
    """ln a / b, without cancellation where they are close: 1 - p and a - b are exact for our multiples of 2**-53."""
    result: Floats = np.where(np.abs(a - b) < 0.5 * b, np.log1p((a - b) / b), np.log(a) - np.log(b))
    return result
