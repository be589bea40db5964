"""The audit of estimators: those of the library pass for every mechanism, and a wrong one does not."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import pytest

import bosket as bk
from bosket.statistics.estimates import Estimates
from tests.contracts.cases import CASES, Case

BIAS = "estimates have no bias"
SPREAD = "estimates are as far from the truth as they say"
COVERAGE = "intervals of 95% hold the truth"
PLAN = bk.Plan(bk.Domain(["a", "b", "c", "d"]), bk.Flip(keep=0.9))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_mechanism_is_estimated_rightly(case: Case) -> None:
    verdict = bk.audit.estimator(case.plan, 3000, studies=60, failure=1e-9)
    assert not verdict.is_convicted, verdict


def test_a_right_estimator_passes() -> None:
    verdict = bk.audit.estimator(PLAN, 2000, studies=60)
    assert not verdict.is_convicted, verdict
    assert verdict.about["itemsets"] == 14
    assert 0.9 < verdict[COVERAGE].figures["mean"] < 0.99


def test_a_client_that_keeps_more_than_planned_gives_a_bias() -> None:
    wrong, chance = bk.Plan(PLAN.domain, bk.Flip(keep=0.92)), bk.Seeded(1)

    def client(records: bk.Baskets | bk.Table) -> bk.Reports:
        return bk.Reports(PLAN, wrong.randomize(records, rng=chance).batch, randomness="secure")

    verdict = bk.audit.estimator(PLAN, 2000, studies=60, randomize=client)
    assert verdict[BIAS].is_convicted
    assert not verdict[SPREAD].is_convicted


def test_errors_that_are_too_small_are_found() -> None:
    def half(reports: bk.Reports, itemsets: list[tuple[Hashable, ...]]) -> Estimates:
        found = bk.estimate(reports, itemsets, model=None)
        return replace(found, variance=found.variance / 4, least_variance=found.least_variance / 4)

    verdict = bk.audit.estimator(PLAN, 2000, studies=60, by=half)
    assert verdict[SPREAD].is_convicted
    assert verdict[COVERAGE].is_convicted
    assert not verdict[BIAS].is_convicted


def test_people_may_be_given_and_what_cannot_be_estimated_is_said() -> None:
    people = bk.Baskets([["a", "b"], ["a"], ["c", "d", "a"], []] * 500, items=PLAN.domain.labels)
    assert bk.audit.estimator(PLAN, people, studies=30).about["people"] == 2000
    blind = bk.Plan(PLAN.domain, bk.Flip(keep=0.9), bk.PrivacyUnit(max_size=1, longer="sample"))
    assert bk.audit.estimator(blind, 200, studies=20).findings[0].verdict == "not looked at"
