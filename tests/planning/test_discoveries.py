"""Itemsets that will be missed or listed by mistake, by a pilot: against simple cases and simulated studies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

import bosket as bk
from bosket import planning
from bosket.mechanisms.gamma_diagonal import GammaDiagonalChannel
from bosket.planning.joint_errors import together
from bosket.research.reproduce.frapp_data import census, health
from tests.effort import effort_within
from tests.files import benchmark_file

BASKETS = bk.Baskets([["a", "b", "c"], ["a", "b"], ["a"], ["c"], ["b", "c"], ["a", "b", "d"]] * 50)
TABLE = bk.TableDomain([bk.Attribute(name, ["no", "yes"]) for name in "abc"])


def test_without_noise_nothing_goes_wrong() -> None:
    seen = planning.foresee(bk.Flip(keep=1.0), BASKETS.domain, people=1000)
    found = planning.expected_errors(seen, BASKETS, min_support=0.3)
    truth = [sum(len(itemset) == k for itemset, _ in bk.mine(BASKETS, 0.3, max_size=3)) for k in (1, 2, 3)]
    assert found["frequent"].tolist() == truth
    assert found["false_negatives"].tolist() == [0, 0, 0]
    assert found["false_positives"].tolist() == [0, 0, 0]


def test_single_items_are_normal_tails() -> None:
    """Each item by itself, from the definition; without slack nothing is listed with a larger itemset."""
    mechanism, people, limit = bk.Flip(keep=0.7), 300, 0.3
    seen = planning.foresee(mechanism, BASKETS.domain, people=people)
    found = planning.expected_errors(seen, BASKETS, min_support=limit, slack=0.0, max_size=1)
    missed = listed = 0.0
    for label in BASKETS.domain.labels:
        support = sum(label in basket for basket in BASKETS) / BASKETS.n_records
        below = float(norm.cdf((limit - support) / np.sqrt(0.7 * 0.3 / 0.16 / people)))
        missed += below if support >= limit else 0.0
        listed += 1 - below if support < limit else 0.0
    assert found["false_negatives"][0] == pytest.approx(missed)
    assert found["false_positives"][0] == pytest.approx(listed)


@pytest.mark.parametrize(
    ("mechanism", "table"),
    [
        (bk.Flip(keep=0.8), False),
        (bk.CutAndPaste(3, 0.2), False),
        (bk.AskBaskets(epsilon=3.0, length=3), False),
        (bk.GammaDiagonal(gamma=19), True),
        (bk.Ask(bk.Design.pairs(TABLE), gamma=19), True),
    ],
    ids=str,
)
def test_more_people_make_fewer_mistakes(mechanism: bk.Mechanism, table: bool) -> None:
    cells = np.repeat(np.arange(8), [40, 10, 10, 20, 5, 5, 30, 80])
    data = bk.Table.from_cells(cells, TABLE) if table else BASKETS
    few, many = (
        planning.expected_errors(
            planning.foresee(mechanism, pilot=data, people=people), data, min_support=0.27, max_size=2
        )
        for people in (2000, 200_000)
    )
    told = [k - 1 for k in (1, 2) if planning.foresee(mechanism, pilot=data, people=1).spread(k) is not None]
    wrong = [float(one[["false_negatives", "false_positives"]].to_numpy()[told].sum()) for one in (few, many)]
    assert wrong[1] < 0.5 * wrong[0]


def test_what_is_not_mined_is_refused() -> None:
    matrix = planning.foresee(bk.Matrix.of(bk.GammaDiagonal(gamma=7), TABLE), TABLE, people=10)
    for mistakes in (planning.expected_errors, planning.simulated_errors):
        with pytest.raises(bk.ParameterError, match="not mined"):
            mistakes(matrix, bk.Table.from_cells(np.arange(8), TABLE), min_support=0.1)  # type: ignore[arg-type]


def test_another_domain_is_refused() -> None:
    seen = planning.foresee(bk.Flip(keep=0.8), bk.Domain(list("xyz")), people=10)
    with pytest.raises(bk.ParameterError) as refusal:
        planning.expected_errors(seen, BASKETS, min_support=0.1)
    assert refusal.value.parameter == "pilot"


def test_errors_of_whole_records_are_taken_together() -> None:
    """Of a pair and its two items, against the normal law of weights that are enumerated over all records."""
    cells = np.repeat(np.arange(8), [40, 10, 10, 20, 5, 5, 30, 80])
    data, people, limit, slack = bk.Table.from_cells(cells, TABLE), 400, 0.58, 1.0
    channel = bk.GammaDiagonal(gamma=5).channel(TABLE)
    assert isinstance(channel, GammaDiagonalChannel)
    pair = (1, 3)
    full = channel.transition(pair)  # of what a report shows of the two, given what a record does
    weights = [channel.weights(np.array([[item]], np.int32))[0] for item in pair]
    single = np.stack([weights[0][[0, 1, 0, 1]], weights[1][[0, 0, 1, 1]]])
    every = np.vstack([single, channel.weights(np.array([pair], np.int32))])
    has = np.stack([(data.to_bits()[:, 0] >> np.uint64(item) & np.uint64(1)) for item in pair]).astype(int)
    shares = np.bincount(has[0] + 2 * has[1], minlength=4) / data.n_records
    means = np.array([has[0].mean(), has[1].mean(), (has[0] * has[1]).mean()])
    covariance = sum(
        share * ((every * row) @ every.T - np.outer(every @ row, every @ row))
        for share, row in zip(shares, full, strict=True)
    ) / people  # fmt: skip
    rng = np.random.default_rng(1)
    drawn = rng.multivariate_normal(means, covariance, 400_000)
    error = np.sqrt(np.diag(covariance))
    kept = drawn >= limit - slack * error
    looked = kept[:, :2].all(axis=1)
    found = together(channel, np.array([pair], np.int32), shares[None, :], people=people, limit=limit, slack=slack)
    assert found.looked_at[0] == pytest.approx(looked.mean(), abs=0.01)
    assert found.looked_at[0] * found.reaches[0] == pytest.approx((looked & (drawn[:, 2] >= limit)).mean(), abs=0.01)
    assert found.looked_at[0] * found.kept[0] == pytest.approx((looked & kept[:, 2]).mean(), abs=0.01)
    apart = kept[:, 0].mean() * kept[:, 1].mean() * (drawn[:, 2] >= limit).mean()
    assert abs(found.looked_at[0] * found.reaches[0] - apart) > 0.03  # what independence would say


class TestRehearsals:
    """The same by doing it."""

    def test_without_noise_nothing_goes_wrong(self) -> None:
        seen = planning.foresee(bk.Flip(keep=1.0), BASKETS.domain, people=BASKETS.n_records)
        found = planning.simulated_errors(seen, BASKETS, min_support=0.3, studies=2)
        assert found[["false_negatives", "false_positives", "fn_stderr", "fp_stderr"]].to_numpy().sum() == 0
        assert (
            found["frequent"].tolist() == planning.expected_errors(seen, BASKETS, min_support=0.3)["frequent"].tolist()
        )

    def test_a_seed_repeats_it_and_the_mean_is_of_the_studies(self) -> None:
        seen = planning.foresee(bk.Flip(keep=0.7), BASKETS.domain, people=500)
        one, same, other = (
            planning.simulated_errors(seen, BASKETS, min_support=0.3, max_size=2, studies=3, seed=seed)
            for seed in (1, 1, 2)
        )
        assert one.equals(same)
        assert not one.equals(other)
        assert ((one["false_negatives"] * 3) % 1 == 0).all()

    def test_another_domain_is_refused(self) -> None:
        seen = planning.foresee(bk.Flip(keep=0.8), bk.Domain(list("xyz")), people=10)
        with pytest.raises(bk.ParameterError):
            planning.simulated_errors(seen, BASKETS, min_support=0.1)


def close(data: bk.Baskets | bk.Table, mechanism: bk.Mechanism, limit: float, studies: int) -> None:
    """Within 20% of the mean of simulated studies, and four standard errors of it, in itemsets of all sizes."""
    seen = planning.foresee(mechanism, data.domain, people=data.n_records)
    found = planning.expected_errors(seen, data, min_support=limit)
    done = planning.simulated_errors(seen, data, min_support=limit, studies=studies, seed=7)
    for name, error in (("false_negatives", "fn_stderr"), ("false_positives", "fp_stderr")):
        mean, spread = float(done[name].sum()), float(np.hypot.reduce(done[error]))
        assert abs(float(found[name].sum()) - mean) <= 0.2 * mean + 4 * spread
        assert spread < 0.25 * max(mean, 4.0)  # enough studies to tell twice as many apart


@pytest.mark.slow
def test_msweb_comes_out() -> None:
    """MASK's settings: about 9 itemsets are missed and 19 listed by mistake in each of 30 studies."""
    close(bk.Baskets.read(benchmark_file("msweb_train.dat.gz")), bk.Flip(keep=0.9), 0.01, 30)


@pytest.mark.slow
def test_quest_comes_out() -> None:
    close(bk.quest(records=20_000, items=200, patterns=100, seed=7), bk.Flip(keep=0.9), 0.03, 20)


@pytest.mark.slow
@pytest.mark.parametrize("read", [census, health])
def test_the_tables_of_frapp_come_out(read: Callable[[], bk.Table]) -> None:
    """At gamma 19 by questions and by the matrix, whose errors are ten times the limit there, and at 1000."""
    for name in ("adult_train.csv.gz", "adult_test.csv.gz", "brfss2015_diabetes.csv.gz"):
        benchmark_file(name)
    data = read()
    for mechanism in (
        bk.Ask(bk.Design.triples(data.domain), gamma=19),
        bk.GammaDiagonal(gamma=19),
        bk.GammaDiagonal(gamma=1000),
    ):
        close(data, mechanism, 0.02, 20)


def test_itemsets_are_counted_before_they_are_made() -> None:
    """A pilot of thousands of items, all of them within the noise, made hundreds of millions of pairs first."""
    pilot = bk.Baskets([[item] for item in range(5000)], items=range(5000))
    seen = planning.foresee(bk.Flip(keep=0.6), pilot.domain, people=1000)
    with effort_within(2.0), pytest.raises(bk.ParameterError, match="more than 2000000 itemsets of 2 items"):
        planning.expected_errors(seen, pilot, min_support=0.001)
