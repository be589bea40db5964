"""How the module for browsers sends a report, in Node, to a collector that fails on the way."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import bosket as bk
from tests.client.node import MODULE, NODE, needs_node
from tests.client.server import Collector, collecting, document

PLAN = bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.8))
NOTHING = ["lost", "breaks off", "says <html>Sign in to this network.</html>", "says {}", "says null", "says "]
NOTHING += [f'says {{"accepted": {value}}}' for value in ("0", "-1", "0.5", "true", '"1"', "null")]


def sent(collector: Collector, *options: dict[str, Any]) -> list[dict[str, Any]]:
    """What becomes of a report for each of the options, one after the other."""
    assert NODE is not None
    command = [NODE, str(Path(__file__).parent / "sender.mjs"), str(MODULE)]
    report = PLAN.randomize(bk.Baskets([["a"]], items=["a", "b"]), people=1).to_bytes().hex()
    jobs = [{"url": f"{collector.task}/reports", "report": report, "options": {"wait": 1, **one}} for one in options]
    done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, check=True, timeout=120)
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


@needs_node
def test_what_acknowledges_nothing_is_no_answer() -> None:
    """The report goes again under its id, which the error has: under another id it would be counted twice."""
    with collecting(document(PLAN)) as collector:
        collector.faults = [one for fault in NOTHING for one in (fault, "", fault, fault, fault)]
        answers = sent(collector, *[{}, {"tries": 3}] * len(NOTHING))
        ids = [request[2]["Idempotency-Key"] for request in collector.posted]
        assert len(set(ids)) == len(answers)
        for at, fault in enumerate(NOTHING):
            taken, failed = answers[2 * at : 2 * at + 2]
            assert taken == {"accepted": 1, "id": taken["id"]}, fault
            told = {"status": None, "isFinal": False, "isOurs": True}
            assert failed == {**told, "id": failed["id"], "message": "The collector could not be reached."}, fault
            assert ids[5 * at : 5 * at + 5] == [taken["id"]] * 2 + [failed["id"]] * 3, fault


@needs_node
def test_a_refusal_is_told_in_its_words() -> None:
    with collecting(document(PLAN)) as collector:
        collector.faults = ["503", "refuse", "503", "429 0"]
        closed, busy = sent(collector, {}, {"tries": 2})
        assert closed == {
            "id": closed["id"],
            "status": 403,
            "isFinal": True,
            "message": "The study is closed.",
            "isOurs": True,
        }
        assert (busy["status"], busy["isFinal"], busy["message"]) == (429, False, "Too many")
        assert len(collector.posted) == 4


@needs_node
def test_an_answer_that_does_not_come_is_not_waited_for() -> None:
    """Neither its head nor its rest: it is met as a lost answer is."""
    with collecting(document(PLAN)) as collector:
        collector.faults = ["stops", "stops in the answer"] * 50
        (failed,) = sent(collector, {"tries": 2, "timeout": 1000})
        assert (failed["isOurs"], failed["status"], failed["isFinal"], len(failed["id"])) == (True, None, False, 32)
    with collecting(document(PLAN)) as collector:
        collector.faults = ["stops", "stops in the answer"]
        (taken,) = sent(collector, {"timeout": 2000, "tries": 10})
        assert taken == {"accepted": 1, "id": taken["id"]}
        assert {request[2]["Idempotency-Key"] for request in collector.posted} == {taken["id"]}
        assert len(collector.posted) >= 3
