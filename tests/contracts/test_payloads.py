"""A mechanism whose reports are no bits, defined outside the package, goes all the way: ``tests/outside/asking.py``."""

from __future__ import annotations

import pickle
import zlib
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bosket as bk
from bosket.audit import breaches, implausible, poisoning, posterior
from bosket.counting.base import ItemsetRows
from bosket.learning import ByClassReports, ReconstructedNaiveBayes, randomize_by_class
from bosket.mechanisms import Batch, Bits, Numbers, PackedBits
from bosket.statistics.estimates import Floats
from tests.fuzz.budget import only_refused
from tests.outside.asking import AskChannel, AskItems, HashValue, all_reports
from tests.stats import assert_plausible, assert_rejected, chi_square

ITEMS = ["a", "b", "c", "d"]
VALUES = bk.TableDomain([bk.Attribute("v", ["x", "y", "z"])])
PEOPLE = bk.Baskets([["a", "b"], ["a", "b", "c"], ["d"], ["a", "b"], []], items=ITEMS).repeat(6000)
ONE_VALUE = bk.Table.from_cells(np.arange(30_000) % 7 % 3, VALUES)
VALUE = set(VALUES.labels[:2])
MECHANISMS: dict[bk.Mechanism, bk.Baskets | bk.Table] = {
    AskItems(size=1, keep=0.8): PEOPLE,
    AskItems(size=2, keep=0.7): PEOPLE,
    HashValue(keep=0.8): ONE_VALUE,
}
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)


def randomized(mechanism: bk.Mechanism, seed: int = 1) -> bk.Reports:
    return mechanism.randomize(MECHANISMS[mechanism], rng=bk.Seeded(seed))


@pytest.mark.filterwarnings("ignore::bosket.InfluenceWarning")
@pytest.mark.filterwarnings("ignore::bosket.errors.HopelessPlanWarning")  # two people are few
@pytest.mark.parametrize(
    "mechanism, truth",
    [
        (AskItems(size=1, keep=0.8), [{0, 1}, {1}]),
        pytest.param(AskItems(size=2, keep=0.7), [{0, 1}, {1, 2}], marks=pytest.mark.slow),
        (HashValue(keep=0.8), [{0}, {2}]),
    ],
    ids=str,
)
def test_estimates_are_unbiased_by_enumeration(mechanism: bk.Mechanism, truth: list[set[int]]) -> None:
    """Over all that two people can send: supports, variances and the covariance of two itemsets, exactly."""
    domain = VALUES if isinstance(mechanism, HashValue) else bk.Domain(ITEMS[:3])
    plan = bk.Plan(domain, mechanism)
    names = [column.name for column in plan.channel.payload.columns]
    itemsets: list[tuple[int, ...]] = [(0,), (1,), (2,)]
    if plan.channel.recovers(2, []):
        itemsets += [(0, 1), (0, 2), (1, 2)]
    labels = [{domain.labels[item] for item in itemset} for itemset in itemsets]
    chances, values, variances, covariances = [], [], [], []
    for sent in product(*(list(all_reports(plan.channel, record)) for record in truth)):
        columns = np.array([report for _, report in sent])
        batch = Batch({name: columns[:, at] for at, name in enumerate(names)})
        reports = bk.Reports(plan, batch, randomness="secure")
        found = bk.estimate(reports, labels)
        chances.append(np.prod([chance for chance, _ in sent]))
        values.append(found.value * 2)
        variances.append(found.variance * 4)
        if plan.channel.recovers(2, []):
            covariances.append(bk.estimate(reports, [labels[0], labels[1]]).covariance[0, 1] * 4)
    chance = np.array(chances)
    assert chance.sum() == pytest.approx(1)
    expected = [sum(record.issuperset(itemset) for record in truth) for itemset in itemsets]
    mean = chance @ np.array(values)
    np.testing.assert_allclose(mean, expected, atol=1e-9)
    spread = np.array(values) - mean
    np.testing.assert_allclose(chance @ np.array(variances), chance @ spread**2, rtol=1e-9)
    rows = np.array(itemsets[:3], np.int32)
    assert (2 * plan.channel.least_variances(rows, 0) <= (chance @ spread**2)[:3] + 1e-9).all()
    if covariances:
        assert chance @ np.array(covariances) == pytest.approx(chance @ (spread[:, 0] * spread[:, 1]), rel=1e-9)


@each
def test_reports_follow_the_law(mechanism: bk.Mechanism) -> None:
    """200 000 reports of one record, against its enumerated law and against one with 0.01 moved."""
    one = MECHANISMS[mechanism][1:2]
    n = 200_000
    alike = one.repeat(n) if isinstance(one, bk.Baskets) else bk.Table.from_cells(np.full(n, one.cells()[0]), VALUES)
    reports = mechanism.randomize(alike, rng=bk.Seeded(5))
    record = {0, 1, 2} if isinstance(one, bk.Baskets) else {int(one.cells()[0])}
    law = {report: chance for chance, report in all_reports(reports.channel, record)}
    first, second = (reports.batch[column.name].tolist() for column in reports.channel.payload.columns)
    seen = dict.fromkeys(law, 0)
    for report in zip(first, second, strict=True):
        seen[report] += 1
    chances = np.array(list(law.values()))
    assert_plausible(chi_square(list(seen.values()), chances))
    wrong = chances.copy()
    wrong[np.argmax(chances)] -= 0.01
    wrong[np.argmin(chances)] += 0.01
    assert_rejected(chi_square(list(seen.values()), wrong))


@each
def test_reports_go_all_the_way(mechanism: bk.Mechanism, tmp_path: Path) -> None:
    """Plan JSON, file, bytes, slices, copies, tally: the same reports, and the same results."""
    reports = randomized(mechanism)
    plan = bk.Plan.from_json(reports.plan.json)
    assert plan == reports.plan
    reports.write(tmp_path / "r.parquet")
    schema = pq.read_schema(tmp_path / "r.parquet")
    assert [schema.field(at) for at in range(2)] == list(reports.channel.payload.fields)
    assert bk.Reports.read(tmp_path / "r.parquet", plan=plan) == reports
    data = reports.to_bytes()
    assert bk.Reports.from_bytes(plan, data) == reports
    assert pickle.loads(pickle.dumps(reports)) == reports
    half = bk.Reports.concat([reports[:500], reports[np.arange(500, 1000)]])
    assert half == reports[np.arange(len(reports)) < 1000]
    tally = bk.Tally.of(reports[1000:]) + bk.Tally.of(half)
    tally.write(tmp_path / "t.parquet")
    again = bk.Tally.read(tmp_path / "t.parquet")
    assert again == bk.Tally.of(reports)
    assert again.n_distinct <= 24
    assert again - bk.Tally.of(half) == bk.Tally.of(reports[1000:])
    assert bk.mine(again, min_support=0.1).to_frame().equals(bk.mine(reports, min_support=0.1).to_frame())
    assert "epsilon" in reports.guarantee.card()


def test_single_questions_see_single_items() -> None:
    found = bk.mine(randomized(AskItems(size=1, keep=0.8)), min_support=0.15)
    assert {frozenset(itemset) for itemset, _ in found} == {frozenset(item) for item in "abcd"}
    assert "more than 1 items" in found.about["stopped"]
    assert len(found.rules(min_threshold=0.1)) == 0


def test_pairs_see_rules() -> None:
    """Of {a, b} the confidence is 1 in the raw records, and other pairs are rare or missing."""
    reports = randomized(AskItems(size=2, keep=0.7))
    found = bk.mine(reports, min_support=0.3)
    assert frozenset("ab") in dict(found)
    assert "more than 2 items" in found.about["stopped"]
    rules = found.rules(min_threshold=0.5, sampling=True)
    (rule,) = rules[rules["antecedents"] == frozenset("a")].to_dict("records")
    assert rule["consequents"] == frozenset("b")
    assert abs(rule["confidence"] - 1) < 6 * rule["confidence_stderr"] < 0.5
    assert len(found.rules(min_threshold=0.1, adjust="by", alpha=0.01)) > 0
    table = bk.contingency(reports, {"a"}, {"b"}, sampling=True)
    assert abs(table.value[1, 1] - 0.6) < 6 * table.stderr[1, 1] < 0.2
    assert table.bootstrap("lift", replicates=20, rng=bk.Seeded(1)).values.shape == (20,)
    with pytest.raises(bk.ParameterError, match="sampling"):
        bk.contingency(reports, {"a"}, {"b"}).bootstrap("lift", replicates=20, rng=bk.Seeded(1))


def test_what_no_report_tells_of_is_refused() -> None:
    """Its weights are all 0, so that their sum would be an estimate of 0 with no error at all."""
    single, pairs = randomized(AskItems(size=1, keep=0.8)), randomized(AskItems(size=2, keep=0.7))
    for reports, itemset in ((single, {"a", "b"}), (pairs, {"a", "b", "c"}), (randomized(HashValue(keep=0.8)), VALUE)):
        with pytest.raises(bk.SingularChannelError) as caught:
            bk.estimate(reports, [itemset])
        assert set(caught.value.items) == set(itemset)
    with pytest.raises(bk.SingularChannelError):
        bk.contingency(single, {"a"}, {"b"})
    found = bk.estimate(pairs, [{"a"}, {"b"}, {"c", "d"}])
    assert (found.stderr > 0).all()
    with pytest.raises(bk.SingularChannelError):  # it takes the support of {a, c, d}
        _ = found.covariance


def test_a_design_need_not_ask_about_everything() -> None:
    """A search leaves out what the questions do not cover and says so; the rest is estimated without bias."""
    mechanism = AskItems(size=2, keep=0.8, questions=(("a", "b"), ("c", "b")))
    assert bk.Plan.from_json(bk.Plan(bk.Domain(ITEMS), mechanism).json).mechanism == mechanism
    assert str(mechanism) == "AskItems(size=2, keep=0.8, questions=2 of 2 items)"
    reports = mechanism.randomize(PEOPLE, rng=bk.Seeded(2))
    for data in (reports, bk.Tally.of(reports)):
        found = bk.mine(data, min_support=0.1, slack=0)
        assert set(dict(found)) == {frozenset(text) for text in ("a", "b", "c", "ab", "bc")}
        assert found.about["left_out"].startswith("2 itemsets of frequent items left out")  # {d} and {a, c}
        assert len(found.rules(min_threshold=0.5)) > 0
    wanted = [{"a", "b"}, {"b", "c"}, {"b"}]
    got, exact = bk.estimate(reports, wanted), bk.estimate(PEOPLE, wanted)
    assert (np.abs(got.value - exact.value) < 6 * got.stderr).all()
    assert (6 * got.stderr < 0.1).all()
    with pytest.raises(bk.SingularChannelError):
        bk.estimate(reports, [{"d"}])


def test_itemsets_that_a_question_does_not_cover_have_no_weight() -> None:
    channel = AskItems(size=2, keep=0.7).channel(bk.Domain(ITEMS))
    rows = np.array([[0, 1], [0, 2], [2, 3]], np.int32)
    for question, asked in enumerate(channel.asked):
        weights = channel.weights(rows, question)
        assert (weights != 0).all(axis=1).tolist() == [tuple(row) == asked for row in rows.tolist()]
        assert (weights == 0).all(axis=1).tolist() == [tuple(row) != asked for row in rows.tolist()]


def test_parameters_that_erase_an_item_are_refused_and_not_an_empty_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every channel has the error that says so, those without a transition too."""

    def weights(self: AskChannel, itemsets: ItemsetRows, *_: Any) -> Floats:
        raise self.singular(np.unique(itemsets).tolist())

    reports = randomized(AskItems(size=1, keep=0.8))
    monkeypatch.setattr(AskChannel, "weights", weights)
    with pytest.raises(bk.SingularChannelError, match="do not depend on the truth") as caught:
        bk.mine(reports, min_support=0.1)
    assert set(caught.value.items) == set(ITEMS)


def test_what_needs_packed_bits_says_so() -> None:
    reports = randomized(AskItems(size=1, keep=0.8))
    for look in (
        lambda: reports.bits,
        lambda: reports.strata,
        lambda: implausible(reports),
        lambda: breaches(PEOPLE, reports),
    ):
        with pytest.raises(bk.DataError, match="not packed bits: they have the columns question, answer"):
            look()
    assert reports.record_sizes is None
    with pytest.raises(bk.ParameterError, match="size of records"):
        posterior(reports, ["a"], "a", record_size=2)


@each
def test_what_one_report_can_do_is_known_as_far_as_the_channel_sees(mechanism: bk.Mechanism) -> None:
    """By hand, or by the base class where it is not stated."""
    reports = randomized(mechanism)
    far = 2 if reports.channel.recovers(2, []) else 1
    table = poisoning(reports)
    assert table["size"].tolist() == list(range(1, far + 1))
    assert (table["shift"] > 0.01).all()
    assert [part.size for part in mechanism.influence(reports.domain)] == table["size"].tolist()


def test_a_batch_that_is_given_twice_is_refused() -> None:
    batches = [randomized(AskItems(size=2, keep=0.7), seed)[:2000] for seed in (1, 2)]
    with pytest.raises(bk.DuplicateReportsError) as caught:
        bk.Reports.concat([*batches, batches[0]])
    assert caught.value.parts == (1, 3)
    assert len(bk.Reports.concat(batches)) == 4000


@pytest.mark.parametrize(
    "columns",
    [
        {"question": [4], "answer": [0]},
        {"question": [-1], "answer": [0]},
        {"question": [0], "answer": [2]},
        {"question": [0], "answer": [256]},
        {"question": [2**32], "answer": [0]},
        {"question": [0.0], "answer": [0]},
        {"question": [[0]], "answer": [0]},
        {"question": [True], "answer": [0]},
        {"question": [0]},
        {"question": [0], "answer": [0], "note": [0]},
        {"report": [0]},
        {"question": [0, 1], "answer": [0]},
        {},
    ],
    ids=str,
)
def test_reports_that_are_none_of_the_payload(columns: dict[str, Any]) -> None:
    plan = bk.Plan(bk.Domain(ITEMS), AskItems(size=1, keep=0.8))
    with pytest.raises(bk.DataError):
        bk.Reports(plan, Batch({name: np.array(values) for name, values in columns.items()}), randomness="secure")


def test_packed_bits_are_no_answers_and_answers_no_bits() -> None:
    plan = bk.Plan(bk.Domain(ITEMS), AskItems(size=1, keep=0.8))
    with pytest.raises(bk.DataError, match="question, answer"):
        bk.Reports(plan, np.zeros((1, 1), np.uint64), randomness="secure")
    flip = bk.Plan(bk.Domain(ITEMS), bk.Flip(keep=0.9))
    with pytest.raises(bk.DataError, match="columns report"):
        bk.Reports(flip, randomized(AskItems(size=1, keep=0.8)).batch, randomness="secure")
    batch = flip.randomize(PEOPLE[:3]).batch
    with pytest.raises(bk.DataError, match="its own"):
        bk.Reports(flip, batch, strata=np.zeros(3, np.int32), randomness="secure")


FILES: dict[str, Any] = {
    "beyond the questions": lambda table: table.set_column(0, "question", pa.array([4] * len(table))),
    "wraps": lambda table: table.set_column(0, "question", pa.array([2**32] * len(table))),
    "beyond the answers": lambda table: table.set_column(1, "answer", pa.array([2] * len(table))),
    "missing": lambda table: table.set_column(1, "answer", pa.nulls(len(table), pa.uint8())),
    "text": lambda table: table.set_column(1, "answer", pa.array(["0"] * len(table))),
    "no answer": lambda table: table.select(["question"]),
    "one more": lambda table: table.append_column("stratum", table["question"]),
    "twice": lambda table: table.append_column("answer", table["answer"]),
}


@pytest.mark.parametrize("change", FILES.values(), ids=FILES)
def test_files_that_no_such_report_has(tmp_path: Path, change: Any) -> None:
    path = tmp_path / "r.parquet"
    randomized(AskItems(size=1, keep=0.8))[:100].write(path)
    table = pq.read_table(path)
    pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), path)
    with pytest.raises(bk.DataError) as caught:
        bk.Reports.read(path)
    assert caught.value.path == path


def test_every_byte_that_is_changed_is_refused_or_another_report() -> None:
    reports = randomized(AskItems(size=1, keep=0.8))[:2]
    data = reports.to_bytes()
    width, taken = len(data) // 2, 0
    for at in range(len(data)):
        for value in (0, 1, 3, 4, 255):
            changed = data[:at] + bytes([value]) + data[at + 1 :]
            if changed != data:
                assert only_refused(lambda changed=changed: bk.Reports.from_bytes(reports.plan, changed)) is None  # type: ignore[misc]
            frames = (changed[:width], changed[width:])
            changed = b"".join(frame[:-4] + zlib.crc32(frame[:-4]).to_bytes(4, "little") for frame in frames)
            again = only_refused(lambda changed=changed: bk.Reports.from_bytes(reports.plan, changed))  # type: ignore[misc]
            if again is not None:
                assert again.to_bytes() == changed
                taken += changed != data
    assert taken


def test_a_file_of_a_mechanism_that_is_not_there_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.parquet"
    randomized(AskItems(size=1, keep=0.8))[:5].write(path)
    monkeypatch.delitem(bk.Mechanism.registry, "ask_items")
    with pytest.raises(bk.DataError, match="'ask_items'"):
        bk.Reports.read(path)


def test_reports_by_class_have_any_payload(tmp_path: Path) -> None:
    attributes = [bk.Attribute("v", ["x", "y"]), bk.Attribute("w", [0, 1, 2]), bk.Attribute("label", ["no", "yes"])]
    table = bk.Table.from_cells(np.arange(6000) % 12, bk.TableDomain(attributes))
    reports = randomize_by_class(table, "label", AskItems(size=2, keep=0.7), rng=bk.Seeded(1))
    reports.write(tmp_path / "r.parquet")
    assert pq.read_schema(tmp_path / "r.parquet").names == ["question", "label", "answer"]
    assert ByClassReports.read(tmp_path / "r.parquet", plan=reports.plan) == reports
    with pytest.raises(bk.DataError):
        bk.Reports.read(tmp_path / "r.parquet")
    model = ReconstructedNaiveBayes().fit(reports)
    raw = table.to_frame().drop(columns="label").head(6)
    np.testing.assert_allclose(model.predict_proba(raw), 0.5, atol=0.1)


class TestColumns:
    """The contract of a column: memory, bytes and Arrow say one thing."""

    @pytest.mark.parametrize("n_bits", [1, 7, 8, 9, 63, 64, 65, 130])
    def test_bits(self, n_bits: int) -> None:
        bits = Bits("b", n_bits)
        lanes = np.random.default_rng(n_bits).random((20, n_bits)) < 0.5
        padded = np.zeros((20, 64 * -(-n_bits // 64)), bool)
        padded[:, :n_bits] = lanes
        words = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
        rows = bits.to_rows(bits.checked(words))
        assert rows.tobytes() == np.packbits(lanes, axis=1, bitorder="little").tobytes()
        np.testing.assert_array_equal(bits.from_rows(rows), words)
        column = bits.to_arrow(words)
        assert column.type == bits.arrow_type()
        np.testing.assert_array_equal(bits.from_arrow(column.slice(3)), words[3:])

    @pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "uint64"])
    def test_numbers(self, dtype: str) -> None:
        most = int(np.iinfo(dtype).max)
        numbers = Numbers("n", most, "a number", dtype)
        values = np.array([0, 1, most // 2, most], dtype)
        rows = numbers.to_rows(numbers.checked(values))
        assert rows.tobytes() == b"".join(int(value).to_bytes(numbers.width, "little") for value in values)
        np.testing.assert_array_equal(numbers.from_rows(rows), values)
        np.testing.assert_array_equal(numbers.from_arrow(numbers.to_arrow(values)), values)
        assert not Numbers("n", most - 1, "a number", dtype).holds(values)

    def test_packed_bits_have_the_columns_of_files(self) -> None:
        assert [column.name for column in PackedBits(5).columns] == ["report"]
        assert [str(field) for field in PackedBits(9, 9).fields] == [
            "pyarrow.Field<report: fixed_size_binary[2] not null>",
            "pyarrow.Field<stratum: int32 not null>",
        ]
        assert PackedBits(9, 9).width == 6
        with pytest.raises(bk.DataError, match="multiple of 6"):
            PackedBits(9, 9).from_bytes(b"1234567")
        with pytest.raises(bk.DataError, match="rows of 6"):
            PackedBits(9, 9).from_rows(np.zeros((2, 5), np.uint8))
