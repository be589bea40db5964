"""Hashed reports of others: those alike are hashed once, only for what is asked, and no more than a stated number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.counting.distinct_rows import alike_together, joined_by_bytes, joined_by_order
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions import hashing
from bosket.mechanisms.questions.answer_reports import shown_by
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.hash_kernels import bucket_of, count_blocks
from bosket.mechanisms.questions.hashing import MOST_HASHES, HashedReports, SubsetReports
from bosket.mechanisms.questions.subset_kernels import count_subsets
from bosket.progress import LevelProgress
from tests.memory import traced

SIDE = 64


def a_plan() -> bk.Plan:
    """One question of 4096 answers, which are hashed: 1024 hashes a report."""
    domain = bk.TableDomain([bk.Attribute(name, list(range(SIDE))) for name in "ab"])
    return bk.Plan(domain, bk.Ask([["a", "b"]], 19))


def reports_of(plan: bk.Plan, seeds: Any) -> bk.Reports:
    n = len(seeds)
    columns: dict[str, Any] = {
        "question": np.zeros(n, np.int32),
        "answer": np.zeros(n, np.int32),
        "seed": np.asarray(seeds, np.uint64),
    }
    return bk.Reports(plan, Batch(columns), randomness="simulation")


def many_items(n: int) -> bk.Reports:
    """Reports about baskets over 400 000 items, of seeds that take next to nothing in a file."""
    plan = bk.Plan(bk.Domain(range(400_000)), bk.AskBaskets(epsilon=3, length=6, by="hashing", size=16))
    batch = Batch({"seed": np.arange(n, dtype=np.uint64), "value": np.zeros(n, np.int32)})
    return bk.Reports(plan, batch, randomness="simulation")


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Hears how many hashes each call of the kernel makes."""
    heard: list[int] = []

    def counted(seeds: Any, values: Any, counts: Any, buckets: int, blocks: Any, found: Any) -> None:
        heard.append(len(seeds) * len(blocks))
        count_blocks(seeds, values, counts, buckets, blocks, found)

    monkeypatch.setattr(hashing, "count_blocks", counted)
    return heard


@pytest.mark.filterwarnings("ignore::bosket.InfluenceWarning")
def test_reports_that_are_alike_are_hashed_once(hashes: list[int]) -> None:
    """Half a million of them are a file of 20 kB, and took 16 s."""
    found = bk.estimate(reports_of(a_plan(), np.full(500_000, 7)), [{"a=0"}], model=None)
    assert sum(hashes) <= SIDE * SIDE // 4
    assert found.n_records == 500_000


def test_counts_are_those_of_every_report(hashes: list[int]) -> None:
    """Whether most seeds are alike or none, and reports are cut into pieces."""
    rng = np.random.default_rng(1)
    for n_seeds in (3, 10**6):
        seeds, values = rng.integers(n_seeds, size=400).astype(np.uint64), rng.integers(4, size=400).astype(np.int32)
        times = rng.integers(1, 9, size=400)
        keys = np.array([5, 0, 17, 6])
        expected = [
            sum(int(t) for s, v, t in zip(seeds, values, times, strict=True) if bucket_of(s, key, 4) == v)
            for key in keys.tolist()
        ]
        found = HashedReports.of(seeds, values, times, 4)
        assert (len(found) <= 12) == (n_seeds == 3)
        assert found.shown(keys).tolist() == expected
        assert found.showing_all(keys[:, None]).tolist() == expected


def test_only_answers_that_are_asked_for_are_hashed(hashes: list[int]) -> None:
    """Without a law, which takes them all: {a=0} is 64 answers in a row, {b=0} one of each 64."""
    plan = a_plan()
    reports = reports_of(plan, np.arange(100))
    for itemset, blocks in (({"a=0"}, 16), ({"b=0"}, 64), ({"a=0", "b=0"}, 79)):
        hashes.clear()
        few = bk.estimate(reports, [itemset], model=None)
        assert sum(hashes) == 100 * blocks
        assert isinstance(plan.channel, AskChannel)
        every = shown_by(plan.channel, reports.batch)
        own = np.zeros((SIDE, SIDE), bool)
        own[0 if "a=0" in itemset else slice(None), 0 if "b=0" in itemset else slice(None)] = True
        keep, chance = plan.channel.keep[0], plan.channel.by_chance[0]
        expected = (every.numbers[0][own.ravel()].sum() / 100 - own.sum() * chance) / keep
        assert few.value[0] == pytest.approx(expected)


@pytest.mark.slow
def test_more_hashes_than_are_stated_are_refused_before_the_first(hashes: list[int]) -> None:
    n = MOST_HASHES // 100_000 + 1
    reports = many_items(n)
    with pytest.raises(bk.TooManyCandidatesError, match=r"hashes to compute.* minutes") as caught:
        bk.mine(reports, 0.1, max_size=1)
    assert (caught.value.number, caught.value.limit) == (n * 100_000, MOST_HASHES)
    with pytest.raises(bk.TooManyCandidatesError, match="hashes to compute"):
        reports.plan.mechanism.refine(reports)  # type: ignore[attr-defined]  # that of AskBaskets
    assert not hashes
    bk.estimate(reports[:2000], [{0}])
    assert sum(hashes) == 2000


def test_the_limit_is_of_all_questions_together(hashes: list[int]) -> None:
    domain = bk.TableDomain([bk.Attribute(name, list(range(SIDE))) for name in "abc"])
    channel = bk.Plan(domain, bk.Ask(bk.Design.pairs(domain), 19)).channel
    assert isinstance(channel, AskChannel)
    columns = {"question": np.arange(30) % 3, "answer": np.zeros(30), "seed": np.arange(30)}
    batch = Batch({name: column.astype(np.uint64 if name == "seed" else np.int32) for name, column in columns.items()})
    with pytest.raises(bk.TooManyCandidatesError) as caught:
        shown_by(channel, batch, max_hashes=30 * 1024 - 1)
    assert caught.value.number == 30 * 1024
    assert not hashes
    shown_by(channel, batch, max_hashes=30 * 1024)
    assert sum(hashes) == 30 * 1024


@pytest.mark.filterwarnings("ignore::bosket.NoiseWarning", "ignore::bosket.InfluenceWarning")
def test_progress_of_hashing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "_AT_ONCE", 1000)
    people = bk.Baskets([[at % 40] for at in range(4000)], items=range(40))
    reports = bk.AskBaskets(epsilon=3, length=2, by="hashing", size=16).randomize(people, rng=bk.Seeded(1))
    heard: list[LevelProgress] = []
    bk.mine(reports, 0.01, on_progress=heard.append)
    counting = [one for one in heard if one.stage == "counting"]
    assert len(counting) > 20
    assert [one.done for one in counting] == sorted(one.done for one in counting)
    assert counting[0].seconds is not None
    assert counting[-1].done == counting[-1].total


@pytest.mark.parametrize("count", [1 << 49, 1 << 53])
def test_tallies_of_more_people_than_whole_numbers_hold_are_refused(count: int) -> None:
    """The answers that stand for an itemset are added up: 2^49 people who show each of 32 768 wrapped to -1210."""
    domain = bk.TableDomain([bk.Attribute("a", [0, 1]), bk.Attribute("b", list(range(32768)))])
    plan = bk.Plan(domain, bk.Ask([["a", "b"]], 1.5, channel="hashing"))
    assert isinstance(plan.channel, AskChannel)
    batch = reports_of(plan, [7]).batch
    with pytest.raises(bk.DataError, match="at most 70368744177664"):
        shown_by(plan.channel, batch, np.array([count]))
    assert shown_by(plan.channel, batch, np.array([1 << 46])).numbers[0].max() == 1 << 46


def peak_of(work: Callable[[], object]) -> int:
    with traced() as memory:
        work()
        return memory.peak


N_HELD = 1_500_000
KINDS = {"alike": N_HELD, "few": 5, "two of each": 2, "different": 1}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_questions", [1, 2])
def test_hashed_reports_are_held_a_few_times(kind: str, n_questions: int) -> None:
    """At most two and a half times their sixteen bytes, beside them; it was 70 bytes for each."""
    domain = bk.TableDomain([bk.Attribute(name, list(range(SIDE))) for name in "ab"])
    plan = bk.Plan(domain, bk.Ask([["a", "b"], ["a"]][:n_questions], 19, channel="hashing"))
    channel = plan.channel
    assert isinstance(channel, AskChannel)
    reports = reports_of(plan, np.arange(N_HELD) // KINDS[kind])
    question = (np.arange(N_HELD) % n_questions).astype(np.int32)
    batch = plan.channel.payload.checked(Batch({**reports.batch.columns, "question": question}))
    asked_for = np.array([0], np.int32)
    shown_by(channel, batch.take(slice(100)), None, asked_for)  # compiled before
    a_slice = 12 << 20
    assert peak_of(lambda: shown_by(channel, batch, None, asked_for)) < 2.5 * 16 * N_HELD + a_slice


def test_rows_are_joined_slice_by_slice() -> None:
    rng = np.random.default_rng(5)
    for n_different, most in ((7, 7), (300, 300), (300, 299)):
        place = np.append(np.arange(n_different), rng.integers(n_different, size=5000))
        columns, times = (
            (place.astype(np.uint64) // 3, (place % 3).astype(np.int32)),
            rng.integers(1, 9, size=len(place)),
        )
        words = np.stack([place, place + 1], axis=1).astype(np.uint64)
        expected = np.bincount(place, times).astype(int).tolist()
        for at_once in (64, 1 << 18):
            found = alike_together(columns, times, joined_by_order, most=most, at_once=at_once)
            other = alike_together([words], times, joined_by_bytes, most=most, at_once=at_once)
            if most < n_different:
                assert found is None
                assert other is None
                continue
            assert found is not None
            assert other is not None
            assert (3 * found[0][0].astype(int) + found[0][1]).tolist() == list(range(n_different))
            assert found[1].tolist() == expected
            assert dict(zip(other[0][0][:, 0].tolist(), other[1].tolist(), strict=True)) == dict(enumerate(expected))


def subsets_of(n: int, n_different: int) -> bk.Reports:
    plan = bk.Plan(bk.Domain(range(200)), bk.AskBaskets(epsilon=3, length=2, by="subset", size=8))
    words = np.zeros((n, 4), np.uint64)
    words[:, 0] = 127
    words[:, 1] = np.uint64(1) << (np.arange(n) % n_different).astype(np.uint64)
    return bk.Reports(plan, Batch({"subset": words}), randomness="simulation")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Hears how many looks at subsets each call of the kernel takes."""
    heard: list[int] = []

    def counted(words: Any, counts: Any, n_sets: int, sets: Any, found: Any) -> None:
        heard.append(len(words) * sets.size)
        count_subsets(words, counts, n_sets, sets, found)

    monkeypatch.setattr(hashing, "count_subsets", counted)
    return heard


@pytest.mark.filterwarnings("ignore::bosket.BosketWarning")
def test_subsets_that_are_alike_are_looked_at_once(looks: list[int]) -> None:
    """144 kB of them took 43 s."""
    reports = subsets_of(4000, 5)
    found = bk.mine(reports, 0.0001, max_size=1)
    assert sum(looks) <= 5 * 200
    assert found.n_records == 4000
    channel = reports.plan.channel
    assert isinstance(channel, BasketChannel)
    sets = np.array([[0, 1], [0, 64], [64, 65], [7, 8]])
    assert channel.shown(reports.batch, sets).tolist() == [4000, 800, 0, 0]
    times = np.full(4000, 3)
    assert channel.shown(reports.batch, sets[:, :1], times).tolist() == [12000, 12000, 2400, 0]


def test_more_looks_at_subsets_than_are_stated_are_refused_before_the_first(looks: list[int]) -> None:
    reports = subsets_of(100, 60)
    channel = reports.plan.channel
    assert isinstance(channel, BasketChannel)
    keys = np.arange(200)[:, None]
    with pytest.raises(bk.TooManyCandidatesError, match=r"looks at subsets.* minutes") as caught:
        channel.shown(reports.batch, keys, max_hashes=100 * 200 - 1)
    assert (caught.value.number, caught.value.limit) == (100 * 200, 100 * 200 - 1)
    assert not looks
    told: list[float] = []
    channel.shown(reports.batch, keys, max_hashes=100 * 200, done=told.append)
    assert sum(looks) == 100 * 200
    assert told
    assert told[-1] == 1.0


def test_subsets_are_held_once() -> None:
    words = np.arange(4 * 100_000, dtype=np.uint64).reshape(-1, 4)
    for rows in (words, words[np.arange(100_000) % 9000]):
        assert peak_of(lambda rows=rows: SubsetReports.of(rows, None)) < 2 * rows.nbytes + (16 << 20)  # type: ignore[misc]
