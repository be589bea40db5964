"""Itemsets that will be missed or listed by mistake, by a pilot: against simple cases and simulated studies."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import bosket as bk
from bosket import planning
from bosket.counting.table import restrict
from bosket.mechanisms import ExchangeableChannel, RecordChannel
from bosket.planning.joint_errors import covariances
from bosket.research.reproduce import re as xia
from bosket.research.reproduce.frapp import mechanisms
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


CELLS = np.repeat(np.arange(8), [40, 10, 10, 20, 5, 5, 30, 80])
MASKS = range(1, 8)


@pytest.mark.parametrize(
    ("mechanism", "table"),
    [
        (bk.Flip(keep={"a=yes": 0.7, "b=yes": 0.9}, default=0.8), True),
        (bk.Flip(keep=0.6, keep_absent=0.95), False),
        (bk.GammaDiagonal(gamma=5), True),
        (bk.CutAndPaste(3, 0.2), True),
        (bk.CutAndPaste(3, 0.2), False),
    ],
    ids=str,
)
def test_errors_of_an_itemset_and_its_subsets_are_the_enumeration(mechanism: bk.Mechanism, table: bool) -> None:
    """Over all patterns that a report can show of three items, given each pattern of the record, by its size."""
    data = bk.Table.from_cells(CELLS, TABLE) if table else BASKETS
    triple = (1, 3, 5) if table else (0, 1, 2)
    channel = mechanism.channel(data.domain)
    assert isinstance(channel, RecordChannel)
    is_by_size = isinstance(channel, ExchangeableChannel)
    strata = sorted(set(data.sizes.tolist())) if is_by_size else [None]
    bits = np.stack([data.to_bits()[:, 0] >> np.uint64(item) & np.uint64(1) for item in triple]).astype(int)
    pattern = bits[0] + 2 * bits[1] + 4 * bits[2]
    shares, expected = [], np.zeros((7, 7))
    for size in strata:
        people = pattern if size is None else pattern[data.sizes == size]
        own = np.bincount(people, minlength=8) / data.n_records
        shares.append(own)
        law = channel.transition(triple, size)
        weights = []
        for mask in MASKS:
            row = np.array([[item for at, item in enumerate(triple) if mask >> at & 1]], np.int32)
            shown = restrict(3, mask)  # of what is shown, what is of these items
            places = {full: at for at, full in enumerate(sorted(set(shown.tolist())))}
            weights.append(channel.weights(row, size)[0][[places[full] for full in shown.tolist()]])
        every = np.array(weights)
        for truth in range(8):
            if own[truth]:
                mean = np.array([float(truth & mask == mask) for mask in MASKS])
                expected += own[truth] * ((every * law[truth]) @ every.T - np.outer(mean, mean))
    found = covariances(
        channel, np.array([triple], np.int32), np.array(shares)[:, None], [size or 0 for size in strata], MASKS
    )
    assert found is not None
    np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-12)


def test_errors_of_answers_are_the_enumeration() -> None:
    """Over all answers to each question about three of four attributes, for all records; weights by their number."""
    gamma, domain = 6.0, bk.TableDomain([bk.Attribute(name, ["no", "yes"]) for name in "abcd"])
    law = np.random.default_rng(3).dirichlet(np.ones(16))
    high, low = gamma / (gamma + 7), 1 / (gamma + 7)

    def has(value: int, mask: int) -> bool:
        return value & mask == mask

    expected = np.zeros((7, 7))
    support = [sum(law[t] for t in range(16) if has(t, mask)) for mask in range(16)]
    asked = [0b0111, 0b1011, 0b1101, 0b1110]
    for i, a in enumerate(MASKS):
        for j, b in enumerate(MASKS):
            weight = [1 / sum(has(q, mask) for q in asked) for mask in (a, b)]
            for q in (q for q in asked if has(q, a | b)):
                moments = np.zeros(3)
                for t, answer in product(range(16), range(16)):
                    if answer & ~q == 0:
                        chance = law[t] * (high if answer == t & q else low)
                        moments += chance * np.array([has(answer, a), has(answer, b), has(answer, a | b)])
                expected[i, j] += 4 * math.prod(weight) * (moments[2] - moments[0] * moments[1]) / (high - low) ** 2
            expected[i, j] -= support[a | b] - support[a] * support[b]
    channel = bk.Ask(bk.Design.triples(domain), gamma=gamma).channel(domain)
    shares = np.array([law[t] + law[t | 8] for t in range(8)])
    found = covariances(channel, np.array([(1, 3, 5)], np.int32), shares[None, None], [0], MASKS)
    assert found is not None
    np.testing.assert_allclose(found[0], expected, rtol=1e-9)


def test_itemsets_are_drawn_given_their_subsets() -> None:
    """Of each pair and its two items, against the normal law of the three together."""
    data, people, limit = bk.Table.from_cells(CELLS, TABLE), 100, 0.5
    mechanism = bk.GammaDiagonal(gamma=5)
    channel = mechanism.channel(TABLE)
    rng = np.random.default_rng(1)
    hits = apart = 0.0
    for one, other in combinations(range(6), 2):
        if one // 2 == other // 2:
            continue
        has = np.stack([data.to_bits()[:, 0] >> np.uint64(item) & np.uint64(1) for item in (one, other)]).astype(int)
        shares = np.bincount(has[0] + 2 * has[1], minlength=4) / data.n_records
        means = np.array([has[0].mean(), has[1].mean(), (has[0] * has[1]).mean()])
        covariance = covariances(channel, np.array([(one, other)], np.int32), shares[None, None], [0], range(1, 4))
        assert covariance is not None
        drawn = rng.multivariate_normal(means, covariance[0] / people, 30_000)
        kept = drawn >= limit - np.sqrt(np.diag(covariance[0]) / people)
        listed = drawn[:, 2] >= limit
        hits += float((kept[:, 0] & kept[:, 1] & listed).mean())
        apart += float(kept[:, 0].mean() * kept[:, 1].mean() * listed.mean())
    seen = planning.foresee(mechanism, TABLE, people=people)
    found = planning.expected_errors(seen, data, min_support=limit, max_size=2).iloc[1]
    listed_pairs = found["frequent"] - found["false_negatives"] + found["false_positives"]
    assert listed_pairs == pytest.approx(hits, abs=0.03)
    assert abs(hits - apart) > 0.1  # what independence would say


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
    """Within 20% of the mean of simulated studies, in itemsets of all sizes; four standard errors of it are less."""
    seen = planning.foresee(mechanism, data.domain, people=data.n_records)
    found = planning.expected_errors(seen, data, min_support=limit)
    done = planning.simulated_errors(seen, data, min_support=limit, studies=studies, seed=7)
    for name, error in (("false_negatives", "fn_stderr"), ("false_positives", "fp_stderr")):
        mean, spread = float(done[name].sum()), float(np.hypot.reduce(done[error]))
        assert abs(float(found[name].sum()) - mean) <= 0.2 * mean
        assert 4 * spread < 0.2 * mean


def factors(setting: str, data: bk.Baskets) -> bk.Flip:
    """A factor for each item as Xia et al. deal them (Table 1)."""
    place = list(xia.SETTINGS).index(setting)
    return bk.Flip(keep=xia.factors(xia.SETTINGS[setting], data.domain, np.random.default_rng([7, place])))


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "studies"), [("S1", 15), ("S2", 30), ("S3", 40)])
def test_msweb_comes_out(setting: str, studies: int) -> None:
    """Xia et al., Table 3: 113,133 records, 0.6%."""
    for name in ("msweb_train.dat.gz", "msweb_test.dat.gz"):
        benchmark_file(name)
    web = xia.read_msweb()
    close(web, factors(setting, web), xia.MIN_SUPPORT["msweb"], studies)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["S1", "S2", "S3"])
def test_quest_comes_out(setting: str) -> None:
    """Xia et al., Table 2: a million records of T10.I4, 0.25%."""
    baskets = bk.quest(records=1_000_000, mean_size=10, mean_pattern=4, items=1000, seed=7)
    close(baskets, factors(setting, baskets), xia.MIN_SUPPORT["quest"], 3)


@pytest.mark.slow
@pytest.mark.parametrize("read", [census, health])
def test_the_tables_of_frapp_come_out(read: Callable[[], bk.Table]) -> None:
    """Agrawal et al., section 9: four mechanisms of amplification 19 at 2%; and questions of the same."""
    for name in ("adult_train.csv.gz", "adult_test.csv.gz", "brfss2015_diabetes.csv.gz"):
        benchmark_file(name)
    data = read()
    asked = bk.Ask(bk.Design.triples(data.domain), gamma=19)
    for mechanism in (*mechanisms(19, data).values(), asked):
        close(data, mechanism, 0.02, 15)


def test_itemsets_are_counted_before_they_are_made() -> None:
    """A pilot of thousands of items, all of them within the noise, made hundreds of millions of pairs first."""
    pilot = bk.Baskets([[item] for item in range(5000)], items=range(5000))
    seen = planning.foresee(bk.Flip(keep=0.6), pilot.domain, people=1000)
    with effort_within(2.0), pytest.raises(bk.ParameterError, match="more than 2000000 itemsets of 2 items"):
        planning.expected_errors(seen, pilot, min_support=0.001)


def test_many_sizes_of_records_are_looked_at_some_itemsets_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of cells are held for each size: 400 sizes of a pilot of 606 kB took 3 GB."""
    at_once: list[int] = []

    def noted(channel: Any, rows: Any, shares: Any, *others: Any) -> Any:
        at_once.append(shares.size)
        return covariances(channel, rows, shares, *others)

    monkeypatch.setattr("bosket.planning.discoveries.covariances", noted)
    monkeypatch.setattr("bosket.planning.discoveries._NUMBERS", 1 << 10)
    pilot = bk.Baskets([range(size) for size in range(1, 21) for _ in range(2)], items=range(24))
    shares = dict.fromkeys(range(1, 21), 0.05)
    seen = planning.foresee(bk.CutAndPaste(cutoff=3, insert=0.3), pilot.domain, people=1000, sizes=shares)
    planning.expected_errors(seen, pilot, min_support=0.3, max_size=2)
    assert max(at_once) <= 1 << 10
