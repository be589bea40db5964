"""``bosket serve``: the collector of a study, or with ``--demo`` a whole study on this machine."""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bosket.checks import check_integer
from bosket.cli.inputs.options import Commands, add_command, clash, whole
from bosket.cli.views.console import say
from bosket.errors import DataError, ParameterError

if TYPE_CHECKING:
    from bosket.service.collector import Collector
    from bosket.service.settings import ServiceSettings


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.usage = "%(prog)s STUDY.toml [options], or %(prog)s --demo"
    command.add_argument("study", nargs="?", type=Path, metavar="STUDY", help="the .toml file that names the tasks")
    command.add_argument("--demo", action="store_true", help="a study of made-up people on this machine, kept nowhere")
    command.add_argument(
        "--people", type=whole("people", 0), default=2000, metavar="N", help="with --demo: how many (default 2000)"
    )
    command.add_argument("--store", metavar="URL", help="sqlite:///FILE or postgresql://USER@HOST/NAME")
    command.add_argument("--host", help="the address to listen on (default 127.0.0.1)")
    command.add_argument("--port", type=whole("port", 0), help="the port (default 8080); 0 finds a free one")
    command.add_argument(
        "--backup", type=Path, metavar="FILE", help="copy the store to a file, also while it is in use, and end"
    )


def run(options: argparse.Namespace) -> None:
    if options.demo == (options.study is not None):
        raise ParameterError("Name the file of a study, or say --demo.", parameter="study", value=options.study)
    if options.port is not None:
        check_integer("port", options.port, least=0, most=65535)
    try:
        import bosket.service.app  # noqa: F401 - is the extra there?
    except ModuleNotFoundError as missing:
        raise DataError(
            f"The collector needs the package {missing.name}.", hint="Install it with: pip install 'bosket[serve]'."
        ) from None
    if options.demo:
        for name in ("backup", "store"):  # made-up people in a store of real ones, by a key that is then lost
            if getattr(options, name) is not None:
                raise clash(name, "come with the file of a study", options)
        _demo(options)
    else:
        _study(options)


def _told(settings: ServiceSettings, options: argparse.Namespace) -> ServiceSettings:
    """The settings with what the command line says in place of them."""
    given = {name: getattr(options, name) for name in ("store", "host", "port") if getattr(options, name) is not None}
    return replace(settings, **given)


def _study(options: argparse.Namespace) -> None:
    from bosket.service.collector import ADMIN, Collector
    from bosket.service.settings import read_settings
    from bosket.service.store import backup

    settings = _told(read_settings(options.study, environment=os.environ), options)
    if options.backup is not None:
        backup(settings.store, options.backup)
        say(f"wrote {options.backup}")
        return
    collector = Collector(settings)
    if collector.made_admin:
        say(f"the first admin token is in {settings.folder / ADMIN}, readable by you alone")
    _serve(collector, settings)


def _serve(collector: Collector, settings: ServiceSettings, *, people: int = 0, token: str | None = None) -> None:
    from bosket.service.app import make_app
    from bosket.service.demo import MadeUpPeople
    from bosket.service.server import address_of, listening, serve

    try:
        at = listening(settings.host, settings.port)
    except DataError:
        collector.stop()
        raise
    address = address_of(at)
    for task in settings.tasks:
        say(f"people answer at  {address}/t/{task.id}")
        say(f"results appear at {address}/d/{task.id}{'' if token is None else f'#token={token}'}")
    made_up = MadeUpPeople(address, people) if people else None

    def started() -> None:
        say(f"listening on {address}")
        if made_up is not None:
            made_up.start()

    serve(make_app(collector), at, on_started=started)
    if made_up is not None:
        made_up.stop()


def _demo(options: argparse.Namespace) -> None:
    from bosket.service.collector import Collector
    from bosket.service.demo import TASK, demo_settings

    with tempfile.TemporaryDirectory(prefix="bosket-demo-") as folder:
        settings = _told(demo_settings(Path(folder)), options)
        collector = Collector(settings)
        token = collector.access.issue("analyse", task=TASK)
        say(f"{options.people} made-up people answer a study of groceries; Ctrl-C ends it, and nothing is kept")
        _serve(collector, settings, people=options.people, token=token)
