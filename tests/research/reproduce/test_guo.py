"""Guo, Guo and Wu (2007): the shapes of the figures on stand-ins, the numbers on CoIL 2000 when it is there."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bosket as bk
from bosket.cli import main
from bosket.mining.dependence import pairs_in
from bosket.research.reproduce import guo, guo_data, guo_figures
from tests.files import benchmark_file


@pytest.fixture(scope="module")
def stand_in() -> bk.Baskets:
    """5000 records of 30 items, some of which depend on each other: the rule's two, and neighbours."""
    rng = np.random.default_rng(2)
    common = rng.random((5000, 15)) < 0.6
    bits = np.repeat(common, 2, axis=1) ^ (rng.random((5000, 30)) < np.linspace(0.1, 0.5, 30))
    names = [*guo_figures.RULE, *(f"item {number}" for number in range(28))]
    return bk.Baskets.from_frame(pd.DataFrame(bits.astype(np.uint8), columns=names), layout="one-hot")


def test_ranges_narrow_with_p_and_chebyshevs_are_wider(stand_in: bk.Baskets) -> None:
    """Fig. 1: 1 / sqrt(0.05) = 4.47 against 1.96 standard errors."""
    rows = guo_figures.ranges(stand_in, seed=1)
    widths = [row["normal_high"] - row["normal_low"] for row in rows]
    assert widths == sorted(widths, reverse=True)
    for row, width in zip(rows, widths, strict=True):
        assert width == pytest.approx(2 * 1.959964 * row["stderr"])
        assert row["chebyshev_high"] - row["chebyshev_low"] == pytest.approx(2 * math.sqrt(20) * row["stderr"])


def test_chi_square_never_grows_and_interest_does(stand_in: bk.Baskets) -> None:
    """Fig. 2: over all p1, p2; interest only where an item is turned around."""
    found = guo_figures.surfaces(stand_in)
    chi_squared, interest = np.array(found["chi_squared"]), np.array(found["interest"])
    own = found["original"]
    assert chi_squared.shape == interest.shape == (21, 21)
    assert (chi_squared <= own["chi_squared"] * (1 + 1e-12)).all()
    assert chi_squared[-1, -1] == pytest.approx(own["chi_squared"])
    assert chi_squared[10] == pytest.approx(0, abs=1e-9)  # p1 = 1/2 erases G
    assert (interest > own["interest"] + 0.1).any()
    assert (interest[10:, 10:] <= own["interest"] + 1e-12).all()


@pytest.mark.slow
def test_the_expected_number_is_the_mean_over_coins(stand_in: bk.Baskets) -> None:
    """40 seeds: within six standard errors of the mean of what is found, whose spread is some 5 pairs."""
    for keep in (0.55, 0.7, 0.9):
        row = guo.visible(stand_in, keep, seed=3, seeds=40)
        assert row.found == pytest.approx(row.expected, abs=6 * row.spread / math.sqrt(40) + 0.02 * row.expected)
        assert row.fewest <= row.found <= row.most
        assert row.right + row.wrong == pytest.approx(row.found)
        assert row.adjusted_wrong <= row.adjusted


def test_nothing_is_seen_more_often_than_one_item_twice() -> None:
    for keep, n in ((0.55, 5822), (0.6, 5822), (0.55, 9822)):
        assert guo.most_likely_seen(keep, n) == pytest.approx(stats.ncx2.sf(guo.CRITICAL, 1, n * (2 * keep - 1) ** 4))
    assert guo.most_likely_seen(0.55, 5822) == pytest.approx(0.119, abs=0.0005)
    assert guo.most_likely_seen(0.5, 5822) == pytest.approx(0.05)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    result = guo.run(data=tmp_path)
    json.dumps(result, allow_nan=False)
    assert "coil2000_train" in result["missing"][0]
    assert "coil2000_eval" in result["missing"][1] or "coil2000_train" in result["missing"][1]
    assert result["figures"] == []


@pytest.mark.data
class TestCoil:
    @pytest.fixture
    def table(self) -> pd.DataFrame:
        return guo_data.table(benchmark_file(guo_data.TRAIN).parent)

    @pytest.mark.slow
    def test_dependent_pairs_of_the_original(self, table: pd.DataFrame) -> None:
        """Exact: 1175, where the paper prints 997; the choices tried around it."""
        assert table.shape == (5822, 86)
        numbers = {
            name: int(guo.is_dependent(pairs_in(guo_data.items(table, name))).sum())
            for name in guo_data.CODINGS
            if name != "an item for each value"
        }
        assert numbers == {
            "value > 0": 1175,
            "value > 0, without numbers of policies": 787,
            "above the column's least value": 1394,
            "above the column's median": 1564,
            "above the column's mean": 1575,
            "above the middle of its range": 1031,
            "neighbourhood alone, above the mean": 780,
            "products alone, value > 0": 357,
        }

    def test_the_chosen_coding(self, table: pd.DataFrame) -> None:
        row = guo.coding(guo_data.CHOSEN, table, seed=7, seeds=3)
        assert (row.items, row.pairs, row.original, row.large_cells, row.exact) == (86, 3655, 1175, 913, 1120)
        assert row.visible == 186  # seed 7; 183 = 5% of all pairs are chance
        assert row.visible_fair_coin == pytest.approx(429.3, abs=0.1)

    def test_fig_3(self, table: pd.DataFrame) -> None:
        """The larger p, the more; what is not so stays at 5%, and is gone when p-values are adjusted."""
        baskets = guo_data.items(table)
        rows = [guo.visible(baskets, keep, seed=7, seeds=3) for keep in (0.55, 0.75, 0.95)]
        assert [row.found for row in rows] == sorted(row.found for row in rows)
        assert rows[0].adjusted == 0
        assert rows[0].found < 250 < guo.PAPER["visible"]
        assert 700 < rows[2].found < 830
        for row in rows:
            assert row.wrong == pytest.approx(0.05 * (3655 - 1175), abs=40)
            assert row.found == pytest.approx(row.expected, rel=0.1)
            assert row.adjusted_wrong <= 5

    @pytest.mark.slow
    def test_from_the_command_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = benchmark_file(guo_data.TRAIN).parent
        monkeypatch.setattr(guo_data, "CODINGS", {guo_data.CHOSEN: guo_data.CODINGS[guo_data.CHOSEN]})
        path = tmp_path / "guo.json"
        code = main(["reproduce", "guo", "--data", str(folder), "--figures", str(tmp_path), "-o", str(path)])
        assert not code
        shown = capsys.readouterr().out
        assert "1,175" in shown
        assert "about 750" in shown
        result = json.loads(path.read_text())
        assert result["schema"] == "bosket.reproduce.guo/1"
        drawn = {figure.name for figure in tmp_path.glob("*.svg")}
        assert drawn == {f"figure-{number}.svg" for number in ("1", "2a", "2b", "3a", "3b")}
