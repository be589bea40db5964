"""What one report that somebody picks can do: the largest weights, against the enumeration of all legal reports."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bosket as bk
from bosket.mechanisms import ExchangeableChannel, PackedBits
from bosket.mechanisms.base import Channel
from bosket.mechanisms.matrix import marginal_cells
from bosket.privacy import Influence
from tests.contracts.cases import CASES as EVERY
from tests.contracts.cases import KEPT, TABLE
from tests.effort import effort_within
from tests.outside.thin import Thin, ThinChannel

ATTRIBUTES = {"a": "wxyz", "b": "xyz", "c": "xy"}
MORE = [
    (bk.Flip(keep={"a": 0.1, "b": 0.6}, default=0.8, keep_absent={"a": 0.7, "c": 0.4}), bk.Domain(list("abcd")), None),
    (bk.CutAndPaste(cutoff=2, insert=0.7), bk.Domain(list("abcde")), 4),
    (bk.CutAndPaste(cutoff=3, insert={1: 0.6, 2: 0.01, 4: 0.4}), bk.Domain(list("abcde")), None),
    (bk.SelectASize(KEPT, 0.9), bk.Domain(list("abcd")), 2),
    (bk.Replace(probability=0.7), bk.Domain(list("abcdef")), 3),
    (bk.Replace(probability=0.5), bk.Domain(list("abcdef")), 3),
    (bk.Flip(keep=0.7), TABLE, None),
    (
        bk.GammaDiagonal(3),
        bk.TableDomain([bk.Attribute(name, list(values)) for name, values in ATTRIBUTES.items()]),
        None,
    ),
]
LOCAL = [case for case in EVERY if not case.mechanism.needs_curator and isinstance(case.channel.payload, PackedBits)]
"""People who send a report of packed bits may pick any: all of them are looked at."""
CASES: list[tuple[bk.Mechanism, bk.Domain, int | None]] = [(case.mechanism, case.domain, None) for case in LOCAL] + MORE


@lru_cache(maxsize=64)
def legal_reports(plan: bk.Plan) -> list[tuple[int, int]]:
    """Every pattern of bits and stratum that a collector takes."""
    n = len(plan.domain)
    named: list[int | None] = [*range(n + 1)] if isinstance(plan.channel, ExchangeableChannel) else [None]
    legal = []
    for stratum in named:
        for bits in range(1 << n):
            strata = None if stratum is None else np.array([stratum], np.int32)
            try:
                bk.Reports(plan, np.array([[bits]], np.uint64), strata=strata, randomness="secure")
            except bk.DataError:
                continue
            legal.append((bits, 0 if stratum is None else stratum))
    return legal


def enumerated(plan: bk.Plan, k: int) -> tuple[float, float, float] | None:
    """The smallest and largest weight of k items, and the largest difference for one itemset, over legal reports."""
    channel, legal = plan.channel, legal_reports(plan)
    found = []
    for itemset in combinations(range(len(plan.domain)), k):
        rows, weights = np.array([itemset], np.int32), []
        for bits, stratum in legal:
            if channel.recovers(k, [stratum]):
                shown = sum((bits >> item & 1) << place for place, item in enumerate(itemset))
                weights.append(float(channel.weights(rows, stratum)[0, shown]))
        if any(weights):  # not where two values of one attribute make them all 0
            found.append((min(weights), max(weights)))
    if not found:
        return None
    return min(low for low, _ in found), max(high for _, high in found), max(high - low for low, high in found)


@pytest.mark.parametrize(("mechanism", "domain", "max_size"), CASES, ids=lambda value: str(value)[:60])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_influence_is_that_of_the_worst_legal_report(
    mechanism: bk.Mechanism, domain: bk.Domain, max_size: int | None, k: int
) -> None:
    is_sized = mechanism.sends_sizes and domain.groups is None
    unit = bk.PrivacyUnit(max_size=max_size or (len(domain) if is_sized else None))
    plan = bk.Plan(domain, mechanism, unit)
    found, expected = plan.channel.influence(k, plan.unit.max_size), enumerated(plan, k)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert (found.low, found.high, found.width) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert found.largest == max(found.high, -found.low)
        assert found in plan.guarantee.influence


probabilities = st.floats(0, 1, allow_nan=False).map(lambda p: round(p, 3))


@given(st.lists(st.tuples(probabilities, probabilities), min_size=3, max_size=6), st.integers(1, 4))
def test_flips_closed_form_is_the_generic_one(pairs: list[tuple[float, float]], k: int) -> None:
    """Keeps below one half, which turn the sign of a factor round, among them."""
    pairs = [(p, q) for p, q in pairs if abs(p + q - 1) > 0.01]
    items = list(range(len(pairs)))
    if not items:
        return
    mechanism = bk.Flip(keep={i: pairs[i][0] for i in items}, keep_absent={i: pairs[i][1] for i in items})
    channel = mechanism.channel(bk.Domain(items))
    closed, generic = channel.influence(k), Channel.influence(channel, k)
    assert (closed is None) == (generic is None) == (k > len(items))
    if closed is not None and generic is not None:
        assert (closed.low, closed.high) == pytest.approx((generic.low, generic.high), rel=1e-9, abs=1e-12)
        assert closed.width == pytest.approx(generic.width, rel=1e-9)


def test_erased_items_are_left_out() -> None:
    channel = bk.Flip(keep={"a": 0.5, "b": 0.9, "c": 0.8}).channel(bk.Domain(list("abc")))
    found = channel.influence(2)
    assert found is not None
    assert found.high == pytest.approx(0.9 / 0.8 * 0.8 / 0.6)
    assert channel.influence(3) is None
    assert bk.Flip(keep=0.5).channel(bk.Domain(list("abc"))).influence(1) is None


@pytest.mark.parametrize(
    "mechanism",
    [bk.CutAndPaste(3, 0.25), bk.CutAndPaste(9, 0.4), bk.SelectASize(KEPT, 0.25), bk.Replace(0.375)],
    ids=str,
)
def test_the_probability_of_showing_all_has_a_closed_form(mechanism: bk.Mechanism) -> None:
    channel = mechanism.channel(bk.Domain(range(9)))
    assert isinstance(channel, ExchangeableChannel)
    for size in (m for m in range(10) if channel.takes(m)):
        for among in range(5):
            for true in range(min(among, size) + 1):
                if among - true <= 9 - size:
                    law = channel.outcome(size, true, true, among - true, among - true)
                    assert channel._all_shown(size, among, true) == law


@pytest.mark.parametrize("probability", [0.2, 0.5, 0.7])
def test_a_quick_look_finds_the_worst_record_size_of_replacement(probability: float) -> None:
    channel = bk.Replace(probability).channel(bk.Domain(range(101)))
    for k in (1, 2, 3):
        found = channel.influence(k)
        sizes = [size for size in range(k, 51) if channel.recovers(k, [size])]
        weights = {
            size: [float(channel.exact_partial_inverse(k, size)[k][shown]) for shown in channel.showable(k, size)]
            for size in sizes
        }
        assert found is not None
        assert found.high == max(max(row) for row in weights.values())
        assert found.low == min(min(row) for row in weights.values())


@settings(max_examples=15)
@given(st.integers(1, 8), st.sampled_from([0.05, 0.35, 0.8]), st.integers(1, 4))
def test_with_one_pair_of_parameters_the_largest_record_is_the_worst(cutoff: int, insert: float, k: int) -> None:
    channel = bk.CutAndPaste(cutoff, insert).channel(bk.Domain(range(30)))
    if k > cutoff:
        assert channel.influence(k) is None
        return
    reach = [max(abs(float(q)) for q in channel.exact_partial_inverse(k, size)[k]) for size in (k, 5, 9, 20, 30)]
    assert reach == sorted(reach)
    found = channel.influence(k, 20)
    assert found is not None
    assert found.record_size == 20
    assert found.largest == pytest.approx(reach[3], rel=1e-12)


def test_matrix_has_the_influence_of_the_mechanism_that_it_is_of() -> None:
    domain, mechanism = TABLE, bk.GammaDiagonal(19)
    matrix = bk.Matrix.of(mechanism, domain)
    for itemset in [(0,), (0, 2)]:
        weights = mechanism.channel(domain).weights(np.array([itemset], np.int32))[0]
        found = matrix.influence(marginal_cells(domain, itemset))
        assert (found.low, found.high) == pytest.approx((weights.min(), weights.max()), rel=1e-6)


def test_the_card_says_what_dishonest_people_can_do() -> None:
    """Factors 3 and -2 at keep 0.6; numbers are rounded up, towards more that they can do."""
    guarantee = bk.Flip(keep=0.6).guarantee(range(10))
    assert [round(part.largest, 9) for part in guarantee.influence] == [3, 9, 27]
    assert [round(part.width, 9) for part in guarantee.influence] == [5, 15, 45]
    card = guarantee.card()
    assert "one report counts for up to 3, 9, 27 people in the support of 1, 2, 3 items;" in card
    assert "a fraction f of all, can move such a support by up to f times 5, 15, 45" in card
    assert guarantee.to_json()["influence"][2] == guarantee.influence[2].to_json()  # type: ignore[index]
    sized = bk.CutAndPaste(2, 0.2).guarantee(range(100), max_size=9)
    assert [part.size for part in sized.influence] == [1, 2], "three items cannot be estimated"
    assert "of 1, 2 items (worst at size 9);" in sized.card()
    assert "weight" not in bk.Mixing(2, 0.5).guarantee(range(9)).card()


@pytest.mark.parametrize(
    "mechanism",
    [
        bk.CutAndPaste(1_000_000, 0.3),
        bk.CutAndPaste(9, dict.fromkeys(range(5000), 0.3)),
        bk.SelectASize({m: [1 / (m + 1)] * (m + 1) for m in range(0, 100, 10)}, 0.3),
        bk.Replace(0.7),
        bk.Flip(keep=0.9),
    ],
    ids=str,
)
def test_influence_takes_time_by_the_domain_alone(mechanism: bk.Mechanism) -> None:
    """Not by the cutoff, and not by exact fractions for every record size."""
    channel = mechanism.channel(bk.Domain(range(20_000)))
    with effort_within(5):
        assert [isinstance(channel.influence(k), Influence) for k in (1, 2, 3)] == [True] * 3


class TestWithoutAClosedForm:
    """The method that a channel has from the start: Thin of outside states its transition and no more."""

    def test_itemsets_with_an_erased_item_are_left_out(self) -> None:
        mechanism = Thin(keep={"a": 0.0, "b": 0.5, "c": 0.25})
        found = mechanism.influence(bk.Domain(list("abc")))
        assert [(part.size, part.high) for part in found] == [(1, 4.0), (2, 8.0)]
        assert mechanism.guarantee(bk.Domain(list("abc"))).influence == found

    def test_a_card_is_made_where_all_is_erased(self) -> None:
        assert Thin(keep=0.0).guarantee(bk.Domain(list("abc"))).influence == ()

    def test_alike_itemsets_are_as_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same numbers, and of any number of items."""
        domain, many = bk.Domain(list("abcd")), bk.Domain(range(5000))
        each = Thin(keep=0.8).influence(domain)
        assert [part.size for part in Thin(keep=0.8).influence(many)] == [1]
        monkeypatch.setattr(ThinChannel, "items_alike", True)
        assert Thin(keep=0.8).influence(domain) == each == Thin(keep=0.8).influence(many)
        assert Thin(keep=0.0).influence(many) == ()
