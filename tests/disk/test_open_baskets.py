"""Raw baskets in files: the results of the same records in memory, and nothing half-written passes for whole."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import bosket as bk
from bosket.data.formats.arrangements import UNTOLD, Arrangement
from bosket.data.formats.words import NumberedWords
from bosket.disk.records.kernels import PRIME, hash_words
from bosket.disk.records.opened import OpenBaskets
from bosket.disk.records.scratch import RecordScratch
from bosket.disk.records.spill import Spill
from bosket.disk.records.streams import FimiStream, RecordPart
from bosket.disk.scratch import Scratch
from bosket.progress import LevelProgress

LABELS = ["a", "b", "c", "d", "e", "f"]


def some_baskets(n: int, seed: int, *, numbers: bool = False) -> bk.Baskets:
    """Few items that often go together, so that perfect extensions and ties abound; some records are empty."""
    rng = np.random.default_rng(seed)
    kinds = [rng.permutation(len(LABELS))[: rng.integers(0, len(LABELS))] for _ in range(6)]
    labels: list[object] = list(range(3, 3 + len(LABELS))) if numbers else list(LABELS)
    return bk.Baskets([[labels[item] for item in kinds[rng.integers(6)]] for _ in range(n)])


def opened(
    paths: Path | list[Path],
    cells: int,
    *,
    folder: Path | None = None,
    told: Arrangement = UNTOLD,
    across_files: bool | None = None,
) -> OpenBaskets:
    """Files, opened with so little memory that a segment is full with so many cells."""
    some = [paths] if isinstance(paths, Path) else paths
    made = OpenBaskets(some, told, memory=1 << 22, scratch=folder, across_files=across_files)
    made._scratch.rows = cells
    return made


def assert_alike(baskets: OpenBaskets, expected: bk.Baskets, min_support: float = 0.1) -> None:
    assert baskets.n_records == expected.n_records
    assert baskets.domain == expected.domain
    np.testing.assert_array_equal(baskets.item_counts(), expected.item_counts())
    found, known = bk.mine(baskets, min_support), bk.mine(expected, min_support)
    assert found.to_frame().equals(known.to_frame())
    assert found.about == known.about
    assert (
        bk.mine(baskets, min_support, max_size=2)
        .to_frame()
        .equals(bk.mine(expected, min_support, max_size=2).to_frame())
    )
    some = list(expected.domain.labels[:3])
    assert (
        bk.mine(baskets, min_support, items=some)
        .to_frame()
        .equals(bk.mine(expected, min_support, items=some).to_frame())
    )
    asked = [some, some[:1], []]
    np.testing.assert_array_equal(bk.estimate(baskets, asked).value, bk.estimate(expected, asked).value)


@pytest.mark.parametrize("cells", [30, *(pytest.param(cells, marks=pytest.mark.slow) for cells in (200, 10**6))])
@pytest.mark.parametrize(
    "name",
    ["x.dat", "x.dat.gz", "x.csv", "x.csv.gz", "list x.csv", "one-hot x.csv.gz"]
    + [f"{layout} x.parquet" for layout in ("list", "long", "one-hot")],
)
def test_results_are_those_of_the_records_in_memory(
    name: str, cells: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bosket.data.formats.sources.BLOCK", 64)  # a few records at a time
    monkeypatch.setattr("bosket.disk.records.csv_stream._TOGETHER", 64)
    baskets = some_baskets(120, 5, numbers=".dat" in name)
    path, told = tmp_path / name.split()[-1], UNTOLD
    if " " in name:
        baskets.write(path, layout=name.split()[0])  # type: ignore[arg-type]
        told = Arrangement("list") if name == "list x.csv" else UNTOLD  # nothing else is not seen in the file
    else:
        baskets.write(path)
    with opened(path, cells, told=told) as made:
        assert_alike(made, bk.Baskets.read(path, layout=told.layout))
        if cells == 30 and name in ("x.dat", "list x.csv", "one-hot x.csv.gz"):
            assert len(made.group_sizes) > 3


@pytest.mark.slow
def test_many_small_data_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.data.formats.sources.BLOCK", 16)
    for seed in range(12):
        path = tmp_path / f"{seed}.dat"
        some_baskets(40, seed, numbers=True).write(path)
        for least in (0.05, 0.3):
            with opened(path, 20 + 5 * seed) as made:
                found, known = bk.mine(made, least), bk.mine(bk.Baskets.read(path), least)
                assert found.to_frame().equals(known.to_frame())


def test_rows_of_a_record_may_stand_anywhere(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [f"{rng.integers(50)},{rng.choice(['x', 'y', 'z', ''])}" for _ in range(400)]
    path = tmp_path / "x.csv"
    path.write_text("record,item\n" + "\n".join(rows) + "\n")
    expected = bk.Baskets.read(path)
    with opened(path, 100) as made:
        assert_alike(made, expected)
        assert len(made.group_sizes) > 1
    table = pa.table({"who": [row.split(",")[0] for row in rows], "what": [row.split(",")[1] or None for row in rows]})
    parquet.write_table(table, tmp_path / "x.parquet")
    told = Arrangement("long", "who", "what")
    with opened(tmp_path / "x.parquet", 100, told=told) as made:
        assert_alike(made, bk.Baskets.read(tmp_path / "x.parquet", record="who", item="what"))


def test_several_files_are_put_together(tmp_path: Path) -> None:
    parts = [some_baskets(50, seed) for seed in (1, 2)]
    for at, part in enumerate(parts):
        parquet.write_table(pa.table({"items": [list(record) for record in part]}), tmp_path / f"{at}.parquet")
    every = bk.Baskets([record for part in parts for record in part])
    with bk.Baskets.open(tmp_path, memory="1GiB") as made:
        assert_alike(made, every)
    with opened([tmp_path / "0.parquet", tmp_path / "1.parquet"], 10) as made:
        assert_alike(made, every)


def test_files_written_with_several_domains_are_put_together(tmp_path: Path) -> None:
    """The domain is what occurs, and what each file says that may occur."""
    bk.Baskets([["a", "b"], ["a"]], items=["b", "z", "a"]).write(tmp_path / "0.parquet")
    bk.Baskets([["b", "c"], ["c"]]).write(tmp_path / "1.parquet")
    parquet.write_table(pa.table({"items": [["d"]]}), tmp_path / "2.parquet")
    with bk.Baskets.open(tmp_path, memory="1GiB") as made:
        assert made.domain.labels == ("a", "b", "c", "d", "z")
        assert made.item_counts().tolist() == [2, 2, 2, 1, 0]
    (tmp_path / "2.parquet").unlink()
    bk.Baskets([["z"]], items=["b", "z", "a"]).write(tmp_path / "1.parquet")
    with bk.Baskets.open(tmp_path, memory="1GiB") as made:
        assert made.domain == bk.Domain(["b", "z", "a"]), "the same in all"


class TestSeveralLongFiles:
    """A row for each record and item, in several files: what a record's name means in them must be said."""

    FIRST = (("1", "x"), ("2", "y"), ("1", "y"), ("3", ""))
    SECOND = (("3", "x"), ("1", "z"), ("4", ""), ("1", "z"))

    @pytest.fixture(params=["csv", "csv.gz", "parquet", "numbers parquet"])
    def paths(self, request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
        return [self._written(rows, tmp_path, request.param, at) for at, rows in enumerate((self.FIRST, self.SECOND))]

    def _written(self, rows: tuple[tuple[str, str], ...], folder: Path, kind: str, at: int) -> Path:
        path = folder / f"{at}.{kind.split()[-1]}"
        if kind.endswith("parquet"):
            names = [int(record) if "numbers" in kind else record for record, _ in rows]
            parquet.write_table(pa.table({"record": names, "item": [item or None for _, item in rows]}), path)
            return path
        text = "record,item\n" + "".join(f"{record},{item}\n" for record, item in rows)
        path.write_bytes(gzip.compress(text.encode()) if kind.endswith("gz") else text.encode())
        return path

    @pytest.mark.parametrize("cells", [12, 10**6])
    def test_a_record_may_have_rows_in_all(self, paths: list[Path], cells: int) -> None:
        with opened(paths, cells, across_files=True) as made:
            assert_alike(made, bk.Baskets([["x", "y", "z"], ["y"], ["x"], []]))

    @pytest.mark.parametrize("cells", [12, 10**6])
    def test_every_file_may_have_its_own(self, paths: list[Path], cells: int) -> None:
        with opened(paths, cells, across_files=False) as made:
            assert_alike(made, bk.Baskets([["x", "y"], ["y"], [], ["x"], ["z"], []]))

    def test_it_must_be_said(self, paths: list[Path]) -> None:
        with pytest.raises(bk.DataError, match="what the name of a record means") as problem:
            bk.Baskets.open(paths)
        assert "across_files=True" in str(problem.value.hint)
        with pytest.raises(bk.ParameterError, match="across_files"):
            bk.Baskets.open(paths, across_files="yes")  # type: ignore[arg-type]  # wrong on purpose

    def test_a_second_look_asks_the_scratch_folder(self, paths: list[Path], tmp_path: Path) -> None:
        for across, n_records in ((True, 4), (False, 6), (True, 4)):
            with opened(paths, 10, folder=tmp_path / str(across), across_files=across) as made:
                assert made.n_records == n_records
        with pytest.raises(bk.DataError), opened(paths, 10, folder=tmp_path / "True", across_files=False) as made:
            bk.mine(made, 0.5)

    def test_columns_of_other_names_or_types_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "0.csv").write_text("record,item\n1,x\n")
        (tmp_path / "1.csv").write_text("who,what\n1,x\n")
        parquet.write_table(pa.table({"record": [1], "item": ["x"]}), tmp_path / "0.parquet")
        parquet.write_table(pa.table({"record": ["1"], "item": ["x"]}), tmp_path / "1.parquet")
        for kind in ("csv", "parquet"):
            with pytest.raises(bk.DataError, match="same names and types"):
                bk.Baskets.open(tmp_path / f"*.{kind}", across_files=True)
        parquet.write_table(pa.table({"items": [["x"]]}), tmp_path / "1.parquet")
        with pytest.raises(bk.DataError, match="one layout"):
            bk.Baskets.open(tmp_path / "*.parquet", across_files=True)

    def test_columns_of_signs_are_judged_over_all_files(self, tmp_path: Path) -> None:
        paths = [tmp_path / "0.csv", tmp_path / "1.csv"]
        paths[0].write_text("who,what\n1,0\n0,1\n")
        paths[1].write_text("who,what\n1,0\n2,1\n")
        with opened(paths, 10, across_files=True) as made:
            assert made.n_records == 3
        paths[1].write_text("who,what\n1,0\n")
        with pytest.raises(bk.DataError, match="two columns of 0 and 1"), opened(paths, 10, across_files=True) as made:
            bk.mine(made, 0.5)


class TestOneFolderForTwo:
    """A scratch folder that two programs are given at the same time."""

    def test_the_folder_is_locked_while_it_is_written(self, tmp_path: Path) -> None:
        """Each removed the rows that the other was sorting: of four million records three were left, and no word."""
        path, scratch = tmp_path / "x.csv", tmp_path / "scratch"
        path.write_text("record,item\n1,a\n2,b\n")
        tried: list[LevelProgress] = []

        def lock() -> None:
            with (scratch / "lock").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

        def try_it(state: LevelProgress) -> None:
            with pytest.raises(BlockingIOError):
                lock()
            tried.append(state)

        with bk.Baskets.open(path, scratch=scratch, on_progress=try_it) as made:
            assert made.n_records == 2
            assert tried
            lock()  # it is free once all is written
            with bk.Baskets.open(path, scratch=scratch, on_progress=lambda _: tried.clear()) as again:
                assert again.n_records == 2
            assert tried  # nothing was read again

    def test_two_programs_may_make_the_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path, scratch = tmp_path / "x.dat", tmp_path / "scratch"
        path.write_text("1 2\n")
        is_dir = Path.is_dir

        def looked_at(folder: Path) -> bool:
            found = is_dir(folder)
            if folder == scratch and not found:
                scratch.mkdir(mode=0o700)  # by the other one, now
            return found

        monkeypatch.setattr(Path, "is_dir", looked_at)
        with bk.Baskets.open(path, scratch=scratch) as made:
            assert made.n_records == 1

    def test_who_comes_while_another_begins_waits(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The other one's manifest, half written, was taken for a file of somebody else's."""
        path, scratch = tmp_path / "x.dat", tmp_path / "scratch"
        path.write_text("1 2\n")
        written, found = Scratch._written, []

        def second() -> None:
            with bk.Baskets.open(path, scratch=scratch, memory="1GiB") as made:
                found.append((made.n_records, made._scratch.rows))

        other = threading.Thread(target=second)

        @contextlib.contextmanager
        def slowly(self: Scratch, target: Path) -> Iterator[Path]:
            with written(self, target) as temporary:
                if other.ident is None:
                    with (scratch / "lock").open("rb") as file, pytest.raises(BlockingIOError):
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    other.start()
                yield temporary

        monkeypatch.setattr(Scratch, "_written", slowly)
        with bk.Baskets.open(path, scratch=scratch, memory="1GiB") as made:
            rows = made._scratch.rows
            other.join(60)
            assert found == [(1, rows)]
            assert made.n_records == 1

    def test_rows_of_somebody_else_are_not_sorted_with_ours(self, tmp_path: Path) -> None:
        spill, words = Spill(tmp_path / "spilt", buffered=1), NumberedWords()
        words.number(np.frombuffer(b"ab", np.uint8), np.array([0, 1, 2]))
        spill.append(words, np.array([0, 1], np.int32), np.array([0, 1], np.int32))
        spill.flush()
        (group,) = spill.groups(100)
        assert spill.records(group, 2, 100).indptr.tolist() == [0, 1, 2]
        with (tmp_path / "spilt" / group[0]).open("ab") as file:
            file.write(bytes(20))
        with pytest.raises(bk.DataError, match="not as it was written"):
            spill.records(group, 2, 100)


class TestDeclaredItems:
    """``items`` says what the domain is."""

    @pytest.mark.parametrize("other", [[1, 2, 1], [1.0, 2.0, 1.0]])
    def test_an_item_that_files_write_as_text_and_as_a_number_counts_once(
        self, other: list[float], tmp_path: Path
    ) -> None:
        """A record that has it in both files was counted twice, so that a support could be above 1."""
        parquet.write_table(pa.table({"record": ["r", "s"], "item": ["1", "2"]}), tmp_path / "0.parquet")
        parquet.write_table(pa.table({"record": ["r", "r", "t"], "item": other}), tmp_path / "1.parquet")
        with bk.Baskets.open(tmp_path / "*.parquet", across_files=True, items=["2", "1", "3"]) as made:
            assert_alike(made, bk.Baskets([["1", "2"], ["2"], ["1"]], items=["2", "1", "3"]))

    @pytest.mark.parametrize("other", [[1, 2], [1.0, 2.5]])
    def test_without_a_declaration_an_item_that_is_text_and_a_number_is_refused(
        self, other: list[float], tmp_path: Path
    ) -> None:
        """It was two items, each with the support that its own file gave it, and no word was said."""
        parquet.write_table(pa.table({"items": [["1"], ["3"]]}), tmp_path / "0.parquet")
        parquet.write_table(pa.table({"items": [other]}), tmp_path / "1.parquet")
        with (
            bk.Baskets.open(tmp_path / "*.parquet") as made,
            pytest.raises(bk.DataError, match="hold 1 item as text in one and as a number in another") as problem,
        ):
            bk.mine(made, 0.5)
        assert "items=" in str(problem.value.hint)

    def test_words_beside_numbers_are_other_items(self, tmp_path: Path) -> None:
        parquet.write_table(pa.table({"items": [["a"], ["01"]]}), tmp_path / "0.parquet")
        parquet.write_table(pa.table({"items": [[1, 2]]}), tmp_path / "1.parquet")
        with bk.Baskets.open(tmp_path / "*.parquet") as made:
            assert made.n_items == 4

    @pytest.mark.parametrize("name", ["x.dat", "x.csv", "list x.csv", "list x.parquet", "one-hot x.csv"])
    def test_items_that_no_record_holds_are_there(self, name: str, tmp_path: Path) -> None:
        baskets, path = bk.Baskets([[3, 5], [5], []]), tmp_path / name.split()[-1]
        layout = name.split()[0] if " " in name else None
        baskets.write(path, layout=layout)  # type: ignore[arg-type]  # words of a parameter
        said = {"layout": layout} if layout else {}
        for items in ([5, 4, 3], ["4", "5", "3"]):
            expected = bk.Baskets.read(path, items=items, **said)  # type: ignore[arg-type]  # words of a parameter
            with bk.Baskets.open(path, memory="1GiB", items=items, **said) as made:  # type: ignore[arg-type]  # words of a parameter
                assert_alike(made, expected)

    @pytest.mark.parametrize(("items", "number"), [([3], "1 item"), (["x"], "2 different items")])
    def test_others_are_refused_by_their_number(self, items: list[object], number: str, tmp_path: Path) -> None:
        (tmp_path / "x.dat").write_text("3 98765\n")
        with (
            pytest.raises(bk.DataError, match=f"hold {number} that") as problem,
            bk.Baskets.open(tmp_path / "x.dat", memory="1GiB", items=items) as made,
        ):
            bk.mine(made, 0.5)
        assert "98765" not in str(problem.value)

    def test_one_folder_serves_any_declaration(self, tmp_path: Path) -> None:
        (tmp_path / "x.dat").write_text("3 5\n")
        for items, labels in ((None, (3, 5)), ([5, 3], (5, 3)), ([3, 4, 5], (3, 4, 5))):
            with bk.Baskets.open(tmp_path / "x.dat", memory="1GiB", scratch=tmp_path / "s", items=items) as made:
                assert made.domain.labels == labels
                assert int(made.item_counts().sum()) == 2


def test_large_numbers_and_repeated_items(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_text("9223372036854775807 1 1\n1 9223372036854775807\n\n5 1\n" * 5)
    with opened(path, 8) as made:
        assert_alike(made, bk.Baskets.read(path))
    parquet.write_table(pa.table({"items": [["b", "a", "a"], ["b"], None, []] * 5}), tmp_path / "x.parquet")
    with opened(tmp_path / "x.parquet", 8) as made:
        assert_alike(made, bk.Baskets.read(tmp_path / "x.parquet"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.dat", b"1 2\n3\n4 x\n"),
        ("x.csv", b"record,item\n1,2\n,4\n"),
        ("x.csv", b"record,item\n1,2\n1,2,3\n"),
        ("x.csv", b"record,item\n1,\xff\n"),
        ("x.csv", b"1,5\n1,2\n"),
        ("x.csv", b"one,two\n1,0\n0,1\n"),
        ("x.csv", b"one,two,three\n1,0,1\n0,1,7\n"),
        ("x.dat.gz", gzip.compress(b"1 2\n" * 1000, mtime=0)[:30]),
        ("x.dat", b""),
        ("x.parquet", b"PAR1 this is none"),
    ],
)
def test_errors_are_those_of_the_reader(name: str, text: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(text)
    with pytest.raises(bk.DataError) as expected:
        bk.Baskets.read(path)
    with pytest.raises(bk.DataError) as problem, bk.Baskets.open(path) as made:
        bk.mine(made, 0.5)
    assert (str(problem.value), problem.value.line) == (str(expected.value), expected.value.line)


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    baskets = some_baskets(20, 1)
    for name in ("1.csv", "2.csv"):
        baskets.write(tmp_path / name)
    for name, items in (("hot.parquet", LABELS), ("other.parquet", LABELS[::-1])):
        bk.Baskets(list(baskets), items=items).write(tmp_path / name, layout="one-hot")
    for paths in (
        [tmp_path / "1.csv", tmp_path / "2.csv"],
        [tmp_path / "1.csv", tmp_path / "hot.parquet"],
        [tmp_path / "hot.parquet", tmp_path / "other.parquet"],
    ):
        with pytest.raises(bk.DataError, match="opened together"):
            bk.Baskets.open(paths)
    parquet.write_table(pa.table({"one": [1, 0], "two": [0, 1]}), tmp_path / "two.parquet")
    with pytest.raises(bk.DataError, match="to be opened"), bk.Baskets.open(tmp_path / "two.parquet") as made:
        bk.mine(made, 0.5)
    with pytest.raises(bk.DataError, match="does not exist"):
        bk.Baskets.open(tmp_path / "none.dat")
    with pytest.raises(bk.ParameterError, match="at least"):
        bk.Baskets.open(tmp_path / "1.csv", memory="100MiB")


def test_too_much_for_a_part_says_what_helps(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_text(" ".join(map(str, range(24))) + "\n" + "1\n" * 200)
    with opened(path, 10**6) as made, pytest.raises(bk.TooManyCandidatesError, match="In a part") as problem:
        bk.mine(made, 1 / 201, max_candidates=1000)
    assert "memory" in str(problem.value.hint)


def test_a_first_pass_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.data.formats.sources.BLOCK", 64)
    path, folder = tmp_path / "x.dat.gz", tmp_path / "scratch"
    some_baskets(120, 5, numbers=True).write(path)
    with opened(path, 60, folder=folder) as made:
        n_segments = len(made._known.notes)
    assert n_segments > 4
    for number in range(3, n_segments):
        (folder / f"{number:06d}.json").unlink()
    (folder / "complete.json").unlink()
    (folder / "000002.records").write_bytes(b"cut short")
    began: list[tuple[int, int]] = []
    parts = FimiStream.parts

    def noted(self: FimiStream, place: tuple[int, int], tell: Callable[[int], None]) -> Iterator[RecordPart]:
        began.append(place)
        return parts(self, place, tell)

    monkeypatch.setattr(FimiStream, "parts", noted)
    with opened(path, 60, folder=folder) as made:
        assert_alike(made, bk.Baskets.read(path))
    assert began[0][0] > 0
    assert began[0][1] > 0
    with opened(path, 60, folder=folder) as made:
        assert_alike(made, bk.Baskets.read(path))
    assert len(began) == 1, "nothing is read again"


class KilledError(Exception):
    """What ends a program in the middle."""


def killed_after(n_segments: int, patch: pytest.MonkeyPatch) -> None:
    """End the program once it has written so many segments."""
    save = RecordScratch.save
    seen: list[Any] = []

    def counted(*arguments: Any) -> Any:
        if len(seen) == n_segments:
            raise KilledError
        seen.append(save(*arguments))
        return seen[-1]

    patch.setattr(RecordScratch, "save", counted)


@pytest.mark.parametrize("written", [1, 2])
@pytest.mark.parametrize("damaged", [0, 1])
@pytest.mark.parametrize("name", ["x.dat", "x.csv"])
def test_segments_of_two_passes_are_not_taken_for_those_of_one(
    name: str, damaged: int, written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A segment was damaged, and the program that wrote it again was killed: records were lost, or counted twice."""
    monkeypatch.setattr("bosket.data.formats.sources.BLOCK", 50)
    path, folder = tmp_path / name, tmp_path / "scratch"
    baskets = some_baskets(300, 5, numbers=name == "x.dat")
    baskets.write(path, layout="list" if name == "x.dat" else "long")
    if name == "x.csv":
        baskets = bk.Baskets.read(path)  # without records that have no rows
    with opened(path, 60, folder=folder) as made:
        assert made.n_records == baskets.n_records
    segment = folder / f"{damaged:06d}.records"
    segment.write_bytes(bytes(byte ^ 1 for byte in segment.read_bytes()))
    with monkeypatch.context() as patch, opened(path, 60, folder=folder) as made:
        killed_after(written, patch)
        with pytest.raises(KilledError):
            made.item_counts()
    with opened(path, 60, folder=folder) as made:
        assert_alike(made, baskets)
    with opened(path, 60, folder=folder) as made:
        np.testing.assert_array_equal(made.item_counts(), baskets.item_counts())


def test_nothing_is_complete_while_it_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, folder = tmp_path / "x.csv", tmp_path / "scratch"
    some_baskets(100, 5).write(path, layout="long")
    with opened(path, 60, folder=folder) as made:
        assert made.n_records
    assert (folder / "complete.json").exists()
    (folder / "000000.records").write_bytes(b"damaged")
    killed_after(0, monkeypatch)
    with opened(path, 60, folder=folder) as made, pytest.raises(KilledError):
        made.item_counts()
    assert not (folder / "complete.json").exists()


@pytest.mark.parametrize("end", ['{"segments": 4}', '{"segments": 4, "checksum": 1}', "[", "4"])
def test_notes_of_an_older_version_are_written_again(end: str, tmp_path: Path) -> None:
    """They did not say which segment they follow."""
    path, folder = tmp_path / "x.dat", tmp_path / "scratch"
    some_baskets(120, 5, numbers=True).write(path)
    with opened(path, 60, folder=folder) as made:
        notes = made._known.notes
    for number in range(len(notes)):
        beside = folder / f"{number:06d}.json"
        note = json.loads(beside.read_text())
        del note["before"]
        beside.write_text(json.dumps(note))
    (folder / "complete.json").write_text(end.replace("4", str(len(notes)), 1))
    with opened(path, 60, folder=folder) as made:
        assert_alike(made, bk.Baskets.read(path))
        assert made._known.notes == notes


def test_a_cell_of_a_later_batch_is_told_by_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.disk.records.parquet_stream.MOST_TOGETHER", 9)
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({name: [0, 1, 1, 0, 1, 0, 0, 7] for name in "abc"}), path)
    with pytest.raises(bk.DataError, match="row 8 of") as expected:
        bk.Baskets.read(path)
    with pytest.raises(bk.DataError) as problem, bk.Baskets.open(path) as made:
        made.item_counts()
    assert str(problem.value) == str(expected.value)


@pytest.mark.parametrize(
    "name", ["list x.parquet", "long x.parquet", "one-hot x.parquet", "list x.csv", "one-hot x.csv"]
)
def test_labels_are_found_again(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All segments from a pass before, and, of files with whole records, the first of them alone."""
    monkeypatch.setattr("bosket.data.formats.sources.BLOCK", 64)
    monkeypatch.setattr("bosket.disk.records.csv_stream._TOGETHER", 64)
    layout, file = name.split()
    path, folder = tmp_path / file, tmp_path / "scratch"
    baskets = some_baskets(90, 2)
    baskets.write(path, layout=layout)  # type: ignore[arg-type]  # words of a parameter
    told = Arrangement("list") if name == "list x.csv" else UNTOLD
    for turn in range(3):
        with opened(path, 60, folder=folder, told=told) as made:
            assert_alike(made, baskets)
        if turn == 1 and layout != "long":
            (folder / "complete.json").unlink()
            for later in sorted(folder.glob("0*.json"))[1:]:
                later.unlink()
    path.touch()
    with pytest.raises(bk.DataError, match="of other files"):
        opened(path, 60, folder=folder)


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.dat"
    some_baskets(60, 2, numbers=True).write(path)
    full = shutil.disk_usage(tmp_path)._replace(free=10)
    with opened(path, 60, folder=tmp_path / "scratch") as made:
        with monkeypatch.context() as patch:
            patch.setattr("bosket.disk.scratch.shutil.disk_usage", lambda _: full)
            with pytest.raises(bk.DataError, match="room for 10 bytes"):
                made.item_counts()
        assert_alike(made, bk.Baskets.read(path))


def test_progress_is_told_in_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    some_baskets(60, 2, numbers=True).write(path)
    heard: list[LevelProgress] = []
    with bk.Baskets.open(path, on_progress=heard.append) as made:
        assert not heard, "nothing is read before something is asked"
        found: list[LevelProgress] = []
        bk.mine(made, 0.1, on_progress=found.append)
    assert (heard[-1].stage, heard[-1].done, heard[-1].total) == ("reading", path.stat().st_size, path.stat().st_size)
    assert found[-1].done == 1.0


def test_a_temporary_folder_goes_with_the_object(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    some_baskets(60, 2, numbers=True).write(path)
    made = bk.Baskets.open(path)
    made.item_counts()
    folder = made._scratch.folder
    assert folder.is_dir()
    made.close()
    assert not folder.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_scratch_folder_is_the_owner_s_alone(tmp_path: Path) -> None:
    """It holds raw records."""
    path = tmp_path / "x.dat"
    some_baskets(10, 2, numbers=True).write(path)
    for folder in (tmp_path / "scratch", None):
        with bk.Baskets.open(path, scratch=folder) as made:
            made.item_counts()
            assert made._scratch.folder.stat().st_mode & 0o077 == 0


def test_a_hash_is_the_polynomial() -> None:
    """By Python's whole numbers: x^(L + 1) + sum of (byte i + 1) x^(L - i), modulo 2^61 - 1."""
    words = [b"", b"a", b"aa", b"ab", b"\xff" * 30, bytes(range(40))]
    letters, ends = np.frombuffer(b"".join(words), np.uint8), np.cumsum([0, *map(len, words)])
    points = [2, PRIME - 1, 1234567890123456789 % PRIME, PRIME // 3]
    for first, second in pairwise(points):
        found = hash_words(letters, ends, len(words), np.array([first, second], np.uint64))
        for word, names in zip(words, found.tolist(), strict=True):
            for x, name in zip((first, second), names, strict=True):
                size = len(word)
                total = x ** (size + 1) + sum((byte + 1) * x ** (size - i) for i, byte in enumerate(word))
                assert name == total % PRIME
