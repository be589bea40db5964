"""``--mechanism``: a mechanism by its name, or one from outside the package by ``module:Class``; ``--set`` gives its
parameters.

A module is imported only because the command line names it: plans and files of reports never cause an import.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket.errors import BosketError, DataError, ParameterError

if TYPE_CHECKING:
    from bosket.data import Domain
    from bosket.mechanisms import Mechanism
    from bosket.mechanisms.parameters import Parameter

ParameterSetting = tuple[str, str]


def add_named(group: argparse._ActionsContainer) -> None:
    """Any mechanism by name, and its parameters."""
    group.add_argument(
        "--mechanism",
        action=_Named,
        const=True,
        metavar="NAME",
        help="any mechanism by its name, or one from outside bosket as module:Class, with --set for its parameters; "
        "--mechanism NAME --help lists them",
    )


def add_set(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--set",
        type=_setting,
        action="append",
        default=[],
        metavar="PARAMETER=VALUE",
        help="with --mechanism: one of its parameters; @FILE, CSV or JSON, gives it by item or by record size, or what "
        "else it is; may be repeated",
    )


def add_known(command: argparse.ArgumentParser) -> None:
    """For commands that read reports: the mechanism that these were made by."""
    command.add_argument(
        "--mechanism",
        action=_Named,
        metavar="module:Class",
        help="the mechanism that reports were made by, where it is from outside bosket; its module is imported",
    )


class _Named(argparse.Action):
    """Finds the mechanism as soon as it is named; then ``--help`` can tell its parameters."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        try:
            found = find_mechanism(values)
        except BosketError as error:
            raise argparse.ArgumentError(self, f"{error}{f' {error.hint}' if error.hint else ''}") from None
        setattr(namespace, self.dest, found)
        if self.const:
            parser.epilog = describe(found)


def find_mechanism(text: str) -> type[Mechanism]:
    """The mechanism of this name, or after an import the one that ``module:Class`` names."""
    from bosket.mechanisms import Mechanism

    if ":" in text:
        return _imported(text)
    if text not in Mechanism.registry:
        known = ", ".join(sorted(Mechanism.registry))
        raise ParameterError(
            f"The mechanism must be one of {known}, or module:Class, got {text!r}.", parameter="mechanism", value=text
        )
    return Mechanism.registry[text]


def _imported(text: str) -> type[Mechanism]:
    from bosket.mechanisms import Mechanism

    module, _, name = text.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise _unusable(text, "it must be written module:Class, as in my_package.my_module:MyMechanism")
    found = getattr(_module(module, text), name, None)
    if found is None:
        raise _unusable(text, f"the module {module!r} has no {name!r}")
    if not inspect.isclass(found) or not issubclass(found, Mechanism):
        raise _unusable(text, "it is not a Mechanism")
    if inspect.isabstract(found):
        raise _unusable(text, f"it does not say its {' and '.join(sorted(found.__abstractmethods__))}")
    own = getattr(found, "name", None)
    if own is None:
        raise _unusable(text, "it has no name")
    known = Mechanism.registry.get(own)
    if known is not found:
        taken = "" if known is None else f", which is that of {known.__module__}.{known.__name__}"
        raise _unusable(text, f"it has no name of its own but {own!r}{taken}")
    return found


def imported(text: str, what: str) -> Any:
    """The function that ``module:function`` names, after an import."""
    module, _, name = text.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        fault = f"The '--{what}' option must be written module:function, got {text!r}."
        raise ParameterError(fault, parameter=what, value=text)
    found = getattr(_module(module, text), name, None)
    if not callable(found):
        fault = f"The '--{what}' option must name a function, and {module!r} has none called {name!r}."
        raise ParameterError(fault, parameter=what, value=text)
    return found


def _module(module: str, text: str) -> Any:
    try:
        return importlib.import_module(module)
    except BosketError as error:  # as where the name is taken
        raise _unusable(text, f"{error}".removesuffix(".")) from None
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            hint = "Install it, or name its folder in PYTHONPATH."
            raise _unusable(text, f"there is no module {error.name!r}", hint=hint) from None
        fault: BaseException = error
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever somebody else's module does
        fault = error
    raise _unusable(text, f"importing {module!r} ended with {type(fault).__name__}: {fault}".removesuffix("."))


def _unusable(text: str, fault: str, *, hint: str | None = None) -> ParameterError:
    return ParameterError(
        f"The mechanism {text!r} cannot be used: {fault}.", parameter="mechanism", value=text, hint=hint
    )


def describe(mechanism: type[Mechanism]) -> str:
    """The parameters of a mechanism, in a paragraph."""
    from bosket.mechanisms.parameters import parameters_of

    parts = [
        f"{one.name}: {one.help.removesuffix('.')} ({one.kind.must}"
        + (
            ""
            if one.is_required
            else "; may be left out"
            if one.default is None
            else f"; default {one.kind.short(one.default)}"
        )
        + ")"
        for one in parameters_of(mechanism)
    ]
    return f"Parameters of {mechanism.name}, by --set PARAMETER=VALUE: {'; '.join(parts) or 'none'}."


def _setting(text: str) -> ParameterSetting:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"must be PARAMETER=VALUE, got {text!r}")
    return name, value


def settings_of(
    mechanism: type[Mechanism], settings: Iterable[ParameterSetting], *, max_bytes: int | None
) -> dict[str, Any]:
    """The parameters that ``--set`` gives, checked by their kinds; a file's path stands for what it holds."""
    from bosket.mechanisms.parameters import declared_by

    declared = {one.name: one for one in declared_by(mechanism)}
    values: dict[str, Any] = {}
    for name, text in settings:
        if name not in declared:
            raise _unknown(mechanism, name, list(declared))
        if name in values:
            raise _wrong(mechanism, name, "is set twice")
        values[name] = _value(mechanism, declared[name], text, max_bytes)
    missing = [name for name, one in declared.items() if one.is_required and name not in values]
    if missing:
        raise _wrong(mechanism, missing[0], f"must be given, as in --set {missing[0]}=VALUE")
    return values


def _value(mechanism: type[Mechanism], one: Parameter, text: str, max_bytes: int | None) -> Any:
    from bosket.mechanisms.mappings import Mapped

    if text.startswith("@"):
        if one.kind.takes_json:
            return _from_json(mechanism, one, Path(text[1:]), max_bytes)
        if not isinstance(one.kind, Mapped):
            raise _wrong(mechanism, one.name, f"must be {one.kind.must}, and cannot come from a file")
        return Path(text[1:])
    try:
        return one.kind.check(one.name, one.kind.parse(text), of=mechanism.__name__)
    except ParameterError:
        raise
    except (ValueError, OverflowError):
        pass
    raise _wrong(mechanism, one.name, f"must be a {one.kind.noun}, got {text!r}")


def _from_json(mechanism: type[Mechanism], one: Parameter, path: Path, max_bytes: int | None) -> Any:
    """What a file of JSON says that a parameter is, read as strictly as a plan."""
    from bosket import strict_json
    from bosket.cli.inputs.rows import read_small

    try:
        value = strict_json.parse(read_small(path, max_bytes=max_bytes), what=f"the {one.name} in {path}", path=path)
        return one.check(one.from_json(value, of=mechanism.name), of=mechanism.__name__)
    except BosketError as error:
        if isinstance(error, DataError) and error.path is not None:
            raise
        raise DataError(f"The {one.name} in {path} cannot be used: {error}", path=path, hint=error.hint) from None


def _unknown(mechanism: type[Mechanism], name: str, known: list[str]) -> ParameterError:
    guess = difflib.get_close_matches(name, known, 1)
    return ParameterError(
        f"The mechanism {mechanism.__name__} has no parameter {name!r}; it has {', '.join(known) or 'none'}.",
        parameter=name,
        value=name,
        hint=f"Did you mean {guess[0]!r}?" if guess else None,
    )


def _wrong(mechanism: type[Mechanism], name: str, fault: str) -> ParameterError:
    return ParameterError(f"The '{name}' parameter of {mechanism.__name__} {fault}.", parameter=name, value=name)


def make_named(
    mechanism: type[Mechanism], settings: Sequence[ParameterSetting], domain: Domain, *, max_bytes: int | None = None
) -> Mechanism:
    """The mechanism with these parameters, for items of this domain."""
    from bosket.cli.inputs.parameter_files import ParameterColumns, keys_of, read_values
    from bosket.mechanisms.parameters import declared_by

    declared = {one.name: one for one in declared_by(mechanism)}
    values = settings_of(mechanism, settings, max_bytes=max_bytes)
    for name, path in values.items():
        if isinstance(path, Path):
            columns = ParameterColumns((declared[name],))
            keys = keys_of(columns, domain, path)
            _, found = read_values(path, [columns], keys, option=f"file of {name}", max_bytes=max_bytes)
            values[name] = found[name]
    return mechanism(**values)


def files_of(options: argparse.Namespace) -> list[Path]:
    """The files that ``--set`` names."""
    return [Path(text[1:]) for _, text in options.set if text.startswith("@")]


def check_made_by(mechanism: Mechanism, options: argparse.Namespace, *, of: str) -> None:
    """Refuse what was made by another mechanism than the command line names."""
    named = getattr(options, "mechanism", None)
    if named is not None and type(mechanism) is not named:
        raise DataError(f"{of} made by the mechanism {mechanism.name!r}, and --mechanism names {named.name!r}.")
