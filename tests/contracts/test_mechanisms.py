"""The contract of mechanisms, over all cases: JSON form, law, weights, variances, seeds, card, files, mining.

A new mechanism adds a case to ``cases.py``.  What the card promises is held against the law in ``test_promises.py``.
"""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from bosket.audit import poisoning
from bosket.cli import main
from bosket.mechanisms import Batch, PackedBits, RecordChannel
from tests.contracts.cases import CASES, Case, cells_shown, restricted, together
from tests.halves import few_quick
from tests.stats import assert_plausible, assert_rejected, chi_square

each = pytest.mark.parametrize("case", CASES, ids=str)
of_records = pytest.mark.parametrize(
    "case", [case for case in CASES if isinstance(case.channel, RecordChannel)], ids=str
)
"""Only channels of records state a transition."""


def test_every_mechanism_has_a_case() -> None:
    own = {known for known in bk.Mechanism.registry.values() if known.__module__.startswith("bosket.")}
    assert own == {type(case.mechanism) for case in CASES if type(case.mechanism).__module__.startswith("bosket.")}


@each
def test_plan_survives_json(case: Case) -> None:
    unit = bk.PrivacyUnit(max_size=None if case.is_table else 2, reports=3)
    plan = bk.Plan(case.domain, case.mechanism, unit)
    again = bk.Plan.from_json(plan.json)
    assert again == plan
    assert again.digest == plan.digest
    assert json.loads(plan.json)["bosket_plan"] == 1


# -- the law, and what undoes it ------------------------------------------------------------------------------------


@of_records
def test_the_law_of_a_few_items_is_a_margin(case: Case) -> None:
    """Rows sum to one, and are those of all items summed over the others; 0 where no record shows the pattern."""
    channel = case.channel
    assert isinstance(channel, RecordChannel)
    for rows in case.itemsets:
        for itemset in rows.tolist():
            seen: dict[tuple[int, int], set[int]] = {}
            for record in case.taken:
                ((stratum, law),) = cells_shown(case.law(record, {}), itemset).items()
                truth = restricted(record, itemset)
                np.testing.assert_allclose(channel.transition(tuple(itemset), stratum)[truth], law, atol=1e-12)
                seen.setdefault((stratum, truth), set()).add(record)
            for stratum in {stratum for stratum, _ in seen}:
                sums = channel.transition(tuple(itemset), stratum).sum(axis=1)
                shown = [(stratum, truth) in seen for truth in range(len(sums))]
                np.testing.assert_allclose(sums[shown], 1)
                assert (np.isclose(sums, 1) | (sums == 0)).all()


@each
def test_weights_undo_the_law(case: Case) -> None:
    """The weights of all reports, each as often as expected, add up to the support: of one record, and of several.

    So the estimate is unbiased where weights do not look at the reports, and consistent where they do.  Where K people
    are in a report, the estimate is a K-th root, which makes 1e-5 of a rounding error of 1e-15 at 0.
    """
    rounding = 1e-9 if case.channel.own == 1 else 1e-15 ** math.sqrt(case.channel.own)
    for population in [{record: 1.0} for record in case.taken] + [case.population]:
        law = together([(share, case.law(record, population)) for record, share in population.items()])
        assert sum(law.values()) == pytest.approx(1)
        for rows in case.itemsets:
            for itemset in rows.tolist():
                row = np.array([itemset], np.int32)
                found = 0.0
                for stratum, cells in cells_shown(law, itemset).items():
                    expected = 1e6 * cells[None, :]
                    weights = case.channel.weights(row, stratum, expected)  # type: ignore[arg-type]  # of no whole numbers
                    found += float(weights[0] @ cells)
                full = (1 << len(itemset)) - 1
                truth = sum(share for record, share in population.items() if restricted(record, itemset) == full)
                assert found == pytest.approx(truth, abs=rounding), (itemset, population)


@each
def test_no_record_has_less_variance_than_is_said(case: Case) -> None:
    """By enumeration; just as much, where any pattern can be that of a record and weights are known beforehand.

    Where records are cut it is a bound.
    """
    is_tight = not case.is_table and not case.channel.belong_together and case.unit is None
    for rows in case.itemsets:
        for itemset in rows.tolist():
            row = np.array([itemset], np.int32)
            variances: dict[int, list[float]] = {}
            for record in case.taken:
                cells = cells_shown(case.law(record, case.population), itemset)
                sums = np.zeros(2)
                for stratum, law in cells.items():
                    w = case.channel.weights(row, stratum, (1e6 * law)[None, :])[0]  # type: ignore[arg-type]  # as above
                    sums += law @ w, law @ (w * w)
                for stratum in cells:
                    variances.setdefault(stratum, []).append(sums[1] - sums[0] ** 2)
            for stratum, found in variances.items():
                least = float(case.channel.least_variances(row, stratum)[0])
                assert least >= -1e-10
                assert least == pytest.approx(min(found), abs=1e-9) if is_tight else least <= min(found) + 1e-9


@of_records
def test_variances_are_the_generic_ones(case: Case) -> None:
    channel = case.channel
    assert isinstance(channel, RecordChannel)
    for stratum in {channel.stratum_of(record.bit_count()) for record in case.taken}:
        for rows in case.itemsets:
            for itemset in rows.tolist():
                matrix = channel.transition(tuple(itemset), stratum)
                w = channel.weights(np.array([itemset], np.int32), stratum)[0]
                variances = matrix @ (w * w) - (matrix @ w) ** 2
                possible = matrix.sum(axis=1) > 0
                found = channel.record_variances(tuple(itemset), stratum)
                np.testing.assert_allclose(found[possible], variances[possible], atol=1e-10)


@each
def test_products_of_splits_are_sums_over_reports(case: Case) -> None:
    """w_A w_X and w_A w_(X - A) summed report by report, from the weights of each subset by themselves."""
    channel, rows = case.channel, case.itemsets[-1]
    k = rows.shape[1]
    for stratum in {stratum for record in case.taken for stratum, _ in case.law(record, case.population)}:
        cells = np.random.default_rng(5).integers(50, 200, (len(rows), 1 << k))
        with_whole, with_rest = channel.split_products(rows, stratum, cells)
        for row, itemset in enumerate(rows.tolist()):
            weights = np.empty((1 << k, 1 << k))
            for mask in range(1 << k):
                part = [item for place, item in enumerate(itemset) if mask >> place & 1]
                shown = [sum((y >> itemset.index(item) & 1) << j for j, item in enumerate(part)) for y in range(1 << k)]
                seen = np.zeros((1, 1 << len(part)), np.int64)
                for y, pattern in enumerate(shown):
                    seen[0, pattern] += cells[row, y]
                found = channel.weights(np.array([part], np.int32), stratum, seen)[0] if part else np.ones(1)
                weights[mask] = found[shown]
            for mask in range(1 << k):
                whole = sum(cells[row] * weights[mask] * weights[-1])
                rest = sum(cells[row] * weights[mask] * weights[(1 << k) - 1 - mask])
                assert with_whole[row, mask] == pytest.approx(whole, rel=1e-10, abs=1e-10)
                assert with_rest[row, mask] == pytest.approx(rest, rel=1e-10, abs=1e-10)


@each
def test_items_are_apart_where_the_channel_says_so(case: Case) -> None:
    """The law of what is shown is the product over items, each by its own truth alone, or it is not."""
    laws = {record: case.law(record, case.population) for record in case.taken}
    strata = {stratum for law in laws.values() for stratum, _ in law}
    n = len(case.domain)
    by_truth: dict[tuple[int, int], float] = {}
    is_product = len(strata) == 1 and not case.mechanism.sends_sizes
    for record, law in laws.items():
        ones = [sum(chance for (_, shown), chance in law.items() if shown >> item & 1) for item in range(n)]
        for item, one in enumerate(ones):
            is_product &= math.isclose(by_truth.setdefault((item, record >> item & 1), one), one, abs_tol=1e-12)
        for shown in range(1 << n):
            chance = math.prod(one if shown >> item & 1 else 1 - one for item, one in enumerate(ones))
            told = sum(law.get((stratum, shown), 0.0) for stratum in strata)
            is_product &= math.isclose(chance, told, abs_tol=1e-12)
    assert case.channel.items_apart == is_product


@each
def test_itemsets_are_alike_where_the_channel_says_so(case: Case) -> None:
    """Those of a size have the same weights and variances, so that one stands for all."""
    strata = {stratum for record in case.taken for stratum, _ in case.law(record, case.population)}
    for rows in case.itemsets if case.channel.items_alike else ():
        for stratum in strata:
            weights, least = case.channel.weights(rows, stratum), case.channel.least_variances(rows, stratum)
            np.testing.assert_allclose(weights, np.broadcast_to(weights[0], weights.shape), atol=1e-12)
            np.testing.assert_allclose(least, least[0], atol=1e-12)


@pytest.mark.slow
@each
def test_reports_follow_the_law(case: Case) -> None:
    """For each record, and for people with several, 400 000 reports; a law with 0.01 moved would be caught."""
    n = 400_000
    for record in set(case.possible) - set(case.taken):
        with pytest.raises(bk.DataError):
            case.plan.randomize(case.records({record: 1.0}, 4))
    for seed, population in enumerate([*({record: 1.0} for record in case.taken), case.population]):
        reports = case.plan.randomize(case.records(population, n), rng=bk.Seeded(seed))
        law = together([(share, case.law(record, population)) for record, share in population.items()])
        seen = case.shown(reports)
        assert seen.keys() <= law.keys()
        if len(law) < 2:
            continue
        chances = np.array(list(law.values()))
        numbers = [seen.get(outcome, 0) for outcome in law]
        assert_plausible(chi_square(numbers, chances))
        wrong = chances.copy()
        most = int(np.argmax(wrong))
        wrong[most] -= 0.01
        wrong[(most + 1) % len(wrong)] += 0.01
        assert_rejected(chi_square(numbers, wrong))


@each
def test_supports_are_near_the_truth(case: Case) -> None:
    """Within six standard errors, of every itemset that can be estimated; one that is off by 0.1 is not."""
    n = 200_000
    reports = case.reports(n, seed=11)
    raw = case.records(case.population, n)
    wanted = [{case.domain.labels[item] for item in row} for rows in case.itemsets[:2] for row in rows.tolist()]
    found, exact = bk.estimate(reports, wanted), bk.estimate(raw, wanted)
    assert (np.abs(found.value - exact.value) <= 6 * found.stderr + 1e-12).all()
    assert (6 * found.stderr < 0.1).all()


# -- chance, promises, copies ---------------------------------------------------------------------------------------


@each
def test_seeds_repeat_and_secure_runs_do_not(case: Case) -> None:
    raw = case.records(case.population, 2000)
    assert case.reports(seed=3) == case.reports(seed=3)
    assert case.reports(seed=3) != case.reports(seed=4)
    randomize = case.mechanism.randomize if case.unit is None else case.plan.randomize
    secure = randomize(raw)
    assert secure != randomize(raw)
    assert secure.randomness == "secure"
    assert not secure.is_simulation
    assert "protects nobody" in case.reports().randomness
    assert "protects nobody" in case.reports().guarantee.card()


@each
def test_guarantee_states_its_units(case: Case) -> None:
    guarantee = case.mechanism.guarantee(case.domain, max_size=None if case.is_table else 2)
    assert guarantee.item.epsilon <= guarantee.record.epsilon <= guarantee.person.epsilon
    assert all(part.unit for part in (guarantee.item, guarantee.record, guarantee.person))
    assert guarantee.record.unit in guarantee.card()
    json.dumps(guarantee.to_json(), allow_nan=False)
    several = case.mechanism.guarantee(case.domain, max_size=None if case.is_table else 2, reports=3)
    assert (guarantee.reports, several.reports) == (1, 3)
    assert several.person.unit in several.card()
    tells = case.mechanism.sends_sizes and not case.is_table  # records of a table all have one size
    assert any(line.startswith("  in the clear:") for line in guarantee.card().splitlines()) == tells
    assert bool(guarantee.reveals) == tells


@each
def test_no_report_weighs_more_than_is_said(case: Case) -> None:
    """Of all reports that somebody may honestly send, which those who are not honest may pick from too."""
    outcomes = {outcome for record in case.taken for outcome in case.law(record, case.population)}
    for rows in case.itemsets:
        said = case.channel.influence(rows.shape[1], 3)
        if case.mechanism.needs_curator:
            assert said is None  # nobody sends a report
            continue
        low, high, width = (0.0, 0.0, 0.0) if said is None else (said.low, said.high, said.width)  # no record has them
        for row in rows:
            found = [
                float(case.channel.weights(row[None, :], stratum)[0, restricted(shown, row.tolist())])
                for stratum, shown in outcomes
            ]
            assert low - 1e-9 <= min(found) <= max(found) <= high + 1e-9
            assert max(found) - min(found) <= width + 1e-9


@each
@pytest.mark.filterwarnings("ignore::bosket.HopelessPlanWarning")  # of four people
def test_mechanisms_survive_copying(case: Case) -> None:
    mechanism, reports = case.mechanism, case.reports(4)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert hash(pickle.loads(pickle.dumps(mechanism))) == hash(mechanism)
    assert mechanism != bk.Flip(keep=0.123)
    assert pickle.loads(pickle.dumps(reports)) == reports
    assert pickle.loads(pickle.dumps(reports.plan)) == reports.plan


# -- reports --------------------------------------------------------------------------------------------------------


@each
@pytest.mark.filterwarnings("ignore::bosket.HopelessPlanWarning")  # of four people
def test_reports_have_the_columns_of_their_payload(case: Case) -> None:
    """One less, one more, or values of another type are refused."""
    reports = case.reports(4)
    columns = dict(reports.batch.columns)
    assert list(columns) == [column.name for column in case.channel.payload.columns]
    wrong = [{name: values for name, values in columns.items() if name != left_out} for left_out in columns]
    wrong += [columns | {"more": np.zeros(4, np.int32)}]
    wrong += [columns | {name: values.astype(float)} for name, values in columns.items()]
    for one in wrong:
        with pytest.raises(bk.DataError):
            bk.Reports(reports.plan, Batch(one), randomness="secure")
    if isinstance(case.channel.payload, PackedBits):
        strata = None if reports.strata is not None else np.zeros(4, np.int32)
        with pytest.raises(bk.DataError, match="strata"):
            bk.Reports(reports.plan, reports.bits.copy(), strata=strata, randomness="secure")


@each
def test_reports_are_written_and_read(case: Case, tmp_path: Path) -> None:
    reports = case.reports()
    reports.write(tmp_path / "r.parquet")
    assert bk.Reports.read(tmp_path / "r.parquet", plan=reports.plan) == reports
    assert bk.Reports.from_bytes(reports.plan, reports.to_bytes()) == reports
    tally = bk.Tally.of(reports)
    tally.write(tmp_path / "t.parquet")
    assert bk.Tally.read(tmp_path / "t.parquet") == tally
    assert (tally.n_records, int(tally.counts.sum())) == (2000, 2000)
    assert reports.counts.tolist() == [1] * 2000
    assert case.shown(reports) == case.shown(tally)


@each
def test_batches_add_and_are_taken_apart_unless_they_belong_together(case: Case) -> None:
    one, other = case.reports(seed=1), case.reports(seed=2)
    if case.channel.belong_together:
        for act in (
            lambda: bk.Reports.concat([one, other]),
            lambda: one[:10],
            lambda: bk.Tally.of(one) + bk.Tally.of(other),
            lambda: bk.Tally.concat([one, other]),
        ):
            with pytest.raises(bk.DataError, match="batch by batch"):
                act()
        assert bk.Tally(one.plan) + bk.Tally.of(one) == bk.Tally.of(one)
        return
    both = bk.Reports.concat([one, other], allow_duplicates=True)
    assert both[:2000] == one
    tally = bk.Tally.of(one) + bk.Tally.of(other)
    assert tally == bk.Tally.of(both) == bk.Tally.concat([one, other], allow_duplicates=True)
    assert tally - bk.Tally.of(one) == bk.Tally.of(other)


@each
@pytest.mark.filterwarnings("ignore::bosket.InfluenceWarning")
def test_reports_and_their_tally_are_mined_alike(case: Case) -> None:
    """Itemsets, rules, a table of two items and what one report can do, from either."""
    reports = case.reports()
    tables = []
    for data in (reports, bk.Tally.of(reports)):
        found = bk.mine(data, min_support=0.1)
        assert len(found) > 0
        assert found.about["mechanism"] == str(case.mechanism)
        tables.append((found.to_frame(), found.rules(min_threshold=0.1)))
    for one, other in zip(*tables, strict=True):
        assert one.drop(columns="caution").equals(other.drop(columns="caution"))
    if len(case.itemsets) > 1:
        a, b = (case.domain.labels[item] for item in case.itemsets[1][0].tolist())
        assert bk.contingency(reports, {a}, {b}).value.sum() == pytest.approx(1)
    assert all(case.channel.recovers(size, ()) for size in poisoning(reports)["size"])


@pytest.mark.parametrize(
    "case", few_quick(case for case in CASES if all(isinstance(label, str) for label in case.domain.labels))
)  # files of text have no other labels
def test_every_plan_goes_through_the_command_line(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw, plan, reports = tmp_path / "raw.csv", tmp_path / "plan.json", tmp_path / "r.parquet"
    records = case.records(case.population, 2000)
    if isinstance(records, bk.Table):
        records.to_frame().to_csv(raw, index=False)
    else:
        records.write(raw)
    plan.write_text(case.plan.json)
    kind = type(case.mechanism)
    known = [] if kind.__module__.startswith("bosket.") else ["--mechanism", f"{kind.__module__}:{kind.__name__}"]
    words = ["randomize", str(raw), "-o", str(reports), "--plan", str(plan), "--seed", "1", *known]
    assert main([*words, *(["--table"] if case.is_table else [])]) == 0, capsys.readouterr().err
    assert len(bk.Reports.read(reports)) == 2000
    tally = tmp_path / "t.parquet"
    bk.Tally.of(bk.Reports.read(reports)).write(tally)
    capsys.readouterr()
    for command in ("mine", "rules"):
        told = []
        for path in (reports, tally):
            assert main([command, str(path), "--min-support", "0.1", "--format", "csv", *known]) == 0
            told.append(capsys.readouterr().out)
        assert told[0]
        assert told[0] == told[1]
