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


def test_records_that_are_not_cut_are_read_where_sizes_are_stated() -> None:
    """Those of at least two items are cut, or may be; of a single item the posterior is that without cutting."""
    raw = bk.Baskets([["a"], ["b"], ["a", "b", "c"], ["c", "d"]] * 3000)
    unit = bk.PrivacyUnit(max_size=2, longer="sample", state_sizes_to=4)
    reports = bk.Plan(raw.domain, bk.CutAndPaste(3, 0.3), unit).randomize(raw, rng=bk.Seeded(1))
    found = bk.audit.posterior(reports, ["a"], "a", record_size=1)
    alone = bk.CutAndPaste(3, 0.3).channel(raw.domain)
    shown = alone.shown_given(1, 1)
    truth = shown[1] / (shown[0] + shown[1])  # half of them have it
    assert abs(found.value - truth) < 5 * found.delta_method_stderr
    assert found.delta_method_stderr < 0.05
    for size in (2, 3):
        with pytest.raises(bk.ParameterError, match="less than 2"):
            bk.audit.posterior(reports, ["a"], "a", record_size=size)


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
