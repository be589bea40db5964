"""Best-response poison: which laws of reports no honest people give, what is flagged, and what is left to bounds."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import bosket as bk
from bosket.audit import cells
from bosket.audit.cells import _Means, _worst, cell_weights, log_tail, upper_bounds
from bosket.mechanisms import RecordChannel
from bosket.mechanisms.payload import Batch

LABELS = list("abcdefgh")
N = 200_000
ABCDE = 0b11111


def plan_of(mechanism: bk.Mechanism, **unit: Any) -> bk.Plan:
    return bk.Plan(bk.Domain(LABELS), mechanism, bk.PrivacyUnit(**unit))


def honest(plan: bk.Plan, n: int, seed: int) -> bk.Reports:
    """A tenth has a, a tenth b and c, the others nothing."""
    kinds = [["a"], ["b", "c"], *[[]] * 8]
    return plan.randomize(bk.Baskets([kinds[at % 10] for at in range(n)], items=LABELS), rng=bk.Seeded(seed))


def poisoned(reports: bk.Reports, target: int, fraction: float = 0.01, keep: int | None = None) -> bk.Reports:
    """The first people pick the report that weighs most: all of the target, and of other items what they drew."""
    bits = reports.bits.copy()
    forged = int(fraction * len(bits))
    bits[:forged] = (bits[:forged] & ~np.uint64(target)) | np.uint64(target if keep is None else keep)
    columns = {"report": bits} | ({} if reports.strata is None else {"stratum": reports.strata})
    return bk.Reports(reports.plan, Batch(columns), randomness="simulation: forged")


@pytest.mark.parametrize(
    "mechanism, unit",
    [
        (bk.Flip(keep=0.6), {}),
        (bk.Flip(keep=0.5, keep_absent=0.97), {}),
        (bk.CutAndPaste(cutoff=3, insert=0.2), {"max_size": 5}),
    ],
)
def test_weights_of_cells_read_the_channel_back(mechanism: bk.Mechanism, unit: dict[str, int]) -> None:
    """The transition matrix times the weights is the identity: the mean weight of a cell is its share."""
    channel = plan_of(mechanism, **unit).channel
    assert isinstance(channel, RecordChannel)
    for stratum in [None] if not unit else [3, 5]:
        matrix = channel.transition((0, 2, 5), stratum)
        weights = cell_weights(channel, (0, 2, 5), stratum)
        assert np.allclose(matrix @ weights.T, np.eye(8), atol=1e-9)


def test_bounds_hold_by_enumeration() -> None:
    """All outcomes of a few people, whatever their records: the stated chance of a flag is never exceeded.

    Each of two kinds of people draws a pattern of one item by its row; the share of those who have it is estimated,
    and the bound is worked out for every possible outcome.
    """
    matrix = np.array([[0.8, 0.2], [0.2, 0.8]])
    weights = np.linalg.inv(matrix).T
    for n, with_item in product((6, 40), (0, 1, 3)):
        law = np.convolve(
            binom.pmf(np.arange(n - with_item + 1), n - with_item, 0.2),
            binom.pmf(np.arange(with_item + 1), with_item, 0.8),
        )
        for beta in (1e-3, 0.05, 0.5):
            flagged = sum(
                chance
                for shown, chance in enumerate(law)
                if _worst([_Means.of(np.array([n - shown, shown]), weights)], 1, beta)[0][3] <= beta
            )
            assert flagged <= beta


@pytest.mark.parametrize("n, p", [(20, 0.05), (60, 0.3)])
def test_upper_bounds_and_tails_by_enumeration(n: int, p: float) -> None:
    """Each of the two halves on its own: how often a frequency lies above its bound, and a mean below its share."""
    numbers = np.arange(n + 1)
    law = binom.pmf(numbers, n, p)
    for delta in (0.01, 0.2):
        most = upper_bounds(numbers / n, n, float(np.log(1 / delta)))
        assert law[most < p].sum() <= delta
        assert (most >= numbers / n).all()
    weights = np.array([-p / (1 - p), 1.0])  # a mean of 0 under this law
    for number in range(n + 1):
        share = float((weights * [n - number, number]).sum() / n)
        if share < 0:
            assert law[: number + 1].sum() <= np.exp(log_tail(weights, np.array([1 - p, p]), share, n)) * (1 + 1e-9)


def test_best_responses_are_flagged_where_no_honest_people_give_them() -> None:
    """One in a hundred shows all of five items, by keep 0.6: a support moves by 2.43, and a share is -1.6."""
    plan = plan_of(bk.Flip(keep=0.6))
    sent = honest(plan, N, 1)
    targets = [set("abcde"), set("ab"), {"a"}]
    frame = bk.audit.contradictions(sent, targets)
    assert not frame.is_flagged.any()
    assert (frame.chance == 1).all(), "nothing is near"
    attacked = bk.audit.contradictions(poisoned(sent, ABCDE), targets)
    assert attacked.is_flagged.tolist() == [True, False, False]
    assert attacked.chance[0] == 1e-6, "no bound below the level is claimed"
    assert attacked.share[0] == pytest.approx(-1.62, abs=1.0)
    assert len(attacked.absent[0]) == 1, "all items but one: that is where a forged report counts most below nothing"
    assert not bk.audit.implausible(poisoned(sent, ABCDE)).any(), "each one looks like an honest report"


@pytest.mark.slow
def test_an_itemset_that_is_made_to_vanish_is_flagged() -> None:
    """Forgers who lower a support show all items but one; and who states long records, with sizes in the clear."""
    plan = plan_of(bk.Flip(keep=0.7))
    sent = plan.randomize(bk.Baskets([["a"]] * N, items=LABELS), rng=bk.Seeded(3))
    attacked = bk.audit.contradictions(poisoned(sent, 0b111, 0.02, keep=0b110), [set("abc")])
    assert attacked.is_flagged[0]
    cut = plan_of(bk.CutAndPaste(cutoff=3, insert=0.2), max_size=8)
    sent = cut.randomize(bk.Baskets([LABELS[at % 8 :] for at in range(N)], items=LABELS), rng=bk.Seeded(3))
    assert not bk.audit.contradictions(sent, [set("abc"), set("fgh")]).is_flagged.any()
    assert bk.audit.contradictions(poisoned(sent, 0b111, 0.05), [set("abc")]).is_flagged[0]


@pytest.mark.slow
def test_what_some_honest_people_give_is_flagged_by_nobody() -> None:
    """Where every cell is filled enough, poison is the very law of other honest people: by the exact laws.

    The influence stands beside it, and the robust interval holds the support of those who were honest.
    """
    plan = plan_of(bk.Flip(keep=0.8))
    channel = plan.channel
    assert isinstance(channel, RecordChannel)
    matrix, people = channel.transition((0, 1), None), np.full(4, 0.25)
    poison = 0.99 * people @ matrix + 0.01 * np.array([0, 0, 0, 1.0])
    other = np.linalg.solve(matrix.T, poison)
    assert other.min() > 0, "these people exist"
    assert np.allclose(other @ matrix, poison)
    moved = float(other[3] - people[3])
    influence = channel.influence(2)
    assert influence is not None
    assert 0.01 < moved <= influence.shift(0.01)
    kinds = [[], ["a"], ["b"], ["a", "b"]]
    sent = plan.randomize(bk.Baskets([kinds[at % 4] for at in range(N)], items=LABELS), rng=bk.Seeded(2))
    attacked = poisoned(sent, 0b11)
    assert not bk.audit.contradictions(attacked, [set("ab")]).is_flagged[0]
    robust = bk.audit.robust(attacked, [set("ab")], level=1 - 1e-9, rng=bk.Seeded(5))
    assert robust.low[0] <= 0.25 <= robust.high[0]


def test_reports_that_one_person_repeats_count_once() -> None:
    """Two hundred copies of each report, by a memo, say no more than one: the plan says that they may come."""
    for times, is_suspect in ((200, False), (1, True)):
        plan = plan_of(bk.Flip(keep=0.6), reports=times)
        one = honest(plan, 1000, 4)
        again = bk.Reports(plan, np.repeat(one.bits, 200, axis=0), randomness="secure")
        targets = [set(some) for some in combinations("defgh", 3)]
        assert bk.audit.contradictions(again, targets).is_flagged.any() == is_suspect
        assert bk.audit.collected(again).is_convicted == is_suspect


@pytest.mark.parametrize("itemsets", [[set("abcdefg")], ["a"], [[]]])
def test_what_is_refused(itemsets: list[object]) -> None:
    plan = plan_of(bk.Flip(keep=0.6))
    with pytest.raises(bk.BosketError):
        bk.audit.contradictions(honest(plan, 10, 1), itemsets)  # type: ignore[arg-type]  # on purpose


def test_of_a_table_and_of_answers() -> None:
    table = bk.TableDomain([bk.Attribute("x", ["p", "q"]), bk.Attribute("y", ["r", "s"])])
    plan = bk.Plan(table, bk.GammaDiagonal(19.0))
    rows = bk.Table([{"x": "p", "y": "r"}] * 500, table)
    sent = plan.randomize(rows, rng=bk.Seeded(1))
    labels = plan.domain.labels
    assert not bk.audit.contradictions(sent, [{labels[0], labels[2]}]).is_flagged[0]
    with pytest.raises(bk.DataError, match="different attributes"):
        bk.audit.contradictions(sent, [{labels[0], labels[1]}])
    asked = bk.Plan(table, bk.Ask(bk.Design.pairs(table), 19.0))
    with pytest.raises(bk.DataError, match="packed bits"):
        bk.audit.contradictions(asked.randomize(rows, rng=bk.Seeded(1)), [{labels[0]}])


@pytest.mark.slow
@pytest.mark.parametrize(("n_items", "limit", "epsilon", "n"), [(60, 3, 10.0, 300), (200, 3, 12.0, 1000)])
def test_sizes_that_nobody_stated_are_reckoned_with(n_items: int, limit: int, epsilon: float, n: int) -> None:
    """Coins decide which size is stated; the rare ones weigh most, and what is left without them lies below 0.

    Of honest studies half were flagged.
    """
    items = list(range(n_items))
    unit = bk.PrivacyUnit(max_size=limit, longer="sample", state_sizes_to=n_items, size_epsilon=epsilon)
    plan = bk.Plan(bk.Domain(items), bk.Flip(keep=0.9), unit)
    people = bk.Baskets([items[:limit]] * n, items=items)
    for seed in range(10):
        reports = plan.randomize(people, rng=bk.Seeded(seed))
        assert not bk.audit.contradictions(reports, [set(items[:limit])]).is_flagged.any()


def test_reports_that_are_all_alike_are_flagged() -> None:
    """They have no standard error; nothing contradicts honesty more."""
    plan = bk.Plan(bk.Domain(["a", "b", "c"]), bk.Flip(keep=0.6))
    alike = bk.Reports(plan, np.full((3879, 1), 7, np.uint64), randomness="secure")
    (row,) = bk.audit.contradictions(alike, [{"a", "b", "c"}]).to_dict("records")
    assert row["stderr"] == 0
    assert row["share"] < -1
    assert row["is_flagged"]


def test_many_stated_sizes_take_no_longer_for_each_itemset(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 sizes, of a report each, took a collector 200 s for its pairs: weights and bounds of each, for every pair."""
    labels = list(range(40))
    plan = bk.Plan(bk.Domain(labels), bk.CutAndPaste(cutoff=5, insert=0.1), bk.PrivacyUnit(max_size=40))
    people = bk.Baskets([labels[:size] for size in range(1, 41)] * 2, items=labels)
    reports = plan.randomize(people, rng=bk.Seeded(1))
    weighed: list[Any] = []
    parts: list[int] = []

    def counted(channel: Any, itemset: tuple[int, ...], stratum: int | None) -> Any:
        weighed.append(stratum)
        return cell_weights(channel, itemset, stratum)

    def looked(means: Any, repeats: int, beta: float) -> Any:
        parts.append(len(means))
        return _worst(means, repeats, beta)

    def bounded(often: Any, n: Any, needed: Any) -> Any:
        assert len(often) == 40 * 4, "of all together: strata of two people tell nothing"
        return upper_bounds(often, n, needed)

    monkeypatch.setattr(cells, "cell_weights", counted)
    monkeypatch.setattr(cells, "_worst", looked)
    monkeypatch.setattr(cells, "_MOST_STRATA", 16)
    monkeypatch.setattr(cells, "upper_bounds", bounded)
    found = bk.audit.contradictions(reports, combinations(labels[:8], 2))
    assert not found.is_flagged.any()
    assert sorted(weighed) == list(range(1, 41)), "once each"
    assert set(parts) == {17}
    monkeypatch.setattr(cells, "_MOST_WEIGHTS", 600)
    with pytest.raises(bk.DataError, match="fewer strata than 40"):
        bk.audit.contradictions(reports, [labels[:3]])
