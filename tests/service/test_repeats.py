"""Intervals of the collector where reports of one person may be alike."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import bosket as bk
from bosket.privacy.voices import CHANGES_SHOW
from bosket.service.periods import Periods
from bosket.service.pictures import picture_of
from bosket.service.repeats import most_alike, widened
from bosket.service.settings import TaskSettings
from bosket.service.signing import SigningKey
from bosket.service.tasks import ServedTask

ITEMS = [f"i{at}" for at in range(6)]
PLAN = bk.Plan(bk.Domain(ITEMS), bk.Flip(keep=0.75), bk.PrivacyUnit(reports=12))
LINKED, UNLINKED = (Periods(date(2027, 1, 1), "month", 12, 1, versions) for versions in ("linked", "unlinked"))


def settings_of(periods: Periods | None) -> TaskSettings:
    return TaskSettings("study", "A study", PLAN, tokens="one-time", periods=periods, min_support=0.01, min_batch=10)


@pytest.mark.slow
def test_copies_of_one_report_are_one_draw() -> None:
    """Each of 400 people sends one report twelve times: as draws apart, 0.37 of intervals at 0.95 held the support."""
    rng = np.random.default_rng(1)
    records = [[item for item in ITEMS if rng.random() < 0.3] for _ in range(400)]
    people = bk.Baskets(records, items=ITEMS)
    truth = {item: float(np.mean([item in one for one in records])) for item in ITEMS}
    held = shown = 0
    for seed in range(20):
        sent = PLAN.randomize(people, rng=bk.Seeded(seed))[np.tile(np.arange(400), 12)]
        collection = bk.Collection(PLAN)
        collection.append(sent)
        picture = picture_of(settings_of(LINKED), [collection], is_final=True)
        assert "12 reports that are alike" in picture["notes"][0]
        for row in picture["itemsets"]:
            if len(row["items"]) == 1:
                shown += 1
                held += row["low"] <= truth[row["items"][0]] <= row["high"]
    assert shown > 90
    assert held / shown > 0.8


def test_reports_of_unlinked_periods_are_drawn_afresh(tmp_path: Path) -> None:
    collection = bk.Collection(PLAN)
    assert most_alike(settings_of(UNLINKED), [collection.plan]) == 1
    assert most_alike(settings_of(None), [collection.plan]) == 12


def test_people_are_told_that_a_change_shows_where_reports_come_of_a_memo() -> None:
    """Two reports that differ are of two records, for certain; the page said that the belief in anything about a person
    stays below a bound for all reports together.
    """
    key = SigningKey(Ed25519PrivateKey.generate())
    for periods, repeats in ((LINKED, True), (UNLINKED, False), (None, True)):
        settings = settings_of(periods)
        task = ServedTask(settings, (PLAN,), False, key)
        signed = json.loads(json.loads(task.document())["signed"])
        told = PLAN.guarantee.for_participants().split("\n")
        assert signed["participant"] == [*told, *([CHANGES_SHOW] if repeats else [])]
        assert ("changed between two reports shows for certain" in signed["card"]) == repeats


def test_intervals_grow_about_their_estimates_and_stay_in_range() -> None:
    frame = pd.DataFrame(
        {"support": [0.2], "stderr": [0.05], "low": [0.1], "high": [0.3], "confidence": [0.9],
         "confidence_low": [0.8], "confidence_high": [0.95], "lift": [1.5], "lift_low": [1.0]}
    )  # fmt: skip
    wide = widened(frame, 4).iloc[0]
    assert (wide["support"], wide["stderr"], wide["low"]) == pytest.approx((0.2, 0.1, 0.0))
    assert (wide["confidence_low"], wide["confidence_high"], wide["lift_low"]) == pytest.approx((0.7, 1.0, 0.5))
    assert widened(frame, 1) is frame


@pytest.mark.slow
@pytest.mark.parametrize(("times", "is_told"), [(5, True), (12, False)])
def test_a_hundredth_of_the_people_may_send_more_than_a_hundredth_of_the_reports(times: int, is_told: bool) -> None:
    """Dishonest people send all that the plan counts, honest ones one each: 0.5 lay outside of 0.51 to 0.67."""
    plan = bk.Plan(bk.Domain(ITEMS), bk.Flip(keep=0.8), bk.PrivacyUnit(reports=times))
    honest = plan.randomize(bk.Baskets([["i0"], []] * 4950, items=ITEMS), rng=bk.Seeded(1))
    payload = plan.channel.payload
    rows = payload.to_rows(honest.batch)
    forged = np.full((100 * times, rows.shape[1]), 0b111111, np.uint8)
    collection = bk.Collection(plan)
    batch = payload.from_rows(np.concatenate([rows, forged]))
    collection.append(bk.Reports(plan, batch, randomness=honest.randomness), allow_duplicates=True)
    picture = picture_of(TaskSettings("study", "A study", plan), [collection], is_final=True)
    row = next(one for one in picture["itemsets"] if one["items"] == ["i0"])
    assert abs(row["support"] - 0.5) < row["shift"] + 3 * row["stderr"]
    assert 99 * picture["influence"][0]["shift_by_one"] < row["shift"] < 101 * picture["influence"][0]["shift_by_one"]
    assert is_told == ("robust" in picture) == (not any("no robust" in note for note in picture["notes"]))
    if is_told:
        assert row["robust_low"] < 0.5 < row["robust_high"]
