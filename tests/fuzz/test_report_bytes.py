"""Reports as bytes, changed, cut and joined: they are refused, or they are reports of their plan in their one form."""

from __future__ import annotations

import base64
import json
import zlib
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import bosket as bk
from bosket.report_bytes import NAMED, frame_width, head
from tests.contracts.cases import CASES, Case
from tests.fuzz.budget import EXAMPLES, fuzz, only_refused
from tests.test_report_files import flipped, named, sized

KINDS = ("flip", "sizes", "named")
HEAD = 3 + 1 + 8


@cache
def sound(kind: str) -> bk.Reports:
    return {"flip": flipped, "sizes": sized, "named": named}[kind]()[:20]


def mended(plan: bk.Plan, data: bytes) -> bytes:
    """The bytes with the right check in every whole frame, so that what is behind the check is reached."""
    width = frame_width(plan, named=len(data) > 2 and bool(data[2] & NAMED))
    frames = [data[at : at + width] for at in range(0, len(data), width)]
    return b"".join(
        frame[:-4] + zlib.crc32(frame[:-4]).to_bytes(4, "little") if len(frame) == width else frame for frame in frames
    )


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
    return kind, mended(sound(kind).plan, bytes(data)) if draw(st.booleans()) else bytes(data)


anything = st.tuples(st.sampled_from(KINDS), st.binary(max_size=200))


def read(example: tuple[str, bytes]) -> None:
    kind, data = example
    plan = sound(kind).plan
    reports = only_refused(lambda: bk.Reports.from_bytes(plan, data))
    if reports is not None:
        assert reports.to_bytes() == data, "there is one form"
        assert bk.Reports.from_json(plan, reports.to_json()) == reports
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
        assert again.is_simulation
    secure = case.plan.randomize(case.records(case.population, 4))
    assert bk.Reports.from_bytes(secure.plan, secure.to_bytes()) == secure
    assert not bk.Reports.from_bytes(secure.plan, secure.to_bytes()).is_simulation


def test_the_form_does_not_drift() -> None:
    """Clients that are out in the world send it; written here from the page, by hand."""
    plan = bk.Plan(bk.Domain(range(10)), bk.CutAndPaste(2, 0.2), bk.PrivacyUnit(max_size=300))
    bits = np.array([[0b11_0000_0001]], np.uint64)
    reports = bk.Reports(plan, bits, strata=np.array([3], np.int32), randomness="secure")
    frame = b"B\x01\x00" + b"\x06" + bytes.fromhex(plan.digest)[:8] + b"\x01\x03" + b"\x03\0\0\0"
    frame += zlib.crc32(frame).to_bytes(4, "little")
    assert reports.to_bytes() == frame
    assert bk.Reports.from_bytes(plan, frame + frame).n_records == 2
    seeded = bk.Reports(plan, bits.copy(), strata=np.array([3], np.int32), randomness=bk.Seeded(1).describe())
    assert seeded.to_bytes()[:3] == b"B\x01\x01"
    wide = bk.Plan(bk.Domain(range(5000)), bk.Flip(0.9))
    assert head(wide, 2) == b"B\x01\x02" + b"\xf1\x04" + bytes.fromhex(wide.digest)[:8]  # 625 = 4 * 128 + 113


def test_reports_of_another_plan_are_refused() -> None:
    other = bk.Plan(sound("flip").domain, bk.Flip(keep=0.8))
    with pytest.raises(bk.PlanMismatchError):
        bk.Reports.from_bytes(other, sound("flip").to_bytes())


def refused(plan: bk.Plan, data: bytes) -> str:
    with pytest.raises(bk.DataError) as caught:
        bk.Reports.from_bytes(plan, data)
    return str(caught.value)


@pytest.mark.parametrize("number", [0, 7, 19])
def test_a_refusal_names_the_first_bad_report_and_nothing_in_it(number: int) -> None:
    reports = sound("flip")
    data, plan = reports.to_bytes(), reports.plan
    width = frame_width(plan)
    at = number * width
    where = f"Report {number + 1}, from byte {at} on,"
    last = data[-width:]
    for place, byte in [(0, 0), (1, 2), (2, 4), (3, 0x82), (3, 2), (HEAD, 8), (HEAD, 7 ^ data[at + HEAD])]:
        wrong = bytearray(data)
        wrong[at + place] = byte
        assert refused(plan, bytes(wrong) + last).startswith(where)
    too_many_bits = bytearray(data)
    too_many_bits[at + HEAD] = 8  # a fourth bit of three
    for tail in (b"", bytes(too_many_bits[at : at + width])):
        text = refused(plan, mended(plan, bytes(too_many_bits) + tail))
        assert text.startswith(where)
        assert "none of the plan" in text
    with pytest.raises(bk.PlanMismatchError, match=where):
        bk.Reports.from_bytes(plan, mended(plan, data[: at + 4] + b"elsewhere"[:8] + data[at + 12 :]))
    for cut in range(1, width):
        assert refused(plan, data[: at + cut]).startswith(where)


def test_frames_of_one_batch_have_one_set_of_flags() -> None:
    """A simulated report among real ones, or a named one among others, is refused, whichever comes first."""
    plan = sound("flip").plan
    bits = np.zeros((1, 1), np.uint64)
    kinds = [
        bk.Reports(plan, bits.copy(), randomness=said, respondents=people).to_bytes()
        for said in ("secure", "seeded(1)")
        for people in (None, ["a"])
    ]
    for one in kinds:
        for other in kinds:
            if one is not other:
                refused(plan, one + other)
    assert bk.Reports.from_bytes(plan, b"").n_records == 0


@pytest.mark.parametrize(
    "length",
    [b"\x81\x00", b"\x80\x80\x80\x80\x80\x01", b"\xff" * 12, b"\x00", b"\xff\xff\xff\xff\x7f"],
    ids=["not the shortest", "longer", "endless", "nothing", "more than there is"],
)
def test_a_length_has_one_form(length: bytes) -> None:
    plan, frame = sound("flip").plan, sound("flip")[:1].to_bytes()
    wrong = frame[:3] + length + frame[4:-4]
    refused(plan, wrong + zlib.crc32(wrong).to_bytes(4, "little"))


def test_as_json() -> None:
    reports = sound("named")
    text, plan = reports.to_json(), reports.plan
    assert bk.Reports.from_json(plan, text) == reports
    assert bk.Reports.from_json(plan, text.encode()) == reports
    value = json.loads(text)
    assert set(value) == {"bosket_reports", "plan", "reports"}
    assert b"".join(map(base64.b64decode, value["reports"])) == reports.to_bytes()
    frames = value["reports"]
    wrong: list[dict[str, Any]] = [
        value | {"bosket_reports": 2},
        value | {"plan": "0" * 64},
        value | {"plan": plan.digest[:16]},
        value | {"more": 1},
        value | {"reports": [frames[0] + frames[1]]},
        value | {"reports": ["".join(reversed(frames[0]))]},
        value | {"reports": [frames[0].replace("=", "")[:-1] + "!"]},
        value | {"reports": [frames[0] + "\n"]},
        value | {"reports": [7]},
        value | {"reports": ["QQ=="]},
    ]
    for one in wrong:
        with pytest.raises(bk.DataError):
            bk.Reports.from_json(plan, json.dumps(one))


@pytest.mark.parametrize("size", [-1, 5, 21, 2**31 - 1])
def test_sizes_that_no_record_has_are_refused(size: int) -> None:
    reports = sound("sizes")
    data = reports.to_bytes()[:-8] + size.to_bytes(4, "little", signed=True) + bytes(4)
    assert "Report 20" in refused(reports.plan, mended(reports.plan, data))


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
