"""``bosket submit``: raw records are randomized here, and their reports go to a collector.

What is promised is worked out and said before anything leaves: the plan is the collector's, and may promise nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bosket.cli.inputs.attributes import add_table, check_table
from bosket.cli.inputs.options import Commands, add_command, add_input, add_seed, whole
from bosket.cli.inputs.raw import check_kind, read_raw
from bosket.cli.views.console import Work, say, say_lines
from bosket.errors import DataError
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    from bosket.client import Client
    from bosket.client.unsent import Unsent
    from bosket.reports import Reports

_TOKEN = "BOSKET_TOKEN"
_ONCE = "BOSKET_ONE_TIME_TOKEN"
_MOMENT = 2.0  # seconds after a signal in which others are taken for the same


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.add_argument("url", metavar="URL", help="the address of the task: https://collector.example/v1/tasks/NAME")
    command.add_argument(
        "raw", metavar="FILE", help="a file of raw baskets, or with --table of a raw table; '-' for standard input"
    )
    command.add_argument("--key", metavar="BASE64", help="the public key of the study, as its owner publishes it")
    command.add_argument(
        "--token-file", type=Path, metavar="FILE", help=f"a file with the submit token (else the variable {_TOKEN})"
    )
    command.add_argument(
        "--once-file",
        type=Path,
        metavar="FILE",
        help="a file with one-time tokens, a line for each record, or one for all that are one person's (else the "
        f"variable {_ONCE})",
    )
    command.add_argument(
        "--memo-file",
        type=Path,
        metavar="FILE",
        help="a file with a secret of 32 random bytes or more, made where it is missing: the same record of the person "
        "whose secret it is gives the same report",
    )
    command.add_argument(
        "--at-once", type=whole("at_once", 1), default=1000, metavar="N", help="reports in one batch (default 1000)"
    )
    command.add_argument(
        "--unsent",
        action="store_true",
        help="FILE has reports that an earlier command could not send and kept: they are sent as they are, and FILE is "
        "then deleted",
    )
    add_seed(command, default=None, help="for simulation only: reports say so, and a collector may refuse them")
    add_input(command)
    add_table(command)


def run(options: argparse.Namespace) -> None:
    from bosket.client import Client
    from bosket.client.unsent import Unsent

    if not options.unsent:
        check_table(options)
    work = Work(options)
    token, secret = _token(options.token_file), _secret(options.memo_file)
    with work.step(f"reading the task at {options.url}"):
        client = Client(options.url, token, secret, key=options.key)
    if options.key is None:
        say(f"note: the task is signed by the key {client.key}; --key makes sure that it is this one.")
    with work.step("working out what is promised"):
        card = client.promise.card()
    say_lines(card)  # before anything leaves, so that it can still be stopped
    once = _once(options.once_file)
    if options.unsent:
        path = Path(options.raw)
        rest = Unsent.read(path, client)
        sent = _send(work, client, rest, once[-len(rest.reports) :] if rest.at_once == 1 else once, path)
        path.unlink()
    else:
        reports = _reports(work, client, options)
        if len(once) > 1 and len(once) != len(reports):
            raise DataError(
                f"There must be a one-time token for each of {len(reports)} records, or one, got {len(once)}."
            )
        sent = _send(work, client, Unsent(reports, None, 1 if len(once) > 1 else options.at_once), once)
    say(f"sent {count_text(sent, 'report')} under plan {client.plan.digest[:12]}; the collector has them")


def _reports(work: Work, client: Client, options: argparse.Namespace) -> Reports:
    """Those of the raw records in a file."""
    from bosket.randomness import Seeded

    check_kind(client.plan.domain, options, of="the task is for")
    with work.step(f"reading {options.raw}"):
        raw = read_raw(options.raw, options, hint="Reports are made of raw records here.", domain=client.plan.domain)
    rng = None
    if options.seed is not None:
        rng = Seeded(options.seed)
        say(f"warning: --seed {options.seed} makes this a simulation: the reports protect nobody.")
    with work.step("randomizing"):
        return client.reports(raw, rng=rng)


def _send(work: Work, client: Client, rest: Unsent, once: Sequence[str], path: Path | None = None) -> int:
    """Send reports; what could not be sent is kept, in place of the file that it came from."""
    from bosket.client import SendingInterrupted, ServiceError
    from bosket.client.unsent import Unsent

    reports, at_once, id = rest.reports, rest.at_once, rest.id
    option = " --once-file FILE (the same)" if once else ""
    with _ended_as_by_ctrl_c() as hear_no_more, work.levels("sending") as tell:
        try:
            return client.send(reports, once=once, at_once=at_once, on_progress=tell, id=id)
        except (ServiceError, SendingInterrupted) as problem:
            hear_no_more()
            left = Unsent.of(problem, reports, at_once)
            if left is None:
                raise
            place = Path(f"bosket-unsent-{(left.id or '')[:12]}.reports")
            if path is None or left.id != id:  # else they are where they were
                _keep(left, place, client, path)
            else:
                place = path
            hint = (
                f"bosket submit {client.url} {place} --unsent{option} sends them as they are. Do not randomize the "
                "same records again: that tells more of people than is promised."
            )
            if isinstance(problem, ServiceError):
                told = f"{problem} The others are kept in {place}."
                raise ServiceError(told, status=problem.status, hint=hint) from None
            said = f"{count_text(len(reports), 'report')}, {problem.sent} were acknowledged"
            say(f"bosket: Of {said}. The others are kept in {place}.")
            say(f"hint: {hint}")
            raise


@contextlib.contextmanager
def _ended_as_by_ctrl_c() -> Iterator[Callable[[], None]]:
    """Let SIGTERM, and the end of the terminal, be heard as Ctrl-C: else what was drawn is lost, and drawn again.

    Those that follow one within a moment are not heard: a terminal that ends often says so twice, by its shell and by
    the system.  What is yielded lets none be heard any more, as while reports are kept; later ones are heard otherwise,
    since Python forgets an interruption of a destructor.
    """
    names = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    is_main = threading.current_thread() is threading.main_thread()
    usual = (signal.SIG_DFL, signal.default_int_handler)  # not where nohup ignores it
    before = {one: signal.getsignal(one) for one in names if is_main and signal.getsignal(one) in usual}
    heard_at = -math.inf

    def end(number: int, frame: object) -> None:
        nonlocal heard_at
        if time.monotonic() - heard_at < _MOMENT:
            return
        heard_at = time.monotonic()
        raise KeyboardInterrupt

    def hear_no_more() -> None:
        for one in before:
            signal.signal(one, signal.SIG_IGN)

    for one in before:
        signal.signal(one, end)
    try:
        yield hear_no_more
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _keep(rest: Unsent, place: Path, client: Client, path: Path | None) -> None:
    try:
        rest.write(place, client)
    except OSError as problem:
        raise DataError(
            f"The {count_text(len(rest.reports), 'report')} that could not be sent cannot be kept in {place}: "
            f"{problem.strerror}. All before are sent.",
            path=place,
        ) from None
    if path is not None:
        path.unlink()


def _token(path: Path | None) -> str | None:
    """Never an option: other users of the machine see the command line."""
    if path is None:
        return os.environ.get(_TOKEN, "").strip() or None
    words = _words(path)
    if len(words) > 1:
        raise DataError(f"The token in {path} must be one word.", path=path)
    return words[0]


def _once(path: Path | None) -> list[str]:
    """One-time tokens, each for one person."""
    return os.environ.get(_ONCE, "").split() if path is None else _words(path)


def _words(path: Path) -> list[str]:
    """The tokens in a file, a line each."""
    try:
        words = path.read_text("ascii").split("\n")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"The token in {path} cannot be read.", path=path) from None
    found = [word.strip() for word in words if word.strip()]
    if not found or not all(word.isprintable() and " " not in word for word in found):
        raise DataError(f"The token in {path} must be one word.", path=path)
    return found


def _secret(path: Path | None) -> bytes | None:
    """The secret of this device, made on first use, for its owner alone to read."""
    from bosket.randomness import secret_bytes

    if path is None:
        return None
    try:
        if not path.exists():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secret_bytes(32))
        with path.open("rb") as file:
            is_open, secret = os.fstat(file.fileno()).st_mode & 0o077, file.read()
    except OSError as problem:
        raise DataError(f"The secret in {path} cannot be read or made: {problem.strerror}.", path=path) from None
    if is_open and os.name != "nt":  # who has it can try all records against a report
        raise DataError(
            f"The secret in {path} must be readable by its owner alone.",
            path=path,
            hint=f"If nobody has read it: chmod 600 {path}; else name a new file.",
        )
    return secret
