"""Footers in which Arrow sees something else than who walks them by what they say."""

from __future__ import annotations

import base64
import io
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import bosket as bk
from bosket.data import Baskets, Table
from bosket.data.formats.parquet_footers import n_elements
from bosket.report_files import has_plan
from tests.parquet_footers import joined, split, varint
from tests.parquet_pages import Structure, leb128

LISTS = pa.table({"items": pa.array([["a", "b"], ["b"]])})


def bytes_of(table: Any, stored: bytes | None = None) -> bytes:
    file = io.BytesIO()
    with parquet.ParquetWriter(file, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        if stored is not None:
            writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(stored).decode()})
    return file.getvalue()


def not_opened(*_: Any, **__: Any) -> None:
    pytest.fail("Arrow has opened it")


def refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.__init__", not_opened)
    for read in (Baskets.read, Table.read, bk.Reports.read):
        with pytest.raises(bk.DataError, match=r"not a sound Parquet file|cannot be read as Parquet"):
            read(path)
    with pytest.raises(bk.DataError, match="not a sound Parquet file"), Baskets.open(path) as records:
        assert records.n_records
    assert not has_plan(path)


def two_faced(shown: bytes, hidden: bytes) -> bytes:
    """A footer that has the fields ``shown`` for who goes by kinds of lists, and those ``hidden`` for Arrow.

    Both are footers whose second field is the schema.  Before it a list of one text stands in its place, which is a
    structure for Arrow: a field that nobody knows, with letters, and a name; the rest of the text is the other footer.
    """
    assert shown[2] == hidden[2] == 0x19
    first = b"\x88\xff\x7f"  # text of 2,097,032 bytes; or field 8, with text of 16,383 bytes
    inside = (1 << 14) * b"\0"
    inside = inside[1:] + Structure().text(4, b"x").done.replace(b"\x48", b"\x08\x08", 1) + b"\x09\x04" + hidden[3:]
    size = 0x08 | 0x7F << 7 | 0x7F << 14
    return shown[:2] + b"\x19\x18" + first + inside + (size - len(inside)) * b"\0" + b"\x09\x04" + shown[3:]


def test_lists_that_say_they_are_of_something_else_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow reads the elements that it expects: all that was counted in a footer was another one than it went by.

    A list of 5 * 10^7 items took 0.9 GB of a cap of 100 MB so, and as many more as one likes.
    """
    path = tmp_path / "x.parquet"
    body, shown = split(bytes_of(LISTS))
    _, hidden = split(bytes_of(pa.table({"one": [1], "two": [2], "three": [3]})))
    path.write_bytes(joined(body, two_faced(shown, hidden)))
    assert parquet.ParquetFile(path).schema_arrow.names == ["one", "two", "three"]
    refused(path, monkeypatch)


@pytest.mark.parametrize("kind", range(1, 14))
def test_only_whole_numbers_may_be_said_to_be_others(kind: int, tmp_path: Path) -> None:
    """Some writers say 32 bits of all of them; they are written alike."""
    encodings = b"\x19\x35"  # those of a column, a list of three numbers of 32 bits
    body, footer = split(bytes_of(LISTS))
    assert footer.count(encodings) == 1
    path = tmp_path / "x.parquet"
    path.write_bytes(joined(body, footer.replace(encodings, bytes([0x19, 0x30 | kind]))))
    if kind in (4, 5, 6):
        assert Baskets.read(path).n_records == 2
    else:
        with pytest.raises(bk.DataError, match="not a sound Parquet file"):
            Baskets.read(path)


def test_a_field_that_is_there_twice_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow takes the last list of row groups: what was counted, and where pages were looked for, was in both."""
    path = tmp_path / "x.parquet"
    body, footer = split(bytes_of(LISTS))
    hidden = Structure().many(1, 12, []).number(2, 0, 6).number(3, 5, 6).done
    path.write_bytes(joined(body, footer[:-1] + b"\x09" + varint(4) + b"\x2c" + 2 * hidden + b"\0"))
    assert parquet.ParquetFile(path).metadata.num_row_groups == 2
    refused(path, monkeypatch)


def of_a_group(n: int, name: bytes, *, children: bytes | None = None) -> bytes:
    """A file without rows that has a group of this name with so many columns; ``children`` is how it says that."""
    said = children if children is not None else varint(n)
    group = Structure().number(3, 1).text(4, name).add(5, 5, said)
    elements = [Structure().text(4, b"schema").number(5, 1), group]
    elements += [Structure().number(1, 2).number(3, 1).text(4, b"%d" % at) for at in range(n)]
    schema = b"\xfc" + leb128(len(elements)) + b"".join(element.done for element in elements)
    return joined(b"PAR1", Structure().number(1, 1).add(2, 9, schema).number(3, 0, 6).add(4, 9, b"\x0c").done)


@pytest.mark.parametrize("children", [None, leb128((1 << 32) + 2 * 400)])
def test_a_long_name_of_a_group_of_many_columns_is_not_opened(
    children: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow writes it before the name of each column: a file of 1 MB took 4 GB of a cap of 100 MB, or 6 opened."""
    path = tmp_path / "x.parquet"
    path.write_bytes(of_a_group(400, 20_000 * b"g", children=children))
    assert parquet.ParquetFile(path).metadata.num_columns == 400
    refused(path, monkeypatch)


@pytest.mark.parametrize(("n", "size"), [(400, 100), (1, 100_000)])
def test_groups_of_names_that_are_not_so_long_are_opened(n: int, size: int, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(of_a_group(n, size * b"g"))
    assert n_elements(pa.OSFile(str(path))) == n + 2
    columns = {
        f"a_group_with_a_name_of_some_letters_{at}": [{f"b{k}": {"c": [1]} for k in range(40)}] for at in range(9)
    }
    parquet.write_table(pa.table({"items": [["a"]], **columns}), path)
    assert Baskets.read(path, layout="list", item="items").n_records == 1


class Flat:
    """A message of FlatBuffers, whose tables say where others stand."""

    def __init__(self) -> None:
        self.content = bytearray(4)

    def table(self, **fields: str) -> dict[str, int]:
        """A table of numbers of 64 bits in these slots, ``_3="value"``; where each of them is, and it as "at"."""
        slots = {int(name[1:]): what for name, what in fields.items()}
        n = max(slots, default=-1) + 1
        self.content += bytes(-len(self.content) % 8)
        known = len(self.content)
        places = {slot: 8 + 8 * number for number, slot in enumerate(slots)}
        self.content += struct.pack(
            f"<{2 + n}H", 4 + 2 * n, 8 + 8 * len(slots), *(places.get(at, 0) for at in range(n))
        )
        self.content += bytes(-len(self.content) % 8)
        at = len(self.content)
        self.content += struct.pack("<i", at - known) + bytes(4 + 8 * len(slots))
        return {"at": at, **{slots[slot]: at + place for slot, place in places.items()}}

    def put(self, at: int, value: int) -> None:
        struct.pack_into("<I", self.content, at, value)

    def link(self, at: int, to: int) -> None:
        self.put(at, to - at)

    def vector(self, n: int) -> tuple[int, list[int]]:
        self.content += bytes(-len(self.content) % 4)
        at = len(self.content)
        self.content += struct.pack("<I", n) + bytes(4 * n)
        return at, list(range(at + 4, at + 4 + 4 * n, 4))

    def text(self, letters: bytes) -> int:
        self.content += bytes(-len(self.content) % 4)
        at = len(self.content)
        self.content += struct.pack("<I", len(letters)) + letters + b"\0"
        return at

    def schema(self) -> dict[str, int]:
        message = self.table(_0="version", _1="kind", _2="header")
        self.link(0, message["at"])
        self.put(message["version"], 4)
        self.put(message["kind"], 1)
        schema = self.table(_1="fields", _2="notes")
        self.link(message["header"], schema["at"])
        return schema

    @property
    def done(self) -> bytes:
        self.content += bytes(-len(self.content) % 8)
        return b"\xff\xff\xff\xff" + struct.pack("<I", len(self.content)) + bytes(self.content)


def repeated_notes(n: int, size: int) -> bytes:
    """A stored schema without fields, and with so many pairs, all of which are one of a key and a value this long."""
    flat = Flat()
    schema = flat.schema()
    flat.link(schema["fields"], flat.vector(0)[0])
    notes, places = flat.vector(n)
    flat.link(schema["notes"], notes)
    pair = flat.table(_0="key", _1="value")
    for place in places:
        flat.link(place, pair["at"])
    letters = flat.text(size * b"x")
    flat.link(pair["key"], letters)
    flat.link(pair["value"], letters)
    return flat.done


def repeated_fields(n: int, depth: int, *, zone: bytes = b"") -> bytes:
    """A stored schema of one field, which has the next one n times, and so on; the last has a time of this zone."""
    flat = Flat()
    schema = flat.schema()
    flat.link(schema["notes"], flat.vector(0)[0])
    vector, places = flat.vector(1)
    flat.link(schema["fields"], vector)
    for left in range(depth, -1, -1):
        field = flat.table(_0="name", _2="kind", _3="type", _5="children")
        for place in places:
            flat.link(place, field["at"])
        flat.link(field["name"], flat.text(b"a"))
        flat.put(field["kind"], 13 if left else 10)
        own = flat.table(_1="zone")
        flat.link(field["type"], own["at"])
        flat.link(own["zone"], flat.text(b"" if left else zone))
        vector, places = flat.vector(n if left else 0)
        flat.link(field["children"], vector)
    return flat.done + bytes(8)


@pytest.mark.parametrize(
    "stored", [repeated_notes(40, 10_000), repeated_fields(24, 3), repeated_fields(20, 1, zone=10_000 * b"x")]
)
def test_a_stored_schema_that_says_the_same_again_and_again_is_not_opened(
    stored: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow copies what is named for each that names it: a file of 160 kB took 1.7 GB of a cap of 100 MB, and 25 s."""
    path = tmp_path / "x.parquet"
    path.write_bytes(bytes_of(LISTS, stored))
    refused(path, monkeypatch)


@pytest.mark.parametrize("stored", [repeated_notes(2, 10), repeated_fields(3, 2, zone=b"UTC")])
def test_what_is_named_a_few_times_is_read(stored: bytes, tmp_path: Path) -> None:
    """So the messages above are such as Arrow takes."""
    path = tmp_path / "x.parquet"
    path.write_bytes(bytes_of(LISTS, stored))
    assert Baskets.read(path).n_records == 2


@pytest.mark.parametrize(
    "stored", [b"", b"abc", 40 * b"\xff", b"\xff\xff\xff\xff" + bytes(40), struct.pack("<III", 8, 1 << 31, 1 << 31)]
)
def test_a_stored_schema_that_is_none_is_refused(stored: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(bytes_of(LISTS, stored))
    with pytest.raises(bk.DataError, match="not a sound Parquet file"):
        Baskets.read(path)


def test_schemas_that_arrow_stores_are_read(tmp_path: Path) -> None:
    """Whatever types they have, and of more columns than are left of a file, with notes longer than that."""
    path = tmp_path / "x.parquet"
    table = pa.table(
        {
            "structure": pa.array([{"x": 1, "y": [1]}]),
            "time": pa.array([1], pa.timestamp("us", "Europe/Berlin")),
            "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
            "codes": pa.array(["q"]).dictionary_encode(),
            "fixed": pa.array([[1, 2]], pa.list_(pa.int8(), 2)),
        }
    ).replace_schema_metadata({"notes": 100_000 * "x"})
    parquet.write_table(table, path)
    with pa.OSFile(str(path)) as handle:
        assert n_elements(handle) == 15
    many = pa.schema([(f"c{at}", pa.int64()) for at in range(2000)]).serialize().to_pybytes()
    path.write_bytes(bytes_of(LISTS, many))
    assert Baskets.read(path).n_records == 2
