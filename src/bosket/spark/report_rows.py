"""Reports as rows of a Spark frame: columns of the payload, and the plan, in the metadata of the first of them.

Spark keeps the metadata of a column wherever the column goes, into Parquet files too.  Each row also has the beginning
of its plan's digest in the column ``plan``: frames of different plans that were put together are noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from bosket._version import __version__
from bosket.collected import checked_batch
from bosket.errors import BosketError, DataError, PlanMismatchError
from bosket.mechanisms.columns import ColumnValues, Numbers, PayloadColumn
from bosket.mechanisms.payload import Batch
from bosket.plan import Plan
from bosket.report_notes import chance_said
from bosket.respondents import COLUMN
from bosket.spark.faults import ANOTHER_PLAN, BadRows, Fault
from bosket.spark.jobs import Frame, started

PLAN = "plan"
_PREFIX = "bosket."
_ROWS = 1 << 18
_BYTES = 1 << 25
_IMPOSSIBLE = "The reports cannot be of their plan: "


def plan_mark(plan: Plan) -> int:
    """The beginning of the digest, as Spark's long."""
    return int(plan.digest[:16], 16) - (1 << 63)


def notes_on(plan: Plan, randomness: str) -> dict[str, str]:
    """What the metadata of the first column say."""
    notes = {"plan": plan.json, "digest": plan.digest, "randomness": randomness, "version": __version__}
    return {_PREFIX + name: text for name, text in notes.items()}


def noted_plan(frame: Frame) -> tuple[Plan, str] | None:
    """The plan that a frame says its reports are of, and how their chance came about; None where it says nothing."""
    fields = started(lambda: frame.schema.fields)
    notes: Mapping[str, Any] = next((one.metadata for one in fields if _PREFIX + "plan" in (one.metadata or {})), {})
    if not notes:
        return None
    try:
        plan = Plan.from_json(str(notes[_PREFIX + "plan"]))
    except BosketError as problem:
        raise DataError(f"The plan in the frame cannot be used: {problem}", hint=problem.hint) from None
    if notes.get(_PREFIX + "digest") != plan.digest:
        raise PlanMismatchError("The plan in the frame does not match its digest.")
    return plan, chance_said(str(notes.get(_PREFIX + "randomness", "")).encode())


def report_schema(plan: Plan, randomness: str) -> Any:
    """The Spark schema of a frame of reports."""
    from pyspark.sql import types as T  # noqa: N812  # as everybody calls it

    kinds = {"int8": T.ByteType, "uint8": T.ShortType, "int16": T.ShortType, "int32": T.IntegerType}
    fields = [
        T.StructField(
            column.name,
            kinds.get(column.dtype, T.LongType)() if isinstance(column, Numbers) else T.BinaryType(),
            nullable=False,
        )
        for column in plan.channel.payload.columns
    ]
    fields[0] = T.StructField(fields[0].name, fields[0].dataType, False, notes_on(plan, randomness))
    return T.StructType([*fields, T.StructField(PLAN, T.LongType(), nullable=False)])


def to_rows(plan: Plan, batch: Batch) -> Any:
    """Reports as an Arrow batch of that schema."""
    values = {column.name: _to_arrow(column, batch[column.name]) for column in plan.channel.payload.columns}
    return pa.record_batch({**values, PLAN: pa.array(np.full(len(batch), plan_mark(plan), np.int64))})


def _to_arrow(column: PayloadColumn, values: ColumnValues) -> Any:
    if isinstance(column, Numbers):
        if column.dtype == "uint64":  # Spark has no such numbers: the same bits as a long
            return pa.array(np.ascontiguousarray(values).view(np.int64))
        return pa.array(values.astype(np.int16 if column.dtype == "uint8" else column.dtype))
    return column.to_arrow(values).cast(pa.binary())


def selected(frame: Frame, plan: Plan) -> Frame:
    """The columns of reports, and that of the plan where there is one; refused where some are not there."""
    names = started(lambda: list(frame.columns))
    own = [column.name for column in plan.channel.payload.columns]
    for name in own:
        if names.count(name) != 1:
            raise DataError(f"The frame does not have one column '{name}', as reports of its plan have.")
    if COLUMN.name in names and COLUMN.name not in own:
        raise DataError(
            "The frame names its respondents, and who answered too often is not looked for in Spark.",
            hint="Leave that column out, once it was checked, or read the reports with Reports.from_spark.",
        )
    return frame.select(*own, *([PLAN] if PLAN in names and PLAN not in own else []))


def read_batches(batches: Iterable[Any], plan: Plan) -> Iterator[tuple[int, Batch | None, list[Fault]]]:
    """On a worker: some reports at a time, with the number of the first; or what is wrong with them."""
    width = sum(column.memory for column in plan.channel.payload.columns)
    most = max(64, min(_ROWS, _BYTES // width))
    search = BadRows()
    row = 0
    held: list[Any] = []
    n = 0
    for batch in batches:
        for start in range(0, batch.num_rows, most):
            piece = batch.slice(start, most)
            if n + piece.num_rows > most:
                yield (row, *_read(held, plan, search))
                row, held, n = row + n, [], 0
            held.append(piece)
            n += piece.num_rows
    if n:
        yield (row, *_read(held, plan, search))


def _read(pieces: list[Any], plan: Plan, search: BadRows) -> tuple[Batch | None, list[Fault]]:
    rows = pa.Table.from_batches(pieces).combine_chunks()
    if PLAN in rows.column_names:
        of_another = np.flatnonzero(_whole(rows[PLAN]) != plan_mark(plan))
        if len(of_another):
            return None, [Fault(ANOTHER_PLAN, len(of_another), int(of_another[0]))]
    values = {}
    for column in plan.channel.payload.columns:
        cells = rows[column.name].combine_chunks()
        found = _from_arrow(column, cells)
        if found is None:
            return None, _bad_cells(column, cells, search)
        values[column.name] = found
    batch = Batch(values)
    try:
        return checked_batch(plan, batch), []
    except BosketError as problem:
        text = str(problem)
    return None, _impossible(plan, batch, search) or [Fault(_IMPOSSIBLE + text, len(batch), 0)]


def _bad_cells(column: PayloadColumn, cells: Any, search: BadRows) -> list[Fault]:
    """Values of a column that are missing, or that no report may have."""
    must = f"A report must have {column.must}"
    if cells.null_count:
        at = cells.is_null().to_numpy(zero_copy_only=False)
        return [Fault(must, int(at.sum()), int(np.argmax(at)))]

    def problem_in(start: int, stop: int) -> str | None:
        return must if _from_arrow(column, cells.slice(start, stop - start)) is None else None

    return search.faults(len(cells), problem_in)


def _impossible(plan: Plan, batch: Batch, search: BadRows) -> list[Fault]:
    """Reports whose values may be, but not together, or not under the plan."""

    def problem_in(start: int, stop: int) -> str | None:
        try:
            checked_batch(plan, batch.take(slice(start, stop)))
        except BosketError as problem:
            return _IMPOSSIBLE + str(problem)
        return None

    return search.faults(len(batch), problem_in)


def _whole(column: Any) -> Any:
    return column.fill_null(0).to_numpy() if column.null_count else column.to_numpy()


def _from_arrow(column: PayloadColumn, values: Any) -> ColumnValues | None:
    """The values of a column as Spark has them; None where one is missing, or none of its kind."""
    if values.null_count:
        return None
    if isinstance(column, Numbers):
        if pa.types.is_decimal(values.type):
            with suppress(pa.ArrowInvalid):  # negative, too large, or no whole number
                values = values.cast(pa.uint64())
        if not pa.types.is_integer(values.type):
            return None
        if column.dtype == "uint64" and values.type == pa.int64():
            return np.ascontiguousarray(values.to_numpy()).view(np.uint64)
        return column.from_arrow(values)
    if not (pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)):
        return None
    lengths = np.diff(
        np.frombuffer(values.buffers()[1], np.int64 if pa.types.is_large_binary(values.type) else np.int32)[
            values.offset : values.offset + len(values) + 1
        ]
    )
    if len(lengths) and (lengths != column.width).any():
        return None
    return column.from_arrow(values.cast(pa.binary(column.width)))
