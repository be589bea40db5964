"""Tables of named itemsets: against supports, against enumeration, and the delta method against the bootstrap."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bosket as bk
from bosket.measures import CATALOGUE
from bosket.measures.many import MANY_WAY
from tests.oracles import Floats

SMOOTH = [name for name, record in CATALOGUE.items() if record.gradient is not None]


def baskets(n: int = 30_000, seed: int = 5) -> bk.Baskets:
    """Eight items in groups that go together, and groups that do so a little."""
    rng = np.random.default_rng(seed)
    group = rng.random((n, 4)) < [0.05, 0.15, 0.3, 0.4] + 0.55 * (rng.random((n, 1)) < 0.4)
    has = group[:, [0, 0, 1, 1, 2, 2, 3, 3]] ^ (rng.random((n, 8)) < [0.1, 0.3, 0.2, 0.3, 0.15, 0.3, 0.4, 0.45])
    return bk.Baskets([np.flatnonzero(row).tolist() for row in has], items=range(8))


def table(n: int = 40_000, seed: int = 5) -> bk.Table:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.5, a, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < 0.4, b % 2, rng.integers(0, 2, n))
    return bk.Table.from_frame(pd.DataFrame({"a": a.astype(str), "b": b.astype(str), "c": c.astype(str)}))


MECHANISMS = [bk.Flip(keep=0.85), bk.CutAndPaste(cutoff=7, insert=0.08), bk.GammaDiagonal(gamma=60)]


def reports_of(mechanism: bk.Mechanism) -> bk.Reports:
    data = table() if mechanism.name == "gamma_diagonal" else baskets()
    return mechanism.randomize(data, rng=bk.Seeded(11))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("sampling", [False, True])
def test_cells_and_their_covariance_are_those_of_supports(mechanism: bk.Mechanism, sampling: bool) -> None:
    reports = reports_of(mechanism)
    labels = reports.domain.labels
    first, second = {labels[0]}, {labels[3], labels[-1]}
    found = bk.contingency(reports, first, second, sampling=sampling)
    supports = bk.estimate(reports, [first | second, first, second], sampling=sampling)
    x, a, c = supports.value
    np.testing.assert_allclose(found.value, [[1 - a - c + x, c - x], [a - x, x]], atol=1e-12)
    to_cells = np.array([[1, -1, -1], [-1, 0, 1], [-1, 1, 0], [1, 0, 0]])
    np.testing.assert_allclose(found.covariance, to_cells @ supports.covariance @ to_cells.T, atol=1e-14)
    np.testing.assert_allclose(found.stderr.ravel() ** 2, np.diag(found.covariance))


def test_three_sides() -> None:
    """Who has which of three sides, counted by hand on raw data; cells add up to 1 and covariances to 0."""
    data = baskets(2000)
    found = bk.contingency(data, {0}, {2, 3}, {5}, sampling=True)
    records = list(map(frozenset, data))
    for i, j, k in itertools.product((0, 1), repeat=3):
        count = sum(({0} <= r) == i and ({2, 3} <= r) == j and ({5} <= r) == k for r in records)
        assert found.value[i, j, k] == pytest.approx(count / 2000)
    np.testing.assert_allclose(found.covariance.sum(axis=0), 0, atol=1e-15)
    p = found.value.ravel()
    np.testing.assert_allclose(found.covariance, (np.diag(p) - np.outer(p, p)) / 2000, atol=1e-15)


def _sides(reports: bk.Reports, rng: np.random.Generator) -> tuple[set[object], set[object]]:
    """A random rule: one or two items on either side, of different attributes."""
    domain = reports.domain
    while True:
        chosen = rng.permutation(len(domain))[: rng.integers(2, 4)]
        if domain.groups is None or len(set(domain.groups[chosen].tolist())) == len(chosen):
            labels = [domain.labels[item] for item in chosen]
            return set(labels[:1]), set(labels[1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "sampling"),
    [
        pytest.param(mechanism, sampling, marks=() if sampling and number != 1 else pytest.mark.slow)
        for number, mechanism in enumerate(MECHANISMS)
        for sampling in (False, True)
    ],
    ids=str,
)
def test_delta_method_is_the_bootstraps(mechanism: bk.Mechanism, sampling: bool) -> None:
    """Standard errors of every measure within 5% of the parametric bootstrap's, on 50 random rules with cells above 50.

    Each measure on 50 rules where it carries no caution; 20 000 replicates have an error of 0.5% themselves.
    """
    reports = reports_of(mechanism)
    rng = np.random.default_rng(3)
    compared = dict.fromkeys(SMOOTH, 0)
    n_rules = 0
    while min(compared.values()) < 50:
        found = bk.contingency(reports, *_sides(reports, rng), sampling=sampling)
        if found.value.min() * found.n_records < 50:
            continue
        n_rules += 1
        assert n_rules < 200, compared
        replicates = found.replicates(20_000, rng=bk.Seeded(n_rules))
        for name in (name for name in SMOOTH if compared[name] < 50):
            estimate = found.measure(name)
            if not estimate.is_trusted or np.isinf(estimate.value):
                continue
            assert estimate.stderr == pytest.approx(replicates.of(name).stderr, rel=0.05, abs=1e-12), name
            compared[name] += 1


@pytest.mark.slow
def test_bootstrap_intervals_are_near_the_default_ones() -> None:
    found = bk.contingency(reports_of(MECHANISMS[0]), {0}, {1}, sampling=True)
    for name in ("lift", "confidence", "correlation", "odds_ratio", "chi_squared"):
        estimate = found.measure(name)
        low, high = found.bootstrap(name, replicates=20_000, rng=bk.Seeded(1)).interval()
        assert low == pytest.approx(estimate.low, abs=0.1 * (estimate.high - estimate.low))
        assert high == pytest.approx(estimate.high, abs=0.1 * (estimate.high - estimate.low))


@pytest.mark.slow
def test_the_bootstrap_draws_from_our_randomness() -> None:
    """The same tables for the same seed, others from the secure source, and from nothing else."""
    found = bk.contingency(reports_of(MECHANISMS[0]), {0}, {1})
    for sampling in (False, True):
        found = bk.contingency(reports_of(MECHANISMS[0]), {0}, {1}, sampling=sampling)
        one, same = (found.replicates(50, rng=bk.Seeded(3)).counts for _ in range(2))
        assert (one == same).all()
        assert not (found.replicates(50).counts == found.replicates(50).counts).all()
    wrong: Any = np.random.default_rng(1)
    with pytest.raises(bk.ParameterError) as caught:
        found.bootstrap("lift", rng=wrong)
    assert caught.value.parameter == "rng"


class TestManyWay:
    def by_hand(self, name: str, cells: Floats, n: int) -> float:
        """From the definitions, in loops."""
        k = cells.ndim
        share = [float(cells.sum(axis=tuple(set(range(k)) - {j}))[1]) for j in range(k)]
        everyone, nobody, product = float(cells[(1,) * k]), float(cells[(0,) * k]), float(np.prod(share))
        chi = 0.0
        for u in itertools.product((0, 1), repeat=k):
            expected = float(np.prod([s if bit else 1 - s for s, bit in zip(share, u, strict=True)]))
            chi += n * (float(cells[u]) - expected) ** 2 / expected
        values: dict[str, float] = {
            "chi_squared": chi,
            "lift": everyone / product,
            "leverage": everyone - product,
            "cosine": everyone / product ** (1 / k),
            "jaccard": everyone / (1 - nobody),
        }
        return values[name]

    @pytest.mark.parametrize("k", [3, 4])
    def test_values(self, k: int) -> None:
        reports = bk.Flip(keep=0.9).randomize(baskets(), rng=bk.Seeded(1))
        for data in (baskets(), reports):
            found = bk.contingency(data, *({item} for item in range(k)))
            for name in MANY_WAY:
                assert found.measure(name).value == pytest.approx(self.by_hand(name, found.value, found.n_records))

    def test_two_sides_are_the_measures_of_rules(self) -> None:
        cells = np.array([0.4, 0.2, 0.1, 0.3])  # none, first, second, both
        found = bk.contingency(baskets(), {0}, {1})
        pattern = found.value.transpose().ravel()
        for name, record in MANY_WAY.items():
            assert float(record.value(pattern, found.n_records)) == pytest.approx(found.measure(name).value)
            assert np.isfinite(record.value(cells, 10))

    @pytest.mark.parametrize("name", MANY_WAY)
    @pytest.mark.parametrize("k", [2, 3, 4])
    def test_gradients(self, name: str, k: int) -> None:
        """Along directions that keep the sum of cells, by complex steps."""
        rng = np.random.default_rng(k)
        record = MANY_WAY[name]
        for _ in range(20):
            cells = rng.dirichlet(np.full(1 << k, 2.0))
            direction = rng.normal(size=1 << k)
            direction -= direction.mean()
            step = record.value(cells + 1e-30j * direction, 100.0).imag / 1e-30
            assert record.gradient(cells, 100.0) @ direction == pytest.approx(float(step), rel=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
    def test_errors_are_the_bootstraps(self, mechanism: bk.Mechanism) -> None:
        reports = reports_of(mechanism)
        labels = reports.domain.labels
        sides = [{labels[0]}, {labels[3]}, {labels[-1]}]
        for sampling in (False, True):
            found = bk.contingency(reports, *sides, sampling=sampling)
            replicates = found.replicates(10_000, rng=bk.Seeded(2))
            for name in MANY_WAY:
                estimate = found.measure(name)
                if estimate.is_trusted:
                    assert estimate.stderr == pytest.approx(replicates.of(name).stderr, rel=0.06)
            assert found.measure("lift").is_trusted

    def test_chi_square_of_raw_data(self) -> None:
        """SciPy's statistic of the whole table of three items against mutual independence."""
        found = bk.contingency(baskets(3000), {0}, {2}, {4})
        statistic = stats.chi2_contingency(np.rint(found.value * 3000), correction=False).statistic
        assert found.measure("chi-squared").value == pytest.approx(statistic)

    def test_other_measures_are_of_two_sides(self) -> None:
        with pytest.raises(bk.ParameterError, match="more than two things"):
            bk.contingency(baskets(100), {0}, {1}, {2}).measure("confidence")


@pytest.mark.parametrize("sides", [[{0}], [{0}, {0, 1}], [{0}, set()], [{0}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}]])
def test_wrong_sides(sides: list[set[int]]) -> None:
    data = bk.Baskets([[1]], items=range(20))
    with pytest.raises(bk.ParameterError) as caught:
        bk.contingency(data, *sides)
    assert caught.value.parameter == "sides"


@pytest.mark.slow
def test_bootstrap_of_mixed_people_needs_sampling() -> None:
    reports = bk.Mixing(others=1, keep=0.8).randomize(baskets(500), rng=bk.Seeded(1))
    with pytest.raises(bk.ParameterError):
        bk.contingency(reports, {0}, {1}).bootstrap("lift")
    assert np.isfinite(bk.contingency(reports, {0}, {1}, sampling=True).bootstrap("lift", replicates=50).stderr)
