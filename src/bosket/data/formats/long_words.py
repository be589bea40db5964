"""Words that are longer than a line of text may be, put out of the way before anything is copied.

A word is a code in a file, and may be a gigabyte: each copy of it is a gigabyte more.  No declared item is so long.  As
the name of a record such a word is still a name, and a digest stands for it.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.data.baskets.rows import Offsets
from bosket.data.formats import lines
from bosket.data.formats.declared_types import is_text, is_text_view

Long: TypeAlias = Literal["kept", "missing", "no text", "digest"]
"""What becomes of long words."""

_NO_TEXT = b"\xff"
_VIEW_BYTES = 16
_NARROW = (pa.types.is_string, pa.types.is_binary)


def cast_short(words: Any, kind: Any, long: Long, is_used: npt.NDArray[np.bool_] | None = None) -> Any:
    """The words in a type, those beyond ``lines.LONGEST`` bytes missing, or no text, or the digest of those in use."""
    if long == "kept" or not is_text(words.type) or not len(words):
        return _cast(words, kind)
    is_long = lengths_of(words) > lines.LONGEST
    if is_long.any():
        is_long &= words.is_valid().to_numpy(zero_copy_only=False)
    parts, after = [], 0
    stand_in = _NO_TEXT if long == "no text" else None
    for at in np.flatnonzero(is_long).tolist():  # take and replace_with_mask reserve as much as there was
        is_named = long == "digest" and (is_used is None or bool(is_used[at]))
        word = pa.array([_digest(words[at]) if is_named else stand_in], kind)
        parts += [_cast(words.slice(after, at - after), kind), word]
        after = at + 1
    return pa.concat_arrays([*parts, _cast(words.slice(after), kind)]) if parts else _cast(words, kind)


def lengths_of(words: Any, places: Offsets | None = None) -> npt.NDArray[np.integer[Any]]:
    """The bytes of text, of all words or of those at some places; of a missing one it may be any number."""
    offsets, here = words.buffers()[1], slice(None) if places is None else places
    first, last = words.offset, words.offset + len(words)
    lengths: npt.NDArray[np.integer[Any]]
    if is_text_view(words.type):  # a view begins with its length
        lengths = np.frombuffer(offsets, np.int32)[:: _VIEW_BYTES // 4][first:last][here]
        return lengths
    is_narrow = any(is_kind(words.type) for is_kind in _NARROW)
    ends: npt.NDArray[Any] = np.frombuffer(offsets, np.int32 if is_narrow else np.int64)[first : last + 1]
    lengths = ends[1:][here] - ends[:-1][here]
    return lengths


def taken_at(words: Any, places: Offsets) -> Any:
    """The words at some places: Arrow does not take views."""
    if not is_text_view(words.type):
        return words.take(pa.array(places))
    _, views, *texts = words.buffers()
    chosen = np.frombuffer(views, f"V{_VIEW_BYTES}")[words.offset + places]
    is_valid = pa.array(words.is_valid().to_numpy(zero_copy_only=False)[places]).buffers()[1]
    return pa.Array.from_buffers(words.type, places.size, [is_valid, pa.py_buffer(chosen), *texts])


def _cast(words: Any, kind: Any) -> Any:
    return words if words.type == kind else words.cast(kind)


def _digest(word: Any) -> bytes:
    return hashlib.sha256(word.as_buffer()).digest()
