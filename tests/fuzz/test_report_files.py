"""Report files with bytes changed, cut short, footers patched, columns and metadata exchanged."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

import bosket as bk
from bosket.counting.distinct_rows import are_distinct
from bosket.learning import ByClassReports
from bosket.reports import is_report_file
from tests.fuzz.budget import EXAMPLES, fuzz, only_refused
from tests.fuzz.test_plan_json import texts
from tests.outside.asking import AskItems
from tests.parquet_footers import joined, places, split, varint, with_count
from tests.test_report_files import N, by_class, flipped, named, sized

MAX_BYTES = 64 << 20
KINDS = ("flip", "sizes", "by class", "tally", "answers", "hashed", "named", "collection")
COUNTS = [0, 1, N - 1, N + 1, 10**6, 2**31, 2**32 + N, 2**62, -1, -(2**63)]


def tally() -> bk.Tally:
    return bk.Tally.of(sized())


def collection() -> bk.Collection:
    """A batch, and the other half as a tally."""
    reports = sized()
    result = bk.Collection(reports.plan)
    result.append(reports[: N // 2])
    result.append(bk.Tally.of(reports[N // 2 :]))
    return result


def answers() -> bk.Reports:
    """Reports that are no bits."""
    baskets = bk.Baskets([["a"], ["b"]], items=["a", "b", "c"]).repeat(N)[:N]
    return AskItems(size=2, keep=0.9).randomize(baskets, rng=bk.Seeded(2))


def hashed() -> bk.Reports:
    """Answers with the seeds under which they are told."""
    domain = bk.TableDomain([bk.Attribute("a", ["1", "2"]), bk.Attribute("b", list(range(9)))])
    table = bk.Table.from_cells(np.arange(N) % 18, domain)
    return bk.Ask(bk.Design([["a"], ["a", "b"]]), 2.5).randomize(table, rng=bk.Seeded(2))


@cache
def whole(kind: str, codec: str = "zstd") -> bytes:
    """The bytes of a sound file."""
    kinds = {
        "flip": flipped,
        "sizes": sized,
        "by class": by_class,
        "tally": tally,
        "collection": collection,
        "answers": answers,
        "hashed": hashed,
        "named": named,
    }
    reports: Any = kinds[kind]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.parquet"
        reports.write(path)
        if codec != "zstd":
            pq.write_table(pq.read_table(path), path, compression=codec, row_group_size=100)
        return path.read_bytes()


contents = st.builds(whole, st.sampled_from(KINDS), st.sampled_from(["zstd", "none", "snappy"]))


@st.composite
def scratched(draw: st.DrawFn) -> bytes:
    """Some bytes changed, taken away or put in, in the data or in the footer."""
    body, footer = split(draw(contents))
    parts = [bytearray(body), bytearray(footer)]
    for _ in range(draw(st.integers(1, 6))):
        part = parts[draw(st.sampled_from([0, 1, 1]))]
        at = draw(st.integers(0, len(part) - 1))
        how = draw(st.sampled_from(["bit", "byte", "drop", "insert", "fill"]))
        if how == "bit":
            part[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "byte":
            part[at] = draw(st.integers(0, 255))
        elif how == "drop":
            del part[at : at + draw(st.integers(1, 20))]
        elif how == "insert":
            part[at:at] = draw(st.binary(max_size=10))
        else:
            part[at : at + 9] = varint(draw(st.sampled_from(COUNTS)))
        if not part:
            part += b"\0"
    return joined(bytes(parts[0]), bytes(parts[1]))


@st.composite
def cut(draw: st.DrawFn) -> bytes:
    """A part of the file, or two of them, or one with another length of the footer."""
    data = draw(contents)
    start, stop = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
    other = draw(contents)
    length = draw(st.integers(0, 2**32 - 1)).to_bytes(4, "little")
    return draw(st.sampled_from([data[:stop], data[start:], data[start:stop] + other, data[:-8] + length + b"PAR1"]))


@st.composite
def recounted(draw: st.DrawFn) -> bytes:
    """Counts in the footer changed, one after the other."""
    data = whole(draw(st.sampled_from(KINDS)))
    for _ in range(draw(st.integers(1, 4))):
        left = len(places(split(data)[1], N))
        if left:
            data = with_count(data, N, draw(st.sampled_from(COUNTS)), which=draw(st.integers(0, left - 1)))
    return data


TYPES = [
    pa.int8(),
    pa.int32(),
    pa.int64(),
    pa.uint64(),
    pa.float64(),
    pa.bool_(),
    pa.string(),
    pa.binary(),
    pa.binary(1),
    pa.binary(3),
    pa.list_(pa.int32()),
    pa.struct([("report", pa.binary(1))]),
    pa.dictionary(pa.int32(), pa.string()),
    pa.timestamp("s"),
    pa.decimal128(10, 2),
    pa.null(),
]
NUMBERS = [0, 1, 3, -1, 21, 2**31, 2**40]
NAMES = ["report", "stratum", "randomized", "label", "count", "question", "answer", "", "x", "\x1b[2J"]


def filled(kind: Any, n: int, number: int) -> Any:
    """n values of a type, all the same, or missing where the number does not fit."""
    samples = {pa.string(): "a", pa.binary(): b"a", pa.binary(1): b"\1", pa.binary(3): b"abc", pa.bool_(): True}
    value: Any = samples.get(kind, number)
    if pa.types.is_list(kind):
        value = [1]
    elif pa.types.is_struct(kind):
        value = {"report": b"\1"}
    try:
        return pa.array([value] * n, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.nulls(n, kind)


@st.composite
def reshaped(draw: st.DrawFn) -> bytes:
    """Columns put in, taken away, renamed or of another type, and metadata of any kind."""
    table = pq.read_table(pa.BufferReader(whole(draw(st.sampled_from(KINDS)))))
    metadata = dict(table.schema.metadata)
    columns = list(zip(table.column_names, table.columns, strict=True))
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(NAMES))
        column = filled(
            draw(st.sampled_from(TYPES)), len(table), draw(st.sampled_from([0, 1, 3, -1, 21, 2**31, 2**40]))
        )
        at = draw(st.integers(0, len(columns)))
        columns[at : at + draw(st.integers(0, 1))] = [(name, column)]
    for _ in range(draw(st.integers(0, 2))):
        key = draw(st.sampled_from([*sorted(metadata), b"bosket.label", b"ARROW:schema", b"\xff"]))
        metadata[key] = draw(st.binary(max_size=40) | texts.map(lambda text: text.encode("utf-8", "replace")))
    names, arrays = [name for name, _ in columns], [column for _, column in columns]
    schema = pa.schema([pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)], metadata)
    sink = pa.BufferOutputStream()
    try:
        pq.write_table(
            pa.Table.from_arrays(arrays, schema=schema), sink, row_group_size=draw(st.sampled_from([7, 100]))
        )
    except (pa.ArrowException, ValueError):  # what Parquet cannot hold
        return b""
    result: bytes = sink.getvalue().to_pybytes()
    return result


files = scratched() | cut() | recounted() | reshaped() | st.binary().map(lambda data: b"PAR1" + data + b"PAR1")


def counted_on_disk(path: Path) -> int:
    """The number of reports that a first pass over the file finds."""
    with bk.open(path, memory="4GiB") as found:
        return found.counter().n_records


def read(content: bytes) -> None:
    """A file is refused, or it holds as many reports as it says, whose strata are those of its plan."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.parquet"
        path.write_bytes(content)
        assert is_report_file(path) in (True, False)
        reports = only_refused(lambda: bk.Reports.read(path, max_bytes=MAX_BYTES))
        if reports is not None:
            assert {len(values) for values in reports.batch.columns.values()} == {len(reports)}
            assert sum(values.nbytes for values in reports.batch.columns.values()) <= MAX_BYTES
            strata = reports.channel.payload.strata(reports.batch)
            assert strata is None or 0 <= strata.min(initial=0) <= len(reports.domain)
            assert reports.randomness.isprintable()
            if reports.respondents is not None:
                _, often = np.unique(reports.respondents, return_counts=True)
                assert often.max(initial=0) <= reports.plan.unit.reports
        by_label = only_refused(lambda: ByClassReports.read(path, max_bytes=MAX_BYTES))
        if by_label is not None:
            assert len(by_label) == sum(len(part.batch) for part in by_label.reports.values())
        counted = only_refused(lambda: bk.Tally.read(path, max_bytes=MAX_BYTES))
        if counted is not None:
            assert counted.counts.min(initial=1) >= 1
            assert are_distinct(counted.rows)
        on_disk = only_refused(lambda: counted_on_disk(path))
        assert (on_disk is None) == (reports is None or reports.respondents is not None)
        if on_disk is not None and reports is not None:
            assert on_disk == len(reports)
        batches = only_refused(lambda: bk.Collection.read(path, max_bytes=MAX_BYTES))
        if batches is not None:
            assert batches.counts.min(initial=1) >= 1
            assert batches.n_records == int(batches.counts.sum())
            assert 0 <= batches.n_batches <= len(batches.batch)
            assert batches.randomness.isprintable()


@pytest.mark.parametrize("examples", EXAMPLES)
def test_report_files(examples: int) -> None:
    fuzz(read, files, examples=examples)


def test_sound_files_are_read() -> None:
    """Else the target would test nothing."""
    readers = (
        bk.Reports.read,
        bk.Reports.read,
        ByClassReports.read,
        bk.Tally.read,
        *[bk.Reports.read] * 3,
        bk.Collection.read,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.parquet"
        for kind, reader in zip(KINDS, readers, strict=True):
            for codec in ("zstd", "none", "snappy"):
                path.write_bytes(whole(kind, codec))
                assert len(reader(path)) == N  # type: ignore[arg-type]
                assert is_report_file(path)


@pytest.mark.parametrize(
    "kind, n_bytes",
    [
        ("by class", 40),
        *(pytest.param(kind, 400 if kind == "sizes" else 200, marks=pytest.mark.slow) for kind in KINDS),
    ],
)
def test_every_bit_at_the_head_of_a_footer(kind: str, n_bytes: int) -> None:
    """The schema stands there: where a column may not be missing but has levels, pyarrow's own words on it abort.

    It has fewer than 200 bytes; of one kind of file what comes next, columns and their pages, is gone through too.
    """
    body, footer = split(whole(kind, "snappy"))
    for at in range(n_bytes):
        for bit in range(8):
            changed = bytearray(footer)
            changed[at] ^= 1 << bit
            read(joined(body, bytes(changed)))
