"""The curator's calls: exact where noise vanishes, paid before the look, refused where hopeless."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bosket as bk
from bosket.curator import Heuristics, HopelessError, Release, Settings
from bosket.curator.cardinality import kth_support
from bosket.curator.lengths import Lengths
from bosket.curator.levels import NoisyLevel
from bosket.curator.noise import Composition
from bosket.curator.pool import Pool
from bosket.curator.prepared import Prepared
from bosket.curator.truncation import random_truncation
from bosket.curator.truncation_release import TruncationRelease

ITEMS = list(range(30))
SURE = 1e6
"""An epsilon at which no noise is left."""


def short_baskets(n: int = 4000, longest: int = 3, seed: int = 1) -> bk.Baskets:
    """Records of at most three items, some of which go together."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 31)
    records = []
    for _ in range(n):
        size = int(rng.integers(0, longest + 1))
        first = int(rng.choice(30, p=weights / weights.sum()))
        records.append({first, *((first + step) % 30 for step in range(1, size))} if size else set())
    return bk.Baskets(records, items=ITEMS)


def pool_of(baskets: bk.Baskets) -> Pool:
    """By the true supports."""
    return Pool(baskets, np.argsort(-baskets.item_counts(), kind="stable").astype(np.int32), baskets.n_records)


def whole(**options: object) -> Settings:
    """No cut: all records stay whole."""
    return Settings(whole=1.0, **options)  # type: ignore[arg-type]


class TestWithoutNoise:
    @pytest.mark.parametrize("heuristics", [Heuristics(*both) for both in itertools.product([True, False], repeat=2)])
    def test_everything_short_is_exact_mining(self, heuristics: Heuristics) -> None:
        baskets = short_baskets()
        release = bk.curator.mine(
            baskets, epsilon=SURE, min_support=0.02, settings=whole(heuristics=heuristics), method="truncation"
        )
        exact = dict(bk.mine(baskets, min_support=0.02))
        assert max(map(len, exact)) == 3
        assert {name: pytest.approx(value) for name, value in exact.items()} == dict(release)
        assert release.n_records == baskets.n_records

    @pytest.mark.slow
    def test_long_records_are_exact_mining_of_what_is_left(self) -> None:
        """The naive miner counts in records that were cut once; their supports are those it reports."""
        baskets = short_baskets(longest=9)
        settings = Settings(whole=0.5, heuristics=Heuristics(smart=False, double_standards=False))
        release = bk.curator.mine(baskets, epsilon=SURE, min_support=0.02, settings=settings, method="truncation")
        assert isinstance(release, TruncationRelease)
        limit = release.prepared.max_size
        assert limit < 9
        assert max(release.sizes) <= limit
        for _ in range(3):  # another cut of the same kind: supports within what chance does
            cut = random_truncation(baskets, limit)
            assert cut.sizes.max() == limit
            assert (cut.sizes == np.minimum(baskets.sizes, limit)).all()
            for itemset, support in release:
                if len(itemset) == 1:
                    other = bk.estimate(cut, [itemset]).value[0]
                    assert abs(support - other) < 6 * np.sqrt(2 * 0.25 / baskets.n_records)

    @pytest.mark.parametrize("k", [1, 10, 40])
    def test_top_k(self, k: int) -> None:
        baskets = short_baskets()
        release = bk.curator.top_k(baskets, epsilon=SURE, k=k, settings=whole(), method="truncation")
        values = sorted((value for _, value in bk.mine(baskets, min_support=1e-4)), reverse=True)
        assert kth_support(pool_of(baskets), k) == round(values[k - 1] * baskets.n_records)
        assert len(release) == k
        assert min(value for _, value in release) == pytest.approx(values[k - 1])

    def test_fewer_than_k(self) -> None:
        baskets = bk.Baskets([["a", "b"]] * 50, items=["a", "b"])
        assert kth_support(pool_of(baskets), 9) == 0
        assert len(bk.curator.top_k(baskets, epsilon=SURE, k=9, method="truncation")) == 3


class TestBudget:
    @pytest.mark.slow
    def test_it_is_paid_in_full_and_no_more(self) -> None:
        for epsilon in (1.0, 0.7, 1 / 3, 0.123456789):
            budget = bk.Budget.in_memory(epsilon)
            release = bk.curator.mine(
                short_baskets(30_000), epsilon=epsilon, min_support=0.2, budget=budget, method="truncation"
            )
            assert budget.remaining.epsilon < 1e-15
            assert [entry["number"] for entry in release.about["entries"]] == [1, 2]
            assert sum(release.about["parts"].values()) <= epsilon * (1 + 1e-12)

    def test_overdrawn(self) -> None:
        budget = bk.Budget.in_memory(0.5)
        with pytest.raises(bk.BudgetExceeded) as caught:
            bk.curator.mine(short_baskets(), epsilon=0.6, min_support=0.2, budget=budget, method="truncation")
        assert caught.value.asked[0] == 0.6
        assert budget.entries() == ()

    def test_hopeless_requests_cost_only_the_first_look(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A limit of five records at epsilon 0.1: it says what could be found instead of reporting noise.

        The noise is 0 for once: with a noisy number of records far below 5000 no support at all could be told.
        """
        monkeypatch.setattr(Composition, "noisy", lambda self, counts, **paid: np.asarray(counts))
        budget = bk.Budget.in_memory(1.0)
        baskets = bk.Baskets([["a"]] * 5000, items=list("abcdef"))
        with pytest.raises(HopelessError, match="within the noise") as caught:
            bk.curator.mine(baskets, epsilon=0.1, min_support=0.001, budget=budget, method="truncation")
        assert budget.spent.epsilon == pytest.approx(0.015)
        assert [entry.returns for entry in budget.entries()] == [None, None, 2]
        assert len({entry.time for entry in budget.entries()}) == 1
        assert caught.value.spent == pytest.approx(0.015)
        assert caught.value.discoverable > 0.001
        assert "This limit takes an epsilon of" in str(caught.value.hint)
        assert "0.085 was handed back" in str(caught.value)

    def test_discoverable_is_one_figure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whether a request is answered or refused, and whatever else is asked for."""
        monkeypatch.setattr(Composition, "noisy", lambda self, counts, **paid: np.asarray(counts))
        baskets = short_baskets(20_000, longest=6)
        found = [
            bk.curator.mine(baskets, 1.0, limit, method="truncation").about["discoverable"] for limit in (0.05, 0.02)
        ]
        with pytest.raises(HopelessError) as caught:
            bk.curator.mine(baskets, 1.0, 1e-4, method="truncation")
        assert found == [caught.value.discoverable] * 2

    def test_a_data_set_smaller_than_the_noise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Fifty records where their number has noise of scale 500, which is 0 for once: nothing can be told."""
        monkeypatch.setattr(Composition, "noisy", lambda self, counts, **paid: np.asarray(counts))
        baskets = bk.Baskets([["a"]] * 50, items=list("abcdef"))
        with pytest.raises(HopelessError) as caught:
            bk.curator.mine(baskets, epsilon=0.1, min_support=0.9, method="truncation")
        assert caught.value.discoverable == np.inf
        assert str(caught.value.hint).startswith("No support can be told")

    @pytest.mark.slow
    def test_neighbours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One record in place of another moves lengths and counts twice as much; the number of records, the largest
        supports and the k-th by no more than one that comes or goes.
        """
        asked: dict[str, list[tuple[str, float, int]]] = {}
        for relation in ("add-remove", "replace"):
            known = asked[relation] = []

            def spy(
                self: Composition, counts: Any, *, epsilon: float, sensitivity: int, known: list[Any] = known
            ) -> Any:
                module = sys._getframe(1).f_globals["__name__"].removeprefix("bosket.curator.")
                known.append((module, epsilon, sensitivity))
                return np.asarray(counts)

            monkeypatch.setattr(Composition, "noisy", spy)
            budget = bk.Budget.in_memory(1.0, neighbours=relation)
            release = bk.curator.top_k(
                short_baskets(20_000),
                epsilon=1.0,
                k=30,
                budget=budget,
                settings=whole(clear=0.0, false_share=None),
                method="truncation",
            )
            assert release.about["neighbours"] == relation
            assert release.sizes.keys() == {1, 2, 3}
        one, other = asked.values()
        assert [row[:2] for row in one] == [row[:2] for row in other]
        times = [(module, new // old) for (module, _, old), (_, _, new) in zip(one, other, strict=True)]
        assert times == [
            ("lengths", 1), ("lengths", 2), ("miner", 2), ("limit", 1), *[("cardinality", 1)] * 4,
            *[("levels", 2)] * 3,
        ]  # fmt: skip
        assert [sensitivity for _, _, sensitivity in one[:-1]] == [1, 1, 3, 1, 1, 1, 1, 1, 3, 10]
        assert one[-1][2] <= 20  # or as many as there are triples
        with pytest.raises(bk.ParameterError) as caught:
            bk.curator.mine(
                short_baskets(),
                epsilon=1.0,
                min_support=0.2,
                budget=budget,
                neighbours="add-remove",
                method="truncation",
            )
        assert caught.value.parameter == "neighbours"


class TestNoise:
    """What noise alone must not bring about."""

    @pytest.mark.slow
    def test_items_that_nobody_has(self) -> None:
        """Ten thousand of them, at a limit of some four times the scale of the noise: a hundred would pass it."""
        baskets = bk.Baskets([[0]] * 5000 + [[1]] * 5000, items=range(10_000))
        settings = Settings(longest=2)
        false = [
            sum(
                len(itemset - {0, 1}) > 0
                for itemset, _ in bk.curator.mine(baskets, 1.0, 0.0006, settings=settings, method="truncation")
            )
            for _ in range(5)
        ]
        passed = [
            len(
                bk.curator.mine(baskets, 1.0, 0.0006, settings=replace(settings, false_share=None), method="truncation")
            )
            for _ in range(5)
        ]
        assert np.mean(false) < 3  # a tenth of two, as a rule
        assert np.mean(passed) > 10

    def test_sizes_that_noise_drowns_are_not_counted(self) -> None:
        """Six items that always go together, at a limit that the noise of large itemsets exceeds."""
        baskets = bk.Baskets([list(range(6))] * 2000 + [[7]] * 8000, items=range(50))
        release = bk.curator.mine(baskets, 1.0, 0.1, method="truncation")
        assert 6 > release.about["largest"] == release.about["cap"] == max(release.sizes)
        assert set(release.about["parts"]) >= {f"size {size}" for size in release.sizes}
        more = bk.curator.mine(baskets, 1.0, 0.1, settings=Settings(clear=0.0, false_share=None), method="truncation")
        assert more.about["cap"] == 15
        assert more.about["largest"] > release.about["largest"]

    def test_many_long_records_that_are_alike_take_no_time(self) -> None:
        """Four hundred records of some forty of sixty items, and a limit of ten: more itemsets than can be seen."""
        rng = np.random.default_rng(1)
        long = [np.flatnonzero(rng.random(60) < 0.6).tolist() for _ in range(400)]
        baskets = bk.Baskets([[at % 60] for at in range(20_000)] + long, items=range(60))
        release = bk.curator.mine(baskets, 7.0, 0.0005, method="truncation")
        assert release.about["cap"] <= 2

    def test_too_many_candidates_are_told(self) -> None:
        release = bk.curator.mine(short_baskets(), SURE, 0.02, settings=whole(max_candidates=5), method="truncation")
        assert release.sizes.keys() == {1}
        assert "size 2" in release.about["stopped"]

    @pytest.mark.slow
    def test_short_records_are_not_thought_cut(self) -> None:
        """Nobody has more than two items; supports are right on average, not raised for long records of noise."""
        baskets = bk.Baskets([["milk", "bread"]] * 4000 + [["beer"]] * 1000, items=["beer", "bread", "milk", "tea"])
        found = [dict(bk.curator.mine(baskets, 1.0, 0.1, method="truncation"))[frozenset(["beer"])] for _ in range(60)]
        assert abs(np.mean(found) - 0.2) < 0.02


class TestRefusals:
    @pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "1"])
    def test_epsilon(self, epsilon: float) -> None:
        with pytest.raises(bk.ParameterError) as caught:
            bk.curator.mine(short_baskets(10), epsilon=epsilon, min_support=0.1, method="truncation")
        assert caught.value.parameter == "epsilon"

    @pytest.mark.parametrize("epsilon", [np.float64(SURE), np.float32(SURE), np.int64(SURE), Fraction(10**12, 10**6)])
    def test_any_number_is_an_epsilon(self, epsilon: Any) -> None:
        for call in (bk.curator.mine, bk.curator.top_k):
            assert len(call(short_baskets(100), epsilon, 1)) <= 1

    @pytest.mark.parametrize(
        ("method", "delta", "most"),
        [("truncation", 0.0, 1e6), ("sieve", 0.0, 1e6), ("sieve", 1e-6, 1e4), ("sieve", 1e-300, 1e4)],
    )
    def test_the_largest_epsilon_is_measured_and_more_is_refused_unpaid(
        self, method: str, delta: float, most: float
    ) -> None:
        """Of the sieve 1e6 with a delta ended in an error of OpenDP's, and 1e300 in one after it was paid."""
        budget = bk.Budget.in_memory(1e308, delta=0.5)
        ask = partial(bk.curator.mine, short_baskets(200), min_support=0.1, method=method, delta=delta, budget=budget)
        for epsilon in (np.nextafter(most, np.inf), 10 * most, 1e9, 1e300):
            with pytest.raises(bk.ParameterError, match="must be at most") as caught:
                ask(epsilon=epsilon)
            assert caught.value.parameter == "epsilon"
        assert not budget.entries()
        assert len(ask(epsilon=most)) > 0

    @pytest.mark.parametrize("share", [np.float32(0.5), Fraction(1, 2), np.float64(0.5)])
    def test_any_number_is_a_limit(self, share: Any) -> None:
        """And stands in the release as a plain one."""
        k: Any = np.int64(3)
        few = (
            bk.curator.mine(short_baskets(100), SURE, share, method="truncation"),
            bk.curator.top_k(short_baskets(100), SURE, k, method="truncation"),
        )
        for release in few:
            json.dumps(release.about)
        assert few[0].about["min_support"] == 0.5
        assert type(few[1].about["k"]) is int

    def test_what_cannot_be_done_costs_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        budget = bk.Budget.in_memory(1.0)
        with pytest.raises(bk.ParameterError):
            bk.curator.mine(bk.Baskets([[]]), 1.0, 0.1, vocabulary=[], budget=budget, method="truncation")
        with pytest.raises(bk.ParameterError):
            bk.curator.mine(bk.Baskets([[]], items=[]), 1.0, 0.1, budget=budget, method="truncation")
        for correction in (-0.5, float("nan")):
            with pytest.raises(bk.ParameterError):
                Heuristics(correction=correction)

        def missing() -> None:
            raise bk.BosketError("OpenDP is not installed.")

        monkeypatch.setattr("bosket.curator.curate._compiled", missing)
        with pytest.raises(bk.BosketError, match="not installed"):
            bk.curator.mine(short_baskets(10), 1.0, 0.1, budget=budget, method="truncation")
        assert budget.entries() == ()

    def test_labels_are_those_declared(self) -> None:
        """Whether a file holds "milk" beside its numbers must not decide whether it can be curated, or as what."""
        for records in ([[1], [1, 2]], [["1"], ["1", "2", "milk"]]):
            for vocabulary in (["milk", "1", "2"], ["milk", 1, 2]):
                release = bk.curator.mine(
                    bk.Baskets(records * 50), SURE, 0.9, vocabulary=vocabulary, method="truncation"
                )
                assert [set(itemset) for itemset, _ in release] == [{vocabulary[1]}]
        mixed = bk.curator.mine(bk.Baskets([[1], ["1"]] * 50), SURE, 0.9, vocabulary=["1", "2"], method="truncation")
        assert dict(mixed) == {frozenset(["1"]): pytest.approx(1.0)}
        with pytest.raises(bk.ParameterError) as caught:
            bk.curator.mine(bk.Baskets([[1], ["1"]] * 50), SURE, 0.4, vocabulary=["1", 1], method="truncation")
        assert caught.value.parameter == "vocabulary"

    @pytest.mark.parametrize("vocabulary", [["1", "2"], [1, 2], [1.0, 2.0]])
    @pytest.mark.parametrize("first", [[True], [1.0], ["1"], [1.5], ["milk"], [10**5000], [(10**5000,)], []])
    def test_one_record_does_not_decide_what_the_others_say(self, vocabulary: list[Any], first: list[Any]) -> None:
        """Python keeps of 1, 1.0 and True the one that it saw first; whichever that is, it is the declared item."""
        baskets = bk.Baskets([first] + [[1]] * 600 + [[2]] * 400)
        release = bk.curator.mine(baskets, SURE, 0.3, vocabulary=vocabulary, method="truncation")
        assert [repr(*itemset) for itemset, _ in release] == list(map(repr, vocabulary))
        assert [round(support, 2) for _, support in release] == [0.6, 0.4]

    @pytest.mark.parametrize("extra", [[], [1.5]])
    def test_doubles_are_read_by_their_value(self, extra: list[float]) -> None:
        """A column of doubles is whole until one is not."""
        items = [1.0, 2.0] * 500 + extra
        frame = pd.DataFrame({"record": range(len(items)), "item": items})
        release = bk.curator.mine(bk.Baskets.from_frame(frame), SURE, 0.3, vocabulary=["1", "2"], method="truncation")
        assert [set(itemset) for itemset, _ in release] == [{"1"}, {"2"}]

    @pytest.mark.parametrize("odd", [b"x", 3, 10**30, 1.5, True, dt.date(2020, 1, 1)])
    @pytest.mark.parametrize("first", [True, False])
    def test_one_cell_of_a_frame_does_not_decide_what_the_others_are(self, odd: Any, first: bool) -> None:
        """Arrow makes bytes of all texts where one cell is bytes."""
        items = [odd] + ["milk"] * 500 if first else ["milk"] * 500 + [odd]
        frame = pd.DataFrame({"record": range(501), "item": pd.Series(items, dtype=object)})
        release = bk.curator.mine(
            bk.Baskets.from_frame(frame), SURE, 0.3, vocabulary=["milk", "tea"], method="truncation"
        )
        assert [set(itemset) for itemset, _ in release] == [{"milk"}]

    @pytest.mark.parametrize("extra", [[], ["x"], [None]])
    def test_truth_values_are_read_by_their_writing(self, extra: list[Any]) -> None:
        """A column of text is one of truth values until a word is in it."""
        items = [True, False] * 500 if extra != ["x"] else ["True", "False"] * 500
        frame = pd.DataFrame({"record": range(1000 + len(extra)), "item": pd.Series(items + extra)})
        release = bk.curator.mine(
            bk.Baskets.from_frame(frame), SURE, 0.3, vocabulary=["True", "False"], method="truncation"
        )
        assert [set(itemset) for itemset, _ in release] == [{"True"}, {"False"}]

    @pytest.mark.parametrize("label", ["007", "1.50", "true", 10**15])
    def test_items_that_frames_change_must_be_declared_before_reading(self, label: Any) -> None:
        """In a column of numbers 007 is 7, in a column of text it is itself, and one record decides which it is."""
        records = [[label]] * 50
        budget = bk.Budget.in_memory(2 * SURE)
        with pytest.raises(bk.ParameterError) as caught:
            bk.curator.mine(bk.Baskets(records), SURE, 0.3, vocabulary=[label], budget=budget, method="truncation")
        assert (caught.value.parameter, caught.value.value, budget.entries()) == ("vocabulary", label, ())
        assert "unknown='drop'" in str(caught.value.hint)
        baskets = bk.Baskets(records, items=[label], unknown="drop")
        for vocabulary in (None, [label]):
            release = bk.curator.mine(baskets, SURE, 0.3, vocabulary=vocabulary, method="truncation")
            assert [set(itemset) for itemset, _ in release] == [{label}]

    def test_hints_name_the_way_to_read_under_a_declaration(self) -> None:
        for data in (pd.DataFrame({"a": [1]}), [["a"]], bk.Baskets([["a"]])):
            with pytest.raises(bk.BosketError) as caught:
                bk.curator.mine(data, 1.0, 0.1, method="truncation")  # type: ignore[arg-type]  # two of them are wrong
            assert "from_frame" in str(caught.value.hint)
            assert "unknown='drop'" in str(caught.value.hint)

    @pytest.mark.parametrize("shares", [(0.123456789012345, 0.2345678901234), (1 / 3, 1 / 7), (0.001, 0.0012345)])
    def test_odd_shares_are_paid_in_full_and_no_more(self, shares: tuple[float, float]) -> None:
        settings = Settings(share_of_lengths=shares[0], share_of_cardinality=shares[1])
        budget = bk.Budget.in_memory(1e5)
        assert len(bk.curator.mine(short_baskets(500), 1e5, 0.1, budget=budget, settings=settings, method="truncation"))
        assert budget.remaining.epsilon < 1e-8

    def test_the_vocabulary_must_be_declared(self) -> None:
        baskets = bk.Baskets([["a"], ["b"]])
        with pytest.raises(bk.ParameterError) as caught:
            bk.curator.mine(baskets, epsilon=1.0, min_support=0.1, method="truncation")
        assert caught.value.parameter == "vocabulary"

    @pytest.mark.parametrize(
        "wrong",
        [
            {"share_of_lengths": 0.0},
            {"share_of_lengths": 1e-13},
            {"share_of_lengths": 0.6, "share_of_cardinality": 0.5},
            {"share_of_cardinality": -0.1},
            {"whole": 0.0},
            {"longest": 0},
            {"cap": 0},
            {"extra": -1},
            {"extra": 5},
            {"extra": 60, "cap": 3},
            {"extra": 3, "cap": 10**9},
            {"extra": 10**9, "cap": 10**9},
            {"max_candidates": 0},
            {"clear": float("nan")},
            {"whole": float("nan")},
            {"false_share": 0.0},
            {"heuristics": "smart"},
        ],
    )
    def test_settings(self, wrong: dict[str, Any]) -> None:
        """Shares that add up to more than there is would be paid short."""
        with pytest.raises(bk.ParameterError) as caught:
            Settings(**wrong)
        assert caught.value.parameter in wrong

    def test_k(self) -> None:
        with pytest.raises(bk.ParameterError):
            bk.curator.top_k(short_baskets(10), epsilon=1.0, k=0, method="truncation")

    def test_what_is_not_baskets(self) -> None:
        reports = bk.Flip(keep=0.9).randomize(short_baskets(10), rng=bk.Seeded(1))
        with pytest.raises(bk.DataError):
            bk.curator.mine(reports, epsilon=1.0, min_support=0.1, method="truncation")  # type: ignore[arg-type]  # that is the point


@pytest.fixture(scope="module")
def release() -> Release:
    return bk.curator.mine(short_baskets(20_000, longest=6), epsilon=1.0, min_support=0.02, method="truncation")


class TestRelease:
    def test_frame(self, release: Release) -> None:
        frame = release.to_frame()
        assert list(frame.columns) == ["support", "itemsets", "size", "low", "high", "noisy", "consistent"]
        assert (frame["support"] <= frame["high"]).all()
        assert (frame["support"] >= frame["low"]).all()
        assert (frame["high"] <= 1).all()
        known = dict(zip(frame["itemsets"], frame["consistent"], strict=True))
        assert all(value >= 0 for value in known.values())
        for itemset, value in known.items():
            for part in itertools.combinations(itemset, len(itemset) - 1):
                assert value <= known.get(frozenset(part), 1.0)
        at_once = release.ends_at_once(0.95)
        for end in (at_once.low, at_once.high):
            ends = dict(zip(release.names, end.tolist(), strict=True))
            for itemset, value in ends.items():
                for part in itertools.combinations(itemset, len(itemset) - 1):
                    assert value <= ends.get(frozenset(part), 1.0)
        itemset, value = next(iter(release))
        assert itemset in release
        assert release.support(itemset) == value
        assert {"nobody has it"} not in release
        assert [[]] not in release
        assert 3 not in release
        json.dumps(frame.attrs["about"])
        assert "epsilon 1" in repr(release)

    def test_it_holds_nothing_exact(self, release: Release) -> None:
        """No records are reachable from it, and no field but those that are known to hold noisy numbers."""
        fields = {
            Release: {"domain", "prepared", "levels", "about", "_supports", "names", "consistent"},
            Prepared: {"lengths", "min_count", "largest", "cap", "max_size"},
            Lengths: {
                "counts", "total", "starts", "scale", "n_near", "scale_of_total", "weights", "longest_likely", "_n_told"
            },
            NoisyLevel: {
                "items", "noisy", "average", "maximal", "max_size", "epsilon", "sensitivity", "kept", "n_candidates"
            },
        }  # fmt: skip
        seen: list[object] = [release]
        reached = set()
        while seen:
            value = seen.pop()
            if id(value) in reached:
                continue
            reached.add(id(value))
            assert not isinstance(value, bk.Baskets)
            if type(value) in fields:
                assert vars(value).keys() <= fields[type(value)]
            if isinstance(value, dict):
                seen += value.values()
            elif isinstance(value, list | tuple):
                seen += value
            elif hasattr(value, "__dict__") or hasattr(value, "__dataclass_fields__"):
                seen += [getattr(value, name) for name in getattr(value, "__dataclass_fields__", {})]
                seen += list(getattr(value, "__dict__", {}).values()) if not isinstance(value, type) else []

    @pytest.mark.slow
    def test_intervals_cover_what_truncation_took(self) -> None:
        """Records of six items on average cut to five, and chosen among many candidates: at least 95%."""
        baskets = bk.quest(records=20_000, mean_size=6, mean_pattern=3, items=200, patterns=100, seed=3)
        truth = dict(bk.mine(baskets, min_support=2e-4))
        held = []
        for _ in range(3):
            release = bk.curator.mine(
                baskets, epsilon=1.0, min_support=0.01, settings=Settings(whole=0.3), method="truncation"
            )
            assert isinstance(release, TruncationRelease)
            assert release.prepared.max_size <= 6
            held += [
                row["low"] <= truth.get(row["itemsets"], 0.0) <= row["high"]
                for row in release.to_frame().to_dict("records")
            ]
        assert len(held) > 300
        assert np.mean(held) > 0.95

    @pytest.mark.slow
    @pytest.mark.parametrize("longest", [5, 10])
    def test_intervals_cover_records_longer_than_those_told_apart(self, longest: int) -> None:
        """Records of eighteen items on average: 19% of the intervals held where ten were the longest told apart."""
        baskets = bk.quest(records=20_000, mean_size=18, mean_pattern=4, items=1000, patterns=300, seed=5)
        truth = dict(bk.mine(baskets, min_support=1e-3, max_size=2))
        frame = bk.curator.mine(baskets, 1.0, 0.02, settings=Settings(longest=longest), method="truncation").to_frame()
        held = [
            low <= truth.get(itemset, 0.0) <= high
            for itemset, low, high in zip(frame["itemsets"], frame["low"], frame["high"], strict=True)
            if len(itemset) <= 2
        ]
        assert len(held) > 100
        assert np.mean(held) > 0.93

    @pytest.mark.slow
    def test_intervals_cover(self) -> None:
        """Of itemsets that truncation hardly touches, at least 95% over 40 releases; six standard deviations."""
        baskets = short_baskets(20_000)
        truth = dict(bk.mine(baskets, min_support=1e-4))
        held = total = 0
        for _ in range(40):
            frame = bk.curator.mine(baskets, epsilon=0.5, min_support=0.05, method="truncation").to_frame()
            for row in frame.to_dict("records"):
                total += 1
                held += row["low"] <= truth.get(row["itemsets"], 0.0) <= row["high"]
        assert total > 300
        assert held / total > 0.95 - 6 * np.sqrt(0.95 * 0.05 / total)
