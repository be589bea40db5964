"""The posterior from reports alone, against the count on the raw records."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import bosket as bk
from bosket.research.reproduce.esag_data import MAILORDER_STAND, simulate
from tests.stats import assert_plausible, assert_rejected


def test_it_is_what_breaches_count() -> None:
    """Both estimate the same number: from the raw records with binomial error, from the reports with that of f."""
    raw = simulate(MAILORDER_STAND, 20_000, seed=8).repeat(5)
    reports = MAILORDER_STAND.mechanism.randomize(raw, rng=bk.Seeded(2))
    itemsets = [{0}, {0, 1}, {1, 2, 3}]
    counted = bk.audit.breaches(raw, reports, itemsets=itemsets, min_reports=1).table
    compared = 0
    for row in counted.to_dict("records"):
        if row["record_size"] not in (3, 4):
            continue
        from_reports = bk.audit.posterior(reports, row["itemsets"], row["item"], record_size=row["record_size"])
        stderr = (from_reports.delta_method_stderr**2 + row["stderr"] ** 2) ** 0.5
        assert abs(from_reports.value - row["breach"]) < 5 * stderr
        assert stderr < 0.2
        compared += 1
    assert compared == 6


@pytest.mark.slow
def test_its_error_is_the_spread_over_repetitions() -> None:
    """The same records randomized 400 times; an error of two thirds or one and a half as much would be caught."""
    raw = simulate(MAILORDER_STAND, 4_000, seed=9)
    plan = bk.Plan(raw.domain, MAILORDER_STAND.mechanism)
    repetitions = 400
    found = [
        bk.audit.posterior(plan.randomize(raw, rng=bk.Seeded(number)), {0, 1}, 0, record_size=2)
        for number in range(repetitions)
    ]
    spread = np.var([ratio.value for ratio in found], ddof=1)
    stated = np.mean([ratio.delta_method_stderr**2 for ratio in found])
    law = stats.chi2(repetitions - 1)
    ratio = (repetitions - 1) * spread / stated
    assert_plausible(2 * min(law.cdf(ratio), law.sf(ratio)))
    assert_rejected(2 * law.sf(ratio * 2.25))
    assert_rejected(2 * law.cdf(ratio / 2.25))


def test_sampled_records_are_refused() -> None:
    """What a report tells about the items drawn is less than what it tells about the record."""
    raw = bk.Baskets([["a", "b", "c"], ["c", "d"]] * 50)
    plan = bk.Plan(raw.domain, bk.CutAndPaste(3, 0.3), bk.PrivacyUnit(max_size=2, longer="sample"))
    with pytest.raises(bk.ParameterError, match="too little"):
        bk.audit.posterior(plan.randomize(raw, rng=bk.Seeded(1)), ["a"], "a", record_size=2)


def test_wrong_arguments() -> None:
    raw = bk.Baskets([["a", "b"], ["c", "d"]] * 50)
    reports = bk.CutAndPaste(3, 0.3).randomize(raw, rng=bk.Seeded(1))
    with pytest.raises(bk.ParameterError):
        bk.audit.posterior(reports, ["a", "b"], "c", record_size=2)
    with pytest.raises(bk.ParameterError):
        bk.audit.posterior(reports, ["a", "b", "c"], "c", record_size=2)
    with pytest.raises(bk.DataError):
        bk.audit.posterior(reports, ["a"], "a", record_size=3)
    with pytest.raises(bk.ParameterError):
        bk.audit.posterior(bk.Flip(keep=0.9).randomize(raw), ["a"], "a", record_size=2)
