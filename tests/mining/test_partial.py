"""Partial supports: against counting, against the paper's inverse, and their covariance."""

from __future__ import annotations

import numpy as np
import pytest

import bosket as bk
from bosket.mechanisms import ExchangeableChannel

RECORDS = [[0, 1, 2, 3], [0, 1], [2, 3], [0, 2, 4], [5], [1, 3, 5], [0, 1, 2], [4, 5, 6, 7]]
BASKETS = bk.Baskets(RECORDS, items=range(20)).repeat(500)
MECHANISMS = [bk.CutAndPaste(5, 0.2), bk.Flip(keep=0.9), bk.Replace(0.3), bk.Mixing(1, 0.8)]


def test_raw_data_are_counted() -> None:
    found = bk.partial_supports(BASKETS, [0, 1, 2])
    counts = np.bincount([len({0, 1, 2} & set(t)) for t in RECORDS], minlength=4) / len(RECORDS)
    np.testing.assert_allclose(found.value, counts, atol=1e-12)
    np.testing.assert_allclose(found.stderr, 0, atol=1e-9)
    supports = bk.estimate(BASKETS, [[0], [1], [2]]).value
    assert found.cumulative[1] == pytest.approx(supports.sum())
    assert found.cumulative[3] == pytest.approx(bk.estimate(BASKETS, [[0, 1, 2]]).value[0])
    two = bk.partial_supports(BASKETS, [0, 1], [2])
    assert two.value.shape == (3, 2)
    assert two.value[2, 1] == pytest.approx(2 / 8)
    assert two.value[2].sum() == pytest.approx(3 / 8)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_estimates_lie_around_the_truth(mechanism: bk.Mechanism) -> None:
    reports = mechanism.randomize(BASKETS, rng=bk.Seeded(8))
    truth = bk.partial_supports(BASKETS, [0, 1, 2])
    found = bk.partial_supports(reports, [0, 1, 2])
    assert found.value.sum() == pytest.approx(1)
    assert (np.abs(found.value - truth.value) < 5 * found.stderr).all()
    assert found.stderr.max() < 0.1
    assert (bk.partial_supports(reports, [0, 1, 2], sampling=True).stderr > found.stderr).all()
    single = bk.estimate(reports, [[0, 1, 2]])
    assert found.value[3] == pytest.approx(single.value[0])
    assert found.covariance[3, 3] == pytest.approx(single.variance[0])
    two = bk.partial_supports(reports, [0, 1], [2])
    assert two.value[2, 1] == pytest.approx(single.value[0])
    x_and_y = bk.estimate(reports, [[0, 1, 2], [0, 1]])
    assert two.value[2].sum() == pytest.approx(x_and_y.value[1])
    assert two.covariance[5, 4:].sum() == pytest.approx(x_and_y.covariance[0, 1])  # Cov(X, Y) of Eq. (18)


@pytest.mark.parametrize("mechanism", [bk.CutAndPaste(5, 0.2), bk.Replace(0.3)], ids=str)
def test_they_are_the_papers_inverse(mechanism: bk.Mechanism) -> None:
    """Eqs. (10) and (11) stratum by stratum: s_est = Q s', and its covariance from s_est as the paper estimates it."""
    reports = mechanism.randomize(BASKETS, rng=bk.Seeded(9))
    channel = reports.channel
    assert isinstance(channel, ExchangeableChannel)
    assert reports.strata is not None
    k = 2
    value, covariance = np.zeros(k + 1), np.zeros((k + 1, k + 1))
    for size in np.unique(reports.strata).tolist():
        part = reports[reports.strata == size]
        shown = np.bitwise_count(part.bits[:, 0] & np.uint64(0b101))
        counts = np.bincount(shown, minlength=k + 1)
        p, q = channel.partial_transition(k, size), channel.partial_inverse(k, size)
        s = q @ counts
        value[: len(s)] += s
        if size >= k:
            for l in range(k + 1):
                covariance += s[l] * q @ (np.diag(p[:, l]) - np.outer(p[:, l], p[:, l])) @ q.T
        np.testing.assert_allclose(bk.partial_supports(part, [0, 2]).value[: len(s)], s / len(part), atol=1e-9)
    found = bk.partial_supports(reports, [0, 2])
    np.testing.assert_allclose(found.value, value / len(reports), atol=1e-9)
    large = reports[reports.strata >= k]
    np.testing.assert_allclose(
        bk.partial_supports(large, [0, 2]).covariance, covariance / len(large) ** 2, rtol=1e-6, atol=1e-12
    )


def test_wrong_arguments() -> None:
    with pytest.raises(bk.ParameterError):
        bk.partial_supports(BASKETS, [0, 1], [1, 2])
    with pytest.raises(bk.ParameterError):
        bk.partial_supports(BASKETS, [])
    with pytest.raises(bk.ParameterError):
        bk.partial_supports(BASKETS, range(9))
    with pytest.raises(bk.DataError):
        bk.partial_supports([[1]], [1])
    with pytest.raises(bk.DataError):
        bk.partial_supports(bk.Baskets([], items=[1]), [1])
    with pytest.raises(bk.ParameterError):
        bk.partial_supports(BASKETS, [0], [1]).cumulative  # noqa: B018
