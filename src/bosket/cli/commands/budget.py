"""``bosket budget``: make the budgets of differentially private releases, and look at what was spent of them."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket._version import __version__
from bosket.budget.accounts import NEIGHBOURS, Amount
from bosket.cli.inputs.options import Commands, add_command, add_result, inside, not_negative
from bosket.cli.views.console import say
from bosket.cli.views.results import check_result, is_table, write_result
from bosket.cli.views.tables import print_table
from bosket.errors import BosketError
from bosket.reporting.export import ResultKind
from bosket.reporting.text import count_text, label_text

if TYPE_CHECKING:
    import pandas as pd

    from bosket.budget.accounts import Account, Entry

_BUDGETS = ResultKind("budgets", ())
_ENTRIES = ResultKind("entries", ())


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    actions = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_create(actions)
    _add_show(actions)


def _add_create(actions: Commands) -> None:
    command = _add_action(
        actions,
        "create",
        _create,
        help="Put a new budget into a ledger; it cannot be changed or renewed.",
    )
    command.add_argument("--name", required=True, help="of the budget: the data set that it is for")
    command.add_argument(
        "--epsilon",
        type=inside("epsilon", 0, math.inf),
        required=True,
        metavar="E",
        help="all that releases may ever cost, together",
    )
    command.add_argument(
        "--delta", type=not_negative("delta"), default=0.0, metavar="D", help="likewise, where it is used (default 0)"
    )
    command.add_argument(
        "--neighbours",
        choices=tuple(NEIGHBOURS),
        default="add-remove",
        help="; ".join(f"{name}: {words}" for name, words in NEIGHBOURS.items()) + " (default add-remove)",
    )


def _add_show(actions: Commands) -> None:
    command = _add_action(actions, "show", _show, help="List the budgets of a ledger, or the entries of one.")
    command.add_argument("--name", help="show the entries of this budget")
    add_result(command)


def _add_action(
    actions: Commands, name: str, action: Callable[[argparse.Namespace], None], *, help: str
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = actions.add_parser(name, help=help, description=help, allow_abbrev=False)
    command.set_defaults(action=action)
    command.add_argument("ledger", type=Path, metavar="LEDGER", help="the file that budgets are kept in")
    # what every command has may stand here too; where it does not, what stood before the name of the action holds
    command.add_argument("-v", "--verbose", action="store_true", default=argparse.SUPPRESS, help="log what is going on")
    command.add_argument(
        "--progress", action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help="has no effect here"
    )
    return command


def run(options: argparse.Namespace) -> None:
    options.action(options)


@contextlib.contextmanager
def in_options() -> Iterator[None]:
    """What the library advises about ledgers, in the words of the command line."""
    try:
        yield
    except BosketError as error:
        for ours, theirs in (("Budget.create", "'bosket budget create'"), ("Budget.open", "'bosket curate --budget'")):
            error.hint = None if error.hint is None else error.hint.replace(ours, theirs)
        raise


def _create(options: argparse.Namespace) -> None:
    from bosket.budget.budgets import Budget

    with in_options():
        budget = Budget.create(
            options.ledger,
            options.name,
            epsilon=options.epsilon,
            delta=options.delta,
            neighbours=options.neighbours,
        )
    say(
        f"created the budget '{label_text(budget.name)}' in {options.ledger}: {budget.remaining}, for "
        f"{NEIGHBOURS[budget.neighbours]}"
    )


def _show(options: argparse.Namespace) -> None:
    from bosket.budget import ledger
    from bosket.budget.accounts import check_name

    check_result(options, _BUDGETS if options.name is None else _ENTRIES, inputs=[options.ledger])
    with in_options():
        if options.name is None:
            _show_budgets(ledger.accounts(options.ledger), options)
        else:
            _show_entries(ledger.find(options.ledger, check_name(options.name)), options)


def _show_budgets(accounts: tuple[Account, ...], options: argparse.Namespace) -> None:
    import pandas as pd

    frame = pd.DataFrame([_summary(account) for account in accounts])
    if is_table(options):
        title = f"{options.ledger}: {count_text(len(accounts), 'budget')}"
        _print(title, frame, ["name", "neighbours"], ["epsilon", "spent", "remaining"], ["entries"])
        return
    frame.attrs["about"] = _about(options)
    write_result(frame, _BUDGETS, options)


def _show_entries(account: Account, options: argparse.Namespace) -> None:
    import pandas as pd

    columns = ["number", "time", "epsilon", "delta", "purpose", "version", "digest", "returns"]
    frame = pd.DataFrame({name: [getattr(entry, name) for entry in account.entries] for name in columns})
    returns = [entry.returns is not None for entry in account.entries]
    for name in ("epsilon", "delta"):  # what returns another is counted off, so that a column adds up to what is spent
        frame[name] = [
            -amount if back and amount else amount for back, amount in zip(returns, frame[name], strict=True)
        ]
    frame["returns"] = pd.Series([entry.returns for entry in account.entries], dtype=object)  # None where it is none
    if is_table(options):
        frame = frame.assign(purpose=_in_words(account.entries))
        total = Amount(account.epsilon, account.delta)
        title = f"{label_text(account.name)} ({account.neighbours}): {total}; left {account.remaining}"
        _print(title, frame, ["purpose", "time", "version"], ["number", "epsilon"])
        return
    frame.attrs["about"] = {**_about(options), **_summary(account)}
    write_result(frame, _ENTRIES, options)


def _in_words(entries: tuple[Entry, ...]) -> list[str]:
    """Purposes, those of returns in plain words."""
    return [
        entry.purpose if entry.returns is None else f"returned unused, entry {entry.returns}: {entry.purpose}"
        for entry in entries
    ]


def _summary(account: Account) -> dict[str, Any]:
    spent, remaining = account.spent, account.remaining
    return {
        "name": account.name,
        "neighbours": account.neighbours,
        "epsilon": account.epsilon,
        "spent": spent.epsilon,
        "remaining": remaining.epsilon,
        "delta": account.delta,
        "spent_delta": spent.delta,
        "remaining_delta": remaining.delta,
        "entries": len(account.entries),
        "created": account.time,
        "digest": account.head,
    }


def _about(options: argparse.Namespace) -> dict[str, Any]:
    return {"ledger": str(options.ledger), "version": __version__}


def _print(title: str, frame: pd.DataFrame, texts: list[str], *numbers: list[str]) -> None:
    """A table of these columns, and of those of delta where it is used."""
    shown = [name for names in numbers for name in names]
    if frame["delta"].any():
        at = 1 + max(shown.index(name) for name in ("epsilon", "remaining") if name in shown)
        shown[at:at] = [name for name in ("delta", "spent_delta", "remaining_delta") if name in frame]
    columns = [*(map(label_text, frame[name]) for name in texts), *(map(repr, frame[name].tolist()) for name in shown)]
    headings = [name.replace("_", " ") for name in (*texts, *shown)]
    print_table(title, headings, list(zip(*columns, strict=True)), text_columns=len(texts))
