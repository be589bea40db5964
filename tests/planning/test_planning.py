"""Planning: the breach formula by another route, the smallest insert, and what is discoverable."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bosket as bk
from bosket import planning
from bosket.planning import cutting
from bosket.planning.cutting import shown_ratios
from bosket.planning.discoverability import confidence_ratio
from bosket.planning.maximal import planning_channel
from bosket.privacy.breaches import (
    challenging,
    challenging_level,
    cumulative_to_partial,
    partial_to_cumulative,
    posterior,
    worst_level,
)
from tests.oracles import cut_and_paste_law

SOCCER = dict(zip(range(1, 11), [0.047, 0.168, 0.214, 0.322, 0.353, 0.429, 0.461, 0.420, 0.409, 0.395], strict=True))
"""Section 5.4: rho_m at K = 7."""


def printed_level(maximal: list[float], cutoff: int, rho: float, m: int) -> float:
    """Eqs. (14) to (16) with Eq. (8) and Remark 4.2, all as printed, in plain Python."""
    k = len(maximal)
    p_m = [
        sum(
            math.comb(m - i, j - i)
            * rho ** (j - i)
            * (1 - rho) ** (m - j)
            * (1 - m / (cutoff + 1) if i == m and i < cutoff else 1 / (cutoff + 1))
            for i in range(min(cutoff, j) + 1)
        )
        for j in range(m + 1)
    ]

    def p(l: int) -> float:
        """p[l -> k]: all k shown, so q = l."""
        return sum(p_m[j] * math.comb(m - l, j - l) / math.comb(m, j) * rho ** (k - l) for j in range(l, m + 1))

    s = [0.0] * (k + 1)
    for l in range(1, k + 1):
        s[l] = sum((-1) ** (j - l) * math.comb(j, l) * math.comb(k, j) * maximal[j - 1] for j in range(l, k + 1))
    s[0] = 1 - sum(s[1:])
    whole = sum(s[l] * p(l) for l in range(k + 1))
    return sum(l / k * s[l] * p(l) for l in range(1, k + 1)) / whole if whole > 0 else 1.0


@st.composite
def problems(draw: st.DrawFn) -> tuple[int, int, list[float], float]:
    """A record size, a cutoff, maximal supports that fall with the itemset, and a level above the first."""
    m = draw(st.integers(1, 8))
    cutoff = draw(st.integers(3, 10))
    first = draw(st.floats(0.001, 0.45))
    falls = draw(st.lists(st.floats(0.05, 1.0), min_size=m - 1, max_size=m - 1))
    maximal = [first, *(first * math.prod(falls[: j + 1]) for j in range(m - 1))]
    return m, cutoff, maximal[: draw(st.integers(1, m))], draw(st.sampled_from([0.5, 0.46, 0.8]))


class TestSmallestInsert:
    @pytest.mark.slow
    @given(problems())
    @settings(max_examples=60)
    def test_never_rejected_and_nothing_smaller_passes(self, problem: tuple[int, int, list[float], float]) -> None:
        """By the printed formulas: the rho found passes for all k, and no smaller one on a grid of 1500 does."""
        m, cutoff, maximal, level = problem
        rho = planning.smallest_insert(cutoff, m, maximal, level=level)

        def worst(value: float) -> float:
            return max(printed_level(maximal[:k], cutoff, value, m) for k in range(1, len(maximal) + 1))

        assert worst(rho) < level * (1 + 1e-9)
        grid = (np.arange(1500) + 0.5) / 1500
        assert not [value for value in grid if value < rho - 1e-9 and worst(float(value)) < level * (1 - 1e-9)]

    def test_strictly_below_by_the_channel_that_reports_have(self) -> None:
        for m, maximal in {1: [0.05], 3: [0.21, 0.04, 0.0073], 5: [0.32, 0.09, 0.025, 0.007, 0.0019]}.items():
            rho = planning.smallest_insert(7, m, maximal)
            levels = planning.breach_levels(bk.CutAndPaste(7, rho), {m: maximal})
            assert (levels["breach"] < 0.5).all()
            assert levels["breach"].max() > 0.5 - 1e-6

    def test_the_papers_parameters_come_back(self) -> None:
        """The maximal supports that soccer's parameters just allow lead back to soccer's parameters."""
        maximal = planning.allowed_maximal_supports(bk.CutAndPaste(7, SOCCER), range(1, 11))
        assert all(list(row) == sorted(row, reverse=True) for row in maximal.values())
        for m, rho in SOCCER.items():
            assert planning.smallest_insert(7, m, maximal[m]) == pytest.approx(rho, abs=1e-6)

    def test_what_everybody_knows_cannot_be_hidden(self) -> None:
        with pytest.raises(bk.ParameterError, match="most frequent item"):
            planning.smallest_insert(5, 3, [0.6, 0.2])

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: planning.smallest_insert(0, 3, [0.1]),
            lambda: planning.smallest_insert(5, 3, [0.1], level=1.0),
            lambda: planning.smallest_insert(5, 2, [0.1, 0.05, 0.01]),
            lambda: planning.smallest_insert(5, 3, [0.1, 0.2]),
            lambda: planning.smallest_insert(5, 3, []),
            lambda: planning.breach_levels(bk.Flip(keep=0.9), {3: [0.1]}),
            lambda: planning.breach_levels(bk.Replace(0.8), {3: [0.1]}),  # depends on the number of items
            lambda: planning.breach_levels(bk.CutAndPaste(3, {2: 0.1}), {3: [0.1]}),
            lambda: planning.lowest_support(bk.CutAndPaste(3, {2: 0.1}), 1, records={3: 100}),
            lambda: planning.cut_and_paste({2: [0.1], 3: [0.1]}, records={2: 100}),
            lambda: planning.cut_and_paste({2: [0.1]}, records=100, cutoffs=[]),
            lambda: planning.cut_and_paste({2: [0.1]}, records=100, cutoffs=3),  # type: ignore[arg-type]
            lambda: planning.cut_and_paste([0.1], records=100),  # type: ignore[arg-type]
            lambda: planning.smallest_insert(5, 3, {3: [0.1]}),
            lambda: planning.lowest_support(bk.CutAndPaste(3, 0.1), 1, records=100),  # type: ignore[arg-type]
            lambda: planning.lowest_confidence(bk.CutAndPaste(3, 0.1), 1, 1, size=3, n_records=100, support=2),
            lambda: bk.Plan(bk.Domain(["a"]), bk.Flip(keep=0.9), 5),  # type: ignore[arg-type]
            lambda: planning.cut_and_paste({}, records=100),
        ],
    )
    def test_wrong_arguments(self, wrong: object) -> None:
        with pytest.raises(bk.ParameterError):
            wrong()  # type: ignore[operator]

    @given(st.integers(1, 12), st.integers(1, 12), st.floats(0.01, 0.99))
    def test_ratios_are_the_channels(self, m: int, cutoff: int, rho: float) -> None:
        channel = planning_channel(bk.CutAndPaste(cutoff, rho), m)
        for k in range(1, min(m, 6) + 1):
            expected = channel.shown_given(k, m) / rho**k
            np.testing.assert_allclose(shown_ratios(cutoff, m, k, np.array([rho]))[:, 0], expected, rtol=1e-9)


def test_the_choice_is_the_best_of_those_considered() -> None:
    choice = planning.cut_and_paste({2: [0.15, 0.03], 4: [0.25, 0.07, 0.02, 0.005]}, records=1_000_000)
    frame = choice.considered
    assert set(frame["cutoff"]) == {3, 4}
    assert (frame["breach"] < 0.5).all()
    for one in choice.choices:
        same = frame[frame["record_size"] == one.record_size]
        assert one.lowest_support == same["lowest_support"].min()
    levels = planning.breach_levels(choice.mechanism, {2: [0.15, 0.03], 4: [0.25, 0.07, 0.02, 0.005]})
    assert (levels["breach"] < 0.5).all()
    assert choice.mechanism.record_sizes == frozenset({0, 2, 4})  # empty records too
    assert "size  4" in str(choice)


class TestBreachFormula:
    def test_posterior_is_bayes_on_a_population(self) -> None:
        """Records of three items out of five with given shares: P[a in t | A in t'] by enumerating all reports."""
        rng = np.random.default_rng(5)
        records = [frozenset(t) for t in itertools.combinations(range(5), 3)]
        shares = rng.dirichlet(np.ones(len(records)))
        laws = [cut_and_paste_law(t, 5, 3, 0.3125) for t in records]
        channel = planning_channel(bk.CutAndPaste(3, 0.3125), 3)
        for size in (1, 2, 3):
            for itemset in itertools.combinations(range(5), size):
                shown = [sum(p for report, p in law.items() if report >= set(itemset)) for law in laws]
                for a in itemset:
                    bayes = sum(w * p for w, p, t in zip(shares, shown, records, strict=True) if a in t)
                    bayes /= sum(w * p for w, p in zip(shares, shown, strict=True))
                    partial, plus = np.zeros(size + 1), np.zeros(size + 1)
                    for t, w in zip(records, shares, strict=True):
                        partial[len(t & set(itemset))] += w
                        plus[len(t & set(itemset))] += w * (a in t)
                    assert posterior(partial, plus, channel.shown_given(size, 3)) == pytest.approx(bayes, rel=1e-12)

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
    def test_statement_4_both_ways(self, shares: list[float]) -> None:
        np.testing.assert_allclose(cumulative_to_partial(partial_to_cumulative(shares)), shares, atol=1e-9)

    @given(problems())
    def test_level_is_the_printed_one(self, problem: tuple[int, int, list[float], float]) -> None:
        m, cutoff, maximal, _ = problem
        k = len(maximal)
        shown = planning_channel(bk.CutAndPaste(cutoff, 0.4), m).shown_given(k, m)
        assert challenging_level(maximal, shown) == pytest.approx(printed_level(maximal, cutoff, 0.4, m), rel=1e-9)

    @pytest.mark.slow
    @given(st.lists(st.floats(0.0, 1.0), min_size=8, max_size=8).filter(lambda row: sum(row) > 0.1), st.integers(3, 6))
    @settings(max_examples=60)
    def test_no_itemset_beats_the_worst_level(self, weights: list[float], cutoff: int) -> None:
        """Any law of the patterns of three items, its own maxima: no posterior of any of its items is higher."""
        law = np.array(weights) / sum(weights)
        m = 4
        channel = planning_channel(bk.CutAndPaste(cutoff, 0.4), m)
        patterns = np.arange(8)
        support = [law[(patterns & mask) == mask].sum() for mask in range(8)]
        maximal = [min(1.0, max(support[mask] for mask in range(8) if mask.bit_count() == j)) for j in (1, 2, 3)]
        shown = channel.shown_given(3, m)
        worst = worst_level(maximal, shown)
        sizes = np.bitwise_count(patterns)
        for item in range(3):
            has = patterns >> item & 1 == 1
            partial = np.bincount(sizes, law, minlength=4)
            plus = np.bincount(sizes[has], law[has], minlength=4)
            assert posterior(partial, plus, shown) <= float(worst) + 1e-9

    @given(st.lists(st.floats(0.01, 1), min_size=11, max_size=11), st.integers(2, 4))
    @settings(max_examples=25)
    def test_no_itemset_beats_it_that_has_more_items_than_records(self, weights: list[float], cutoff: int) -> None:
        """Four items, and records of two: supports of three are 0, and the third that is shown tells all the same."""
        patterns = np.array([mask for mask in range(16) if mask.bit_count() <= 2])
        law = np.array(weights) / sum(weights)
        shown = planning_channel(bk.CutAndPaste(cutoff, 0.3), 2).shown_given(4, 2)
        support = {mask: float(law[(patterns & mask) == mask].sum()) for mask in range(16)}
        maximal = [max(support[mask] for mask in range(16) if mask.bit_count() == j) for j in (1, 2, 3, 4)]
        worst = float(worst_level(maximal, shown))
        sizes = np.bitwise_count(patterns)
        for item in range(4):
            has = patterns >> item & 1 == 1
            partial, plus = np.bincount(sizes, law, minlength=3), np.bincount(sizes[has], law[has], minlength=3)
            assert posterior(partial, plus, shown) <= worst + 1e-9

    def test_a_choice_says_of_which_itemsets_its_level_is(self) -> None:
        supports = {2: [0.1, 0.02, 0.0]}
        asked: dict[str, Any] = {"records": 1000, "cutoffs": [3]}
        assert "the most challenging itemset, which others may pass" in str(planning.cut_and_paste(supports, **asked))
        worst = planning.cut_and_paste(supports, **asked, measure=worst_level)
        assert "of every itemset" in str(worst)
        found = planning.breach_levels(worst.mechanism, supports, measure=worst_level)
        assert found["size"].tolist() == [1, 2, 3]
        assert found["breach"].max() < 0.5

    @pytest.mark.slow
    def test_the_worst_is_worse_than_the_papers(self) -> None:
        """Where the itemset of Eqs. (15), (16) exists, the worst one is at least as telling, and strictly here."""
        maximal = [0.32, 0.09, 0.025]
        shown = planning_channel(bk.CutAndPaste(7, 0.353), 5).shown_given(3, 5)
        assert (challenging(maximal) >= 0).all()
        assert float(worst_level(maximal, shown)) > float(challenging_level(maximal, shown)) + 0.01
        rho = planning.smallest_insert(7, 5, maximal, measure=worst_level)
        table = np.stack([shown, shown], axis=1)
        assert np.ptp(np.asarray(worst_level(maximal, table))) == 0
        assert rho > planning.smallest_insert(7, 5, maximal)
        assert planning.breach_levels(bk.CutAndPaste(7, rho), {5: maximal}, measure=worst_level)["breach"].max() < 0.5


class TestDiscoverability:
    def test_support_is_four_of_its_own_sigmas(self) -> None:
        mechanism = bk.CutAndPaste(5, {4: 0.3, 5: 0.35})
        for k in (1, 2, 3):
            records = {4: 100_000, 5: 300_000}
            lowest = planning.lowest_support(mechanism, k, records=records)
            assert planning.support_stderr(mechanism, k, support=lowest, records=records) * 4 == pytest.approx(lowest)

    def test_no_false_items_and_empty_sizes(self) -> None:
        """Without false items true ones are still lost, so some support is needed.  Empty sizes do not count."""
        lowest = planning.lowest_support(bk.CutAndPaste(5, 0.0), 2, records={5: 100_000})
        assert lowest > 0
        stderr = planning.support_stderr(bk.CutAndPaste(5, 0.0), 2, support=lowest, records={5: 100_000})
        assert 4 * stderr == pytest.approx(lowest)
        everything = bk.SelectASize({2: [0.0, 0.0, 1.0]}, 0.0)
        assert planning.lowest_support(everything, 2, records={2: 100}) == 0
        mechanism = bk.CutAndPaste(3, 0.2)
        with_empty = planning.lowest_support(mechanism, 4, records={3: 100, 6: 0})
        assert with_empty == planning.lowest_support(mechanism, 4, records={3: 100}) == math.inf
        assert planning.lowest_support(mechanism, 3, records={3: 10**7, 8: 0}) < 0.01

    def test_it_falls_roughly_with_the_root_of_the_number(self) -> None:
        mechanism = bk.CutAndPaste(5, 0.35)
        one = planning.lowest_support(mechanism, 3, records={5: 1_000_000})
        four = planning.lowest_support(mechanism, 3, records={5: 4_000_000})
        assert one / four == pytest.approx(2, rel=0.1)

    def test_what_cannot_be_found_is_infinite(self) -> None:
        assert planning.lowest_support(bk.CutAndPaste(2, 0.3), 3, records={5: 10**9}) == math.inf
        assert planning.lowest_support(bk.CutAndPaste(7, 0.3), 3, records={2: 10**9}) == math.inf
        assert planning.lowest_support(bk.CutAndPaste(7, 0.6), 3, records={5: 100}) == math.inf
        assert math.isnan(planning.lowest_confidence(bk.CutAndPaste(7, 0.3), 2, 2, size=3, n_records=10, support=0.1))
        assert math.isnan(planning.lowest_confidence(bk.CutAndPaste(7, 0.6), 1, 2, size=5, n_records=50, support=0.1))
        with pytest.raises(bk.ParameterError):
            planning.support_stderr(bk.CutAndPaste(7, 0.3), 3, support=0.6, records={2: 50, 5: 50})

    def test_smaller_records_hold_nothing_and_cost_nothing(self) -> None:
        """Half the records are too small: the same support among all is found with half the error count."""
        mechanism = bk.CutAndPaste(7, 0.35)
        alone = planning.support_stderr(mechanism, 3, support=0.02, records={5: 1000})
        diluted = planning.support_stderr(mechanism, 3, support=0.01, records={5: 1000, 2: 1000})
        assert diluted == pytest.approx(alone / 2)

    @pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 1), (1, 2), (2, 2)])
    def test_assumptions(self, a: int, b: int) -> None:
        for assumption in (planning.independent, planning.maximally_dependent):
            s = assumption(a, b, 0.04, 0.3)
            assert s.shape == (a + 1, b + 1)
            assert s.sum() == pytest.approx(1)
            assert (s >= 0).all()
            assert s[a].sum() == pytest.approx(0.04)  # supp(A)
            assert s[a, b] == pytest.approx(0.04 * 0.3)  # supp(A u B)
        dependent = planning.maximally_dependent(a, b, 0.04, 0.3)
        assert dependent[:a, b].sum() == pytest.approx(0, abs=1e-12)  # B only where A is
        if b == 2:  # filled in the order of decreasing |t n A|: no record with less of A has more of B
            assert all(
                dependent[i, j] * dependent[u, v] == pytest.approx(0, abs=1e-15)
                for i, u in itertools.combinations(range(a + 1), 2)
                for j, v in itertools.product(range(b + 1), repeat=2)
                if v < j
            )

    def test_lowest_confidence_is_twice_its_radius(self) -> None:
        mechanism = bk.CutAndPaste(5, 0.35)
        channel = planning_channel(mechanism, 5)
        for a, b in [(1, 1), (2, 1), (1, 2)]:
            for assumption in (planning.independent, planning.maximally_dependent):
                lowest = planning.lowest_confidence(
                    mechanism, a, b, size=5, n_records=5_000_000, support=0.02, assumption=assumption
                )
                ratio = confidence_ratio(
                    channel, a, b, size=5, n_records=5_000_000, support=0.02, confidence=lowest, assumption=assumption
                )
                assert lowest == pytest.approx(2 * ratio.radius(0.95), rel=1e-6)
                assert ratio.within(lowest / 2) == pytest.approx(0.95, abs=1e-6)


class TestTwoSets:
    """Section 4.6: two disjoint itemsets at once."""

    CHANNEL = bk.CutAndPaste(4, 0.3125).channel(bk.Domain(range(6)))

    @pytest.mark.parametrize(("a", "b", "m"), [(1, 1, 2), (2, 1, 3), (2, 2, 4), (1, 2, 2)])
    def test_transition_is_the_enumerated_one(self, a: int, b: int, m: int) -> None:
        left, right = set(range(a)), set(range(a, a + b))
        law = self.CHANNEL.two_set_transition(a, b, m)
        seen = set()
        for t in map(frozenset, itertools.combinations(range(6), m)):
            expected = np.zeros((a + 1, b + 1))
            for report, p in cut_and_paste_law(t, 6, 4, 0.3125).items():
                expected[len(report & left), len(report & right)] += p
            at = len(t & left), len(t & right)
            seen.add(at)
            np.testing.assert_allclose(law[:, :, at[0], at[1]], expected, atol=1e-14)
        for at in itertools.product(range(a + 1), range(b + 1)):
            if at not in seen:
                assert (law[:, :, at[0], at[1]] == 0).all()

    @pytest.mark.parametrize(("a", "b", "m"), [(1, 1, 3), (2, 1, 4), (1, 2, 3), (2, 2, 4)])
    def test_covariance_is_eqs_17_and_18(self, a: int, b: int, m: int) -> None:
        """Through Q_II and D_II as printed, against the weights of the one-set estimators (Remark 4.5)."""
        channel = bk.CutAndPaste(4, 0.3125).channel(bk.Domain(range(30)))
        n = (a + 1) * (b + 1)
        p = channel.two_set_transition(a, b, m).reshape(n, n)
        q = np.linalg.inv(p)
        s = np.random.default_rng(3).dirichlet(np.ones(n))
        d = sum(s[l] * (np.diag(p[:, l]) - np.outer(p[:, l], p[:, l])) for l in range(n))
        covariance = q @ d @ q.T
        x = np.zeros(n)
        x[-1] = 1
        y = np.zeros((a + 1, b + 1))
        y[a] = 1
        both = np.stack([x, y.ravel()])
        expected = both @ covariance @ both.T
        np.testing.assert_allclose(
            channel.two_set_covariance(a, b, s.reshape(a + 1, b + 1), m), expected, rtol=1e-8, atol=1e-10
        )


def test_a_choice_becomes_a_sizes_file(tmp_path: Path) -> None:
    choice = planning.cut_and_paste({2: [0.15, 0.03]}, records=10_000, cutoffs=[3])
    choice.write(tmp_path / "sizes.csv")
    lines = (tmp_path / "sizes.csv").read_text().splitlines()
    assert lines[0] == "size,cutoff,insert"
    assert lines[2] == f"2,3,{choice.choices[0].insert!r}"
    assert float(lines[2].split(",")[2]) == choice.choices[0].insert


def test_numpys_whole_numbers_will_do() -> None:
    """Exact fractions are made of Python's: NumPy's would overflow."""
    whole: Any = np.int64
    m, mechanism = whole(3), bk.CutAndPaste(3, 0.2)
    row = [0.1, 0.05, 0.01]
    assert planning.smallest_insert(whole(5), m, row) == planning.smallest_insert(5, 3, row)
    records: Any = dict(zip(*np.unique([3, 3, 2], return_counts=True), strict=True))
    assert planning.lowest_support(mechanism, whole(1), records=records) > 0
    assert planning.breach_levels(mechanism, {m: row})["record_size"].tolist() == [3, 3, 3]
    assert planning.allowed_maximal_supports(mechanism, np.arange(1, 3)).keys() == {1, 2}
    assert planning.cut_and_paste({m: row}, records=whole(1000), cutoffs=np.arange(3, 5)).choices[0].record_size == 3
    channel = mechanism.channel(bk.Domain(range(30)))
    np.testing.assert_array_equal(channel.partial_transition(whole(2), m), channel.partial_transition(2, 3))
    assert channel.variance((0, 1), [1, 1, 1, 1], m) == channel.variance((0, 1), [1, 1, 1, 1], 3)
    plan = bk.Plan(bk.Domain(range(5)), bk.Flip(keep=0.9), bk.PrivacyUnit(max_size=whole(3), reports=whole(2)))
    assert bk.Plan.from_json(plan.json) == plan


def test_the_size_of_records_must_be_said() -> None:
    channel = bk.CutAndPaste(4, 0.1).channel(bk.Domain(range(30)))
    for wrong in (
        lambda: channel.variance((0, 1), [0.5, 0.15, 0.15, 0.2]),
        lambda: channel.transition((0, 1)),
        lambda: channel.weights(np.array([[0]], np.int32)),
        lambda: channel.partial_transition(2, 31),
    ):
        with pytest.raises(bk.ParameterError, match="record size"):
            wrong()


def test_maximal_supports_by_brute_force() -> None:
    rng = np.random.default_rng(2)
    records = [rng.choice(8, size=rng.integers(1, 5), replace=False).tolist() for _ in range(300)]
    found = planning.maximal_supports(bk.Baskets(records, items=range(8)), max_itemset=3)
    assert set(found) == {1, 2, 3, 4}
    for m, row in found.items():
        alike = [set(t) for t in records if len(t) == m]
        for k, support in enumerate(row, 1):
            best = max(sum(t >= set(a) for t in alike) for a in itertools.combinations(range(8), k))
            assert support == pytest.approx(best / len(alike))
        assert len(row) == min(m, 3)


def test_long_records_and_large_cutoffs_are_no_overflow() -> None:
    """Numbers of ways to choose are beyond a double from some thousand items on, their ratios are not."""
    assert 0 < planning.smallest_insert(600, 1200, [0.1, 0.01]) < 0.1
    np.testing.assert_allclose(shown_ratios(600, 1200, 1, np.array([0.5]))[:, 0], [1.0, 1.25], rtol=2e-3)


@pytest.mark.parametrize("cutoff", [1, 3, 8])
@pytest.mark.parametrize("level", [0.01, 0.5, 0.999])
def test_allowed_supports_of_levels_that_smaller_itemsets_reach(cutoff: int, level: float) -> None:
    """The search for a support at the level had no end to begin from, and ended in an error of SciPy."""
    for insert in (1e-6, 0.01, 0.5, 0.99):
        mechanism = bk.CutAndPaste(cutoff, insert)
        found = planning.allowed_maximal_supports(mechanism, [1, 2, 5], level=level)
        levels = planning.breach_levels(mechanism, found).breach
        for row, supports in found.items():
            assert all(0 <= b <= a <= 1 for a, b in itertools.pairwise(supports)), row
        assert levels[0] <= level + 1e-9


def test_a_confidence_below_all_that_are_looked_at() -> None:
    nearly = bk.SelectASize(kept={5: [0, 0, 0, 0, 0, 1.0]}, insert=1e-9)
    assert planning.lowest_confidence(nearly, 1, 1, size=5, n_records=10**12, support=0.1) == 1e-9


def test_cutoffs_are_fewer_where_all_would_take_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 record sizes took an hour, and one record of a million items would not have ended."""
    row = (0.1, 0.05, 0.02)
    few = cutting._cutoffs(dict.fromkeys(range(3, 503), row))
    assert (few[0], few[-1]) == (3, 502)
    assert len(few) < 64
    assert cutting._cutoffs(dict.fromkeys(range(3, 43), row)) == list(range(3, 43))
    monkeypatch.setattr(cutting, "smallest_insert", lambda *_, **__: pytest.fail("something was planned"))
    for maximal, cutoffs in (({1_000_000: row}, None), (dict.fromkeys(range(3, 503), row), range(3, 503))):
        with pytest.raises(bk.ParameterError, match="take too long"):
            bk.planning.cut_and_paste(maximal, records=1000, cutoffs=cutoffs)
