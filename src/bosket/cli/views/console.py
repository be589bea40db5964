"""Everything that is said on standard error: notes, logs and progress."""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TextIO

from bosket.errors import BosketWarning
from bosket.reporting.text import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from bosket.progress import LevelProgress


_LONG = 60.0  # seconds: what takes longer is said


def _ahead(seconds: float | None) -> str:
    """How long the rest will take, where that is long."""
    if seconds is None or seconds < _LONG:
        return ""
    return f", about {seconds / 60:.0f} min" if seconds < 5400 else f", about {seconds / 3600:.0f} h"


def say(text: str) -> None:
    """A line on standard error, with nothing hidden in it: names and labels come from files that others made."""
    print(visible(text), file=sys.stderr, flush=True)


def say_lines(text: str) -> None:
    """Several of them."""
    for line in text.split("\n"):
        say(line)


@contextlib.contextmanager
def warned() -> Iterator[None]:
    """Warnings of ours as one line each on standard error while the block runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", BosketWarning)
        show = warnings.showwarning

        def tell(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, BosketWarning):
                _say_above(f"warning: {message}")
            else:
                show(message, category, filename, lineno, file, line)

        warnings.showwarning = tell
        yield


@contextlib.contextmanager
def logged(is_verbose: bool) -> Iterator[None]:
    """INFO and above on standard error while the block runs."""
    logger = logging.getLogger("bosket")
    if not is_verbose:
        yield
        return
    handler = _Handler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _say_above(self.format(record))


def _say_above(text: str) -> None:
    """A line above the progress bar, where there is one."""
    if Work.running is None:
        say(text)
    else:
        Work.running.print(visible(text), markup=False, highlight=False, soft_wrap=True)


class Work:
    """Progress of one command: bars and spinners on a terminal, or silence."""

    running: Console | None = None
    """The console of the bar on show; log lines go through it, so as not to cut it up."""

    def __init__(self, options: argparse.Namespace, *, is_timed: bool = True) -> None:
        """``is_timed=False``: without the time that a step took, which may tell something of the data."""
        wanted: bool | None = options.progress
        self.is_timed = is_timed
        self.is_shown = sys.stderr.isatty() if wanted is None else wanted
        self.is_forced = bool(wanted)

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Something of unknown length."""
        with self._progress() as progress:
            if progress is not None:
                progress.add_task(visible(text), total=None)
            yield

    @contextlib.contextmanager
    def levels(self, text: str) -> Iterator[Callable[[LevelProgress], None] | None]:
        """Work that says how far it is, size by size of itemsets, or at size 0 all at once."""
        with self._progress() as progress:
            if progress is None:
                yield None
                return
            shown = visible(text)
            task = progress.add_task(shown, total=None)
            at = (-1, "")

            def update(state: LevelProgress) -> None:
                nonlocal at
                if (state.size, state.stage) != at:
                    at = state.size, state.stage
                    progress.reset(task)
                size = f", size {state.size}" if state.size else ""
                description = f"{shown}{size}: {state.stage}{_ahead(state.seconds)}"
                progress.update(task, completed=state.done, total=state.total, description=description)

            yield update

    @contextlib.contextmanager
    def _progress(self) -> Iterator[Progress | None]:
        if not self.is_shown:
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

        console = Console(stderr=True, force_terminal=self.is_forced or None)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TaskProgressColumn(),
            *([TimeElapsedColumn()] if self.is_timed else []),
        )
        with Progress(*columns, console=console, transient=True) as progress:
            Work.running = console
            try:
                yield progress
            finally:
                Work.running = None
