"""Raw baskets and scratch folders that somebody made to be read: memory is kept, and nothing made up is counted."""

from __future__ import annotations

import decimal
import json
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import bosket as bk
from bosket.data.formats import parquet_texts
from bosket.data.formats.arrangements import Arrangement
from bosket.data.formats.words import NumberedWords
from bosket.disk.records.opened import OpenBaskets
from bosket.disk.records.scratch import SegmentNote
from bosket.disk.records.spill import Spill
from tests.disk.test_open_baskets import assert_alike, opened
from tests.effort import effort_within
from tests.memory import traced

PRIME = (1 << 61) - 1  # hash values of numbers are what is left by it
RECORDS = [["a", "b"], ["b", "c"], ["a"], ["c"]] * 50


def lists(path: Path, records: list[list[str]] = RECORDS) -> Path:
    parquet.write_table(pa.table({"items": pa.array(records, pa.list_(pa.string()))}), path, row_group_size=100)
    return path


def fimi(path: Path) -> Path:
    path.write_text("".join(" ".join(map(str, map(ord, record))) + "\n" for record in RECORDS))
    return path


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_raw_records_are_the_owner_s_alone_in_a_folder_that_lets_others_in(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = tmp_path / "scratch"
        folder.mkdir(mode=0o755)
        (tmp_path / "long.csv").write_text("record,item\n" + "".join(f"{r},{r % 7}\n" for r in range(100)))
        bk.mine(opened(tmp_path / "long.csv", 50, folder=folder), 0.1)
    finally:
        os.umask(before)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def with_codes(**changes: int) -> Callable[[Path], None]:
    """Another number in the place of the first size or code of a segment, with a note that vouches for it."""

    def spoil(folder: Path) -> None:
        path, beside = folder / "000000.records", folder / "000000.json"
        note = SegmentNote(**json.loads(beside.read_text()))
        numbers = np.frombuffer(path.read_bytes(), np.int32).copy()
        if "size" in changes:
            numbers[:2] += [-changes["size"], changes["size"]]
        else:
            numbers[note.n_records] = changes["code"]
        path.write_bytes(numbers.tobytes())
        labels = folder / "000000.labels"
        content = path.read_bytes() + (labels.read_bytes() if labels.exists() else b"")
        value = json.loads(beside.read_text()) | {"checksum": zlib.crc32(content, note.own_checksum)}
        beside.write_text(json.dumps(value))

    return spoil


def cut_short(folder: Path) -> None:
    labels = folder / "000000.labels"
    if labels.exists():
        labels.write_text('["a"]\n')
    else:
        path = folder / "000000.records"
        path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)


@pytest.mark.parametrize("write", [lists, fimi])
@pytest.mark.parametrize("changes", [{"code": -5}, {"code": 2_000_000_000}, {"code": 5}, {"size": 1_000_000}])
def test_codes_and_sizes_that_nobody_wrote_are_refused(
    write: Callable[[Path], Path], changes: dict[str, int], tmp_path: Path
) -> None:
    path = write(tmp_path / ("x.parquet" if write is lists else "x.dat"))
    bk.mine(opened(path, 100, folder=tmp_path / "s"), 0.1)
    with_codes(**changes)(tmp_path / "s")
    with pytest.raises(bk.DataError, match="not as it was written"):
        bk.mine(opened(path, 100, folder=tmp_path / "s"), 0.1)


@pytest.mark.parametrize("write", [lists, fimi])
def test_a_segment_with_other_bytes_is_written_again(write: Callable[[Path], Path], tmp_path: Path) -> None:
    path = write(tmp_path / ("x.parquet" if write is lists else "x.dat"))
    bk.mine(opened(path, 100, folder=tmp_path / "s"), 0.1)
    cut_short(tmp_path / "s")
    assert_alike(opened(path, 100, folder=tmp_path / "s"), bk.Baskets.read(path))


@pytest.mark.parametrize("name", ["000000.json", "000000.records", "complete.json"])
def test_a_pipe_is_refused_and_not_waited_for(name: str, tmp_path: Path) -> None:
    path = fimi(tmp_path / "x.dat")
    bk.mine(opened(path, 100, folder=tmp_path / "s"), 0.1)
    (tmp_path / "s" / name).unlink()
    os.mkfifo(tmp_path / "s" / name)
    with pytest.raises(bk.DataError, match=name):
        bk.mine(opened(path, 100, folder=tmp_path / "s"), 0.1)


def test_what_stands_where_rows_are_sorted_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("record,item\n1,a\n2,b\n")
    found = opened(tmp_path / "x.csv", 100, folder=tmp_path / "s")
    (tmp_path / "s" / "spilt").write_text("")
    with pytest.raises(bk.DataError, match="spilt"):
        _ = found.n_records


def test_many_labels_are_found_again(tmp_path: Path) -> None:
    """More than one line of labels, and more of them than JSON may have values would be read as well."""
    path = lists(tmp_path / "x.parquet", [[f"i{number}", "a"] for number in range(9000)])
    with bk.Baskets.open(path, memory="400MiB", scratch=tmp_path / "s") as before:
        counts = before.item_counts()
    with bk.Baskets.open(path, memory="400MiB", scratch=tmp_path / "s") as after:
        np.testing.assert_array_equal(after.item_counts(), counts)


def test_rows_that_repeat_one_record_take_the_memory_of_its_items(tmp_path: Path) -> None:
    """A file of kilobytes, packed: all rows are of one record, which fall into one part of those that are sorted."""
    spill, keys = Spill(tmp_path / "spilt", buffered=1 << 12), NumberedWords()
    keys.number(np.frombuffer(b"7", np.uint8), np.array([0, 1]))
    for _ in range(50):
        spill.append(keys, np.zeros(10_000, np.int32), np.arange(10_000, dtype=np.int32) % 2)
    spill.flush()
    with traced() as meter:
        found = [spill.records(group, 2, 20_000) for group in spill.groups(20_000)]
        assert meter.peak < 5 << 20  # the rows alone are ten
    assert [one.indices.tolist() for one in found] == [[0, 1]]
    path = tmp_path / "x.csv"
    path.write_bytes(b"record,item\n" + b"7,a\n7,b\n" * 5000 + b"8,b\n")
    assert opened(path, 2000).item_counts().tolist() == [1, 2]


def test_a_record_of_more_items_than_there_is_memory_for_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"record,item\n" + b"".join(b"7,%d\n" % item for item in range(3000)))
    with pytest.raises(bk.DataError, match="do not fit") as caught:
        _ = opened(path, 2000).n_records
    assert "State more memory" in str(caught.value.hint)


def test_more_labels_than_there_is_memory_for_are_refused_as_they_come(tmp_path: Path) -> None:
    many, long = tmp_path / "many.csv", tmp_path / "long.parquet"
    many.write_bytes(b"record,item\n" + b"".join(b"7,%d\n" % item for item in range(100_000)))
    lists(long, [["a" * 100_000 + str(number)] for number in range(30)] * 20)
    numbers = tmp_path / "numbers.dat"
    numbers.write_text("\n".join(map(str, range(100_000))))
    for path in (many, long, numbers):
        with pytest.raises(bk.DataError, match="different items"):
            _ = opened(path, 1 << 16).n_records


def test_a_list_that_does_not_fit_is_refused_before_its_items_are_told_apart(tmp_path: Path) -> None:
    n = 3_000_000
    column = pa.ListArray.from_arrays(pa.array([0, n], pa.int32()), pa.array(np.zeros(n, np.int8)))
    parquet.write_table(pa.table({"items": column}), tmp_path / "x.parquet")
    found = opened(tmp_path / "x.parquet", 1 << 16)
    with traced() as meter:
        with pytest.raises(bk.DataError, match="row 1 has 3000000"):
            _ = found.n_records
        assert meter.peak < 16 << 20


@pytest.mark.slow
def test_text_lists_in_one_large_row_group_are_read_in_parts(tmp_path: Path) -> None:
    """A row group of text came as one batch, and was refused for the items of all its records together."""
    words = [f"item{number}" for number in range(100)]
    records = [words[number % 90 : number % 90 + 6] for number in range(60_000)] + [words, [], words[:1]]
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"items": pa.array([*records, None], pa.list_(pa.string()))}), path)
    assert_alike(opened(path, 1 << 16), bk.Baskets.read(path), 0.04)


@pytest.mark.parametrize("use_dictionary", [False, True])
def test_a_list_of_text_that_does_not_fit_is_refused(use_dictionary: bool, tmp_path: Path) -> None:
    path, records = tmp_path / "x.parquet", [["a", "b"], ["a", "b"] * 150_000, ["a"]]
    parquet.write_table(pa.table({"items": pa.array(records)}), path, use_dictionary=use_dictionary)
    with pytest.raises(bk.DataError, match="row 2 has 300000"):
        _ = opened(path, 1 << 16).n_records


def long_words(path: Path, kind: str, n: int = 12_000) -> Path:
    words = ["x" * 1500 + str(number) for number in range(n)]
    columns: dict[str, list[Any]] = {"items": [[word, "a"] for word in words]}
    if kind != "list":
        columns = {"record": list(range(n)), "item": words} if kind == "item" else {"record": words, "item": ["a"] * n}
    parquet.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["list", "item", "record"])
def test_words_beyond_their_share_of_the_memory_are_read_as_they_are(kind: str, tmp_path: Path) -> None:
    """18 MB of them in one row group, of which nine are the share: all rows come, and those before not once more."""
    path = long_words(tmp_path / "x.parquet", kind)
    expected, as_it_is, used = bk.Baskets.read(path), parquet_texts._as_it_is, list[int]()

    def noted(file: Any, group: int, columns: Any, done: int, room: Any) -> Iterator[Any]:
        used.append(done)
        return as_it_is(file, group, columns, done, room)

    with pytest.MonkeyPatch.context() as patch, bk.Baskets.open(path, memory="400MiB") as found:
        patch.setattr(parquet_texts, "_as_it_is", noted)
        assert found.n_records == expected.n_records
        np.testing.assert_array_equal(found.item_counts(), expected.item_counts())
        assert found.domain == expected.domain
    assert len(used) == 1
    assert used[0] > 0  # rows that were read as codes


def test_labels_of_parquet_are_counted_within_a_row_group(tmp_path: Path) -> None:
    found = opened(long_words(tmp_path / "x.parquet", "list"), 1 << 16)
    with pytest.raises(bk.DataError, match="different items") as caught:
        _ = found.n_records
    assert int(str(caught.value).split("more than ")[1].split()[0]) < 6000


def test_a_dictionary_that_does_not_fit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    table = pa.table({"items": pa.array([["x" * 5_000_000], ["a"]])})
    parquet.write_table(table, tmp_path / "x.parquet", compression="zstd")
    found = opened(tmp_path / "x.parquet", 1 << 16)
    with pytest.raises(bk.DataError, match=r"pages of at most 4,194,304 bytes, .* one of 5,000,004"):
        _ = found.n_records


def lines(path: Path, text: str) -> OpenBaskets:
    path.write_bytes(text.encode())
    return opened(path, 1 << 16, told=Arrangement(layout="list"))


def test_a_row_of_csv_that_does_not_fit_is_refused_before_it_is_taken_apart(tmp_path: Path) -> None:
    found = lines(tmp_path / "x.csv", "ab,cd\n" + "ab," * 2_000_000 + "\n")
    with traced() as meter:
        with pytest.raises(bk.DataError, match=r"ine 2 .* at most 262144 items"):
            _ = found.n_records
        assert meter.peak < 40 << 20  # its cells would take a hundred
    spread = lines(tmp_path / "y.csv", ("ab," * 1000 + '"\n",') * 300 + "\n")
    with pytest.raises(bk.DataError, match="at most 262144 items"):
        _ = spread.n_records


@pytest.mark.slow
def test_many_short_rows_of_csv_are_no_long_one(tmp_path: Path) -> None:
    found = lines(tmp_path / "x.csv", "ab,cd,ef\n" * 200_000)
    assert found.item_counts().tolist() == [200_000] * 3


def test_labels_of_csv_are_counted_within_a_block(tmp_path: Path) -> None:
    rows = (",".join(f"{100 * row + at:x}" for at in range(100)) for row in range(10_000))
    found = lines(tmp_path / "x.csv", "\n".join(rows))
    with pytest.raises(bk.DataError, match="different items") as caught:
        _ = found.n_records
    assert int(str(caught.value).split("more than ")[1].split()[0]) < 200_000


@pytest.mark.parametrize("is_long", [False, True])
def test_decimals_of_one_hash_value_are_refused_before_they_are_told_apart(is_long: bool, tmp_path: Path) -> None:
    """20 000 of them, 80 kB, took a quarter of a minute, and ten times as many a hundred times as long."""
    kind, n = pa.decimal128(38), 20_000
    labels = [decimal.Decimal(PRIME * (number + 1)) for number in range(n)]
    columns = {"items": pa.array([[label] for label in labels], pa.list_(kind))}
    if is_long:
        columns = {"record": pa.array(range(n)), "item": pa.array(labels, kind)}
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    with effort_within(1.5), pytest.raises(bk.DataError, match="hash value"):
        bk.Baskets.read(tmp_path / "x.parquet")
    found = bk.Baskets.open(tmp_path / "x.parquet", memory="400MiB")  # with less, so many are refused by their number
    with effort_within(1.5), pytest.raises(bk.DataError, match="hash value"):
        _ = found.n_records
