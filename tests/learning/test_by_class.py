"""Reports with a label: what they hold, what they promise, and how they are kept."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bosket import Attribute, Baskets, CutAndPaste, Flip, GammaDiagonal, Plan, Reports, Seeded, Table
from bosket.errors import DataError, DuplicateReportsError, ParameterError, PlanMismatchError
from bosket.learning import ByClassReports, label_guarantee, randomize_by_class, randomize_with_label

AGE = Attribute("age", ["young", "old"])
HOME = Attribute("home", ["town", "land", "sea"])
OWNER = Attribute("owner", ["no", "yes", "perhaps"])
RECORDS = [("young", "town", "no"), ("old", "town", "yes"), ("old", "land", "no")]
TABLE = Table([dict(zip(("age", "home", "owner"), one, strict=True)) for one in RECORDS * 100], [AGE, HOME, OWNER])


@pytest.fixture
def reports() -> ByClassReports:
    return randomize_by_class(TABLE, "owner", GammaDiagonal(19), rng=Seeded(1))


def test_every_class_is_randomized_on_its_own(reports: ByClassReports) -> None:
    assert reports.classes == OWNER.values
    assert [len(part) for part in reports.reports.values()] == [200, 100, 0]
    assert len(reports) == reports.n_records == 300
    assert reports.domain.names == ("age", "home")
    assert reports.plan == Plan(TABLE.domain.select(["age", "home"]), GammaDiagonal(19))
    yes = Table.from_bits(reports.reports["yes"].bits, reports.domain)
    kept = (yes.cells() == 3).mean()  # old, town: 19 times as likely as each of the five others
    assert 0.6 < kept < 0.95


def test_the_label_may_stand_anywhere(reports: ByClassReports) -> None:
    moved = TABLE.select(["owner", "age", "home"])
    assert randomize_by_class(moved, "owner", GammaDiagonal(19), rng=Seeded(1)) == reports
    assert randomize_by_class(TABLE, None, GammaDiagonal(19), rng=Seeded(1)) == reports


def test_the_guarantee_says_that_the_label_is_in_the_clear(reports: ByClassReports) -> None:
    promise = reports.guarantee
    assert promise.gamma == pytest.approx(19)
    assert "in the clear: the class label 'owner' of the record" in str(promise)
    assert "between records of the same class" in str(promise)
    assert "simulation" in str(promise), "seeded"
    assert reports.is_simulation
    secure = randomize_by_class(TABLE, "owner", GammaDiagonal(19))
    assert "simulation" not in str(secure.guarantee)
    assert "in the clear: the class label" in str(secure.guarantee)
    assert secure.randomness == "secure"


def test_the_guarantee_says_that_the_label_is_protected() -> None:
    reports = randomize_with_label(TABLE, GammaDiagonal(19), rng=Seeded(1))
    assert isinstance(reports, Reports)
    assert reports.domain == TABLE.domain
    promise = label_guarantee(reports, label="owner")
    assert not promise.reveals
    assert "the class label 'owner' is randomized as one more attribute" in str(promise)
    assert "over 3 attributes, 18 records in all" in str(promise)
    with pytest.raises(ParameterError):
        label_guarantee(reports, label="income")


@pytest.mark.parametrize("mechanism", [GammaDiagonal(19), CutAndPaste(cutoff=2, insert=0.3)], ids=str)
def test_what_is_written_is_read(mechanism: GammaDiagonal | CutAndPaste, tmp_path: Path) -> None:
    reports = randomize_by_class(TABLE, "owner", mechanism, rng=Seeded(1))
    path = tmp_path / "study.parquet"
    reports.write(path)
    again = ByClassReports.read(path, plan=reports.plan)
    assert again == reports
    assert again.randomness == reports.randomness
    assert str(again.guarantee) == str(reports.guarantee)


def test_the_file_is_not_taken_for_plain_reports(reports: ByClassReports, tmp_path: Path) -> None:
    """They would come with a guarantee that does not tell of the label."""
    path = tmp_path / "study.parquet"
    reports.write(path)
    with pytest.raises(DataError):
        Reports.read(path)
    with pytest.raises(DataError, match="randomized reports"):
        Table.read(path)
    plain = tmp_path / "plain.parquet"
    reports.reports["no"].write(plain)
    with pytest.raises(DataError, match="no label"):
        ByClassReports.read(plain)


def test_files_that_are_refused(reports: ByClassReports, tmp_path: Path) -> None:
    path = tmp_path / "study.parquet"
    with pytest.raises(DataError, match=r"\.parquet"):
        reports.write(tmp_path / "study.csv")
    with pytest.raises(DataError, match="no file"):
        ByClassReports.read(path)
    reports.write(path)
    other = Plan(reports.domain, GammaDiagonal(9))
    with pytest.raises(PlanMismatchError):
        ByClassReports.read(path, plan=other)
    good = pq.read_table(path)
    metadata = dict(good.schema.metadata)
    wide = pa.array([bytes([255])] * len(good), pa.binary(1))
    faults = {
        "bits": good.set_column(0, "randomized", wide),
        "width": good.set_column(0, "randomized", pa.array([b"ab"] * len(good), pa.binary(2))),
        "class": good.set_column(1, "label", pa.array(np.full(len(good), 3, np.int32))),
        "gap": good.set_column(1, "label", pa.array([None] * len(good), pa.int32())),
        "label": good.replace_schema_metadata({**metadata, b"bosket.label": b"{}"}),
        "items": good.replace_schema_metadata({**metadata, b"bosket.label": json.dumps({"items": ["a"]}).encode()}),
        "digest": good.replace_schema_metadata({**metadata, b"bosket.digest": b"0"}),
    }
    for fault in faults.values():
        pq.write_table(fault, path)
        with pytest.raises(DataError):
            ByClassReports.read(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(DataError, match="Parquet"):
        ByClassReports.read(path)


def test_a_collector_puts_reports_together(reports: ByClassReports) -> None:
    more = randomize_by_class(TABLE[:30], "owner", GammaDiagonal(19))
    both = ByClassReports.concat([more, reports])
    assert [len(part) for part in both.reports.values()] == [220, 110, 0]
    assert both.is_simulation, "a part of it protects nobody"
    assert "simulation" in str(both.guarantee)
    with pytest.raises(PlanMismatchError):
        ByClassReports.concat([reports, randomize_by_class(TABLE, "owner", GammaDiagonal(9))])
    with pytest.raises(PlanMismatchError):
        ByClassReports.concat([reports, randomize_by_class(TABLE, "age", GammaDiagonal(19))])
    with pytest.raises(DataError):
        ByClassReports.concat([])


def test_a_batch_whose_classes_are_small_is_not_counted_twice() -> None:
    """Twenty different reports may come again by chance, two hundred do not: the whole batch is looked at."""
    number = np.arange(200)
    columns = {"group": number % 10, "tens": number // 10 % 10, "rest": number // 100}
    table = Table.from_frame(pd.DataFrame(columns), values={"group": range(10), "tens": range(10), "rest": range(2)})
    batch = randomize_by_class(table, "group", Flip(keep=1.0), rng=Seeded(1))
    assert {len(part) for part in batch.reports.values()} == {20}
    with pytest.raises(DuplicateReportsError) as caught:
        ByClassReports.concat([batch, batch])
    assert caught.value.parts == (1, 2)
    assert len(ByClassReports.concat([batch, batch], allow_duplicates=True)) == 400


def test_copies_are_equal(reports: ByClassReports) -> None:
    assert pickle.loads(pickle.dumps(reports)) == reports
    assert "in the clear" in repr(reports)


def test_what_is_refused(reports: ByClassReports) -> None:
    with pytest.raises(DataError, match="Baskets"):
        randomize_by_class(Baskets([["a"]]), "a", GammaDiagonal(19))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="Baskets"):
        randomize_with_label(Baskets([["a"]]), GammaDiagonal(19))  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        randomize_by_class(TABLE, "income", GammaDiagonal(19))
    with pytest.raises(ParameterError):
        randomize_by_class(TABLE.select(["owner"]), "owner", GammaDiagonal(19))
    with pytest.raises(ParameterError):
        ByClassReports("owner", reports.reports)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        ByClassReports(Attribute("owner", ["no", "yes"]), reports.reports)
    with pytest.raises(ParameterError, match="randomized too"):
        ByClassReports(Attribute("age", OWNER.values), reports.reports)
    mixed = {**reports.reports, "no": GammaDiagonal(9).randomize(TABLE.select(["age", "home"]))}
    with pytest.raises(PlanMismatchError):
        ByClassReports(OWNER, mixed)


@pytest.mark.slow
def test_randomizing_does_without_scikit_learn() -> None:
    """Whoever only sends reports need not install it; whoever learns is told how to."""
    program = (
        "import sys\n"
        "sys.modules['sklearn'] = None\n"
        "from bosket.learning import randomize_by_class\n"
        "try:\n"
        "    from bosket.learning import ReconstructedTreeClassifier\n"
        "except ModuleNotFoundError as error:\n"
        "    assert 'bosket[learn]' in str(error)\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
