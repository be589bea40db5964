"""The benchmark harness: bars say what they mean; no test here looks at a clock to pass or fail."""

from __future__ import annotations

from pathlib import Path

import pytest

import bosket as bk
from bosket.research.benchmarks import BENCHMARKS, Bar, run
from bosket.research.benchmarks.bars import medians
from bosket.research.benchmarks.of_attributes import fourteen
from bosket.research.benchmarks.of_disk import on_disk
from bosket.research.benchmarks.of_questions import around
from bosket.research.benchmarks.of_sieve import PARTS, large_release, profiled
from bosket.research.benchmarks.of_streams import streams
from tests.files import benchmark_file


def test_bars_hold_on_the_right_side() -> None:
    assert Bar("fast", 2.0, 1.5, at_least=True).holds
    assert not Bar("fast", 1.0, 1.5, at_least=True).holds
    assert Bar("small", 0.4, 0.5, at_least=False).holds
    assert not Bar("small", 0.6, 0.5, at_least=False).holds
    assert Bar("small", 0.61234, 0.5, at_least=False, detail={"n": 3}).to_json() == {
        "name": "small",
        "ratio": 0.6123,
        "bar": "<= 0.5",
        "holds": False,
        "n": 3,
    }


def test_benchmarks_without_their_files_are_left_out(tmp_path: Path) -> None:
    heard: list[str] = []
    found = run(only=["attributes"], data=tmp_path, tell=heard.append)
    assert heard == ["attributes", *found["missing"]]
    assert found["missing"][0].startswith("attributes is left out: The benchmark file adult_train.csv.gz was not found")
    assert found["bars"] == []


@pytest.mark.slow
def test_fourteen_attributes_of_adult() -> None:
    table = fourteen(benchmark_file("adult_train.csv.gz").parent)
    assert (table.n_records, len(table.domain.names)) == (48_842, 14)
    assert table.domain.n_cells == 3_265_920_000


def test_questions_go_round_all_attributes() -> None:
    assert around(5, 6) == [(0, 1), (0, 4), (1, 2), (2, 3), (3, 4), (0, 2)]
    for n, n_questions in ((8, 28), (12, 12), (16, 28)):
        pairs = around(n, n_questions)
        assert len(set(pairs)) == n_questions
        assert {at for pair in pairs for at in pair} == set(range(n))


@pytest.mark.slow
def test_calls_are_taken_in_turns_after_a_warm_up() -> None:
    calls: list[str] = []
    took = medians({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=3)
    assert calls == ["a", "b"] * 4
    assert set(took) == {"a", "b"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["generate", "count"])
def test_benchmarks_run(name: str) -> None:
    assert all(bar.ratio > 0 for bar in BENCHMARKS[name](None))


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_parts_of_the_sieve_are_found_and_fit_into_it(delta: float) -> None:
    """A function that was renamed would take no time."""
    pytest.importorskip("opendp")
    took = profiled(bk.quest(records=2000, items=30, mean_size=6, seed=3), 0.05, delta)
    assert set(took) == {"all", *PARTS}
    assert all(took[part] > 0 for part in PARTS)
    assert sum(took[part] for part in PARTS) <= took["all"]


@pytest.mark.slow
def test_a_release_in_a_process_of_its_own() -> None:
    pytest.importorskip("opendp")
    found = large_release(delta=0.0, records=5000, items=50, mean_size=6, mean_pattern=3, min_support=0.05)
    assert found["seconds"] > 0
    assert 0.05 < found["gib"] < 8
    assert found["itemsets"] > 5


@pytest.mark.slow
def test_streams_find_what_all_reports_have() -> None:
    """On few reports: the ratio is not looked at."""
    bars = streams(20_000, limits=[0.05], repeats=1)
    assert [bar.target for bar in bars] == [0.05, 1.0]
    assert bars[1].holds
    assert bars[0].detail["itemsets"] > 0


@pytest.mark.slow
def test_reports_on_disk_are_mined_in_a_process_of_their_own(tmp_path: Path) -> None:
    bars = on_disk(20_000, folder=tmp_path)
    assert [bar.at_least for bar in bars] == [False] * 4, "memory; items, pairs and a size on the mean over reading"
    seconds = bars[0].detail["seconds"]
    assert seconds["counting by size"].keys() >= {"1", "2"}
    steps = {"reading the bitmaps once", "counting all items", "counting all pairs"}
    assert seconds["from the disk"].keys() == steps | {"mining"}
    assert seconds["from the page cache"].keys() == steps
    assert bars[0].detail["bytes"] == 200 * 8 * -(-20_000 // 64)
    assert not list(tmp_path.iterdir())
