"""What a frame is, by its schema alone: reports, lists of items, rows of record and item, one-hot, or a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bosket.checks import shown
from bosket.errors import DataError, ParameterError
from bosket.spark.jobs import Frame, started
from bosket.spark.segments import LOST, RowShape, alias_of

SparkLayout = Literal["list", "long", "one-hot", "table"]

WHOLE = {"tinyint", "smallint", "int", "bigint"}
FRACTIONS = {"float", "double"}
_PLAIN = WHOLE | FRACTIONS | {"string", "boolean"}
_HOW = (
    "A frame has a column of lists (array), two columns of records and items, a column of truth values for each item, "
    "or a column for each attribute of a table."
)


@dataclass(frozen=True)
class Shaped:
    """A frame of just the columns that are read, and how they are."""

    frame: Frame
    shape: RowShape
    kinds: Mapping[str, str]
    """The types of the columns by their names, as Spark calls them, where each is an item or an attribute."""


def shaped(
    frame: Frame,
    layout: SparkLayout | None = None,
    *,
    record: str | None = None,
    item: str | None = None,
    columns: Iterable[str] | None = None,
) -> Shaped:
    """The frame as the workers read it; refused by the names and types of its columns where they are none of these."""
    kinds = started(lambda: {column.name: column.dataType.simpleString() for column in frame.schema.fields})
    if len(kinds) < len(frame.columns):
        raise DataError("The frame must not give two columns the same name.")
    if columns is not None:
        kinds = {name: kinds[named(name, kinds, "columns")] for name in columns}
    if layout is None:
        layout = _detected(kinds, record, item)
    elif layout not in get_args(SparkLayout):
        known = ", ".join(map(repr, get_args(SparkLayout)))
        raise ParameterError(
            f"The 'layout' parameter must be one of {known}, got {shown(layout)}.", parameter="layout", value=layout
        )
    if layout == "list":
        return Shaped(_lists(frame, kinds, item), "list", {})
    if layout == "long":
        return Shaped(_grouped(frame, kinds, record, item), "list", {})
    allowed = WHOLE | {"boolean"} if layout == "one-hot" else _PLAIN
    for name, kind in kinds.items():
        if kind not in allowed:
            raise DataError(
                f"The column {shown(name)} of the frame, of type {_written(kind)}, cannot be read as {layout}.",
                hint=_HOW,
            )
    if not kinds:
        raise DataError("The frame has no columns.", hint=_HOW)
    from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

    made = frame.select(*(F.col(_quoted(name)).alias(alias_of(name)) for name in kinds))
    return Shaped(made, layout, kinds)


def _detected(kinds: dict[str, str], record: str | None, item: str | None) -> SparkLayout:
    """The layout that names and types of the columns leave."""
    lists = [name for name, kind in kinds.items() if kind.startswith("array<")]
    if record is None and (lists or (item is not None and kinds.get(item, "").startswith("array<"))):
        return "list"
    if record is not None or item is not None:
        return "long"
    of = set(kinds.values())
    if of == {"boolean"}:
        return "one-hot"
    if len(kinds) == 2 and (set(kinds) == {"record", "item"} or not of <= WHOLE | {"boolean"}):
        return "long"
    if len(kinds) == 2 and of <= _PLAIN:
        raise DataError(
            "The frame has two columns of whole numbers, which may be two items, two attributes, or records and items.",
            hint="Call them record and item, or say which: bosket.spark.baskets(frame, layout=...) or "
            "bosket.spark.table(frame).",
        )
    if kinds and of <= WHOLE | {"boolean"}:
        return "one-hot"
    if kinds and of <= _PLAIN:
        return "table"
    types = ", ".join(map(_written, sorted(of))) or "no columns"
    raise DataError(f"The frame holds neither records nor reports: its columns are of the types {types}.", hint=_HOW)


def _lists(frame: Frame, kinds: dict[str, str], item: str | None) -> Frame:
    names = [name for name, kind in kinds.items() if kind.startswith("array<")] if item is None else [item]
    if len(names) != 1:
        raise DataError(
            f"The frame must have one column of lists, got {len(names)}.",
            hint="Name it: bosket.spark.baskets(frame, item=...).",
        )
    name = named(names[0], kinds, "item")
    inner = kinds[name].removeprefix("array<").removesuffix(">")
    if not kinds[name].startswith("array<") or inner not in _PLAIN:
        raise DataError(
            f"The column {shown(name)} of the frame must hold lists of text, numbers or truth values, got "
            f"{_written(kinds[name])}."
        )
    from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

    return frame.select(F.col(_quoted(name)).alias("items"))


def _grouped(frame: Frame, kinds: dict[str, str], record: str | None, item: str | None) -> Frame:
    """The rows of each record put together; a missing item, NaN too, only says that the record exists.

    What names no record, NaN too, is not a record: rows of many people would be one.  They may be many, and are not
    put together.
    """
    if record is None and item is None and {"record", "item"} <= set(kinds):
        record, item = "record", "item"
    if (record is None or item is None) and len(kinds) != 2:
        raise DataError(
            f"The frame must have two columns to be read as records and items, got {len(kinds)}.",
            hint="Name them: bosket.spark.baskets(frame, record=..., item=...).",
        )
    names = list(kinds)
    if record is None:
        record = names[0] if item is None or item == names[1] else names[1]
    if item is None:
        item = names[1] if record == names[0] else names[0]
    record, item = named(record, kinds, "record"), named(item, kinds, "item")
    if kinds[item] not in _PLAIN:
        raise DataError(
            f"The column {shown(item)} of items must hold text, numbers or truth values, got {_written(kinds[item])}."
        )
    from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

    rows = frame.select(F.col(_quoted(record)).alias("record"), F.col(_quoted(item)).alias("item"))
    name = F.col("record")
    is_lost = name.isNull() | F.isnan(name) if kinds[record] in FRACTIONS else name.isNull()
    held = F.col("item")
    is_item = ~is_lost & ~F.isnan(held) if kinds[item] in FRACTIONS else ~is_lost
    lists = F.collect_list(F.when(is_item, held)).alias("items")
    made = rows.groupBy("record").agg(lists, F.count(F.when(is_lost, 1)).alias(LOST))
    return made.select("items", LOST)


def named(name: Any, kinds: dict[str, str], parameter: str) -> str:
    """A column that a user names; refused where there is none."""
    if name not in kinds:
        raise ParameterError(
            f"The '{parameter}' parameter must name a column of the frame, got {shown(name)}.",
            parameter=parameter,
            value=name,
        )
    return str(name)


def _written(kind: str) -> str:
    """A type for messages; names of fields in it may hold signs that a terminal obeys, and be long."""
    text = shown(kind)
    return text[1:-1] if text[0] in "'\"" else kind.partition("<")[0]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
