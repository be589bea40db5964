"""Empirical breaches: against the definition in plain sets, against Bayes, and at the edges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bosket as bk
from bosket.audit import Breaches, breaches
from bosket.audit.breaches import counts as breach_counts
from bosket.audit.breaches import itemsets as breach_itemsets
from tests.oracles import brute_force_itemsets
from tests.stats import assert_plausible, assert_rejected, binomial
from tests.strategies import baskets

Itemset = frozenset[Hashable]
Cells = dict[tuple[int, Itemset], tuple[int, dict[Hashable, int]]]
"""By record size and itemset: reports that hold the itemset, and of these, for each item, raw records that hold it."""


def rows_of(frame: pd.DataFrame) -> list[Any]:
    return list(frame.itertuples())


def cells_of(raw: bk.Baskets, reports: bk.Reports, itemsets: Iterable[Itemset], sizes: Iterable[int]) -> Cells:
    """Definition 4, word by word."""
    said = [set(record) for record in bk.Baskets.from_bits(reports.bits, reports.domain)]
    people = list(zip(map(set, raw), said, sizes, strict=True))
    cells: Cells = {}
    for itemset, m in itertools.product(itemsets, {size for _, _, size in people}):
        if m >= len(itemset):
            truths = [truth for truth, report, size in people if size == m and itemset <= report]
            cells[m, itemset] = len(truths), {a: sum(a in truth for truth in truths) for a in itemset}
    return cells


def assert_equal_to_definition(found: Breaches, cells: Cells, min_reports: int, level: float) -> None:
    kept = {key: cell for key, cell in cells.items() if cell[0] >= min_reports}
    assert found.left_out == len(cells) - len(kept)
    rows = rows_of(found.table)
    assert {(row.record_size, row.itemsets) for row in rows} == set(kept)
    assert len(rows) == len(kept)
    for row in rows:
        n, hits = kept[row.record_size, row.itemsets]
        worst = max(hits.values())
        assert row.size == len(row.itemsets)
        assert row.reports == n
        assert hits[row.item] == worst
        assert row.breach == worst / n
        assert row.stderr == pytest.approx(math.sqrt(worst / n * (1 - worst / n) / n))
        bound = stats.binomtest(worst, n, alternative="greater").proportion_ci(level, method="exact").low
        assert row.low == pytest.approx(bound, abs=1e-12)


@st.composite
def audits(draw: st.DrawFn) -> tuple[bk.Baskets, bk.Reports]:
    """Records and their reports; sometimes over more than a word of items."""
    raw = draw(baskets(max_records=40, max_items=6).filter(len))
    keep = draw(st.sampled_from([0.8, 0.5, 1.0]))
    seed = draw(st.integers(0, 1000))
    spare = draw(st.sampled_from([0, 63]))  # the items then lie astride a border of words
    domain = [*range(100, 100 + spare), *range(raw.n_items)]
    return raw, bk.Flip(keep=keep).randomize(raw, domain=domain, rng=bk.Seeded(seed))


@pytest.mark.slow
@given(audits(), st.data(), st.integers(1, 4), st.sampled_from([0.5, 0.95]))
def test_named_itemsets_agree_with_the_definition(
    audit: tuple[bk.Baskets, bk.Reports], data: st.DataObject, min_reports: int, level: float
) -> None:
    raw, reports = audit
    items = st.sampled_from(reports.domain.labels)
    itemsets = data.draw(st.lists(st.frozensets(items, min_size=1, max_size=4), max_size=6))
    found = breaches(raw, reports, itemsets=itemsets, min_reports=min_reports, level=level)
    cells = cells_of(raw, reports, set(itemsets), map(len, raw))
    assert_equal_to_definition(found, cells, min_reports, level)
    assert found.n_records == len(raw)
    assert found.table.attrs["about"]["randomness"] == reports.randomness


@pytest.mark.slow
@given(audits(), st.sampled_from([0.05, 0.3, 0.7, 1.0]), st.none() | st.integers(1, 5), st.integers(1, 3))
def test_itemsets_are_the_frequent_ones_or_those_of_highest_support(
    audit: tuple[bk.Baskets, bk.Reports], min_support: float, max_size: int | None, top: int
) -> None:
    raw, reports = audit
    found = breaches(raw, reports, min_support=min_support, max_size=max_size, top=top, min_reports=1)
    longest = max(map(len, raw))
    largest = longest if max_size is None else min(max_size, longest)
    rows = breach_itemsets.frequent_itemsets(raw, min_support=min_support, max_size=largest, top=top)
    assert [part.shape[1] for part in rows] == list(range(1, largest + 1))
    records = [frozenset(raw.indices[a:b].tolist()) for a, b in itertools.pairwise(raw.indptr)]
    support = brute_force_itemsets(records, 1)
    for size, part in enumerate(rows, 1):
        chosen = [frozenset(row) for row in part.tolist()]
        counts = {itemset: count for itemset, count in support.items() if len(itemset) == size}
        frequent = {itemset for itemset, count in counts.items() if count >= min_support * len(raw) - 1e-9}
        if frequent:
            assert set(chosen) == frequent
        else:
            assert 1 <= len(chosen) <= top
            assert sorted(counts.values())[-len(chosen) :] == sorted(counts[itemset] for itemset in chosen)
        assert len(set(chosen)) == len(chosen)
    cells = cells_of(raw, reports, {frozenset(row) for part in rows for row in part.tolist()}, map(len, raw))
    assert_equal_to_definition(found, cells, 1, 0.95)


@given(audits())
def test_summaries_follow_from_the_table(audit: tuple[bk.Baskets, bk.Reports]) -> None:
    found = breaches(*audit, min_support=0.05, min_reports=2)
    by_cell: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for row in rows_of(found.table):
        by_cell.setdefault((row.record_size, row.size), []).append((row.breach, row.reports))
    average = {cell: sum(b for b, _ in values) / len(values) for cell, values in by_cell.items()}
    assert [tuple(row) for row in found.by_size.itertuples(index=False)] == [
        (*cell, len(values), pytest.approx(average[cell]), max(values)[0]) for cell, values in sorted(by_cell.items())
    ]
    summary = found.summary()
    assert summary["record_size"].tolist() == sorted({m for m, _ in by_cell})
    for row in rows_of(summary):
        here = {size: values for (m, size), values in by_cell.items() if m == row.record_size}
        assert row.worst_average == max(found.by_size.query(f"record_size == {row.record_size}")["average"])
        assert row.worst_average == pytest.approx(average[row.record_size, row.worst_average_size])
        assert row.worst == max(max(values)[0] for values in here.values())
        assert row.worst_size == min(size for size, values in here.items() if max(values)[0] == row.worst)
        assert (row.worst, row.reports) in here[row.worst_size]
    assert found.worst == summary["worst"].max() or (math.isnan(found.worst) and summary.empty)


def test_an_honest_report_gives_everything_away() -> None:
    raw = bk.quest(records=2000, mean_size=4, mean_pattern=2, items=20, seed=3)
    found = breaches(raw, bk.Flip(keep=1.0).randomize(raw, rng=bk.Seeded(1)))
    assert len(found.table) > 20
    assert (found.table["breach"] == 1).all()
    assert (found.table["stderr"] == 0).all()
    assert found.table["low"].to_numpy() == pytest.approx(0.05 ** (1 / found.table["reports"].to_numpy()))


def posterior(keep: float) -> float:
    """Section 4.4: Pr(b in t | {a, b} in t') when {a, b}, {a, c}, {b, c} have the supports below."""
    come = 1 - keep
    return (AB * keep**2 + BC * keep * come) / (AB * keep**2 + (AC + BC) * keep * come)


AB, AC, BC = 0.2, 0.3, 0.5


def test_breach_is_the_posterior_of_bayes() -> None:
    """Caught: a keep off by 0.01, and looking at item b of the report alone.  234 000 reports hold {a, b}."""
    n = 1_000_000
    pairs = np.array([[0, 1], [0, 2], [1, 2]])[np.random.default_rng(5).choice(3, n, p=[AB, AC, BC])]
    raw = bk.Baskets.from_csr(np.arange(0, 2 * n + 1, 2), pairs.ravel(), ["a", "b", "c"])
    reports = bk.Flip(keep=0.9).randomize(raw, rng=bk.Seeded(6))
    (row,) = rows_of(breaches(raw, reports, itemsets=[{"a", "b"}]).table)
    assert row.item == "b"
    hits = round(row.breach * row.reports)
    assert_plausible(binomial(hits, row.reports, posterior(0.9)))
    assert_rejected(binomial(hits, row.reports, posterior(0.91)))
    assert_rejected(binomial(hits, row.reports, posterior(0.89)))
    b_alone = (AB + BC) * 0.9 / ((AB + BC) * 0.9 + AC * 0.1)
    assert_rejected(binomial(hits, row.reports, b_alone))


@pytest.fixture
def raw() -> bk.Baskets:
    return bk.Baskets([["a", "b"], ["a", "c"], ["c"], []] * 50, items=["a", "b", "c"])


@pytest.fixture
def reports(raw: bk.Baskets) -> bk.Reports:
    return bk.Flip(keep=0.8).randomize(raw, rng=bk.Seeded(1))


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_strata_are_the_sizes_that_an_observer_sees(raw: bk.Baskets, limit: int) -> None:
    """Longer records are sampled down before they are randomized: it is still the raw record that is given away."""
    plan = bk.Plan(raw.domain, bk.CutAndPaste(cutoff=2, insert=0.3), bk.PrivacyUnit(max_size=limit, longer="sample"))
    reports = plan.randomize(raw, rng=bk.Seeded(2))
    sizes = np.minimum(raw.sizes, limit)
    assert reports.strata is not None
    assert reports.strata.tolist() == sizes.tolist()
    found = breaches(raw, reports, min_reports=1)
    itemsets = ["a", "b", "c"] if limit == 1 else ["a", "b", "c", "ab", "ac"]  # no record of size 1 has a pair
    cells = cells_of(raw, reports, map(frozenset, itemsets), sizes.tolist())
    assert_equal_to_definition(found, cells, 1, 0.95)


@pytest.mark.parametrize("mechanism", [bk.Flip(keep=0.8), bk.CutAndPaste(cutoff=2, insert=0.3)], ids=str)
@pytest.mark.parametrize("size_epsilon", [None, 2.0])
def test_records_that_state_their_size_are_looked_at_by_it(
    raw: bk.Baskets, mechanism: bk.Mechanism, size_epsilon: float | None
) -> None:
    unit = bk.PrivacyUnit(max_size=1, longer="sample", state_sizes_to=3, size_epsilon=size_epsilon)
    reports = bk.Plan(raw.domain, mechanism, unit).randomize(raw, rng=bk.Seeded(2))
    found = breaches(raw, reports, min_reports=1)
    cells = cells_of(raw, reports, map(frozenset, ["a", "b", "c", "ab", "ac"]), raw.sizes.tolist())
    assert_equal_to_definition(found, cells, 1, 0.95)
    if size_epsilon is None:
        with pytest.raises(bk.DataError, match="must be the size"):
            breaches(raw, reports[np.arange(1, len(raw) + 1) % len(raw)])


@pytest.mark.parametrize("longer", ["refuse", "sample"])
def test_strata_of_other_people_are_refused(raw: bk.Baskets, longer: Literal["refuse", "sample"]) -> None:
    """Sizes are 2, 2, 1, 0 over and over: with everybody moved up by one, the second does not fit."""
    plan = bk.Plan(raw.domain, bk.CutAndPaste(cutoff=2, insert=0.3), bk.PrivacyUnit(max_size=2, longer=longer))
    reports = plan.randomize(raw, rng=bk.Seeded(2))
    moved = np.arange(1, len(raw) + 1) % len(raw)
    with pytest.raises(bk.DataError, match="report 2 must be the size"):
        breaches(raw, reports[moved])
    larger = bk.Baskets([["a", "b", "c"]] * len(raw))
    if longer == "refuse":
        with pytest.raises(bk.DataError, match="report 1 must be the size"):
            breaches(larger, reports[np.tile([0], len(raw))])
    else:
        assert breaches(larger, reports[np.tile([0], len(raw))]).table["record_size"].unique().tolist() == [2]


def test_only_the_same_people_can_be_compared(raw: bk.Baskets, reports: bk.Reports) -> None:
    with pytest.raises(bk.DataError, match="same people"):
        breaches(raw[:-1], reports)
    with pytest.raises(bk.DataError, match="no records"):
        breaches(raw[:0], reports[:0])
    with pytest.raises(bk.DataError) as caught:
        breaches(bk.Baskets([["secret"]] * len(raw)), reports)
    assert "secret" not in str(caught.value)
    reordered = raw.with_domain(["c", "b", "a"])
    pd.testing.assert_frame_equal(breaches(reordered, reports).table, breaches(raw, reports).table)


def test_types_are_told_apart(raw: bk.Baskets, reports: bk.Reports) -> None:
    wrong: list[Any] = [reports, [["a"]], None]
    for value in wrong:
        with pytest.raises(bk.DataError, match="raw of an audit must be Baskets"):
            breaches(value, reports)
    with pytest.raises(bk.DataError, match="reports of an audit must be Reports"):
        breaches(raw, raw)  # type: ignore[arg-type]


def test_itemsets_must_be_of_the_domain(raw: bk.Baskets, reports: bk.Reports) -> None:
    with pytest.raises(bk.DataError, match="'d'"):
        breaches(raw, reports, itemsets=[{"a", "d"}])
    wrong: list[Any] = [["a"], [[]], "abc"]
    for itemsets in wrong:
        with pytest.raises(bk.ParameterError) as caught:
            breaches(raw, reports, itemsets=itemsets)
        assert caught.value.parameter == "itemsets"
    found = breaches(raw, reports, itemsets=iter([{"b", "a"}, ("a", "b", "a"), ["c"]]), min_reports=1)
    assert set(found.table["itemsets"]) == {frozenset("ab"), frozenset("c")}
    assert len(found.table) == 3  # the pair once, at size 2; c at sizes 1 and 2


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("min_support", [0, 1.1, "x"]),
        ("max_size", [0, 1.5]),
        ("min_reports", [0, True]),
        ("top", [0, -1]),
        ("level", [0, 1, 95]),
    ],
)
def test_parameters_are_checked(raw: bk.Baskets, reports: bk.Reports, name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(bk.ParameterError) as caught:
            breaches(raw, reports, **{name: value})
        assert caught.value.parameter == name


@pytest.mark.parametrize("records", [[[], []], [["a"], []]])
def test_nothing_to_look_at_is_an_empty_table(records: list[list[str]]) -> None:
    raw = bk.Baskets(records, items=["a", "b"])
    reports = bk.Flip(keep=0.8).randomize(raw, rng=bk.Seeded(1))
    for found in (breaches(raw, reports), breaches(raw, reports, itemsets=[])):
        assert found.table.columns.tolist() == [
            "record_size", "size", "itemsets", "item", "reports", "breach", "stderr", "low"
        ]  # fmt: skip
        assert found.table.empty
        assert found.by_size.columns.tolist() == ["record_size", "size", "itemsets", "average", "worst"]
        assert found.summary().empty
        assert math.isnan(found.worst)
        assert "No itemset is held by 30 reports" in str(found)
        assert "nan" in repr(found)


def test_text_is_the_paper_s_table() -> None:
    """A column per record size, ten a line."""
    raw = bk.Baskets([range(size) for size in range(1, 13) for _ in range(50)])
    found = breaches(raw, bk.Flip(keep=1.0).randomize(raw, rng=bk.Seeded(1)), max_size=1)
    first, second = str(found).split("\n\n")
    sizes, average, worst = first.splitlines()
    assert sizes.split() == ["Record", "size", *map(str, range(1, 11))]
    assert average.split() == ["Worst", "average", *["1:", "100.0%"] * 10]
    assert worst.split() == ["Worst", "of", "the", "worst", *["1:", "100.0%"] * 10]
    assert second.splitlines()[0].split() == ["Record", "size", "11", "12"]
    assert second.splitlines()[-1].startswith(f"Left out: {found.left_out} pairs")
    assert found.left_out == 12 * 12 - sum(range(1, 13))
    assert repr(found) == f"Breaches(worst 100.0%; 78 rows, {found.left_out} left out, 600 records)"


@pytest.mark.parametrize("repeats", [1, 3])
def test_itemsets_too_many_to_list_are_still_chosen(repeats: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of 12 items that share none: 924 itemsets of size 6 each, all equally common."""
    monkeypatch.setattr(breach_itemsets, "_MOST_TO_CHOOSE_FROM", 1000)
    raw = bk.Baskets([range(12 * i, 12 * i + 12) for i in range(20)]).repeat(repeats)
    rows = breach_itemsets.frequent_itemsets(raw, min_support=0.5, max_size=6, top=4)
    assert [part.shape for part in rows] == [(4, size) for size in range(1, 7)]
    for part in rows:
        assert all(sum(set(row) <= set(record) for record in map(set, raw)) == repeats for row in part.tolist())


def test_support_is_not_lowered_too_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Halving 10 would find 67 pairs: some of these are more than can be listed, the one in 8 records is not."""
    monkeypatch.setattr(breach_itemsets, "_MOST_TO_CHOOSE_FROM", 50)
    raw = bk.Baskets([[0, 1]] * 8 + [list(range(2, 14))] * 5 + [[]] * 7)
    rows = breach_itemsets.frequent_itemsets(raw, min_support=0.5, max_size=2, top=10)
    assert [part.tolist() for part in rows] == [[[item] for item in range(10)], [[0, 1]]]


def test_too_many_frequent_itemsets_are_refused(
    raw: bk.Baskets, reports: bk.Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breach_itemsets, "_MOST_FREQUENT", 2)
    with pytest.raises(bk.TooManyCandidatesError):
        breaches(raw, reports)


def test_chunks_change_nothing(raw: bk.Baskets, reports: bk.Reports, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = breaches(raw, reports, min_reports=1)
    monkeypatch.setattr(breach_counts, "_COUNTS", 1)
    parts = breaches(raw, reports, min_reports=1)
    pd.testing.assert_frame_equal(parts.table, whole.table)
    assert parts.left_out == whole.left_out
