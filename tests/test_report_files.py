"""Report files that somebody else wrote: what is counted is what was read, and nothing else is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bosket as bk
from bosket import report_files
from bosket.learning import ByClassReports, randomize_by_class
from bosket.mechanisms.columns import Numbers
from bosket.reports import is_report_file
from tests.fuzz.budget import only_refused
from tests.memory import memory_within
from tests.parquet_footers import places, split, with_count

N = 397
"""A number of reports whose bytes stand nowhere else in a footer."""
TABLE = bk.Table([{"a": f"{at % 3}", "b": f"{at % 2}", "c": f"{at % 5}"} for at in range(N)])


def sized() -> bk.Reports:
    baskets = bk.Baskets([range(at % 4) for at in range(N)], items=range(20))
    return bk.CutAndPaste(cutoff=3, insert=0.2).randomize(baskets, rng=bk.Seeded(1))


def flipped() -> bk.Reports:
    baskets = bk.Baskets([["a"], ["b"]], items=["a", "b", "c"]).repeat(N)[:N]
    return bk.Flip(keep=0.9).randomize(baskets, rng=bk.Seeded(2))


def named() -> bk.Reports:
    """With a token for each respondent."""
    reports = flipped()
    tokens = [f"token-{at}" for at in range(N)]
    return bk.Reports(reports.plan, reports.batch, randomness=reports.randomness, respondents=tokens)


def by_class() -> ByClassReports:
    return randomize_by_class(TABLE, "c", bk.GammaDiagonal(19), rng=bk.Seeded(1))


GOLDEN = Path(__file__).parent / "golden"
"""Report files written by version 0.1 before payloads were, by the functions above."""

Reader = Callable[..., Any]
KINDS: dict[str, tuple[Callable[[], Any], Reader]] = {
    "flip": (flipped, bk.Reports.read),
    "sizes": (sized, bk.Reports.read),
    "by class": (by_class, ByClassReports.read),
}
kinds = pytest.mark.parametrize("make, read", KINDS.values(), ids=KINDS)
kinds_and_named = pytest.mark.parametrize(
    "make, read", [*KINDS.values(), (named, bk.Reports.read)], ids=[*KINDS, "named"]
)


@pytest.mark.parametrize(
    "make, read, name",
    [
        (flipped, bk.Reports.read, "reports"),
        (sized, bk.Reports.read, "reports-with-sizes"),
        (by_class, ByClassReports.read, "reports-by-class"),
    ],
    ids=KINDS,
)
def test_files_written_before_are_read_and_new_ones_look_the_same(
    make: Callable[[], Any], read: Reader, name: str, tmp_path: Path
) -> None:
    old, new = GOLDEN / f"{name}.parquet", tmp_path / "r.parquet"
    assert read(old) == make()
    make().write(new)
    before, after = pq.read_schema(old), pq.read_schema(new)
    assert before.equals(after, check_metadata=False), "names, types, order, and whether values may be missing"
    keys = [b"bosket.plan", b"bosket.digest", b"bosket.randomness", b"bosket.label"]
    assert [before.metadata.get(key) for key in keys] == [after.metadata.get(key) for key in keys]
    assert pq.read_table(old).equals(pq.read_table(new))
    groups = [pq.read_metadata(path).num_row_groups for path in (old, new)]
    assert groups[0] == groups[1]


def test_a_payload_may_not_take_the_name_of_a_column_beside_it(tmp_path: Path) -> None:
    beside = (Numbers("report", 1, "a number"),)
    reports = flipped()
    with pytest.raises(bk.DataError, match="stands twice"):
        report_files.write(
            tmp_path / "r.parquet",
            plan=reports.plan,
            batch=reports.batch,
            randomness="secure",
            layout=report_files.FileLayout(beside),
        )


def refused(read: Reader, path: Path, **options: Any) -> bk.DataError:
    with pytest.raises(bk.DataError) as caught:
        read(path, **options)
    assert caught.value.path == path
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 500
    return caught.value


@kinds_and_named
@pytest.mark.parametrize("claimed", [0, 1, N - 1, N + 1, 1_000_000, 10**15, 2**62, -1, -(2**63)])
def test_a_footer_is_not_believed(make: Callable[[], Any], read: Reader, tmp_path: Path, claimed: int) -> None:
    """The file's own count of rows: a million of them were made up of nothing, with strata of unfilled memory."""
    path = tmp_path / "r.parquet"
    make().write(path)
    path.write_bytes(with_count(path.read_bytes(), N, claimed))
    with memory_within(64 << 20):
        refused(read, path)


@kinds_and_named
@pytest.mark.parametrize("claimed", [0, N - 1, N + 1, 1_000_000, 2**40])
def test_nor_are_its_row_groups(make: Callable[[], Any], read: Reader, tmp_path: Path, claimed: int) -> None:
    """Numbers of values of columns, or of rows of the group, alone or together with that of the file.

    Reports that are not there are never made up.  Where nothing rests on a count it may be wrong, and where all agree
    on fewer reports the others are hidden, as if they had been left out.
    """
    path = tmp_path / "r.parquet"
    make().write(path)
    whole = path.read_bytes()
    counts = len(places(split(whole)[1], N))
    assert counts >= 3
    for which in range(1, counts):
        one = with_count(whole, N, claimed, which=which)
        for content in (one, with_count(one, N, claimed)):
            path.write_bytes(content)
            with memory_within(64 << 20):
                found = only_refused(lambda: read(path))
            assert found is None or len(found) in {N, min(N, claimed)}
            if claimed > N and which == counts - 1:
                assert found is None, "the row group claims more rows than it has"


def rewritten(path: Path, change: Callable[[pa.Table], pa.Table], **options: Any) -> None:
    table = pq.read_table(path)
    changed = change(table)
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path, **options)


def strata(values: Any, kind: Any) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(1, "stratum", pa.array(values, kind))


STRATA: dict[str, Callable[[pa.Table], pa.Table]] = {
    "wrap in 32 bits": strata([2**32 + 1] * N, pa.int64()),
    "unsigned": strata([2**64 - 1] * N, pa.uint64()),
    "negative": strata([-1] * N, pa.int32()),
    "negative bytes": strata([-1] * N, pa.int8()),
    "beyond the domain": strata([21] * N, pa.int32()),
    "missing": strata([None] * N, pa.int32()),
    "one missing": strata([1] * (N - 1) + [None], pa.int32()),
    "fractions": strata([1.0] * N, pa.float64()),
    "truth values": strata([True] * N, pa.bool_()),
    "text": strata(["1"] * N, pa.string()),
    "dates": strata([1] * N, pa.date32()),
    "list": lambda table: table.set_column(1, "stratum", pa.array([[1]] * N)),
    "struct": lambda table: table.set_column(1, "stratum", pa.array([{"stratum": 1}] * N)),
    "none": lambda table: table.select(["report"]),
}


@pytest.mark.parametrize("change", STRATA.values(), ids=STRATA)
def test_strata_that_no_report_has(tmp_path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    path = tmp_path / "r.parquet"
    sized().write(path)
    rewritten(path, change)
    refused(bk.Reports.read, path)


def test_strata_of_other_widths_are_the_same_numbers(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    reports = sized()
    reports.write(path)
    for kind in (pa.int64(), pa.uint8(), pa.int16(), pa.uint64()):
        table = pq.read_table(path)
        pq.write_table(table.set_column(1, "stratum", table["stratum"].cast(kind)), path)
        again = bk.Reports.read(path)
        assert again == reports
        assert again.strata is not None
        assert again.strata.dtype == np.int32
    names = ("report", "stratum")
    rewritten(path, lambda table: pa.table({name: table[name].dictionary_encode() for name in names}))
    assert bk.Reports.read(path) == reports, "however they are encoded"
    assert reports.strata is not None
    strata: Any = reports.strata.astype(np.int64)
    wide = bk.Reports(reports.plan, reports.bits, strata=strata, randomness="secure")
    assert wide.strata is not None
    assert wide.strata.dtype == np.int32
    with pytest.raises(bk.DataError):
        bk.Reports(reports.plan, reports.bits, strata=strata + 2**32, randomness="secure")


COLUMNS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "twice": lambda table: table.append_column("report", table["report"]),
    "one more": lambda table: table.append_column("note", pa.array(["x"] * N)),
    "a long name": lambda table: table.append_column("n" * 5000, pa.array(["x"] * N)),
    "strata that it does not have": lambda table: table.append_column("stratum", pa.array([1] * N, pa.int32())),
    "variable width": lambda table: table.set_column(0, "report", table["report"].cast(pa.binary())),
    "text": lambda table: table.set_column(0, "report", pa.array(["a"] * N)),
    "list": lambda table: table.set_column(0, "report", pa.array([[b"a"]] * N)),
    "struct": lambda table: table.set_column(0, "report", pa.array([{"report": b"a"}] * N)),
    "bytes": lambda table: table.set_column(0, "report", pa.array([1] * N, pa.uint8())),
    "null": lambda table: table.set_column(0, "report", pa.nulls(N)),
    "none": lambda table: table.select([]),
}


@pytest.mark.parametrize("change", COLUMNS.values(), ids=COLUMNS)
def test_columns_that_no_report_file_has(tmp_path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    path = tmp_path / "r.parquet"
    flipped().write(path)
    rewritten(path, change)
    refused(bk.Reports.read, path)


BY_CLASS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "label twice": lambda table: table.append_column("label", table["label"]),
    "one more": lambda table: table.append_column("note", table["label"]),
    "label wraps": lambda table: table.set_column(1, "label", pa.array([2**32] * N, pa.int64())),
    "label beyond": lambda table: table.set_column(1, "label", pa.array([5] * N, pa.int32())),
    "label below": lambda table: table.set_column(1, "label", pa.array([-1] * N, pa.int32())),
    "label missing": lambda table: table.set_column(1, "label", pa.nulls(N, pa.int32())),
    "label text": lambda table: table.set_column(1, "label", pa.array(["a"] * N)),
    "no label": lambda table: table.select(["randomized"]),
    "no reports": lambda table: table.select(["label"]),
}


@pytest.mark.parametrize("change", BY_CLASS.values(), ids=BY_CLASS)
def test_columns_that_no_file_by_class_has(tmp_path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    path = tmp_path / "r.parquet"
    by_class().write(path)
    rewritten(path, change)
    refused(ByClassReports.read, path)


def with_metadata(path: Path, **values: bytes) -> None:
    table = pq.read_table(path)
    metadata = dict(table.schema.metadata) | {f"bosket.{key}".encode(): value for key, value in values.items()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


@kinds
@pytest.mark.parametrize(
    "plan",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b"1" * 5000,
        b'{"bosket_plan":1}',
        flipped().plan.json.replace("0.9", "1.9").encode(),
        flipped().plan.json.replace('"reports":1', '"reports":' + "9" * 900).encode(),
    ],
    ids=["empty", "bytes", "deep", "digits", "fields", "keep", "reports"],
)
def test_plans_in_files_are_read_strictly(make: Callable[[], Any], read: Reader, tmp_path: Path, plan: bytes) -> None:
    path = tmp_path / "r.parquet"
    make().write(path)
    with_metadata(path, plan=plan)
    refused(read, path)


def test_the_length_of_a_plan_has_a_limit_on_both_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.parquet"
    reports = flipped()
    reports.write(path)
    limit = len(reports.plan.json)
    monkeypatch.setattr("bosket.strict_json.MOST_CHARACTERS", limit)
    assert bk.Reports.read(path) == reports
    monkeypatch.setattr("bosket.strict_json.MOST_CHARACTERS", limit - 1)
    assert str(limit - 1) in str(refused(bk.Reports.read, path))
    for write in (reports.write, by_class().write):
        with pytest.raises(bk.DataError, match="could not be read back"):
            write(path)


def test_metadata_of_others_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    reports = flipped()
    reports.write(path)
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata(dict(table.schema.metadata) | {b"\xff": b"\xfe"}), path)
    assert bk.Reports.read(path) == reports


@pytest.mark.parametrize(
    "label",
    [
        b"",
        b"[" * 100_000,
        b"{}",
        b'{"kind":"items","items":["a"],"declared":true}',
        json.dumps({"kind": "table", "declared": True, "attributes": [{"name": "a", "values": [0, 1]}]}).encode(),
        json.dumps(
            {"kind": "table", "declared": "no", "attributes": [{"name": "x", "values": [0, 1, 2, 3, 4]}]}
        ).encode(),
        json.dumps(
            {"kind": "table", "declared": True, "attributes": [{"name": "x", "values": list(range(200_000))}]}
        ).encode(),
    ],
    ids=["empty", "deep", "fields", "items", "an attribute of the plan", "declared", "too many classes"],
)
def test_labels_in_files_are_read_strictly(tmp_path: Path, label: bytes) -> None:
    path = tmp_path / "r.parquet"
    by_class().write(path)
    with_metadata(path, label=label)
    refused(ByClassReports.read, path)


class TestMaxBytes:
    @kinds
    def test_reports_beyond_the_cap_are_refused(self, make: Callable[[], Any], read: Reader, tmp_path: Path) -> None:
        path = tmp_path / "r.parquet"
        reports = make()
        reports.write(path)
        error = refused(read, path, max_bytes=8 * N - 1)
        assert str(8 * N - 1) in str(error)
        assert error.hint is not None
        assert "max_bytes" in error.hint
        for enough in (16 * N, None):
            assert len(read(path, max_bytes=enough)) == N

    def test_a_file_that_unpacks_to_much_is_not_read(self, tmp_path: Path) -> None:
        """Five million reports in some kilobytes: all the same, in one dictionary page each million."""
        path = tmp_path / "r.parquet"
        flipped().write(path)
        schema = pq.read_schema(path)
        part = pa.table({"report": pa.array([b"\1"] * 1_000_000, pa.binary(1))}, schema=schema)
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for _ in range(5):
                writer.write_table(part)
        assert path.stat().st_size < 20_000
        with memory_within(20 << 20):
            refused(bk.Reports.read, path, max_bytes=30 << 20)

    @pytest.mark.parametrize("wrong", [0, -1, 1.5, "8GiB", True])
    def test_the_cap_is_a_number(self, tmp_path: Path, wrong: Any) -> None:
        path = tmp_path / "r.parquet"
        flipped().write(path)
        for read in (bk.Reports.read, ByClassReports.read):
            with pytest.raises(bk.ParameterError) as caught:
                read(path, max_bytes=wrong)
            assert caught.value.parameter == "max_bytes"


def test_many_row_groups_are_read_and_too_many_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.parquet"
    reports = sized()
    reports.write(path)
    rewritten(path, lambda table: table, row_group_size=2)
    assert bk.Reports.read(path) == reports
    monkeypatch.setattr("bosket.report_files.MOST_ROW_GROUPS", 100)
    assert "row groups" in str(refused(bk.Reports.read, path))


def test_garbage_is_no_report_file(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    flipped().write(path)
    whole = path.read_bytes()
    for content in (
        b"",
        b"PAR1",
        b"PAR1PAR1",
        b"PAR1" + b"\xff" * 100 + b"PAR1",
        whole[:-1],
        whole[4:-4],
        b"\0" * 1000,
    ):
        path.write_bytes(content)
        assert not is_report_file(path)
    for other in (tmp_path, tmp_path / "absent", "nul\0", ""):
        assert not is_report_file(other)


class TestRandomness:
    """The note on how the chance came about is whatever the file says: not authenticated, but one line."""

    def read(self, tmp_path: Path, note: bytes) -> bk.Reports:
        path = tmp_path / "r.parquet"
        flipped().write(path)
        with_metadata(path, randomness=note)
        return bk.Reports.read(path)

    def test_secure_and_our_own_sentence_stay(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, b"secure").randomness == "secure"
        assert not self.read(tmp_path, b"secure").is_simulation
        sentence = bk.Seeded(7).describe()
        assert self.read(tmp_path, sentence.encode()).randomness == sentence
        assert self.read(tmp_path, sentence.encode()).is_simulation

    @pytest.mark.parametrize(
        "note", [b"", b"\n", b"secure\n", b" secure", b"\x1bsecure", b"\0", b"\xff", b"Secure", "\u202esecure".encode()]
    )
    def test_nothing_else_counts_as_secure(self, tmp_path: Path, note: bytes) -> None:
        reports = self.read(tmp_path, note)
        assert reports.is_simulation
        assert reports.randomness.isprintable()
        assert reports.randomness

    def test_it_is_one_line_of_printable_text(self, tmp_path: Path) -> None:
        reports = self.read(tmp_path, b"\x1b[2Jfine\r\n\x07" + b"x" * 100_000)
        assert len(reports.randomness) <= 200
        assert reports.randomness.isprintable()
        assert "\x1b" not in str(reports.guarantee)
        assert "fine" in str(reports.guarantee)

    def test_it_is_said_not_to_be_authenticated(self) -> None:
        assert "not authenticated" in " ".join((bk.Reports.is_simulation.__doc__ or "").split())
        assert "not authenticated" in " ".join((bk.Reports.__doc__ or "").split())


def test_a_file_is_not_held_beside_its_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups are read one after the other; Arrow would keep what it has read until the file is closed."""
    n = 10 * report_files.PLAIN.row_group
    bits = np.random.default_rng(4).integers(0, 1 << 63, (n, 1)).astype(np.uint64)
    plan = bk.Plan(bk.Domain(range(64)), bk.Flip(keep=0.9))
    path = tmp_path / "r.parquet"
    bk.Reports(plan, bits, randomness="secure").write(path)
    before, held, original = pa.total_allocated_bytes(), [], report_files._Store.add

    def add(store: report_files._Store, batch: Any) -> None:
        held.append(pa.total_allocated_bytes() - before)
        original(store, batch)

    monkeypatch.setattr(report_files._Store, "add", add)
    assert len(bk.Reports.read(path)) == n
    assert 0 < max(held) < path.stat().st_size / 2


@pytest.mark.parametrize("read", [bk.Reports.read, lambda path: bk.mine(bk.open(path), 0.1)])
def test_a_page_that_no_writer_makes_is_refused_before_it_is_unpacked(
    read: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """17 kB took 727 MiB of 383 that were stated for ``bosket.open``: Arrow unpacks a page whole."""
    flipped().write(tmp_path / "x.parquet")
    monkeypatch.setattr(report_files, "_PAGE_ROWS", 0)
    monkeypatch.setattr(report_files, "_PAGE_BYTES", 1 << 10)
    read(tmp_path / "x.parquet")
    monkeypatch.setattr(report_files, "_PAGE_BYTES", 3)
    with pytest.raises(bk.DataError, match="at most 3 bytes, unpacked, and one has"):
        read(tmp_path / "x.parquet")


@pytest.mark.parametrize("read", [bk.Reports.read, lambda path: bk.mine(bk.open(path), min_support=0.1)])
def test_reports_are_bounded_by_the_bytes_of_their_file(
    read: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs say two billion equal ones in a few hundred bytes, which took ``bosket.open`` three minutes."""
    flipped().write(tmp_path / "x.parquet")
    monkeypatch.setattr(report_files, "_REPORTS_A_BYTE", 0)
    monkeypatch.setattr(report_files, "_FEW_REPORTS", len(flipped()))
    read(tmp_path / "x.parquet")
    monkeypatch.setattr(report_files, "_FEW_REPORTS", len(flipped()) - 1)
    with pytest.raises(bk.DataError, match="as a file of its bytes may"):
        read(tmp_path / "x.parquet")
