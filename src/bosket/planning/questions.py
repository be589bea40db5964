"""Which questions to ask, and of how many people, given a first idea of the answers: A-optimal designs.

A question q asked of n w_q people brings the information n w_q F_q, F_q = J_q' diag(kappa_q^2 / r_q) J_q, about the
coefficients of a log-linear law; of many answers, which :class:`~bosket.Ask` hashes, with the variances of
:mod:`bosket.models.answered` for r_q.  With A what is known before (the answers of the first people, and the prior),
the shares w minimise the mean relative variance of the supports that are predicted to be near the limit or above it:

    mean over itemsets of  g' V g / f^2,    V = (A + n sum of w_q F_q)^-1

by the multiplicative step  w_q <- w_q sqrt(tr(F_q V B V)) / sum,  B the mean of g g' / f^2, which raises no value of a
convex function (Silvey, Titterington, Torsney 1978).  Questions to choose from are those about any few attributes, and
for each of these with rare combinations, by their predicted shares, merged into one answer: fewer answers are truer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from bosket.checks import check_fraction, check_integer, check_limits
from bosket.collected import Collected
from bosket.data import Table, TableDomain
from bosket.errors import DataError, ParameterError
from bosket.evidence import EvidenceSource, FittedEvidence, evidence_of, law_of_table
from bosket.mechanisms.questions.ask import Ask
from bosket.mechanisms.questions.designs import Design, Question
from bosket.mechanisms.questions.table_channels import HASHING, hashing_is_better, told
from bosket.models.features import summed_over
from bosket.models.laws import FittedLaw
from bosket.models.loglinear import Answered, FeatureBasis, Likelihood
from bosket.statistics.estimates import Floats
from bosket.threads import one_thread_of_blas

NEAR = 0.7
"""Itemsets from this part of the limit on are worth seeing."""
_CUTS = (0.0, 0.25, 0.5, 1.0, 2.0)  # of the limit: combinations below are merged
_MOST_ATTRIBUTES = 4  # of a question
_MOST_ANSWERS = 200  # of a question
_MOST_NUMBERS = 1 << 25  # derivatives of all answers to choose from
_STEPS = 60
_ROUNDS = 12  # of leaving rare questions out, and letting the others make up for them
_MORE_STEPS = 15
_LEFT_OUT = 0.15  # share of all people whose questions are left out in one round, at most
_LEAST_SHARE = 1e-3
_UNITS = 100_000  # that shares are whole numbers of
MOST_WORK = 1 << 42
"""Multiplications of all steps of a search: two or three minutes on one core."""


def refined_design(design: Design, reports: Collected, *, people: int, min_support: float) -> Design:
    """The design for the people who come after those who sent these reports; it names their plan by its digest."""
    mechanism = reports.plan.mechanism
    if not isinstance(mechanism, Ask) or mechanism.design != design:
        raise ParameterError(
            "The 'reports' parameter of refine must be answers to the questions of this very design.",
            parameter="reports",
            value=str(mechanism),
        )
    if not reports.n_records:
        raise DataError("There are no answers to refine a design by.", hint="Ask some 15% of the people first.")
    return optimal_design(reports, gamma=mechanism.gamma, people=people, min_support=min_support)


@one_thread_of_blas()
def optimal_design(pilot: EvidenceSource, *, gamma: float, people: int, min_support: float) -> Design:
    """Questions and shares for ``people`` people, by what a pilot predicts.

    pilot        answers of the first people, which count beside those to come; or a table of other people, which is
                 taken for what this population may look like and does not
    gamma        the ratio that every answer will have
    min_support  the limit of the supports that matter
    """
    gamma = check_limits("gamma", gamma, above=1, most=2.0**1000)
    people = check_integer("people", people, least=1)
    limit = check_fraction("min_support", min_support)
    evidence = law_of_table(pilot) if isinstance(pilot, Table) else evidence_of(pilot, model="log-linear")
    if not isinstance(evidence, FittedEvidence) or len(evidence.blocks) > 1:
        raise ParameterError(
            "The 'pilot' parameter must be about a table that one law can be fitted to: at most 65536 cells.",
            parameter="pilot",
            value=type(pilot).__name__,
            hint="Design.pairs and Design.covering need no pilot.",
        )
    unasked = [name for at, name in enumerate(evidence.domain.names) if at not in evidence.asked]
    if unasked:
        raise ParameterError(
            f"The 'pilot' parameter must tell of every attribute, and nobody was asked about {unasked[0]!r}.",
            parameter="pilot",
            value=unasked[0],
            hint="Ask more people first, or with more equal shares.",
        )
    search = _Search(evidence, is_known=not isinstance(pilot, Table), gamma=gamma, people=people, limit=limit)
    if not search.candidates or not search.has_targets:
        raise ParameterError(
            f"The 'min_support' parameter must be one that some itemsets of the pilot reach, got {limit:g}.",
            parameter="min_support",
            value=limit,
        )
    chosen, shares = search.best()
    follows = pilot.plan.digest if isinstance(pilot, Collected) else None
    return Design([_question(one, evidence) for one in chosen], shares, follows)


@dataclass(frozen=True)
class _Candidate:
    places: tuple[int, ...]
    answers: npt.NDArray[np.int64]

    @property
    def n_answers(self) -> int:
        return int(self.answers.max()) + 1


class _Search:
    def __init__(self, evidence: FittedEvidence, *, is_known: bool, gamma: float, people: int, limit: float) -> None:
        self.law: FittedLaw = evidence.law(evidence.asked)
        self.gamma, self.people, self.limit = gamma, people, limit
        fit = self.law.fit
        self.basis = fit.basis if fit.order > 1 else fit.errors.basis
        self.known = np.diag(fit.errors.precision[: self.basis.n_terms])
        if is_known:
            self.known = self.known + self._information(self.basis.likelihood)
        self.candidates = list(self._candidates())
        self._refuse_too_much()

    @property
    def work(self) -> int:
        """Multiplications of all steps, if none ends early: of n^3, with an inverse, and of answers times n^2."""
        n, n_answers = self.basis.n_terms, sum(one.n_answers for one in self.candidates)
        return (_STEPS + (_ROUNDS - 1) * _MORE_STEPS) * (3 * n + 2 * n_answers) * n**2

    def _refuse_too_much(self) -> None:
        if self.work > MOST_WORK:
            raise ParameterError(
                f"The 'pilot' parameter must be about fewer values: the best questions for a law of "
                f"{self.basis.n_terms} coefficients take {self.work:.1e} multiplications to find, more than "
                f"{MOST_WORK:.1e}.",
                parameter="pilot",
                value=self.basis.n_terms,
                hint="Merge values, or take Design.pairs or Design.covering, which need no pilot.",
            )

    def _information(self, likelihood: Likelihood) -> Floats:
        slopes = FeatureBasis(likelihood, self.basis.order).slopes(self.law.fit.law)
        weight = likelihood.information(likelihood.given(self.law.fit.law))
        result: Floats = (slopes.T * weight) @ slopes
        return result

    def _candidates(self) -> Iterator[_Candidate]:
        """Questions about any few attributes, rare combinations merged or not, as many as there is room for."""
        shape = self.law.shape
        room = _MOST_NUMBERS // self.basis.n_terms
        for size in range(1, min(_MOST_ATTRIBUTES, len(shape)) + 1):
            for places in combinations(range(len(shape)), size):
                share = self._margin(places)
                seen: set[int] = set()
                for cut in _CUTS:
                    rare = share < cut * self.limit
                    answers = np.cumsum(~rare) - 1
                    answers[rare] = (~rare).sum()
                    one = _Candidate(places, answers)
                    if 2 <= one.n_answers <= _MOST_ANSWERS and one.n_answers not in seen and rare.sum() != 1:
                        seen.add(one.n_answers)
                        room -= one.n_answers
                        if room < 0:
                            return
                        yield one

    def _margin(self, places: tuple[int, ...]) -> Floats:
        others = tuple(at for at in range(len(self.law.shape)) if at not in places)
        return summed_over(self.law.fit.law.reshape(self.law.shape), others).ravel()

    @property
    def has_targets(self) -> bool:
        """Whether an item is predicted near the limit or above it."""
        return any((self._margin((at,)) >= NEAR * self.limit).any() for at in range(len(self.law.shape)))

    def _targets(self) -> Floats:
        """B: the mean of g g' / f^2 over the itemsets that matter."""
        n = self.basis.n_terms
        total, number = np.zeros((n, n)), 0
        for size in range(1, min(_MOST_ATTRIBUTES, len(self.law.shape)) + 1):
            for places in combinations(range(len(self.law.shape)), size):
                share = self._margin(places)
                wanted = np.flatnonzero(share >= NEAR * self.limit)
                if len(wanted):
                    attributes = tuple(self.law.attributes[place] for place in places)
                    relative = self.law.margin(attributes).slopes[wanted, :n] / share[wanted, None]
                    total += relative.T @ relative
                    number += len(wanted)
        return total / max(number, 1)

    def _answered(self, one: _Candidate) -> Answered:
        """The question, asked of one person as Ask would by itself: through a hash function, if it has many answers."""
        n, shown = one.n_answers, np.full(one.n_answers, 1 / one.n_answers)
        if hashing_is_better(self.gamma, n):
            by = told(HASHING, self.gamma, n)
            return Answered(one.places, one.answers, shown, by.keep, np.full(n, by.by_chance), 1.0, by.by_chance)
        keep = (self.gamma - 1) / (self.gamma + n - 1)
        return Answered(one.places, one.answers, shown, keep, np.full(n, (1 - keep) / n), 1.0)

    def best(self) -> tuple[list[_Candidate], list[int]]:
        likelihood = Likelihood(self.law.shape, [self._answered(one) for one in self.candidates])
        slopes = FeatureBasis(likelihood, self.basis.order).slopes(self.law.fit.law)
        sizes = np.array([one.n_answers for one in self.candidates])
        of = np.repeat(np.arange(len(sizes)), sizes)
        weight = likelihood.information(likelihood.given(self.law.fit.law))
        targets = self._targets()
        shares = np.full(len(sizes), 1 / len(sizes))
        for round_ in range(_ROUNDS):
            asked = np.flatnonzero(shares)
            rows = np.isin(of, asked)
            places = np.searchsorted(asked, of[rows])
            for _ in range(_STEPS if round_ == 0 else _MORE_STEPS):
                gain = self._gain(slopes[rows], weight[rows], places, shares[asked], targets)
                shares[asked] *= np.sqrt(np.maximum(gain, 0))
                shares /= shares.sum()
            if shares[asked].min() >= _LEAST_SHARE:
                break
            rarest = asked[np.argsort(shares[asked], kind="stable")]
            few = shares[rarest].cumsum() <= _LEFT_OUT  # others make up for these in the next round
            shares[rarest[few & (shares[rarest] < _LEAST_SHARE)]] = 0.0
        kept = np.flatnonzero(shares)
        units = np.maximum(np.rint(shares[kept] / shares[kept].sum() * _UNITS), 1).astype(int)
        return [self.candidates[at] for at in kept], units.tolist()

    def _gain(
        self, slopes: Floats, weight: Floats, of: npt.NDArray[np.int64], shares: Floats, targets: Floats
    ) -> Floats:
        """How fast the criterion falls with the share of each question: tr(F_q V B V)."""
        inverse = self.known + (slopes.T * (self.people * shares[of] * weight)) @ slopes
        try:
            covariance = np.linalg.inv(inverse)
        except np.linalg.LinAlgError:
            raise _not_computed() from None
        pull = covariance @ targets @ covariance
        gain = np.bincount(of, weight * np.einsum("ij,ij->i", slopes @ pull, slopes), len(shares))
        if not np.isfinite(gain).all() or (gain @ shares) <= 0:
            raise _not_computed()
        return gain.astype(float)


def _not_computed() -> ParameterError:
    return ParameterError(
        "The 'pilot' parameter must be answers by which questions can be compared to the digits that numbers have.",
        parameter="pilot",
        value=None,
        hint="Design.pairs and Design.covering need no pilot.",
    )


def _question(one: _Candidate, evidence: FittedEvidence) -> Question:
    domain: TableDomain = evidence.domain
    names = tuple(domain.names[evidence.asked[place]] for place in one.places)
    is_plain = one.n_answers == math.prod(evidence.sizes[evidence.asked[place]] for place in one.places)
    return Question(names, None if is_plain else tuple(one.answers.tolist()))
