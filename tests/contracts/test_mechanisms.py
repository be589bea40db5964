"""Every registered mechanism: JSON form, randomization by its own channel, seeds, unbiasedness.

A new mechanism adds an example to EXAMPLES; a registered mechanism without one fails the first test.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from bosket.counting.table import count_subsets
from bosket.evidence.sums import cells_of
from bosket.mechanisms import ExchangeableChannel, RecordChannel
from bosket.mechanisms.base import Channel
from tests.outside.thin import Thin
from tests.stats import assert_plausible, assert_rejected, chi_square

ITEMS = ["a", "b", ("c", 3)]
KEPT = {0: [1.0], 1: [0.25, 0.75], 2: [0.5, 0.25, 0.25], 3: [0.125, 0.25, 0.5, 0.125]}
EXAMPLES: dict[str, list[bk.Mechanism]] = {
    "flip": [
        bk.Flip(keep=0.9),
        bk.Flip(keep=0.5, keep_absent=0.95),
        bk.Flip(keep={"a": 0.7, ("c", 3): 0.6}, default=0.85, keep_absent={"b": 0.99}),
    ],
    "select_a_size": [bk.SelectASize(kept=KEPT, insert={0: 0.4, 1: 0.1, 2: 0.2, 3: 0.3}), bk.SelectASize(KEPT, 0.2)],
    "cut_and_paste": [
        bk.CutAndPaste(cutoff=7, insert=0.35),
        bk.CutAndPaste(cutoff={0: 3, 1: 3, 2: 4, 3: 5}, insert={0: 0.4, 1: 0.1, 2: 0.2, 3: 0.3}),
    ],
    "replace": [bk.Replace(probability=0.3)],
    "mixing": [bk.Mixing(others=2, keep=0.6)],
    "gamma_diagonal": [bk.GammaDiagonal(gamma=5), bk.GammaDiagonal(gamma=19, spread=0.2)],
    "thin": [Thin(keep=0.8, coins=2), Thin(keep={"a": 0.5, "b": 0.75, ("c", 3): 0.9})],  # from outside the package
}
TABLE = bk.TableDomain([bk.Attribute("a", [1, 2]), bk.Attribute("b", ["x", "y", "z"])])
FOR_TABLES = ("gamma_diagonal",)
"""Mechanisms that need attributes; what records show is enumerated in their own tests."""
ALL = [mechanism for examples in EXAMPLES.values() for mechanism in examples]
ALONE = [mechanism for mechanism in ALL if not mechanism.needs_curator and mechanism.name not in FOR_TABLES]
"""Those that a person can use alone: their channel is one of records."""


def domain_for(mechanism: bk.Mechanism) -> bk.Domain:
    return TABLE if mechanism.name in FOR_TABLES else bk.Domain(ITEMS)


def records_for(mechanism: bk.Mechanism, n: int) -> bk.Baskets | bk.Table:
    """n records with an item each, or with a value of each attribute."""
    if mechanism.name in FOR_TABLES:
        return bk.Table.from_cells(np.arange(n) % 6, TABLE)
    return bk.Baskets([ITEMS[:1]], items=ITEMS).repeat(n)


def record_channel(mechanism: bk.Mechanism) -> RecordChannel:
    channel = mechanism.channel(bk.Domain(ITEMS))
    assert isinstance(channel, RecordChannel)
    return channel


def strata(channel: Channel) -> list[int]:
    """The record sizes that a channel with strata takes here; [0] for one without."""
    return [m for m in range(4) if channel.takes(m)] if isinstance(channel, ExchangeableChannel) else [0]


def test_every_mechanism_has_an_example() -> None:
    own = {name for name, known in bk.Mechanism.registry.items() if known.__module__.startswith("bosket.")}
    assert own | {"thin"} == set(EXAMPLES), "other tests define mechanisms of their own"


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_plan_survives_json(mechanism: bk.Mechanism) -> None:
    max_size = None if mechanism.name in FOR_TABLES else 2
    plan = bk.Plan(domain_for(mechanism), mechanism, bk.PrivacyUnit(max_size=max_size, reports=3))
    again = bk.Plan.from_json(plan.json)
    assert again == plan
    assert again.digest == plan.digest
    assert json.loads(plan.json)["bosket_plan"] == 1


@pytest.mark.parametrize("mechanism", ALONE, ids=str)
def test_rows_of_the_channel_sum_to_one_and_weights_invert_it(mechanism: bk.Mechanism) -> None:
    """Whatever a record of the stratum can show; the weight is 0 where it is too small to hold the itemset."""
    channel = record_channel(mechanism)
    for stratum in strata(channel):
        for itemset in [(0,), (0, 2), (0, 1, 2)]:
            matrix = channel.transition(itemset, stratum)
            possible = matrix.sum(axis=1) > 0
            np.testing.assert_allclose(matrix.sum(axis=1)[possible], 1)
            assert possible.all() == (not isinstance(channel, ExchangeableChannel)) or len(itemset) < 3
            weights = channel.weights(np.array([itemset], np.int32), stratum)[0]
            full = np.zeros(len(matrix))
            full[-1] = possible[-1]
            np.testing.assert_allclose((matrix @ weights)[possible], full[possible], atol=1e-12)


@pytest.mark.parametrize("mechanism", ALONE, ids=str)
def test_closed_forms_are_the_generic_ones(mechanism: bk.Mechanism) -> None:
    channel = record_channel(mechanism)
    for stratum in strata(channel):
        for itemset in [(0,), (0, 2), (0, 1, 2)]:
            rows = np.array([itemset], np.int32)
            matrix = channel.transition(itemset, stratum)
            possible = matrix.sum(axis=1) > 0
            w = channel.weights(rows, stratum)[0]
            variances = matrix @ (w * w) - (matrix @ w) ** 2
            np.testing.assert_allclose(channel.record_variances(itemset, stratum), variances, atol=1e-10)
            assert channel.least_variances(rows, stratum)[0] == pytest.approx(variances[possible].min(), abs=1e-10)


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_products_of_splits_are_sums_over_reports(mechanism: bk.Mechanism) -> None:
    """w_A w_X and w_A w_(X - A) summed report by report, from the weights of each subset by themselves."""
    channel = mechanism.channel(domain_for(mechanism))
    rows = np.array([[0, 1, 2], [0, 1, 2]] if mechanism.name not in FOR_TABLES else [[0, 2], [1, 4]], np.int32)
    k = rows.shape[1]
    cells = np.random.default_rng(5).integers(50, 200, (len(rows), 1 << k))
    for stratum in strata(channel):
        with_whole, with_rest = channel.split_products(rows, stratum, cells)
        for row, itemset in enumerate(rows.tolist()):
            weights = np.empty((1 << k, 1 << k))
            for mask in range(1 << k):
                part = [item for place, item in enumerate(itemset) if mask >> place & 1]
                shown = [sum((y >> itemset.index(item) & 1) << j for j, item in enumerate(part)) for y in range(1 << k)]
                seen = np.zeros((1, 1 << len(part)), np.int64)
                for y, pattern in enumerate(shown):
                    seen[0, pattern] += cells[row, y]
                found = channel.weights(np.array([part], np.int32), stratum, seen)[0] if part else np.ones(1)
                weights[mask] = found[shown]
            for mask in range(1 << k):
                whole = sum(cells[row] * weights[mask] * weights[-1])
                rest = sum(cells[row] * weights[mask] * weights[(1 << k) - 1 - mask])
                assert with_whole[row, mask] == pytest.approx(whole, rel=1e-10)
                assert with_rest[row, mask] == pytest.approx(rest, rel=1e-10)


@pytest.mark.parametrize("mechanism", ALONE, ids=str)
def test_items_are_apart_where_the_channel_says_so(mechanism: bk.Mechanism) -> None:
    """The channel of two items is the product of theirs, or it is not."""
    channel = record_channel(mechanism)
    is_product = []
    for stratum in strata(channel):
        both = channel.transition((0, 1), stratum)
        apart = np.kron(channel.transition((1,), stratum), channel.transition((0,), stratum))
        possible = both.sum(axis=1) > 0
        is_product.append(np.allclose(both[possible], apart[possible], atol=1e-12))
    assert channel.items_apart == (all(is_product) and len(is_product) == 1)


@pytest.mark.parametrize("mechanism", ALONE, ids=str)
def test_reports_follow_the_channel(mechanism: bk.Mechanism) -> None:
    """For each true record, 400 000 reports against the stated law; a row with 0.01 moved would be caught."""
    plan = bk.Plan(bk.Domain(ITEMS), mechanism, bk.PrivacyUnit(max_size=3))
    channel = record_channel(mechanism)
    n = 400_000
    for truth in range(8):
        size = truth.bit_count()
        record = [item for place, item in enumerate(ITEMS) if truth >> place & 1]
        baskets = bk.Baskets([record], items=ITEMS).repeat(n)
        if isinstance(channel, ExchangeableChannel) and not channel.takes(size):
            with pytest.raises(bk.DataError):
                plan.randomize(baskets)
            continue
        reports = plan.randomize(baskets, rng=bk.Seeded(truth))
        if isinstance(channel, ExchangeableChannel):
            assert reports.strata is not None
            assert (reports.strata == size).all()
        cells = cells_of(count_subsets(reports.counter(), np.array([[0, 1, 2]], np.int32)))[0, 0]
        law = channel.transition((0, 1, 2), size if reports.strata is not None else 0)[truth]
        assert cells[law == 0].sum() == 0
        if (law > 0).sum() < 2:
            continue
        cells, law = cells[law > 0], law[law > 0]
        assert_plausible(chi_square(cells, law))
        wrong = law.copy()
        most = int(np.argmax(wrong))
        wrong[most] -= 0.01
        wrong[(most + 1) % len(law)] += 0.01
        assert_rejected(chi_square(cells, wrong))


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_seeds_repeat_and_secure_runs_do_not(mechanism: bk.Mechanism) -> None:
    baskets = records_for(mechanism, 2000)
    assert mechanism.randomize(baskets, rng=bk.Seeded(3)) == mechanism.randomize(baskets, rng=bk.Seeded(3))
    assert mechanism.randomize(baskets, rng=bk.Seeded(3)) != mechanism.randomize(baskets, rng=bk.Seeded(4))
    secure = mechanism.randomize(baskets)
    assert secure != mechanism.randomize(baskets)
    assert secure.randomness == "secure"
    assert not secure.is_simulation
    assert "protects nobody" in mechanism.randomize(baskets, rng=bk.Seeded(3)).randomness


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_guarantee_states_its_units(mechanism: bk.Mechanism) -> None:
    guarantee = mechanism.guarantee(domain_for(mechanism), max_size=2)
    assert guarantee.item.epsilon <= guarantee.record.epsilon <= guarantee.person.epsilon
    assert all(part.unit for part in (guarantee.item, guarantee.record, guarantee.person))
    assert guarantee.record.unit in guarantee.card()
    json.dumps(guarantee.to_json(), allow_nan=False)
    has_strata = isinstance(mechanism.channel(domain_for(mechanism)), ExchangeableChannel)
    assert ("in the clear" in guarantee.card()) == bool(guarantee.reveals) == has_strata


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_mechanisms_survive_copying(mechanism: bk.Mechanism) -> None:
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert hash(pickle.loads(pickle.dumps(mechanism))) == hash(mechanism)
    assert mechanism != bk.Flip(keep=0.123)
    reports = mechanism.randomize(records_for(mechanism, 3), rng=bk.Seeded(1))
    assert pickle.loads(pickle.dumps(reports)) == reports
    assert pickle.loads(pickle.dumps(reports.plan)) == reports.plan


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_reports_must_have_the_strata_of_their_mechanism(mechanism: bk.Mechanism, tmp_path: Path) -> None:
    reports = mechanism.randomize(records_for(mechanism, 3), rng=bk.Seeded(1))
    reports.write(tmp_path / "r.parquet")
    assert bk.Reports.read(tmp_path / "r.parquet") == reports
    wrong = None if reports.strata is not None else np.zeros(3, np.int32)
    with pytest.raises(bk.DataError, match="strata"):
        bk.Reports(reports.plan, reports.bits.copy(), strata=wrong, randomness="secure")
