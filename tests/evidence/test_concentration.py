"""Estimates that a few reports carry come with a warning; honest data that estimates hold for come without."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

import bosket as bk
from bosket.counting.table import count_subsets
from bosket.evidence.concentration import FEW, HALF, LARGE_SHIFT, LARGE_WEIGHT, carried_by_few, carried_in_lists
from bosket.evidence.kernels import sum_weights
from bosket.evidence.sums import TOP, Moments, cells_of, moments
from bosket.mechanisms.payload import Batch
from tests.evidence.test_answers import unbiased
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


@pytest.mark.slow
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


def told_of(reports: bk.Reports, itemset: set[int]) -> bk.InfluenceWarning:
    with pytest.warns(bk.InfluenceWarning) as caught:
        bk.estimate(reports, [itemset])
    warning = caught[0].message
    assert isinstance(warning, bk.InfluenceWarning)
    return warning


@pytest.mark.parametrize(("number", "told"), [(1, 1), (30, 30)])
def test_forged_reports_are_told_of_where_no_honest_record_is_as_long(number: int, told: int) -> None:
    """Those of a hundredth of all people, not of the people whose records are long enough for the itemset."""
    rng = np.random.default_rng(0)
    short = [rng.choice(60, 1 + person % 2, replace=False).tolist() for person in range(10_000)]
    honest = PLAN.randomize(bk.Baskets(short, items=ITEMS), rng=bk.Seeded(1))
    parts = [honest, sent(PLAN, [[0, 1, 2]] * number, size=50)]
    warning = told_of(bk.Reports.concat(parts, allow_duplicates=True), {0, 1, 2})
    assert (warning.reports, warning.record_size) == (told, 50)


def test_one_forged_report_among_ninety_is_told_of() -> None:
    reports = bk.Reports.concat([HONEST[:90], sent(PLAN, [[0, 1, 2]], size=50)])
    assert told_of(reports, {0, 1, 2}).record_size == 50


def test_tables_and_partial_supports_tell_of_them_too() -> None:
    reports = bk.Reports.concat([HONEST[:90], sent(PLAN, [[0, 1, 2]], size=50)])
    with pytest.warns(bk.InfluenceWarning) as caught:
        bk.contingency(reports, {0, 1}, {2})
    assert caught[0].filename == __file__
    with pytest.warns(bk.InfluenceWarning) as caught:
        bk.partial_supports(reports, [0, 1, 2])
    assert caught[0].filename == __file__


@pytest.mark.parametrize("sizes", [(49, 50), (48, 49, 50), tuple(range(41, 51))], ids=str)
def test_forgers_who_state_several_sizes_are_told_of(sizes: tuple[int, ...]) -> None:
    """None of the strata carries half of the squares, all together do; no more are named than that takes."""
    parts = [HONEST, *(sent(PLAN, [[0, 1, 2]] * (24 // len(sizes)), size=size) for size in sizes)]
    warning = told_of(bk.Reports.concat(parts, allow_duplicates=True), {0, 1})
    assert 3 < warning.reports <= 24
    assert warning.record_size is None or len(sizes) == 2


def test_forgers_behind_a_stratum_that_leaves_no_room_are_told_of() -> None:
    """92 reports of two sizes carry a pair; before them by mean square come 57 others, and 149 are not a few.

    Whole strata, taken one after the other, are blocked by the 57, of which 55 are honest.
    """
    rng = np.random.default_rng(2)
    sizes = [25] * 55 + [1 + person % 4 for person in range(9945)]
    people = [rng.choice(60, size, replace=False).tolist() for size in sizes]
    honest = PLAN.randomize(bk.Baskets(people, items=ITEMS), rng=bk.Seeded(1))
    parts = [sent(PLAN, [[0, 1]] * number, size=size) for number, size in ((46, 12), (46, 13), (2, 25))]
    reports = bk.Reports.concat([honest, *parts], allow_duplicates=True)
    warning = told_of(reports, {0, 1})
    assert (warning.reports < 100, warning.record_size) == (True, None)


@pytest.mark.parametrize("number", [2, 3])
def test_two_or_three_reports_that_move_a_tenth_together_are_told_of(number: int) -> None:
    """None of them does alone: one of 20 items counts for 190 of 2700 people."""
    reports = bk.Reports.concat([HONEST, sent(PLAN, [[0, 1]] * number, size=20)])
    warning = told_of(reports, {0, 1})
    assert (warning.reports, warning.record_size) == (number, 20)


def test_an_itemset_that_forged_reports_make_vanish_is_told_of() -> None:
    """All that was counted is looked at, not only what is reported."""
    pair = frozenset({24, 32})
    assert pair in {itemset for itemset, _ in bk.mine(HONEST, min_support=0.05, max_size=2)}
    forged = sent(PLAN, [[24]] * 5 + [[32]] * 5, size=50)
    reports = bk.Reports.concat([HONEST, forged], allow_duplicates=True)
    with pytest.warns(bk.InfluenceWarning) as caught:
        found = bk.mine(reports, min_support=0.05, max_size=2)
    assert pair not in {itemset for itemset, _ in found}
    assert "influence" in found.about
    assert isinstance(caught[0].message, bk.InfluenceWarning)
    assert caught[0].message.record_size == 50
    with pytest.warns(bk.InfluenceWarning):
        none = bk.mine(reports, min_support=0.05, max_size=2, items=[24, 32])
    assert len(none.levels) == 1, "no pair is left, and one was looked at"


def test_honest_reports_come_without() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", bk.InfluenceWarning)
        assert "influence" not in bk.mine(HONEST, min_support=0.05, max_size=2).about
        bk.estimate(HONEST, [{0}, {0, 1}])
        bk.estimate(forged(200, 50), [{0}])  # too many to be a few: a tenth of all could be honest
        bk.estimate(PEOPLE, [{0, 1, 2}])  # raw records weigh 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", bk.InfluenceWarning)
        for keep in (0.9, 0.7, 0.6):
            bk.mine(bk.Flip(keep=keep).randomize(PEOPLE, rng=bk.Seeded(2)), min_support=0.05, max_size=3)


def by_definition(sizes: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]) -> tuple[int, float] | None:
    """The number of reports that carry an itemset and their share, from a list of all reports; None if none do."""
    n, squares = len(weights), weights**2
    half, shift = HALF * squares.sum(), LARGE_SHIFT * n
    mean, reach = [], []
    for size in sorted(set(sizes.tolist())):
        rows = np.flatnonzero(sizes == size)
        if len(rows) >= FEW * n:
            continue
        furthest = np.abs(weights[rows]).max()
        if squares[rows].sum() > half and len(rows) * furthest >= shift:
            return len(rows), squares[rows].sum() / squares.sum()
        mean += [squares[rows].mean()] * len(rows)
        reach += [furthest] * len(rows)
    mean, reach = sorted(mean, reverse=True), sorted(reach, reverse=True)
    for few in range(1, len(mean) + 1):
        if few < FEW * n and sum(mean[:few]) > half and sum(reach[:few]) >= shift:
            return few, sum(mean[:few]) / squares.sum()
    top = np.sort(np.abs(weights))[::-1]
    for few in (1, 2, 3):
        is_most = (top[:few] ** 2).sum() > HALF * squares.sum()
        if is_most and top[:few].sum() >= LARGE_SHIFT * n and top[0] >= LARGE_WEIGHT:
            return few, (top[:few] ** 2).sum() / squares.sum()
    return None


@pytest.mark.parametrize("people", [40, 150, 2712])
@pytest.mark.parametrize(
    "parts",
    [
        [],
        [(1, 50)],
        [(1, 20)],
        [(2, 18)],
        [(3, 40)],
        [(5, 45)],
        [(20, 50)],
        [(60, 50)],
        [(8, 48), (8, 49), (8, 50)],
        [(13, 17), (13, 18), (9, 25)],
        [(2, 9), (12, 12), (12, 13), (14, 25)],
    ],
    ids=str,
)
def test_a_few_are_those_of_the_definition(people: int, parts: list[tuple[int, int]]) -> None:
    """Against the weights of every report, listed and sorted."""
    forged = [sent(PLAN, [[0, 1, 2]] * number, size=size) for number, size in parts]
    reports = bk.Reports.concat([HONEST[:people], *forged], allow_duplicates=True)
    rows = np.array(list(combinations(range(5), 2)), np.int32)
    counter = reports.counter()
    found = moments(reports.channel, counter.strata, rows, cells_of(count_subsets(counter, rows)))
    few = carried_by_few(found, counter.supports(np.empty((1, 0), np.int32))[:, 0])
    assert reports.strata is not None
    sizes = reports.strata.astype(np.int64)
    shown = (reports.bits[:, 0][:, None] >> np.arange(60, dtype=np.uint64) & np.uint64(1)).astype(int)
    for at, row in enumerate(rows.tolist()):
        by_size = {m: reports.channel.weights(rows[[at]], m)[0] for m in set(sizes.tolist())}
        patterns = shown[:, row[0]] + 2 * shown[:, row[1]]
        weights = np.array([by_size[m][y] for m, y in zip(sizes.tolist(), patterns, strict=True)])
        expected = by_definition(sizes, weights)
        assert int(few.reports[at]) == (0 if expected is None else expected[0])
        if expected is not None:
            assert few.share[at] == pytest.approx(expected[1])
    summary = few.summary(rows, len(reports), lambda at: counter.strata[at])
    assert (summary.looked_at, summary.number) == (len(rows), int((few.reports > 0).sum()))
    if summary.worst is not None:
        assert summary.worst.share == few.share[few.reports > 0].max()


def test_three_reports_of_different_strata_are_a_few_too() -> None:
    parts = [HONEST, *(sent(PLAN, [[0, 1, 2]], size=size) for size in (48, 49, 50))]
    with pytest.warns(bk.InfluenceWarning) as caught:
        bk.estimate(bk.Reports.concat(parts), [{0, 1}])
    warning = caught[0].message
    assert isinstance(warning, bk.InfluenceWarning)
    assert (warning.reports, warning.record_size) == (2, None)


CUT = [bk.CutAndPaste(7, 0.35), bk.CutAndPaste(7, 0.1)]


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["groceries.dat.gz", "retail.dat.gz"])
@pytest.mark.parametrize("mechanism", [bk.Flip(keep=0.9), bk.Flip(keep=0.7), *CUT], ids=str)
def test_real_baskets_come_without(name: str, mechanism: bk.Mechanism) -> None:
    """Single items of all records; up to three where sizes are not sent, or records of at most 15 items are."""
    raw = bk.Baskets.read(benchmark_file(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error", bk.InfluenceWarning)
        bk.mine(mechanism.randomize(raw, rng=bk.Seeded(1)), min_support=0.01, max_size=1)
        unit = bk.PrivacyUnit(max_size=15, longer="sample") if mechanism in CUT else bk.PrivacyUnit()
        reports = bk.Plan(raw.domain, mechanism, unit).randomize(raw, rng=bk.Seeded(1))
        bk.mine(reports, min_support=0.05, max_size=3)


@pytest.mark.data
def test_a_hundredth_of_honest_records_may_be_too_long() -> None:
    """Groceries, cut-and-paste 7/.35: what the longest records say makes most of the itemsets that are reported."""
    raw = bk.Baskets.read(benchmark_file("groceries.dat.gz"))
    with pytest.warns(bk.InfluenceWarning):
        found = bk.mine(CUT[0].randomize(raw, rng=bk.Seeded(1)), min_support=0.05, max_size=3)
    assert len(found) > 5 * len(bk.mine(raw, min_support=0.05, max_size=3))


@pytest.mark.data
def test_one_honest_record_may_be_too_long_for_the_mechanism() -> None:
    """In groceries a record of 32 items counts for twice as many people as there are, for triples at cutoff 3."""
    raw = bk.Baskets.read(benchmark_file("groceries.dat.gz"))
    reports = bk.CutAndPaste(3, 0.2).randomize(raw, rng=bk.Seeded(1))
    with pytest.warns(bk.InfluenceWarning, match="records of 32 items"):
        bk.mine(reports, min_support=0.05, max_size=3)
    sampled = bk.Plan(raw.domain, bk.CutAndPaste(3, 0.2), bk.PrivacyUnit(max_size=10, longer="sample"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", bk.InfluenceWarning)
        bk.mine(sampled.randomize(raw, rng=bk.Seeded(1)), min_support=0.05, max_size=3)


def test_strata_of_its_own_are_looked_at_like_all_strata() -> None:
    """Lists of strata, of which each itemset has its own, against arrays of all of them."""
    rng = np.random.default_rng(3)
    told = []
    for _ in range(60):
        n_strata, n = int(rng.integers(1, 8)), 6
        records = rng.choice([1, 2, 3, 5, 40, 400], n_strata)
        shown = rng.integers(0, records[:, None] + 1, (n_strata, n))
        weights = rng.lognormal(0, 2, (n_strata, n, 2)) * np.array([-1, 1])
        cells = np.stack([records[:, None] - shown, shown], axis=2)
        found = Moments(
            value=np.zeros(n),
            second=np.zeros(n),
            squares=np.zeros((n_strata, n)),
            largest=np.zeros((n_strata, n)),
            top=np.zeros((n, TOP)),
            top_strata=np.zeros((n, TOP), np.int64),
        )
        sum_weights(
            cells, weights, found.value, found.second, found.squares, found.largest, found.top, found.top_strata
        )
        expected = carried_by_few(found, records)
        firsts = np.arange(n + 1) * n_strata
        listed = (np.abs(weights).transpose(1, 0, 2).reshape(-1, 2), cells.transpose(1, 0, 2).reshape(-1, 2))
        few = carried_in_lists(firsts, *listed, int(records.sum()))
        assert few.reports.tolist() == expected.reports.tolist()
        carried = few.reports > 0
        np.testing.assert_allclose(few.share[carried], expected.share[carried])
        np.testing.assert_allclose(few.weight[carried], expected.weight[carried])
        told += few.reports.tolist()
    assert 0 < sum(number > 0 for number in told) < len(told)


class TestQuestions:
    """A pair that one question of many tells of rests on those who were asked it."""

    DOMAIN = bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(20)])
    PLAN = bk.Plan(DOMAIN, bk.Ask(bk.Design.pairs(DOMAIN), gamma=19))
    PAIR = frozenset({"q0=yes", "q1=yes"})

    def reports(self, plan: bk.Plan, forged: int) -> bk.Reports:
        """Nobody says yes to anything, but for so many who pick the last answer to the first question."""
        assert isinstance(plan.domain, bk.TableDomain)
        table = bk.Table.from_codes(np.zeros((20_000, len(plan.domain.names)), int), plan.domain)
        honest = plan.randomize(table, rng=bk.Seeded(3))
        question, answer = honest.batch["question"].copy(), honest.batch["answer"].copy()
        question[:forged], answer[:forged] = 0, 3
        return bk.Reports(plan, Batch({"question": question, "answer": answer}), randomness="secure")

    def test_forgers_of_one_question_are_told_of(self) -> None:
        evidence = unbiased(self.reports(self.PLAN, 60))
        with pytest.warns(bk.InfluenceWarning) as caught:
            found = bk.estimate(evidence, [self.PAIR])
        assert found.value[0] > 0.3
        warning = caught[0].message
        assert isinstance(warning, bk.InfluenceWarning)
        assert set(warning.itemset) == self.PAIR
        assert 100 < warning.reports < 200, "those who were asked the question"
        with pytest.warns(bk.InfluenceWarning, match="A few reports carry 190 of"):
            mined = bk.mine(evidence, min_support=0.2, max_size=2)
        assert "reports among 20000" in mined.about["influence"]

    def test_questions_that_many_were_asked_come_without(self) -> None:
        domain = bk.TableDomain(self.DOMAIN.attributes[:7])
        plan = bk.Plan(domain, bk.Ask(bk.Design.pairs(domain), gamma=19))
        with warnings.catch_warnings():
            warnings.simplefilter("error", bk.InfluenceWarning)
            bk.mine(unbiased(self.reports(plan, 0)), min_support=0.2)

    def test_they_are_marked_where_too_many_were_asked(self) -> None:
        """Twice as many as the share of the question says; of honest people nobody is."""
        forged = self.reports(self.PLAN, 100)
        assert np.array_equal(bk.audit.implausible(forged), forged.batch["question"] == 0)
        assert not bk.audit.implausible(self.reports(self.PLAN, 0)).any()
