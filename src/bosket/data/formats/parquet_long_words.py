"""Words of a Parquet file that are longer than a line of text may be, put out of the way before anything is copied.

A word is a code in a file, and may be a gigabyte: each copy of it is a gigabyte more.  No declared item is so long.  As
the name of a record such a word is still a name, and a digest stands for it.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data.formats import lines

Long: TypeAlias = Literal["kept", "missing", "no text", "digest"]
"""What becomes of long words."""

_NO_TEXT = b"\xff"


def shortened(words: Any, long: Long, is_used: npt.NDArray[np.bool_] | None = None) -> Any:
    """The words, those beyond ``lines.LONGEST`` bytes missing, or what is no text, or the digest of those in use."""
    kind = words.type
    if long == "kept" or not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        return words
    lengths = pc.fill_null(pc.binary_length(words), 0).to_numpy(zero_copy_only=False)
    is_long = lengths > lines.LONGEST
    if not is_long.any():
        return words
    parts, after = [], 0
    stand_in = _NO_TEXT if long == "no text" else None
    for at in np.flatnonzero(is_long).tolist():  # take and replace_with_mask reserve as much as there was
        is_named = long == "digest" and (is_used is None or bool(is_used[at]))
        parts += [words.slice(after, at - after), pa.array([_digest(words[at]) if is_named else stand_in], kind)]
        after = at + 1
    return pa.concat_arrays([*parts, words.slice(after)])


def _digest(word: Any) -> bytes:
    return hashlib.sha256(word.as_buffer()).digest()
