"""Every registered mechanism: JSON form, randomization by its own channel, seeds, unbiasedness.

A new mechanism adds an example to EXAMPLES; a registered mechanism without one fails the first test.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import bosket as bk
from bosket.counting.table import count_subsets
from bosket.mining.support import cells_of
from tests.stats import assert_plausible, assert_rejected, chi_square

ITEMS = ["a", "b", ("c", 3)]
EXAMPLES: dict[str, list[bk.Mechanism]] = {
    "flip": [
        bk.Flip(keep=0.9),
        bk.Flip(keep=0.5, keep_absent=0.95),
        bk.Flip(keep={"a": 0.7, ("c", 3): 0.6}, default=0.85, keep_absent={"b": 0.99}),
    ],
}
ALL = [mechanism for examples in EXAMPLES.values() for mechanism in examples]


def test_every_mechanism_has_an_example() -> None:
    assert set(bk.Mechanism.registry) == set(EXAMPLES)


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_plan_survives_json(mechanism: bk.Mechanism) -> None:
    plan = bk.Plan(bk.Domain(ITEMS), mechanism, bk.PrivacyUnit(max_size=2, reports=3))
    again = bk.Plan.from_json(plan.json)
    assert again == plan
    assert again.digest == plan.digest
    assert json.loads(plan.json)["bosket_plan"] == 1


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_rows_of_the_channel_sum_to_one_and_weights_invert_it(mechanism: bk.Mechanism) -> None:
    channel = mechanism.channel(bk.Domain(ITEMS))
    matrix = channel.transition((0, 1, 2))
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    weights = channel.weights(np.array([[0, 1, 2]], np.int32))[0]
    np.testing.assert_allclose(matrix @ weights, np.eye(8)[7], atol=1e-12)


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_reports_follow_the_channel(mechanism: bk.Mechanism) -> None:
    """For each true record, 400 000 reports against the stated law; a row with 0.01 moved would be caught."""
    plan = bk.Plan(bk.Domain(ITEMS), mechanism)
    n = 400_000
    for truth in range(8):
        record = [item for place, item in enumerate(ITEMS) if truth >> place & 1]
        reports = plan.randomize(bk.Baskets([record], items=ITEMS).repeat(n), rng=bk.Seeded(truth))
        cells = cells_of(count_subsets(reports.counter(), np.array([[0, 1, 2]], np.int32)))[0, 0]
        law = plan.channel.transition((0, 1, 2))[truth]
        assert_plausible(chi_square(cells, law))
        wrong = law.copy()
        most = int(np.argmax(wrong))
        wrong[most] -= 0.01
        wrong[(most + 1) % 8] += 0.01
        assert_rejected(chi_square(cells, wrong))


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_seeds_repeat_and_secure_runs_do_not(mechanism: bk.Mechanism) -> None:
    baskets = bk.Baskets([ITEMS], items=ITEMS).repeat(2000)
    assert mechanism.randomize(baskets, rng=bk.Seeded(3)) == mechanism.randomize(baskets, rng=bk.Seeded(3))
    assert mechanism.randomize(baskets, rng=bk.Seeded(3)) != mechanism.randomize(baskets, rng=bk.Seeded(4))
    secure = mechanism.randomize(baskets)
    assert secure != mechanism.randomize(baskets)
    assert secure.randomness == "secure"
    assert not secure.is_simulation
    assert "protects nobody" in mechanism.randomize(baskets, rng=bk.Seeded(3)).randomness


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_guarantee_states_its_units(mechanism: bk.Mechanism) -> None:
    guarantee = mechanism.guarantee(ITEMS, max_size=2)
    assert guarantee.item.epsilon <= guarantee.record.epsilon <= guarantee.person.epsilon
    assert all(part.unit for part in (guarantee.item, guarantee.record, guarantee.person))
    assert guarantee.record.unit in guarantee.card()
    json.dumps(guarantee.to_json(), allow_nan=False)
