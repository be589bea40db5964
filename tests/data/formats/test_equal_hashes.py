"""Labels of a file that were chosen to have one hash value: refused, or they would be looked up in quadratic time."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from bosket.data import Baskets, Table
from bosket.errors import DataError

PRIME = (1 << 61) - 1
KIND = pa.decimal128(38, 0)
CHOSEN = [Decimal(PRIME * (at + 1)) for at in range(65)]


def columns(values: list[Decimal]) -> dict[str, dict[str, Any]]:
    cells = pa.array(values, KIND)
    return {
        "long": {"record": pa.array(range(len(values))), "item": cells},
        "list": {"items": pa.array([[value] for value in values], pa.list_(KIND))},
        "table": {"c": cells},
    }


@pytest.mark.parametrize("layout", ["long", "list", "table"])
def test_labels_of_one_hash_value_are_refused(tmp_path: Path, layout: str) -> None:
    assert len(set(map(hash, CHOSEN))) == 1
    read: Any = Table.read if layout == "table" else Baskets.read
    for values, is_refused in ((CHOSEN[:-1], False), (CHOSEN, True), ([value + 7 for value in CHOSEN], True)):
        path = tmp_path / "x.parquet"
        parquet.write_table(pa.table(columns(values)[layout]), path)
        if is_refused:
            with pytest.raises(DataError, match="the same hash value"):
                read(path)
        else:
            assert read(path).n_records == len(values)


def test_repeated_labels_have_one_hash_value_and_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table(columns([Decimal(1), Decimal(2)] * 500)["long"]), path)
    assert Baskets.read(path).n_items == 2
    assert Baskets([[7, 7, 8]] * 200).n_items == 2
