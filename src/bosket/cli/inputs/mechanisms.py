"""Options that say how to randomize, made from what mechanisms declare, and the mechanism that they make.

The mechanisms of this package have options of their own; ``--mechanism`` takes any, from outside the package too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket.cli.inputs.designs import add_design, settle_design
from bosket.cli.inputs.named import add_named, add_set, files_of, make_named, settings_of
from bosket.cli.inputs.options import clash, option
from bosket.errors import ParameterError

if TYPE_CHECKING:
    from bosket.data import Domain
    from bosket.mechanisms import Mechanism
    from bosket.mechanisms.parameters import FileOption, Kind, Option, Parameter


def add_mechanism(command: argparse.ArgumentParser) -> None:
    """One way to randomize, and the options that belong to some of them."""
    group = command.add_argument_group(
        "how to randomize", "one of those down to --design; the rest belong to some of them"
    )
    how = group.add_mutually_exclusive_group()
    files: set[str] = set()  # mechanisms may share one
    for mechanism in _own():
        for one, known in _options(mechanism):
            if not known.beside:
                _add(how, one, known)
        file = mechanism.file_option
        if file is not None and file.name not in files:
            files.add(file.name)
            how.add_argument(option(file.name), type=Path, metavar="FILE", help=_escaped(file.help))
    how.add_argument("--plan", type=Path, metavar="PLAN", help="everything from a plan that was written before")
    add_named(group)
    add_design(group)
    for mechanism in _own():
        for one, known in _options(mechanism):
            if known.beside:
                _add(group, one, known)
    add_set(group)


def _own() -> list[type[Mechanism]]:
    """The mechanisms of this package: those from outside add no options, which might be another's."""
    from bosket.mechanisms import Mechanism

    return [known for known in Mechanism.registry.values() if known.__module__.startswith("bosket.")]


def _options(mechanism: type[Mechanism]) -> Iterator[tuple[Parameter, Option]]:
    from bosket.mechanisms.parameters import parameters_of

    for one in parameters_of(mechanism):
        if one.option is not None:
            yield one, one.option


def _add(group: argparse._ActionsContainer, one: Parameter, known: Option) -> None:
    beside = f"with {' or '.join(map(option, known.beside))}: " if known.beside else ""
    default = "" if one.is_required or one.default is None else f" (default {one.kind.short(one.default)})"
    group.add_argument(
        option(known.name),
        type=_typed(known.name, one.kind),
        metavar=known.metavar,
        help=_escaped(beside + (known.help or one.help) + default),
    )


def _escaped(text: str) -> str:
    """Help that argparse shows as it is."""
    return text.replace("%", "%%")


def _typed(name: str, kind: Kind) -> Callable[[str], Any]:
    """An argparse type: the kind's own check, at the moment the option is read."""

    def parse(text: str) -> Any:
        try:
            return kind.check(name, kind.parse(text))
        except ParameterError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a {kind.noun}, got {text!r}") from None

    return parse


def check_mechanism(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together; a design is put as a mechanism with its parameters."""
    settle_design(options, others=[*_leading(), *_following(), "plan", "mechanism", "set"])
    leading = [name for name in _leading() if getattr(options, name) is not None]
    if not leading and options.plan is None and options.mechanism is None:
        known = " ".join(map(option, [*_leading(), "plan", "mechanism", "design"]))
        raise ParameterError(
            f"one of the arguments {known} is required",
            parameter="mechanism",
            value=None,
            hint="'bosket randomize --help' lists the options.",
        )
    if leading and options.mechanism is not None:
        raise clash(leading[0], "not come with --mechanism", options)
    for mechanism in _own():
        _check_options(mechanism, options)
    if options.plan is not None and options.set:
        raise settled("set", options)
    if options.set and options.mechanism is None:
        raise clash("set", "come with --mechanism", options)
    if options.mechanism is not None and options.plan is None:
        settings_of(options.mechanism, options.set, max_bytes=options.max_bytes)
        if options.mechanism.needs_table and not options.table:
            raise clash("mechanism", f"come with --table where it is {options.mechanism.name}", options)


def _leading() -> list[str]:
    """Options each of which says which mechanism is meant."""
    names: dict[str, None] = {}
    for mechanism in _own():
        names |= {known.name: None for _, known in _options(mechanism) if not known.beside}
        names |= {} if mechanism.file_option is None else {mechanism.file_option.name: None}
    return list(names)


def _following() -> list[str]:
    """Options that come beside those."""
    return list({known.name: None for mechanism in _own() for _, known in _options(mechanism) if known.beside})


def _check_options(mechanism: type[Mechanism], options: argparse.Namespace) -> None:
    """Those of one mechanism: what comes beside another, what needs another, and what is for tables."""
    for one, known in _options(mechanism):
        if getattr(options, known.name) is not None and known.beside:
            if options.plan is not None:
                raise settled(known.name, options)
            if all(getattr(options, owner) is None for owner in known.beside):
                raise clash(known.name, f"come with {' or '.join(map(option, known.beside))}", options)
        for owner in known.beside if one.is_required else ():
            if getattr(options, owner) is not None and getattr(options, known.name) is None:
                raise clash(owner, f"come with {option(known.name)}", options)
        if mechanism.needs_table and getattr(options, known.name) is not None and not options.table:
            raise clash(known.name, "come with --table", options)


def settled(name: str, options: argparse.Namespace) -> ParameterError:
    return clash(name, "not come with --plan, which settles it", options)


def mechanism_files(options: argparse.Namespace) -> list[Path]:
    """The files from which parameters come."""
    names = {known.file_option.name for known in _own() if known.file_option is not None}
    paths = [getattr(options, name) for name in sorted(names)]
    return [*(path for path in paths if path is not None), *files_of(options)]


def make_mechanism(options: argparse.Namespace, domain: Domain) -> Mechanism:
    """The mechanism of these options, for items of this domain."""
    if options.mechanism is not None:
        return make_named(options.mechanism, options.set, domain, max_bytes=options.max_bytes)
    for mechanism in _own():
        file = mechanism.file_option
        if file is not None and getattr(options, file.name) is not None:
            return _from_file(file, options, domain)
        if any(not known.beside and getattr(options, known.name) is not None for _, known in _options(mechanism)):
            values = {one.name: getattr(options, known.name) for one, known in _options(mechanism)}
            return mechanism(**{name: value for name, value in values.items() if value is not None})
    raise AssertionError("check_mechanism has seen that there is one")


def _from_file(file: FileOption, options: argparse.Namespace, domain: Domain) -> Mechanism:
    """The mechanism that a file describes, with the options that may come beside it."""
    from bosket.cli.inputs.parameter_files import ParameterColumns, keys_of, read_values
    from bosket.mechanisms.mappings import Mapped
    from bosket.mechanisms.parameters import parameters_of

    choices: dict[ParameterColumns, type[Mechanism]] = {}
    for mechanism in _own():
        if mechanism.file_option == file:
            mapped = [one for one in parameters_of(mechanism) if isinstance(one.kind, Mapped)]
            required = tuple(one for one in mapped if one.is_required)
            choices[ParameterColumns(required, tuple(one for one in mapped if not one.is_required))] = mechanism
    path: Path = getattr(options, file.name)
    keys = keys_of(next(iter(choices)), domain, path)
    columns, values = read_values(path, list(choices), keys, option=file.name, max_bytes=options.max_bytes)
    arguments: dict[str, Any] = dict(values)
    for one, known in _options(choices[columns]):
        given = getattr(options, known.name) if file.name in known.beside else None
        if given is not None and one.name in values:
            raise ParameterError(
                f"The '{option(known.name)}' option must not come with a {file.name.replace('_', ' ')} that has "
                f"{one.name}.",
                parameter=known.name,
                value=given,
            )
        arguments |= {} if given is None else {one.name: given}
    _settle_others(choices[columns], arguments, path, domain)
    return choices[columns](**arguments)


def _settle_others(mechanism: type[Mechanism], arguments: dict[str, Any], path: Path, domain: Domain) -> None:
    """Items that a file leaves out must have a value otherwise; where it leaves out none, that is left out."""
    from bosket.data.formats.sources import file_source
    from bosket.mechanisms.mappings import ByItem

    by_name = {one.name: (one, known) for one, known in _options(mechanism)}
    for one, _ in by_name.values():
        otherwise = one.kind.otherwise if isinstance(one.kind, ByItem) else None
        if otherwise is None or not isinstance(arguments.get(one.name), dict):
            continue
        named = len(arguments[one.name])
        if named == len(domain):
            arguments.pop(otherwise, None)
        elif otherwise not in arguments:
            raise file_source(path).error(
                f"names {named} of the {len(domain)} items",
                hint=f"Give the {one.name} of the others with {option(by_name[otherwise][1].name)}.",
            )
