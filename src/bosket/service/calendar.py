"""When tasks close by themselves: a thread that waits for their times."""

from __future__ import annotations

import threading
from collections.abc import Callable

_LONGEST = 60.0
"""Seconds of one wait: a clock may be set, and what could not be closed, on a full disk, is tried again."""


class Calendar:
    """Calls ``on_due`` when the ``left`` seconds are over, and then each minute; it ends where none are told."""

    def __init__(self, left: Callable[[], float | None], on_due: Callable[[], None]) -> None:
        self._left = left
        self._on_due = on_due
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="bosket-calendar", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and call nobody any more."""
        self._is_over.set()
        self._thread.join()

    def _wait(self) -> None:
        left = self._left()
        while left is not None and not self._is_over.wait(min(max(left, 0.0), _LONGEST)):
            left = self._left()
            if left is not None and left <= 0:
                self._on_due()
                left = _LONGEST
