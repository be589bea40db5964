"""Results on standard output: tables to look at, CSV and JSON for other programs."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from bosket.cli.views.console import say
from bosket.errors import DataError
from bosket.reporting.export import ESCAPE, ResultKind, write_text
from bosket.reporting.text import visible

if TYPE_CHECKING:
    import pandas as pd

_NARROWEST = 14  # of a column of text, which is broken into lines
_GAP = 3  # between columns


def print_text(frame: pd.DataFrame, kind: ResultKind, format: str) -> None:
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
        stream.reconfigure(encoding=encoding, errors=ESCAPE)
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


def print_lines(text: str) -> None:
    """Text to look at on standard output, with nothing hidden in it."""
    with standard_output() as stream:
        stream.write(visible(text, lines=True) + "\n")


def print_table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text_columns: int = 1,
    has_remark: bool = False,
) -> None:
    """A table on standard output, as wide as it must be where that is not a terminal; the last column may be a remark.

    On a narrow one the columns that do not fit are left out from the right, and that is said; no number is cut.
    Nothing is hidden in it: see :func:`bosket.reporting.text.visible`.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    title, headings, rows = visible(title), list(map(visible, headings)), [list(map(visible, row)) for row in rows]
    knows_lines = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    table = Table(
        title=Text(title, "bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD if knows_lines else box.ASCII,
        pad_edge=False,
    )
    # Through a string, since rich has a way of its own with broken pipes.
    is_terminal = sys.stdout.isatty()
    rendered = io.StringIO()
    console = Console(file=rendered, force_terminal=is_terminal, highlight=False)
    widths = [max(map(cell_len, column)) for column in zip(headings, *rows, strict=True)]
    is_text = [at < text_columns or (has_remark and at == len(headings) - 1) for at in range(len(headings))]
    least = [min(width, _NARROWEST) if text else width for text, width in zip(is_text, widths, strict=True)]
    shown = len(headings)
    while is_terminal and shown > text_columns + 1 and sum(least[:shown]) + _GAP * shown > console.width:
        shown -= 1
    for at, heading in enumerate(headings[:shown]):
        table.add_column(
            Text(heading),
            justify="left" if is_text[at] else "right",
            overflow="fold",
            no_wrap=not is_text[at],
            min_width=least[at],
        )
    for row in rows:
        table.add_row(*map(Text, row[:shown]))
    if not is_terminal:
        console.width = max(80, Console(width=10_000).measure(table).maximum)
    else:
        console.width = max(console.width, sum(least[:shown]) + _GAP * shown)
    console.print(table)
    with standard_output() as stream:
        stream.writelines(f"{line.rstrip()}\n" for line in rendered.getvalue().splitlines())
    if shown < len(headings):
        left_out = ", ".join(dict.fromkeys(headings[shown:]))
        say(f"left out for want of width: {left_out}; a wider window, another --format or a file has all")
