"""Where too few reports speak, rows of itemsets and estimates carry a caution, as rules do; and it is needed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from bosket.evidence.cautions import FEW_REPORTS
from bosket.reporting.export import write_itemsets
from bosket.reporting.study import itemsets_page

SPARSE = bk.CutAndPaste(cutoff=10, insert=0.01)
"""Hardly an item is put in: the weights of larger itemsets are large, and few reports have them."""


def people(records: int = 3000, seed: int = 3) -> bk.Baskets:
    baskets = bk.quest(records=records, mean_size=10, mean_pattern=4, items=40, patterns=15, seed=seed)
    return baskets[baskets.sizes > 0]


@pytest.fixture(scope="module")
def reports() -> bk.Reports:
    return SPARSE.randomize(people(), rng=bk.Seeded(5))


def shown(reports: bk.Reports, itemset: frozenset[int]) -> int:
    items = np.array([reports.domain.itemset(itemset)], np.int32)
    return int(reports.counter().supports(items).sum())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")
def test_itemsets_that_few_reports_show_carry_a_caution(reports: bk.Reports) -> None:
    found = bk.mine(reports, min_support=0.02, max_size=4)
    frame = found.to_frame(sampling=True)
    assert frame["caution"].dtype == bool
    assert 0.05 < frame["caution"].mean() < 0.95
    for row in frame.iloc[:: max(1, len(frame) // 60)].to_dict("records"):
        assert row["caution"] == (shown(reports, row["itemsets"]) < FEW_REPORTS)
    for sampling in (False, True):
        named = bk.estimate(reports, list(frame["itemsets"]), sampling=sampling)
        np.testing.assert_array_equal(named.caution, found.to_frame(sampling=sampling)["caution"])
    assert f"caution with {int(frame['caution'].sum())} of {len(frame)}" in repr(named)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")
def test_rules_of_such_itemsets_carry_it_too(reports: bk.Reports) -> None:
    found = bk.mine(reports, min_support=0.02, max_size=3)
    doubtful = dict(zip(*found.to_frame()[["itemsets", "caution"]].T.to_numpy(), strict=True))
    rules = found.rules(min_threshold=0.0)
    of_few = [doubtful[a | c] for a, c in zip(rules["antecedents"], rules["consequents"], strict=True)]
    assert 0 < sum(of_few) < len(rules)
    names = rules["caution"].astype(str).str.split(", ")
    assert all({"support", "confidence", "lift"} <= set(text) for text, few in zip(names, of_few, strict=True) if few)
    at = of_few.index(True)
    table = bk.contingency(reports, rules["antecedents"].iloc[at], rules["consequents"].iloc[at])
    assert not table.measure("confidence").is_trusted


@pytest.mark.slow
def test_coins_that_seldom_change_an_item() -> None:
    """keep = 0.9999 of 1000 reports: a tenth of a report changes.  With the drawing of people, that matters no more."""
    reports = bk.Flip(keep={"a": 0.9999, "b": 0.8}).randomize(
        bk.Baskets([["a", "b"], ["a"], ["b"], []] * 250), rng=bk.Seeded(1)
    )
    assert bk.estimate(reports, [{"a"}, {"b"}, {"a", "b"}, set()]).caution.tolist() == [True, False, True, False]
    assert not bk.estimate(reports, [{"a"}, {"b"}, {"a", "b"}], sampling=True).caution.any()
    found = bk.mine(reports, min_support=0.1)
    assert dict(zip(*found.to_frame()[["itemsets", "caution"]].T.to_numpy(), strict=True)) == {
        frozenset("a"): True,
        frozenset("b"): False,
        frozenset("ab"): True,
    }
    assert not found.to_frame(sampling=True)["caution"].any()


def test_exact_data_have_none() -> None:
    baskets = bk.Baskets([["a", "b"], ["a"], []])
    assert "caution" not in bk.mine(baskets, min_support=0.1).to_frame()
    assert not bk.estimate(baskets, [{"a"}, set()]).caution.any()
    assert bk.estimate(baskets, [{"a"}], sampling=True).caution.all(), "three people are few"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")
def test_files_and_pages_have_it(reports: bk.Reports, tmp_path: Path) -> None:
    found = bk.mine(reports, min_support=0.02, max_size=4)
    frame = found.to_frame()
    write_itemsets(frame, tmp_path / "found.json")
    rows = json.loads((tmp_path / "found.json").read_text())["itemsets"]
    assert [row["caution"] for row in rows] == frame["caution"].tolist()
    write_itemsets(frame, tmp_path / "found.csv")
    head, first = (tmp_path / "found.csv").read_text().splitlines()[:2]
    assert head.split(",")[-1] == "caution"
    assert first.split(",")[-1] == json.dumps(bool(frame["caution"][0]))
    for part, is_marked in ((frame, True), (frame[~frame["caution"]], False)):
        part.attrs = frame.attrs
        text = itemsets_page(part.head(40) if not is_marked else part[part["caution"]], sizes={}, guarantee=None).html()
        assert ("A ? marks an interval" in text) == is_marked


@pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")
@pytest.mark.slow
def test_intervals_without_caution_hold_and_those_with_it_do_not() -> None:
    """Cut-and-paste at insert 0.01, sizes 1 to 4: 95% intervals over 150 randomizations of one data set."""
    baskets = people()
    rng = np.random.default_rng(1)
    itemsets = []
    for size in (1, 2, 3, 4):
        some = [itemset for itemset, _ in bk.mine(baskets, min_support=0.01, max_size=4) if len(itemset) == size]
        itemsets += [some[at] for at in rng.choice(len(some), min(15, len(some)), replace=False)]
    truth = bk.estimate(baskets, itemsets).value
    holds, caution = [], []
    for seed in range(150):
        found = bk.estimate(SPARSE.randomize(baskets, rng=bk.Seeded(seed)), itemsets)
        low, high = found.interval().T
        holds.append((low <= truth) & (truth <= high))
        caution.append(found.caution)
    held, doubted = np.array(holds), np.array(caution)
    assert 0.1 < doubted.mean() < 0.6
    assert held[~doubted].mean() >= 0.93
    assert held[doubted].mean() < 0.88
    assert (~held)[doubted].sum() > (~held)[~doubted].sum(), "most of what is missed was doubted"
