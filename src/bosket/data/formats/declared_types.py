"""Types of Arrow under a declaration: they settle what the cells of a column may be, before one is looked at.

Codes (dictionaries), runs, and types that somebody added to Arrow say how values are stored, and nothing of what they
are: those count for the values that they hold.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_types = pa.types
_TEXTS = (
    _types.is_string,
    _types.is_large_string,
    _types.is_string_view,
    _types.is_binary,
    _types.is_large_binary,
    _types.is_binary_view,
)
_DIGITS = 38  # the most that Arrow says of 128 bits
_ITEMS = (*_TEXTS, _types.is_boolean, _types.is_integer, _types.is_floating, _types.is_null)
_VIEWS = tuple(
    getattr(_types, name) for name in ("is_list_view", "is_large_list_view") if hasattr(_types, name)
)  # Arrow 16 has them, and no views of large lists by that name
_LISTS = (_types.is_list, _types.is_large_list, _types.is_fixed_size_list, *_VIEWS)


def is_text_view(kind: Any) -> bool:
    """Whether text or bytes are stored as places in other bytes, in any order."""
    return bool(_types.is_string_view(kind) or _types.is_binary_view(kind))


def is_text(kind: Any) -> bool:
    """Whether cells are text or bytes, each with a length of its own."""
    return any(is_kind(kind) for is_kind in _TEXTS)


def is_item(kind: Any) -> bool:
    """Whether values of this type may stand for declared items: text, numbers and truth values do."""
    return any(is_kind(kind) for is_kind in _ITEMS)


def can_hold(kind: Any) -> bool:
    """The same for values of a table, which may be decimal numbers too."""
    return is_item(kind) or bool(_types.is_decimal(kind))


def is_view(kind: Any) -> bool:
    """Whether lists are stored as places in values, in any order."""
    return any(is_kind(kind) for is_kind in _VIEWS)


def stored(kind: Any) -> Any:
    """The type that one which somebody added to Arrow is stored as."""
    while isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind


def bare(kind: Any) -> Any:
    """The type of the values, without codes and runs."""
    kind = stored(kind)
    while _types.is_dictionary(kind) or _types.is_run_end_encoded(kind):
        kind = stored(kind.value_type)
    return kind


def element(kind: Any) -> Any:
    """The bare type of the values of lists, or None for any other type."""
    kind = stored(kind)
    return bare(kind.value_type) if any(is_kind(kind) for is_kind in _LISTS) else None


def value_type(kind: Any) -> Any:
    """The type that bare values are compared in: text as bytes, which need not be sound UTF-8.

    Decimals of 32 and 64 bits, which Arrow cannot tell apart, get a precision that all their bits have room in: a cell
    may hold more digits than its type says, and Arrow looks when it casts.
    """
    if is_text(kind):
        return pa.large_binary()
    is_narrow = _types.is_decimal(kind) and kind.bit_width < 128
    return pa.decimal128(_DIGITS, kind.scale) if is_narrow else kind


def key_type(kind: Any) -> Any:
    """The type that names of records are compared in, by their bare type; None for one that names nothing.

    Times are compared as the numbers that they are stored as: Python's calendar ends, and Arrow's does not.
    """
    if _types.is_date32(kind) or _types.is_time32(kind):
        return pa.int32()
    if _types.is_temporal(kind) and not _types.is_interval(kind):
        return pa.int64()
    if _types.is_float16(kind):  # Arrow hardly computes with them
        return pa.float32()
    if _types.is_decimal(kind):
        return pa.string()
    return value_type(kind) if is_item(kind) or _types.is_fixed_size_binary(kind) else None
