"""Zeng, Naughton and Cai (2012): the pieces; the whole takes minutes and is behind ``bosket reproduce zeng``."""

from __future__ import annotations

import gzip
import statistics
from pathlib import Path

import pytest

from bosket.cli import main
from bosket.curator import AS_PUBLISHED
from bosket.data import Baskets
from bosket.research.reproduce import zeng
from bosket.research.rivals import diffpart
from tests.files import benchmark_file


def test_quality_by_hand() -> None:
    true: zeng.FoundItemsets = {(1,), (2,), (1, 2), (3,)}
    assert zeng.quality({(1,), (1, 2), (9,)}, true) == {
        "f": pytest.approx(4 / 7),
        "precision": pytest.approx(2 / 3),
        "recall": 0.5,
    }
    assert zeng.quality(set(), true)["f"] == 0


def test_without_files(tmp_path: Path) -> None:
    result = zeng.run(data=tmp_path, times=1)
    assert len(result["missing"]) == len(zeng.LIMITS)
    assert result["figures"] == []


def test_spreads_by_hand() -> None:
    runs = [{"f": 0.5, "precision": 1.0, "recall": 0.2}, {"f": 0.7, "precision": 1.0, "recall": 0.6}]
    expected = {"f": 0.6, "precision": 1.0, "recall": 0.4, "spread": 0.1, "precision_spread": 0, "recall_spread": 0.2}
    assert zeng._summary(runs) == pytest.approx(expected)


@pytest.mark.parametrize("smart", [True, False])
def test_one_heuristic_is_the_papers(smart: bool) -> None:
    settings = zeng._one_of_two(smart=smart)
    assert (settings.heuristics.smart, settings.heuristics.double_standards) == (smart, not smart)
    assert not settings.heuristics.by_length
    assert settings.extra == AS_PUBLISHED.extra
    assert settings.heuristics.correction == AS_PUBLISHED.heuristics.correction


WIDE = 900


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file under the name of one with short records, and one with so many items that DiffPart gives nothing."""
    narrow = [[i % 25] for i in range(3000)] + [[1, 2, 3]] * 700 + [[4, 5]] * 600 + [[6, 7, 8, 9]] * 500
    wide = [[i] for i in range(WIDE)] + [[1, 2]] * 1100
    for name, records in (("bms_webview1", narrow), ("retail", wide)):
        lines = "".join(" ".join(map(str, record)) + "\n" for record in records)
        (tmp_path / f"{name}.dat.gz").write_bytes(gzip.compress(lines.encode()))
    monkeypatch.setattr(zeng, "LIMITS", {"bms_webview1": (0.05, 0.1), "retail": (0.2,)})
    monkeypatch.setattr(zeng, "OF_CUTS", ("bms_webview1", 0.05))
    monkeypatch.setattr(zeng, "TOP", (2, 3))
    monkeypatch.setattr(zeng, "_WIDE", 100)
    return tmp_path


@pytest.mark.slow
def test_every_figure_has_its_methods(folder: Path) -> None:
    said: list[str] = []
    result = zeng.run(data=folder, times=1, tell=said.append)
    assert result["missing"] == []
    curves = {figure["number"]: tuple(figure["curves"]) for figure in result["figures"]}
    of_pairs = ("ours", "as published", "naive", "Bhaskar et al.")
    assert curves == {
        "2a": ("ours", "as published", "naive", "PrivBasis", "no truncation"),
        "2b": ("ours", "as published", "naive", "PrivBasis"),
        "3a": ("ours", "PrivBasis", "Bhaskar et al., scored on items and pairs alone"),
        "3b": ("ours", "PrivBasis"),
        "4a": ("ours", "DiffPart", "DiffPart, by count"),
        "4b": ("ours", "DiffPart (nothing comes out)", "DiffPart, by count (nothing comes out)"),
        "5a": ("naive", "smart truncation alone", "double standards alone", "as published", "ours"),
        "5b": ("naive", "smart truncation alone", "double standards alone", "as published", "ours"),
        **dict.fromkeys(("6a", "6a-precision", "6a-recall"), of_pairs),
        **dict.fromkeys(("6b", "6b-precision", "6b-recall"), of_pairs[:3]),
        "7": ("single items",),
    }
    assert all(None not in curve for figure in result["figures"] for curve in figure["curves"].values())
    assert {f"bms_webview1 at 5%: {method}" for method in zeng.THRESHOLD} <= set(said)


@pytest.mark.slow
def test_no_f_of_nothing_without_a_word(folder: Path) -> None:
    """Where DiffPart gives nothing it is said why; where it gives something it is given as many as there are."""
    rows = {(row["data"], row["limit"], row["method"]): row for row in zeng.run(data=folder, times=1)["thresholds"]}
    for method in ("DiffPart", "DiffPart, by count"):
        row = rows["retail", 0.2, method]
        assert row["f"] == 0
        assert "the first limit, 3,836," in row["note"]
        assert "exceeds the 2,000 records" in row["note"]
    assert all(bool(row["note"]) <= (row["precision"] == 0) for row in rows.values())
    baskets = Baskets.read(folder / "bms_webview1.dat.gz")
    assert len(zeng.THRESHOLD["DiffPart"](baskets, 0.9, 4).itemsets) == 4
    answer = zeng.THRESHOLD["DiffPart, by count"](baskets, 0.9, 4)
    assert answer.itemsets == set()
    assert "sanitized records, which are fewer" in answer.note


@pytest.mark.slow
def test_the_command_says_what_was_tuned(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zeng, "LIMITS", {"retail": (0.2,)})
    pictures = folder / "pictures"
    assert main(["reproduce", "zeng", "--data", str(folder), "--times", "1", "--figures", str(pictures)]) == 0
    out, err = capsys.readouterr()
    assert zeng.REMARK in err
    for title in ("(Figs. 2, 4 and 5)", "Where nothing comes out", "(Fig. 6)", "(Fig. 3)"):
        assert title in out
    assert "retail at 20%: PrivBasis" in err
    assert {path.stem for path in pictures.iterdir()} >= {f"figure-{number}a" for number in "23456"}


@pytest.mark.slow
@pytest.mark.data
def test_diffpart_keeps_what_the_paper_says() -> None:
    """6734.5 records of bms_webview2 after sanitizing; with the setting that serves best, within 5 %.

    In about one run of 60 the first count misses its limit and no record is released, hence the median: that five
    runs of nine release nothing has a chance of 2e-7."""
    baskets = Baskets.read(benchmark_file("bms_webview2.dat.gz"))
    kept = [diffpart.sanitize(baskets, epsilon=zeng.EPSILON, **zeng.DIFFPART).baskets.n_records for _ in range(9)]
    assert statistics.median(kept) == pytest.approx(6734.5, rel=0.05)


@pytest.mark.slow
@pytest.mark.data
def test_prototypes_scores() -> None:
    """As published: within 0.05 of an independent prototype's mean F, which was 0.81 here, in three runs; naive 0.74.

    Ours, which counts long records for what they hold, has 0.90.  One run has a spread of 0.01."""
    baskets = Baskets.read(benchmark_file("bms_webview1.dat.gz"))
    true = zeng._true(baskets, 0.006)
    for method, expected in (("as published", 0.81), ("naive", 0.74), ("ours", 0.90)):
        runs = [zeng.quality(zeng.THRESHOLD[method](baskets, 0.006, len(true)).itemsets, true)["f"] for _ in range(3)]
        assert sum(runs) / 3 == pytest.approx(expected, abs=0.05)


@pytest.mark.slow
@pytest.mark.data
def test_an_inner_optimum_of_the_cut() -> None:
    """Fig. 7: too short a cut loses items, too long a one drowns them in noise."""
    baskets = Baskets.read(benchmark_file("bms_webview1.dat.gz"))
    scores = {row["cut"]: row["f"] for row in zeng._cuts(baskets, 0.004, 3)}
    best = max(scores, key=lambda cut: scores[cut])
    assert min(zeng.CUTS) < best < max(zeng.CUTS)
    assert scores[best] > scores[1] + 0.05
