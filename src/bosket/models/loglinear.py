"""A log-linear law fitted to answers: softmax of main effects and of interactions of two (three) attributes.

    theta(x) = exp(eta(x)) / sum,    eta(x) = sum over subsets S of at most ``order`` attributes of  c_S . h_S(x)

with the features h of :mod:`bosket.models.features`.  Of the people asked question q, a share r_q(y) = b_q(y) + kappa_q
theta(cells of y) answers y, so that the answers have the likelihood of multinomial counts, and

    log p(answers | c) = sum over q and y of n_q(y) log r_q(y)

exactly; where answers are hashed it is a quasi-likelihood of that form (:mod:`bosket.models.answered`).  Before,
c_S is normal with mean 0 and variance s_S^2.  The mode is found by Fisher's scoring; the covariance V of c about it is
the inverse of J' diag(n_q kappa_q^2 / r_q) J + diag(1 / s^2), J the derivatives of theta(cells of y).  The scales have
a prior in proportion to s^-rho and are those that the answers make most probable, by MacKay's fixed point

    s_S^2 = |c_S|^2 / (g_S + rho),    g_S = dim S - tr V_SS / s_S^2   (how many coefficients the answers decide)

by which interactions that the answers do not show vanish: a single coefficient that is less than two of its standard
errors from 0, at rho = 1/2.  Single attributes have one scale in common, which little signal finds better than many.
Orders are compared by Laplace's approximation of the evidence

    log p(answers) = log p(answers | c) - |c / s|^2 / 2 - sum of log s - log det(V^-1) / 2

less 2 for each scale of single attributes and of two, and 4 for each of three, times g_S where fewer than one of its
coefficients is decided by the answers: scales that were learned fit noise too.  Order 0 is the law by which all
records are alike, which is best where answers hardly tell of single attributes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import linalg

from bosket.checks import check_integer
from bosket.models.answered import Answered as Answered
from bosket.models.answered import Likelihood as Likelihood
from bosket.models.features import Features, Subset, contrasts, products, summed_out
from bosket.models.room import not_settled
from bosket.statistics.estimates import Floats
from bosket.threads import one_thread_of_blas

_LEAST, _MOST = 1e-6, 25.0  # of a scale, squared
_LEAST_MAIN = 0.1  # of that of single attributes: values are never taken to be equally frequent
_FIRST = (4.0, 0.1, 0.01)  # scales squared to begin with, by the number of attributes
_MOST_STEPS = 100
_AT_MOST = (4.0, 1.0, 0.1)  # scales squared that errors begin with, by the number of attributes
_WEAKER = 0.03  # scale squared of interactions of one attribute more, in that of the size before, at the least
_INHERITED = 0.2  # strength of an interaction of three attributes, in that of its pairs, where no question tells
_SPARSE = 0.5  # rho: how far scales near 0 are more probable, before
_RENEWALS = 4  # of the scales, in one step of scoring
_NEAR = 10.0  # gain of a step below which the mode is near, and the scales are learned
_MANY_TERMS = 300  # beyond, scales are renewed once in a step: a factor of the matrix takes longer than its making
_PRICES = (2.0, 2.0, 4.0)  # of a scale that was learned, by the number of attributes, in nats
_SETTLED = 0.1  # change of the log evidence, when the fit is done


@dataclass(frozen=True, slots=True)
class LogLinear:
    """A log-linear law with interactions of at most ``order`` attributes; None for the order of most evidence."""

    order: int | None = None

    def __post_init__(self) -> None:
        if self.order is not None:
            check_integer("order", self.order, least=1, most=3)


class FeatureBasis:
    """The features of a model of some order, and how the answers to the questions follow from them."""

    def __init__(self, likelihood: Likelihood, order: int) -> None:
        self.likelihood = likelihood
        self.order = order
        n = len(likelihood.shape)
        self.subsets = tuple(subset for size in range(1, order + 1) for subset in combinations(range(n), size))
        asked = [one.attributes for one in likelihood.answered]
        room = likelihood.room(order)
        self.at_once = room.at_once
        self.has_few_parts = room.by_margins
        more = {
            subset
            for one, whole in zip(asked, self.at_once, strict=True)
            if not whole and not self.has_few_parts
            for size in range(order + 1, len(one) + 1)
            for subset in combinations(one, size)
        }
        self.features = Features(likelihood.shape, [*self.subsets, *sorted(more)])
        self.dims = np.array([math.prod(likelihood.shape[at] - 1 for at in subset) for subset in self.subsets])
        self.is_interaction = np.array([len(subset) > 1 for subset in self.subsets])
        self.n_terms = int(self.dims.sum())
        self.starts = np.append(0, np.cumsum(self.dims))[:-1]
        self._parts = {
            one: self._part(one)
            for one, whole in dict(zip(asked, self.at_once, strict=True)).items()
            if not whole and not self.has_few_parts
        }

    def _part(self, attributes: Subset) -> tuple[npt.NDArray[np.int64], Floats]:
        """The features that a question about these attributes tells of, and its indicators in terms of them."""
        shape = tuple(self.likelihood.shape[at] for at in attributes)
        places = [sub for size in range(1, len(shape) + 1) for sub in combinations(range(len(shape)), size)]
        columns = [self.features.columns[tuple(attributes[at] for at in sub)] for sub in places]
        indicators = np.hstack([products(shape, sub) for sub in places]) / math.prod(shape)
        return np.concatenate([np.arange(one.start, one.stop) for one in columns]), indicators

    def main_effects(self) -> Floats:
        """Coefficients to begin with: attributes that do not depend on each other, as often as they were answered."""
        likelihood, found = self.likelihood, np.zeros(self.n_terms)
        for at, size in enumerate(likelihood.shape):
            estimate, information = np.zeros(size), 1e-9
            for one in likelihood.answered:
                if at in one.attributes and one.is_plain:
                    place = one.attributes.index(at)
                    axes = tuple(other for other in range(len(one.attributes)) if other != place)
                    shape = [likelihood.shape[other] for other in one.attributes]
                    excess = (one.shown / one.n - one.by_chance).reshape(shape).sum(axis=axes) / one.keep
                    estimate += one.n * one.keep**2 * excess
                    information += one.n * one.keep**2
            share = np.maximum(estimate / information, 0.1 / size)
            found[self.features.columns[at,]] = contrasts(size).T @ np.log(share) / size
        return found

    def law(self, coefficients: Floats) -> Floats:
        eta = self.features.weighted(coefficients)
        eta -= eta.max()
        np.exp(eta, out=eta)
        eta /= eta.sum()
        return eta

    def slopes(self, law: Floats) -> Floats:
        """Derivatives of ``likelihood.margins`` by the coefficients: shape (answers, n_terms)."""
        of_cells = partial(self._by_margins, law) if self.has_few_parts else self._by_moments(law)
        return self.likelihood.by_answer((self.n_terms,), of_cells)

    def _by_moments(self, law: Floats) -> Callable[[Subset], Floats]:
        """By means of products of features, over all cells at once: for many questions, or few cells."""
        first, second = self.features.moments(law, self.n_terms)
        means = first[: self.n_terms]

        def of_cells(attributes: Subset) -> Floats:
            if attributes in self._parts:
                columns, indicators = self._parts[attributes]
                return indicators @ (second[columns] - first[columns, None] * means)
            found = self.features.margins(law, attributes, self.n_terms)
            found -= self.likelihood.mass(law, attributes)[:, None] * means
            return found

        return of_cells

    def _by_margins(self, law: Floats, attributes: Subset) -> Floats:
        """Question by question and subset by subset: the mean of a feature where the answer to a question is v.

        The attributes of the subset that are the question's are known there; the others are summed out of the margin
        of both.
        """
        shape, table = self.likelihood.shape, law.reshape(self.likelihood.shape)
        mass = self.likelihood.mass(law, attributes)
        inner = tuple(shape[at] for at in attributes)
        summed: dict[Subset, Floats] = {(): mass[:, None]}
        known: dict[Subset, Floats] = {}
        found = np.empty((len(mass), self.n_terms))
        for subset in self.subsets:
            beside = tuple(at for at in subset if at not in attributes)
            inside = tuple(place for place, at in enumerate(attributes) if at in subset)
            if beside not in summed:
                summed[beside] = summed_out(table, attributes, beside)
            if inside not in known:
                known[inside] = products(inner, inside)
            axes = [(shape[at] - 1, at in beside) for at in subset]
            first = summed[beside].reshape(-1, *(width if is_beside else 1 for width, is_beside in axes))
            other = known[inside].reshape(-1, *(1 if is_beside else width for width, is_beside in axes))
            found[:, self.features.columns[subset]] = (first * other).reshape(len(mass), -1)
        found -= mass[:, None] * found.sum(axis=0)
        return found


@dataclass(frozen=True)
class Fit:
    """A law fitted to answers, with what is not known of it."""

    basis: FeatureBasis
    coefficients: Floats
    law: Floats
    scales: Floats
    """Of each subset of attributes, squared."""
    log_evidence: float
    steps: int
    order: int
    decided: Floats
    """Of each subset, how many of its coefficients the answers decide."""
    is_settled: bool = True
    """Whether another step would have changed next to nothing; not where the steps or the work were used up."""

    @property
    def score(self) -> float:
        """What orders are compared by: the log evidence, less a price for what was learned."""
        if self.order == 0:
            return self.log_evidence
        sizes = np.array([len(subset) for subset in self.basis.subsets])
        found = np.minimum(self.decided, 1.0)
        mains = float(found[sizes == 1].max(initial=0.0))  # they share a scale
        price = np.array(_PRICES)[sizes - 1] * found * (sizes > 1)
        return self.log_evidence - _PRICES[0] * mains - float(price.sum())

    @cached_property
    def errors(self) -> CoefficientErrors:
        return _errors(self)

    @cached_property
    @one_thread_of_blas()
    def pulls(self) -> Floats:
        """How far one more of each answer moves the coefficients: V J' diag(kappa / m r); shape (n_terms, answers)."""
        likelihood = self.basis.likelihood
        root = _Around(self.basis, self.coefficients).posterior(self.scales).root
        weight = likelihood.keep / (likelihood.scale * likelihood.given(self.law))
        result: Floats = root @ (root.T @ (self.basis.slopes(self.law).T * weight))
        return result

    def release(self) -> None:
        """Let go of what would be made again: features, cell by cell, and the covariance of coefficients."""
        self.basis.features.release()
        self.errors.basis.features.release()
        del self.__dict__["errors"]


@dataclass(frozen=True)
class CoefficientErrors:
    """What is not known of a law: coefficients of a wider one, and their covariance given the answers."""

    basis: FeatureBasis
    precision: Floats
    """1 / s^2, for each coefficient."""
    covariance: Floats
    off: Floats
    """From the coefficients of the law to the mode of the wider one."""


@one_thread_of_blas()
def fit(
    likelihood: Likelihood, order: int, *, most_work: float = math.inf, tick: Callable[[], None] | None = None
) -> Fit:
    """The mode of the coefficients at the scales that the answers make most probable; order 0 learns none.

    No step is begun after ``most_work`` multiplications, as :class:`~bosket.models.room.Room` counts them; a fit that
    ends so says that it has not settled.
    """
    basis = FeatureBasis(likelihood, max(order, 1))
    if order == 0:
        return _all_alike(basis)
    scales = np.array([_FIRST[len(subset) - 1] for subset in basis.subsets])
    c = basis.main_effects()
    log_evidence, is_near, is_settled, steps, work = -math.inf, False, False, 0, 0
    room = likelihood.room(order)
    while not is_settled and steps < _MOST_STEPS and work < most_work:
        steps += 1
        if tick is not None:
            tick()
        around = _Around(basis, c)
        if is_near:
            posterior, scales = around.best(scales)
        else:
            posterior = around.posterior(scales)
        c, moved, tried = _moved(basis, c, posterior.mode - c, np.repeat(1 / scales, basis.dims))
        before, log_evidence = log_evidence, around.log_evidence(posterior, scales, c)
        is_settled = is_near and abs(log_evidence - before) < _SETTLED
        is_near = moved < _NEAR
        work += room.of_step(tried + 2)  # those of the step itself and of its evidence beside
    variance = np.add.reduceat(np.einsum("ij,ij->i", posterior.root, posterior.root), basis.starts)
    decided = np.maximum(basis.dims - variance / scales, 0.0)
    return Fit(basis, c, basis.law(c), scales, log_evidence, steps, order, decided, is_settled)


def _all_alike(basis: FeatureBasis) -> Fit:
    """The law by which all records are alike."""
    nothing, c = np.zeros(len(basis.dims)), np.zeros(basis.n_terms)
    law = basis.law(c)
    return Fit(basis, c, law, np.full(len(basis.dims), _LEAST), basis.likelihood.log(law), 0, 0, nothing)


class _Around:
    """The likelihood about some coefficients, to the second order."""

    def __init__(self, basis: FeatureBasis, c: Floats) -> None:
        self.basis = basis
        likelihood = basis.likelihood
        law = basis.law(c)
        given = likelihood.given(law)
        slopes = basis.slopes(law)
        weight = likelihood.information(given)
        self.information = (slopes.T * weight) @ slopes
        self.pull = self.information @ c + slopes.T @ (likelihood.shown * likelihood.keep / given)

    def posterior(self, scales: Floats) -> _Normal:
        inverse = self.information.copy()
        inverse[np.diag_indices(len(inverse))] += np.repeat(1 / scales, self.basis.dims)
        try:
            lower = linalg.cholesky(inverse, lower=True, check_finite=False)
        except linalg.LinAlgError:
            raise not_settled() from None
        root = linalg.lapack.dtrtri(lower, lower=1)[0].T  # a third of the work of solving for the identity
        return _Normal(root @ (root.T @ self.pull), root, 2 * float(np.log(np.diag(lower)).sum()))

    def best(self, scales: Floats) -> tuple[_Normal, Floats]:
        """The posterior, scales renewed a few times."""
        dims, starts, is_single = self.basis.dims, self.basis.starts, ~self.basis.is_interaction
        for _ in range(_RENEWALS if len(self.pull) <= _MANY_TERMS else 1):
            posterior = self.posterior(scales)
            variance = np.einsum("ij,ij->i", posterior.root, posterior.root)
            decided = np.maximum(dims - np.add.reduceat(variance, starts) / scales, 1e-3)
            squares = np.add.reduceat(posterior.mode**2, starts)
            renewed = squares / (decided + _SPARSE * self.basis.is_interaction)
            renewed[is_single] = squares[is_single].sum() / decided[is_single].sum()
            renewed = np.clip(renewed, np.where(self.basis.is_interaction, _LEAST, _LEAST_MAIN), _MOST)
            scales = np.sqrt(scales * renewed)  # half the way, since whole steps may go round in a circle
        return self.posterior(scales), scales

    def log_evidence(self, posterior: _Normal, scales: Floats, c: Floats) -> float:
        precision = np.repeat(1 / scales, self.basis.dims)
        log_prior = 0.5 * float(np.log(precision).sum() - precision @ c**2)
        return self.basis.likelihood.log(self.basis.law(c)) + log_prior - 0.5 * posterior.log_det


@one_thread_of_blas()
def _errors(fitted: Fit) -> CoefficientErrors:
    """The covariance that does not rely on what the fit does rely on.

    The fit takes interactions for nothing that the answers do not show, subset by subset, and those of more attributes
    than its order altogether.  Here every subset has at least the scale that all of its size have in common, found
    from above, so that it stays large where answers tell little; and interactions of one attribute more are allowed
    for.  Where no question is about as many attributes, they have ``_WEAKER`` times the scale of the size before while
    scales are found; then those of three are allowed for what their pairs show (:func:`_inherited`).
    """
    inner = fitted.basis
    order = inner.likelihood.room(inner.order).of_errors.order
    basis = FeatureBasis(inner.likelihood, order) if order > inner.order else inner
    c = np.zeros(basis.n_terms)
    c[: inner.n_terms] = fitted.coefficients
    around = _Around(basis, c)
    sizes = np.array([len(subset) for subset in basis.subsets])
    scales = np.full(len(sizes), _LEAST)
    scales[: len(fitted.scales)] = fitted.scales
    common = np.zeros(4)
    starts = basis.starts
    told = [size for size in range(1, basis.order + 1) if size <= inner.likelihood.widest]
    learned = (sizes > inner.order) & np.isin(sizes, told)
    common[1:] = _AT_MOST
    for _ in range(3):
        common[1:] = [common[size] if size in told else _WEAKER * common[size - 1] for size in range(1, len(common))]
        posterior = around.posterior(np.maximum(scales, common[sizes]))
        squares = np.add.reduceat(posterior.mode**2 + np.einsum("ij,ij->i", posterior.root, posterior.root), starts)
        for size in told:
            shown = squares[sizes == size].sum() / basis.dims[sizes == size].sum()
            common[size] = max(shown, _WEAKER * common[size - 1])
        scales[learned] = squares[learned] / basis.dims[learned]
    common[1:] = [common[size] if size in told else _WEAKER * common[size - 1] for size in range(1, len(common))]
    used = np.maximum(scales, common[sizes])
    if inner.likelihood.widest == 2 and basis.order == 3:
        used[sizes == 3] = _inherited(basis, squares)
    posterior = around.posterior(used)
    covariance = posterior.root @ posterior.root.T
    return CoefficientErrors(basis, np.repeat(1 / used, basis.dims), covariance, posterior.mode - c)


def _inherited(basis: FeatureBasis, squares: Floats) -> Floats:
    """Scales squared of interactions of three attributes of which no answer tells, by what answers show of two.

    With |c_S|^2 the strength of S, the mean square of its effect over all cells, the strength expected of three
    attributes is ``_INHERITED`` times the mean strength of their three pairs: strong effects are seldom without strong
    parts (heredity, Chipman 1996).  Strengths and not scales, since the larger sets have more coefficients.

    squares  of each subset, what |c_S|^2 is expected to be, given the answers
    """
    strength = dict(zip(basis.subsets, squares.tolist(), strict=True))
    of_three = [subset for subset in basis.subsets if len(subset) == 3]
    of_pairs = np.array([[strength[pair] for pair in combinations(subset, 2)] for subset in of_three])
    dims = basis.dims[[len(subset) == 3 for subset in basis.subsets]]
    result: Floats = np.maximum(_INHERITED * of_pairs.mean(axis=1) / dims, _LEAST)
    return result


@dataclass(frozen=True)
class _Normal:
    mode: Floats
    root: Floats
    """R with R R' = the covariance."""
    log_det: float
    """Of the inverse of the covariance."""


def _moved(basis: FeatureBasis, c: Floats, step: Floats, precision: Floats) -> tuple[Floats, float, int]:
    """A step of scoring, halved until it gains; what it gained, and how many laws were tried."""

    def posterior(at: Floats) -> float:
        return basis.likelihood.log(basis.law(at)) - 0.5 * float(precision @ at**2)

    before, length, tried = posterior(c), 1.0, 2
    while (gain := posterior(c + length * step) - before) < 0 and length > 1e-4:
        length /= 2
        tried += 1
    return c + length * step, gain, tried
