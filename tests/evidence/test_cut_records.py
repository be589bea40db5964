"""Supports of cut and of whole records: which of the two every result says, and that intervals hold the raw ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bosket as bk
from bosket.evidence.cautions import FEW_REPORTS, effective_number
from bosket.reporting.export import write_itemsets, write_rules
from bosket.reporting.study import itemsets_page
from tests.files import benchmark_file

CUT = bk.PrivacyUnit(max_size=3, longer="sample")
WHOLE = bk.PrivacyUnit(max_size=3, longer="sample", state_sizes_to=30)
PAID = bk.PrivacyUnit(max_size=3, longer="sample", state_sizes_to=12, size_epsilon=2.0)


def receipts(records: int = 20_000, items: int = 40, seed: int = 4) -> bk.Baskets:
    """Sizes are geometric, as those of receipts are, and items popular by rank."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(rng.geometric(1 / 5, records), 12)
    popular = 1 / np.arange(1, items + 1) ** 0.7
    keys = np.log(popular) + rng.gumbel(size=(records, items))  # so many draws without replacement
    order = np.argsort(-keys, axis=1)
    return bk.Baskets([row[:size].tolist() for row, size in zip(order, sizes, strict=True)], items=range(items))


def reports_under(unit: bk.PrivacyUnit, mechanism: bk.Mechanism | None = None, records: int = 4000) -> bk.Reports:
    raw = receipts(records)
    return bk.Plan(raw.domain, mechanism or bk.Flip(keep=0.9), unit).randomize(raw, rng=bk.Seeded(1))


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "of"), [(CUT, "cut records"), (WHOLE, "whole records"), (PAID, "whole records")])
def test_every_result_says_what_its_supports_are_of(unit: bk.PrivacyUnit, of: str, tmp_path: Path) -> None:
    found = bk.mine(reports_under(unit), min_support=0.02, max_size=2)
    frame, rules = found.to_frame(), found.rules(metric="support", min_threshold=0.0)
    assert found.about["support_of"] == of
    assert of in repr(bk.estimate(reports_under(unit), [{0}]))
    for name, table, write in (("itemsets", frame, write_itemsets), ("rules", rules, write_rules)):
        assert len(table) > 1
        assert (table["support_of"] == of).all()
        write(table, tmp_path / f"{name}.csv")
        assert (pd.read_csv(tmp_path / f"{name}.csv")["support_of"] == of).all()
        write(table, tmp_path / f"{name}.json")
        assert {row["support_of"] for row in json.loads((tmp_path / f"{name}.json").read_text())[name]} == {of}
        write(table, tmp_path / f"{name}.parquet")
        assert (pd.read_parquet(tmp_path / f"{name}.parquet")["support_of"] == of).all()
    page = itemsets_page(frame, sizes=found.sizes, guarantee=None)
    page.write(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert of in text
    assert ("are of the records as cut" in text) == (of == "cut records")


def test_results_of_plans_that_cut_nothing_have_no_such_column() -> None:
    everything = bk.PrivacyUnit(max_size=40, longer="sample")  # as many as there are items
    for unit in (bk.PrivacyUnit(), bk.PrivacyUnit(max_size=12), everything):
        found = bk.mine(reports_under(unit), min_support=0.05, max_size=1)
        assert "support_of" not in found.to_frame()
        assert "support_of" not in found.about
    assert "support_of" not in bk.mine(receipts(100), min_support=0.05).to_frame()


@pytest.mark.parametrize(("size", "of"), [(None, "cut baskets"), (4, None)])
def test_answers_about_baskets_are_of_baskets_as_cut(size: int | None, of: str | None) -> None:
    """Unless the plan promises that no basket is longer than what is kept of it."""
    raw = receipts(4000)
    raw = raw[raw.sizes <= 4]
    unit = bk.PrivacyUnit() if size is None else bk.PrivacyUnit(max_size=size)
    plan = bk.Plan(raw.domain, bk.AskBaskets(epsilon=4.0, length=4), unit)
    frame = bk.mine(plan.randomize(raw, rng=bk.Seeded(2)), min_support=0.05, max_size=1).to_frame()
    assert len(frame) > 1
    assert set(frame.get("support_of", pd.Series(dtype=str))) == (set() if of is None else {of})


def test_reports_of_long_records_count_as_several_where_trust_is_concerned() -> None:
    """Ten reports that each count for a hundred others are not a thousand: the interval carries a caution."""
    channel = bk.Plan(bk.Domain(range(60)), bk.Flip(keep=0.9), bk.PrivacyUnit(3, 1, "sample", True, 40)).channel
    strata, observed = (3, 40), np.array([[0, 500, 30], [10, 10, 0]])
    factor = 40 * 39 / (3 * 2)
    by_hand = (500 + 10 * factor) ** 2 / (500 + 10 * factor**2)
    found = effective_number(channel, 2, strata, observed)
    np.testing.assert_allclose(found, [10, by_hand, 30])
    assert by_hand < FEW_REPORTS < observed[:, 1].sum()
    plain = bk.Flip(keep=0.9).channel(bk.Domain(range(60)))
    np.testing.assert_array_equal(effective_number(plain, 2, (0,), observed[:1]), observed[0])


def covered(raw: bk.Baskets, plan: bk.Plan, min_support: float, *, max_size: int, repeats: int) -> float:
    """The share of 95% intervals that hold the raw support: of truly frequent itemsets, those without a caution."""
    truth = bk.mine(raw, min_support=min_support, max_size=max_size)
    wanted, support = [itemset for itemset, _ in truth], np.array([value for _, value in truth])
    hits: list[bool] = []
    for seed in range(repeats):
        found = bk.estimate(plan.randomize(raw, rng=bk.Seeded(seed)), wanted)
        interval = found.interval()
        is_hit = (interval[:, 0] <= support) & (support <= interval[:, 1])
        hits += is_hit[~found.caution].tolist()
    assert len(hits) > repeats * len(wanted) / 2
    return float(np.mean(hits))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")
@pytest.mark.parametrize("mechanism", [bk.Flip(keep=0.9), bk.CutAndPaste(7, 0.1), bk.Replace(0.3)], ids=str)
@pytest.mark.parametrize("size_epsilon", [None, 2.0])
def test_intervals_hold_the_raw_supports_of_receipts(mechanism: bk.Mechanism, size_epsilon: float | None) -> None:
    """60 runs; where sizes are not stated hardly any interval does: 53% of the items survive."""
    raw = receipts()
    assert np.minimum(raw.sizes, 3).sum() / raw.sizes.sum() == pytest.approx(0.526, abs=0.001)
    stated = bk.PrivacyUnit(max_size=3, longer="sample", state_sizes_to=12, size_epsilon=size_epsilon)
    whole, cut = (bk.Plan(raw.domain, mechanism, unit) for unit in (stated, CUT))
    assert covered(raw, whole, 0.05, max_size=2, repeats=60) >= 0.93
    assert covered(raw, cut, 0.05, max_size=2, repeats=10) < 0.2


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")
@pytest.mark.parametrize("mechanism", [bk.Flip(keep=0.9), bk.CutAndPaste(7, 0.05)], ids=str)
@pytest.mark.parametrize(("name", "limit", "longest"), [("groceries.dat.gz", 4, 32), ("retail.dat.gz", 5, 76)])
def test_intervals_hold_the_raw_supports_of_real_receipts(
    name: str, limit: int, longest: int, mechanism: bk.Mechanism
) -> None:
    """65% and 43% of the items survive; up to pairs."""
    raw = bk.Baskets.read(benchmark_file(name))
    units = [
        bk.PrivacyUnit(max_size=limit, longer="sample", state_sizes_to=longest),
        bk.PrivacyUnit(max_size=limit, longer="sample"),
    ]
    whole, cut = (bk.Plan(raw.domain, mechanism, unit) for unit in units)
    assert covered(raw, whole, 0.02, max_size=2, repeats=8) >= 0.93
    assert covered(raw, cut, 0.02, max_size=2, repeats=4) < 0.2
