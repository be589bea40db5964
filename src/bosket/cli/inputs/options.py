"""Options that several subcommands share, and the types of their values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from bosket.checks import (
    check_between,
    check_fraction,
    check_integer,
    check_limits,
    check_not_negative,
    check_positive,
    check_probability,
    check_real,
)
from bosket.cli.inputs.named import add_known
from bosket.cli.names import COMMANDS
from bosket.data.formats.sources import MAX_BYTES
from bosket.errors import ParameterError

_THOUSANDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([A-Za-z]*)", re.ASCII)
_UNITS = {"": 1, "B": 1} | {
    f"{letter}{rest}": base**power
    for power, letter in enumerate("KMGT", 1)
    for rest, base in (("", 1000), ("B", 1000), ("IB", 1024))
}
Commands: TypeAlias = "argparse._SubParsersAction[Any]"


def add_command(commands: Commands, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
    """A subcommand under the name of its module, with what every one has."""
    name = run.__module__.rsplit(".", 1)[-1]
    help = COMMANDS[name]
    command: argparse.ArgumentParser = commands.add_parser(name, help=help, description=help, allow_abbrev=False)
    command.set_defaults(run=run)
    command.add_argument("-v", "--verbose", action="store_true", help="log what is going on")
    command.add_argument(
        "--progress", action=argparse.BooleanOptionalAction, help="show progress (by default on a terminal only)"
    )
    command.add_argument(
        "--threads",
        type=_checked("threads", int, lambda name, value: check_integer(name, value, least=1)),
        metavar="N",
        help="do the work with N threads (by default BOSKET_THREADS of the environment, or as many as there are cores)",
    )
    return command


def _checked(name: str, convert: Callable[[str], Any], check: Callable[[str, Any], Any]) -> Callable[[str], Any]:
    """An argparse type: the library's own check, at the moment the option is read."""

    def parse(text: str) -> Any:
        try:
            return check(name, convert(text))
        except ParameterError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        except ValueError:
            kind = "whole number" if convert is _whole else "number"
            raise argparse.ArgumentTypeError(f"must be a {kind}, got {text!r}") from None

    return parse


def probability(name: str) -> Callable[[str], Any]:
    return _checked(name, float, check_probability)


def _share(text: str) -> float:
    """A number, or in percent, as in 5%."""
    return float(text.strip()[:-1]) / 100 if text.strip().endswith("%") else float(text)


def _whole(text: str) -> int:
    """A whole number, with commas between thousands or not."""
    return int(text.replace(",", "") if _THOUSANDS.fullmatch(text.strip()) else text)


def fraction(name: str) -> Callable[[str], Any]:
    """An argparse type: a number in (0, 1], or in percent, as in 2%."""
    return _checked(name, _share, check_fraction)


def inside(name: str, low: float, high: float) -> Callable[[str], Any]:
    return _checked(name, float, lambda name, value: check_between(name, value, low, high))


def above(name: str, least: float) -> Callable[[str], Any]:
    return _checked(name, float, lambda name, value: check_limits(name, value, above=least, most=2.0**1000))


def not_negative(name: str) -> Callable[[str], Any]:
    return _checked(name, float, check_not_negative)


def positive(name: str) -> Callable[[str], Any]:
    return _checked(name, float, check_positive)


def real(name: str) -> Callable[[str], Any]:
    return _checked(name, float, check_real)


def whole(name: str, least: int) -> Callable[[str], Any]:
    return _checked(name, _whole, lambda name, value: check_integer(name, value, least=least))


def share(name: str) -> Callable[[str], Any]:
    """An argparse type: a number between 0 and 1, or in percent, as in 5%."""

    def check(name: str, value: float) -> float:
        try:
            return check_between(name, value, 0, 1)
        except ParameterError as error:
            raise argparse.ArgumentTypeError(f"{error} A number in percent is written 5%.") from None

    return _checked(name, _share, check)


def n_bytes(name: str) -> Callable[[str], int | None]:
    """An argparse type: a number of bytes, with a unit or not, or None for ``none``."""

    def parse(text: str) -> int | None:
        if text.strip().lower() == "none":
            return None
        match = _SIZE.fullmatch(text.strip())
        if match is None or match[2].upper() not in _UNITS:
            raise argparse.ArgumentTypeError(f"must be a number of bytes such as 500MB or 2GiB, or none, got {text!r}")
        try:
            return check_integer(name, int(float(match[1]) * _UNITS[match[2].upper()]), least=1)
        except ParameterError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def clash(name: str, must: str, options: argparse.Namespace) -> ParameterError:
    """The error for options that do not belong together."""
    return ParameterError(f"The '{option(name)}' option must {must}.", parameter=name, value=getattr(options, name))


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


def add_input(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--input-format",
        choices=("dat", "csv", "parquet"),
        help="format of raw records (by default the suffix; for '-' dat, or csv for a table)",
    )
    command.add_argument("--layout", choices=("list", "long", "one-hot"), help="layout of the columns of raw baskets")
    command.add_argument(
        "--record",
        metavar="NAME",
        help="with --item: the column that says which basket a row belongs to, in CSV or Parquet with a row per item "
        "(else it must be called record); other columns are ignored",
    )
    command.add_argument(
        "--item",
        metavar="NAME",
        help="the column of items (else item); without --record a column of lists in Parquet",
    )
    add_max_bytes(command)


def add_max_bytes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--max-bytes",
        type=n_bytes("max_bytes"),
        default=MAX_BYTES,
        metavar="N",
        help="refuse files that hold more once decompressed, as in 500MB or 2GiB; 'none' for no cap (default 8GiB)",
    )


def add_result(command: argparse.ArgumentParser, *, files: str = ".csv, .json or .parquet") -> None:
    command.add_argument("--format", choices=("table", "csv", "json"), help="format on standard output (default table)")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=f"write to a {files} file instead")


def add_search(command: argparse.ArgumentParser, *, needs_support: bool = True) -> None:
    """What to mine and how to show it, for itemsets and for rules."""
    command.usage = "%(prog)s [options] DATA [DATA ...] --min-support S"
    command.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="a file of reports, or a tally of them (or several of one plan, or of all phases of a study by "
        "questions), of raw baskets, or with --table of a raw table; '-' for standard input; or the address of a "
        "collector's task, https://HOST/v1/tasks/ID/reports",
    )
    command.add_argument(
        "--token",
        metavar="T",
        help="for a collector: a token with the scope analyse (or set BOSKET_TOKEN, unseen by ps)",
    )
    command.add_argument(
        "--allow-duplicates", action="store_true", help="take a file of reports that is given twice, and count it twice"
    )
    command.add_argument(
        "--min-support", type=fraction("min_support"), required=needs_support, metavar="S", help="a fraction in (0, 1]"
    )
    command.add_argument(
        "--max-size", type=whole("max_size", 1), metavar="K", help="look no further than itemsets of K items"
    )
    command.add_argument(
        "--slack",
        type=not_negative("slack"),
        default=1.0,
        metavar="Z",
        help="extend itemsets down to S - Z stderr (default 1)",
    )
    command.add_argument(
        "--max-candidates",
        type=whole("max_candidates", 1),
        default=10_000_000,
        metavar="N",
        help="refuse to go on beyond N candidates of one size (default 10,000,000)",
    )
    command.add_argument(
        "--level", type=inside("level", 0, 1), default=0.95, help="level of the intervals (default 0.95)"
    )
    command.add_argument(
        "--sampling", action="store_true", help="standard errors cover the drawing of people too, not the coins alone"
    )
    add_model(command)
    add_known(command)
    add_input(command)
    add_result(command, files=".csv, .json, .parquet or .pmml")
    command.add_argument(
        "--top", type=whole("top", 1), metavar="N", help="only the N best (default 20 for a table, else all)"
    )
    command.add_argument(
        "--spark",
        metavar="URL",
        help="have a Spark session read and count Parquet or CSV files: local[2], spark://HOST:PORT, sc://HOST",
    )
    add_report(command)


def add_report(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--report", type=Path, metavar="PAGE", help="also write a page with pictures to this .html file"
    )


def add_model(command: argparse.ArgumentParser) -> None:
    """Whether a law is fitted to reports."""
    command.add_argument(
        "--model",
        choices=("auto", "log-linear", "none"),
        default="auto",
        help="log-linear: fit one law of the whole table to all reports, and read supports off it; none: estimate each "
        "by itself, without bias; auto (default): a law for answers to questions, none for other reports",
    )
    command.add_argument(
        "--order",
        type=int,
        choices=(1, 2, 3),
        help="with --model log-linear: interactions of at most so many attributes (default: by the evidence)",
    )


def add_seed(command: argparse.ArgumentParser, *, default: int | None, help: str) -> None:
    command.add_argument("--seed", type=whole("seed", 0), default=default, metavar="N", help=help)
