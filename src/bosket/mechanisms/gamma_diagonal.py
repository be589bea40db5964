"""The gamma-diagonal matrix: keep the record, or draw another from the whole domain.

FRAPP: Agrawal, Haritsa and Prakash (Data Mining and Knowledge Discovery 18, 2009).  On a domain of n = |S_U| records

    A[v, u] = gamma x if v = u, else x,    x = 1 / (gamma + n - 1)                                   Eq. (12)

which is: with probability kappa = (gamma - 1) x the record itself, otherwise one drawn uniformly (their section 7,
remark).  Of all symmetric positive-definite matrices of amplification gamma it has the lowest condition number,
1 + n / (gamma - 1) (Theorem 2).

Of an itemset A that fixes some attributes with the product of domain sizes I, a report shows all of it with probability
b = (1 - kappa) / I by chance, and kappa more if it is there.  Hence the weight

    w_A(t') = ([A in t'] - b) / kappa

The paper's Theorem 5 gives the inverse for all attributes; for a subset its printed form is wrong, and this is the
right one: with n / I records to a cell, off-diagonal -(n / I) / (gamma - 1), diagonal that + 1 / kappa.

RAN-GD (section 6): each client adds to the diagonal its own r, uniform in [-alpha, alpha].  Averaged over r the law of
a report is exactly DET-GD's, since the probabilities are linear in r and E r = 0; so it costs no accuracy and buys no
privacy against one who does not know r.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows, Words
from bosket.data import Domain, Table, TableDomain
from bosket.errors import ParameterError
from bosket.mechanisms.base import Cells, Floats, Mechanism, RecordChannel, Records, Strata, as_domain
from bosket.mechanisms.gamma_kernels import keep_or_replace_block
from bosket.mechanisms.parameters import Option, Probability, Real, parameter
from bosket.mechanisms.records import table_domain
from bosket.privacy import Accuracy, Amplification, Influence, LocalGuarantee
from bosket.privacy.guarantee import check_reports, percent_up
from bosket.privacy.product import outward
from bosket.randomness import Randomness
from bosket.randomness.kernels import PRECISION

_ONE = 1 << PRECISION


@dataclass(frozen=True, slots=True)
class GammaDiagonal(Mechanism):
    """Report the record itself gamma times as likely as any other of its domain.

    For tables: a domain is all records that there can be.

    gamma    the amplification, above 1; 19 keeps a property of prior 5% below a posterior of 50%
    spread   0 for DET-GD; alpha / (gamma x) of RAN-GD, up to 1
    """

    name = "gamma_diagonal"
    needs_table: ClassVar[bool] = True

    gamma: float = field(
        metadata=parameter(
            Real(
                above=1,
                most=2.0**1000,
                hint="bosket.planning.gamma_from(0.05, 0.5) is the gamma that keeps 5% below 50%: 19.",
            ),
            "amplification: how many times as likely a record stays as it is as it becomes any given other",
            Option(
                "gamma",
                "G",
                help="for tables: a record stays as it is G times as likely as it becomes any other; with 19, what had "
                "5% comes to 50% at most",
            ),
        )
    )
    spread: float = field(
        default=0.0,
        metadata=parameter(
            Probability(),
            "let the probability that a record stays vary by report, by up to this share",
            Option("spread", "S", beside=("gamma",)),
        ),
    )

    def channel(self, domain: Domain) -> GammaDiagonalChannel:
        return GammaDiagonalChannel(table_domain(domain, of="GammaDiagonal"), self.gamma, self.spread)

    def guarantee(
        self, domain: Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        """gamma between any two records, whether they differ in one attribute or in all of them."""
        channel = self.channel(as_domain(domain))
        check_reports(reports)
        epsilon = channel.epsilon
        over = f"any two records over {len(channel.domain.attributes)} attributes, {channel.n_cells} records in all"
        record = Amplification(epsilon, over)
        if reports > 1:
            sends = f"{reports} reports, randomized afresh, known to be the same person's: epsilons add"
        else:
            sends = "one report"
        notes = [
            "the domain, the number of reports and who sends one are not hidden; the coins are as good as AES-256",
        ]
        if reports > 1:
            notes.append(
                f"linked, {reports} versions have gamma to the power of {reports}; over an anonymous channel, where "
                "nobody can tell which reports are the same person's, one of them has gamma, and all together may "
                "still tell as much as linked ones"
            )
        if self.spread > 0:
            learned = channel.knowing_spread.repeated(reports, "a person, for one who learned every r")
            seen = "r" if reports == 1 else f"r of all {reports} reports"
            notes.append(
                "each report draws its own r and forgets it: averaged over r its law is that of spread 0, so this is "
                f"the promise, and spread adds nothing to it; who learned {seen} might come to believe any property "
                f"of a record that had 5% with up to {percent_up(learned.posterior(0.05))}"
            )
        return LocalGuarantee(
            mechanism=str(self),
            item=Amplification(epsilon, "two records that differ in one attribute and nothing else"),
            record=record,
            person=record.repeated(reports, f"a person who sends {sends}; {over}"),
            reports=reports,
            assumptions=tuple(notes),
            about_an_item="the value of one attribute that had 5%, knowing all the others,",
            influence=self.influence(channel.domain),
            accuracy=self.accuracy(channel.domain),
        )


def ran_gd_range(gamma: float, n_cells: int, spread: float, *, prior: float) -> tuple[float, float]:
    """[rho2(-alpha), rho2(alpha)] of section 6.1: the posterior of one who knows r, at its two ends.

    It is that of the very record that is reported.  Where r is near -alpha and spread near 1, a report is less likely
    from its own record than from others, and tells most of these: what no property passes is in
    :attr:`GammaDiagonalChannel.knowing_spread`.
    """
    x = 1.0 / (gamma + n_cells - 1)
    alpha = min(spread, largest_spread(gamma, n_cells)) * gamma * x

    def posterior(r: float) -> float:
        same, other = gamma * x + r, x - r / (n_cells - 1)
        return prior * same / (prior * same + (1 - prior) * other)

    return posterior(-alpha), posterior(alpha)


def largest_spread(gamma: float, n_cells: int) -> float:
    """The spread beyond which gamma x + alpha would be more than 1: small domains have room for little."""
    return min(1.0, (n_cells - 1) / gamma)


class GammaDiagonalChannel(RecordChannel):
    """GammaDiagonal on the domain of a table.  ``keep`` is the realised kappa.

    What is drawn with is a multiple of 2**-53, rounded down so that the realised gamma is not above the one asked for:
    kappa itself for DET-GD, gamma x, the probability of the same record, for RAN-GD.
    """

    domain: TableDomain

    def __init__(self, domain: TableDomain, gamma: float, spread: float) -> None:
        self.domain = domain
        self.n_cells = domain.n_cells
        n, exact = self.n_cells, Fraction(gamma)
        if spread > largest_spread(gamma, n):
            raise ParameterError(
                f"The 'spread' parameter of GammaDiagonal must be at most {largest_spread(gamma, n):.4g} on {n} "
                f"records, or the probability of the same record would pass 1, got {spread:g}.",
                parameter="spread",
                value=spread,
            )
        self._is_other = spread > 0
        share = (exact if self._is_other else exact - 1) / (exact + n - 1)
        self._threshold = min(math.floor(share * _ONE), _ONE - 1)
        self._reach = min(math.floor(Fraction(spread) * self._threshold), _ONE - self._threshold)
        drawn = Fraction(self._threshold, _ONE)
        self.exact_keep = (drawn - Fraction(1, n)) / (1 - Fraction(1, n)) if self._is_other else drawn
        if self.exact_keep <= 0:
            raise ParameterError(
                f"The 'gamma' parameter of GammaDiagonal must be larger on {n} records: at {gamma:g} a report keeps "
                "its record with less than 2**-53, so that nothing could be estimated.",
                parameter="gamma",
                value=gamma,
                hint="Choose fewer attributes, or group their values.",
            )
        self.keep = float(self.exact_keep)
        excess = self.exact_keep * n / (1 - self.exact_keep)
        self.gamma = float(1 + excess)
        self.epsilon = outward(math.log1p(float(excess)))  # gamma may be 1 + 1e-12
        self._per_item = np.asarray(domain.sizes, float)[domain.groups]

    @property
    def condition(self) -> float:
        """1 + n / (gamma - 1) (Appendix), for any subset of attributes too: 1 / kappa."""
        return float(1 / self.exact_keep)

    @property
    def knowing_spread(self) -> Amplification:
        """The most that a report can multiply odds for one who learned its r: infinite where some r rule a record out.

        The same record has a probability within ``reach`` of the mean, any other an equal part of the rest: the ratio
        of the two is largest at an end, one way round or the other.
        """
        same = [Fraction(self._threshold + moved, _ONE) for moved in (-self._reach, self._reach)]
        pairs = [(one, (1 - one) / (self.n_cells - 1)) for one in same]
        if min(map(min, pairs)) <= 0:
            return Amplification(math.inf, "any two records, for one who learned r")
        excess = max(max(pair) / min(pair) - 1 for pair in pairs)
        return Amplification(outward(math.log1p(float(excess))), "any two records, for one who learned r")

    def randomize_bits(self, bits: Words, rng: Randomness) -> tuple[Words, Strata | None]:
        offsets = np.asarray(self.domain.offsets, np.int64)
        rng.by_rows(
            bits,
            lambda start, stop, done, buffer: keep_or_replace_block(
                bits[:stop], offsets, self._threshold, self._reach, self._is_other, start + done, buffer
            ),
        )
        return bits, None

    def check_reports(self, bits: Words, strata: Strata | None) -> None:
        """A report is a record of the table: one value of each attribute."""
        Table.from_bits(bits, self.domain)

    def chance(self, itemsets: ItemsetRows) -> Floats:
        """b: the probability that a report shows all of each itemset by chance."""
        result: Floats = (1.0 - self.keep) / self._per_item[itemsets].prod(axis=1)
        return result

    def _clashes(self, itemsets: ItemsetRows) -> npt.NDArray[np.bool_]:
        """Which itemsets hold two values of one attribute: no record does."""
        groups = np.sort(self.domain.groups[itemsets], axis=1)
        result: npt.NDArray[np.bool_] = (np.diff(groups, axis=1) == 0).any(axis=1)
        return result

    def transition(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats:
        """kappa I + (1 - kappa) times the law of a record drawn uniformly; rows of 0 for two values of an attribute."""
        k = len(itemset)
        groups = self.domain.groups[list(itemset)]
        shown = np.arange(1 << k)[:, None] >> np.arange(k) & 1
        uniform = np.ones(1 << k)
        for group in np.unique(groups):
            own = groups == group
            count = shown[:, own].sum(axis=1)
            values = self.domain.sizes[group]
            uniform *= np.select([count == 0, count == 1], [1 - own.sum() / values, 1 / values], 0.0)
        matrix = (1 - self.keep) * np.tile(uniform, (1 << k, 1)) + self.keep * np.eye(1 << k)
        possible = np.ones(1 << k, bool)
        for group in np.unique(groups):
            own = groups == group
            count = shown[:, own].sum(axis=1)
            possible &= count <= 1
            if own.sum() == self.domain.sizes[group]:
                possible &= count == 1  # all values of the attribute are named: one of them is there
        matrix[~possible] = 0.0
        return matrix

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        b = self.chance(itemsets)
        weights = np.repeat(-b[:, None] / self.keep, 1 << itemsets.shape[1], axis=1)
        weights[:, -1] += 1.0 / self.keep
        if itemsets.shape[1] > 1:
            weights[self._clashes(itemsets)] = 0.0
        return weights

    def moves(self, items: npt.NDArray[np.int32], stratum: int | None = None) -> tuple[Floats, Floats] | None:
        """1 - kappa - b for an item that is there, b for one that is not."""
        b = self.chance(items[:, None])
        return 1.0 - self.keep - b, b

    def influence(self, k: int, max_size: int | None = None) -> Influence | None:
        """(1 - b) / kappa for a report that shows all, -b / kappa for any other: their difference is 1 / kappa.

        b is smallest for the k attributes with the most values, and largest for those with the fewest.
        """
        sizes = sorted(int(size) for size in self.domain.sizes)
        if k > len(sizes):
            return None
        least, most = ((1.0 - self.keep) / math.prod(chosen) for chosen in (sizes[-k:], sizes[:k]))
        return Influence(k, low=-most / self.keep, high=(1.0 - least) / self.keep, width=1.0 / self.keep)

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None:
        """r (1 - r) / kappa^2 with r the probability that all of A is shown: b, or b + kappa where it is there.

        It is least at an end of what b can be, those of the k attributes with the most values and with the fewest; and
        largest where r comes nearest to 1/2, which ``most`` takes for possible between the ends.
        """
        sizes = sorted(int(size) for size in self.domain.sizes)
        if k > len(sizes):
            return None
        kappa = self.keep
        ends = np.array([(1.0 - kappa) / math.prod(chosen) for chosen in (sizes[-k:], sizes[:k])])
        without, having = ends * (1 - ends), (ends + kappa) * (1 - ends - kappa)
        nearest = [min(max(0.5, float(r[0])), float(r[1])) for r in (ends, ends + kappa)]
        return Accuracy(
            k,
            least=max(0.0, float(min(without.min(), having.min()))) / kappa**2,
            most=max(r * (1 - r) for r in nearest) / kappa**2,
            full=max(0.0, float(having.min())) / kappa**2,
        )

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        """b (1 - b) / kappa^2 for a record without A; with A its weight is (1 - b) / kappa or -b / kappa."""
        b, kappa = self.chance(itemsets), self.keep
        without = b * (1 - b) / kappa**2
        having = ((b + kappa) * (1 - b) ** 2 + (1 - b - kappa) * b**2) / kappa**2 - 1.0
        least: Floats = np.maximum(np.minimum(without, having), 0.0)
        if itemsets.shape[1] > 1:
            least[self._clashes(itemsets)] = 0.0
        return least
