"""Collections that grow and shrink: whatever is appended, merged and taken away, they are the reports that are left."""

from __future__ import annotations

import copy
import pickle
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import bosket as bk
from bosket.collection.running import Running
from bosket.collection.segments import Segment, put_together
from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.counting.distinct_rows import Multiplicities
from bosket.counting.duplicates import marks
from bosket.mechanisms.payload import Batch
from tests.contracts.cases import CASES, Case
from tests.poison import sent

ITEMS = list("abcd")
PLAN = bk.Plan(bk.Domain(ITEMS), bk.CutAndPaste(2, 0.3), bk.PrivacyUnit(max_size=3))
PAIRS = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], np.int32)

people = st.lists(st.lists(st.sampled_from(ITEMS), unique=True, max_size=3), min_size=1, max_size=12)


def reports_of(records: list[list[str]], seed: int, plan: bk.Plan = PLAN) -> bk.Reports:
    return plan.randomize(bk.Baskets(records, items=ITEMS), rng=bk.Seeded(seed))


def some_reports(n: int, seed: int, plan: bk.Plan = PLAN) -> bk.Reports:
    return reports_of([["a", "b"], ["c"], ["a", "b", "c"], ["d"]] * (n // 4), seed, plan)


def mined(
    data: bk.Reports | bk.Collection | bk.OpenReports, min_support: float
) -> bk.FrequentItemsets | type[bk.BosketError]:
    """What mining finds, or the kind of error that it ends with; warnings are compared elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.BosketWarning)
        try:
            return bk.mine(data, min_support)
        except bk.BosketError as problem:
            return type(problem)


def said(found: bk.FrequentItemsets) -> str:
    """All that a result says of itself; bytes of reports keep that there was a seed, and not which."""
    return re.sub(r"seeded\(\d+\)", "seeded", repr(found.about))


def assert_alike(found: bk.Collection, expected: bk.Reports, min_support: float) -> None:
    one, other = mined(found, min_support), mined(expected, min_support)
    if isinstance(one, type) or isinstance(other, type):
        assert one is other
        return
    assert one.to_frame().equals(other.to_frame())
    assert said(one) == said(other)
    assert one.rules(min_threshold=0.0).equals(other.rules(min_threshold=0.0))


class Streaming(RuleBasedStateMachine):
    """A collection beside the batches that it should hold, some mining between."""

    def __init__(self) -> None:
        super().__init__()
        self.collection = bk.Collection(PLAN)
        self.batches: list[bk.Reports] = []

    @rule(records=people, seed=st.integers(0, 3), form=st.sampled_from(["reports", "bytes", "tally", "file"]))
    def append(self, records: list[list[str]], seed: int, form: str) -> None:
        batch = reports_of(records, seed)
        if form == "file":
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "batch.parquet"
                batch.write(path)
                self.collection.append(path, allow_duplicates=True)
        else:
            given: dict[str, bk.Reports | bk.Tally | bytes] = {
                "reports": batch,
                "bytes": batch.to_bytes(),
                "tally": bk.Tally.of(batch),
            }
            self.collection.append(given[form], allow_duplicates=True)
        self.batches.append(batch)

    @rule(several=st.lists(people, max_size=3), looked_at=st.booleans())
    def merge(self, several: list[list[list[str]]], looked_at: bool) -> None:
        other = bk.Collection(PLAN)
        for records in several:
            self.batches.append(reports_of(records, 5))
            other.append(self.batches[-1], allow_duplicates=True)
        if several and looked_at:
            other.counter().supports(PAIRS)
        self.collection.merge(other, allow_duplicates=True)
        assert other.n_batches == len(several)

    @precondition(lambda self: self.batches)
    @rule(data=st.data())
    def subtract_a_batch(self, data: st.DataObject) -> None:
        self.collection.subtract(self.batches.pop(data.draw(st.integers(0, len(self.batches) - 1))))

    @precondition(lambda self: self.batches)
    @rule(data=st.data())
    def subtract_some_reports(self, data: st.DataObject) -> None:
        """Of one batch, which stays with the others."""
        at = data.draw(st.integers(0, len(self.batches) - 1))
        chosen = np.array(data.draw(st.lists(st.booleans(), min_size=(n := len(self.batches[at])), max_size=n)))
        self.collection.subtract(self.batches[at][chosen])
        self.batches[at] = self.batches[at][~chosen]
        if not len(self.batches[at]):
            self.batches.pop(at)

    @precondition(lambda self: len(self.batches) > 1)
    @rule(data=st.data())
    def subtract_a_collection(self, data: st.DataObject) -> None:
        other = bk.Collection(PLAN)
        for _ in range(data.draw(st.integers(1, len(self.batches)))):
            other.append(self.batches.pop(data.draw(st.integers(0, len(self.batches) - 1))), allow_duplicates=True)
        self.collection.subtract(other)

    @rule(records=people)
    def subtract_what_is_not_there(self, records: list[list[str]]) -> None:
        """All that there is, and some more: nothing is taken away."""
        before = self.collection.n_records
        more = bk.Reports.concat([*self.batches, reports_of(records, 6)], allow_duplicates=True)
        with pytest.raises(bk.DataError, match="not there"):
            self.collection.subtract(more)
        assert self.collection.n_records == before

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "collection.parquet"
            self.collection.write(path)
            loaded = bk.Collection.read(path, plan=PLAN)
        assert (loaded.n_batches, loaded.randomness) == (self.collection.n_batches, self.collection.randomness)
        self.collection = loaded

    @precondition(lambda self: self.batches)
    @rule(min_support=st.sampled_from([0.05, 0.3, 0.6]))
    def mine(self, min_support: float) -> None:
        assert_alike(self.collection, self.together(), min_support)

    def together(self) -> bk.Reports:
        return bk.Reports.concat(self.batches, allow_duplicates=True)

    @invariant()
    def holds_the_reports(self) -> None:
        assert self.collection.n_records == sum(map(len, self.batches)) == int(self.collection.counts.sum())
        if not self.batches:
            assert (self.collection.n_batches, self.collection.randomness) == (0, "secure")

    @precondition(lambda self: self.batches)
    @rule()
    def counts_them(self) -> None:
        found, expected = self.collection.counter(), self.together().counter()
        assert (found.strata, found.n_records) == (expected.strata, expected.n_records)
        np.testing.assert_array_equal(found.supports(PAIRS), expected.supports(PAIRS))
        assert self.collection.strata_shown == self.together().strata_shown


Streaming.TestCase.settings = settings(max_examples=3, stateful_step_count=8, deadline=None)
TestStreaming = Streaming.TestCase


class StreamingForLong(Streaming):
    """The same, with more examples of more steps."""


StreamingForLong.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestStreamingForLong = pytest.mark.slow(StreamingForLong.TestCase)


@pytest.mark.filterwarnings("ignore::bosket.InfluenceWarning")
@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.slow) for case in CASES], ids=str)
def test_every_mechanism(case: Case) -> None:
    """Estimates, itemsets and rules after batches came and went, with looks between, are those of the batches left."""
    reports = case.reports(800, seed=3)
    collection = bk.Collection(case.plan)
    parts = [reports]
    if not reports.channel.belong_together:
        which = np.random.default_rng(1).integers(0, 4, len(reports))
        parts = [reports[which == part] for part in range(4)]
    largest = [reports.domain.labels[item] for item in case.itemsets[-1][0].tolist()]
    wanted = [set(largest[:1]), set(largest)]
    for part in parts:
        collection.append(part, allow_duplicates=True)
        assert collection.counter().n_records == collection.n_records
        mined(collection, 0.2)
    if len(parts) > 1:
        gone = parts.pop(1)
        collection.subtract(gone)
        mined(collection, 0.2)
        collection.append(bk.Tally.of(gone), allow_duplicates=True)
        parts.append(gone)
    together = bk.Reports.concat(parts, allow_duplicates=True) if len(parts) > 1 else parts[0]
    one, other = (bk.estimate(data, wanted, sampling=True) for data in (collection, together))
    np.testing.assert_array_equal(one.value, other.value)
    np.testing.assert_array_equal(one.covariance, other.covariance)
    assert_alike(collection, together, 0.2)


class Watched:
    """A counter that notes how many itemsets it is asked for."""

    def __init__(self, counter: Counter, asked: list[int]) -> None:
        self.counter, self.asked = counter, asked
        self.strata, self.n_records = counter.strata, counter.n_records

    def supports(self, itemsets: ItemsetRows, **options: object) -> Counts:
        self.asked.append(len(itemsets) if itemsets.shape[1] else 0)
        return self.counter.supports(itemsets)


def test_old_batches_are_asked_for_new_itemsets_alone() -> None:
    collection = bk.Collection(PLAN)
    collection.append(some_reports(400, 1))
    asked: list[int] = []
    counted = collection.counter_by("watched", lambda batch, times: Watched(PLAN.channel.payload.counter(batch), asked))
    counted.supports(PAIRS[:4])
    assert sum(asked) == 4
    collection.append(some_reports(40, 2))
    asked.clear()
    counted = collection.counter_by("watched", lambda batch, times: None)  # type: ignore[arg-type,return-value]
    assert asked.count(4) == 1, "in the new batch"
    asked.clear()
    counted.supports(PAIRS[:4])
    assert not asked, "nothing is counted twice"
    counted.supports(PAIRS)
    assert asked == [2, 2], "what nobody asked for before, in both"


def test_what_ends_the_counting_leaves_all_as_it_was() -> None:
    """Ctrl-C while a new batch is counted, after one of two counters was: the next look counts it once."""
    first, second = some_reports(400, 1), some_reports(40, 2)
    collection = bk.Collection(PLAN)
    collection.append(first)
    is_tired = False

    def tired(batch: Batch, times: Multiplicities | None) -> Counter:
        if is_tired:
            raise KeyboardInterrupt
        return PLAN.channel.payload.counter(batch)

    collection.counter().supports(PAIRS)
    collection.counter_by("tired", tired).supports(PAIRS)
    is_tired = True
    collection.append(second)
    with pytest.raises(KeyboardInterrupt):
        collection.counter()
    is_tired = False
    expected = bk.Reports.concat([first, second]).counter().supports(PAIRS)
    np.testing.assert_array_equal(collection.counter().supports(PAIRS), expected)
    np.testing.assert_array_equal(collection.counter_by("tired", tired).supports(PAIRS), expected)


@pytest.mark.parametrize("place", ["Running.lose", "Collection._set", "Collection._note"])
def test_ctrl_c_leaves_all_or_nothing_taken_away(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two segments, what was remembered was of one state and what was held of another: counts were wrong."""
    parts = [some_reports(60, seed) for seed in range(4)]
    week = bk.Collection(PLAN)
    for part in parts:
        week.append(part)
        week.mine(min_support=0.05)  # so that segments are settled
    rest = bk.Reports.concat(parts)
    owner, name = place.split(".")
    kind = Running if owner == "Running" else bk.Collection
    method, calls = getattr(kind, name), [0]

    def interrupted(self: object, *given: object) -> object:
        found = method(self, *given)
        calls[0] += 1
        if calls[0] == 1:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(kind, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        week.subtract(parts[1])
    monkeypatch.undo()
    kept = rest if week.n_records == 240 else bk.Reports.concat([parts[0], *parts[2:]])
    assert len(kept) == week.n_records
    assert_alike(week, kept, 0.05)
    with pytest.raises(bk.DataError):
        week.append(parts[2])  # it is known to be there


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("change", ["append", "merge", "subtract"])
def test_a_change_that_ends_in_an_error_is_none(
    change: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who hears of an error tries again: reports that were held already were counted twice for good."""
    first, second = some_reports(60, 1), some_reports(60, 2)
    week, other = bk.Collection(PLAN), bk.Collection(PLAN)
    week.append(first)
    other.append(first if change == "subtract" else second)
    given = other if change == "merge" else (first if change == "subtract" else second)
    note, left = bk.Collection._note, [1]

    def failing(self: bk.Collection, *segments: Any) -> None:
        note(self, *segments)
        if left:
            left.pop()
            raise error

    monkeypatch.setattr(bk.Collection, "_note", failing)
    with pytest.raises(error):
        getattr(week, change)(given)
    assert_alike(week, first, 0.05)
    getattr(week, change)(given)
    assert week.n_records == (0 if change == "subtract" else 120)


def test_a_counter_stays_that_of_its_reports() -> None:
    """What was made before a batch came, such as the covariance of estimates, is not changed by it."""
    first = some_reports(400, 1)
    collection = bk.Collection(PLAN)
    collection.append(first)
    counter = collection.counter()
    counter.supports(PAIRS[:3])
    before = bk.estimate(collection, [{"a"}, {"a", "b"}])
    collection.append(some_reports(400, 2))
    mined(collection, 0.1)
    np.testing.assert_array_equal(counter.supports(PAIRS), first.counter().supports(PAIRS))
    np.testing.assert_array_equal(before.covariance, bk.estimate(first, [{"a"}, {"a", "b"}]).covariance)


def test_the_same_batch_twice_is_refused() -> None:
    first, second = some_reports(80, 1), some_reports(80, 2)
    collection = bk.Collection(PLAN)
    collection.append(first)
    collection.append(second)
    for again in (second, second[::-1], second.to_bytes(), bk.Tally.of(second)):
        with pytest.raises(bk.DuplicateReportsError) as caught:
            collection.append(again)
        assert caught.value.parts == (2, 3)
    collection.counter()  # batches are put together; they are still known
    with pytest.raises(bk.DuplicateReportsError):
        collection.append(first)
    other = bk.Collection(PLAN)
    other.append(some_reports(80, 3))
    other.append(first)
    with pytest.raises(bk.DuplicateReportsError) as caught:
        collection.merge(other)
    assert caught.value.parts == (1, 4)
    assert (collection.n_records, collection.n_batches) == (160, 2)
    collection.subtract(first)
    collection.append(first)
    collection.append(first, allow_duplicates=True)
    assert collection.n_records == 240


def test_batches_that_were_put_together_are_known_when_they_are_merged() -> None:
    """What another collection allowed twice is not taken twice, wherever its batches stand by now."""
    first, other = some_reports(80, 1), bk.Collection(PLAN)
    other.append(first)
    other.append(first[::-1], allow_duplicates=True)
    for _ in range(2):
        collection = bk.Collection(PLAN)
        with pytest.raises(bk.DuplicateReportsError) as caught:
            collection.merge(other)
        assert caught.value.parts == (1, 2)
        other.counter()  # one segment
    collection.merge(other, allow_duplicates=True)
    assert collection.n_records == 160


FORGED = bk.Plan(bk.Domain(range(64)), bk.Flip(keep=0.9))


def forged(n: int, seed: int) -> bk.Reports:
    """Some reports whose fingerprint is that of all others that are made here: a mark is a permutation of words."""

    def unshifted(value: int, by: int) -> int:
        result = value
        for _ in range(64 // by):
            result = value ^ result >> by
        return result

    def unmixed(value: int) -> int:
        value = unshifted(value, 31) * pow(0x94D049BB133111EB, -1, 1 << 64) % (1 << 64)
        value = unshifted(value, 27) * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) % (1 << 64)
        return unshifted(value, 30)

    step = 0x9E3779B97F4A7C15
    words = bk.Seeded(seed).stream().words(n)[:, None]
    rest = int(marks(words[1:], None).sum(dtype=np.uint64))
    words[0] = unmixed((unmixed((12345 - rest) % (1 << 64)) - step) % (1 << 64)) ^ step
    assert int(marks(words, None).sum(dtype=np.uint64)) == 12345
    return bk.Reports(FORGED, Batch({"report": words}), randomness="secure")


def test_batches_that_were_made_to_look_alike_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    contents = Segment.contents

    def counted(self: Segment, *, named: bool) -> tuple[bytes, Multiplicities]:
        nonlocal looks
        looks += 1
        return contents(self, named=named)

    monkeypatch.setattr(Segment, "contents", counted)
    collection = bk.Collection(FORGED)
    batches = [forged(30, seed) for seed in range(60)]
    for batch in batches:
        collection.append(batch)
    assert len(collection._fingerprints) == 1
    assert looks <= 2 * len(batches)
    with pytest.raises(bk.DuplicateReportsError) as caught:
        collection.append(batches[40])
    assert caught.value.parts == (41, 61)
    looks = 0
    for batch in batches[::-1]:
        collection.subtract(batch)
    assert collection.n_records == 0
    assert looks <= 2 * len(batches)


def test_a_few_reports_may_come_twice() -> None:
    collection = bk.Collection(PLAN)
    for _ in range(3):
        collection.append(some_reports(4, 1))
    assert (collection.n_records, collection.n_batches) == (12, 3)


@pytest.mark.parametrize("is_own", [False, True])
def test_a_collection_that_is_merged_twice_is_counted_twice(is_own: bool) -> None:
    """Also where the first time was counted before: its segments were taken for those, and left out without a word."""
    reports = some_reports(200, 1)
    found, other = bk.Collection(PLAN), bk.Collection(PLAN)
    other.append(reports)
    found.merge(other)
    mined(found, 0.1)
    found.merge(found if is_own else other, allow_duplicates=True)
    assert_alike(found, bk.Reports.concat([reports, reports], allow_duplicates=True), 0.1)
    assert (found.n_records, other.n_records) == (400, 200)
    found.subtract(other)
    assert_alike(found, reports, 0.1)
    found.subtract(other)
    assert found.n_records == 0


def test_a_copy_and_what_it_was_made_of_know_their_batches_apart() -> None:
    """They noted them in one place: what was taken out of the copy could be appended to the other a second time."""
    found = bk.Collection(PLAN)
    reports, later = some_reports(200, 1), some_reports(200, 2)
    found.append(reports)
    other = copy.copy(found)
    other.subtract(reports)
    with pytest.raises(bk.DataError, match="same"):
        found.append(reports)
    other.append(later)
    other.append(reports)
    found.append(later)
    assert (found.n_records, other.n_records) == (400, 400)


def test_another_plan_is_refused() -> None:
    other = bk.Plan(PLAN.domain, bk.CutAndPaste(2, 0.4), bk.PrivacyUnit(max_size=3))
    reports = some_reports(8, 1, other)
    collection = bk.Collection(PLAN)
    stranger = bk.Collection(other)
    for given in (reports, bk.Tally.of(reports), reports.to_bytes()):
        with pytest.raises(bk.PlanMismatchError):
            collection.append(given)
        with pytest.raises(bk.PlanMismatchError):
            collection.subtract(given)
    for call in (collection.merge, collection.subtract):
        with pytest.raises(bk.PlanMismatchError):
            call(stranger)
    assert collection.n_records == 0


def named(tokens: list[str], seed: int, plan: bk.Plan = PLAN) -> bk.Reports:
    return plan.randomize(bk.Baskets([["a"]] * len(tokens), items=ITEMS), rng=bk.Seeded(seed), respondents=tokens)


def test_people_who_answered_too_often_are_refused_until_their_reports_are_taken_away() -> None:
    collection = bk.Collection(PLAN)
    first = named(["x", "y"], 1)
    collection.append(first)
    with pytest.raises(bk.RepeatedRespondentError) as caught:
        collection.append(named(["z", "y"], 2))
    assert (caught.value.people, caught.value.allowed) == (1, 1)
    assert collection.n_records == 2
    collection.subtract(first[1:])
    collection.append(named(["z", "y"], 2))
    assert collection.tokens is not None
    assert sorted(collection.tokens.tolist()) == [b"x", b"y", b"z"]
    assert "token" in str(collection.guarantee)


def test_a_plan_may_allow_two_answers() -> None:
    plan = bk.Plan(PLAN.domain, PLAN.mechanism, bk.PrivacyUnit(max_size=3, reports=2))
    collection, other = bk.Collection(plan), bk.Collection(plan)
    collection.append(named(["x", "y"], 1, plan))
    collection.counter()
    collection.append(named(["x"], 2, plan))
    other.append(named(["x", "z"], 3, plan))
    with pytest.raises(bk.RepeatedRespondentError):
        collection.merge(other)
    collection.subtract(named(["x"], 2, plan))
    collection.merge(other)
    assert collection.n_records == 4


def test_some_named_and_some_not_are_refused() -> None:
    collection = bk.Collection(PLAN)
    reports = named(["x", "y"], 1)
    collection.append(reports)
    for given in (reports.without_respondents(), bk.Tally.of(reports)):
        with pytest.raises(bk.DataError, match="name nobody"):
            collection.append(given)
        with pytest.raises(bk.DataError, match="name nobody"):
            collection.subtract(given)
    assert collection.n_records == 2


def test_a_report_is_taken_away_with_its_own_name() -> None:
    """Two people with one report: which of them withdrew decides who may answer again."""
    flat = bk.Plan(bk.Domain(["a"]), bk.Flip(keep=0.9))
    one, other = (
        flat.randomize(bk.Baskets([["a"]] * 30), rng=bk.Seeded(seed), respondents=[f"{seed}.{at}" for at in range(30)])
        for seed in (1, 2)
    )
    collection = bk.Collection(flat)
    collection.append(one)
    collection.append(other)
    collection.subtract(other[:1])
    assert collection.tokens is not None
    assert b"2.0" not in collection.tokens.tolist()
    assert b"1.0" in collection.tokens.tolist()


def test_mixed_reports_stay_together() -> None:
    plan = bk.Plan(bk.Domain(ITEMS), bk.Mixing(others=2, keep=0.6))
    first, second = some_reports(40, 1, plan), some_reports(40, 2, plan)
    collection = bk.Collection(plan)
    collection.append(first)
    with pytest.raises(bk.DataError, match="batch by batch"):
        collection.append(second)
    collection.subtract(first)
    collection.append(second)
    assert_alike(collection, second, 0.1)


def test_what_is_no_batch_is_refused() -> None:
    collection = bk.Collection(PLAN)
    with pytest.raises(bk.DataError, match="Baskets"):
        collection.append(bk.Baskets([["a"]]))  # type: ignore[arg-type]  # on purpose
    with pytest.raises(bk.DataError, match="Reports"):
        collection.merge(some_reports(4, 1))  # type: ignore[arg-type]
    with pytest.raises(bk.ParameterError):
        bk.Collection("plan")  # type: ignore[arg-type]
    with pytest.raises(bk.DataError, match="no file"):
        collection.append("nowhere.parquet")
    with pytest.raises(bk.DataError, match="no records"):
        collection.mine(0.1)
    collection.append(some_reports(40, 1)[:0])
    assert (collection.n_batches, len(collection.batch)) == (0, 0)


def test_warnings_are_those_of_mining() -> None:
    """A few reports, of which one batch may be made, carry a support, in a collection as in reports."""
    plan = bk.Plan(bk.Domain(range(60)), bk.CutAndPaste(3, 0.1), bk.PrivacyUnit(max_size=50))
    honest = plan.randomize(bk.Baskets([[0, 1], [2], [3, 4, 5]] * 2000, items=range(60)), rng=bk.Seeded(1))
    forged = sent(plan, [[0, 1, 2]] * 5, size=50)
    collection = bk.Collection(plan)
    collection.append(honest)
    collection.mine(0.05, max_size=2)
    collection.append(forged)
    with pytest.warns(bk.InfluenceWarning) as expected:
        bk.mine(bk.Reports.concat([honest, forged]), 0.05, max_size=2)
    with pytest.warns(bk.InfluenceWarning) as caught:
        collection.mine(0.05, max_size=2)
    assert str(caught[0].message) == str(expected[0].message)
    assert caught[0].filename == __file__, "it points at the call"
    with pytest.warns(bk.InfluenceWarning) as caught:
        collection.estimate([{0, 1}])
    assert caught[0].filename == __file__


def test_a_hopeless_plan_is_refused_until_there_are_enough_reports() -> None:
    plan = bk.Plan(bk.Domain(ITEMS), bk.Flip(keep=0.53))
    collection = bk.Collection(plan)
    with pytest.warns(bk.HopelessPlanWarning):
        collection.append(some_reports(40, 1, plan))
    with pytest.raises(bk.HopelessError):
        collection.mine(0.1)
    with pytest.warns(bk.HopelessPlanWarning):
        collection.estimate([{"a"}])
    collection.append(some_reports(40_000, 2, plan))
    assert collection.mine(0.2).about["n_records"] == 40_040


def test_rules_are_those_of_what_is_mined() -> None:
    collection = bk.Collection(PLAN)
    for seed in (1, 2):
        collection.append(some_reports(2000, seed))
    expected = collection.mine(0.1, max_size=2).rules(min_threshold=0.2, metric="confidence")
    assert len(expected)
    assert collection.rules(0.1, max_size=2, min_threshold=0.2).equals(expected)


@pytest.mark.slow
def test_many_small_batches_make_few_segments() -> None:
    collection = bk.Collection(PLAN)
    batches = [some_reports(8, seed) for seed in range(200)]
    for batch in batches:
        collection.append(batch, allow_duplicates=True)
    assert len(collection._segments) <= 40
    counter = collection.counter()
    assert len(collection._segments) <= 8
    np.testing.assert_array_equal(
        counter.supports(PAIRS), bk.Reports.concat(batches, allow_duplicates=True).counter().supports(PAIRS)
    )
    assert collection.n_batches == 200
    collection.subtract(batches[17])
    assert collection.n_batches == 199


def test_segments_are_put_together_up_to_a_size() -> None:
    collection = bk.Collection(PLAN)
    for seed, n in enumerate([200, 8, 8, 4, 16]):
        collection.append(some_reports(n, seed), allow_duplicates=True)
    assert [segment.n_rows for segment in put_together(collection._segments)] == [200, 36]
    assert [segment.n_rows for segment in put_together(collection._segments, largest=16)] == [200, 16, 4, 16]


def test_a_copy_of_another_process() -> None:
    collection = bk.Collection(PLAN)
    collection.append(some_reports(80, 1))
    mined(collection, 0.1)
    copy = pickle.loads(pickle.dumps(collection))
    assert_alike(copy, some_reports(80, 1), 0.1)
    with pytest.raises(bk.DuplicateReportsError):
        copy.append(some_reports(80, 1))
