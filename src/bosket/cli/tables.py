"""Results on standard output or in files: tables, CSV, JSON and Parquet, each with labels in place of item ids.

An itemset is a list of its labels, sorted: in CSV as JSON text, in Parquet as a list column.  A label on its own is
JSON text in CSV too, so that 7 and "7" are told apart.  JSON has a schema version, and JSON and Parquet say under
``about`` what made them: mechanism, parameters, number of records, guarantee and version.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TextIO

from bosket.data.atomic import atomic_path
from bosket.data.domain import label_to_json
from bosket.errors import DataError
from bosket.reporting.text import in_order

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".json", ".parquet")
_ESCAPE = "backslashreplace"  # half a surrogate pair comes out as JSON would write it


class Kind(NamedTuple):
    """A kind of result: its name, which is also the key of its rows, and which columns hold itemsets, or labels."""

    name: str
    itemset_columns: tuple[str, ...]
    label_columns: tuple[str, ...] = ()

    @property
    def schema(self) -> str:
        return f"bosket.{self.name}/1"


ITEMSETS = Kind("itemsets", ("itemsets",))
RULES = Kind("rules", ("antecedents", "consequents"))
BREACHES = Kind("breaches", ("itemsets",), ("item",))


def write_file(frame: pd.DataFrame, kind: Kind, path: Path) -> None:
    """Write by suffix; an existing file is replaced whole or not at all."""
    suffix = path.suffix.lower()
    with atomic_path(path) as temporary:
        if suffix == ".parquet":
            _write_parquet(frame, kind, temporary)
            return
        with temporary.open("w", encoding="utf-8", errors=_ESCAPE, newline="") as file:
            write_text(frame, kind, suffix.removeprefix("."), file)


def write_text(frame: pd.DataFrame, kind: Kind, format: str, file: IO[str]) -> None:
    if format == "json":
        file.writelines(_json(frame, kind))
    else:
        columns = {
            name: [json.dumps(value, ensure_ascii=False) for value in values]
            for name, values in _labelled(frame, kind).items()
        }
        frame.assign(**columns).to_csv(file, index=False, lineterminator="\n")


def print_text(frame: pd.DataFrame, kind: Kind, format: str) -> None:
    """CSV or JSON on standard output, in UTF-8 as in files."""
    with standard_output(encoding="utf-8") as stream:
        write_text(frame, kind, format, stream)


@contextlib.contextmanager
def standard_output(*, encoding: str | None = None) -> Iterator[TextIO]:
    """Standard output: a sign that it lacks is escaped, a full disk is told in words, a broken pipe stays one."""
    stream = sys.stdout
    before = None
    if isinstance(stream, io.TextIOWrapper):
        before = (stream.encoding, stream.errors)
        stream.reconfigure(encoding=encoding, errors=_ESCAPE)
    try:
        yield stream
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(f"Cannot write to standard output: {error.strerror}.") from None
    finally:
        if isinstance(stream, io.TextIOWrapper) and before is not None:
            with contextlib.suppress(OSError):
                stream.reconfigure(encoding=before[0], errors=before[1])


def _labels(itemset: frozenset[Hashable]) -> list[Any]:
    return [label_to_json(label) for label in in_order(itemset)]


def _labelled(frame: pd.DataFrame, kind: Kind) -> dict[str, list[Any]]:
    """The columns that have to do with labels, as JSON values."""
    return {
        **{name: [_labels(value) for value in frame[name]] for name in kind.itemset_columns},
        **{name: [label_to_json(value) for value in frame[name]] for name in kind.label_columns},
    }


def _json(frame: pd.DataFrame, kind: Kind) -> Iterator[str]:
    """One row a line, so that a large file can be looked at with plain tools."""
    yield f'{{"schema": {json.dumps(kind.schema)},\n"about": {_dump(frame.attrs["about"])},\n"{kind.name}": ['
    between = "\n"
    labelled = _labelled(frame, kind)
    columns = [labelled[name] if name in labelled else frame[name].tolist() for name in frame.columns]
    for values in zip(*columns, strict=True):
        row = {name: _plain(value) for name, value in zip(frame.columns, values, strict=True)}
        yield between + _dump(row)
        between = ",\n"
    yield "\n]}\n"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """JSON knows neither NaN nor infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_parquet(frame: pd.DataFrame, kind: Kind, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = {label for name in kind.itemset_columns for itemset in frame[name] for label in itemset}
    labels.update(label for name in kind.label_columns for label in frame[name])
    types = {type(label) for label in labels}
    known = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    label_type = known.get(types.pop()) if len(types) == 1 else None
    fits = label_type != pa.int64() or all(-(1 << 63) <= label < 1 << 63 for label in labels)
    if label_type is None or not fits:  # no one type holds them all
        label_type = pa.string()
    held: Callable[[Hashable], Any] = str if label_type == pa.string() else lambda label: label
    arrays = {}
    for name in frame.columns:
        if name in kind.itemset_columns:
            itemsets = [list(map(held, in_order(itemset))) for itemset in frame[name]]
            arrays[name] = pa.array(itemsets, pa.list_(label_type))
        elif name in kind.label_columns:
            arrays[name] = pa.array(list(map(held, frame[name])), label_type)
        else:
            arrays[name] = pa.array(frame[name].to_numpy())
    about = {"bosket.schema": kind.schema, "bosket.about": _dump(frame.attrs["about"])}
    pq.write_table(pa.table(arrays).replace_schema_metadata(about), path, compression="zstd")


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> None:
    """A table on standard output, as wide as it must be where that is not a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    knows_lines = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    table = Table(
        title=Text(title, "bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD if knows_lines else box.ASCII,
        pad_edge=False,
    )
    for at, heading in enumerate(headings):
        is_text = at < text_columns
        table.add_column(Text(heading), justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    for row in rows:
        table.add_row(*map(Text, row))
    # Through a string, since rich has a way of its own with broken pipes.
    is_terminal = sys.stdout.isatty()
    rendered = io.StringIO()
    console = Console(file=rendered, force_terminal=is_terminal, highlight=False)
    if not is_terminal:
        console.width = max(80, Console(width=10_000).measure(table).maximum)
    console.print(table)
    with standard_output() as stream:
        stream.writelines(f"{line.rstrip()}\n" for line in rendered.getvalue().splitlines())
