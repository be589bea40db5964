"""Bitmaps in files count as those in memory do, whichever items are asked for."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path
from threading import Event
from threading import enumerate as running

import numpy as np
import pytest

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


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="no system here is told what to read ahead")
class TestReadingAhead:
    ITEMSETS = np.array([[1, 5], [5, 7]], np.int32)

    @pytest.fixture
    def there(self, tmp_path: Path) -> DiskBitmaps:
        return DiskBitmaps([_file(_bitmaps(seed), tmp_path / f"{seed}.bits") for seed in range(4)])

    def test_what_is_wanted_is_told_and_nothing_else(self, there: DiskBitmaps, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every byte of the columns of the items, one segment after the other."""
        told: list[tuple[int, int]] = []
        monkeypatch.setattr(os, "posix_fadvise", lambda _, start, length, __: told.append((start, start + length)))
        there.supports(self.ITEMSETS)
        width = 8 * there.files[0].n_words
        assert len(told) % 4 == 0
        one = told[: len(told) // 4]
        assert told == 4 * one
        covered = np.concatenate([np.arange(start, stop) for start, stop in one])
        expected = np.concatenate([np.arange(item * width, (item + 1) * width) for item in (1, 5, 7)])
        np.testing.assert_array_equal(covered, expected)

    def test_it_is_one_segment_ahead(self, there: DiskBitmaps, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that is counted was told before; of those behind the next nothing is."""
        told: list[int] = []
        seen: list[tuple[int, list[int]]] = []
        own, count = BitmapFile.announce, BitmapFile.bitmaps

        def announce(file: BitmapFile, items: np.ndarray, is_over: Event) -> None:
            told.append(int(file.path.stem))
            own(file, items, is_over)

        def bitmaps(file: BitmapFile, items: np.ndarray) -> Bitmaps:
            seen.append((int(file.path.stem), list(told)))
            return count(file, items)

        monkeypatch.setattr(BitmapFile, "announce", announce)
        monkeypatch.setattr(BitmapFile, "bitmaps", bitmaps)
        there.supports(self.ITEMSETS)
        assert [number for number, _ in seen] == [0, 1, 2, 3]
        for number, before in seen:
            assert set(range(number + 1)) <= set(before) <= set(range(number + 2))

    def test_nobody_reads_on_where_counting_ended(self, there: DiskBitmaps) -> None:
        def stop(_: int) -> None:
            raise KeyboardInterrupt

        before = set(running())
        with pytest.raises(KeyboardInterrupt):
            there.supports(self.ITEMSETS, on_progress=stop)
        for thread in set(running()) - before:
            thread.join(5)
            assert not thread.is_alive()

    def test_a_segment_that_cannot_be_read_ahead_is_told_by_who_counts(self, there: DiskBitmaps) -> None:
        there.files[2].path.unlink()
        with pytest.raises(DataError, match="not as it was written"):
            there.supports(self.ITEMSETS)
