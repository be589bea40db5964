"""Level-wise mining: against brute force, with and without noise; limits, slack, progress."""

from __future__ import annotations

import itertools
import logging
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket.counting import ReferenceCounter
from bosket.counting.table import ItemsetIndex
from bosket.evidence import LinearEvidence
from bosket.mechanisms import IdentityChannel
from bosket.mining import LevelProgress, Search, mine_evidence
from bosket.mining.candidates import count_candidates, next_candidates, number_of_pairs, pairs_of
from bosket.progress import Meter, counting_work
from bosket.threads import n_threads
from tests.effort import effort_within
from tests.memory import traced
from tests.oracles import brute_force_itemsets, re_recursion

records_of_few_items = st.lists(st.frozensets(st.integers(0, 6)), min_size=1, max_size=40)


@given(records_of_few_items, st.integers(1, 100), st.none() | st.integers(1, 4))
def test_levelwise_on_the_identity_channel_is_exact(
    records: list[frozenset[int]], percent: int, max_size: int | None
) -> None:
    """With a counter of plain sets: the search itself, without any compiled counting."""
    search = Search(min_support=percent / 100, max_size=max_size)
    found = mine_evidence(LinearEvidence(IdentityChannel(bk.Domain(range(7))), ReferenceCounter(records)), search)
    least = -(-percent * len(records) // 100)
    expected = brute_force_itemsets(records, max(1, least), max_size)
    assert {itemset: round(support * len(records)) for itemset, support in found} == expected


@given(records_of_few_items, st.integers(1, 100))
def test_exact_mining_and_keep_one_agree(records: list[frozenset[int]], percent: int) -> None:
    """Raw baskets take the fast path; Flip(keep=1) goes level by level: the same itemsets, the same supports."""
    baskets = bk.Baskets(records, items=range(7))
    exact = bk.mine(baskets, min_support=percent / 100)
    walked = bk.mine(bk.Flip(keep=1.0).randomize(baskets), min_support=percent / 100)
    assert dict(exact) == dict(walked)
    assert walked.to_frame()["stderr"].eq(0).all()


@given(st.lists(st.frozensets(st.integers(0, 8), min_size=3, max_size=3), unique=True, max_size=50))
def test_join_and_prune_lose_nothing_and_keep_nothing_else(itemsets: list[frozenset[int]]) -> None:
    rows = np.array(sorted(sorted(itemset) for itemset in itemsets), np.int32).reshape(-1, 3)
    candidates = next_candidates(ItemsetIndex(rows), max_candidates=1000)
    expected = [
        list(union)
        for union in itertools.combinations(range(9), 4)
        if all(frozenset(subset) in itemsets for subset in itertools.combinations(union, 3))
    ]
    assert candidates.tolist() == expected


def noisy(seed: int = 5) -> tuple[bk.Baskets, bk.Reports]:
    baskets = bk.quest(records=20_000, mean_size=6, mean_pattern=3, items=30, patterns=20, seed=seed)
    mechanism = bk.Flip(keep={item: [0.7, 0.8, 0.9][item % 3] for item in range(30)})
    return baskets, mechanism.randomize(baskets, rng=bk.Seeded(seed))


@pytest.mark.slow
def test_mined_estimates_are_those_of_the_recursion() -> None:
    """Every reported itemset, against RE's recursion on supports counted by hand from the bits."""
    _, reports = noisy()
    found = bk.mine(reports, min_support=0.05)
    assert max(found.sizes) >= 3
    dense = np.unpackbits(reports.bits.view(np.uint8).reshape(len(reports), -1), axis=1, bitorder="little").astype(bool)
    keep = [0.7, 0.8, 0.9]
    for itemset, support in found:
        items: list[int] = sorted(itemset)  # type: ignore[arg-type]  # labels are whole numbers here
        observed = [
            dense[:, [item for place, item in enumerate(items) if pattern >> place & 1]].all(axis=1).sum()
            for pattern in range(1 << len(items))
        ]
        p = [keep[item % 3] for item in items]
        expected = re_recursion(observed, p, [1 - q for q in p])
        assert support * len(reports) == pytest.approx(expected, rel=1e-9)


def test_frame_agrees_with_estimate() -> None:
    _, reports = noisy()
    frame = bk.mine(reports, min_support=0.1).to_frame(level=0.9)
    assert list(frame.columns) == ["support", "itemsets", "size", "stderr", "low", "high", "observed", "caution"]
    direct = bk.estimate(reports, frame["itemsets"])
    np.testing.assert_allclose(frame["support"], direct.value)
    np.testing.assert_allclose(frame["stderr"], direct.stderr)
    np.testing.assert_allclose(frame[["low", "high"]], direct.interval(0.9))
    assert (frame["support"] >= 0.1 * (1 - 1e-9)).all()
    assert frame["support"].is_monotonic_decreasing
    assert [itemset for itemset, _ in bk.mine(reports, 0.1)] == frame["itemsets"].tolist()
    assert frame["size"].tolist() == [len(itemset) for itemset in frame["itemsets"]]
    sampled = bk.mine(reports, min_support=0.1).to_frame(sampling=True)
    assert (sampled["stderr"] > frame["stderr"]).all()
    assert frame.attrs["about"]["guarantee"]["item"]["unit"]
    assert "protects nobody" in frame.attrs["about"]["randomness"]


@pytest.mark.slow
def test_every_reported_itemset_has_all_its_subsets() -> None:
    """Noise can push a subset below min_support; it is listed all the same, and nothing else that is below it."""
    _, reports = noisy()
    found = bk.mine(reports, min_support=0.04)
    names = dict(found)
    needed = set()
    for itemset, support in found:
        subsets = {frozenset(part) for size in range(1, len(itemset)) for part in itertools.combinations(itemset, size)}
        assert subsets <= set(names)
        assert all(found.support(part) == names[part] and part in found for part in subsets)
        if support >= 0.04:
            needed |= subsets
    below = {itemset for itemset, support in found if support < 0.04}
    assert below, "the case that matters must occur here"
    assert below <= needed
    assert len(found) == len(names) == len(found.to_frame())


@pytest.mark.parametrize("is_raw", [True, False])
def test_mlxtend_makes_rules_of_our_frame(is_raw: bool) -> None:
    """Its association_rules looks up both sides of every split, and gives the values that ours gives."""
    frequent_patterns = pytest.importorskip("mlxtend.frequent_patterns")
    baskets, reports = noisy()
    found = bk.mine(baskets if is_raw else reports, min_support=0.04)
    theirs = frequent_patterns.association_rules(found.to_frame(), metric="confidence", min_threshold=0.5)
    ours = found.rules(metric="confidence", min_threshold=0.5)
    assert list(ours.columns[:14]) == list(theirs.columns[:14])
    assert len(ours) > 50
    keys = ["antecedents", "consequents"]
    both = ours.merge(theirs, on=keys, suffixes=("", " of mlxtend"))
    sure = ours[keys].itertuples(index=False, name=None)
    assert set(sure) <= set(theirs[keys].itertuples(index=False, name=None))
    assert len(both) == len(ours)
    for name in theirs.columns[2:]:
        known = both[name].notna() & np.isfinite(both[name])
        np.testing.assert_allclose(both[name][known], both[f"{name} of mlxtend"][known], rtol=1e-9, atol=1e-12)


def test_slack_finds_more() -> None:
    baskets, reports = noisy()
    truth = {itemset for itemset, _ in bk.mine(baskets, min_support=0.04)}
    caught = [
        len(truth & {itemset for itemset, _ in bk.mine(reports, min_support=0.04, slack=s)}) for s in (0.0, 1.0, 2.0)
    ]
    assert caught[0] < caught[1] <= caught[2]


def test_only_some_items() -> None:
    """The same estimates as of all items, without the others; an erased item can so be left out."""
    baskets, reports = noisy()
    for data in (baskets, reports):
        whole = dict(bk.mine(data, min_support=0.05))
        some = dict(bk.mine(data, min_support=0.05, items=range(0, 30, 2)))
        among = {itemset: s for itemset, s in whole.items() if all(item % 2 == 0 for item in itemset)}  # type: ignore[operator]
        assert some.items() <= among.items()
        assert all(s < 0.05 for itemset, s in among.items() if itemset not in some), "parts of itemsets with others"
        assert max(map(len, some)) >= 2
    erased = bk.Flip(keep={0: 0.5}, default=0.9).randomize(baskets, rng=bk.Seeded(1))
    with pytest.raises(bk.SingularChannelError) as caught:
        bk.mine(erased, min_support=0.1)
    assert "items=" in str(caught.value.hint)
    assert len(bk.mine(erased, min_support=0.1, items=range(1, 30)))


def test_membership() -> None:
    found = bk.mine(bk.Baskets([["a", "b"], ["a"], ["a", "b"]]), min_support=0.6)
    assert {"a"} in found
    assert ["b", "a"] in found
    assert {"c"} not in found
    assert {"a", "b", "c"} not in found
    assert 5 not in found


def test_max_size_cuts_and_nothing_else() -> None:
    _, reports = noisy()
    whole = dict(bk.mine(reports, min_support=0.08))
    cut = dict(bk.mine(reports, min_support=0.08, max_size=2))
    assert cut == {itemset: support for itemset, support in whole.items() if len(itemset) <= 2}


def test_too_many_candidates_is_said_with_level_and_number() -> None:
    baskets, reports = noisy()
    with pytest.raises(bk.TooManyCandidatesError) as caught:
        bk.mine(reports, min_support=0.01, max_candidates=100)
    assert (caught.value.level, caught.value.limit) == (2, 100)
    assert caught.value.number > 100
    assert "max_size" in str(caught.value.hint)
    with pytest.raises(bk.TooManyCandidatesError) as caught:
        bk.mine(reports, min_support=0.01, max_candidates=500)
    assert caught.value.level >= 3
    with pytest.raises(bk.TooManyCandidatesError) as caught:
        bk.mine(baskets, min_support=0.001, max_candidates=40)
    assert caught.value.limit == 40


def test_progress_reaches_the_end_of_every_level(caplog: pytest.LogCaptureFixture) -> None:
    baskets, reports = noisy()
    seen: list[LevelProgress] = []
    with caplog.at_level(logging.INFO, "bosket"):
        found = bk.mine(reports, min_support=0.1, on_progress=seen.append)
    by_size = {step.size: step for step in seen}
    assert set(by_size) >= set(range(2, max(found.sizes) + 1))
    assert all(step.done == step.total for step in by_size.values())
    assert len(caplog.records) >= max(found.sizes)
    seen.clear()
    bk.mine(baskets, min_support=0.1, on_progress=seen.append)
    assert seen[-1].done == pytest.approx(seen[-1].total)


@pytest.mark.parametrize("min_support", [0, -0.1, 1.5, float("nan"), "0.1", True])
def test_min_support_outside_its_range(min_support: object) -> None:
    with pytest.raises(bk.ParameterError) as caught:
        bk.mine(bk.Baskets([["a"]]), min_support=min_support)  # type: ignore[arg-type]
    assert caught.value.parameter == "min_support"


def test_exact_results_have_no_error_at_all() -> None:
    """1 of 49: a count that does not survive division and multiplication."""
    found = bk.mine(bk.Baskets([["a"]] + [["b"]] * 48), min_support=0.01)
    assert found.to_frame().columns.tolist() == ["support", "itemsets", "size"], "and no columns for errors"
    assert found.typical_stderr == {1: 0.0}
    with_people = found.to_frame(sampling=True)
    assert with_people.columns.tolist() == ["support", "itemsets", "size", "stderr", "low", "high"]
    assert with_people["stderr"].tolist() == pytest.approx([(48 / 49 / 49 / 49) ** 0.5] * 2)


def test_frames_are_mined_as_they_are() -> None:
    one_hot = pd.DataFrame({"tea": [True, True, False], "milk": [True, False, False], "rum": [False, False, True]})
    assert dict(bk.mine(one_hot, 0.3)) == dict(bk.mine(bk.Baskets.from_frame(one_hot), min_support=0.3))
    assert bk.estimate(one_hot, [{"tea", "milk"}]).value.tolist() == pytest.approx([1 / 3])
    assert bk.contingency(pa.Table.from_pandas(one_hot), {"tea"}, {"milk"}).n_records == 3


def test_degenerate_data() -> None:
    with pytest.raises(bk.DataError, match="no records"):
        bk.mine(bk.Baskets([], items=["a"]), min_support=0.1)
    with pytest.raises(bk.DataError, match="cannot"):
        bk.mine([["a"]], min_support=0.1)
    assert dict(bk.mine(bk.Baskets([["a"]]), min_support=1.0)) == {frozenset("a"): 1.0}
    assert len(bk.mine(bk.Baskets([[], []], items=["a"]), min_support=0.5)) == 0
    assert bk.mine(bk.Baskets([[], []], items=["a"]), min_support=0.5).to_frame().empty
    assert bk.mine(bk.Baskets([[], []], items=["a"]), min_support=0.5).rules().empty
    one = bk.Flip(keep=0.9).randomize(bk.Baskets([["a"]] * 1000))
    assert set(dict(bk.mine(one, min_support=0.5))) == {frozenset("a")}


@pytest.mark.slow
def test_many_items() -> None:
    """100 000 items: exact mining takes it in its stride, noise is refused by number, not by memory."""
    n = 100_000
    baskets = bk.Baskets([[0, 1, number] for number in range(2, 300)], items=range(n))
    assert set(dict(bk.mine(baskets, min_support=0.5))) == {frozenset({0}), frozenset({1}), frozenset({0, 1})}
    reports = bk.Flip(keep=0.9).randomize(baskets, rng=bk.Seeded(1))
    with pytest.raises(bk.TooManyCandidatesError) as caught:
        bk.mine(reports, min_support=0.01)
    assert caught.value.level == 2


@pytest.mark.slow
def test_too_many_candidates_are_refused_before_they_are_joined() -> None:
    """Two thousand noisy items: 10^9 triples that were walked one by one, for minutes, before they were refused."""
    records = [np.random.default_rng(seed).choice(2000, 8, replace=False).tolist() for seed in range(2000)]
    reports = bk.Flip(keep=0.6).randomize(bk.Baskets(records, items=range(2000)), rng=bk.Seeded(1))
    seen: list[float] = [time.process_time()]
    with effort_within(30):  # it takes one second by itself
        with pytest.raises(bk.TooManyCandidatesError) as caught:
            bk.mine(reports, min_support=0.001, on_progress=lambda _: seen.append(time.process_time()))
        assert (caught.value.level, caught.value.limit) == (3, 10_000_000)
        assert 10_000_000 < caught.value.number < 10**9, "counting stopped early"
        assert "size 3" in str(caught.value)
    assert max(np.diff(seen)) < 10, "and tells how far it is all the while"


def test_nothing_large_is_allocated_before_a_level_is_refused() -> None:
    """The candidates of size 3 would take 120 MB."""
    items = np.arange(800, dtype=np.int32)
    rows = np.stack(pairs_of(items, None), axis=1).astype(np.int32)
    index = ItemsetIndex(rows)
    next_candidates(ItemsetIndex(rows[:50]), max_candidates=10**6)
    with traced() as memory:
        with pytest.raises(bk.TooManyCandidatesError):
            next_candidates(index, max_candidates=1000)
        assert memory.peak < 20 << 20


@pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")
def test_values_of_one_attribute_are_no_candidates() -> None:
    """2 attributes of 300 values: 90 000 pairs, where 180 000 pairs of items there are."""
    table = bk.Table.from_frame(pd.DataFrame({name: [str(v) for v in range(300)] * 4 for name in ("one", "other")}))
    reports = bk.GammaDiagonal(gamma=1e6).randomize(table, rng=bk.Seeded(1))
    with pytest.raises(bk.TooManyCandidatesError) as caught:
        bk.mine(reports, min_support=1e-4, slack=1e6, max_candidates=89_999)
    assert (caught.value.level, caught.value.number) == (2, 90_000)
    assert bk.mine(reports, min_support=1e-4, slack=1e6, max_candidates=90_000).levels[1].items.shape == (90_000, 2)
    with pytest.raises(bk.TooManyCandidatesError) as caught:
        bk.mine(reports, min_support=1e-4, max_candidates=599)
    assert (caught.value.level, caught.value.number) == (1, 600)


@given(st.lists(st.integers(0, 30), unique=True, max_size=12), st.integers(1, 40))
def test_pairs_of_items_of_different_attributes(items: list[int], width: int) -> None:
    chosen = np.array(sorted(items), np.int32)
    groups = np.arange(31) // width
    left, right = pairs_of(chosen, groups)
    pairs = [(a, b) for a, b in itertools.combinations(sorted(items), 2) if groups[a] != groups[b]]
    assert list(zip(chosen[left].tolist(), chosen[right].tolist(), strict=True)) == pairs
    assert number_of_pairs(chosen, groups) == len(pairs)
    assert number_of_pairs(chosen, None) == len(items) * (len(items) - 1) // 2


@given(st.integers(2, 5), st.sets(st.frozensets(st.integers(0, 9), min_size=2, max_size=5), max_size=150))
def test_candidates_of_any_size_are_those_with_all_their_subsets(size: int, itemsets: set[frozenset[int]]) -> None:
    chosen = {itemset for itemset in itemsets if len(itemset) == size}
    for whole in [itemset for itemset in itemsets if len(itemset) == size + 1]:
        chosen |= {whole - {item} for item in whole}
    rows = np.array(sorted(sorted(itemset) for itemset in chosen), np.int32).reshape(-1, size)
    expected = [
        list(union)
        for union in itertools.combinations(range(10), size + 1)
        if all(frozenset(subset) in chosen for subset in itertools.combinations(union, size))
    ]
    index = ItemsetIndex(rows)
    assert next_candidates(index, max_candidates=1000).tolist() == expected
    assert count_candidates(index) == len(expected)


def test_progress_names_the_stage_and_what_is_ahead() -> None:
    seen: list[LevelProgress] = []
    bk.mine(noisy()[1], min_support=0.1, on_progress=seen.append)
    stages = [stage for (_, stage), _ in itertools.groupby((step.size, step.stage) for step in seen)]
    assert stages[:5] == ["counting", "estimating", "joining", "counting", "estimating"]
    assert all(step.seconds is not None and step.seconds >= 0 for step in seen)
    assert all(step.seconds == 0 for step in seen if step.done == step.total)


def test_a_level_that_would_take_hours_says_so_before_it_begins() -> None:
    """Counting a candidate is slow here; the search is given up at the first word of its length."""

    class Slow(Exception):  # noqa: N818 - stands for whoever gives up
        pass

    def listen(state: LevelProgress) -> None:
        if state.seconds is not None and state.seconds > 3600:
            raise Slow

    meter_of = counting_work(10**7, 10**9)
    assert meter_of / n_threads() > 3600
    with pytest.raises(Slow):
        Meter(listen, 3, "counting", 10**7, work=meter_of)
    Meter(listen, 3, "counting", 1000, work=counting_work(1000, 10**6)).finish()


def test_a_table_of_many_values_is_refused_in_seconds() -> None:
    """14 attributes of 7 values, where nearly all is noise: 2 million sets of four."""
    rng = np.random.default_rng(1)
    table = bk.Table.from_frame(pd.DataFrame({f"a{j}": rng.integers(0, 7, 1000).astype(str) for j in range(14)}))
    reports = bk.Flip(keep=0.7).randomize(table, rng=bk.Seeded(1))
    with effort_within(30):  # it takes a second by itself
        with pytest.raises(bk.TooManyCandidatesError) as caught:
            bk.mine(reports, min_support=1e-6, max_candidates=200_000)
        assert caught.value.level == 4


def test_rules_and_frames_tell_how_far_they_are() -> None:
    baskets, reports = noisy()
    for found in (bk.mine(reports, min_support=0.1), bk.mine(baskets, min_support=0.05)):
        seen: list[LevelProgress] = []
        found.rules(min_threshold=0.0, adjust="by", on_progress=seen.append)
        ends = {(step.size, step.stage): step for step in seen}
        assert {"making rules", "measuring rules", "counting rules"} <= {stage for _, stage in ends}
        assert all(step.done == step.total for step in ends.values() if "rules" in step.stage and step.size == 0)
        seen.clear()
        found.to_frame(measures="all", on_progress=seen.append)
        listed = {step.size: step.done for step in seen if step.stage == "listing"}
        assert listed == found.sizes
        assert {step.size for step in seen if step.stage == "measuring"} == set(found.sizes) - {1}
    seen.clear()
    bk.dependent_pairs(reports, on_progress=seen.append)
    assert {step.stage for step in seen} == {"counting", "testing"}
