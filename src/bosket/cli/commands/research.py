"""``bosket research``: what papers and peers are measured with, under one word."""

from __future__ import annotations

import argparse

from bosket.cli.commands import bench, reproduce
from bosket.cli.inputs.options import Commands, add_command


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    actions = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
    reproduce.add_parser(actions)
    bench.add_parser(actions)


def run(options: argparse.Namespace) -> None:
    raise AssertionError("reproduce or bench was named, and runs by itself")
