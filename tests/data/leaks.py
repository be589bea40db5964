"""What an error gives away."""

from __future__ import annotations

from bosket.errors import BosketError


def said(error: BaseException | None) -> str:
    """Everything that an error and those it hangs on could ever print, suppressed or not."""
    if error is None:
        return ""
    hint = error.hint if isinstance(error, BosketError) else None
    own = f"{error} {error.args!r} {hint}"
    return own + said(error.__cause__) + (said(error.__context__) if error.__context__ is not error.__cause__ else "")
