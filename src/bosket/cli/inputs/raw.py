"""Raw records as commands read them: baskets, or with ``--table`` a table of attributes."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bosket.cli.inputs.attributes import Reading, bad_schema, reading_of
from bosket.cli.inputs.files import (
    STANDARD_INPUT,
    content_of,
    input_suffix,
    read_baskets,
    read_collected,
    shown_path,
)
from bosket.cli.inputs.options import clash
from bosket.errors import DataError, DuplicateReportsError, ParameterError

if TYPE_CHECKING:
    from bosket.data import Baskets, Domain, Table
    from bosket.data.formats.vocabulary import Unknown
    from bosket.data.tables.domain import Attribute
    from bosket.mechanisms import Mechanism
    from bosket.mechanisms.base import Records
    from bosket.reports import Reports
    from bosket.tally import Tally

ReportsOfPhases: TypeAlias = "tuple[Reports | Tally, ...]"
"""Reports of one plan, or of each phase of a study by questions; somebody answered in each."""

_LEAVE_OUT = "Choose attributes with --columns, or rename them: an '=' in a name or value is what makes them clash."
_BIN = re.compile(r"\[([^,]+),([^,]+)\)")


def read_raw(
    path: str,
    options: argparse.Namespace,
    *,
    hint: str,
    domain: Domain | None = None,
    unknown: Unknown = "refuse",
    category: str | None = None,
) -> Records:
    """Raw records where nothing else will do; reports are refused with a word on what to do.

    ``domain`` is what records must be read over, where that is settled; ``check_kind`` has seen that it is of their
    kind.  ``unknown`` is what becomes of items in baskets that it does not have, and ``category`` the value of cells of
    a table that stand for no declared one; without it they are refused.
    """
    from bosket.reports import is_report_file

    if _may_be_parquet(path, options) and is_report_file(path):
        raise DataError(f"The file {path} holds reports, which are randomized already.", path=path, hint=hint)
    if options.table:
        return read_table(path, options, domain=domain, category=category)
    return _read_baskets(path, options, items=domain, unknown=unknown)


def read_data(paths: Sequence[str], options: argparse.Namespace) -> ReportsOfPhases | Records:
    """Reports, or tallies, if the file holds some, else raw records; several files must be reports.

    Files of one plan are put together.  Those of several plans are the phases of a study by questions.
    """
    from bosket.reports import is_report_file

    if options.table:
        if len(paths) > 1:
            raise clash("table", "come with one file", options)
        return read_raw(paths[0], options, hint="Leave out --table: reports say themselves what they are of.")
    if len(paths) > 1:
        _check_reports(options)
        return read_phases(paths, options)
    path = paths[0]
    if path != STANDARD_INPUT and is_report_file(path):
        _check_reports(options)
        return (read_collected(path, options),)
    return _read_baskets(path, options)


def read_phases(paths: Sequence[str], options: argparse.Namespace) -> ReportsOfPhases:
    """Reports, or tallies, of these files."""
    if not options.allow_duplicates:
        _refuse_same_files(paths)
    return _phases([read_collected(path, options) for path in paths], options)


def _phases(parts: Sequence[Reports | Tally], options: argparse.Namespace) -> ReportsOfPhases:
    """Files of one plan put together; of answers to questions as many as there are plans, the first phase first."""
    from bosket.mechanisms import Ask, AskBaskets
    from bosket.reports import Reports
    from bosket.tally import Tally

    plans = [part.plan.digest for part in parts]
    if not any(all(isinstance(part.plan.mechanism, kind) for part in parts) for kind in (Ask, AskBaskets)):
        plans = [""] * len(parts)  # which concat refuses where they are of several plans
    phases: list[Reports | Tally] = []
    for plan in dict.fromkeys(plans):
        batches = [part for part, of in zip(parts, plans, strict=True) if of == plan]
        together = Tally if any(isinstance(part, Tally) for part in batches) else Reports
        found = together.concat(batches, allow_duplicates=options.allow_duplicates)  # type: ignore[arg-type]  # as seen
        phases.append(found)
    return tuple(sorted(phases, key=lambda phase: follows(phase.plan.mechanism) is not None))


def follows(mechanism: Mechanism) -> str | None:
    """The digest of the plan whose answers the questions were made by; None where they were made by nobody's."""
    from bosket.mechanisms import Ask, AskBaskets

    if isinstance(mechanism, Ask):
        return mechanism.design.follows
    return mechanism.follows if isinstance(mechanism, AskBaskets) else None


def _check_reports(options: argparse.Namespace) -> None:
    """Refuse names of columns where reports are read, which have none to choose from."""
    for name in ("record", "item"):
        if getattr(options, name) is not None:
            raise clash(name, "come with one file of raw baskets, not with reports", options)


def _refuse_same_files(paths: Sequence[str]) -> None:
    """Refuse one file by two names, or links to it, however few reports it has; copies are known by what they hold."""
    for number, path in enumerate(paths, 1):
        for earlier, other in enumerate(paths[: number - 1], 1):
            try:
                is_same = path == other or Path(path).samefile(other)
            except OSError:
                continue  # there is no such file: said when it is read
            if is_same:
                raise DuplicateReportsError(
                    f"The file {path} is given twice.",
                    parts=(earlier, number),
                    path=path,
                    hint="Leave one out; --allow-duplicates counts both.",
                )


def _read_baskets(
    path: str, options: argparse.Namespace, *, items: Domain | None = None, unknown: Unknown = "refuse"
) -> Baskets:
    """Baskets, with a word on tables where the file may be one."""
    if _may_be_parquet(path, options) and _is_table_file(path):
        raise DataError(f"The file {path} holds a table of attributes.", path=path, hint="Say --table.")
    try:
        return read_baskets(path, options, items=items, unknown=unknown)
    except DataError as error:
        if error.hint is not None and error.hint.startswith("Read as one-hot"):
            error.hint += " A table of attributes is read with --table."
        raise


def _may_be_parquet(path: str, options: argparse.Namespace) -> bool:
    """Whether a file is looked into before it is read; never where its name or the options say that it is text.

    Parquet is known by how a file ends, and so one record at the end of a text could pass for it.
    """
    if path == STANDARD_INPUT or options.input_format in ("dat", "csv"):
        return False
    return not path.lower().removesuffix(".gz").endswith((".dat", ".csv"))


def _is_table_file(path: str) -> bool:
    """Whether a file is Parquet that ``Table.write`` wrote: one with two columns would be read as baskets."""
    import pyarrow as pa

    from bosket.data.formats.parquet_footers import has_key
    from bosket.data.formats.table_files import TABLE_KEY

    try:
        with pa.OSFile(path) as handle:
            return has_key(handle, TABLE_KEY)  # not by Arrow, which takes kilobytes for each column
    except (pa.ArrowException, OSError):
        return False


def check_kind(domain: Domain, options: argparse.Namespace, *, of: str) -> None:
    """Refuse baskets where a plan is for a table, and the other way round."""
    from bosket.data import TableDomain

    if isinstance(domain, TableDomain) and not options.table:
        raise clash("table", f"be given, since {of} a table", options)
    if options.table and not isinstance(domain, TableDomain):
        raise clash("table", f"be left out, since {of} baskets", options)


def read_table(
    path: str, options: argparse.Namespace, *, domain: Domain | None = None, category: str | None = None
) -> Table:
    """A table as the options say; over the domain of a plan, if one is given."""
    from bosket.data import TableDomain

    assert domain is None or isinstance(domain, TableDomain)
    reading = reading_of(options)
    try:
        if domain is None:
            return _read(path, reading, options, category)
        table = _read(path, _under(domain.attributes, reading), options)
        return table.with_domain(domain, show_values=reading.show_values)
    except DataError as error:
        error.hint = _in_options(error.hint, is_settled=domain is not None)
        raise
    except ParameterError as error:
        if error.parameter == "attributes":  # it shows a value, which may be that of a record
            fault = "has attributes and values that cannot be told apart once written as name=value"
            raise DataError(f"The file {shown_path(path)} {fault}.", path=path, hint=_LEAVE_OUT) from None
        if error.parameter == "columns" and reading.columns is None:
            fault = f"must have a column for each attribute of the plan, and has none for {error.value!r}"
            raise DataError(f"The file {shown_path(path)} {fault}.", path=path) from None
        if error.parameter == "unknown":
            raise ParameterError(
                f"Every column that is curated must have declared values or bins, and {error.value!r} has none.",
                parameter="values",
                value=error.value,
                hint="Say --values or --bins for it, in a --schema file or not, or leave it out with --columns.",
            ) from None
        if reading.schema is None:
            raise
        raise bad_schema(reading.schema, error) from None


def read_respondents(path: str, options: argparse.Namespace) -> list[Any] | None:
    """The tokens of the people in the rows of a table, from a column that is no attribute; None where none is named."""
    from bosket.data.formats.table_files import read_column

    if options.respondent is None:
        return None
    return read_column(content_of(path, options), options.respondent, suffix=input_suffix(path, options, default="csv"))


def check_respondent(options: argparse.Namespace, domain: Domain | None) -> None:
    """Refuse a column of respondents that would be an attribute too, or cannot be read beside them."""
    from bosket.data import TableDomain

    name = options.respondent
    if name is None:
        return
    if not options.table:
        raise clash("respondent", "come with --table", options)
    if options.raw == STANDARD_INPUT:
        raise clash("respondent", "come with a file, which is read twice, not with standard input", options)
    columns = domain.names if isinstance(domain, TableDomain) else reading_of(options).columns
    if columns is None:
        raise clash("respondent", "come with --columns, a --schema file that has them, or a --plan", options)
    if name in columns:
        raise clash("respondent", "name a column that is no attribute", options)


def _read(path: str, reading: Reading, options: argparse.Namespace, category: str | None = None) -> Table:
    from bosket.data import Table
    from bosket.data.tables.columns import Choices

    choices = Choices.of(reading.columns, reading.bins, reading.values, reading.missing, reading.show_values, category)
    suffix = input_suffix(path, options, default="csv")
    return Table.read_from(content_of(path, options), choices, suffix=suffix)


def _under(attributes: Sequence[Attribute], reading: Reading) -> Reading:
    """The same where a plan settles what there is: its attributes, and the values of those that nothing is said of."""
    columns = [one.name for one in attributes] if reading.columns is None else reading.columns
    values = dict(reading.values)
    for attribute in attributes:
        name = attribute.name
        if name in values or name not in columns:
            continue
        ends = _ends(attribute)
        if name not in reading.bins and ends is None:
            values[name] = attribute.values
        elif name not in reading.bins or ends is None or reading.bins[name] != list(map(float, ends)):
            raise _other_bins(name, ends, reading.bins.get(name))
    return replace(reading, columns=columns, values=values)


def _ends(attribute: Attribute) -> list[str] | None:
    """The lower ends of the bins that the values of an attribute are, if they are; one may be that of missing cells."""
    from bosket.data.tables.codings import binned, number

    found = [match for match in map(_BIN.fullmatch, map(str, attribute.values)) if match]
    lows = [low for low in (number(match[1]) for match in found) if low is not None]
    if not found or len(found) < len(attribute) - 1 or len(lows) < len(found):
        return None
    try:
        values = binned(attribute.name, lows).values
    except ParameterError:
        return None
    return [match[1] for match in found] if values == tuple(match[0] for match in found) else None


def _other_bins(name: str, ends: list[str] | None, got: list[float] | None) -> ParameterError:
    must = f"The bins of {name!r} must be those of the plan"
    if ends is None:
        return ParameterError(f"{must}, which has none.", parameter="bins", value=got)
    written = ",".join(ends)
    return ParameterError(
        f"{must}, {written}, got {'none' if got is None else 'others'}.",
        parameter="bins",
        value=got,
        hint=f"Say --bins {shlex.quote(name)}={written}, or give them in a --schema file; where the raw file holds "
        "the bins themselves, declare them in a --schema file under values.",
    )


def _in_options(hint: str | None, *, is_settled: bool) -> str | None:
    """What the library advises, in the words of the command line."""
    if hint is None:
        return None
    if is_settled and hint.startswith("Declare the value too"):
        return "The plan settles which values there can be; --show-values shows the one that it does not have."
    hint = re.sub(r"missing=\{(.+): 'unknown'\}", _missing_option, hint)
    for ours, theirs in (
        ("; those of a pandas frame can be renamed", ""),
        ("columns=[...]", "--columns"),
        (": values={'name': {..., 'Other': '*'}}", ', in a --schema file: "values": {"name": {..., "Other": "*"}}'),
        ("values={...}", "--values"),
        ("Ask with show_values=True which.", "--show-values shows which."),
    ):
        hint = hint.replace(ours, theirs)
    return hint


def _missing_option(match: re.Match[str]) -> str:
    return f"--missing {shlex.quote(str(ast.literal_eval(match[1])))}=unknown"
