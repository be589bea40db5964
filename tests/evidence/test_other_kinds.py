"""Evidence of another kind than counted reports goes through mining, rules, tables and measures unchanged.

The kind here is a law over all records of four items, known up to a normal error: a stand-in for a fitted model.
Supports are sums over records, so their covariance is that of a multinomial, enumerated; nothing of it knows weights,
strata or counters.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from bosket.cli import main
from bosket.counting.base import ItemsetRows
from bosket.evidence import Evidence, Family, Kept, Provenance
from bosket.mining import ContingencyTable
from bosket.statistics.estimates import Floats
from tests.outside.asking import AskItems
from tests.outside.fitted import AskFitted

N = 20_000
LABELS = ["a", "b", "c", "d"]
LAW = np.random.default_rng(3).dirichlet(np.full(16, 0.7))
"""Probability of each record; bit j of its number stands for item j."""


class Law(Evidence):
    """A law over records, as if fitted to ``N`` reports and known as well as ``2 N`` raw records would tell it."""

    provenance = Provenance(mechanism="a fitted law", randomness="secure")
    n_records = N

    def __init__(self) -> None:
        self.domain = bk.Domain(LABELS)

    def family(self, rows: ItemsetRows, kept: Kept | None = None) -> LawFamily:
        return LawFamily(self, rows, kept)

    def sees(self, size: int) -> bool:
        return size <= 3


class LawFamily(Family):
    def holds(self, mask: int) -> Floats:
        records = np.arange(16)
        result: Floats = np.ones((len(self.rows), 16))
        for j in range(self.rows.shape[1]):
            if mask >> j & 1:
                result *= records >> self.rows[:, [j]] & 1
        return result

    def value(self, mask: int) -> Floats:
        result: Floats = N * self.holds(mask) @ LAW
        return result

    def covariance(self, masks: Sequence[int]) -> Floats:
        holds = np.stack([self.holds(mask) for mask in masks], axis=1)
        spread = np.diag(LAW) - np.outer(LAW, LAW)
        result: Floats = N / 2 * holds @ spread @ holds.transpose(0, 2, 1)
        return result


def truth(*items: str) -> float:
    mask = sum(1 << LABELS.index(item) for item in items)
    return float(LAW[[record for record in range(16) if record & mask == mask]].sum())


def test_it_is_mined_as_far_as_it_sees() -> None:
    found = bk.mine(Law(), min_support=0.1, slack=0)
    frequent = {
        frozenset(items): truth(*items) for items in _subsets() if len(items) <= 3 and truth(*items) >= 0.1 and items
    }
    assert dict(found) == pytest.approx(frequent)
    assert max(found.sizes) <= 3
    frame = found.to_frame()
    assert frame["observed"].isna().all()
    errors = dict(zip(frame["itemsets"], frame["stderr"], strict=True))
    for itemset, support in frequent.items():
        assert errors[itemset] == pytest.approx(np.sqrt(support * (1 - support) / 2 / N))
    assert found.about["mechanism"] == "a fitted law"


def _subsets() -> list[tuple[str, ...]]:
    return [tuple(label for j, label in enumerate(LABELS) if mask >> j & 1) for mask in range(16)]


def test_rules_have_the_errors_of_the_law() -> None:
    """Of a ratio x / a of multinomial shares, c (1 - c) / (n a), with half the variance here."""
    rules = bk.mine(Law(), min_support=0.02, slack=0).rules(min_threshold=0.1, sort_by="estimate")
    assert len(rules) > 10
    for _, rule in rules.iterrows():
        a, x = truth(*rule["antecedents"]), truth(*rule["antecedents"], *rule["consequents"])
        assert rule["confidence"] == pytest.approx(x / a)
        assert rule["confidence_stderr"] == pytest.approx(np.sqrt(x / a * (1 - x / a) / (2 * N * a)))


def test_named_itemsets_tables_and_measures() -> None:
    named = bk.estimate(Law(), [{"a", "b"}, {"b", "c"}], sampling=True)
    ab, bc, abc = truth("a", "b"), truth("b", "c"), truth("a", "b", "c")
    assert named.value == pytest.approx([ab, bc])
    assert named.covariance[0, 1] == pytest.approx(1.5 * (abc - ab * bc) / N)
    table: ContingencyTable = bk.contingency(Law(), {"a"}, {"b", "c"})
    cell = truth("a") - abc
    assert table.value[1, 0] == pytest.approx(cell)
    assert table.stderr[1, 0] == pytest.approx(np.sqrt(cell * (1 - cell) / 2 / N))
    assert table.measure("lift").value == pytest.approx(abc / truth("a") / bc)
    partial = bk.partial_supports(Law(), ["a", "b"])
    assert partial.value.sum() == pytest.approx(1.0)
    assert bk.confidence(Law(), {"a"}, {"b"}).value == pytest.approx(ab / truth("a"))
    frame = bk.mine(Law(), min_support=0.1, slack=0).to_frame(measures=["lift"])
    assert frame["lift_stderr"].notna().any()


def test_what_it_cannot_say_is_refused() -> None:
    found = bk.mine(Law(), min_support=0.1)
    with pytest.raises(bk.ParameterError, match="p-values"):
        found.rules(adjust="by", min_threshold=0.1)
    with pytest.raises(bk.DataError, match="proves none"):
        bk.dependent_pairs(Law())
    with pytest.raises(bk.ParameterError, match="drawn again"):
        bk.contingency(Law(), {"a"}, {"b"}).bootstrap("lift", replicates=10)


class TestFittedToReports:
    """Evidence that is not linear, registered for a channel from outside: ``tests/outside/fitted.py``."""

    RAW = bk.Baskets([["a", "b"], ["a", "b", "c"], ["d"], ["a", "b", "d"], []], items=LABELS).repeat(4000)
    REPORTS = AskFitted(size=2, keep=0.8).randomize(RAW, rng=bk.Seeded(5))

    def test_supports_are_margins_of_one_law(self) -> None:
        """Near the truth, beyond what single answers tell of too; consistent, and the same from a tally."""
        wanted = [{"a"}, {"a", "b"}, {"a", "c"}, {"c", "d"}, {"a", "b", "c"}]
        found, exact = bk.estimate(self.REPORTS, wanted), bk.estimate(self.RAW, wanted)
        assert (np.abs(found.value - exact.value)[:4] < 6 * found.stderr[:4]).all()
        assert (found.stderr[:4] < 0.03).all()
        assert found.value[1] >= found.value[4] >= 0
        assert np.linalg.eigvalsh(found.covariance).min() > -1e-12
        tally = bk.estimate(bk.Tally.of(self.REPORTS), wanted)
        np.testing.assert_allclose(tally.value, found.value)
        np.testing.assert_allclose(tally.stderr, found.stderr)
        plain = bk.Reports(bk.Plan(self.RAW.domain, AskItems(2, 0.8)), self.REPORTS.batch, randomness="secure")
        with pytest.raises(bk.SingularChannelError):
            bk.estimate(plain, wanted)

    def test_all_that_reads_evidence_reads_it(self) -> None:
        found = bk.mine(self.REPORTS, min_support=0.3, slack=0)
        assert {frozenset("a"), frozenset("b"), frozenset("ab")} <= set(dict(found))
        assert found.about["mechanism"] == "AskFitted(size=2, keep=0.8)"
        assert found.about["plan"] == self.REPORTS.plan.digest
        assert found.about["model"] == "one law, 0.5 records of each kind before"
        assert "model" not in bk.mine(AskItems(2, 0.8).randomize(self.RAW), min_support=0.5).about
        rules = found.rules(min_threshold=0.5)
        (rule,) = rules[rules["antecedents"] == frozenset("a")].to_dict("records")
        assert abs(rule["confidence"] - 1) < 6 * rule["confidence_stderr"] < 0.5
        table = bk.contingency(self.REPORTS, {"a"}, {"b"})
        assert abs(table.value[1, 1] - 0.6) < 6 * table.stderr[1, 1]

    def test_files_and_the_command_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.REPORTS.write(tmp_path / "r.parquet")
        bk.Tally.of(self.REPORTS).write(tmp_path / "t.parquet")
        told = []
        for name in ("r", "t"):
            words = [str(tmp_path / f"{name}.parquet"), "--min-support", "0.3", "--format", "csv"]
            assert main(["rules", *words, "--mechanism", "tests.outside.fitted:AskFitted"]) == 0
            told.append(capsys.readouterr().out)
        assert told[0].count("\n") > 1
        assert told[0] == told[1]
