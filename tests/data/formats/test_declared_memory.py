"""Want of memory under a declaration: no error says how much was asked for, which is the number of records or items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import sparse

from bosket.data import Baskets, Table
from bosket.data.baskets import records
from bosket.data.formats import (
    declared_frames,
    declared_lines,
    declared_parquet,
    declared_records,
    declared_tables,
)

ITEMS = ["milk", "tea"]
FRAME = pd.DataFrame({"record": [1, 2], "item": ITEMS})
DROP: dict[str, Any] = {"items": ITEMS, "unknown": "drop"}
VALUES: dict[str, Any] = {"columns": ["item"], "values": {"item": ITEMS}, "unknown": "other"}


def failing(*_: Any, **__: Any) -> Any:
    """As NumPy fails."""
    raise MemoryError("Unable to allocate 7.45 GiB for an array with shape (1000001,) and data type int64")


def written(folder: Path, suffix: str) -> Path:
    path = folder / f"data{suffix}"
    if suffix == ".parquet":
        FRAME.to_parquet(path)
    else:
        path.write_text("milk tea\n" if suffix == ".dat" else FRAME.to_csv(index=False))
    return path


@pytest.mark.parametrize(
    ("module", "name", "read"),
    [
        (declared_records, "canonical", lambda _: Baskets([["milk"]], **DROP)),
        (declared_frames, "from_pairs", lambda _: Baskets.from_frame(FRAME, **DROP)),
        (records, "checked", lambda _: Baskets.from_scipy(sparse.csr_array([[0, 1]]), **DROP)),
        (declared_lines, "canonical", lambda folder: Baskets.read(written(folder, ".dat"), **DROP)),
        (declared_lines, "from_pairs", lambda folder: Baskets.read(written(folder, ".csv"), **DROP)),
        (declared_parquet, "from_pairs", lambda folder: Baskets.read(written(folder, ".parquet"), **DROP)),
        (declared_tables, "_together", lambda _: Table.from_frame(FRAME, **VALUES)),
        (declared_tables, "_Rows", lambda folder: Table.read(written(folder, ".csv"), **VALUES)),
        (declared_tables, "_Rows", lambda folder: Table.read(written(folder, ".parquet"), **VALUES)),
    ],
    ids=["records", "frame", "sparse", "fimi", "csv", "parquet", "table", "table csv", "table parquet"],
)
def test_no_error_says_how_much_was_asked_for(
    module: Any, name: str, read: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(tmp_path)
    monkeypatch.setattr(module, name, failing)
    with pytest.raises(MemoryError) as caught:
        read(tmp_path)
    assert str(caught.value) == "There is not enough memory to read these records."
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
