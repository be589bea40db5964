"""Programs that are run for an audit: what they write is read up to a bound, and they end in time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Ran:
    """What became of a program."""

    code: int
    output: bytes
    """One byte more than it may write at most, where it would have written more."""
    said: bytes
    """The end of what it wrote on standard error."""


def ran(words: Sequence[str], given: bytes, *, seconds: float, most: int, most_said: int) -> Ran:
    """Run a program on this input; ended where it takes longer, or writes more than ``most`` bytes.

    What it started and left behind, in a session of its own too, is waited for no longer than that.
    Late is a ``TimeoutExpired``, and a program that there is not an ``OSError``.
    """
    until = time.monotonic() + seconds
    with tempfile.TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        pipe = subprocess.PIPE
        # Without buffers, whose locks a thread that still reads holds: closing them would wait for it.
        program = subprocess.Popen(words, stdin=source, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True)
        written, said = bytearray(), bytearray()
        assert program.stdout is not None
        assert program.stderr is not None
        reading = threading.Thread(target=_read, args=(program.stdout, written, most), daemon=True)
        hearing = threading.Thread(target=_hear, args=(program.stderr, said, most_said), daemon=True)
        try:
            with program.stdout, program.stderr:
                reading.start()
                hearing.start()
                reading.join(seconds)
                output = bytes(written)
                if len(output) <= most and not reading.is_alive():
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        program.wait(max(0.0, until - time.monotonic()))
                is_late = len(output) <= most and (reading.is_alive() or program.returncode is None)
                if program.returncode is None:
                    _end(program)
                hearing.join(1.0)  # others that it started may hold the line
        finally:
            if program.returncode is None:  # as after Ctrl-C, which it does not hear
                _end(program)
            program.wait()
    if is_late:
        raise subprocess.TimeoutExpired(list(words), seconds)
    return Ran(program.returncode, output, bytes(said))


def _end(program: subprocess.Popen[bytes]) -> None:
    """End a program that was not waited for, with all that it started: these may hold its output."""
    if os.name == "nt":
        program.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)


def _read(line: IO[bytes], written: bytearray, most: int) -> None:
    """All that comes, up to one byte more than there may be."""
    with contextlib.suppress(ValueError, OSError):  # closed meanwhile: nobody waits for it any more
        while len(written) <= most and (part := line.read(min(_AT_ONCE, most + 1 - len(written)))):
            written += part


def _hear(line: IO[bytes], said: bytearray, most: int) -> None:
    """Keep the end of what comes."""
    with contextlib.suppress(ValueError, OSError):
        while part := line.read(_AT_ONCE):
            said += part
            del said[:-most]
