"""A batch of reports that is given twice is refused, unless that can happen by chance or is asked for."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket.counting import duplicates
from bosket.counting.base import Strata, Words
from bosket.counting.duplicate_kernels import MIX, STEP
from bosket.counting.duplicates import (
    ALWAYS_COMPARED,
    BY_CHANCE,
    digest,
    digest_of_parts,
    fingerprint,
    first_given_twice,
    log_chance,
)

PEOPLE = bk.Baskets([["a"], ["b", "c"], []], items=list("abcdefgh")).repeat(40)
PLAN = bk.Plan(PEOPLE.domain, bk.Flip(keep=0.8))
REPORTS = PLAN.randomize(PEOPLE, rng=bk.Seeded(1))
OTHERS = PLAN.randomize(PEOPLE, rng=bk.Seeded(2))


def is_given_twice(one: tuple[Words, Strata | None], other: tuple[Words, Strata | None]) -> bool:
    return first_given_twice([one, other]) is not None


def test_the_same_batch_twice_is_refused() -> None:
    with pytest.raises(bk.DuplicateReportsError) as caught:
        bk.Reports.concat([REPORTS, OTHERS, REPORTS])
    assert caught.value.parts == (1, 3)
    assert caught.value.hint is not None
    assert "allow_duplicates" in caught.value.hint
    assert len(bk.Reports.concat([REPORTS, OTHERS])) == 240
    assert len(bk.Reports.concat([REPORTS, REPORTS], allow_duplicates=True)) == 240


def test_so_is_a_copy_in_another_order() -> None:
    shuffled = REPORTS[np.random.default_rng(3).permutation(len(REPORTS))]
    with pytest.raises(bk.DuplicateReportsError):
        bk.Reports.concat([REPORTS, shuffled])


def test_so_is_one_whose_reports_state_sizes() -> None:
    sized = bk.CutAndPaste(2, 0.2).randomize(PEOPLE, rng=bk.Seeded(1))
    with pytest.raises(bk.DuplicateReportsError):
        bk.Reports.concat([sized, sized])
    assert sized.strata is not None
    assert fingerprint(sized.bits, sized.strata) != fingerprint(sized.bits, np.roll(sized.strata, 1))


@pytest.mark.parametrize("threads", [1, 3])
def test_marks_are_those_of_each_report_by_itself(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts of seven, with strata and without."""
    monkeypatch.setattr(duplicates, "_AT_ONCE", 7)
    sized = bk.CutAndPaste(2, 0.2).randomize(PEOPLE, rng=bk.Seeded(1))
    assert len(set(np.asarray(sized.strata).tolist())) > 1
    for bits, strata in ((sized.bits, sized.strata), (sized.bits, None)):
        with bk.use_threads(threads):
            found = duplicates.marks(bits, strata)
        alone = [
            duplicates.marks(bits[at : at + 1], None if strata is None else strata[at : at + 1])[0]
            for at in range(len(bits))
        ]
        np.testing.assert_array_equal(found, alone)


def test_few_reports_and_reports_that_are_all_alike_may_come_twice() -> None:
    assert len(bk.Reports.concat([REPORTS[:1], REPORTS[:1]])) == 2
    alike = bk.Flip(keep=1.0).randomize(bk.Baskets([["a"]]).repeat(1000), rng=bk.Seeded(1))
    assert len(bk.Reports.concat([alike, alike])) == 2000
    assert len(bk.Reports.concat([REPORTS[:0], REPORTS[:0]])) == 0


def test_what_is_not_noticed() -> None:
    """A batch with one report more is another batch: this stops accidents, not somebody who takes pains."""
    assert len(bk.Reports.concat([REPORTS, REPORTS[1:]])) == 239


@given(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_chance_is_that_of_the_likeliest_law(batch: list[int], law: list[float]) -> None:
    """Against the enumeration of all batches of three kinds of reports, under their own law and under any other."""
    counts = np.bincount(batch, minlength=3)
    own = counts / counts.sum()
    any_law = np.array(law) / sum(law)
    most = math.exp(log_chance(counts[counts > 0]))
    for probabilities in (own, any_law):
        chance = sum(
            math.prod(float(probabilities[y]) for y in other)
            for other in product(range(3), repeat=len(batch))
            if sorted(other) == sorted(batch)
        )
        assert chance <= most * (1 + 1e-9)
        if probabilities is own:
            assert chance == pytest.approx(most)


def test_two_dozen_different_reports_are_enough_in_any_order() -> None:
    many = np.arange(24, dtype=np.uint64)[:, None]
    assert is_given_twice((many, None), (many, None))
    assert is_given_twice((many, None), (many[::-1], None))
    assert not is_given_twice((many, None), (many + np.uint64(1), None))
    assert not is_given_twice((many[:20], None), (many[:20], None))
    assert math.exp(log_chance(np.ones(20, np.int64))) > BY_CHANCE


def test_sorted_batches_that_are_alike_by_chance_are_taken() -> None:
    """Sixty reports on one item, half of them with it: one batch in ten is like that, and sorting shows no more."""
    batch = np.repeat(np.array([0, 1], np.uint64), 30)[:, None]
    assert not is_given_twice((batch, None), (batch, None))


def unmixed(value: int) -> int:
    """The word that ``_mixed`` makes this one of."""
    for shift, factor in ((31, int(MIX[1])), (27, int(MIX[0])), (30, None)):
        found = value
        for _ in range(64 // shift + 1):
            found = value ^ found >> shift
        value = found if factor is None else found * pow(factor, -1, 1 << 64) % (1 << 64)
    return value


def test_a_batch_forged_to_look_like_another_does_not_hide_it() -> None:
    """Whoever can send a batch of the fingerprint of another could have that one counted twice."""
    plan = bk.Plan(bk.Domain(range(64)), bk.Flip(keep=0.6))
    bits = np.random.default_rng(1).integers(0, 2**63, (30, 1), dtype=np.uint64)
    forged = bits.copy()
    forged[0] ^= np.uint64(5)
    wanted = (duplicates.fingerprint(bits, None)[1] - duplicates.fingerprint(forged[:-1], None)[1]) % (1 << 64)
    step = int(STEP)
    forged[-1] = np.uint64(unmixed((unmixed(wanted) - step) % (1 << 64)) ^ step)
    assert duplicates.fingerprint(forged, None) == duplicates.fingerprint(bits, None)
    parts = [bk.Reports(plan, part.copy(), randomness="secure") for part in (forged, bits, bits)]
    assert len(bk.Reports.concat(parts[:2])) == 60
    with pytest.raises(bk.DuplicateReportsError) as refused:
        bk.Reports.concat(parts)
    assert refused.value.parts == (2, 3)


def test_each_batch_is_looked_at_once_however_many_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of a few reports, which may come again by chance, were all compared with each other."""
    looked_at = []

    def chance(counts: npt.NDArray[np.int64]) -> float:
        looked_at.append(len(counts))
        return log_chance(counts)

    monkeypatch.setattr(duplicates, "log_chance", chance)
    assert len(bk.Reports.concat([REPORTS[:1]] * 300)) == 300
    assert len(looked_at) <= 300


def test_digests_tell_numbers_and_sizes_of_reports() -> None:
    many = np.arange(40, dtype=np.uint64)[:, None]
    once, again = np.concatenate([many, many[:1]]), np.concatenate([many, many[1:2]])
    sizes = np.arange(40, dtype=np.int32)
    found = [
        digest(many, None),
        digest(once, None),
        digest(again, None),
        digest(many, sizes),
        digest(many, sizes[::-1]),
    ]
    assert None not in found
    assert len(set(found)) == 5
    assert digest(many[::-1], sizes[::-1]) == digest(many, sizes)


def test_a_digest_of_parts_is_that_of_all_reports() -> None:
    rng = np.random.default_rng(1)
    bits, sizes = (
        rng.integers(0, 2**63, (90, 2), np.uint64)[rng.integers(90, size=500)],
        np.arange(500, dtype=np.int32) % 2,
    )
    for strata in (None, sizes):
        for step in (7, 100, 1000):
            parts = [
                (bits[at : at + step], None if strata is None else strata[at : at + step]) for at in range(0, 500, step)
            ]
            assert digest_of_parts(parts, n_bytes=1 << 20) == digest(bits, strata)
            assert digest_of_parts(parts[::-1], n_bytes=1 << 20) == digest(bits, strata)
            assert digest_of_parts(parts, n_bytes=1) == b"", "more than there is room for"
    few = bits[:3] * np.uint64(0)
    assert digest_of_parts([(few, None)] * 200, n_bytes=1) is None, "all the same"


def test_more_reports_than_are_always_compared_do_not_come_twice_by_chance() -> None:
    """The largest chance is where most reports are alike."""
    for n in (0, 10**3, 10**10):
        counts = np.append(np.ones(ALWAYS_COMPARED, np.int64), 1 + n)
        assert log_chance(counts) < math.log(BY_CHANCE) - 30
