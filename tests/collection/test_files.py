"""Files of collections: what was written comes back, and what nobody could have written is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bosket as bk
from bosket.tally import MOST_RECORDS
from tests.collection.test_collection import PLAN, named, some_reports


def collection() -> bk.Collection:
    result = bk.Collection(PLAN)
    result.append(some_reports(80, 1))
    result.append(bk.Tally.of(some_reports(400, 2)))
    result.append(some_reports(40, 3))
    return result


def rewritten(path: Path, columns: dict[str, Any] | None = None, notes: dict[str, str] | None = None) -> Path:
    """The file with some columns, or notes, put in the place of its own."""
    table = pq.read_table(path)
    for name, values in (columns or {}).items():
        at, kind = table.column_names.index(name), table.schema.field(name).type
        table = table.set_column(at, pa.field(name, kind, nullable=False), [pa.array(values, kind)])
    metadata = dict(table.schema.metadata) | {
        f"bosket.{key}".encode(): note.encode() for key, note in (notes or {}).items()
    }
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    before, path = collection(), tmp_path / "collection.parquet"
    before.write(path)
    after = bk.Collection.read(path)
    assert after.plan.digest == PLAN.digest
    assert (after.n_records, after.n_batches, after.randomness) == (520, 3, before.randomness)
    np.testing.assert_array_equal(after.counts, before.counts)
    assert after.batch == before.batch
    with pytest.raises(bk.DuplicateReportsError) as caught:
        after.append(some_reports(400, 2))
    assert caught.value.parts == (2, 4)
    after.subtract(some_reports(80, 1))
    assert "seeded(2)" in after.randomness


def test_names_come_back(tmp_path: Path) -> None:
    before, path = bk.Collection(PLAN), tmp_path / "named.parquet"
    before.append(named(["x", "y"], 1))
    before.append(named(["z"], 2))
    before.write(path)
    after = bk.Collection.read(path, plan=PLAN)
    with pytest.raises(bk.RepeatedRespondentError):
        after.append(named(["y"], 3))
    assert after.tokens is not None
    assert after.tokens.tolist() == [b"x", b"y", b"z"]


def test_an_empty_one(tmp_path: Path) -> None:
    bk.Collection(PLAN).write(tmp_path / "empty.parquet")
    assert bk.Collection.read(tmp_path / "empty.parquet").n_records == 0


def test_other_readers_say_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "collection.parquet"
    collection().write(path)
    with pytest.raises(bk.DataError, match="collection") as caught:
        bk.Reports.read(path)
    assert caught.value.hint is not None
    assert "Collection.read" in caught.value.hint
    with pytest.raises(bk.DataError):
        bk.Tally.read(path)
    some_reports(40, 1).write(path)
    with pytest.raises(bk.DataError, match="batch"):
        bk.Collection.read(path)


def test_another_plan_and_a_small_cap_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "collection.parquet"
    collection().write(path)
    with pytest.raises(bk.PlanMismatchError):
        bk.Collection.read(path, plan=bk.Plan(PLAN.domain, bk.Flip(keep=0.9)))
    with pytest.raises(bk.DataError, match="cap"):
        bk.Collection.read(path, max_bytes=1000)


@pytest.mark.parametrize(
    "columns",
    [
        {"batch": [1, 1, 1, 2]},  # the first one left out
        {"batch": [0, 0, 2, 2]},  # one between left out
        {"batch": [0, 1, 0, 1]},  # not one behind the other
        {"batch": [0, 1, 1, -1]},
        {"batch": [0, 1, 1, 1 << 40]},
        {"times": [1, 1, 0, 1]},
        {"times": [1, 1, -3, 1]},
        {"times": [MOST_RECORDS, MOST_RECORDS, 1, 1]},
        {"times": [(1 << 62) - 1] * 4},
    ],
    ids=str,
)
def test_numbers_that_no_collection_has(tmp_path: Path, columns: dict[str, list[int]]) -> None:
    before, path = bk.Collection(PLAN), tmp_path / "collection.parquet"
    before.append(some_reports(4, 1)[:2])
    before.append(some_reports(4, 2)[:2])
    before.write(path)
    with pytest.raises(bk.DataError) as caught:
        bk.Collection.read(rewritten(path, columns))
    assert caught.value.path is not None


@pytest.mark.parametrize(
    "note",
    [
        *("", "[", "{}", "[[2]]", '[["2", "secure"]]', "[[2, 5]]", '[[2.0, "secure"]]', json.dumps([[0, "x"]] * 9)),
        *('[[3, "secure"]]', '[[1, "secure"]]', '[[2, "secure"], [1, "x"]]', '[[-1, "secure"], [3, "secure"]]'),
    ],
)
def test_notes_that_no_collection_has(tmp_path: Path, note: str) -> None:
    before, path = bk.Collection(PLAN), tmp_path / "collection.parquet"
    before.append(some_reports(40, 1))
    before.append(some_reports(40, 2))
    before.write(path)
    with pytest.raises(bk.DataError):
        bk.Collection.read(rewritten(path, notes={"batches": note}))
    chance = bk.Collection.read(rewritten(path, notes={"batches": '[[2, "a line\\nand another"]]'})).randomness
    assert chance == "a line and another"


def test_people_who_answered_twice_are_refused_in_a_file(tmp_path: Path) -> None:
    before, path = bk.Collection(PLAN), tmp_path / "named.parquet"
    before.append(named(["x", "y"], 1))
    before.write(path)
    twice = np.array([b"x", b"x"], "S64").view(np.uint8).reshape(2, 64)
    with pytest.raises(bk.RepeatedRespondentError):
        bk.Collection.read(rewritten(path, {"respondent": [row.tobytes() for row in twice]}))
    before.write(path)
    with pytest.raises(bk.DataError, match="once each"):
        bk.Collection.read(rewritten(path, {"times": [1, 2]}))


def test_batches_count_towards_the_cap(tmp_path: Path) -> None:
    """A row says in few bytes, packed, that it is a batch of its own, which takes hundreds."""
    before, path = bk.Collection(PLAN), tmp_path / "collection.parquet"
    before.append(some_reports(400, 1))
    before.write(path)
    assert bk.Collection.read(path, max_bytes=20_000).n_batches == 1
    rewritten(path, {"batch": range(400)}, {"batches": '[[400, "secure"]]'})
    with pytest.raises(bk.DataError, match=r"400 batches .* more than the cap of 20000") as caught:
        bk.Collection.read(path, max_bytes=20_000)
    assert caught.value.hint is not None
    assert bk.Collection.read(path, max_bytes=400 * 600).n_batches == 400
    assert bk.Collection.read(path, max_bytes=None).n_batches == 400
