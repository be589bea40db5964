"""One report of every size that a plan allows: many strata are counted in seconds, or refused before anything is."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import bosket as bk
from bosket.audit.poisons import tail_bounds
from bosket.counting.bitmaps import Bitmaps
from bosket.evidence import sums
from bosket.evidence.counts import COUNTS_A_CANDIDATE, MAX_COUNTS
from bosket.mechanisms.base import Channel
from bosket.mining import LevelProgress
from bosket.statistics.estimates import Floats


def of_every_size(n: int) -> bk.Reports:
    """Empty reports, one for each size up to n."""
    plan = bk.Plan(bk.Domain(range(n)), bk.CutAndPaste(7, 0.1), bk.PrivacyUnit(max_size=n))
    bits = np.zeros((n, -(-n // 64)), np.uint64)
    return bk.Reports(plan, bits, strata=np.arange(1, n + 1, dtype=np.int32), randomness="secure")


def refuse_to_count(*_: object, **__: object) -> None:
    raise AssertionError("nothing must be counted")


def test_items_in_many_strata_are_refused_before_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = of_every_size(300)
    monkeypatch.setattr(Bitmaps, "from_rows", refuse_to_count)
    limit = 300 * 300 // COUNTS_A_CANDIDATE - 1
    for data in (reports, bk.Tally.of(reports)):
        with pytest.raises(bk.TooManyCandidatesError) as caught:
            bk.mine(data, min_support=0.1, max_candidates=limit)
        problem = caught.value
        assert (problem.level, problem.number, problem.limit) == (1, 90_000, COUNTS_A_CANDIDATE * limit)
        assert problem.hint is not None
        assert "max_size" in problem.hint


def test_the_limit_holds_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a word on max_candidates, for mine and for estimate: 20 000 sizes of 20 000 items would take 7 GB."""
    reports = of_every_size(20_000)
    monkeypatch.setattr(Bitmaps, "from_rows", refuse_to_count)
    with pytest.raises(bk.TooManyCandidatesError) as caught:
        bk.mine(reports, min_support=0.1)
    assert caught.value.limit == MAX_COUNTS
    with pytest.raises(bk.TooManyCandidatesError):
        bk.estimate(reports, [{item} for item in range(0, 20_000, 64)])


def test_fewer_items_are_counted() -> None:
    reports = of_every_size(300)
    assert len(bk.mine(reports, min_support=0.1, max_candidates=300 * 300 // COUNTS_A_CANDIDATE)) == 0
    assert len(bk.mine(reports, min_support=0.1, max_candidates=300, items=range(10))) == 0
    with pytest.raises(bk.TooManyCandidatesError):
        bk.mine(reports, min_support=0.1, max_candidates=299, items=range(10))


def test_larger_itemsets_in_many_strata_are_refused_before_they_are_joined() -> None:
    """Each size is held to the limit: 40 items in 20 strata are 800 counts, and their 780 pairs 15 600."""
    plan = bk.Plan(bk.Domain(range(40)), bk.CutAndPaste(400, 0.1), bk.PrivacyUnit(max_size=20))
    bits = np.full((20, 1), (1 << 40) - 1, np.uint64)
    reports = bk.Reports(plan, bits, strata=np.arange(1, 21, dtype=np.int32), randomness="secure")
    with pytest.raises(bk.TooManyCandidatesError) as caught:
        bk.mine(reports, min_support=0.1, max_size=2, max_candidates=1559)
    assert (caught.value.level, caught.value.number, caught.value.limit) == (2, 15_600, 15_590)
    assert len(bk.mine(reports, min_support=0.1, max_size=2, max_candidates=1560)) == 820


def test_the_patterns_of_a_large_itemset_in_many_strata_are_refused() -> None:
    with pytest.raises(bk.TooManyCandidatesError) as caught:
        bk.estimate(of_every_size(1600), [range(16)])
    assert (caught.value.level, caught.value.number) == (16, 1600 << 16)


def test_weights_are_computed_once_for_a_stratum_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the same for all itemsets: 5 000 strata of 5 000 items took 400 times as many steps."""
    reports = of_every_size(150)
    calls = []
    weights = type(reports.channel).weights

    def counted(channel: Channel, *args: Any) -> Floats:
        calls.append(1)
        return weights(channel, *args)

    monkeypatch.setattr(type(reports.channel), "weights", counted)
    monkeypatch.setattr("bosket.evidence.linear._CELLS", 1 << 10)
    bk.mine(reports, min_support=0.1, max_size=1)
    assert len(calls) == 150


def test_progress_is_told_between_strata(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a search can be given up while weights are computed."""
    monkeypatch.setattr(sums, "_SECONDS", -1.0)
    heard: list[LevelProgress] = []
    bk.mine(of_every_size(150), min_support=0.1, max_size=1, on_progress=heard.append)
    assert sum(one.stage == "estimating" and one.done == 0 for one in heard) > 150


def test_bounds_are_computed_for_what_reports_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for all numbers of items in each of many strata."""
    asked = []

    def counted(channel: Channel, stratum: int, numbers: npt.NDArray[np.int64], max_size: int | None) -> Floats:
        asked.append(len(numbers))
        return tail_bounds(channel, stratum, numbers, max_size)

    monkeypatch.setattr(import_module("bosket.audit.poisons"), "tail_bounds", counted)
    assert bk.audit.implausible(of_every_size(300)).any(), "of 300 items some thirty come in, and none did"
    assert asked == [1] * 300
