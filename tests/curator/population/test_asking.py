"""Itemsets that are asked about: what all learn from answers, against the joint normal law, and who is asked."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chi2

from bosket.counting.base import ItemsetRows
from bosket.curator.population import kriging
from bosket.curator.population.asking import asked
from bosket.curator.population.kriging import wrong
from bosket.curator.population.literals import Literals
from bosket.curator.population.particles import Number, Population
from bosket.curator.population.search import FittedItemsets, PopulationSearch, Relations
from bosket.statistics.estimates import Floats
from tests.stats import assert_plausible, assert_rejected

N, DRAWS, LIMIT = 40, 64, 0.4


@dataclass
class Answering:
    """Answers about itemsets of one item, whose true shares are known; and who was asked."""

    truth: Floats
    noise: Floats
    each: float
    """Standard deviation of the noise, if one is asked about."""
    more: float = 0.0
    """By what part there are more records than is known."""
    asked: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def deviation(self, m: int) -> float:
        return self.each * m

    def of(self, rows: ItemsetRows, m: int) -> Floats:
        places = rows[:, 0].tolist()
        start = len(self.asked)
        self.asked += places
        self.numbers.append(m)
        noise = self.deviation(m) * self.noise[start : start + len(places)]
        return np.asarray(self.truth[places] + (self.truth[places] - 0.5) * self.more + noise)


def correlations(rows: ItemsetRows, others: ItemsetRows) -> Floats:
    """Of itemsets that have nothing in common as records have them."""
    return np.asarray(rows[:, :1] == others[:, 0], float)


APART = Relations(correlations, np.zeros(DRAWS), 0.0)


def known(seed: int, n: int = N) -> tuple[FittedItemsets, npt.NDArray[np.float64]]:
    """Itemsets of one item near the limit whose errors have much in common, and the covariance of their errors."""
    rng = np.random.default_rng(seed)
    mean = LIMIT + rng.normal(0, 0.02, n)
    draws = (rng.normal(size=(n, 3)) @ rng.normal(size=(3, DRAWS)) * 0.01).astype(np.float32)
    misfit, bias = rng.uniform(0.002, 0.008, n), rng.normal(0, 0.004, n)
    covariance = draws.astype(float) @ draws.T.astype(float) / DRAWS + np.outer(bias, bias) + np.diag(misfit**2)
    own = np.hypot(misfit, bias)
    part = FittedItemsets(
        np.arange(n, dtype=np.int32)[:, None], mean, np.sqrt(np.diag(covariance)), draws, own, bias
    )  # fmt: skip
    return part, covariance


def conditioned(
    part: FittedItemsets, covariance: npt.NDArray[np.float64], relations: Relations, answers: Answering, values: Floats
) -> tuple[Floats, Floats]:
    """The joint normal law of shares, of the part by which there are more records, and of answers, one after the other
    (Kalman).
    """
    mean, n = part.mean, len(part.mean)
    with_number = part.draws.astype(float) @ relations.number / DRAWS
    of_number = relations.number @ relations.number / DRAWS + relations.number_own**2
    whole = np.block([[covariance, with_number[:, None]], [with_number, np.array([[of_number]])]])
    state = np.append(mean, 0.0)
    for place, value in zip(answers.asked, values, strict=True):
        row = np.zeros(n + 1)
        row[place], row[-1] = 1.0, mean[place] - 0.5
        scale = row @ whole @ row + answers.deviation(answers.numbers[0]) ** 2
        gain = whole @ row / scale
        state = state + gain * (value - row @ state)
        whole = whole - np.outer(gain, row @ whole)
    return state[:-1], np.sqrt(np.diag(whole)[:-1])


def drawn(seed: int, own: float, with_draws: float) -> Relations:
    rng = np.random.default_rng(1000 + seed)
    return Relations(correlations, with_draws * rng.normal(size=DRAWS), own)


@pytest.mark.parametrize(("own", "with_draws"), [(0.0, 0.0), (0.02, 0.0), (0.005, 0.02)])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_known_afterwards_is_the_joint_normal_law(
    monkeypatch: pytest.MonkeyPatch, seed: int, own: float, with_draws: float
) -> None:
    """Where what pairs do not tell is as thought, and nothing is made up for."""
    monkeypatch.setattr(kriging, "_SCALES", (1.0,))
    monkeypatch.setattr(kriging.Kriging, "_seen", lambda self, drawn, inverse: 1.0)
    part, covariance = known(seed)
    relations = drawn(seed, own, with_draws)
    rng = np.random.default_rng(100 + seed)
    truth = part.mean + np.linalg.cholesky(covariance) @ rng.normal(size=N)
    answers = Answering(truth, rng.normal(size=N), 2e-4, 0.01)
    (after,) = asked([part], LIMIT, relations, answers, most=16)
    assert len(answers.asked) == answers.numbers[0] > 1
    values = Answering(truth, answers.noise, 2e-4, 0.01).of(part.places[answers.asked], answers.numbers[0])
    mean, deviation = conditioned(part, covariance, relations, answers, values)
    is_touched = wrong(part.mean - LIMIT, part.deviation) > 0.0005
    assert after.mean[is_touched] == pytest.approx(mean[is_touched], abs=1e-6)
    wider = after.deviation[is_touched] / deviation[is_touched]
    assert wider == pytest.approx(np.full(is_touched.sum(), wider[0]), rel=1e-3), "one factor for all"
    assert 1 - 1e-6 < wider[0] < 2
    assert (after.mean == part.mean)[~is_touched].all()
    assert (after.deviation == part.deviation)[~is_touched].all()
    of_draws = (after.draws.astype(float) ** 2).mean(axis=1) + after.own**2
    assert np.sqrt(of_draws) == pytest.approx(after.deviation, rel=1e-3), "draws and the rest are the deviation"


@pytest.mark.slow
def test_deviations_are_those_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares that were not asked about, over 400 populations: squared errors in deviations are one on average, where
    they are as the covariance says; and a twin that takes the deviations from before is rejected.  What few draws leave
    is not made up for here, as errors have just the covariance of the draws.
    """
    monkeypatch.setattr(kriging.Kriging, "_seen", lambda self, drawn, inverse: 1.0)
    squares, before = [], []
    for seed in range(400):
        part, covariance = known(seed)
        rng = np.random.default_rng(10_000 + seed)
        truth = part.mean + np.linalg.cholesky(covariance) @ rng.normal(size=N)
        answers = Answering(truth, rng.normal(size=N), 2e-4)
        (after,) = asked([part], LIMIT, APART, answers, most=16)
        free = np.setdiff1d(np.flatnonzero(wrong(part.mean - LIMIT, part.deviation) > 0.0005), answers.asked)
        at = int(rng.choice(free))  # one of each, so that they are independent
        squares.append(((truth[at] - after.mean[at]) / after.deviation[at]) ** 2)
        before.append(((truth[at] - after.mean[at]) / part.deviation[at]) ** 2)
    # factors of variances are 1 or more, 1.1 on average: a sum that is too small is no fault
    assert_plausible(float(chi2.sf(sum(squares), len(squares))))
    assert 0.75 < np.mean(squares) < 1.25
    assert_rejected(float(chi2.cdf(sum(before), len(before))))


@pytest.mark.parametrize("seed", range(3))
def test_what_pairs_do_not_tell_is_learned_from_answers(seed: int) -> None:
    """Where it is three times as much as was thought, and not where it is as much."""
    part, covariance = known(seed, 200)
    misfit = np.diag(np.maximum(part.own**2 - part.bias**2, 0.0))
    rng = np.random.default_rng(20 + seed)
    scales = []
    for times in (1.0, 3.0):
        root = np.linalg.cholesky(covariance + (times**2 - 1) * misfit)
        answers = Answering(part.mean + root @ rng.normal(size=200), rng.normal(size=200), 2e-5)
        (after,) = asked([part], LIMIT, APART, answers, most=64)
        assert set(answers.numbers) == {64}
        free = np.setdiff1d(np.flatnonzero(wrong(part.mean - LIMIT, part.deviation) > 0.01), answers.asked)
        errors = (answers.truth - after.mean)[free] / after.deviation[free]
        # the mean of some 120 squares, deviation .13 if they are independent; what tells the scales apart is below
        assert 0.5 < float((errors**2).mean()) < 1.7
        every = kriging.Kriging.of([part], APART)
        told = kriging.ToldShares(
            np.array(answers.asked), answers.truth[answers.asked] - part.mean[answers.asked], 1e-8
        )
        scales.append(float(every.as_surprised(told).misfit[0] / every.misfit[0]))
    assert scales[0] < 1.5
    assert 2.0 < scales[1] < 4.0


def test_answers_that_are_far_off_widen_all() -> None:
    """Truths three times as far from what is believed as that says: deviations grow, by less than they should."""
    part, covariance = known(3)
    rng = np.random.default_rng(7)
    off = np.linalg.cholesky(covariance) @ rng.normal(size=N)
    right, wide = (Answering(part.mean + times * off, rng.normal(size=N), 2e-4) for times in (1, 6))
    (as_said,) = asked([part], LIMIT, APART, right, most=16)
    (wider,) = asked([part], LIMIT, APART, wide, most=16)
    assert np.median(wider.deviation / as_said.deviation) > 1.5


def test_what_is_decided_is_neither_asked_about_nor_changed() -> None:
    part, _ = known(1)
    far = FittedItemsets(part.places, part.mean + 0.5, part.deviation, part.draws, part.own, part.bias)
    answers = Answering(part.mean, np.zeros(N), 1e-4)
    assert asked([far], LIMIT, APART, answers, most=16) == [far]
    assert not answers.asked, "nothing is paid"
    assert asked([], LIMIT, APART, answers, most=16) == []


def test_one_error_in_common_needs_one_question() -> None:
    """Where all are off by the same, and noise grows with the number asked about."""
    n = 30
    mean, draws = LIMIT + np.linspace(-0.01, 0.01, n), np.tile(0.02, (n, DRAWS)).astype(np.float32)
    draws[:, ::2] *= -1
    own = np.full(n, 1e-4)
    part = FittedItemsets(np.arange(n, dtype=np.int32)[:, None], mean, np.hypot(0.02, own), draws, own, np.zeros(n))
    answers = Answering(mean + 0.015, np.zeros(n), 0.002)
    (after,) = asked([part], LIMIT, APART, answers, most=n)
    assert answers.numbers == [1]
    assert after.mean == pytest.approx(mean + 0.015, abs=1e-3), "all learn from one"


def test_many_errors_need_many_questions() -> None:
    """Where each is off for itself, more are asked about the less noise there is, no more than are allowed.

    All are a deviation above the limit, so that answers with much noise would change no decision.
    """
    n = 64
    mean, own = np.full(n, LIMIT + 0.02), np.full(n, 0.02)
    part = FittedItemsets(
        np.arange(n, dtype=np.int32)[:, None], mean, own, np.zeros((n, DRAWS), np.float32), own, np.zeros(n)
    )
    numbers = []
    for each in (0.05, 2e-3, 1e-5):
        answers = Answering(mean, np.zeros(n), each)
        asked([part], LIMIT, APART, answers, most=48)
        assert len(set(answers.asked)) == len(answers.asked) == answers.numbers[0]
        numbers.append(answers.numbers[0])
    assert numbers[0] < numbers[1] < numbers[2] == 48


def test_sizes_stay_apart() -> None:
    """Itemsets of two sizes are read together and given back as they came."""
    one, _ = known(5)
    places = np.column_stack([np.arange(N), np.arange(N) + 1]).astype(np.int32)
    two = FittedItemsets(places, one.mean + 0.001, one.deviation, one.draws, one.own, one.bias)
    answers = Answering(one.mean, np.zeros(2 * N), 1e-4)
    none = Relations(lambda rows, others: np.zeros((len(rows), len(others))), np.zeros(DRAWS), 0.0)
    left, right = asked([one, two], LIMIT, none, answers, most=8)
    assert (left.places == one.places).all()
    assert (right.places == two.places).all()
    assert (left.mean != one.mean).any()
    assert (right.mean != two.mean).any()


def test_correlations_are_those_of_the_records_of_the_population() -> None:
    """Three literals, one complemented, eight weighed patterns; by definition."""
    particles = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], np.uint8)
    logs = np.log(np.array([8.0, 1, 2, 4, 3, 5, 1, 6]))
    features = particles.astype(np.float32)
    number = Number(1000.0, np.zeros(3), 1.0)
    population = Population(particles, logs, features, np.eye(3), np.zeros(3), np.zeros(3), np.ones(3), number)
    literals = Literals(np.arange(3, dtype=np.int32), np.array([False, True, False]))
    search = PopulationSearch(population, literals, 0.014, 100, 3)
    sets = [(0,), (1,), (0, 1), (1, 2), (0, 1, 2)]
    rows = np.array([[*one, *[-1] * (3 - len(one))] for one in sets], np.int32)
    holds = particles.astype(bool) ^ literals.complemented
    columns = np.array([holds[:, list(one)].all(axis=1) for one in sets], float)
    covariance = np.cov(columns, aweights=population.weights, bias=True)
    scale = np.sqrt(np.diag(covariance))
    assert search.correlations(rows, rows[:3]) == pytest.approx((covariance / np.outer(scale, scale))[:, :3], abs=1e-5)


@pytest.mark.parametrize("noise", [2e-4, 2e-3])
def test_what_few_draws_leave_is_made_up_for(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of 200 independent parts and of each itemset by itself, of which 64 draws tell the covariance; 24 answers.

    Squared errors, in deviations, are one on average, of itemsets that were asked about and of others (600 of each, a
    deviation of .06); twins that take what is left of draws for what is left, or make up for half as much in
    logarithms, or half as much again, are told from it.
    """
    others: dict[float, list[float]] = {0.0: [], 0.5: [], 1.0: [], 1.5: []}  # by the power of what is made up for
    asked_about = []
    own_seen = kriging.Kriging._seen
    monkeypatch.setattr(kriging, "_PRIOR", 1e9)  # nothing is made of how far off answers are
    for seed in range(600):
        rng = np.random.default_rng(seed)
        parts = rng.normal(size=(N, 200)) * 7e-4
        draws = (parts @ rng.normal(size=(200, DRAWS))).astype(np.float32)
        own = np.full(N, 1e-3)
        mean, none = np.full(N, LIMIT), np.zeros(N)
        deviation = np.sqrt((draws.astype(float) ** 2).mean(axis=1) + own**2)
        part = FittedItemsets(np.arange(N, dtype=np.int32)[:, None], mean, deviation, draws, own, none)
        errors = parts @ rng.normal(size=200) + own * rng.normal(size=N)
        places = np.arange(24)
        told = kriging.ToldShares(places, errors[places] + rng.normal(0, noise, 24), noise**2)
        every = kriging.Kriging.of([part], APART)
        at = int(rng.integers(24, N))  # one of each, so that they are independent
        for power, squares in others.items():
            monkeypatch.setattr(
                kriging.Kriging, "_seen", lambda self, drawn, inverse, p=power: own_seen(self, drawn, inverse) ** p
            )
            (after,) = every.learned(told, np.arange(N), [part])
            off = ((errors - (after.mean - mean)) / after.deviation) ** 2
            squares.append(float(off[at]))
            if power == 1.0:
                asked_about.append(float(off[int(rng.integers(24))]))
    assert 0.8 < np.mean(others[1.0]) < 1.2
    assert 0.8 < np.mean(asked_about) < 1.2
    assert np.mean(others[0.0]) > np.mean(others[0.5]) > 1.2
    assert np.mean(others[1.5]) < 0.8
