"""Long CSV: read block by block, several at once, as a plain reader of the whole file reads it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bosket as bk
from bosket.data import Baskets
from bosket.data.baskets.grouped import LongRecords, RecordRuns
from bosket.data.formats.plain_csv import plain_runs
from bosket.errors import DataError

Row = tuple[str, str]

_LETTERS = st.text(st.sampled_from("019aé +-!#."), min_size=1, max_size=20)
_WORDS = st.one_of(st.sampled_from(["1", "2", "10", "a", "12345678", "123456789", "123456780"]), _LETTERS)
_ROWS = st.lists(st.tuples(_WORDS, st.one_of(_WORDS, st.just(""))), min_size=1, max_size=40)


def expected(text: str) -> Baskets:
    """The records of a long file, by the csv module and dictionaries alone."""
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row][1:]
    records: dict[str, set[str]] = {}
    for record, item in rows:
        records.setdefault(record, set()).update([item] if item else [])
    labels = {item for items in records.values() for item in items}
    are_numbers = all(str(int(label)) == label if label.lstrip("-").isdecimal() else False for label in labels)
    if are_numbers and all(label.isascii() for label in labels):
        return Baskets([[int(item) for item in items] for items in records.values()])
    return Baskets(records.values())


def written(rows: Sequence[Row], end: str, quoted: frozenset[int]) -> str:
    cells = ((f'"{record}"' if at in quoted else record, item) for at, (record, item) in enumerate(rows))
    return f"record,item{end}" + "".join(f"{record},{item}{end}" for record, item in cells)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(
    rows=_ROWS,
    end=st.sampled_from(["\n", "\r\n", "\n\n"]),
    quoted=st.frozensets(st.integers(0, 39), max_size=2),
    size=st.sampled_from([1, 30, 1 << 20]),
    n_threads=st.sampled_from([1, 3]),
)
def test_blocks_are_read_as_the_whole(
    rows: list[Row],
    end: str,
    quoted: frozenset[int],
    size: int,
    n_threads: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("long") / "x.csv"
    text = written(rows, end, quoted)
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch, bk.use_threads(n_threads):
        patch.setattr("bosket.data.formats.sources.BLOCK", max(1, size // 4))
        patch.setattr("bosket.data.formats.lines._ROWS", size)
        found = Baskets.read(path)
    truth = expected(text)
    assert found == truth
    assert list(map(type, found.domain.labels)) == list(map(type, truth.domain.labels))


def test_words_of_any_length_are_told_apart() -> None:
    """Those of at most eight bytes have a table of their own; more words than it has slots make it grow."""
    words = [str(10**length + at) for length in range(12) for at in range(900)]
    words = list(dict.fromkeys(words))
    text = "record,item\n" + "".join(f"1,{word}\n" for word in [*words, *words[::-1]])
    runs = plain_runs(text.encode(), 1, 2, (0, 1))
    assert runs is not None
    assert runs.labels.texts() == words
    assert runs.items.tolist() == [*range(len(words)), *range(len(words))[::-1]]
    assert runs.rows.tolist() == [2 * len(words)]


@pytest.mark.parametrize("row", ['"1",2', "1,2,3", "1", ",2", "1\r2,3", "1,2\r3"])
def test_rows_that_are_not_plain_are_left_to_another_reader(row: str) -> None:
    assert plain_runs(f"record,item\n1,2\n{row}\n1,3\n".encode(), 1, 2, (0, 1)) is None


def test_columns_stand_anywhere() -> None:
    runs = plain_runs(b"x,item,y,record\n..,5,,77\n, 6,..,77\n,,,8\r\n", 1, 4, (3, 1))
    assert runs is not None
    assert runs.items.tolist() == [0, 1, -1]
    assert runs.labels.texts() == ["5", " 6"]
    names = [bytes(runs.text[a:b]) for a, b in zip(runs.starts, runs.stops, strict=True)]
    assert (names, runs.rows.tolist()) == ([b"77", b"8"], [2, 1])


def test_the_first_fault_of_a_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks behind it are read by then, and one of them is no text."""
    monkeypatch.setattr("bosket.data.formats.sources.BLOCK", 8)
    monkeypatch.setattr("bosket.data.formats.lines._ROWS", 8)
    (tmp_path / "x.csv").write_bytes(b"record,item\n1,a\n,b\n" + b"2,a\n" * 5 + b"3,\0\n")
    with bk.use_threads(3), pytest.raises(DataError) as caught:
        Baskets.read(tmp_path / "x.csv")
    assert caught.value.line == 3


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 3)), max_size=8), max_size=6))
def test_runs_of_rows_are_the_rows(blocks: list[list[tuple[int, int]]]) -> None:
    names: dict[int, int] = {}
    by_rows, by_runs = LongRecords(), LongRecords()
    for block in blocks:
        records = np.array([names.setdefault(name, len(names)) for name, _ in block], np.int32)
        items = np.array([item for _, item in block], np.int32)
        starts = np.flatnonzero(np.diff(records, prepend=-1))
        runs = RecordRuns(records[starts], np.diff(starts, append=len(records)).astype(np.int32), items)
        assert runs.record_of_rows.tolist() == records.tolist()
        by_rows.append(records, items)
        by_runs.append_runs(runs)
    domain, rank = bk.Domain(range(4)), np.arange(4, dtype=np.int32)
    one, other = by_rows.csr(len(names), rank, domain), by_runs.csr(len(names), rank, domain)
    assert one.indptr.tolist() == other.indptr.tolist()
    assert one.indices.tolist() == other.indices.tolist()
