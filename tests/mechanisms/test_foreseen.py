"""Errors that are foreseen in closed form, against the enumeration of all itemsets; and the time they take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket.mechanisms import RecordChannel
from bosket.mechanisms.foreseen import enumerated_accuracy
from bosket.privacy.accuracy import Accuracy
from tests.effort import effort_within
from tests.memory import memory_within

PROBABILITIES = st.floats(0.02, 0.98).map(lambda value: round(value, 3))
KEEPS = st.lists(
    st.tuples(PROBABILITIES, PROBABILITIES).filter(lambda two: abs(sum(two) - 1) > 0.05), min_size=5, max_size=5
)
TABLE = bk.TableDomain([bk.Attribute("a", ["1", "2"]), bk.Attribute("b", ["x", "y", "z"])])


def same(found: Accuracy | None, truth: Accuracy | None) -> None:
    assert (found is None) == (truth is None)
    if found is not None and truth is not None:
        assert found.least == pytest.approx(truth.least, rel=1e-6, abs=1e-9)
        assert found.most == pytest.approx(truth.most, rel=1e-6)
        assert found.full == pytest.approx(truth.full, rel=1e-6, abs=1e-9)


@given(keeps=KEEPS, is_table=st.booleans(), k=st.integers(1, 5))
def test_products_are_those_of_all_itemsets(keeps: list[tuple[float, float]], is_table: bool, k: int) -> None:
    """Flip with two coins for every item, on baskets and on a table of two attributes."""
    domain = TABLE if is_table else bk.Domain(range(5))
    present, absent = (dict(zip(domain.labels, part, strict=True)) for part in zip(*keeps, strict=True))
    channel = bk.Flip(keep=present, keep_absent=absent).channel(domain)
    same(channel.accuracy(k), enumerated_accuracy(channel, k, None))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("gamma", [1.5, 5, 19, 1000])
@pytest.mark.parametrize("sizes", [(2, 3), (2, 2, 4), (3, 5, 2)])
def test_the_matrix_is_that_of_all_itemsets(gamma: float, sizes: tuple[int, ...], k: int) -> None:
    """Least and full are exact; most is a bound, attained unless 1/2 lies between what b + kappa can be."""
    domain = bk.TableDomain([bk.Attribute(str(at), [str(v) for v in range(n)]) for at, n in enumerate(sizes)])
    channel = bk.GammaDiagonal(gamma=gamma).channel(domain)
    found, truth = channel.accuracy(k), enumerated_accuracy(channel, k, None)
    assert (found is None) == (truth is None)
    if found is not None and truth is not None:
        assert found.least == pytest.approx(truth.least, rel=1e-6, abs=1e-9)
        assert found.full == pytest.approx(truth.full, rel=1e-6, abs=1e-9)
        assert truth.most <= found.most * (1 + 1e-9)
        assert found.most <= 0.25 / channel.keep**2 * (1 + 1e-9)


@pytest.mark.parametrize("mechanism", [bk.CutAndPaste(cutoff=4, insert=0.2), bk.Replace(probability=0.3)])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_sizes_are_those_of_all_records(mechanism: bk.Mechanism, k: int) -> None:
    channel = mechanism.channel(bk.Domain(range(9)))
    assert isinstance(channel, RecordChannel)
    same(channel.accuracy(k, 4), enumerated_accuracy(channel, k, 4))


def test_an_erased_item_is_left_out() -> None:
    domain = bk.Domain(["a", "b"])
    found = bk.Flip(keep={"a": 0.5, "b": 0.9}).accuracy(domain)
    same(found[0], bk.Flip(keep=0.9).accuracy(bk.Domain(["b"]))[0])
    assert len(found) == 1
    assert bk.Flip(keep=0.5).accuracy(domain) == ()


def test_records_that_are_too_small_hold_no_larger_itemset() -> None:
    domain = bk.Domain(range(10))
    plan = bk.Plan(domain, bk.Flip(keep=0.9), bk.PrivacyUnit(max_size=2))
    assert [part.size for part in plan.guarantee.accuracy] == [1, 2]


WIDE = [
    (bk.Flip(keep=dict(enumerate(np.linspace(0.6, 0.9, 40_000).tolist()))), 40_000, None),
    (bk.CutAndPaste(cutoff=7, insert=0.35), 40_000, 2000),
    (bk.Replace(probability=0.3), 40_000, 2000),
]


@pytest.mark.parametrize(("mechanism", "n", "max_size"), WIDE, ids=["Flip", "CutAndPaste", "Replace"])
def test_wide_domains_take_no_time(mechanism: bk.Mechanism, n: int, max_size: int | None) -> None:
    domain = bk.Domain(range(n))
    channel = mechanism.channel(domain)
    with effort_within(20):  # a second by itself
        assert all(channel.accuracy(k, max_size) is not None for k in (1, 2, 3))


def test_many_attributes_take_no_time() -> None:
    domain = bk.TableDomain([bk.Attribute(str(at), list("ab")) for at in range(60)])
    with effort_within(20):  # two seconds by themselves
        for mechanism in (bk.GammaDiagonal(gamma=2.0**60), bk.Ask(bk.Design.pairs(domain), gamma=19)):
            assert mechanism.accuracy(domain)


@pytest.mark.parametrize(("attributes", "values"), [(2, 300), (100, 256)])
def test_hopeless_reports_are_refused_as_such_however_many_answers_a_design_would_have(
    attributes: int, values: int
) -> None:
    """A design that is suggested instead may have too many answers: that is no fault of the reports.

    Of a hundred attributes its questions took 2.6 GB before they were counted.
    """
    domain = bk.TableDomain([bk.Attribute(f"a{at}", list(range(values))) for at in range(attributes)])
    plan = bk.Plan(domain, bk.Flip(keep=0.5001))
    with pytest.warns(bk.HopelessPlanWarning):
        reports = plan.randomize(bk.Table.from_codes(np.zeros((5, attributes), int), domain), rng=bk.Seeded(1))
    with memory_within(500 << 20), pytest.raises(bk.HopelessError, match="Nothing can be seen in 5 reports"):
        bk.mine(reports, min_support=0.1)
