"""A population of literals: one law, fitted to all noisy statistics together.

    p(x) ~ exp(sum_i a_i x_i + sum_{i < j} b_ij x_i x_j + c[number of literals in x] + d[leaf of x])

Measured are sums of bounded contributions: of literals and pairs, each record's scaled by w(number of its literals),
how many records hold how many literals, and, where patterns are few, how many are in which leaf of a tree.  Their
expectations under the law are sums over particles, scaled in the same way, so nothing is put back that bounding took
away.
Coefficients have a prior around a product of items, those of pairs a Student law whose mean and scale are learned from
the statistics (EM on the Laplace posterior).

The fit: Gauss-Newton steps on weighted particles, drawn anew by Gibbs sampling when weights have moved far.  Chance is
that of a seed, so a fit is a function of what it is fitted to, and post-processing of noisy numbers.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import numpy as np
import numpy.typing as npt

from bosket.curator.population.kernels import gibbs
from bosket.curator.population.leaves import NO_LEAVES, LeafPlaces, Leaves, words_of
from bosket.curator.population.particles import (
    Number,
    Particles,
    Population,
    Statistics,
    resampled,
    weights_of,
)
from bosket.randomness import Seeded
from bosket.randomness.streams import Stream
from bosket.statistics.estimates import Floats
from bosket.threads import one_thread_of_blas, parallel_map, slices

_SEED = 20_121_107
_PARTICLES = 8192
_OUTER, _INNER = 16, 3
_FINAL = 5  # times as many particles at the end
_STEP = 0.7  # of the standard deviation of a change of log-weights, at most
_EFFECTIVE = 0.4  # of the particles, at least
_SWEEPS = 5
_SIZES_DEVIATION = 1.5  # of coefficients of numbers of literals
_FREEDOM = 3.0  # degrees of freedom of the pairs' prior: a few of them are strong
_FIELDS_VARIANCE = 9.0  # of coefficients of literals, beside what is believed of them: pairs share what they explain
_SCALE = 1.0  # of coefficients of pairs, at first
_LEAST_SCALE, _MOST_SCALE = 0.2, 4.0
_PARTICLES_A_CALL = 2048
_FINEST = 1e-3  # of the records: particles say no more
_FINEST_OF_LEAVES = 2e-4  # the same of a leaf, in which few particles are
_FINEST_AT_LAST = 1e-4  # of the records, once particles stay as they are and weights alone move
_COARSE = 1.5  # times the variance of noise
_UNMET = 9.0  # of the variance of a statistic: its mean squared error, where a fit has failed
_LAST = 20  # steps at the end, where particles are alike
_SCALE_OF_LEAVES = 3.0  # of coefficients of leaves, at first: pairs may expect a tenth of what is there
_LEAST_EXPECTED = 0.3  # particles in a leaf that has none
_LEAST_OF_LEAF = 4  # particles of a leaf that has a coefficient
_LEAST_REST = 0.1  # of the records, in all other leaves


class FitAbandonedError(Exception):
    """Nobody waits for this fit any more."""


class Fitter:
    """Fits a population to statistics, starting from a product of literals."""

    def __init__(
        self, statistics: Statistics, shares: Floats, deviations: Floats, is_over: Event | None = None
    ) -> None:
        """``shares`` and ``deviations``: what is believed of the literals before; ``is_over``: nobody waits now."""
        self._is_over = is_over
        counted = statistics.counted
        floors = np.full(len(statistics.values), (_FINEST * statistics.n_records) ** 2)
        self._plain = statistics.variances
        values, variances = statistics.values, statistics.variances + floors
        self._n_leaves = 0 if counted is None else counted.n
        if counted is not None:
            finest = (_FINEST_OF_LEAVES * statistics.n_records) ** 2
            values = np.concatenate([values, counted.values])
            variances = np.concatenate([variances, np.full(counted.n, counted.variance + finest)])
        self._known = replace(statistics, values=values, variances=variances)
        finest = (_FINEST_AT_LAST * statistics.n_records) ** 2
        self._at_last = np.minimum(variances, self.deviations_of_noise**2 + finest)
        self._m = m = len(shares)
        self._stream: Stream = Seeded(_SEED).stream()
        self._pairs = np.triu_indices(m, 1)
        self._n_groups = int(statistics.groups.max()) + 1
        self._of_pairs = slice(m, m + len(self._pairs[0]))
        self._of_groups = slice(self._of_pairs.stop, self._of_pairs.stop + self._n_groups)
        self._of_leaves = slice(self._of_groups.stop, self._of_groups.stop + self._n_leaves)
        self._n = self._of_leaves.stop
        shares = np.clip(shares, 0.5 / statistics.n_records, 1 - 0.5 / statistics.n_records)
        self._start = np.zeros(self._n)
        self._start[:m] = np.log(shares / (1 - shares))
        self._shares = shares
        self._variances = np.full(self._n, _SCALE**2)
        self._variances[:m] = (deviations / (shares * (1 - shares))) ** 2 + _FIELDS_VARIANCE
        self._variances[self._of_groups] = _SIZES_DEVIATION**2
        self._variances[self._of_leaves] = _SCALE_OF_LEAVES**2
        self._scales = {"pairs": _SCALE**2, "leaves": _SCALE_OF_LEAVES**2}

    def fit(self, near: Population | None = None) -> Population:
        """The population, starting from one that was fitted to fewer statistics where there is one."""
        with one_thread_of_blas():
            return self._fit(near)

    def _fit(self, near: Population | None) -> Population:
        coefficients = self._start.copy()
        self._n_records = self._known.n_records
        logs = np.zeros(_PARTICLES)
        if near is None:
            particles = (self._uniform((_PARTICLES, self._m)) < self._shares).astype(np.uint8)
        else:
            some = slice(0, len(near.coefficients))
            coefficients[some] = near.coefficients
            self._start[some], self._variances[some] = near.centre, near.variances
            particles, logs = self._stratified(near, coefficients)
        passed: list[tuple[Particles, Floats, Floats]] = []
        for rounds, variances in self._stages():
            self._known = replace(self._known, variances=variances)
            for _ in range(rounds):
                features = self._features(particles)
                coefficients, logs, is_near, precision = self._steps(coefficients, features, logs)
                passed.append((particles, logs, coefficients))
                particles = self._moved(_resampled(particles, logs, self._uniform(1)[0]), coefficients)
                logs = np.zeros(len(particles))
                if is_near and self._learn_prior():
                    break
        parts = []
        for _ in range(_FINAL):
            particles = self._moved(particles, coefficients)
            parts.append(particles.copy())
        particles, numbers = _merged(np.concatenate(parts))
        features = self._features(particles)
        most = max(_INNER, min(_LAST, _INNER * _FINAL * _PARTICLES // len(particles)))
        coefficients, logs, _, precision = self._steps(coefficients, features, np.log(numbers), numbers, most)
        unmet = self._unmet(features, logs)
        if unmet > _UNMET:  # the last particles walked away from what was fitted: go back to those that met it best
            every = [self._unmet(self._features(some), weights) for some, weights, _ in passed]
            if min(every) < unmet:
                particles, logs, coefficients = passed[int(np.argmin(every))]
                features = self._features(particles)
                coefficients, logs, _, precision = self._steps(coefficients, features, logs, None, _LAST)
        return Population(
            particles, logs, features, _inverse_root(precision), coefficients, self._start, self._variances,
            Number(self._n_records, *self._number_given),
            self._n_leaves if self._known.counted is not None and self._known.counted.are_clear else 0,
        )  # fmt: skip

    def _unmet(self, features: npt.NDArray[np.float32], logs: Floats) -> float:
        """The mean of squared errors of the statistics over their variances."""
        known = self._known
        errors = known.values - self._n_records * (weights_of(logs) @ self._measured(features))
        return float((errors**2 / known.variances).mean())

    def _stages(self) -> list[tuple[int, Floats]]:
        """Rounds, and variances of the statistics with what particles add: first coarse, then fine where it matters."""
        coarse, fine = self._known.variances, self._at_last
        more = _OUTER // 2 if float((coarse / fine).max()) > _COARSE else 0
        return [(_OUTER, coarse), (more, fine)]

    def expected(self, population: Population) -> Floats:
        """What would be measured of a population without noise."""
        with one_thread_of_blas():
            return np.asarray(self._known.n_records * (population.weights @ self._measured(population.features)))

    @property
    def deviations_of_noise(self) -> Floats:
        """Standard deviations of the noise of all statistics."""
        counted = self._known.counted
        of_leaves = np.zeros(0) if counted is None else np.full(counted.n, counted.variance)
        return np.asarray(np.sqrt(np.concatenate([self._plain, of_leaves])))

    def _stratified(self, near: Population, coefficients: Floats) -> tuple[Particles, Floats]:
        """Particles in all leaves that have a coefficient, as many as noisy numbers say, and their log-weights.

        Sampling would hardly find a pattern that many records have and pairs do not expect.
        """
        counted = self._known.counted
        if counted is None:
            return near.particles[resampled(near.weights, _PARTICLES, self._uniform(1)[0])], np.zeros(_PARTICLES)
        n, number = counted.n, self._n_records
        strata = counted.features[counted.leaves.of(words_of(near.particles))]
        strata[strata < 0] = n
        expected = number * np.bincount(strata, weights=near.weights, minlength=n + 1)
        expected = np.maximum(expected, _LEAST_EXPECTED * number / len(near.particles))
        wanted = np.clip(counted.values, expected[:n] / 2, None)
        least = _LEAST_REST * number if n < len(counted.leaves) else 1e-9 * number  # there may be no other leaves
        wanted = np.append(wanted, max(number - wanted.sum(), least) if n < len(counted.leaves) else least)
        masses = wanted / wanted.sum()
        numbers = np.maximum(np.rint(masses * _PARTICLES).astype(np.int64), _LEAST_OF_LEAF)
        coefficients[self._of_leaves] = np.log(wanted[:n] / expected[:n]) - np.log(wanted[n] / expected[n])
        order = np.argsort(strata, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(strata, minlength=n + 1))])
        weights, parts = near.weights, []
        for at, some in enumerate(numbers):
            inside = order[ends[at] : ends[at + 1]] if ends[at] < ends[at + 1] else order
            of_these = weights[inside] / weights[inside].sum()
            parts.append(near.particles[inside[resampled(of_these, int(some), self._uniform(1)[0])]])
        particles = np.concatenate(parts)
        told = np.repeat(np.append(counted.told, -1), numbers)
        _set_into(particles, told, counted.leaves)
        return self._moved(particles, coefficients), np.repeat(np.log(masses / numbers), numbers)

    def _learn_prior(self) -> bool:
        """One step of EM for mean and scale of the coefficients of pairs, and for the scale of those of leaves; whether
        scales changed little.
        """
        likelihood, pull = self._likelihood
        inverse = np.linalg.inv(likelihood + np.diag(1 / self._variances))
        mode, variance = inverse @ (pull + self._start / self._variances), np.diag(inverse)
        moved = 0.0
        for name, part in (("pairs", self._of_pairs), ("leaves", self._of_leaves)):
            if part.start == part.stop:
                continue
            around, old = (mode[part] - self._start[part]) ** 2 + variance[part], self._scales[name]
            freedom = (_FREEDOM + 1) / (_FREEDOM + around / old)
            new = float(np.clip(np.mean(freedom * around), _LEAST_SCALE**2, _MOST_SCALE**2))
            if name == "pairs":
                self._start[part] = freedom @ mode[part] / freedom.sum()
            self._scales[name], self._variances[part] = new, new / freedom
            moved = max(moved, abs(float(np.log(new / old))))
        return moved < 0.1

    def _steps(
        self, coefficients: Floats, features: npt.NDArray[np.float32], logs: Floats,
        numbers: Floats | None = None, most: int = _INNER,
    ) -> tuple[Floats, Floats, bool, Floats]:  # fmt: skip
        """Gauss-Newton steps with these particles, of which each stands for a number, as long as weights stay even."""
        numbers = np.ones(len(logs)) if numbers is None else numbers
        measured = self._measured(features)
        is_near = False
        for _ in range(most):
            if self._is_over is not None and self._is_over.is_set():
                raise FitAbandonedError
            weights = weights_of(logs)
            means, plain = weights @ measured, weights @ features
            moves = self._products(features, weights) - np.outer(means, plain)
            step, more, precision = self._step(coefficients, means, moves)
            change = features @ step.astype(np.float32)
            change = (change - weights @ change).astype(float)
            length = float(np.sqrt(weights @ change**2))
            part = min(1.0, _STEP / max(length, 1e-12))
            now = self._misfit(coefficients, self._n_records, means)
            while part > 1e-3:
                if _effective(logs + part * change, numbers) >= _EFFECTIVE:
                    there = weights_of(logs + part * change) @ measured
                    if self._misfit(coefficients + part * step, self._n_records + part * more, there) <= now:
                        break
                part /= 2
            coefficients, logs = coefficients + part * step, logs + part * change
            self._n_records += part * more
            is_near = part == 1.0 and _effective(logs, numbers) > 2 * _EFFECTIVE
            if _effective(logs, numbers) < 1.5 * _EFFECTIVE or length < 0.02:
                break
        return coefficients, logs, is_near, precision

    def _misfit(self, coefficients: Floats, number: float, means: Floats) -> float:
        """Minus the logarithm of the posterior, up to a constant: no step goes where it is larger."""
        known = self._known
        errors = known.values - number * means
        beside = (coefficients - self._start) ** 2 / self._variances
        of_number = (number - known.n_records) / known.n_deviation
        return float((errors**2 / known.variances).sum() + beside.sum() + of_number**2) / 2

    def _step(self, coefficients: Floats, means: Floats, moves: Floats) -> tuple[Floats, float, Floats]:
        """A step of the coefficients and of the number of records, and the precision of the former alone.

        Of what is jointly normal with precision [[A, b], [b', c]] the second is -b' x / c on average, where the first
        is x, with variance 1 / c.
        """
        known, number = self._known, self._n_records
        slopes = np.column_stack([number * moves, means])
        likelihood = (slopes.T / known.variances) @ slopes
        gradient = slopes.T @ ((known.values - number * means) / known.variances)
        likelihood[-1, -1] += 1 / known.n_deviation**2
        gradient[-1] += (known.n_records - number) / known.n_deviation**2
        before = np.append((coefficients - self._start) / self._variances, 0.0)
        step = np.linalg.solve(likelihood + np.diag(np.append(1 / self._variances, 0.0)), gradient - before)
        cross = likelihood[:-1, -1] / likelihood[-1, -1]
        alone = likelihood[:-1, :-1] - np.outer(cross, likelihood[-1, :-1])
        self._number_given = -cross, float(likelihood[-1, -1] ** -0.5)
        self._likelihood = alone, alone @ coefficients + gradient[:-1] - cross * gradient[-1]
        return step[:-1], float(step[-1]), alone + np.diag(1 / self._variances)

    def _features(self, particles: Particles) -> npt.NDArray[np.float32]:
        """Literals, pairs, the group of the number of literals and the leaf, of each particle."""
        m, plain = self._m, particles.astype(np.float32)
        features = np.zeros((len(particles), self._n), np.float32)
        features[:, :m] = plain
        np.multiply(plain[:, self._pairs[0]], plain[:, self._pairs[1]], out=features[:, self._of_pairs])
        groups = self._known.groups[particles.sum(axis=1, dtype=np.int64)]
        features[np.arange(len(particles)), self._of_groups.start + groups] = 1.0
        counted = self._known.counted
        if counted is not None:
            leaves = counted.features[counted.leaves.of(words_of(particles))]
            told = np.flatnonzero(leaves >= 0)
            features[told, self._of_leaves.start + leaves[told]] = 1.0
        return features

    def _measured(self, features: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The same as records add it, bounded."""
        result = features.copy()
        result[:, : self._of_pairs.stop] *= self._added(features)[:, None].astype(np.float32)
        return result

    def _added(self, features: npt.NDArray[np.float32]) -> Floats:
        """What a record adds to each of its literals and pairs, by particle."""
        held = np.rint(features[:, : self._m].sum(axis=1)).astype(np.int64)
        return np.asarray(self._known.weights[held])

    def _products(self, features: npt.NDArray[np.float32], weights: Floats) -> Floats:
        """Weighted sums of products of what is measured with all features.

        Of literals and pairs these are X'X with rows scaled by a root, which takes half the work.
        """
        n = self._of_pairs.stop
        added = self._added(features) * weights
        bounded, plain, roots = (part.astype(np.float32)[:, None] for part in (added, weights, np.sqrt(added)))

        def of_rows(part: tuple[int, int]) -> npt.NDArray[np.float32]:
            rows = slice(*part)
            some, others = features[rows, :n], features[rows, n:]
            scaled = some * roots[rows]
            inner = scaled.T @ scaled
            return np.block([[inner, (some * bounded[rows]).T @ others], [(others * plain[rows]).T @ features[rows]]])

        total = np.zeros((features.shape[1],) * 2)
        for found in parallel_map(of_rows, list(slices(len(features), _PARTICLES_A_CALL))):
            total += found
        return total

    def _moved(self, particles: Particles, coefficients: Floats) -> Particles:
        """Particles after some sweeps of Gibbs sampling."""
        m, counted = self._m, self._known.counted
        couplings = np.zeros((m, m))
        couplings[self._pairs] = coefficients[self._of_pairs]
        couplings += couplings.T
        by_size = coefficients[self._of_groups][self._known.groups]
        leaves = NO_LEAVES if counted is None else counted.leaves
        told = np.full(len(leaves), False) if counted is None else counted.features >= 0
        tree = (leaves.asks, leaves.goes, leaves.masks, told)
        for start, stop in slices(len(particles), _PARTICLES_A_CALL):
            words = self._stream.words((stop - start) * m * _SWEEPS)
            gibbs(particles[start:stop], coefficients[:m].copy(), couplings, by_size, *tree, words, _SWEEPS)
        return particles

    def _uniform(self, shape: int | tuple[int, ...]) -> Floats:
        words = self._stream.words(int(np.prod(shape)))
        return np.asarray((words >> np.uint64(11)) * 2.0**-53).reshape(shape)


def _set_into(particles: Particles, told: LeafPlaces, leaves: Leaves) -> None:
    """Give particles the literals of the leaf that each is to be in, where there is one."""
    masks, values = leaves.masks[told], leaves.values[told]
    for literal in range(particles.shape[1]):
        bit = np.uint64(literal)
        asked = (told >= 0) & ((masks >> bit & np.uint64(1)) > 0)
        particles[asked, literal] = (values[asked] >> bit & np.uint64(1)).astype(np.uint8)


def _effective(logs: Floats, numbers: Floats) -> float:
    """The share of particles that weights leave in effect, where each stands for a number of them."""
    weights = np.exp(logs - logs.max())
    return float(weights.sum() ** 2 / (weights @ (weights / numbers)) / numbers.sum())


def _merged(particles: Particles) -> tuple[Particles, Floats]:
    """Particles that are alike once, with their numbers."""
    _, first, numbers = np.unique(words_of(particles), return_index=True, return_counts=True)
    return particles[first], numbers.astype(float)


def _resampled(particles: Particles, logs: Floats, offset: float) -> Particles:
    return particles[resampled(weights_of(logs), _PARTICLES, offset)]


def _inverse_root(precision: Floats) -> Floats:
    """R with R R' the inverse."""
    lower = np.linalg.cholesky(precision)
    return np.asarray(np.linalg.inv(lower).T)
