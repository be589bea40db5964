"""Bitmaps in files count as those in memory do, whichever items are asked for."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

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
