"""Results in files: what is written parses back, in either vocabulary, and what cannot be written is refused."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import bosket as bk
from bosket.measures import CATALOGUE
from bosket.reporting.arules import arules_names, to_arules
from bosket.reporting.export import write_itemsets, write_rules
from tests.reporting.conftest import same

Write = Callable[[pd.DataFrame, Path], int]


def read(path: Path, *, itemsets: tuple[str, ...]) -> pd.DataFrame:
    """The rows of a file, with itemsets as sets."""
    if path.suffix.lower() == ".csv":
        with path.open(newline="") as file:
            frame = pd.DataFrame(list(csv.DictReader(file)))
        for name in frame.columns:
            is_json = name in itemsets or set(frame[name]) <= {"true", "false"}
            kind = json.loads if is_json else str if name == "caution" else lambda cell: float(cell or "nan")
            frame[name] = frame[name].map(kind)
    elif path.suffix == ".json":
        value = json.loads(path.read_text())
        frame = pd.DataFrame(value[value["schema"].removeprefix("bosket.").removesuffix("/1")])
    else:
        frame = pq.read_table(path).to_pandas()
    return frame.assign(**{name: frame[name].map(frozenset) for name in itemsets})


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet", ".CSV"])
def test_what_is_written_parses_back(rules: pd.DataFrame, itemsets: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    assert write_rules(rules, str(path)) == len(rules)
    if suffix.lower() == ".csv":
        assert json.loads((tmp_path / f"out{suffix}.about.json").read_text()) == rules.attrs["about"]
    else:
        assert list(tmp_path.iterdir()) == [path]
    truth = rules.replace([math.inf, -math.inf], math.nan) if suffix == ".json" else rules
    same(read(path, itemsets=("antecedents", "consequents")), truth)
    assert write_itemsets(itemsets, path) == len(itemsets)
    same(read(path, itemsets=("itemsets",)), itemsets)


def test_json_translates(rules: pd.DataFrame, itemsets: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write_rules(rules.assign(odds_ratio=2.0, odds_ratio_low=1.0, zhangs_metric=0.5), path)
    value = json.loads(path.read_text())
    assert value["vocabulary"] == "bosket"
    names = value["names"]
    assert names.keys() <= value["rules"][0].keys()
    assert (names["antecedents"], names["consequents"]) == ("lhs", "rhs")
    assert (names["antecedent support"], names["consequent support"]) == ("coverage", "rhsSupport")
    assert names["odds_ratio"] == "oddsRatio"
    assert not {"zhangs_metric", "odds_ratio_low", "lift_low"} & names.keys()
    write_itemsets(itemsets, path)
    assert not {"names", "vocabulary"} & json.loads(path.read_text()).keys()


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_in_the_words_of_arules(rules: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    frame = rules.assign(odds_ratio=2.0, odds_ratio_low=1.0, zhangs_metric=0.5, support_stderr=0.1, lift_high=3.0)
    assert write_rules(frame, path, names="arules") == len(rules)
    back = read(path, itemsets=("lhs", "rhs"))
    expected = {
        "antecedents": "lhs",
        "consequents": "rhs",
        "antecedent support": "coverage",
        "consequent support": "rhsSupport",
        "support": "support",
        "support_stderr": "support_stderr",
        "confidence": "confidence",
        "lift": "lift",
        "lift_high": "lift_high",
        "odds_ratio": "oddsRatio",
        "odds_ratio_low": "oddsRatio_low",
        "zhangs_metric": "zhangs_metric",
    }
    same(back[list(expected.values())], frame[list(expected)].rename(columns=expected))
    assert len(back.columns) == len(frame.columns) + 1
    assert back["count"].tolist() == pytest.approx(rules["support"] * 2000, abs=1e-9)
    is_exact = rules.attrs["about"]["mechanism"] is None
    assert all(count == int(count) for count in back["count"]) == is_exact
    if suffix == ".json":
        value = json.loads(path.read_text())
        assert value["vocabulary"] == "arules"
        assert value["names"]["coverage"] == "antecedent support"
        assert value["names"]["oddsRatio"] == "odds_ratio"
        assert value["about"] == rules.attrs["about"]


def test_every_name_of_the_catalogue(rules: pd.DataFrame) -> None:
    """Each to its own, also where one name of a measure ends as another's error does."""
    columns = [f"{name}{ending}" for name in CATALOGUE for ending in ("", "_stderr", "_low", "_high", "_bias")]
    frame = pd.DataFrame([[1.0] * len(columns)], columns=columns)
    frame.attrs = rules.attrs
    renamed = to_arules(frame)
    expected = [
        f"{measure.arules or name}{ending}"
        for name, measure in CATALOGUE.items()
        for ending in ("", "_stderr", "_low", "_high", "_bias")
    ]
    assert [name for name in renamed.columns if name != "count" or "count" in CATALOGUE] == expected
    assert renamed.columns.is_unique
    assert arules_names(columns) == {name: one.arules for name, one in CATALOGUE.items() if one.arules is not None}


def test_cautions_are_translated_too(rules: pd.DataFrame) -> None:
    frame = rules.head(3).assign(caution=["", "odds_ratio", "confidence, odds_ratio, zhangs_metric"])
    assert to_arules(frame)["caution"].tolist() == ["", "oddsRatio", "confidence, oddsRatio, zhangs_metric"]
    assert to_arules(frame.astype({"caution": "category"}))["caution"].tolist() == to_arules(frame)["caution"].tolist()


def test_the_frame_is_left_alone(rules: pd.DataFrame, tmp_path: Path) -> None:
    before = rules.copy()
    for suffix in ("csv", "json", "parquet", "pmml"):
        write_rules(rules, tmp_path / f"out.{suffix}")
    write_rules(rules, tmp_path / "out.json", names="arules")
    pd.testing.assert_frame_equal(rules, before)
    assert rules.attrs == before.attrs


@pytest.mark.parametrize("name", ["out.xml", "out", "out.csv.gz", "out.txt"])
def test_other_files_are_refused(rules: pd.DataFrame, itemsets: pd.DataFrame, tmp_path: Path, name: str) -> None:
    with pytest.raises(bk.ParameterError, match=r"A file of rules must end in \.csv, .*\.pmml, got") as error:
        write_rules(rules, tmp_path / name)
    assert error.value.parameter == "path"
    with pytest.raises(bk.ParameterError, match="A file of itemsets must end in"):
        write_itemsets(itemsets, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_names_are_of_csv_and_json(rules: pd.DataFrame, tmp_path: Path) -> None:
    for name in ("out.parquet", "out.pmml"):
        with pytest.raises(bk.ParameterError, match="unless the file ends in") as error:
            write_rules(rules, tmp_path / name, names="arules")
        assert (error.value.parameter, error.value.value) == ("names", "arules")
    with pytest.raises(bk.ParameterError, match="must be one of bosket, arules"):
        write_rules(rules, tmp_path / "out.json", names="weka")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet", "pmml"])
def test_other_frames_are_refused(rules: pd.DataFrame, itemsets: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    with pytest.raises(bk.DataError, match="rules must have a column 'antecedents'"):
        write_rules(itemsets, path)
    with pytest.raises(bk.DataError, match="itemsets must have a column 'itemsets'"):
        write_itemsets(rules, path)
    with pytest.raises(bk.DataError, match="must hold sets of labels, got a str"):
        write_rules(rules.assign(consequents="milk"), path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_a_frame_that_pandas_made_anew_is_written_too(rules: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    bare = pd.DataFrame(rules.to_dict("list"))
    path, again = tmp_path / f"out.{suffix}", tmp_path / f"again.{suffix}"
    assert write_rules(bare, path) == len(rules)
    assert bare.attrs == {}
    write_rules(bare, again, about=rules.attrs["about"])
    whole = tmp_path / f"whole.{suffix}"
    write_rules(rules, whole)
    sides = ("antecedents", "consequents")
    same(read(again, itemsets=sides), read(whole, itemsets=sides))


def test_pmml_asks_for_the_number_of_records(rules: pd.DataFrame, tmp_path: Path) -> None:
    bare = pd.DataFrame(rules.to_dict("list"))
    with pytest.raises(bk.DataError, match="how many records") as error:
        write_rules(bare, tmp_path / "out.pmml")
    assert "about=found.about" in str(error.value.hint)
    assert not list(tmp_path.iterdir())
    assert write_rules(bare, tmp_path / "out.pmml", about=rules.attrs["about"]) > 0


def test_pmml_needs_numbers(rules: pd.DataFrame, tmp_path: Path) -> None:
    few = rules[["antecedents", "consequents", "support"]]
    with pytest.raises(bk.DataError, match="must have a column 'confidence'"):
        write_rules(few, tmp_path / "out.pmml")
    with pytest.raises(bk.DataError, match="'confidence' of rules must hold numbers"):
        write_rules(few.assign(confidence="high"), tmp_path / "out.pmml")
    assert write_rules(few, tmp_path / "out.json") == len(rules)


def test_no_number_in_json_is_null(rules: pd.DataFrame, tmp_path: Path) -> None:
    frame = rules.head(2).assign(lift=[math.nan, math.inf])
    write_rules(frame, tmp_path / "out.json")
    assert [row["lift"] for row in json.loads((tmp_path / "out.json").read_text())["rules"]] == [None, None]


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet", ".pmml"])
def test_half_a_surrogate_pair_is_refused_in_every_format(suffix: str, tmp_path: Path) -> None:
    found = bk.mine(bk.Baskets([["\ud800", "b"]] * 4), 0.5)
    with pytest.raises(bk.DataError, match="surrogate"):
        write_itemsets(found.to_frame(), tmp_path / f"found{suffix}", about=found.about)
    assert list(tmp_path.iterdir()) == []
