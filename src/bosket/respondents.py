"""Who answered, by tokens that stand beside reports: how a second answer of the same person is known.

A token names a person to the collector and says nothing of their record.  It is sent as it is: no local scheme hides
who took part.  Tokens are random words that were issued for one study, to each person one; names and numbers that mean
something elsewhere tie the reports of a person to everything else under that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from bosket.errors import DataError, ParameterError, RepeatedRespondentError
from bosket.mechanisms.columns import LONGEST_TOKEN, ColumnValues, Tokens
from bosket.privacy import LocalGuarantee
from bosket.threads import slices

COLUMN = Tokens("respondent")
"""The column of a file of reports that name who answered."""

_AT_ONCE = 1 << 15  # tokens that are compared with those beside them
_ISSUE = "Issue random tokens for the study, such as secrets.token_hex(8), to each person one."


def naming(promise: LocalGuarantee) -> LocalGuarantee:
    """The same promise where tokens go beside the reports, as they are."""
    what = "a token of the person, which tells who answered and ties together what they answer under it"
    return replace(promise, reveals=(*promise.reveals, what))


def tokens_of(respondents: Iterable[str | int], n_records: int) -> ColumnValues:
    """The tokens of so many records, one each; whole numbers stand for their digits."""
    is_one = isinstance(respondents, str | bytes) or getattr(respondents, "ndim", 1) == 0
    if is_one or not isinstance(respondents, Iterable):
        raise ParameterError(
            f"The 'respondents' parameter must hold a token for each record, got a {type(respondents).__name__}.",
            parameter="respondents",
            value=None,  # who answered is not shown
            hint=_ISSUE,
        )
    if isinstance(respondents, np.ndarray) and respondents.dtype == COLUMN.room(0).dtype:
        found = COLUMN.checked(respondents)
    else:
        listed = getattr(respondents, "to_pylist", lambda: respondents)()  # Arrow's own values are no text
        words = [_word(value, number) for number, value in enumerate(listed, 1)]
        found = np.array(words, COLUMN.room(0).dtype)
    if len(found) != n_records:
        raise DataError(f"Every record needs a respondent, got {len(found)} for {n_records} records.")
    return found


def _word(value: Any, number: int) -> bytes:
    """The bytes of a token; a value that is none is refused by its place, and not shown."""
    word = ""
    if isinstance(value, str):
        word = value[: LONGEST_TOKEN + 1]
    elif not isinstance(value, bool) and isinstance(value, Integral) and int(value).bit_length() <= 3 * LONGEST_TOKEN:
        word = str(int(value))
    if not 1 <= len(word) <= LONGEST_TOKEN or not all("!" <= letter <= "~" for letter in word):
        raise DataError(
            f"The respondent of record {number} must be a token of 1 to {LONGEST_TOKEN} visible ASCII characters, or a "
            "whole number.",
            hint=_ISSUE,
        )
    return word.encode("ascii")


def refuse_repeated(parts: Sequence[tuple[ColumnValues, int]], *, path: str | Path | None = None) -> None:
    """Refuse people who answered too often: tokens, part by part, with the most reports of a person in each.

    A person may send, over all parts together, as many as the strictest part in which they answer allows: a plan that
    promises something of one report does not hold for somebody who sent another one beside it.  Tokens are compared by
    sorting, so that none can be chosen to crowd a hash table.  Of one part their order is made, 16 bytes each while it
    is sorted, and no copy; several are put together before.
    """
    strictest_first = sorted(((part, allowed) for part, allowed in parts if len(part)), key=lambda part: part[1])
    if not strictest_first:
        return
    tokens = strictest_first[0][0]
    if len(strictest_first) > 1:
        tokens = np.concatenate([part for part, _ in strictest_first])
    ends = np.cumsum([len(part) for part, _ in strictest_first])
    limits = np.array([min(allowed, len(tokens)) for _, allowed in strictest_first])
    order = np.argsort(tokens, kind="stable")  # of one token, that of the strictest part first
    people, strictest = 0, len(tokens)
    for exceeded in _limits_exceeded(tokens, order, ends, limits):
        people += len(exceeded)
        strictest = min(strictest, int(exceeded.min(initial=strictest)))
    if people:
        raise _repeated(people, strictest, len(parts), path)


def refuse_repeated_beside(tokens: ColumnValues, earlier: Iterable[ColumnValues], allowed: int) -> None:
    """Refuse people who, with what they sent ``earlier``, answered more often than ``allowed``.

    Tokens of the earlier parts are sorted; each is looked up in them, so that time goes by those that are new.
    """
    people, times = np.unique(tokens, return_counts=True)
    for part in earlier:
        times += np.searchsorted(part, people, side="right") - np.searchsorted(part, people, side="left")
    exceeded = int((times > min(allowed, np.iinfo(np.int64).max)).sum())
    if exceeded:
        raise _repeated(exceeded, allowed, 2, None)


def _limits_exceeded(
    tokens: ColumnValues, order: ColumnValues, ends: ColumnValues, limits: ColumnValues
) -> Iterator[ColumnValues]:
    """The limits of people who have more tokens than theirs, some at a time.

    order   of tokens, those of one person together, the one of the strictest part first
    ends    where each part ends
    limits  of each part, from the strictest on
    """
    before = b""
    for start, stop in slices(len(tokens), _AT_ONCE):
        some = tokens[order[start:stop]]
        first = start + np.flatnonzero(np.append(some[0] != before, some[1:] != some[:-1]))
        before = some[-1]
        allowed = limits[np.searchsorted(ends, order[first], side="right")]
        one_more = first + allowed  # where one too many stands, if there is one
        within = one_more < len(tokens)
        yield allowed[within][tokens[order[one_more[within]]] == tokens[order[first[within]]]]


def _repeated(people: int, allowed: int, n_parts: int, path: str | Path | None) -> RepeatedRespondentError:
    who = "1 person" if people == 1 else f"{people} people"
    most = "once" if allowed == 1 else f"{allowed} times"
    where = f" in {path}" if path is not None else ", over all that is put together here," if n_parts > 1 else ""
    return RepeatedRespondentError(
        f"{who}{where} answered more often than the plan allows, which is {most}: its promise would not hold for them.",
        people=people,
        allowed=allowed,
        path=path,
        hint="Leave out what came later: more[~np.isin(more.respondents, earlier.respondents)]. PrivacyUnit(reports=2) "
        "allows for two reports of a person, if it is declared before anybody answers.",
    )
