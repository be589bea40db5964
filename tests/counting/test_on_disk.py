"""Bitmaps in files count as those in memory do, whichever items are asked for."""

from __future__ import annotations

import mmap
import os
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from bosket.counting import on_disk
from bosket.counting.bitmaps import Bitmaps
from bosket.counting.on_disk import BitmapFile, DiskBitmaps, write_columns
from bosket.counting.shards import Shards
from bosket.errors import DataError

ITEMS = 20
SIZES = {3: 40_000, 5: 1, 8: 9_000}  # records of each stratum: columns of some pages, which begin inside one


def _bitmaps(seed: int) -> Bitmaps:
    rng = np.random.default_rng(seed)
    strata = np.repeat(list(SIZES), list(SIZES.values())).astype(np.int32)
    rows = rng.integers(0, 1 << ITEMS, (len(strata), 1), dtype=np.uint64)
    return Bitmaps.from_rows(rows, ITEMS, strata=strata)


def _file(bitmaps: Bitmaps, path: Path) -> BitmapFile:
    write_columns(bitmaps, path)
    return BitmapFile(path, ITEMS, bitmaps.strata, tuple(SIZES.values()))


@pytest.mark.parametrize("items", [range(ITEMS), [0, 1, 7], [19], [2, 18, 19]], ids=str)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_counts_are_those_of_memory(items: list[int], size: int, tmp_path: Path) -> None:
    parts = [_bitmaps(seed) for seed in (1, 2)]
    there = DiskBitmaps([_file(part, tmp_path / f"{number}.bits") for number, part in enumerate(parts)])
    itemsets = np.array(list(combinations(items, size)), np.int32).reshape(-1, size)
    assert there.strata == tuple(SIZES)
    np.testing.assert_array_equal(there.supports(itemsets), Shards(parts).supports(itemsets))


@pytest.mark.parametrize("left", [0, 8, -8])
def test_a_file_that_became_shorter_is_refused(left: int, tmp_path: Path) -> None:
    path = tmp_path / "0.bits"
    there = DiskBitmaps([_file(_bitmaps(1), path)])
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(DataError, match="not as it was written") as caught:
        there.supports(np.array([[0], [1]], np.int32))
    assert caught.value.path == path


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "0.bits"
    there = DiskBitmaps([_file(_bitmaps(1), path)])
    path.unlink()
    with pytest.raises(DataError, match="not as it was written"):
        there.supports(np.array([[0]], np.int32))


class Mapped(mmap.mmap):
    """A mapping that notes what a system is told of it."""

    told: ClassVar[list[tuple[int, int, int]]] = []

    def madvise(self, option: int, start: int = 0, length: int | None = None) -> None:
        Mapped.told.append((option, start, len(self) if length is None else length))
        super().madvise(option, *((start,) if length is None else (start, length)))


@pytest.mark.skipif(not hasattr(mmap.mmap, "madvise"), reason="no system here is told what to read ahead")
class TestReadingAhead:
    ITEMS = np.array([1, 5, 7], np.int32)
    ITEMSETS = np.array([[1, 5], [5, 7]], np.int32)

    @pytest.fixture
    def there(self, tmp_path: Path) -> DiskBitmaps:
        return DiskBitmaps([_file(_bitmaps(seed), tmp_path / f"{seed}.bits") for seed in range(4)])

    @pytest.fixture
    def told(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int]]:
        monkeypatch.setattr(mmap, "mmap", Mapped)
        Mapped.told.clear()
        return Mapped.told

    def test_columns_that_are_wanted_are_told_and_no_others(
        self, there: DiskBitmaps, told: list[tuple[int, int, int]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(on_disk, "_is_at_hand", lambda handle, at: False)
        there.files[0].announce(self.ITEMS)
        assert {option for option, _, _ in told} == {mmap.MADV_WILLNEED}
        wanted = np.zeros(there.files[0].n_bytes, np.bool_)
        for _, start, length in told:
            wanted[start : start + length] = True
        width = 8 * there.files[0].n_words
        expected = np.zeros(len(wanted), np.bool_)
        for item in self.ITEMS.tolist():  # from the page in which a column begins
            expected[item * width // mmap.PAGESIZE * mmap.PAGESIZE : (item + 1) * width] = True
        np.testing.assert_array_equal(wanted, expected)

    def test_what_is_at_hand_is_not_told(
        self, there: DiskBitmaps, told: list[tuple[int, int, int]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first page of a column may have been read with the one before: its end is asked about too."""
        width = 8 * there.files[0].n_words
        monkeypatch.setattr(on_disk, "_is_at_hand", lambda handle, at: at != 6 * width - 1)
        there.files[0].announce(self.ITEMS)
        assert [start for _, start, _ in told] == [5 * width // mmap.PAGESIZE * mmap.PAGESIZE]

    def test_it_is_one_segment_ahead(self, there: DiskBitmaps, monkeypatch: pytest.MonkeyPatch) -> None:
        done: list[tuple[str, int]] = []
        own, count = BitmapFile.announce, BitmapFile.bitmaps

        def announce(file: BitmapFile, items: npt.NDArray[np.int32]) -> None:
            done.append(("announced", int(file.path.stem)))
            own(file, items)

        def bitmaps(file: BitmapFile, items: npt.NDArray[np.int32]) -> Bitmaps:
            done.append(("counted", int(file.path.stem)))
            return count(file, items)

        monkeypatch.setattr(BitmapFile, "announce", announce)
        monkeypatch.setattr(BitmapFile, "bitmaps", bitmaps)
        there.supports(self.ITEMSETS)
        ahead = [[("announced", n + 1), ("counted", n)] for n in range(3)]
        assert done == [("announced", 0), *(step for steps in ahead for step in steps), ("counted", 3)]

    @pytest.mark.parametrize("number", [0, 2])
    def test_a_segment_that_cannot_be_read_ahead_is_told_by_who_counts(self, there: DiskBitmaps, number: int) -> None:
        there.files[number].path.unlink()
        with pytest.raises(DataError, match="not as it was written"):
            there.supports(self.ITEMSETS)


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="no system here says what it has in memory")
def test_what_was_just_read_is_at_hand() -> None:
    """Of a file on a disk: one in memory alone does not say, and is told to be read, which does nothing."""
    with Path(__file__).open("rb", buffering=0) as file:
        n = len(file.read())
        assert on_disk._is_at_hand(file.fileno(), n - 1)
        assert not on_disk._is_at_hand(file.fileno(), n), "behind the end"
