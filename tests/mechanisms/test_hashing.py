"""Hashed reports of others: those alike are hashed once, only for what is asked, and no more than a stated number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions import hashing
from bosket.mechanisms.questions.answer_reports import shown_by
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.hash_kernels import bucket_of, count_blocks
from bosket.mechanisms.questions.hashing import MOST_HASHES, HashedReports
from bosket.progress import LevelProgress

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
