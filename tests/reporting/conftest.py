"""Rules and itemsets of exact baskets and of reports."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import bosket as bk


def same(found: pd.DataFrame, truth: pd.DataFrame) -> None:
    """The same columns with the same values, whatever holds them."""
    assert list(found.columns) == list(truth.columns)
    for name in truth.columns:
        if truth[name].dtype.kind in "fiu":
            np.testing.assert_array_equal(found[name].to_numpy(float), truth[name].to_numpy(float))
        else:
            assert found[name].tolist() == truth[name].tolist()


class Found(NamedTuple):
    rules: pd.DataFrame
    itemsets: pd.DataFrame


@pytest.fixture(scope="session", params=["exact", "reports"])
def found(request: pytest.FixtureRequest) -> Found:
    """With low limits and much noise, so that some estimates lie outside [0, 1]."""
    baskets = bk.quest(records=2000, mean_size=5, items=20, patterns=10, seed=7)
    reports = bk.Flip(keep=0.9).randomize(baskets, rng=bk.Seeded(7))
    result = bk.mine(reports if request.param == "reports" else baskets, min_support=0.05, max_size=3)
    return Found(result.rules(min_threshold=0.3), result.to_frame())


@pytest.fixture
def rules(found: Found) -> pd.DataFrame:
    return found.rules.copy()


@pytest.fixture
def itemsets(found: Found) -> pd.DataFrame:
    return found.itemsets.copy()
