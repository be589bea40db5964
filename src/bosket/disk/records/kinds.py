"""Which stream a file of baskets is read by, and which files can be opened together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bosket.data.formats import basket_files
from bosket.data.formats.arrangements import Arrangement
from bosket.data.formats.sources import Content
from bosket.disk.records.csv_stream import CsvStream
from bosket.disk.records.parquet_stream import ParquetStream
from bosket.disk.records.streams import FileStream, FimiStream
from bosket.errors import DataError

_KINDS = {".dat": FimiStream, ".csv": CsvStream, ".parquet": ParquetStream}


def stream_of(path: Path, told: Arrangement, *, most_cells: int, label_bytes: int, batch_bytes: int) -> FileStream:
    """The file as a stream, by its suffix."""
    suffix = basket_files.suffix_of(path)
    known = basket_files.FORMATS[suffix]
    content = Content(path, None)
    stream = _KINDS[suffix](
        content, told.settled(known.layouts, known.names, suffix=suffix), most_cells, label_bytes, batch_bytes
    )
    if suffix == ".parquet" and content.is_packed:
        raise content.source.error("must not be packed once more to be opened", hint="Unpack it with gunzip.")
    return stream


def check_alike(streams: Sequence[FileStream], across_files: bool | None) -> None:
    """Refuse files of several kinds, columns of several names, and several long files unless it is said what a name of
    a record means: the same one in all of them, or another in each.
    """
    if len({type(stream) for stream in streams}) > 1:
        raise DataError("Files of baskets that are opened together must be of one format.")
    if len(streams) > 1 and any(stream.is_long for stream in streams):
        _check_long(streams, across_files)
    if len(streams) > 1 and len({stream.columns for stream in streams}) > 1:
        raise DataError("One-hot files can be opened together where their columns are the same, in the same order.")


def _check_long(streams: Sequence[FileStream], across_files: bool | None) -> None:
    if not all(stream.is_long for stream in streams):
        raise DataError("Files of baskets that are opened together must be of one layout.")
    if across_files is None:
        raise DataError(
            "Long files can be opened together where it is said what the name of a record means in them.",
            hint="Pass across_files=True if a record may have rows in several files, across_files=False if each file "
            "has records of its own.",
        )
    if len({stream.long_columns for stream in streams}) > 1:
        raise DataError("Long files can be opened together where their columns have the same names and types.")
