"""The card of a plan that somebody else wrote: time bounded by the domain, whatever the parameters."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bosket as bk
from bosket.mechanisms.cut_kernels import log_overlap
from bosket.mechanisms.select_a_size import LARGEST_KEPT, MOST_KEPT
from bosket.mechanisms.select_channels import CutAndPasteChannel, KeptChannel
from bosket.mechanisms.sizes import MOST_STEPS
from bosket.privacy.product import worst_exchange
from tests.effort import effort_within

SECONDS = 4.0
"""Processor time for one card on a busy machine: they take about a second, or far less, where they took minutes."""


def by_size(n: int, cutoff: int | None) -> bk.CutAndPaste:
    """A cutoff and a rho of its own for every record size; half the size, if no cutoff is given."""
    cutoffs = {size: cutoff or max(1, size // 2) for size in range(n + 1)}
    return bk.CutAndPaste(cutoff=cutoffs, insert={size: (size + 1) / (2 * n) for size in range(n + 1)})


def laws(n: int) -> bk.SelectASize:
    return bk.SelectASize(kept={size: [1 / (size + 1)] * (size + 1) for size in range(n + 1)}, insert=0.3)


MANY = 3000
HOSTILE: dict[str, tuple[int, bk.Mechanism]] = {
    "cutoff 1e6": (MANY, bk.CutAndPaste(cutoff=1_000_000, insert=0.35)),
    "cutoff 1e6, insert 2**-53": (MANY, bk.CutAndPaste(cutoff=1_000_000, insert=2.0**-53)),
    "cutoff 1e6, insert near 1": (MANY, bk.CutAndPaste(cutoff=1_000_000, insert=1 - 2.0**-53)),
    "cutoff 1e6, insert 0": (MANY, bk.CutAndPaste(cutoff=1_000_000, insert=0.0)),
    "cutoff 1e6, insert 1": (MANY, bk.CutAndPaste(cutoff=1_000_000, insert=1.0)),
    "cutoff of all items": (MANY, bk.CutAndPaste(cutoff=MANY, insert=0.35)),
    "cutoff of two thirds": (MANY, bk.CutAndPaste(cutoff=2 * MANY // 3, insert=0.99)),
    "cutoff by size": (2000, by_size(2000, None)),
    "cutoff 1e6 by size": (MANY, by_size(MANY, 1_000_000)),
    "laws of many sizes": (700, laws(700)),
    "a long law": (30_000, bk.SelectASize(kept={10_000: [1.0] + [0.0] * 10_000}, insert=0.3)),
    "a long law in few items": (10_500, bk.SelectASize(kept={10_000: [1 / 10_001] * 10_001}, insert=0.3)),
    "replace": (MANY, bk.Replace(0.5)),
    "mixing": (MANY, bk.Mixing(others=10_000, keep=0.5)),
    "a keep for each item": (
        50_000,
        bk.Flip(keep={item: 0.5 + (item % 1000) / 3000 for item in range(50_000)}, keep_absent=0.75),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("n_items, mechanism", HOSTILE.values(), ids=HOSTILE)
def test_a_card_takes_about_a_second(n_items: int, mechanism: bk.Mechanism) -> None:
    bk.CutAndPaste(3, 0.2).guarantee(range(9))  # kernels compile on first use
    domain = bk.Domain(range(n_items))
    with effort_within(SECONDS):
        most = n_items if mechanism.needs_max_size(domain) else None
        plan = bk.Plan(domain, mechanism, bk.PrivacyUnit(max_size=most, reports=1000))
        card = plan.guarantee.card()
    assert "epsilon" in card


def test_a_table_of_many_attributes_has_its_card_in_time() -> None:
    domain = bk.TableDomain([bk.Attribute(str(at), [0, 1]) for at in range(20_000)])
    with effort_within(SECONDS):
        assert bk.Flip(keep=0.9).guarantee(domain).card()
    with pytest.raises(bk.ParameterError, match=r"2\*\*62 of them, got far more"):
        bk.GammaDiagonal(19).guarantee(domain)
    few = bk.TableDomain([bk.Attribute(str(at), range(10)) for at in range(400)])
    with pytest.raises(bk.ParameterError, match="over 1e300"):
        bk.GammaDiagonal(19).guarantee(few)


@pytest.mark.parametrize(
    "mechanism, n_items",
    [
        (bk.CutAndPaste(1_000_000, 0.35), 200_000),
        (bk.Replace(0.5), 200_000),
        (by_size(9000, None), 9000),
        (by_size(50_000, 1), 50_000),
    ],
    ids=["cut and paste", "replace", "by size", "many sizes"],
)
def test_beyond_that_the_limit_is_told(mechanism: bk.Mechanism, n_items: int) -> None:
    with effort_within(SECONDS):
        plan = bk.Plan(bk.Domain(range(n_items)), mechanism, bk.PrivacyUnit(max_size=n_items))
        with pytest.raises(bk.ParameterError, match=str(MOST_STEPS)) as caught:
            _ = plan.guarantee
    assert caught.value.parameter == "max_size"
    assert bk.Plan(plan.domain, mechanism, bk.PrivacyUnit(max_size=20)).guarantee.epsilon > 0


def test_laws_have_limits() -> None:
    size = LARGEST_KEPT + 1
    with pytest.raises(bk.ParameterError, match=str(LARGEST_KEPT)):
        bk.SelectASize(kept={size: [1.0] + [0.0] * size}, insert=0.3)
    with pytest.raises(bk.ParameterError, match=str(MOST_KEPT)):
        bk.SelectASize(kept={size: [1.0] + [0.0] * size for size in range(1, 1100)}, insert=0.3)


def slowly(size: int, cutoff: int, rho: float, n: int) -> tuple[float, float]:
    """The worst ratios of neighbours and within what reports of every size allow, from the definition, exactly."""
    chosen, over = [Fraction(0)] * (size + 1), 1 / Fraction(rho)
    for number in range(cutoff + 1):
        chosen[min(number, size)] += Fraction(1, cutoff + 1)
    phi: list[Fraction] = [
        sum((c * Fraction(comb(a, i), comb(size, i)) * over**i for i, c in enumerate(chosen)), Fraction(0))
        for a in range(size + 1)
    ]
    near = max(max(one / other, other / one) for one, other in pairwise(phi))
    far = Fraction(1)
    for b in range(n + 1):
        span = phi[max(0, size - (n - b)) : min(size, b) + 1]
        far = max(far, max(span) / min(span))
    return log(near), log(far)


def log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


rhos = st.floats(2.0**-20, 1 - 2.0**-20).map(lambda rho: round(rho * 2**53) / 2**53) | st.sampled_from(
    [2.0**-53, 0.5, 1 - 2.0**-53]
)


@pytest.mark.slow
@given(st.integers(1, 24), st.integers(1, 30) | st.sampled_from([100, 999]), rhos, st.integers(1, 24))
@settings(max_examples=300)
def test_the_fast_way_is_the_slow_one(size: int, cutoff: int, rho: float, more: int) -> None:
    """Cutoffs below the record, above it, and beyond the domain: whatever is asked, the definition's worst case."""
    n = size + more
    channel = bk.CutAndPaste({size: cutoff}, {size: rho}).channel(bk.Domain(range(n)))
    near, far = slowly(size, cutoff, rho, n)
    item, record = channel.amplification(size)
    assert item == pytest.approx(near, rel=1e-9, abs=2e-12)
    assert record == pytest.approx(far, rel=1e-9, abs=2e-12)
    assert item >= near
    assert record >= far


@pytest.mark.parametrize("size, cutoff, rho", [(400, 150, 0.3), (400, 40, 0.02), (300, 299, 0.9), (350, 5, 0.5)])
def test_the_bisection_finds_the_worst_overlap_of_long_records(size: int, cutoff: int, rho: float) -> None:
    phi = np.array([log_overlap(size, cutoff, rho, overlap) for overlap in range(size + 1)])
    gains = np.diff(phi)
    assert (np.diff(np.sign(np.diff(gains)[np.abs(np.diff(gains)) > 1e-11])) <= 0).all(), "they rise and then fall"
    for n in (size + 1, size + 60, 2 * size, 3 * size):
        channel = bk.CutAndPaste({size: cutoff}, {size: rho}).channel(bk.Domain(range(n)))
        width = min(size, n - size)
        item, record = channel.amplification(size)
        assert item == pytest.approx(gains.max(), rel=1e-9)
        assert record == pytest.approx((phi[width:] - phi[: size + 1 - width]).max(), rel=1e-9)


def test_a_cutoff_beyond_the_domain_is_another_operator_than_one_of_its_size() -> None:
    """All numbers from the size on keep the whole record: a larger cutoff keeps it more often, and promises less."""
    domain = bk.Domain(range(8))
    plans = [
        bk.Plan(domain, bk.CutAndPaste(cutoff=cutoff, insert=0.3), bk.PrivacyUnit(max_size=8))
        for cutoff in (8, 9, 100, 1_000_000)
    ]
    epsilons = [plan.guarantee.epsilon for plan in plans]
    assert epsilons == sorted(set(epsilons))
    for plan in plans:
        channel, cutoff = plan.channel, plan.mechanism.cutoff  # type: ignore[attr-defined]
        assert isinstance(channel, CutAndPasteChannel)
        assert channel.only_shown(3, 3, 3) >= 1 - Fraction(3, cutoff + 1)
        assert f'"cutoff":{cutoff}' in plan.json


@given(st.integers(0, 8), st.integers(1, 12), st.data())
def test_what_is_shown_is_the_sum_of_the_definition(size: int, cutoff: int, data: st.DataObject) -> None:
    """Binomials in place of falling factorials, for both operators."""
    true = data.draw(st.integers(0, size))
    shown = data.draw(st.integers(0, true))
    rho = Fraction(3, 8)
    channel = bk.CutAndPaste({size: cutoff}, {size: 0.375}).channel(bk.Domain(range(20)))
    chosen = [Fraction(0)] * (size + 1)
    for number in range(cutoff + 1):
        chosen[min(number, size)] += Fraction(1, cutoff + 1)
    expected = Fraction(0)
    for i in range(shown + 1):
        for j, chance in enumerate(chosen):
            if i <= j <= size - true + i:
                ways = Fraction(comb(size - true, j - i), comb(size, j))
                expected += comb(shown, i) * chance * ways * rho ** (shown - i) * (1 - rho) ** (true - shown)
    assert channel.only_shown(size, true, shown) == expected
    weights = data.draw(st.lists(st.floats(0, 1), min_size=size + 1, max_size=size + 1).filter(lambda w: sum(w) > 0.1))
    law = [w / sum(weights) for w in weights]
    kept = bk.SelectASize({size: law}, 0.375).channel(bk.Domain(range(20)))
    assert isinstance(kept, KeptChannel)
    exact = [Fraction(p) for p in law]
    ends = [round(sum(exact[: j + 1]) / sum(exact) * 2**53) for j in range(size + 1)]
    realised = [Fraction(b - a, 2**53) for a, b in zip([0, *ends], ends, strict=False)]
    assert kept.realised[size] == realised
    assert kept.only_shown(size, true, shown) == sum(
        (
            p * Fraction(comb(size - true, j - shown), comb(size, j))
            for j, p in enumerate(realised)
            if shown <= j <= size - true + shown
        ),
        Fraction(0),
    )


@given(st.lists(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), min_size=2, max_size=5), min_size=1, max_size=4))
def test_exchanges_of_values_are_the_worst_of_all_pairs(groups: list[list[tuple[float, float]]]) -> None:
    present = np.array([a for group in groups for a, _ in group])
    absent = np.array([b for group in groups for _, b in group])
    numbers = np.repeat(np.arange(len(groups), dtype=np.int32), [len(group) for group in groups])
    expected = [
        max(one[0] + other[1] for i, one in enumerate(group) for j, other in enumerate(group) if i != j)
        for group in groups
    ]
    np.testing.assert_allclose(worst_exchange(present, absent, numbers), expected, rtol=1e-13)
    present[0] = np.inf
    assert worst_exchange(present, absent, numbers)[0] == np.inf
