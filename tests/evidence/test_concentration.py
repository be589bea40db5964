"""Estimates that a few reports carry come with a warning; honest data that estimates hold for come without."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest

import bosket as bk
from bosket.counting.table import count_subsets
from bosket.evidence.concentration import FEW, HALF, LARGE_SHIFT, concentrations, worth_a_look
from bosket.evidence.sums import cells_of, moments
from tests.files import benchmark_file
from tests.poison import sent

ITEMS = list(range(60))
PEOPLE = bk.quest(records=3000, mean_size=4, items=60, patterns=20, seed=3).with_domain(bk.Domain(ITEMS))
PEOPLE = PEOPLE[PEOPLE.sizes <= 8]
PLAN = bk.Plan(bk.Domain(ITEMS), bk.CutAndPaste(3, 0.1), bk.PrivacyUnit(max_size=50))
HONEST = PLAN.randomize(PEOPLE, rng=bk.Seeded(1))


def forged(number: int, size: int) -> bk.Reports:
    """Honest reports, and so many that show the first three items and state a record of this size."""
    return bk.Reports.concat([HONEST, sent(PLAN, [[0, 1, 2]] * number, size=size)])


@pytest.mark.parametrize(("number", "size"), [(1, 50), (3, 40), (20, 50)])
def test_forged_reports_that_outweigh_all_others_are_told_of(number: int, size: int) -> None:
    """A single one, and a stratum of them that is below a hundredth of all."""
    with pytest.warns(bk.InfluenceWarning) as caught:
        bk.estimate(forged(number, size), [{0, 1}])
    warning = caught[0].message
    assert isinstance(warning, bk.InfluenceWarning)
    assert (warning.itemset, warning.record_size) == ((0, 1), size)
    assert warning.reports <= number
    assert caught[0].filename == __file__, "it points at the call"


def test_mining_says_so_and_notes_it() -> None:
    with pytest.warns(bk.InfluenceWarning, match="from records of 50 items"):
        found = bk.mine(forged(5, 50), min_support=0.05, max_size=2)
    assert "records of 50 items" in found.about["influence"]
    assert "records of 50 items" in found.to_frame().attrs["about"]["influence"]


def test_a_forged_pair_behind_many_popular_ones_is_told_of() -> None:
    """78 popular pairs have larger sums of squares; all that is reported is looked at."""
    rng = np.random.default_rng(5)
    records = [rng.choice(13, 5, replace=False).tolist() for _ in range(30_000)]
    for at in range(30_000 // 8):
        records[at][0], records[15_000 + at][0] = 28, 29
    plan = bk.Plan(bk.Domain(range(30)), bk.CutAndPaste(3, 0.1), bk.PrivacyUnit(max_size=8))
    honest = plan.randomize(bk.Baskets(records, items=range(30)), rng=bk.Seeded(1))
    reports = bk.Reports.concat([honest, sent(plan, [[28, 29]] * 152, size=7)], allow_duplicates=True)
    with pytest.warns(bk.InfluenceWarning, match="of the variance of 28, 29 comes from 152 reports"):
        found = bk.mine(reports, min_support=0.07, max_size=2)
    assert frozenset({28, 29}) in {itemset for itemset, _ in found}
    pairs = [{one, other} for one in range(13) for other in range(one)]
    with pytest.warns(bk.InfluenceWarning, match="of the variance of 28, 29 comes from 152 reports"):
        bk.estimate(reports, [*pairs, {28, 29}])


@pytest.mark.parametrize(("number", "size"), [(0, 50), (1, 50), (3, 40), (5, 20), (20, 50), (25, 12)])
def test_what_is_not_worth_a_look_is_not_carried(number: int, size: int) -> None:
    """The quick look, which counts no patterns, misses nothing, and is quick where there is nothing."""
    reports = forged(number, size) if number else HONEST
    rows = np.array(list(combinations(range(25), 2)), np.int32)
    counter = reports.counter()
    cells = cells_of(count_subsets(counter, rows))
    second = moments(reports.channel, counter.strata, rows, cells).second
    records = counter.supports(np.empty((1, 0), np.int32))[:, 0]
    may = worth_a_look(reports.channel, counter.strata, records, rows, counter.supports(rows), second)
    carried = {one.itemset for one in concentrations(reports.channel, counter.strata, rows, cells)}
    assert carried <= {tuple(row) for row in rows[may].tolist()}
    assert bool(carried) == (number > 0)
    assert not may.all() or number


def test_honest_reports_come_without() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "influence" not in bk.mine(HONEST, min_support=0.05, max_size=2).about
        bk.estimate(HONEST, [{0}, {0, 1}])
        bk.estimate(forged(200, 50), [{0}])  # too many to be a few: a tenth of all could be honest
        bk.estimate(PEOPLE, [{0, 1, 2}])  # raw records weigh 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for keep in (0.9, 0.7, 0.6):
            bk.mine(bk.Flip(keep=keep).randomize(PEOPLE, rng=bk.Seeded(2)), min_support=0.05, max_size=3)


def test_shares_are_those_of_the_reports_one_by_one() -> None:
    """Against the weights of every report, listed and sorted."""
    reports = forged(5, 45)
    rows = np.array([[0, 1], [0, 2], [4, 5]], np.int32)
    counter = reports.counter()
    cells = cells_of(count_subsets(counter, rows))
    found = {one.itemset: one for one in concentrations(reports.channel, counter.strata, rows, cells)}
    assert reports.strata is not None
    shown = reports.bits[:, 0][:, None] >> np.arange(60, dtype=np.uint64) & np.uint64(1)
    for row in rows.tolist():
        patterns = (shown[:, row[0]] + 2 * shown[:, row[1]]).astype(int)
        by_size = {m: reports.channel.weights(np.array([row], np.int32), m)[0] for m in set(reports.strata.tolist())}
        weights = np.array([by_size[m][y] for m, y in zip(reports.strata.tolist(), patterns, strict=True)])
        squares, of = np.sort(weights**2)[::-1], int((reports.strata >= 2).sum())
        share = squares[reports.strata[np.argsort(-(weights**2), kind="stable")] == 45].sum() / squares.sum()
        is_carried = share > HALF and of * FEW > 5 and 5 * abs(weights[-1]) >= LARGE_SHIFT * len(reports)
        assert (tuple(row) in found) == is_carried
        if is_carried:
            one = found[tuple(row)]
            assert (one.reports, one.of, one.record_size) == (5, of, 45)
            assert one.share == pytest.approx(share)
            assert one.weight == pytest.approx(abs(weights[-1]))


def test_three_reports_of_different_strata_are_a_few_too() -> None:
    parts = [HONEST, *(sent(PLAN, [[0, 1, 2]], size=size) for size in (48, 49, 50))]
    with pytest.warns(bk.InfluenceWarning) as caught:
        bk.estimate(bk.Reports.concat(parts), [{0, 1}])
    warning = caught[0].message
    assert isinstance(warning, bk.InfluenceWarning)
    assert (warning.reports, warning.record_size) == (2, None)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["groceries.dat.gz", "retail.dat.gz"])
@pytest.mark.parametrize(
    "mechanism", [bk.Flip(keep=0.9), bk.Flip(keep=0.7), bk.CutAndPaste(7, 0.35), bk.CutAndPaste(7, 0.1)], ids=str
)
def test_real_baskets_come_without(name: str, mechanism: bk.Mechanism) -> None:
    raw = bk.Baskets.read(benchmark_file(name))
    reports = mechanism.randomize(raw, rng=bk.Seeded(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bk.mine(reports, min_support=0.05, max_size=3)
        bk.mine(reports, min_support=0.01, max_size=1)


@pytest.mark.data
def test_one_honest_record_may_be_too_long_for_the_mechanism() -> None:
    """In groceries a record of 32 items counts for twice as many people as there are, for triples at cutoff 3."""
    raw = bk.Baskets.read(benchmark_file("groceries.dat.gz"))
    reports = bk.CutAndPaste(3, 0.2).randomize(raw, rng=bk.Seeded(1))
    with pytest.warns(bk.InfluenceWarning, match="records of 32 items"):
        bk.mine(reports, min_support=0.05, max_size=3)
    sampled = bk.Plan(raw.domain, bk.CutAndPaste(3, 0.2), bk.PrivacyUnit(max_size=10, longer="sample"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bk.mine(sampled.randomize(raw, rng=bk.Seeded(1)), min_support=0.05, max_size=3)
