"""Laws fitted to reports that may come from any cell: bits of a table, each with its own coin."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import optimize

import bosket as bk
from bosket.evidence import FittedEvidence, evidence_of
from bosket.models.loglinear import FeatureBasis, Likelihood, fit
from bosket.models.weighed import MOST_CHANCES, FlippedBits, weighed_by
from tests.evidence.test_fitted import a_table

SIZES = (2, 3, 2)
N_BITS = sum(SIZES)


def all_bits(seed: int = 1) -> FlippedBits:
    """Every report of seven bits once or a few times, each bit with coins of its own."""
    rng = np.random.default_rng(seed)
    words = np.arange(1 << N_BITS, dtype=np.uint64)[:, None]
    present, absent = rng.uniform(0.6, 0.9, N_BITS), rng.uniform(0.1, 0.4, N_BITS)
    return FlippedBits(SIZES, words, rng.integers(1, 9, 1 << N_BITS), present, absent)


def chance(bits: FlippedBits, report: int, values: tuple[int, ...], attributes: tuple[int, ...]) -> float:
    """Of the bits of some attributes where a record has these values, bit by bit."""
    found, offsets = 1.0, np.append(0, np.cumsum(SIZES))
    for at, value in zip(attributes, values, strict=True):
        for v in range(SIZES[at]):
            p = float((bits.present if v == value else bits.absent)[offsets[at] + v])
            found *= p if report >> int(offsets[at] + v) & 1 else 1 - p
    return found


@pytest.mark.parametrize("block", [(0, 1, 2), (0, 2), (1,)])
def test_chances_are_those_of_the_bits(block: tuple[int, ...]) -> None:
    """Of every report, seen from some attributes: the same law of cells as by the coins, one by one."""
    bits = all_bits()
    seen = bits.seen_from(block)
    assert seen.n == bits.shown.sum()
    cells = list(product(*(range(SIZES[at]) for at in block)))
    law = np.random.default_rng(2).dirichlet(np.ones(len(cells)))
    by_definition: dict[tuple[int, ...], tuple[int, np.ndarray]] = {}
    for report, number in enumerate(bits.shown.tolist()):
        likely = np.array([chance(bits, report, values, block) for values in cells])
        kept = tuple(report >> item & 1 for at in block for item in _items(at))
        before = by_definition.get(kept, (0, likely))
        by_definition[kept] = (before[0] + number, likely)
    expected = sorted((number, *(likely * law / (likely @ law)).round(9)) for number, likely in by_definition.values())
    rows = [seen.gathered(np.diag(law))[at] for at in range(len(seen.shown))]
    found = sorted((int(n), *(row / row.sum()).round(9)) for n, row in zip(seen.shown, rows, strict=True))
    np.testing.assert_allclose(found, expected, atol=1e-8)


def _items(attribute: int) -> range:
    start = sum(SIZES[:attribute])
    return range(start, start + SIZES[attribute])


def test_slopes_and_the_mode_are_those_of_other_ways() -> None:
    likelihood = Likelihood(SIZES, [all_bits().seen_from((0, 1, 2))])
    basis = FeatureBasis(likelihood, 2)
    c = np.random.default_rng(3).normal(0, 0.2, basis.n_terms)
    slopes = basis.slopes(basis.law(c))
    for at in range(basis.n_terms):
        step = np.zeros(basis.n_terms)
        step[at] = 1e-6
        by_difference = (likelihood.given(basis.law(c + step)) - likelihood.given(basis.law(c - step))) / 2e-6
        np.testing.assert_allclose(slopes[:, at], by_difference, atol=1e-8)
    found = fit(likelihood, 2)
    precision = np.repeat(1 / found.scales, found.basis.dims)

    def loss(at: np.ndarray) -> float:
        return float(0.5 * precision @ at**2 - likelihood.log(basis.law(at)))

    other = optimize.minimize(loss, found.coefficients, method="BFGS")
    assert loss(found.coefficients) <= other.fun + 0.02
    np.testing.assert_allclose(found.law, basis.law(other.x), atol=0.01)


def test_information_at_hand_is_that_expected_where_reports_come_as_expected() -> None:
    """n(z) = N sum of L theta: then the two are one number, summed over all reports that could have come."""
    bits = all_bits()
    law = np.random.default_rng(4).dirichlet(np.ones(math.prod(SIZES)))
    cells = list(product(*map(range, SIZES)))
    chances = np.array([[chance(bits, r, values, (0, 1, 2)) for values in cells] for r in range(1 << N_BITS)])
    np.testing.assert_allclose(chances.sum(axis=0), 1)
    shown = 1e6 * chances @ law
    likelihood = Likelihood(SIZES, [weighed_by(SIZES, shown, chances)])
    slopes = FeatureBasis(likelihood, 2).slopes(law)
    given = likelihood.given(law)
    np.testing.assert_allclose(likelihood.information(given), 1e6 / given)
    expected = 1e6 * (slopes.T / given) @ slopes
    np.testing.assert_allclose((slopes.T * likelihood.information(given)) @ slopes, expected)


@pytest.mark.slow
def test_flipped_tables_through_a_law() -> None:
    """With smaller errors than by weights from the same reports, and intervals that hold the truth."""
    table = a_table(20_000)
    reports = bk.Flip(keep=0.75).randomize(table, rng=bk.Seeded(1))
    itemsets = [set(itemset) for itemset, _ in bk.mine(table, min_support=0.05)]
    truth = bk.estimate(table, itemsets).value
    law = bk.estimate(reports, itemsets, model=bk.LogLinear(2))
    by_weights = np.abs(bk.estimate(reports, itemsets, model=None).value - truth)
    assert np.abs(law.value - truth).mean() < by_weights.mean() / 2
    low, high = law.interval(0.95).T
    assert np.mean((low <= truth) & (truth <= high)) > 0.9
    tally = bk.Tally.of(reports)
    np.testing.assert_allclose(bk.estimate(tally, itemsets, model=bk.LogLinear(2)).value, law.value, rtol=1e-9)
    assert isinstance(evidence_of(reports), type(evidence_of(reports, model=None)))  # on request alone


def test_flipped_tables_of_many_cells_have_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    table = a_table(3000)
    reports = bk.Flip(keep=0.85).randomize(table, rng=bk.Seeded(1))
    pairs = [{"a=1", "b=1"}, {"c=1", "d=2"}]
    whole = bk.estimate(reports, pairs, model=bk.LogLinear(2))
    monkeypatch.setattr("bosket.evidence.laws.FEW_CHANCES", 100 * len(np.unique(reports.batch["report"], axis=0)))
    evidence = evidence_of(reports, model=bk.LogLinear(2))
    assert isinstance(evidence, FittedEvidence)
    assert len(evidence.blocks) > 1
    parts = bk.estimate(evidence, pairs)
    assert (np.abs(parts.value - whole.value) < 1.5 * whole.stderr).all()


def test_too_many_chances_are_refused() -> None:
    words = np.arange(MOST_CHANCES // 2**12 + 1, dtype=np.uint64)[:, None]
    many = FlippedBits((2,) * 12, words, np.ones(len(words), np.int64), np.full(24, 0.9), np.full(24, 0.1))
    with pytest.raises(bk.ParameterError, match="different reports"):
        many.seen_from(tuple(range(12)))


@pytest.mark.slow
def test_intervals_of_flipped_tables_cover() -> None:
    table = a_table(20_000, third=0.25)
    itemsets = [set(itemset) for itemset, _ in bk.mine(table, min_support=0.02)]
    truth = bk.estimate(table, itemsets).value
    covered = []
    for seed in range(20):
        reports = bk.Flip(keep=0.75).randomize(table, rng=bk.Seeded(seed))
        low, high = bk.estimate(reports, itemsets, model="log-linear").interval().T
        covered.append(((low <= truth) & (truth <= high)).mean())
    assert np.mean(covered) >= 0.93
