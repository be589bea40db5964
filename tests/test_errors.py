"""What errors tell: a sentence, and a hint where there is one."""

from __future__ import annotations

import traceback

from bosket.errors import BosketError, DataError


def told(problem: BosketError) -> str:
    return "".join(traceback.format_exception(problem))


def test_a_traceback_has_the_hint() -> None:
    """What the command line prints below the sentence is otherwise in an attribute alone."""
    problem = DataError("The file is no file.", path="x", hint="Name another one.")
    assert told(problem).endswith("The file is no file.\nhint: Name another one.\n")
    assert str(problem) == "The file is no file."
    assert "hint" not in told(BosketError("Nothing is left."))
