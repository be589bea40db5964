"""Whole lines and whole rows of a text, some at a time, so that a file need not be held at once."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bosket.data.formats.fimi_kernels import Text
from bosket.data.formats.line_kernels import end_of_rows, n_newlines
from bosket.data.formats.sources import Content

LONGEST = 1 << 24
"""Most bytes of one line, or of one row of CSV whose cells hold line ends."""

_ROWS = 1 << 21
"""Bytes of rows at a time, where rows are short."""

_TOO_LONG = f"is longer than {LONGEST:,} bytes"


class Lines(NamedTuple):
    """Some whole lines, and how many came before them."""

    text: bytes
    before: int

    @property
    def bytes(self) -> Text:
        return np.frombuffer(self.text, np.uint8)


def whole_lines(content: Content, *, is_strict: bool) -> Iterator[Lines]:
    """The text in blocks of whole lines; the last line may lack its newline.

    A line beyond ``LONGEST`` is refused; unless ``is_strict``, only so much of it is read, whatever is in the others,
    and only so much of it counts towards the cap.
    """
    rest, before, counted = bytearray(), 0, 0
    for block in content.blocks(is_strict=is_strict):
        cut = block.find(b"\n") + 1
        rest += block[: cut or None][: LONGEST + 1 - len(rest)]
        if len(rest.rstrip(b"\n")) > LONGEST:
            if is_strict:
                raise content.source.error(_TOO_LONG, line=before + 1)
            del rest[LONGEST:]
            if cut:
                rest += b"\n"
        if not cut:
            continue
        end = block.rfind(b"\n") + 1
        text = bytes(rest) + block[cut:end]
        rest = bytearray(block[end:])
        if not is_strict:
            counted += len(text)
            content.check_size(counted)
        yield Lines(text, before)
        before += n_newlines(np.frombuffer(text, np.uint8))
    if rest:
        yield Lines(bytes(rest), before)


def _end_of_whole_rows(text: bytearray) -> int:
    """Where a whole row ends, the last or one of the last; 0 if none does."""
    end = 0 if b'"' in text else text.rfind(b"\n") + 1  # without quotes, a newline ends a row wherever it is
    return end or end_of_rows(np.frombuffer(text, np.uint8), False)


def whole_rows(content: Content, *, together: int | None = None) -> Iterator[Lines]:
    """The text of a CSV file in blocks of whole rows, without a byte-order mark before the first.

    ``together`` are the bytes of a block where rows are short; unless given, 2 MiB.
    """
    together = _ROWS if together is None else together
    rest, before, wanted, is_first = bytearray(), 0, together, True
    for block in content.blocks():
        rest += block.removeprefix(codecs.BOM_UTF8) if is_first else block
        is_first = False
        if len(rest) < wanted:
            continue
        end = _end_of_whole_rows(rest)
        if end:
            with memoryview(rest) as whole:
                text = bytes(whole[:end])
            del rest[:end]
            yield Lines(text, before)
            before += n_newlines(np.frombuffer(text, np.uint8))
            wanted = together
        elif len(rest) > LONGEST:
            raise content.source.error(f"{_TOO_LONG}, or has a quote that is not closed", line=before + 1)
        else:
            wanted = min(2 * len(rest), LONGEST + 1)
    end = end_of_rows(np.frombuffer(rest, np.uint8), True)
    if end < len(rest):
        line = before + rest.count(b"\n", 0, end) + 1
        raise content.source.error("has a quote that is not closed as it should be", line=line)
    if rest:
        yield Lines(bytes(rest), before)
