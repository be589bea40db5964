"""Plans and reports: canonical JSON, digests, files that are whole or refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket.reports import is_report_file
from tests.stats import assert_plausible, assert_rejected, chi_square

labels = st.text(max_size=8) | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
label_sets = st.lists(labels | st.tuples(labels, labels), min_size=1, max_size=12, unique_by=lambda x: x)


@given(label_sets, st.floats(0, 1), st.none() | st.floats(0, 1))
def test_plan_json_is_canonical(items: list[object], keep: float, absent: float | None) -> None:
    plan = bk.Plan(bk.Domain(items), bk.Flip(keep=keep, keep_absent=absent))
    again = bk.Plan.from_json(plan.json)
    assert again == plan
    assert again.json == plan.json
    assert [type(label) for label in again.domain.labels] == [type(label) for label in items]
    assert plan.json == json.dumps(json.loads(plan.json), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def test_digest_changes_with_everything_that_matters() -> None:
    plans = [
        bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.9)),
        bk.Plan(bk.Domain(["b", "a"]), bk.Flip(keep=0.9)),
        bk.Plan(bk.Domain(["a", "b"], is_declared=False), bk.Flip(keep=0.9)),
        bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.8)),
        bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.9, keep_absent=0.95)),
        bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.9), bk.PrivacyUnit(max_size=1)),
        bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.9), bk.PrivacyUnit(reports=2)),
    ]
    assert len({plan.digest for plan in plans}) == len(plans)
    # the digest names studies that are out in the world: it must not drift
    assert plans[0].digest == "017a924c1e3592f077a85c461cd2a10368b669ca3a19ab37280b0fe4ec846f9b"


def test_plan_must_make_sense() -> None:
    with pytest.raises(bk.ParameterError):
        bk.Plan(bk.Domain([]), bk.Flip(keep=0.9))
    with pytest.raises(bk.ParameterError):
        bk.Plan(bk.Domain(["a"]), bk.Flip(keep={"b": 0.7}, default=0.9))
    for text in (
        "",
        "{}",
        "[]",
        '{"bosket_plan": 1}',
        '{"bosket_plan": 99}',
        '{"bosket_plan":1,"mechanism":{"name":"x"}}',
    ):
        with pytest.raises(bk.DataError):
            bk.Plan.from_json(text)
    with pytest.raises(bk.DataError, match="cannot be written"):
        _ = bk.Plan(bk.Domain([frozenset("a")]), bk.Flip(keep=0.9)).json


def test_plan_refuses_what_it_does_not_know() -> None:
    plan = bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.9), bk.PrivacyUnit(max_size=1))
    with pytest.raises(bk.DataError) as caught:
        plan.randomize(bk.Baskets([["a"], ["secret"]]))
    assert "secret" not in str(caught.value)
    with pytest.raises(bk.DataError, match="Record 2"):
        plan.randomize(bk.Baskets([["a"], ["a", "b"]]))
    assert plan.randomize(bk.Baskets([["b"]])).domain.labels == ("a", "b")
    with pytest.raises(bk.DataError, match="cannot"):
        bk.Flip(keep=0.9).randomize(plan.randomize(bk.Baskets([["b"]])))  # type: ignore[arg-type]


@pytest.fixture
def reports() -> bk.Reports:
    baskets = bk.Baskets([["a", "b"], ["c"], [], ["a"]] * 100, items=["a", "b", "c"])
    return bk.Flip(keep={"a": 0.7}, default=0.9).randomize(baskets, rng=bk.Seeded(1))


@pytest.mark.parametrize("n_items", [1, 8, 9, 63, 64, 65, 200])
def test_files_round_trip(tmp_path: Path, n_items: int) -> None:
    baskets = bk.Baskets([range(0, n_items, 2), range(n_items), []], items=range(n_items))
    reports = bk.Flip(keep=0.9).randomize(baskets, rng=bk.Seeded(n_items))
    reports.write(tmp_path / "r.parquet")
    again = bk.Reports.read(tmp_path / "r.parquet", plan=reports.plan)
    assert again == reports
    assert again.randomness == reports.randomness
    assert again.is_simulation
    assert bk.Flip(keep=0.9).randomize(baskets).is_simulation is False


def test_strata_and_empty_reports_round_trip(tmp_path: Path) -> None:
    baskets = bk.Baskets([range(size % 5) for size in range(20)], items=range(70))
    with_strata = bk.CutAndPaste(cutoff=3, insert=0.2).randomize(baskets, rng=bk.Seeded(5))
    with_strata.write(tmp_path / "s.parquet")
    again = bk.Reports.read(tmp_path / "s.parquet")
    assert again == with_strata
    assert again.counter().strata == (0, 1, 2, 3, 4)
    nobody = bk.Flip(keep=0.9).randomize(bk.Baskets([], items=["a"]))
    nobody.write(tmp_path / "n.parquet")
    assert bk.Reports.read(tmp_path / "n.parquet") == nobody


def test_file_is_readable_by_others(tmp_path: Path, reports: bk.Reports) -> None:
    """Bit i of byte j is item 8 j + i, and the plan stands in the metadata, for DuckDB, Polars or Spark to read."""
    reports.write(tmp_path / "r.parquet")
    table = pq.read_table(tmp_path / "r.parquet")
    assert [row[0] for row in table["report"].to_pylist()] == reports.bits[:, 0].tolist()
    assert json.loads(table.schema.metadata[b"bosket.plan"])["mechanism"]["name"] == "flip"
    assert b"protects nobody" in table.schema.metadata[b"bosket.randomness"]
    assert is_report_file(tmp_path / "r.parquet")


def test_another_plan_is_refused(tmp_path: Path, reports: bk.Reports) -> None:
    path = tmp_path / "r.parquet"
    reports.write(path)
    with pytest.raises(bk.PlanMismatchError) as caught:
        bk.Reports.read(path, plan=bk.Plan(reports.domain, bk.Flip(keep=0.9)))
    assert caught.value.path == path
    table = pq.read_table(path)
    forged = dict(table.schema.metadata) | {
        b"bosket.plan": table.schema.metadata[b"bosket.plan"].replace(b"0.9", b"0.8")
    }
    pq.write_table(table.replace_schema_metadata(forged), path)
    with pytest.raises(bk.PlanMismatchError, match="digest"):
        bk.Reports.read(path)


def test_broken_files_are_refused(tmp_path: Path, reports: bk.Reports) -> None:
    whole = tmp_path / "r.parquet"
    reports.write(whole)
    data = whole.read_bytes()
    broken = tmp_path / "broken.parquet"
    for content in (b"", data[: len(data) // 2], data[:-10], b"PAR1" + bytes(100), b"not parquet at all\n"):
        broken.write_bytes(content)
        with pytest.raises(bk.DataError) as caught:
            bk.Reports.read(broken)
        assert caught.value.path == broken
        assert not is_report_file(broken)
    rotten = bytearray(data)
    rotten[60] ^= 0x10  # one bit of the reports themselves: the page checksum does not match
    broken.write_bytes(rotten)
    with pytest.raises(bk.DataError, match="cannot be read"):
        bk.Reports.read(broken)
    with pytest.raises(bk.DataError, match="no file"):
        bk.Reports.read(tmp_path / "absent.parquet")
    with pytest.raises(bk.DataError):
        bk.Reports.read(tmp_path)


def test_wrong_number_of_bits_is_refused(tmp_path: Path, reports: bk.Reports) -> None:
    path = tmp_path / "r.parquet"
    reports.write(path)
    table = pq.read_table(path)
    metadata = table.schema.metadata
    for width, value in ((2, b"\1\0"), (1, b"\x08")):  # two bytes for three items; a fourth bit set
        column = pa.array([value] * 3, pa.binary(width))
        pq.write_table(pa.table({"report": column}).replace_schema_metadata(metadata), path)
        with pytest.raises(bk.DataError, match="bits"):
            bk.Reports.read(path)
    pq.write_table(pa.table({"report": pa.array([b"\1", None], pa.binary(1))}).replace_schema_metadata(metadata), path)
    with pytest.raises(bk.DataError):
        bk.Reports.read(path)
    pq.write_table(pa.table({"other": [1]}).replace_schema_metadata(metadata), path)
    with pytest.raises(bk.DataError, match="bits"):
        bk.Reports.read(path)


def test_baskets_and_reports_are_not_confused(tmp_path: Path, reports: bk.Reports) -> None:
    reports.write(tmp_path / "r.parquet")
    bk.Baskets([["a"]]).write(tmp_path / "b.parquet")
    with pytest.raises(bk.DataError, match="reports"):
        bk.Baskets.read(tmp_path / "r.parquet")
    with pytest.raises(bk.DataError, match="does not hold reports"):
        bk.Reports.read(tmp_path / "b.parquet")
    assert not is_report_file(tmp_path / "b.parquet")


def test_an_interrupted_write_leaves_the_old_file(
    tmp_path: Path, reports: bk.Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.parquet"
    path.write_text("old")
    for problem in (KeyboardInterrupt(), OSError(28, "No space left on device")):

        def fail(*_: object, problem: BaseException = problem, **__: object) -> None:
            raise problem

        with monkeypatch.context() as patch:
            patch.setattr(pq.ParquetWriter, "write_table", fail)
            with pytest.raises((KeyboardInterrupt, bk.DataError)):
                reports.write(path)
        assert path.read_text() == "old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["r.parquet"]


def test_bits_that_do_not_fit_the_plan_are_refused(reports: bk.Reports) -> None:
    for bits in (np.zeros((5, 2), np.uint64), np.zeros((5, 1), np.int64), np.zeros(5, np.uint64)):
        with pytest.raises(bk.DataError, match="words"):
            bk.Reports(reports.plan, bits, randomness="secure")  # type: ignore[arg-type]  # int64 among them  # type: ignore[arg-type]
    with pytest.raises(bk.DataError, match="stratum"):
        bk.Reports(reports.plan, np.zeros((5, 1), np.uint64), strata=np.zeros(4, np.int32), randomness="secure")


def test_reports_cannot_be_changed(reports: bk.Reports) -> None:
    with pytest.raises(ValueError, match="read-only"):
        reports.bits[0, 0] = 0


def test_reports_of_one_plan_can_be_put_together_and_taken_apart(reports: bk.Reports) -> None:
    half = len(reports) // 2
    assert bk.Reports.concat([reports[:half], reports[half:]]) == reports
    chosen = np.arange(len(reports)) % 3 == 0
    assert reports[chosen].n_records == int(chosen.sum())
    plan = reports.plan
    collected = bk.Reports.concat(plan.randomize(bk.Baskets([["a"]], items=["a", "b", "c"])) for _ in range(5))
    assert collected.n_records == 5
    assert not collected.is_simulation
    assert bk.Reports.concat([collected, reports]).is_simulation, "one seeded part spoils the whole"
    with pytest.raises(bk.PlanMismatchError):
        bk.Reports.concat([reports, bk.Flip(keep=0.9).randomize(bk.Baskets([["a"]]))])
    with pytest.raises(bk.DataError, match="no reports"):
        bk.Reports.concat([])


def test_wrong_types_are_told_in_words(tmp_path: Path, reports: bk.Reports) -> None:
    baskets = bk.Baskets([["a"]])
    for rng in (7, np.random.default_rng(1), bk.Seeded):
        with pytest.raises(bk.ParameterError) as caught:
            bk.Flip(keep=0.9).randomize(baskets, rng=rng)  # type: ignore[arg-type]
        assert caught.value.parameter == "rng"
        assert "Seeded(7)" in str(caught.value.hint)
    assert bk.Plan(["a", "b"], bk.Flip(keep=0.9)).domain.labels == ("a", "b")  # type: ignore[arg-type]  # labels will do
    with pytest.raises(bk.ParameterError):
        bk.Plan(bk.Domain(["a"]), 0.9)  # type: ignore[arg-type]
    with pytest.raises(bk.DataError):
        reports.plan.randomize([["a"]])
    with pytest.raises(bk.ParameterError):
        bk.Reports.read(tmp_path / "r.parquet", plan="plan.json")  # type: ignore[arg-type]
    with pytest.raises(bk.DataError, match="parquet"):
        reports.write(tmp_path / "r.csv")
    with pytest.raises(bk.DataError, match="string"):
        bk.Domain("abc")


class TestSizePolicy:
    """What a plan does with records longer than it takes: refuse them, or sample them down, never silently."""

    BASKETS = bk.Baskets([["a"], ["a", "b", "c", "d"], ["b", "c"]], items=["a", "b", "c", "d", "e"])

    def test_longer_records_are_refused_by_default(self) -> None:
        plan = bk.Plan(self.BASKETS.domain, bk.CutAndPaste(3, {1: 0.2, 2: 0.3}))
        assert plan.max_size == 2
        with pytest.raises(bk.DataError, match="Record 2 has more items than the 2") as caught:
            plan.randomize(self.BASKETS)
        assert caught.value.hint is not None
        assert "sample" in caught.value.hint

    def test_sampling_is_written_in_the_plan_and_on_the_card(self) -> None:
        mechanism = bk.CutAndPaste(3, {1: 0.2, 2: 0.3})
        plan = bk.Plan(self.BASKETS.domain, mechanism, bk.PrivacyUnit(longer="sample"))
        assert plan.digest != bk.Plan(self.BASKETS.domain, mechanism).digest
        assert bk.Plan.from_json(plan.json) == plan
        assert '"longer":"sample"' in plan.json
        assert "longer" not in bk.Plan(self.BASKETS.domain, mechanism).json
        assert "more than 2 items" in plan.guarantee.card()
        reports = plan.randomize(self.BASKETS, rng=bk.Seeded(1))
        assert reports.strata is not None
        assert reports.strata.tolist() == [1, 2, 2]

    def test_every_choice_of_items_is_equally_likely(self) -> None:
        """With nothing randomized away, what is left of {a, b, c, d} is each of its six pairs as often."""
        mechanism = bk.SelectASize({2: [0.0, 0.0, 1.0]}, insert=0.0)
        plan = bk.Plan(self.BASKETS.domain, mechanism, bk.PrivacyUnit(max_size=2, longer="sample"))
        n = 60_000
        reports = plan.randomize(self.BASKETS[1:2].repeat(n), rng=bk.Seeded(2))
        _, counts = np.unique(reports.bits[:, 0], return_counts=True)
        assert len(counts) == 6
        assert_plausible(chi_square(counts, np.full(6, 1 / 6)))
        assert_rejected(chi_square(counts, [0.2, 0.16, 0.16, 0.16, 0.16, 0.16]))

    def test_mechanisms_without_sizes_can_sample_too(self) -> None:
        plan = bk.Plan(self.BASKETS.domain, bk.Flip(keep=1.0), bk.PrivacyUnit(max_size=1, longer="sample"))
        reports = plan.randomize(self.BASKETS, rng=bk.Seeded(3))
        assert np.bitwise_count(reports.bits[:, 0]).tolist() == [1, 1, 1]

    def test_there_must_be_a_size_to_sample_to(self) -> None:
        with pytest.raises(bk.ParameterError, match="max_size"):
            bk.Plan(self.BASKETS.domain, bk.CutAndPaste(3, 0.2), bk.PrivacyUnit(longer="sample"))
        with pytest.raises(bk.ParameterError):
            bk.PrivacyUnit(longer="drop")  # type: ignore[arg-type]

    def test_reports_beyond_the_promise_are_refused(self) -> None:
        plan = bk.Plan(self.BASKETS.domain, bk.CutAndPaste(3, 0.2), bk.PrivacyUnit(max_size=2))
        for strata in (np.array([1, 4], np.int32), np.array([1.0, 2.0])):
            with pytest.raises(bk.DataError):
                bk.Reports(plan, np.zeros((2, 1), np.uint64), strata=strata, randomness="secure")

    @pytest.mark.parametrize("mechanism", [bk.CutAndPaste(3, 0.2), bk.Replace(0.3)], ids=str)
    def test_a_plan_that_sends_sizes_must_declare_the_largest(self, mechanism: bk.Mechanism) -> None:
        """Or anybody could state a record of all items, the weight of which is that of thousands."""
        with pytest.raises(bk.ParameterError) as caught:
            bk.Plan(self.BASKETS.domain, mechanism)
        assert (caught.value.parameter, caught.value.value) == ("max_size", None)
        assert caught.value.hint is not None
        assert "PrivacyUnit(max_size=20)" in caught.value.hint
        written = bk.Plan(self.BASKETS.domain, mechanism, bk.PrivacyUnit(max_size=2)).json
        with pytest.raises(bk.BosketError, match="max_size"):
            bk.Plan.from_json(written.replace('"max_size":2', '"max_size":null'))

    def test_the_mechanism_or_the_table_may_say_which_sizes_there_are(self) -> None:
        assert bk.Plan(self.BASKETS.domain, bk.CutAndPaste({1: 3, 2: 3}, 0.2)).max_size == 2
        assert bk.Plan(self.BASKETS.domain, bk.SelectASize({1: [0.5, 0.5]}, 0.2)).max_size == 1
        table = bk.TableDomain([bk.Attribute("a", [1, 2]), bk.Attribute("b", [1, 2, 3])])
        plan = bk.Plan(table, bk.CutAndPaste(2, 0.2))
        for size in (1, 3, 5):
            with pytest.raises(bk.DataError, match="record size"):  # a record of this table has two values
                bk.Reports(plan, np.zeros((1, 1), np.uint64), strata=np.array([size], np.int32), randomness="secure")

    def test_the_largest_record_may_be_read_off_the_data_by_who_holds_them_all(self) -> None:
        mechanism = bk.CutAndPaste(3, 0.2)
        plan = mechanism.randomize(self.BASKETS, rng=bk.Seeded(1)).plan
        assert (plan.max_size, plan.unit.is_declared) == (4, False)
        assert "the largest record, 4 items, was read off the data" in plan.guarantee.card()
        assert bk.Plan.from_json(plan.json) == plan
        declared = mechanism.randomize(self.BASKETS, max_size=5, rng=bk.Seeded(1)).plan
        assert declared == bk.Plan(self.BASKETS.domain, mechanism, bk.PrivacyUnit(max_size=5))
        assert "is_declared" not in declared.json
        assert "read off" not in declared.guarantee.card()
        with pytest.raises(bk.DataError, match="more items than the 2"):
            mechanism.randomize(self.BASKETS, max_size=2)
        assert bk.Flip(keep=0.9).randomize(self.BASKETS).plan.unit == bk.PrivacyUnit()
        assert mechanism.randomize(bk.Baskets([[], []], items=["a", "b"])).plan.max_size == 1
        for unit in ({"is_declared": False}, {"max_size": 3, "is_declared": "no"}):
            with pytest.raises(bk.ParameterError):
                bk.PrivacyUnit(**unit)

    def test_a_file_whose_reports_state_more_than_the_plan_allows_is_refused(self, tmp_path: Path) -> None:
        reports = bk.CutAndPaste(3, 0.2).randomize(self.BASKETS, max_size=4, rng=bk.Seeded(1))
        reports.write(tmp_path / "r.parquet")
        table = pq.read_table(tmp_path / "r.parquet")
        forged = table.set_column(1, table.schema.field("stratum"), pa.array([1, 5, 2], pa.int32()))
        pq.write_table(forged, tmp_path / "forged.parquet", write_page_checksum=True)
        with pytest.raises(bk.DataError, match="more items than the 4"):
            bk.Reports.read(tmp_path / "forged.parquet")

    def test_a_plan_that_takes_nobody_is_refused(self) -> None:
        with pytest.raises(bk.ParameterError):
            bk.Plan(bk.Domain(range(3)), bk.CutAndPaste({5: 3}, {5: 0.1}))
        with pytest.raises(bk.ParameterError):
            bk.CutAndPaste({5: 3}, {5: 0.1}).guarantee(range(9), max_size=4)

    def test_replacement_takes_half_the_domain(self) -> None:
        plan = bk.Plan(self.BASKETS.domain, bk.Replace(0.3), bk.PrivacyUnit(max_size=4, longer="sample"))
        assert plan.max_size == 2
        assert plan.randomize(self.BASKETS, rng=bk.Seeded(1)).strata is not None

    def test_the_smaller_limit_counts(self) -> None:
        mechanism = bk.CutAndPaste(3, {1: 0.2, 2: 0.3, 4: 0.4})
        assert bk.Plan(self.BASKETS.domain, mechanism).max_size == 4
        assert bk.Plan(self.BASKETS.domain, mechanism, bk.PrivacyUnit(max_size=2)).max_size == 2
        assert bk.Plan(self.BASKETS.domain, mechanism, bk.PrivacyUnit(max_size=9)).max_size == 4
        assert bk.Plan(self.BASKETS.domain, mechanism, bk.PrivacyUnit(max_size=3)).max_size == 2
        assert bk.Plan(self.BASKETS.domain, bk.Flip(keep=0.9)).max_size is None
        with pytest.raises(bk.ParameterError, match="smallest record"):
            bk.Plan(self.BASKETS.domain, bk.CutAndPaste(3, {2: 0.2}), bk.PrivacyUnit(max_size=1))


def test_what_holds_no_reports_is_not_put_together() -> None:
    baskets = bk.Baskets([["a"], ["b"]])
    plan = bk.Plan(baskets.domain, bk.Flip(keep=0.9))
    for other in (baskets, bk.Collection(plan), plan):
        with pytest.raises(bk.ParameterError, match="must hold Reports, got a"):
            bk.Reports.concat([other])  # type: ignore[list-item]  # on purpose


def test_an_item_is_no_itemset() -> None:
    baskets = bk.Baskets([[1], [2]])
    with pytest.raises(bk.ParameterError, match="sets of items, got 1"):
        bk.estimate(baskets, [1])  # type: ignore[list-item]  # on purpose
