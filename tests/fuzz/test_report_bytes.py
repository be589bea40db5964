"""Reports as bytes, changed, cut and joined: they are refused, or they are reports of their plan in their one form."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import bosket as bk
from tests.contracts.cases import CASES, Case
from tests.fuzz.budget import EXAMPLES, fuzz, only_refused
from tests.test_report_files import flipped, named, sized

KINDS = ("flip", "sizes", "named")
HEAD = 5 + 32


@cache
def sound(kind: str) -> bk.Reports:
    return {"flip": flipped, "sizes": sized, "named": named}[kind]()[:20]


@st.composite
def changed(draw: st.DrawFn) -> tuple[str, bytes]:
    """Bytes of sound reports with some changed, taken away, put in or repeated; or any bytes after a sound head."""
    kind = draw(st.sampled_from(KINDS))
    data = bytearray(sound(kind).to_bytes())
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        how = draw(st.sampled_from(["bit", "byte", "drop", "insert", "cut", "tail"]))
        if how == "bit" and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "byte" and data:
            data[at] = draw(st.integers(0, 255))
        elif how == "drop":
            del data[at : at + draw(st.integers(1, 20))]
        elif how == "insert":
            data[at:at] = draw(st.binary(max_size=12))
        elif how == "cut":
            del data[at:]
        else:
            data[HEAD:] = draw(st.binary(max_size=60))
    return kind, bytes(data)


anything = st.tuples(st.sampled_from(KINDS), st.binary(max_size=200))


def read(example: tuple[str, bytes]) -> None:
    kind, data = example
    plan = sound(kind).plan
    reports = only_refused(lambda: bk.Reports.from_bytes(plan, data))
    if reports is not None:
        assert reports.to_bytes() == data, "there is one form"
        assert reports.randomness.isprintable()
        assert reports.bits.nbytes <= 16 * len(data)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_report_bytes(examples: int) -> None:
    fuzz(read, changed() | anything, examples=examples)


@pytest.mark.filterwarnings("ignore::bosket.HopelessPlanWarning")  # four people
@pytest.mark.parametrize("case", CASES, ids=str)
def test_bytes_are_the_reports(case: Case) -> None:
    reports = case.reports(52)
    data = reports.to_bytes()
    for form in (data, bytearray(data), memoryview(data)):
        again = bk.Reports.from_bytes(reports.plan, form)
        assert again == reports
        assert again.randomness == reports.randomness
    secure = case.plan.randomize(case.records(case.population, 4))
    assert bk.Reports.from_bytes(secure.plan, secure.to_bytes()) == secure
    assert not bk.Reports.from_bytes(secure.plan, secure.to_bytes()).is_simulation


def test_the_form_does_not_drift() -> None:
    """Clients that are out in the world send it."""
    plan = bk.Plan(bk.Domain(range(10)), bk.CutAndPaste(2, 0.2), bk.PrivacyUnit(max_size=300))
    bits = np.array([[0b11_0000_0001]], np.uint64)
    reports = bk.Reports(plan, bits, strata=np.array([3], np.int32), randomness="secure")
    expected = b"BSKR\x01" + bytes.fromhex(plan.digest) + b"\x06\0secure" + b"\x01\x03" + b"\x03\0\0\0"
    assert reports.to_bytes() == expected


def test_reports_of_another_plan_are_refused() -> None:
    other = bk.Plan(sound("flip").domain, bk.Flip(keep=0.8))
    with pytest.raises(bk.PlanMismatchError):
        bk.Reports.from_bytes(other, sound("flip").to_bytes())


@pytest.mark.parametrize(
    "tail",
    [
        b"",
        b"\x06\0secur",
        b"\x06\0secure\x08",  # a fourth bit of three
        b"\x07\0secure\n",
        b"\x07\0 secure",
        b"\0\0",
        b"\xff\xff" + b"x" * 65535,
        b"\x01\0\xff",
    ],
    ids=["no note", "cut", "too many bits", "newline", "space", "empty note", "a long note", "no text"],
)
def test_what_is_no_report_is_refused(tail: bytes) -> None:
    head = sound("flip").to_bytes()[:HEAD]
    with pytest.raises(bk.DataError):
        bk.Reports.from_bytes(sound("flip").plan, head + tail)
    assert len(bk.Reports.from_bytes(sound("flip").plan, head + b"\x06\0secure" + b"\x07" * 3)) == 3


@pytest.mark.parametrize("size", [-1, 5, 21, 2**31 - 1])
def test_sizes_that_no_record_has_are_refused(size: int) -> None:
    reports = sound("sizes")
    data = reports.to_bytes()[:-4] + size.to_bytes(4, "little", signed=True)
    with pytest.raises(bk.DataError):
        bk.Reports.from_bytes(reports.plan, data)


def test_wrong_types_are_told_in_words() -> None:
    reports: Any = sound("flip")
    wrong: list[tuple[Any, Any]] = [
        (reports.plan, "text"),
        (reports.plan, None),
        ("plan", b""),
        (None, reports.to_bytes()),
    ]
    for plan, data in wrong:
        with pytest.raises(bk.BosketError):
            bk.Reports.from_bytes(plan, data)
