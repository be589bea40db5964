"""Results in files: CSV, JSON, Parquet and PMML, each with labels in place of item ids.

An itemset is a list of its labels, sorted: in CSV as JSON text, in Parquet as a list column.  A label on its own is
JSON text in CSV too, so that 7 and "7" are told apart; so is a truth value, and any other text that a spreadsheet
program would take for a formula: no cell begins with a sign that makes it one.  JSON has a schema version, and JSON,
Parquet and PMML say under ``about`` what made them: mechanism, parameters, number of records, guarantee and version.
CSV has no place for that, so it goes into a file beside it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Set
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from bosket._version import __version__
from bosket.checks import check_choice
from bosket.data.domain import label_to_json
from bosket.data.formats.atomic import atomic_path
from bosket.data.formats.csv_writing import is_formula, whole_cells
from bosket.errors import DataError, ParameterError
from bosket.reporting.text import in_order

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("bosket", "arules")
"""Whose words the columns of rules may be named in."""

NAMED = (".csv", ".json")
"""The files that have a choice of names."""

ESCAPE = "backslashreplace"  # half a surrogate pair comes out as JSON would write it


class ResultKind(NamedTuple):
    """A kind of result: its name, which is also the key of its rows, and which columns hold itemsets, or labels.

    ``numbers`` are the columns that PMML cannot do without, where it knows this kind; ``names`` is the vocabulary that
    the columns are written in.
    """

    name: str
    itemset_columns: tuple[str, ...]
    label_columns: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    names: str = "bosket"

    @property
    def schema(self) -> str:
        return f"bosket.{self.name}/1"

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The files that can hold it."""
        return (".csv", ".json", ".parquet", *((".pmml",) if self.numbers else ()))


ITEMSETS = ResultKind("itemsets", ("itemsets",), numbers=("support",))
RULES = ResultKind("rules", ("antecedents", "consequents"), numbers=("support", "confidence"))
BREACHES = ResultKind("breaches", ("itemsets",), ("item",))


def write_rules(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    names: str = "bosket",
    about: Mapping[str, Any] | None = None,
) -> int:
    """Write rules to a .csv, .json, .parquet or .pmml file, and give back how many were written.

    All of them are, but for rules without support or confidence in PMML, which demands both.  With ``names="arules"``
    the columns of CSV and JSON have the names of R's arules (lhs, rhs, coverage, oddsRatio); JSON gives the
    translation either way.  What made the rules goes along; beside CSV, into ``<path>.about.json``.  It is ``about``
    (``found.about``, say), or what the frame itself says in ``attrs``, which some operations of pandas lose; PMML
    cannot do without the number of records.
    """
    check_choice("names", names, NAMES)
    path = Path(path)
    if names != "bosket" and path.suffix.lower() not in NAMED:
        raise ParameterError(
            f"The 'names' parameter must be 'bosket' unless the file ends in {' or '.join(NAMED)}, got {names!r} for "
            f"'{path.name}'.",
            parameter="names",
            value=names,
        )
    return _write(frame, RULES._replace(names=names), path, about)


def write_itemsets(frame: pd.DataFrame, path: str | os.PathLike[str], *, about: Mapping[str, Any] | None = None) -> int:
    """Write itemsets to a .csv, .json, .parquet or .pmml file, and give back how many there were.

    What made them goes along, as in :func:`write_rules`.
    """
    return _write(frame, ITEMSETS, Path(path), about)


def _write(frame: pd.DataFrame, kind: ResultKind, path: Path, about: Mapping[str, Any] | None) -> int:
    if path.suffix.lower() not in kind.suffixes:
        raise ParameterError(
            f"A file of {kind.name} must end in {', '.join(kind.suffixes)}, got '{path.name}'.",
            parameter="path",
            value=str(path),
        )
    is_pmml = path.suffix.lower() == ".pmml"
    _check_frame(frame, kind, kind.numbers if is_pmml else ())
    frame = _with_about(frame, about, needs_records=is_pmml)
    written = write_file(frame, kind, path)
    write_beside(frame, path)
    return written


def _check_frame(frame: pd.DataFrame, kind: ResultKind, numbers: tuple[str, ...]) -> None:
    for name in (*kind.itemset_columns, *numbers):
        if name not in frame:
            raise DataError(f"A frame of {kind.name} must have a column {name!r}, got one without.")
    for name in numbers:
        if len(frame) and frame[name].dtype.kind not in "fiu":
            raise DataError(f"The column {name!r} of {kind.name} must hold numbers, got {frame[name].dtype}.")
    for name in kind.itemset_columns:
        for value in frame[name]:
            if not isinstance(value, Set):
                raise DataError(
                    f"The column {name!r} of {kind.name} must hold sets of labels, got a {type(value).__name__}."
                )


def _with_about(frame: pd.DataFrame, about: Mapping[str, Any] | None, *, needs_records: bool) -> pd.DataFrame:
    """The frame with what made it in ``attrs``, where the writers look: ``about``, or what it says itself."""
    own = frame.attrs.get("about")
    said = dict(about) if about is not None else dict(own) if isinstance(own, dict) else {}
    if needs_records and "n_records" not in said:
        raise DataError(
            "PMML says of how many records a model was made, and this frame does not.",
            hint="Give about=found.about: some operations of pandas lose what a frame says about itself.",
        )
    frame = frame.copy(deep=False)
    frame.attrs = {**frame.attrs, "about": {"version": __version__, **said}}
    return frame


def write_file(frame: pd.DataFrame, kind: ResultKind, path: Path) -> int:
    """Write by suffix, and give back how many rows; an existing file is replaced whole or not at all."""
    suffix = path.suffix.lower()
    with atomic_path(path) as temporary:
        if suffix == ".parquet":
            _write_parquet(frame, kind, temporary)
            return len(frame)
        with temporary.open("w", encoding="utf-8", errors=ESCAPE, newline="") as file:
            return write_text(frame, kind, suffix.removeprefix("."), file)


def write_text(frame: pd.DataFrame, kind: ResultKind, format: str, file: IO[str]) -> int:
    """Write CSV, JSON or PMML, and give back how many rows."""
    if format == "pmml":
        from bosket.reporting import pmml

        return pmml.write(frame, file)
    frame, kind, translation = _in_words(frame, kind)
    if format == "json":
        file.writelines(_json(frame, kind, translation))
    else:
        import pandas as pd

        columns: dict[str, Any] = {
            name: [whole_cells(json.dumps(value, ensure_ascii=False)) for value in values]
            for name, values in _labelled(frame, kind).items()
        }
        columns |= {
            name: pd.Series([_harmless(value) for value in frame[name]], frame.index, object)  # None makes no floats
            for name in _texts(frame)
            if name not in columns
        }
        truths = [name for name in frame.columns if frame[name].dtype.kind == "b"]
        columns |= {name: [json.dumps(value) for value in frame[name].tolist()] for name in truths}
        frame.assign(**columns).to_csv(file, index=False, lineterminator="\n")
    return len(frame)


def _texts(frame: pd.DataFrame) -> list[str]:
    """The columns that are not numbers."""
    return [name for name in frame.columns if frame[name].dtype.kind not in "biuf"]


def _harmless(value: Any) -> Any:
    """Text that a spreadsheet program would run, as JSON text, which it does not; so is what looks like JSON text."""
    if isinstance(value, str) and (value.startswith('"') or is_formula(value)):
        return whole_cells(json.dumps(value, ensure_ascii=False))
    return value


def write_beside(frame: pd.DataFrame, path: Path) -> Path | None:
    """What made a CSV file, in a file beside it, whose path is given back; other files hold it themselves."""
    if path.suffix.lower() != ".csv":
        return None
    beside = path.with_name(f"{path.name}.about.json")
    with atomic_path(beside) as temporary:
        temporary.write_text(json.dumps(frame.attrs["about"], indent=2, ensure_ascii=False) + "\n", "utf-8")
    return beside


def _in_words(frame: pd.DataFrame, kind: ResultKind) -> tuple[pd.DataFrame, ResultKind, dict[str, Any]]:
    """The frame in the vocabulary asked for, and for rules what JSON says of it: names here to names in the other."""
    if kind.name != RULES.name:
        return frame, kind, {}
    from bosket.reporting.arules import arules_names, to_arules

    names = arules_names(frame.columns)
    if kind.names == "arules":
        frame = to_arules(frame)
        kind = kind._replace(itemset_columns=tuple(names[name] for name in kind.itemset_columns))
        names = {theirs: ours for ours, theirs in names.items()}
    return frame, kind, {"vocabulary": kind.names, "names": names}


def _labels(itemset: frozenset[Hashable]) -> list[Any]:
    return [label_to_json(label) for label in in_order(itemset)]


def _labelled(frame: pd.DataFrame, kind: ResultKind) -> dict[str, list[Any]]:
    """The columns that have to do with labels, as JSON values."""
    return {
        **{name: [_labels(value) for value in frame[name]] for name in kind.itemset_columns},
        **{name: [label_to_json(value) for value in frame[name]] for name in kind.label_columns},
    }


def _json(frame: pd.DataFrame, kind: ResultKind, translation: dict[str, Any]) -> Iterator[str]:
    """One row a line, so that a large file can be looked at with plain tools."""
    head = {"schema": kind.schema, "about": frame.attrs["about"], **translation}
    yield "{" + "".join(f"{_dump(key)}: {_dump(value)},\n" for key, value in head.items()) + f'"{kind.name}": ['
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


def _write_parquet(frame: pd.DataFrame, kind: ResultKind, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = {label for name in kind.itemset_columns for itemset in frame[name] for label in itemset}
    labels.update(label for name in kind.label_columns for label in frame[name])
    for label in labels:
        if isinstance(label, str | int):
            label_to_json(label)  # refuses what cannot be written down
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
