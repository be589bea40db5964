"""Parquet files, opened: their footer is looked at before a row is read."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from bosket.data.formats.parquet_footers import n_elements, without_schema
from bosket.data.formats.sources import MORE_MEMORY, MOST_COLUMNS, Content
from bosket.errors import ParameterError

PLAN_KEY = b"bosket.plan"
_COLUMN_BYTES = 1 << 14  # that a column takes while a file is read, however few rows it has
_FEW_COLUMNS = 1 << 10  # that do not count
_MOST_ROW_GROUPS = 1 << 16  # each takes a millisecond
_EXTENSIONS = "arrow_extensions_enabled"  # JSON would come as a type that has no codes; older Arrow has no such option
_KNOWN = inspect.signature(parquet.ParquetFile).parameters
_PLAIN = {_EXTENSIONS: False} if _EXTENSIONS in _KNOWN else {}
_LARGE = {"binary_type": pa.large_binary()} if "binary_type" in _KNOWN else {}


@dataclass(frozen=True)
class Opened:
    """A Parquet file whose footer is sound as far as one can see; what it claims is counted as it is read."""

    content: Content
    file: Any
    handle: Any
    is_strict: bool = True
    """Whether a record may be refused; else a cell that cannot be read is missing."""
    known: dict[Any, Any] = field(default_factory=dict)
    """What was found in the footer, which is walked once for all row groups."""

    @property
    def schema(self) -> Any:
        return self.file.schema_arrow

    @property
    def leaves(self) -> list[Any]:
        """The columns as Parquet has them: those of nested values one by one."""
        return [self.file.schema.column(at) for at in range(self.file.metadata.num_columns)]

    def coded(self, paths: list[str]) -> Any:
        """A reader of the same file that gives the text at these paths as codes."""
        return parquet.ParquetFile(
            self.handle, metadata=self.file.metadata, read_dictionary=paths, pre_buffer=False, **_PLAIN
        )

    @cached_property
    def decoded(self) -> Any:
        """A reader of the same file that gives no codes, also where the schema that Arrow stored in it says so.

        Text has offsets of 64 bits where Arrow can be told so, and columns may be of other types than in ``schema``.
        """
        metadata = parquet.read_metadata(pa.BufferReader(without_schema(self.handle)))
        return parquet.ParquetFile(self.handle, metadata=metadata, pre_buffer=False, **_PLAIN, **_LARGE)


def sound(content: Content, step: Callable[[], Any]) -> Any:
    """Do a step with a Parquet file; what is wrong with it is told in our words, but a want of memory as such."""
    try:
        return step()
    except ParameterError:  # it is a ValueError too
        raise
    except pa.ArrowMemoryError:
        is_short_of_memory = True  # what Arrow says tells how much was asked for
    except (pa.ArrowException, OSError, ValueError, OverflowError):
        is_short_of_memory = False
    if is_short_of_memory:
        raise MemoryError("There is not enough memory to read the file.")
    raise content.source.error("is not a sound Parquet file")


@contextlib.contextmanager
def opened(
    content: Content,
    *,
    what: str = "baskets",
    is_claim_held: bool = True,
    is_strict: bool = True,
    column_bytes: int | None = None,
) -> Iterator[Opened]:
    """A Parquet file; one that is more than the cap by what its footer says is refused before a row is read.

    Unless ``is_claim_held``: one record may make any claim, and the reader counts what comes.  Unless ``is_strict``,
    the bytes of the file do not count either, wherever they come from.  Columns count by the schema, whatever is in
    them; ``column_bytes`` is what they may take where the content has no cap.
    """
    handle = content.random_access(is_strict=is_strict)
    with handle:
        n_bytes = _COLUMN_BYTES * max(0, sound(content, lambda: n_elements(handle)) - _FEW_COLUMNS)
        content.check_size(n_bytes)
        if column_bytes is not None and n_bytes > column_bytes:
            most = _FEW_COLUMNS + column_bytes // _COLUMN_BYTES
            fault = f"must have at most {most:,} columns, as many as there is memory for, and has more"
            raise content.source.error(fault, hint=MORE_MEMORY)
        file = sound(content, lambda: parquet.ParquetFile(handle, pre_buffer=False, **_PLAIN))
        opened = Opened(content, file, handle, is_strict)
        if PLAN_KEY in (sound(content, lambda: file.schema_arrow.metadata) or {}):
            fault = f"holds randomized reports, not {what}; read it with bosket.Reports.read"
            raise content.source.error(fault)
        if file.metadata.num_columns > MOST_COLUMNS:
            raise content.source.error(f"must have at most {MOST_COLUMNS:,} columns, and has more")
        if file.metadata.num_row_groups > _MOST_ROW_GROUPS:
            raise content.source.error(
                f"must have at most {_MOST_ROW_GROUPS:,} row groups, and has more",
                hint="Write it again with larger ones.",
            )
        n_rows = [file.metadata.row_group(at).num_rows for at in range(file.metadata.num_row_groups)]
        if min(n_rows, default=0) < 0 or sum(n_rows) != file.metadata.num_rows:
            raise content.source.error("must have as many rows as its row groups, and its footer claims another number")
        claimed = sound(content, lambda: _claimed(file.metadata))
        if is_claim_held:
            content.check_size(claimed)
        sound(content, lambda: opened.schema.names)
        yield opened


def _claimed(metadata: Any) -> int:
    """The size of all columns, uncompressed, by what the footer says.

    By row groups: asking for the metadata of a column ends the process where its statistics are damaged.
    """
    return sum(max(0, metadata.row_group(at).total_byte_size) for at in range(metadata.num_row_groups))
