"""A frame in memory that does what is asked of one of Spark, partition by partition: no session is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from bosket.spark.summaries import names_of
from bosket.spark.surveying import SURVEYED

Parts = Callable[[], list[list[Any]]]


_NAMES = names_of(SURVEYED)


class PartsFrame:
    """Partitions, each a list of Arrow batches, computed whenever they are asked for unless they are persisted."""

    sparkSession = SimpleNamespace(conf={"spark.sql.adaptive.enabled": "false"})  # noqa: N815  # as Spark calls it

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def mapInArrow(self, job: Callable[[Any], Iterator[Any]], layout: str) -> PartsFrame:  # noqa: N802
        def mapped() -> list[list[Any]]:
            return [[_numbered(row, part) for row in job(iter(rows))] for part, rows in enumerate(self._parts())]

        names = [column.split()[0] for column in layout.split(", ")]
        return _Checked(mapped, names)

    def persist(self) -> PartsFrame:
        kept: list[list[list[Any]]] = []

        def once() -> list[list[Any]]:
            if not kept:
                kept.append(self._parts())
            return kept[0]

        return PartsFrame(once)

    def unpersist(self) -> None: ...

    def where(self, condition: str) -> PartsFrame:
        said = condition.replace(" = ", " == ").replace(" is null", " is None")

        def chosen() -> list[list[Any]]:
            return [[row for row in rows if eval(said, {}, row.to_pylist()[0])] for rows in self._parts()]

        return PartsFrame(chosen)

    def select(self, *names: str) -> PartsFrame:
        return PartsFrame(lambda: [[row.select(names) for row in rows] for rows in self._parts()])

    def coalesce(self, tasks: int) -> PartsFrame:
        def fewer() -> list[list[Any]]:
            parts = self._parts()
            return [[row for rows in parts[at::tasks] for row in rows] for at in range(min(tasks, len(parts)))]

        return PartsFrame(fewer)

    def repartition(self, tasks: int) -> PartsFrame:
        def dealt() -> list[list[Any]]:
            rows = [row for rows in self._parts() for row in rows]
            return [rows[at::tasks] for at in range(tasks)]

        return PartsFrame(dealt)

    def toArrow(self) -> Any:  # noqa: N802
        rows = [row for rows in self._parts() for row in rows]
        return pa.Table.from_batches(rows) if rows else pa.table(dict.fromkeys(_NAMES, pa.array([], pa.int64())))


class _Checked(PartsFrame):
    """What a job gives, which must have the columns that were promised."""

    def __init__(self, parts: Parts, names: list[str]) -> None:
        super().__init__(lambda: [[_with(names, row) for row in rows] for rows in parts()])


def _with(names: list[str], row: Any) -> Any:
    assert row.schema.names == names
    return row


def _numbered(row: Any, part: int) -> Any:
    """A row that says of which partition it is: without a session there is no task to ask."""
    at = row.schema.get_field_index("part")
    return row if at < 0 else row.set_column(at, "part", pa.array([part] * row.num_rows, pa.int32()))
