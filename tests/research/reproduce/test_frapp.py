"""Agrawal, Haritsa and Prakash (2009): exact counts, the measures by hand, and the comparison in small."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from bosket.research.reproduce import frapp
from bosket.research.reproduce.frapp_data import census, health
from tests.files import benchmark_file


def small_table() -> bk.Table:
    domain = bk.TableDomain(
        [bk.Attribute(name, range(size)) for name, size in (("a", 3), ("b", 2), ("c", 2), ("d", 4))]
    )
    rng = np.random.default_rng(3)
    codes = np.stack([np.minimum(rng.geometric(0.5, 4000) - 1, size - 1) for size in (3, 2, 2, 4)], axis=1)
    return bk.Table.from_codes(codes, domain)


@pytest.mark.data
def test_table_3_of_census_is_exact() -> None:
    """The public file gives 19, 102, 204, 164, 64, 9; the paper prints 19, 102, 203, 165, 64, 10."""
    table = census(benchmark_file("adult_train.csv.gz").parent)
    assert table.n_records == 48_842
    assert table.domain.sizes.tolist() == [5, 2, 2, 4, 5, 5]
    assert table.domain.is_declared
    assert list(bk.mine(table, min_support=0.02).sizes.values()) == [19, 102, 204, 164, 64, 9]


@pytest.mark.data
def test_the_stand_in_for_health_has_its_shape() -> None:
    table = health(benchmark_file("brfss2015_diabetes.csv.gz").parent)
    assert table.domain.sizes.tolist() == [2, 5, 2, 3, 5, 5, 5]
    assert table.domain.n_cells == 7500
    assert table.n_records == 253_680


def test_all_mechanisms_have_the_amplification_asked_for() -> None:
    table = small_table()
    for gamma in (19.0, 9.0):
        for label, mechanism in frapp.mechanisms(gamma, table).items():
            assert mechanism.guarantee(table).gamma == pytest.approx(gamma, rel=1e-6), label


def test_quality_by_hand() -> None:
    truth = bk.mine(bk.Baskets([["a", "b"]] * 4 + [["c"]] * 4 + [[]] * 2), min_support=0.4)
    found = bk.mine(bk.Baskets([["a", "b"]] * 5 + [["d"]] * 5), min_support=0.4)
    one, two = frapp.quality(truth, found, 2)
    assert (one.frequent, one.found, one.missed, one.false) == (3, 3, 1 / 3, 1 / 3)
    assert one.mu == pytest.approx(0.25)
    assert (two.frequent, two.missed, two.false) == (1, 0.0, 0.0)


def test_long_itemsets_need_a_well_conditioned_matrix() -> None:
    """The paper's finding: gamma-diagonal errs about the same at all lengths, MASK and cut-and-paste ever more."""
    table = small_table()
    rows = frapp.comparison("small", table, 19.0, versions=100, seed=1, tell=lambda _: None)
    last = {label: [row.mu for row in part][-1] for label, part in rows.items()}
    assert last["DET-GD"] is not None
    assert last["DET-GD"] < 0.2
    third = {label: part[2].mu for label, part in rows.items()}
    assert third["MASK"] is not None
    assert third["DET-GD"] is not None
    assert third["MASK"] > 2 * third["DET-GD"]
    assert last["C&P"] is None  # a cutoff of 3 tells nothing about four items
    conditions = frapp.condition_numbers(table, 19.0)
    assert len(set(conditions["DET-GD"])) == 1
    assert conditions["DET-GD"][0] == pytest.approx(1 + 48 / 18)
    assert conditions["MASK"][3] == pytest.approx(conditions["MASK"][0] ** 4)
    assert math.isinf(conditions["C&P"][3])


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    result = frapp.run(data=tmp_path)
    json.dumps(result, allow_nan=False)
    assert len(result["missing"]) >= 2
    assert "adult_train" in " ".join(result["missing"])
