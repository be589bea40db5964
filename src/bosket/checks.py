"""The few argument checks; nobody validates by hand elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from bosket.errors import ParameterError

_LONGEST = 60


def shown(value: Any) -> str:
    """A value as messages show it: as it is written, or its type where that is long."""
    if isinstance(value, int) and value.bit_length() > 150:  # Python refuses to write the digits of a very large one
        return f"a number of about {value.bit_length() * 0.30103:.0f} digits"
    if isinstance(value, str | list | tuple | dict) and len(value) > _LONGEST:
        return f"a {type(value).__name__} of length {len(value)}"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # such a number within a list; lists without end
        text = ""
    return text if 0 < len(text) <= _LONGEST and "\n" not in text else f"a {type(value).__name__}"


def _fail(name: str, of: str | None, must: str, value: Any, hint: str | None = None) -> ParameterError:
    where = f" of {of}" if of else ""
    return ParameterError(
        f"The '{name}' parameter{where} must {must}, got {shown(value)}.", parameter=name, value=value, hint=hint
    )


def _is_real(value: Any) -> bool:
    """Whether a value is a number that a double can stand for."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all doubles
        return False


def check_probability(name: str, value: Any, *, of: str | None = None) -> float:
    """A real number in [0, 1]."""
    if not _is_real(value) or not 0.0 <= float(value) <= 1.0:
        raise _fail(name, of, "lie in [0, 1]", value)
    return float(value)


def check_fraction(name: str, value: Any, *, of: str | None = None) -> float:
    """A real number in (0, 1], as a minimum support is."""
    if not _is_real(value) or not 0.0 < float(value) <= 1.0:
        raise _fail(
            name, of, "lie in (0, 1]", value, hint="It is a fraction of the records, not a count nor a percentage."
        )
    return float(value)


def check_between(name: str, value: Any, low: float, high: float, *, of: str | None = None) -> float:
    """A real number strictly between two bounds."""
    if not _is_real(value) or not low < float(value) < high:
        raise _fail(name, of, f"lie strictly between {low:g} and {high:g}", value)
    return float(value)


def check_not_negative(name: str, value: Any, *, of: str | None = None) -> float:
    """A finite real number, at least 0."""
    if not _is_real(value) or float(value) < 0:
        raise _fail(name, of, "be a finite number, at least 0", value)
    return float(value)


def check_positive(name: str, value: Any, *, of: str | None = None) -> float:
    """A finite real number above 0."""
    if not _is_real(value) or float(value) <= 0:
        raise _fail(name, of, "be a finite number above 0", value)
    return float(value)


def check_epsilon(name: str, value: Any, *, of: str | None = None) -> float:
    """A privacy loss: a number, at least 0, and infinite where nothing is promised."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not value >= 0:  # nan is not
        hint = "Infinity less infinity, and 0 times it, are no numbers." if is_number and math.isnan(value) else None
        raise _fail(name, of, "be a number, at least 0, or infinite", value, hint)
    return float(value)


def check_integer(name: str, value: Any, *, least: int, most: int | None = None, of: str | None = None) -> int:
    """A whole number within its bounds."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Integral)
        or int(value) < least
        or (most is not None and int(value) > most)
    ):
        bounds = f"be a whole number, at least {least}" + ("" if most is None else f" and at most {most}")
        raise _fail(name, of, bounds, value)
    return int(value)


def check_real(name: str, value: Any, *, of: str | None = None) -> float:
    """A finite real number."""
    if not _is_real(value):
        raise _fail(name, of, "be a finite number", value)
    return float(value)


def check_limits(
    name: str, value: Any, *, above: float, most: float, of: str | None = None, hint: str | None = None
) -> float:
    """A finite real number above one limit, and at most another."""
    if not _is_real(value) or not above < float(value) <= most:
        raise _fail(name, of, f"be {limit_text(above, most)}", value, hint)
    return float(value)


def limit_text(above: float, most: float) -> str:
    """``a number above 1 and at most 2**1000``."""
    parts = [f"{word} {_limit(limit)}" for word, limit in (("above", above), ("at most", most)) if math.isfinite(limit)]
    return " ".join(["a number" if parts else "a finite number", " and ".join(parts)]).strip()


def _limit(value: float) -> str:
    """A limit as one writes it: large powers of two as such."""
    fraction, exponent = math.frexp(value)
    return f"2**{exponent - 1}" if fraction == 0.5 and exponent > 53 else f"{value:g}"


def check_choice(name: str, value: Any, choices: Iterable[str], *, of: str | None = None) -> str:
    """One of a few words."""
    known = list(choices)
    if value not in known:
        raise _fail(name, of, f"be one of {', '.join(known)}", value)
    return str(value)


def check_text(name: str, value: Any, *, of: str | None = None) -> str:
    """A string, which may be empty."""
    if not isinstance(value, str):
        raise _fail(name, of, "be text", value)
    return value


def check_callable(name: str, value: Any, *, of: str | None = None) -> Any:
    """A function, or None."""
    if value is not None and not callable(value):
        raise _fail(name, of, "be a function, or None", value)
    return value


def check_different(name: str, value: Any, other: str, its_value: Any, *, of: str | None = None) -> Any:
    """A value that another parameter does not have."""
    if value == its_value:
        raise _fail(name, of, f"differ from '{other}'", value)
    return value


def check_not_text(itemset: Any) -> Any:
    """An itemset as it is; a string, each letter of which would be an item, is refused, and so is a single item."""
    if isinstance(itemset, str) or not isinstance(itemset, Iterable):
        got = "a string" if isinstance(itemset, str) else shown(itemset)
        raise ParameterError(
            f"The 'itemsets' parameter must hold sets of items, got {got}.",
            parameter="itemsets",
            value=itemset,
            hint="Write [{'milk'}] rather than ['milk'].",
        )
    return itemset
