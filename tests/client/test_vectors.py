"""Python and the browser's module make the same bytes of the same random words: the vectors hold both."""

from __future__ import annotations

import json
from typing import Any

import pytest

import bosket as bk
from bosket.client.memo import Memo
from tests.client.node import STATIC, needs_node, run
from tests.client.vectors import FOLDER, PLANS, PYTHON_ONLY, frame, memoised, unhexed

KINDS = sorted(path.stem for path in FOLDER.glob("*.json"))


def vectors(kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{kind}.json").read_text("utf-8"))["plans"]
    return found


def test_every_local_mechanism_has_vectors() -> None:
    """Mixing is a curator's: nobody uses it for themselves.  A new one may do without a browser, if that is said."""
    assert set(PLANS) == set(KINDS)
    named = {json.loads(part["plan"])["mechanism"]["name"] for kind in KINDS for part in vectors(kind)}
    local = {
        name
        for name, kind in bk.Mechanism.registry.items()
        if kind.__module__.startswith("bosket.") and not kind.needs_curator
    }
    missing = local - named - PYTHON_ONLY
    assert not missing, (
        f"no vectors of {', '.join(sorted(missing))}: write it in service/static/bosket.mjs and add plans to PLANS of "
        "tests/client/vectors.py, or its name to PYTHON_ONLY there"
    )
    assert named == local - PYTHON_ONLY
    by = {json.loads(part["plan"])["mechanism"].get("by") for part in vectors("ask_baskets_by_hashing")}
    assert by == {"hashing"}


@pytest.mark.parametrize("kind", KINDS)
def test_python_makes_these_bytes(kind: str) -> None:
    """And looks at no word but these: what comes behind them changes nothing."""
    for part in vectors(kind):
        plan = bk.Plan.from_json(part["plan"])
        assert plan.digest == part["digest"]
        assert plan.json == part["plan"]
        for case in part["cases"]:
            for filler in (1, 2):
                sent, opened = frame(plan, case["record"], unhexed(case["words"]), filler)
                assert sent.hex() == case["frame"]
                assert opened == len(case["words"])
        for case in part["memo"]:
            memo = Memo(bytes.fromhex(case["secret"]), case["period"])
            assert memoised(plan, case["record"], memo).hex() == case["frame"]


@needs_node
def test_the_browser_makes_these_bytes() -> None:
    jobs, expected = [], []
    for kind in KINDS:
        for part in vectors(kind):
            for case in part["cases"]:
                jobs.append({"plan": part["plan"], "record": case["record"], "words": case["words"]})
                expected.append(case["frame"])
            for case in part["memo"]:
                memo = {"secret": case["secret"], "period": case["period"]}
                jobs.append({"plan": part["plan"], "record": case["record"], "memo": memo})
                expected.append(case["frame"])
    assert len(jobs) > 150
    found = run(jobs)
    wrong = [
        (job["plan"], job["record"]) for job, one, other in zip(jobs, found, expected, strict=True) if one != other
    ]
    assert not wrong


@needs_node
@pytest.mark.slow
def test_a_size_that_no_coin_changed_is_shown_as_such() -> None:
    """Beside it the page said that coins may have changed any part of what leaves."""
    cut, flip = bk.CutAndPaste(2, 0.4), bk.Flip(keep=0.9)
    sample: dict[str, Any] = {"max_size": 2, "longer": "sample"}
    clear, noisy = {**sample, "state_sizes_to": 4}, {**sample, "state_sizes_to": 4, "size_epsilon": 2.0}
    as_it_is: dict[tuple[bk.Mechanism, int], tuple[dict[str, Any], str]] = {
        (cut, 3): ({"max_size": 3}, "3, sent just as it is"),
        (cut, 2): (sample, "2 or more, sent just as it is"),
        (flip, 1): (clear, "2 or fewer, sent just as it is"),
        (flip, 4): (clear, "4, sent just as it is"),
        (cut, 1): (noisy, "1, sent just as it is"),
    }
    jobs = []
    for (mechanism, size), (unit, _) in as_it_is.items():
        plan = bk.Plan(bk.Domain(list("abcde")), mechanism, bk.PrivacyUnit(**unit))
        jobs.append({"plan": plan.json, "record": list("abcde")[:size]})
    last = bk.Plan(bk.Domain(list("abcde")), flip, bk.PrivacyUnit(**noisy))
    jobs.append({"plan": last.json, "record": ["a"]})
    shown = run(
        [{"plan": job["plan"], "frame": made, "words": True} for job, made in zip(jobs, run(jobs), strict=True)]
    )
    for said, (_, text) in zip(shown[:-1], as_it_is.values(), strict=True):
        assert said["lines"][-1] == f"size of the record: {text}"
    assert "just as it is" not in shown[-1]["lines"][-1]
    assert "any part" not in (STATIC / "page.html").read_text()
