"""The entry point: parse, run one subcommand, and turn what went wrong into one sentence and an exit code.

0    done
1    a data or domain error; a bug, with its traceback
2    usage: an option that is not what it must be
130  interrupted by Ctrl-C
141  the reader of standard output went away
"""

from __future__ import annotations

import _thread
import argparse
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from types import TracebackType
from typing import NoReturn

from bosket._version import __version__
from bosket.cli.names import COMMANDS
from bosket.cli.views.console import logged, say, say_lines, warned
from bosket.cli.views.words import in_options
from bosket.errors import BosketError, ParameterError
from bosket.threads import use_threads

_INTERRUPTED = 130
_PIPE_CLOSED = 141
_SOON = 0.05  # seconds


class Parser(argparse.ArgumentParser):
    """argparse with our words: one sentence and a hint rather than the usage of every option."""

    def error(self, message: str) -> NoReturn:
        say(f"bosket: {message}")
        say(f"hint: '{self.prog} --help' lists the options.")
        self.exit(2)


def parser(argv: Sequence[str] | None = None) -> Parser:
    """The parser of a command line: the subcommand that it names is loaded, the others are there by name alone."""
    named = next((word for word in (sys.argv[1:] if argv is None else argv) if not word.startswith("-")), None)
    whole = Parser(
        prog="bosket",
        description="Frequent itemsets and association rules from randomized records, with standard errors.",
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"bosket {__version__}")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, sentence in COMMANDS.items():
        if name == named:
            import_module(f"bosket.cli.commands.{name}").add_parser(commands)
        else:
            commands.add_parser(name, help=sentence)
    return whole


def program() -> int:
    """The command line as a process of its own: what a bug says is shown like everything else, with nothing hidden."""
    sys.excepthook = _tell_bug
    sys.unraisablehook = _interrupt_again
    return main()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        options = parser(argv).parse_args(argv)
    except SystemExit as stop:  # argparse has said everything: help, version, or what is wrong
        return stop.code if isinstance(stop.code, int) else 0
    except (KeyboardInterrupt, RuntimeError) as problem:  # while the libraries of a subcommand are loaded
        return _interrupted(problem)
    try:
        with logged(options.verbose), warned(), _threads(options):
            options.run(options)
        sys.stdout.flush()
    except ParameterError as error:
        return _failed(error, options, 2)
    except BosketError as error:
        return _failed(error, options, 1)
    except (KeyboardInterrupt, RuntimeError) as problem:
        return _interrupted(problem)
    except MemoryError:
        say("bosket: There is not enough memory for this.")
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more as it ends
        return _PIPE_CLOSED
    return 0


def _threads(options: argparse.Namespace) -> AbstractContextManager[None]:
    """The threads that are asked for."""
    return use_threads(options.threads) if options.threads is not None else nullcontext()


def _interrupted(problem: BaseException) -> int:
    """The answer to Ctrl-C; Python makes a RuntimeError of one that comes while a class is made."""
    cause: BaseException | None = problem
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        raise problem
    say("bosket: interrupted")
    return _INTERRUPTED


def _interrupt_again(told: sys.UnraisableHookArgs) -> None:
    """Have a Ctrl-C answered that came while something was deleted, where Python drops it.

    It is raised in a moment, when the main thread is out of there: at once it would be dropped again.
    """
    if not issubclass(told.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(told)
        return
    again = threading.Timer(_SOON, _thread.interrupt_main)
    again.daemon = True
    again.start()


def _tell_bug(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    say_lines("".join(traceback.format_exception(kind, error, where)).rstrip("\n"))


def _failed(error: BosketError, options: argparse.Namespace, code: int) -> int:
    say(f"bosket: {error}")
    if error.hint:
        say(f"hint: {in_options(error.hint, options)}")
    return code
