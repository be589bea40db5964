"""bosket.mlxtend against mlxtend itself: signatures, itemsets, maximal itemsets, rules."""

from __future__ import annotations

import decimal
import inspect
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket import mlxtend as ours
from tests.effort import effort_within
from tests.memory import traced

theirs = pytest.importorskip("mlxtend.frequent_patterns")

MINERS = ("apriori", "fpgrowth", "fpmax", "hmine")


def frame_of(bits: list[list[bool]], names: str = "abcdef") -> pd.DataFrame:
    return pd.DataFrame(bits, columns=list(names)[: len(bits[0])])


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    width = draw(st.integers(1, 6))
    rows = draw(st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=1, max_size=25))
    return frame_of(rows)


def as_dict(frame: pd.DataFrame) -> dict[frozenset[Any], float]:
    result = dict(zip(frame["itemsets"], frame["support"], strict=True))
    assert len(result) == len(frame)
    return result


@pytest.mark.parametrize("name", [*MINERS, "association_rules"])
def test_signatures(name: str) -> None:
    mine, other = inspect.signature(getattr(ours, name)), inspect.signature(getattr(theirs, name))
    assert list(mine.parameters) == list(other.parameters)
    for parameter in mine.parameters.values():
        default = other.parameters[parameter.name].default
        assert parameter.default == (tuple(default) if isinstance(default, list) else default)


@pytest.mark.parametrize("name", MINERS)
@given(frame=frames(), limit=st.sampled_from([0.05, 0.2, 1 / 3, 0.5, 1.0]), use_colnames=st.booleans())
def test_itemsets(name: str, frame: pd.DataFrame, limit: float, use_colnames: bool) -> None:
    found = getattr(ours, name)(frame, min_support=limit, use_colnames=use_colnames)
    expected = getattr(theirs, name)(frame, min_support=limit, use_colnames=use_colnames)
    assert list(found.columns) == ["support", "itemsets"]
    assert as_dict(found) == pytest.approx(as_dict(expected))
    sizes = [len(itemset) for itemset in found["itemsets"]]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("name", ["apriori", "fpgrowth"])
@pytest.mark.parametrize("max_len", [1, 2])
def test_max_len(name: str, max_len: int) -> None:
    frame = frame_of([[True] * 4, [True, True, False, True], [False, True, True, True]])
    found = getattr(ours, name)(frame, min_support=0.3, max_len=max_len)
    assert as_dict(found) == pytest.approx(as_dict(getattr(theirs, name)(frame, min_support=0.3, max_len=max_len)))


def test_maximal_itemsets_of_some_length() -> None:
    """Not the frequent itemsets of that length: {a, b} is in {a, b, c}."""
    frame = frame_of([[True, True, True, False]] * 3 + [[False, False, False, True]] * 2)
    assert as_dict(ours.fpmax(frame, 0.3, max_len=2, use_colnames=True)) == {frozenset("d"): 0.4}
    assert as_dict(theirs.fpmax(frame, 0.3, max_len=2, use_colnames=True)) == {frozenset("d"): 0.4}


def test_sparse_frames_and_numbers() -> None:
    frame = frame_of([[True, False, True], [True, True, True], [False, False, True]])
    expected = as_dict(ours.apriori(frame, 0.3))
    assert expected[frozenset({0, 2})] == pytest.approx(2 / 3)
    assert as_dict(ours.apriori(frame.astype(int), 0.3)) == expected
    assert as_dict(ours.apriori(frame.astype(pd.SparseDtype(bool, False)), 0.3)) == expected


@given(frame=frames(), metric=st.sampled_from(ours.METRICS), threshold=st.sampled_from([0.0, 0.31, 0.77]))
def test_rules(frame: pd.DataFrame, metric: str, threshold: float) -> None:
    """Every column, for every rule."""
    itemsets = theirs.apriori(frame, min_support=0.05, use_colnames=True)
    if not len(itemsets):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # its certainty divides by 0 before it looks
        expected = theirs.association_rules(itemsets, metric=metric, min_threshold=threshold - 1e-10)
    found = ours.association_rules(itemsets, metric=metric, min_threshold=threshold)
    keys = ["antecedents", "consequents"]
    assert list(found.columns) == [*keys, *ours.METRICS]
    assert found.groupby(keys).ngroups == len(found) == len(expected)
    both = found.merge(expected, on=keys, suffixes=("", " of mlxtend"))
    assert len(both) == len(found)
    for name in ours.METRICS:
        np.testing.assert_allclose(
            both[name], both[f"{name} of mlxtend"].astype(float), rtol=1e-9, atol=1e-12, err_msg=name
        )


def test_a_value_at_the_limit_is_kept() -> None:
    """A confidence of 4 in 5, of supports of 0.4 and 0.5, or of thirds."""
    rows = [[True, True]] * 4 + [[True, False]] + [[False, False]] * 5
    itemsets = ours.apriori(frame_of(rows), 0.1, use_colnames=True)
    found = ours.association_rules(itemsets, min_threshold=0.8)
    assert (frozenset("a"), frozenset("b")) in set(zip(found["antecedents"], found["consequents"], strict=True))
    assert len(ours.apriori(frame_of([[True]] * 7 + [[False]] * 93), 0.07)) == 1


def test_support_only_needs_no_subsets() -> None:
    partial = pd.DataFrame({"support": [0.25], "itemsets": [frozenset("abc")]})
    with pytest.raises(KeyError, match="no support of the itemset") as caught:
        ours.association_rules(partial)
    assert isinstance(caught.value, ours.MissingSubsetError)
    assert caught.value.itemset < frozenset("abc")
    found = ours.association_rules(partial, support_only=True, min_threshold=0.1)
    expected = theirs.association_rules(partial, support_only=True, min_threshold=0.1)
    assert len(found) == len(expected) == 6
    assert found["support"].tolist() == [0.25] * 6
    assert found[[name for name in ours.METRICS if name != "support"]].isna().all(axis=None)


@pytest.mark.parametrize("support_only", [False, True])
def test_more_rules_than_may_be_made_are_refused_before_any_is(
    support_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An itemset of n items has 2^n - 2: one of 30 in a frame took all the memory that there is."""
    alone = pd.DataFrame({"support": [0.5, 0.5], "itemsets": [frozenset(range(30)), frozenset("a")]})
    with effort_within(1), pytest.raises(bk.TooManyRulesError, match="more than 20,000,000 rules") as caught:
        ours.association_rules(alone, support_only=support_only)
    assert (caught.value.number, caught.value.limit) == (2**30 - 2, 20_000_000)
    huge = pd.DataFrame({"support": [0.5], "itemsets": [frozenset(range(20_000))]})
    with pytest.raises(bk.TooManyRulesError):
        ours.association_rules(huge, support_only=support_only)
    few = pd.DataFrame({"support": [0.5] * 2, "itemsets": [frozenset("abc"), frozenset("ab")]})
    for most in (8, 7):
        monkeypatch.setattr(ours, "MOST_RULES", most)
        if most == 8:
            assert len(ours.association_rules(few, support_only=True, min_threshold=0.1)) == 8
        else:
            with pytest.raises(bk.TooManyRulesError):
                ours.association_rules(few, support_only=True)


def test_rules_that_do_not_pass_are_not_held() -> None:
    """Sides of all of them were sets, 107 MB here."""
    frame = pd.DataFrame({"support": [0.5], "itemsets": [frozenset(range(16))]})
    ours.association_rules(frame, support_only=True, min_threshold=0.6)  # what is compiled on first use
    with traced() as memory:
        assert ours.association_rules(frame, support_only=True, min_threshold=0.6).empty
        assert memory.peak < 12_000_000


@pytest.mark.parametrize("together", [1, 5])
@pytest.mark.parametrize("support_only", [False, True])
def test_rules_that_are_looked_at_some_at_a_time(
    support_only: bool, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    itemsets = ours.apriori(frame_of((rng.random((40, 5)) < 0.7).tolist()), 0.1, use_colnames=True)
    itemsets = itemsets.sample(frac=1, random_state=3)
    arguments: dict[str, Any] = {"support_only": support_only, "metric": "lift", "min_threshold": 0.3}
    expected = ours.association_rules(itemsets, **arguments)
    assert len(expected) > 20
    monkeypatch.setattr(ours, "_TOGETHER", together)
    pd.testing.assert_frame_equal(ours.association_rules(itemsets, **arguments), expected)


def test_chosen_columns_in_their_order() -> None:
    itemsets = ours.apriori(frame_of([[True, True], [True, False]]), 0.1)
    found = ours.association_rules(itemsets, min_threshold=0.1, return_metrics=["lift", "support"])
    assert list(found.columns) == ["antecedents", "consequents", "lift", "support"]


def test_nothing_found() -> None:
    found = ours.fpmax(frame_of([[False, False]]), 0.5)
    assert list(found.columns) == ["support", "itemsets"]
    assert found.empty
    alone = pd.DataFrame({"support": [0.5], "itemsets": [frozenset("a")]})
    assert ours.association_rules(alone).empty


@pytest.mark.parametrize("limit", [0, -0.1, 1.5, float("nan"), None, "x"])
def test_supports_out_of_range(limit: Any) -> None:
    with pytest.raises(ValueError, match="min_support"):
        ours.apriori(frame_of([[True]]), min_support=limit)


@pytest.mark.parametrize("names", [["a", "a", "b"], [1, True, 2], [float("nan"), float("nan"), "b"]])
@pytest.mark.parametrize("name", MINERS)
def test_two_columns_of_one_name_are_not_one_item(name: str, names: list[Any]) -> None:
    """Two itemsets looked like one, and rules were made of the last of them."""
    frame = pd.DataFrame([[1, 1, 1], [1, 0, 1], [1, 0, 0]])
    numbered = getattr(ours, name)(frame, 0.3)
    frame.columns = pd.Index(names, dtype=object)
    with pytest.raises(bk.DataError, match="two columns the same name"):
        getattr(ours, name)(frame, 0.3, use_colnames=True)
    assert as_dict(getattr(ours, name)(frame, 0.3)) == as_dict(numbered)


def test_what_is_refused() -> None:
    frame = frame_of([[True, False]])
    with pytest.raises(bk.ParameterError, match="null_values"):
        ours.fpgrowth(frame, null_values=True)
    with pytest.raises(bk.ParameterError, match="pandas frame"):
        ours.apriori([[1, 2]])  # type: ignore[arg-type]
    with pytest.raises(bk.DataError, match="missing values"):
        ours.apriori(pd.DataFrame({"a": [1.0, np.nan]}))
    with pytest.raises(bk.DataError, match="must hold 0 or 1"):
        ours.apriori(pd.DataFrame({"a": [1, 2]}))
    with pytest.raises(bk.ParameterError, match="not be empty"):
        ours.association_rules(pd.DataFrame({"support": [], "itemsets": []}))
    with pytest.raises(bk.ParameterError, match="support"):
        ours.association_rules(frame)
    with pytest.raises(ValueError, match="one of antecedent support"):
        ours.association_rules(ours.apriori(frame, 0.5), metric="phi")


@pytest.mark.parametrize("itemsets", [[{1}, None], [{1}, 7], [{1}, [[2]]], [{1}, [decimal.Decimal("sNaN")]]])
def test_itemsets_that_are_no_sets_are_told_by_their_row(itemsets: list[Any]) -> None:
    with pytest.raises(bk.DataError, match="and row 2 does not"):
        ours.association_rules(pd.DataFrame({"support": [0.5, 0.5], "itemsets": itemsets}))


@pytest.mark.parametrize("supports", [["Ann Smith", "1"], [[0.5], 1], [pd.NA, 1], [10**400, 1]])
def test_supports_that_are_no_numbers_are_not_quoted(supports: list[Any]) -> None:
    with pytest.raises(bk.DataError, match=r"^The column 'support' must hold numbers\.$") as caught:
        ours.association_rules(pd.DataFrame({"support": supports, "itemsets": [[1], [2]]}))
    assert caught.value.__context__ is None
    with pytest.raises(bk.ParameterError, match="each once"):
        ours.association_rules(pd.DataFrame([[1.0, 1.0, [1]]], columns=["support", "support", "itemsets"]))
