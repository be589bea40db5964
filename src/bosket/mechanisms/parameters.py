"""Parameters of mechanisms: each is declared once, as a field with a kind and a sentence.

::

    @dataclass(frozen=True, slots=True)
    class Warner(Mechanism):
        name = "warner"

        keep: float = field(metadata=parameter(Probability(), "probability that an answer is true"))

From this follow the check of the argument, the JSON form and its strict reading, equality, hash and repr, the options
of the command line (``--mechanism module:Warner --set keep=0.9``) and the reference page.  :class:`Kind` is what a
parameter may be; kinds of numbers by item and by record size are in :mod:`bosket.mechanisms.mappings`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, ClassVar

from bosket import strict_json
from bosket.checks import check_integer, check_limits, check_probability, limit_text, shown
from bosket.errors import ParameterError

_PARAMETER = "parameter"
REQUIRED = object()
"""The default of a parameter that has none."""


class Kind(ABC):
    """What a parameter may be: how it is checked, written, read and shown."""

    takes_json: ClassVar[bool] = False
    """Whether the command line may give it by a file of JSON, which holds what ``to_json`` writes."""

    @property
    def noun(self) -> str:
        """What a text on the command line must be."""
        return "number"

    @property
    @abstractmethod
    def must(self) -> str:
        """What a value must be, as it stands after "must be" and in the reference."""

    @abstractmethod
    def check(self, name: str, value: Any, *, of: str | None = None) -> Any:
        """The value in its one form, or a :class:`ParameterError` about the parameter ``name`` of ``of``."""

    @abstractmethod
    def from_json(self, value: Any, name: str, *, of: str) -> Any:
        """What ``to_json`` wrote, of exact types; whether it lies within its limits is for ``check`` to say."""

    def to_json(self, value: Any) -> Any:
        """A checked value as plain JSON."""
        return value

    def parse(self, text: str) -> Any:
        """The value of a text on the command line, or a plain ``ValueError``; ``check`` comes after it."""
        return float(text)

    def short(self, value: Any) -> str:
        """A checked value in a few characters."""
        return f"{value:g}"

    def shown(self, name: str, value: Any) -> str:
        """The parameter with its name, for names of mechanisms."""
        return f"{name}={self.short(value)}"


@dataclass(frozen=True, slots=True)
class Probability(Kind):
    """A number in [0, 1]."""

    @property
    def must(self) -> str:
        return "a number in [0, 1]"

    def check(self, name: str, value: Any, *, of: str | None = None) -> float:
        return check_probability(name, value, of=of)

    def from_json(self, value: Any, name: str, *, of: str) -> float:
        return strict_json.real(value, name, of=of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Kind):
    """A whole number within limits."""

    least: int
    most: int | None = None

    @property
    def noun(self) -> str:
        return "whole number"

    @property
    def must(self) -> str:
        return f"a whole number, at least {self.least}" + ("" if self.most is None else f" and at most {self.most}")

    def check(self, name: str, value: Any, *, of: str | None = None) -> int:
        return check_integer(name, value, least=self.least, most=self.most, of=of)

    def from_json(self, value: Any, name: str, *, of: str) -> int:
        return strict_json.whole(value, name, of=of)

    def parse(self, text: str) -> int:
        return int(text)

    def short(self, value: Any) -> str:
        return f"{value:g}" if abs(value) < 1e300 else shown(value)  # without a limit it may be beyond all doubles


@dataclass(frozen=True, slots=True, kw_only=True)
class Real(Kind):
    """A finite number above ``above`` and at most ``most``."""

    above: float = -math.inf
    most: float = math.inf
    hint: str | None = None

    @property
    def must(self) -> str:
        return limit_text(self.above, self.most)

    def check(self, name: str, value: Any, *, of: str | None = None) -> float:
        return check_limits(name, value, above=self.above, most=self.most, of=of, hint=self.hint)

    def from_json(self, value: Any, name: str, *, of: str) -> float:
        return strict_json.real(value, name, of=of)


class _Undeclared(Kind):
    """A field that names no kind: its mechanism checks, writes and reads it by itself."""

    @property
    def must(self) -> str:
        return "what its mechanism takes"

    def check(self, name: str, value: Any, *, of: str | None = None) -> Any:
        return value

    def from_json(self, value: Any, name: str, *, of: str) -> Any:
        return value

    def short(self, value: Any) -> str:
        return repr(value)


@dataclass(frozen=True, slots=True)
class Option:
    """How the command line gives a parameter of a mechanism of this package.

    name      of the option, and of the argument that it sets: ``keep_absent`` is ``--keep-absent``
    metavar   what its help calls the value
    beside    options, one of which it must come with; without any, this option alone says which mechanism is meant
    help      what its help says, where that is more than what the parameter says
    """

    name: str
    metavar: str
    beside: tuple[str, ...] = ()
    help: str | None = None


@dataclass(frozen=True, slots=True)
class FileOption:
    """How the command line gives by a file those parameters of a mechanism that are by item, or by record size."""

    name: str
    help: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared field of a mechanism; ``attribute`` is the field, where that has another name than the parameter."""

    name: str
    kind: Kind
    help: str
    option: Option | None = None
    default: Any = REQUIRED
    attribute: str = ""

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED

    def check(self, value: Any, *, of: str) -> Any:
        """The value in its one form; None where that is the default."""
        return None if value is None and self.default is None else self.kind.check(self.name, value, of=of)

    def to_json(self, value: Any) -> Any:
        return None if value is None else self.kind.to_json(value)

    def from_json(self, value: Any, *, of: str) -> Any:
        if value is None and self.default is None:
            return None
        return self.kind.from_json(value, self.name, of=of)

    def shown(self, value: Any) -> str | None:
        """The parameter in a few characters; None where it is as by default."""
        is_default = value is self.default or (not self.is_required and value == self.default)
        return None if is_default else self.kind.shown(self.name, value)


def parameter(kind: Kind, help: str, option: Option | None = None, *, name: str = "") -> Mapping[str, Any]:
    """The metadata of a field of a mechanism: ``field(metadata=parameter(Probability(), "what it is for"))``.

    ``name`` is that of the parameter where the field cannot have it; then the mechanism writes its own ``__init__``.
    """
    return {_PARAMETER: Parameter(name, kind, help, option)}


@cache
def parameters_of(mechanism: type[Any]) -> tuple[Parameter, ...]:
    """The parameters of a mechanism in the order of its fields; none where it is not a dataclass."""
    if not is_dataclass(mechanism):
        return ()
    undeclared = Parameter("", _Undeclared(), "")
    declared = ((one, one.metadata.get(_PARAMETER, undeclared)) for one in fields(mechanism) if one.init)
    return tuple(
        replace(known, name=known.name or one.name, default=_default(one), attribute=one.name)
        for one, known in declared
    )


def _default(one: Field[Any]) -> Any:
    if one.default is not MISSING:
        return one.default
    return REQUIRED if one.default_factory is MISSING else one.default_factory()


def declared_by(mechanism: type[Any]) -> tuple[Parameter, ...]:
    """The same where all must be declared, since something is made of nothing else."""
    if not is_dataclass(mechanism):
        raise _not_declared("", mechanism.__name__)
    declared = parameters_of(mechanism)
    for one in declared:
        if isinstance(one.kind, _Undeclared):
            raise _not_declared(one.name, mechanism.__name__)
    return declared


def _not_declared(name: str, of: str) -> ParameterError:
    return ParameterError(
        f"The mechanism {of} must be a frozen dataclass whose every field names its kind"
        + (f", got the field '{name}' without one." if name else "."),
        parameter=name or "mechanism",
        value=of,
        hint="Write keep: float = field(metadata=parameter(Probability(), 'what it is')), or to_json and from_json.",
    )
