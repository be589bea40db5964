"""Time follows the number of columns, not its square."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from bosket.data import Attribute, Baskets, Table, TableDomain
from bosket.data.formats.columns import Columns
from bosket.data.formats.sources import Source
from bosket.data.tables.columns import Choices
from bosket.learning.by_class import split_domain
from tests.effort import effort_within

N = 8_000
NAMES = tuple(f"c{at:07d}" for at in range(N))
DOMAIN = TableDomain([Attribute(name, ("a", "b")) for name in NAMES])
TABLE = Table.from_codes(np.zeros((2, N), np.uint8), DOMAIN)


CALLS: dict[str, Callable[[], Any]] = {
    "select attributes": lambda: DOMAIN.select(NAMES[::-1]),
    "select columns": lambda: TABLE.select(NAMES[::-1]),
    "another domain": lambda: TABLE.with_domain(DOMAIN.select(NAMES[::-1])),
    "label": lambda: split_domain(DOMAIN, NAMES[0]),
    "places": lambda: Choices.of().positions(Columns(NAMES, (None,) * N, Source("x"))),
}


@pytest.mark.parametrize("name", CALLS)
def test_attributes_are_found_by_their_names(name: str) -> None:
    """Each of these looked through all names for each name: seconds."""
    with effort_within(1):
        CALLS[name]()


def test_a_name_that_is_none() -> None:
    for name in ("x", 3, ["c0000000"]):
        with pytest.raises(ValueError, match="must be that of an attribute"):
            DOMAIN.position(name)  # type: ignore[arg-type]


@pytest.mark.slow
def test_one_hot_columns_under_declared_items(tmp_path: Path) -> None:
    """The schema was asked for all names and types at each column."""
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table([pa.array([True])] * 4000, names=NAMES[:4000]), path, write_statistics=False)
    with effort_within(4):
        assert Baskets.read(path, items=NAMES).sizes.tolist() == [4000]
