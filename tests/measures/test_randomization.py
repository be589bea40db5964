"""Guo, Guo and Wu (2007), Result 1: which measures never grow when the two sides are randomized independently."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.measures import CATALOGUE, Contingency, Measure, Monotone
from bosket.measures.catalogue import IF_UPRIGHT
from tests.measures.tables import of_cells, random_cells

N = 1000.0
Floats = npt.NDArray[np.float64]


class Channels(NamedTuple):
    """A 1 stays 1 with probability p, a 0 becomes 1 with probability r; for A and for C."""

    p_a: Floats
    r_a: Floats
    p_c: Floats
    r_c: Floats

    def randomize(self, cells: Floats) -> Floats:
        """The expected table of the reports: the sum over both truths of pi times the two probabilities."""
        p_a, r_a, p_c, r_c = self
        pi = cells / cells.sum(-1, keepdims=True)
        for_a = np.stack([np.stack([p_a, 1 - p_a], -1), np.stack([r_a, 1 - r_a], -1)], -2)
        for_c = np.stack([np.stack([p_c, 1 - p_c], -1), np.stack([r_c, 1 - r_c], -1)], -2)
        joint: Floats = np.einsum("tij,tik,tjl->tkl", pi.reshape(-1, 2, 2), for_a, for_c).reshape(-1, 4)
        return joint


def any_channels(number: int, seed: int) -> Channels:
    """Probabilities of all sorts, near 0 and 1 too."""
    rng = np.random.default_rng(seed)
    sorts = np.where(rng.random((4, number)) < 0.5, rng.random((4, number)), rng.beta(0.2, 0.2, (4, number)))
    return Channels(*np.clip(sorts, 1e-4, 1 - 1e-4))


def upright(channels: Channels) -> Channels:
    """p >= r on both sides."""
    p_a, r_a, p_c, r_c = channels
    return Channels(np.maximum(p_a, r_a), np.minimum(p_a, r_a), np.maximum(p_c, r_c), np.minimum(p_c, r_c))


def symmetric(channels: Channels) -> Channels:
    """1s and 0s are kept alike; they may all be turned round."""
    return Channels(channels.p_a, 1 - channels.p_a, channels.p_c, 1 - channels.p_c)


def growth(record: Measure, cells: Floats, channels: Channels) -> float:
    """By how much the measure grows in absolute value, at most; 0 if it never does, but for rounding."""
    before, after = (np.abs(record(of_cells(table, N))) for table in (cells, channels.randomize(cells)))
    excess = after - before
    return float(np.nanmax(np.where(excess > 1e-12 + 1e-9 * before, excess, 0.0)))


CELLS = random_cells(40_000, seed=4)
CHANNELS = any_channels(40_000, seed=5)
ALWAYS = [record for record in CATALOGUE.values() if record.monotone is Monotone.ALWAYS]
SYMMETRIC = [record for record in CATALOGUE.values() if record.monotone is Monotone.SYMMETRIC]


def by_name(records: list[Measure]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("record", records, ids=[record.name for record in records])


def test_who_is_marked() -> None:
    """The paper's four; what it overlooked in its Table 2; and of the other measures."""
    assert {record.name for record in ALWAYS} == {
        *("correlation", "uncertainty_coefficient", "g2", "chi_squared"),
        *("leverage", "mutual_information"),
        *("normalized_mutual_information", "difference_of_confidence", "gini", "rld", "yule_q", "yule_y"),
    }
    assert [record.name for record in SYMMETRIC] == ["goodman_kruskal_lambda"]
    assert set(IF_UPRIGHT) <= {name for name, record in CATALOGUE.items() if record.monotone is Monotone.NO}


@by_name(ALWAYS)
def test_never_grows(record: Measure) -> None:
    assert growth(record, CELLS, CHANNELS) == 0


@by_name(SYMMETRIC)
def test_never_grows_under_symmetric_flips(record: Measure) -> None:
    assert growth(record, CELLS, symmetric(CHANNELS)) == 0
    assert growth(record, CELLS, CHANNELS) > 0.01
    assert growth(record, CELLS, upright(CHANNELS)) > 0.01


@by_name([CATALOGUE[name] for name in IF_UPRIGHT])
def test_never_grows_unless_items_are_turned_round(record: Measure) -> None:
    assert growth(record, CELLS, upright(CHANNELS)) == 0
    assert growth(record, CELLS, symmetric(CHANNELS)) > 0.01


OTHERS = [
    record
    for record in CATALOGUE.values()
    if record.monotone is Monotone.NO and record.name not in (*IF_UPRIGHT, "representativity")
    if record.gradient is not None
]


@pytest.mark.slow
@by_name(OTHERS)
def test_false_claims_are_caught(record: Measure) -> None:
    """Lift, confidence and the rest would not pass, not even if 1s and 0s are kept alike more often than not."""
    assert growth(record, CELLS, upright(CHANNELS)) > 0.01
    if record.name != "importance":  # its pseudo-counts hardly matter there
        assert growth(record, CELLS, upright(symmetric(CHANNELS))) > 0.01


probability = st.floats(0, 1)
weight = st.floats(1e-6, 1)


@given(st.tuples(weight, weight, weight, weight), st.tuples(probability, probability, probability, probability))
def test_never_grows_anywhere(cells: tuple[float, ...], channel: tuple[float, ...]) -> None:
    """Hypothesis may look for a table and channels, at 0 and 1 exactly too."""
    for record in ALWAYS:
        assert growth(record, np.array([cells]), Channels(*(np.array([p]) for p in channel))) < 1e-9, record.name


def margins(cells: Floats) -> Contingency:
    return of_cells(cells, N)


@pytest.mark.parametrize("kind", [any_channels(5000, seed=6), symmetric(any_channels(5000, seed=7))])
def test_attenuation(kind: Channels) -> None:
    """phi' = phi corr(A, A') corr(C, C'), corr(A, A') = (p - r) sqrt(a (1 - a) / (a' (1 - a'))), and D' = D d_A d_C."""
    cells = random_cells(5000, seed=8)
    before, after = margins(cells), margins(kind.randomize(cells))
    corr_a = (kind.p_a - kind.r_a) * np.sqrt(before.a * before.not_a / (after.a * after.not_a))
    corr_c = (kind.p_c - kind.r_c) * np.sqrt(before.c * before.not_c / (after.c * after.not_c))
    phi, leverage = CATALOGUE["correlation"], CATALOGUE["leverage"]
    assert phi(after) == pytest.approx(phi(before) * corr_a * corr_c, rel=1e-9, abs=1e-11)
    factor = (kind.p_a - kind.r_a) * (kind.p_c - kind.r_c)
    assert leverage(after) == pytest.approx(leverage(before) * factor, rel=1e-9, abs=1e-14)


def test_lemmas() -> None:
    """I(A'; C) <= |p - r| I(A; C) and H(A') >= |p - r| H(A); |log(odds ratio)| never grows."""
    one = np.ones(len(CELLS))
    for_a = CHANNELS._replace(p_c=one, r_c=0 * one)
    before, after = margins(CELLS), margins(for_a.randomize(CELLS))
    kept = np.abs(for_a.p_a - for_a.r_a)
    information = CATALOGUE["mutual_information"]
    assert np.all(information(after) <= kept * information(before) * (1 + 1e-9) + 1e-14)
    entropy = [-t.a * np.log(t.a) - t.not_a * np.log(t.not_a) for t in (before, after)]
    assert np.all(entropy[1] >= kept * entropy[0] * (1 - 1e-9))
    odds = CATALOGUE["odds_ratio"]
    logs = [np.abs(np.log(odds(margins(cells)))) for cells in (CELLS, CHANNELS.randomize(CELLS))]
    assert np.all(logs[1] <= logs[0] * (1 + 1e-9) + 1e-9)
